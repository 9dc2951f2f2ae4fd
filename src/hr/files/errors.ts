import {
  HrDataError,
  HrUnavailableError,
  hrTooSlow,
  isExplained,
  mappingRefused,
  type Place,
  placeAfter,
  valueRefused,
} from '../errors.ts'
import { duckDbError } from './duckdb.ts'

/** Types of errors whose messages speak of the statement's text and of names, never of values in rows. */
const ABOUT_THE_STATEMENT = new Set([
  ...['Parser', 'Syntax', 'Binder', 'Catalog', 'Permission', 'Not implemented', 'Parameter Not Resolved'],
  ...['Parameter Not Allowed', 'Invalid Type', 'TransactionContext'],
])
/** Nothing is wrong with the mapping or with a value. */
const TRANSIENT = new Set([
  'INTERRUPT',
  'Interrupt',
  'IO',
  'Out of Memory',
  'FATAL',
  'INTERNAL',
  'Connection',
])

/** A statement around the text of a mapping. */
export interface Statement {
  text: string
  /** File and text of the mapping, and the length of what stands before it in the statement. */
  mapping: { file: string; sql: string; offset: number }
}

/**
 * What an error of DuckDB means. Its message is passed on only where it cannot hold values of rows; for the same reason
 * errors about data carry no cause.
 * @param timeoutMs after which the statement was stopped; null where it was not
 */
export function toHrError(error: unknown, statement?: Statement, timeoutMs: number | null = null): Error {
  if (isExplained(error)) return error
  if (timeoutMs !== null) return hrTooSlow(timeoutMs)
  const told = duckDbError(error)
  if (!told || !statement || TRANSIENT.has(told.type))
    return new HrUnavailableError(`HR's files cannot be read (${reasonOf(error, told?.type)})`, {
      cause: error,
    })
  const { file, sql, offset } = statement.mapping
  const place = told.position === null ? null : placeOf(sql, told.position - offset, told.type)
  if (ABOUT_THE_STATEMENT.has(told.type))
    return mappingRefused(file, `${withoutColumns(told.message)} (${told.type} Error)`, place, null)
  if (told.type === 'Conversion' || told.type === 'Out of Range' || told.type === 'Invalid Input')
    return valueRefused(file, `DuckDB: ${told.type}`, place)
  return new HrDataError(`${file}: the query failed on a value in HR (DuckDB: ${told.type})`)
}

/** Of a file whose first line names no columns, what DuckDB holds for their names are somebody's values. */
function withoutColumns(message: string): string {
  return message
    .replace(/\s*Candidate bindings: .*$/s, '')
    .trim()
    .replace(/\s*\n\s*/g, ' ')
}

function reasonOf(error: unknown, type: string | undefined): string {
  if (/no space left/i.test(String(error))) return 'no space left in HR_FILES_KEEP'
  if (/Corrupt database file/.test(String(error))) return 'what HR_FILES_KEEP holds is broken: remove it'
  return type ?? (error as NodeJS.ErrnoException).code ?? 'DuckDB does not answer'
}

/** The place in the mapping, or null outside it. DuckDB's parser counts characters, whatever comes after it bytes of UTF-8. */
function placeOf(sql: string, position: number, type: string): Place | null {
  const text = type === 'Parser' ? [...sql] : Buffer.from(sql)
  if (position < 0 || position > text.length) return null
  const before = text.slice(0, position)
  return placeAfter(Array.isArray(before) ? before.join('') : before.toString('utf8'))
}
