import { once } from 'node:events'
import { addAbortSignal, pipeline, type Readable, Transform } from 'node:stream'
import { type EmployeeMapping, scanColumns } from './mapping.ts'
import type { HrSession } from './server.ts'

/**
 * One employee as HR's mapping returns it: canonical column → text. Dates are `yyyy-MM-dd`, booleans `t`/`f`,
 * `category` is joined by commas; `enterprise_code` and `userid` are always there, trimmed.
 */
export type HrEmployeeRow = Record<string, string | null>

/** A pass over all employees of HR, at one moment. Close it when it is not read to its end. */
export interface HrScan {
  columns: string[]
  /** Fingerprint of the mapping that it reads with. */
  mapping: string
  /**
   * COPY text format (UTF-8): one line per row with exactly `columns`. Fails with HrUnavailableError, HrDataError, or
   * the signal's AbortError. When it closes, the session is closed, if it is the last thing that the session does.
   */
  stream: Readable
  /** Ends the reading, whatever was read. Idempotent. */
  close(): Promise<void>
}

/**
 * Streams all employees.
 * @param options.since only rows with `updated_at` at or after this moment; ignored when it is not mapped
 * @param options.endsSession the session is closed when the stream closes; otherwise only where it was not read to its end
 * @param options.read is told of every chunk
 */
export async function openScan(
  session: HrSession,
  mapping: EmployeeMapping,
  options: {
    defaultEnterprise: string
    since?: Date | undefined
    signal?: AbortSignal | undefined
    endsSession: boolean
    read?: (chunk: Buffer) => void
  },
): Promise<HrScan> {
  const { defaultEnterprise, since, signal, endsSession, read } = options
  const columns = scanColumns(mapping)
  const { source, failureOf } = await session.lines({ mapping, columns, defaultEnterprise, since })
  let isComplete = false
  const stream = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      read?.(chunk)
      done(null, chunk)
    },
    flush(done) {
      isComplete = true
      done()
    },
    destroy(error, done) {
      const finish = () => done(error && failureOf(error))
      if (isComplete && !endsSession) finish()
      else session.close().then(finish, finish)
    },
  })
  pipeline(source, stream, () => {}) // failures come out of `stream`
  if (signal) addAbortSignal(signal, stream)
  return {
    columns,
    mapping: mapping.fingerprint,
    stream,
    async close() {
      if (stream.closed) return
      const closed = once(stream, 'close')
      stream.destroy()
      await closed
    },
  }
}
