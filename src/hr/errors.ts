import pg from 'pg'

/** Where in a mapping's text, both counted from 1. */
export interface Place {
  line: number
  column: number
}

/** The mapping itself is wrong: nothing can be read until somebody mends the file. */
export class MappingError extends Error {
  /** What is wrong: the file, its statement, the server's opinion of it, its columns, or that there is no mapping. */
  readonly code: 'MAPPING_FILE' | 'MAPPING_STATEMENT' | 'MAPPING_SQL' | 'MAPPING_COLUMNS' | 'MAPPING_MISSING'

  /** Where it is wrong, as far as that is one place. */
  readonly place: Place | null

  constructor(
    code: MappingError['code'],
    file: string,
    message: string,
    { place = null, ...options }: ErrorOptions & { place?: Place | null } = {},
  ) {
    super(`${file}: ${message}`, options)
    this.name = 'MappingError'
    this.code = code
    this.place = place
  }
}

/** The HR database does not answer, or stopped in the middle of an answer. The next try may succeed. */
export class HrUnavailableError extends Error {
  readonly code = 'HR_UNAVAILABLE'
  override readonly name = 'HrUnavailableError'
}

/** HR returned rows that the mapping or dirsync cannot use as a whole. A single bad employee is no such case. */
export class HrDataError extends Error {
  readonly code = 'HR_DATA'
  override readonly name = 'HrDataError'
}

/** SQLSTATE classes and codes after which another try may succeed: nothing is wrong with the mapping. */
const TRANSIENT = /^(?:08|28|3D|40|53|55|57|58|XX)/

/** Classes whose messages speak of the statement's text and of names in the schema, never of values in rows. */
const ABOUT_THE_STATEMENT = /^(?:42|0A|25)/

/** What the server answers to a login that it refuses. */
const REFUSALS: Record<string, string> = {
  '28000': 'the HR database refuses the login',
  '28P01': 'the HR database refuses the login',
  '3D000': 'the HR server has no such database',
}

/**
 * What an error of the HR connection means. The server's message is passed on only where it cannot hold values of rows;
 * for the same reason errors about data carry no cause.
 *
 * @param mapping file and text of the statement that was running, and the length of what stood before the text
 */
export function toHrError(error: unknown, mapping?: { file: string; sql: string; offset: number }): Error {
  if (error instanceof MappingError || error instanceof HrUnavailableError || error instanceof HrDataError)
    return error
  if (error instanceof Error && error.name === 'AbortError') return error
  if (!(error instanceof pg.DatabaseError)) return unavailable(error, codeOf(error))
  const state = error.code ?? 'no SQLSTATE'
  if (TRANSIENT.test(state) || !mapping) return unavailable(error, state)
  const place = placeOf(error, mapping)
  const line = place === null ? '' : `line ${place.line}: `
  if (ABOUT_THE_STATEMENT.test(state))
    return new MappingError('MAPPING_SQL', mapping.file, `${line}${error.message} (${state})`, {
      cause: error,
      place,
    })
  return new HrDataError(
    `${mapping.file}: ${line}the query failed on a value in HR (SQLSTATE ${state}); make its casts and arithmetic accept every row`,
  )
}

function unavailable(cause: unknown, reason: string): HrUnavailableError {
  const refusal = REFUSALS[reason]
  return new HrUnavailableError(
    refusal
      ? `${refusal} (${reason}); check user, password and database in HR_DATABASE_URL`
      : `the HR database does not answer (${reason}); check HR_DATABASE_URL and that the server is up`,
    { cause },
  )
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'connection lost'
}

/** Place in the mapping file. PostgreSQL counts a position in characters of the whole query, from 1. */
function placeOf(error: pg.DatabaseError, mapping: { sql: string; offset: number }): Place | null {
  const position = Number(error.position) - mapping.offset
  const characters = [...mapping.sql]
  if (!(position >= 1 && position <= characters.length + 1)) return null
  return placeAfter(characters.slice(0, position - 1).join(''))
}

/** The place that follows a text. */
export function placeAfter(text: string): Place {
  const lines = text.split('\n')
  return { line: lines.length, column: [...(lines.at(-1) ?? '')].length + 1 }
}
