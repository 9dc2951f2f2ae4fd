import { once } from 'node:events'
import { addAbortSignal, pipeline, Transform } from 'node:stream'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { columnTexts, reference, scanColumns } from './column-text.ts'
import { toHrError } from './errors.ts'
import type { EmployeeMapping } from './mapping.ts'
import type { HrScan } from './source.ts'

/**
 * Streams the employees' mapping by COPY. Owns `client` from here on: when the stream closes, for whatever reason, the
 * transaction has ended and the connection is closed.
 *
 * @param client a connection of its own, within the scan's transaction
 */
export function openScan(
  client: pg.Client,
  mapping: EmployeeMapping,
  options: { defaultEnterprise: string; since?: Date | undefined; signal?: AbortSignal | undefined },
): HrScan {
  const { file, sql } = mapping
  const columns = scanColumns(mapping.columns)
  const texts = columnTexts(columns, mapping.columns, options.defaultEnterprise)
  const before = `copy (select ${texts.join(', ')} from (\n`
  const source = client.query(copyTo(`${before}${sql}\n) m${sinceClause(mapping, options.since)}) to stdout`))

  const stream = new Transform({
    transform(chunk, _encoding, done) {
      done(null, chunk)
    },
    flush(done) {
      client.query('commit').then(() => done(), done)
    },
    destroy(error, done) {
      const failure = error && toHrError(error, { file, sql, offset: before.length })
      const finish = () => done(failure)
      // In the middle of a COPY this cuts the connection, which is the only short way out of one.
      client.end().then(finish, finish)
    },
  })
  pipeline(source, stream, () => {}) // failures come out of `stream`
  if (options.signal) addAbortSignal(options.signal, stream)
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

function sinceClause(mapping: EmployeeMapping, since: Date | undefined): string {
  const column = mapping.columns.get('updated_at')
  if (!column || !since) return ''
  // COPY takes no parameters; the constant has the column's own type, so that an index on it serves.
  return ` where ${reference(column)} >= '${since.toISOString()}'::timestamptz::${column.type}`
}
