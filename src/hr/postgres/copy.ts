import type { Readable } from 'node:stream'
import type { Connection, Submittable } from 'pg'
import { to as copyTo } from 'pg-copy-streams'

/** The copy as pg passes it to a connection and reports an error to it. */
type Copying = Readable & Submittable & { handleError?(error: Error): void }

/**
 * COPY to the client by the extended protocol, in which the server accepts one statement only, however it parses the text; in
 * the simple one, which pg-copy-streams would use, it runs all of them. Equally fast: only the beginning differs.
 */
export function copyOut(text: string): Readable & Submittable {
  const copying: Copying = copyTo(text)
  const submit = copying.submit.bind(copying)
  const handleError = copying.handleError?.bind(copying)
  let atFailure = () => {}
  copying.submit = connection => {
    const bound = () => {
      atFailure = () => {}
      // From here on it reads the connection's bytes itself: nothing has come yet, since nothing was executed.
      submit({ stream: connection.stream, query: () => execute(connection) } as unknown as Connection)
    }
    atFailure = () => {
      connection.off('bindComplete', bound)
      if (connection.stream.writable) connection.sync()
    }
    connection.once('bindComplete', bound)
    connection.parse({ name: '', text, types: [] }, true)
    connection.bind({}, true)
    connection.flush()
  }
  copying.handleError = error => {
    atFailure()
    handleError?.(error)
  }
  return copying
}

function execute(connection: Connection): void {
  connection.execute({}, true)
  connection.sync()
}
