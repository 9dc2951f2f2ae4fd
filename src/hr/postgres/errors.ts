import pg from 'pg'
import {
  hrAway,
  hrRefuses,
  isExplained,
  mappingRefused,
  type Place,
  placeAfter,
  subqueryOfMany,
  valueRefused,
} from '../errors.ts'
import type { Statement } from '../rows.ts'

/** SQLSTATE classes and codes after which a retry may succeed: the mapping is not at fault. */
const TRANSIENT = /^(?:08|28|3D|40|53|55|57|58|XX)/

/** Classes whose messages are about the statement's text and the schema's names, never about values of rows. */
const ABOUT_THE_STATEMENT = /^(?:42|0A|25)/
/**
 * In class 42, functions that parse a row's text as a query, a path or a name quote that text: `to_tsquery(name)`. Their errors
 * have no position, or one within that text; errors about the statement always have one, except for privileges and collations.
 */
const MAY_QUOTE_A_VALUE = /^42(?!501|P2)/

/** SQLSTATE cardinality_violation. */
const CARDINALITY = '21000'

/** The server's codes for a refused login. */
const REFUSALS: Record<string, 'login' | 'database'> = {
  '28000': 'login',
  '28P01': 'login',
  '3D000': 'database',
}

/**
 * Translates an error of the HR connection. The server's message is passed on only where it cannot hold values of rows; for the
 * same reason errors about data carry no cause.
 *
 * @param statement the one that was running
 * @param hasRows whether the statement read rows; false: it was only planned
 */
export function toHrError(error: unknown, statement?: Omit<Statement, 'text'>, hasRows = true): Error {
  if (isExplained(error)) return error
  if (!(error instanceof pg.DatabaseError)) return unavailable(error, codeOf(error))
  const state = error.code ?? 'no SQLSTATE'
  if (TRANSIENT.test(state) || !statement) return unavailable(error, state)
  const { file } = statement.mapping
  const place = placeOf(error, statement)
  const isPlaced = error.position !== undefined && error.where === undefined
  const mayQuote = hasRows && !isPlaced && MAY_QUOTE_A_VALUE.test(state)
  if (ABOUT_THE_STATEMENT.test(state) && !mayQuote)
    return mappingRefused(file, `${error.message} (${state})`, place, error)
  const named = error.code === undefined ? state : `SQLSTATE ${state}`
  if (state === CARDINALITY) return subqueryOfMany(file, named, place)
  return valueRefused(file, named, place)
}

function unavailable(cause: unknown, reason: string): Error {
  const refusal = REFUSALS[reason]
  return refusal ? hrRefuses(refusal, reason, cause) : hrAway(reason, cause)
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'string' ? code : 'connection lost'
}

/** Position in the mapping file. PostgreSQL counts in characters of the whole query, from 1. */
function placeOf(error: pg.DatabaseError, { mapping, before }: Omit<Statement, 'text'>): Place | null {
  const position = Number(error.position) - before.length
  const characters = [...mapping.sql]
  if (!(position >= 1 && position <= characters.length + 1)) return null
  return placeAfter(characters.slice(0, position - 1).join(''))
}
