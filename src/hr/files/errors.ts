import { type Message, message } from '../../texts/message.ts'
import {
  HrDataError,
  HrTooSlowError,
  HrUnavailableError,
  isExplained,
  mappingRefused,
  type Place,
  placeAfter,
  subqueryOfMany,
  valueRefused,
} from '../errors.ts'
import type { Statement } from '../rows.ts'
import { duckDbError } from './duckdb.ts'

/** Types of errors whose messages are about the statement's text and names, never about values of rows. */
const ABOUT_THE_STATEMENT = new Set([
  ...['Parser', 'Syntax', 'Binder', 'Catalog', 'Permission', 'Not implemented', 'Parameter Not Resolved'],
  ...['Parameter Not Allowed', 'Invalid Type', 'TransactionContext'],
])
/** The one of them whose messages quote values of the rows that were read: `timezone(name, …)`. */
const MAY_QUOTE_A_VALUE = 'Not implemented'
/** Types of errors about a value that a function or a cast cannot take. */
const VALUE_REFUSED = new Set(['Conversion', 'Out of Range', 'Invalid Input'])
/** Neither the mapping nor a value is wrong. */
const TRANSIENT = new Set([
  'INTERRUPT',
  'Interrupt',
  'IO',
  'Out of Memory',
  'FATAL',
  'INTERNAL',
  'Connection',
])

/**
 * Translates an error of DuckDB. Its message is passed on only where it cannot hold values of rows; for the same reason errors
 * about data carry no cause.
 * @param timeoutMs after which the statement was stopped; null where it was not
 * @param hasRows whether the statement read rows; false: it was only prepared
 */
export function toHrError(
  error: unknown,
  statement?: Statement,
  timeoutMs: number | null = null,
  hasRows = true,
): Error {
  if (isExplained(error)) return error
  if (timeoutMs !== null) return new HrTooSlowError(timeoutMs)
  const told = duckDbError(error)
  if (!told || !statement || TRANSIENT.has(told.type))
    // DuckDB's own message would be shown as the cause, mostly as JSON.
    return new HrUnavailableError(
      message('said.files_unread', { reason: reasonOf(error, told?.type) }),
      (error as NodeJS.ErrnoException).code === undefined ? {} : { cause: error },
    )
  const { file, sql } = statement.mapping
  const before = Buffer.byteLength(statement.before)
  const place = told.position === null ? null : placeOf(sql, told.position - before, told.type)
  const mayQuote = hasRows && told.type === MAY_QUOTE_A_VALUE
  if (ABOUT_THE_STATEMENT.has(told.type) && !mayQuote) {
    const words = withoutColumns(told.message)
    const [, name] = /^Table with name (.+) does not exist!/.exec(words) ?? []
    // HR may yet deliver it.
    const reason =
      name === undefined ? `${words} (${told.type} Error)` : message('said.select_no_file', { name, words })
    return mappingRefused(file, reason, place, null)
  }
  // It has no type of its own.
  if (told.type === 'Invalid Input' && /more than one row returned by a subquery/i.test(told.message))
    return subqueryOfMany(file, `DuckDB: ${told.type}`, place)
  // DuckDB would read the values by another statement.
  if (told.type === 'Invalid Input' && told.message.startsWith('Cannot prepare multiple statements'))
    return mappingRefused(file, message('said.select_pivot'), place, null)
  if (mayQuote || VALUE_REFUSED.has(told.type)) return valueRefused(file, `DuckDB: ${told.type}`, place)
  return new HrDataError(file, message('said.value_refused_otherwise', { state: `DuckDB: ${told.type}` }))
}

/** When a file's first line does not name columns, DuckDB's column names are values of a person. */
function withoutColumns(message: string): string {
  return message
    .replace(/\s*Candidate bindings: .*$/s, '')
    .trim()
    .replace(/\s*\n\s*/g, ' ')
}

function reasonOf(error: unknown, type: string | undefined): string | Message {
  // Of a full disk, and of one with a limit on file sizes.
  if (/no space left|file too large|disk quota/i.test(String(error))) return message('said.no_space')
  if (/Corrupt database file/.test(String(error))) return message('said.kept_broken')
  return type ?? (error as NodeJS.ErrnoException).code ?? message('said.duckdb_silent')
}

/** The position in the mapping, or null outside it. DuckDB's parser counts characters, later stages bytes of UTF-8. */
function placeOf(sql: string, position: number, type: string): Place | null {
  const text = type === 'Parser' ? [...sql] : Buffer.from(sql)
  if (position < 0 || position > text.length) return null
  const before = text.slice(0, position)
  return placeAfter(Array.isArray(before) ? before.join('') : before.toString('utf8'))
}
