import { type TlsParameters, tlsTrouble } from '../lib/failure.ts'
import { CodedError, inWords, type Message, message, type Said, SaidError } from '../texts/message.ts'

/** A position in a mapping's text, counted from 1. */
export interface Place {
  line: number
  /** Null when the server names only the line, and its message fits several positions. */
  column: number | null
}

/** What is wrong: the file, its statement, the server's opinion of it, its columns, or that there is no mapping. */
type MappingFault =
  | 'MAPPING_FILE'
  | 'MAPPING_STATEMENT'
  | 'MAPPING_SQL'
  | 'MAPPING_COLUMNS'
  | 'MAPPING_MISSING'

/** The mapping itself is wrong: nothing can be read until the file is fixed. */
export class MappingError extends CodedError<MappingFault> {
  readonly file: string
  /** Where it is wrong, if that is a single place. */
  readonly place: Place | null
  /** What is wrong, without file and place. */
  readonly reason: Said

  constructor(
    code: MappingFault,
    file: string,
    reason: Said,
    { place = null, ...options }: ErrorOptions & { place?: Place | null } = {},
  ) {
    super(code, message('said.in_mapping', { place: placed(file, place), reason }), options)
    this.file = file
    this.place = place
    this.reason = reason
  }
}

/** The HR database does not answer, or stopped in the middle of an answer. A retry may succeed. */
export class HrUnavailableError extends SaidError {
  readonly code = 'HR_UNAVAILABLE'
  override readonly name: string = 'HrUnavailableError'
}

/** HR's delivery is incomplete. A run that would read it is suspect; the next delivery may be fine. */
export class HrDeliveryError extends HrUnavailableError {
  override readonly name = 'HrDeliveryError'

  constructor(folder: string, problem: Said | null) {
    super(message('said.delivery_incomplete', { folder, problem: problem ?? [] }))
  }
}

/** A statement took too long, which does not mean that HR is away. */
export class HrTooSlowError extends HrUnavailableError {
  override readonly name = 'HrTooSlowError'

  constructor(timeoutMs: number) {
    super(message('said.hr_too_slow', { seconds: Math.round(timeoutMs / 1000) }))
  }
}

/** HR returned rows that the mapping or dirsync cannot use as a whole. A single bad employee does not count. */
export class HrDataError extends SaidError {
  readonly code = 'HR_DATA'
  override readonly name = 'HrDataError'
  readonly file: string
  /** Where in the mapping, if that is a single place. */
  readonly place: Place | null
  /** What is wrong, without file and place. */
  readonly reason: Said

  constructor(file: string, reason: Said, place: Place | null = null) {
    super(message('said.in_mapping', { place: placed(file, place), reason }))
    this.file = file
    this.place = place
    this.reason = reason
  }
}

export type HrError = HrUnavailableError | HrDataError | MappingError

/** Whether an error reports a problem of HR rather than of ours. */
export function isOfHr(error: unknown): error is HrError {
  return error instanceof HrUnavailableError || error instanceof HrDataError || error instanceof MappingError
}

/** Whether an error is one of these already, or an abort: it needs no explanation. */
export function isExplained(error: unknown): error is Error {
  return isOfHr(error) || (error instanceof Error && error.name === 'AbortError')
}

/**
 * @param reason the server's code, or that of the connection
 * @param parameters what its address says for TLS; without: as in PostgreSQL
 */
export function hrAway(reason: string, cause: unknown, parameters?: TlsParameters): HrUnavailableError {
  const tls = tlsTrouble(cause, parameters)
  const what = tls ? message('said.hr_without_tls', { ...tls }) : message('said.hr_silent', { reason })
  return new HrUnavailableError(what, { cause })
}

const REFUSALS = {
  login: 'said.hr_login',
  database: 'said.hr_no_database',
  right: 'said.hr_no_right',
  full: 'said.hr_full',
  standby: 'said.hr_standby',
  lock: 'said.hr_lock',
  lost: 'said.hr_lost',
  table: 'said.hr_table',
} as const

/** A login or a SELECT that the server refuses or ends, for a cause that a person can remove. */
export function hrRefuses(what: keyof typeof REFUSALS, reason: string, cause: unknown): HrUnavailableError {
  // The words of a foreign table's server may hold values of rows.
  const told = what === 'table' ? {} : { cause }
  return new HrUnavailableError(message(REFUSALS[what], { reason }), told)
}

/** A server that lacks what dirsync's own statements use; a mapping is not at fault. */
export function hrTooOld(version: string, oldest: number): HrUnavailableError {
  return new HrUnavailableError(message('said.hr_too_old', { version, oldest }))
}

/** @param reason the server's own words about a mapping's text, which must not hold values of rows, or a message */
export function mappingRefused(
  file: string,
  reason: string | Said,
  place: Place | null,
  cause: unknown,
): MappingError {
  const what = typeof reason === 'string' ? inWords(reason) : reason
  return new MappingError('MAPPING_SQL', file, what, { place, cause })
}

/**
 * An HR value that the mapping's expressions cannot take. It has no cause: the server's message may hold the value.
 * @param state as the server calls it, such as `SQLSTATE 22P02`
 */
export function valueRefused(file: string, state: string, place: Place | null): HrDataError {
  return new HrDataError(file, message('said.value_refused', { state }), place)
}

/** A subquery in the mapping that finds more than one row for some employee. */
export function subqueryOfMany(file: string, state: string, place: Place | null): HrDataError {
  return new HrDataError(file, message('said.subquery_of_many', { state }), place)
}

/** Of an enterprise; employees of a single one have none. */
export function noSourceHas(code: string): Message {
  return code === '' ? message('said.no_source_of_none') : message('said.no_source', { code })
}

/** A position as editors and compilers write it: `employees.sql:3:18`. */
export function placed(file: string, place: Place | null): string {
  if (place === null) return file
  return place.column === null ? `${file}:${place.line}` : `${file}:${place.line}:${place.column}`
}

/** The position after a text. */
export function placeAfter(text: string): Place {
  const lines = text.split('\n')
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 }
}

/** The position of a name in SQL, ignoring case, if it occurs once; `before` is the text that it has to follow. */
export function onlyPlaceOf(name: string, sql: string, before = ''): number | null {
  const written = name.replace(/[^\w\u0080-\uffff]/g, '\\$&')
  const word = new RegExp(`(?<![\\w$\\u0080-\\uffff])${before}${written}(?![\\w$\\u0080-\\uffff])`, 'gi')
  const [first, second] = sql.matchAll(word)
  return first && !second ? first.index + first[0].length - name.length : null
}
