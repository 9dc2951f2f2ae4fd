/** A position in a mapping's text, counted from 1. */
export interface Place {
  line: number
  /** Null when the server names only the line, and its message fits several positions. */
  column: number | null
}

/** The mapping itself is wrong: nothing can be read until the file is fixed. */
export class MappingError extends Error {
  /** What is wrong: the file, its statement, the server's opinion of it, its columns, or that there is no mapping. */
  readonly code: 'MAPPING_FILE' | 'MAPPING_STATEMENT' | 'MAPPING_SQL' | 'MAPPING_COLUMNS' | 'MAPPING_MISSING'

  readonly file: string
  /** Where it is wrong, if that is a single place. */
  readonly place: Place | null
  /** What is wrong, without file and place. */
  readonly reason: string

  constructor(
    code: MappingError['code'],
    file: string,
    reason: string,
    { place = null, ...options }: ErrorOptions & { place?: Place | null } = {},
  ) {
    super(`${placed(file, place)}: ${reason}`, options)
    this.name = 'MappingError'
    this.code = code
    this.file = file
    this.place = place
    this.reason = reason
  }
}

/** The HR database does not answer, or stopped in the middle of an answer. A retry may succeed. */
export class HrUnavailableError extends Error {
  readonly code = 'HR_UNAVAILABLE'
  override readonly name: string = 'HrUnavailableError'
}

/** HR's delivery is incomplete. A run that would read it is suspect; the next delivery may be fine. */
export class HrDeliveryError extends HrUnavailableError {
  override readonly name = 'HrDeliveryError'

  constructor(folder: string, problem: string | null) {
    super(`the delivery in ${folder} is not complete: ${problem}`)
  }
}

/** Whether the message of a run is that of an {@link HrDeliveryError}. */
export function isOfDelivery(message: string): boolean {
  return /the delivery in .+ is not complete: /s.test(message)
}

/** HR returned rows that the mapping or dirsync cannot use as a whole. A single bad employee does not count. */
export class HrDataError extends Error {
  readonly code = 'HR_DATA'
  override readonly name = 'HrDataError'
}

/** Whether an error reports a problem of HR rather than of ours. */
export function isOfHr(error: unknown): error is HrUnavailableError | HrDataError | MappingError {
  return error instanceof HrUnavailableError || error instanceof HrDataError || error instanceof MappingError
}

/** Whether an error is one of these already, or an abort: it needs no explanation. */
export function isExplained(error: unknown): error is Error {
  return isOfHr(error) || (error instanceof Error && error.name === 'AbortError')
}

/** @param reason the server's code, or that of the connection */
export function hrAway(reason: string, cause: unknown): HrUnavailableError {
  return new HrUnavailableError(
    `the HR database does not answer (${reason}); check HR_DATABASE_URL or HR_SOURCES, and that the server is up`,
    { cause },
  )
}

const REFUSALS = {
  login: 'the HR database refuses the login',
  database: 'the HR server has no such database',
  right: 'the HR user has no right to this database, or there is none of this name',
}

/** A login that the server refuses. */
export function hrRefuses(what: keyof typeof REFUSALS, reason: string, cause: unknown): HrUnavailableError {
  return new HrUnavailableError(
    `${REFUSALS[what]} (${reason}); check user, password and database in HR_DATABASE_URL or HR_SOURCES`,
    { cause },
  )
}

/** A statement that took too long does not mean that HR is away. */
export function hrTooSlow(timeoutMs: number): HrUnavailableError {
  const seconds = Math.round(timeoutMs / 1000)
  return new HrUnavailableError(`HR's server needed more than ${seconds} s for the SELECT, and stopped it`)
}

/** The server's own message about a mapping's text. It must not hold values of rows. */
export function mappingRefused(
  file: string,
  message: string,
  place: Place | null,
  cause: unknown,
): MappingError {
  return new MappingError('MAPPING_SQL', file, message, { place, cause })
}

/** An HR value that the mapping's expressions cannot take. It has no cause: the server's message may hold the value. */
export function valueRefused(file: string, sqlState: string, place: Place | null): HrDataError {
  return new HrDataError(
    `${placed(file, place)}: the query failed on a value in HR (SQLSTATE ${sqlState}); make its casts and arithmetic accept every row (\`dirsync hr check\` tells which does not)`,
  )
}

/** A subquery in the mapping that finds more than one row for some employee. */
export function subqueryOfMany(file: string, sqlState: string, place: Place | null): HrDataError {
  return new HrDataError(
    `${placed(file, place)}: a subquery returned more than one row for an employee (${sqlState}); make it return one, such as with max() or limit 1`,
  )
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
