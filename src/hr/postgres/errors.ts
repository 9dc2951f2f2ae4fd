import pg from 'pg'
import {
  HrTooSlowError,
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
import { LOOKUP_MS } from '../server.ts'

/** SQLSTATE classes and codes after which a retry may succeed: the mapping is not at fault. */
const TRANSIENT = /^(?:08|25P0[34]|28|3D|40|53|55|57|58|72|HV|XX)/

/** Classes whose messages are about the statement's text and the schema's names, never about values of rows. */
const ABOUT_THE_STATEMENT = /^(?:42|0A|25)/
/**
 * In class 42, functions that parse a row's text as a query, a path or a name quote that text: `to_tsquery(name)`. Their errors
 * have no position, or one within that text; errors about the statement always have one, except for privileges and collations.
 */
const MAY_QUOTE_A_VALUE = /^42(?!501|P2)/

/** SQLSTATE cardinality_violation. */
const CARDINALITY = '21000'

/**
 * The server's codes, or classes of them, for what it refuses, and the driver's words. A session that only reads fails to
 * serialize on a standby alone.
 */
const REFUSALS: Record<string, 'login' | 'database' | 'full' | 'standby' | 'lock' | 'lost' | 'table'> = {
  '28000': 'login',
  '28P01': 'login',
  '3D000': 'database',
  '40001': 'standby',
  '53300': 'full',
  '55P03': 'lock',
  '57P01': 'lost',
  HV: 'table',
  XX001: 'table',
  XX002: 'table',
  'Connection terminated unexpectedly': 'lost',
}

/** The driver's words once its own time limit is over, which leaves the server at work. */
const OUT_OF_TIME = 'Query read timeout'

/**
 * Translates an error of the HR connection. The server's message is passed on only where it cannot hold values of rows; for the
 * same reason errors about data carry no cause.
 *
 * @param statement the one that was running
 * @param hasRows whether the statement read rows; false: it was only planned
 * @param timeoutMs how long the driver waited for it
 */
export function toHrError(
  error: unknown,
  statement?: Omit<Statement, 'text'>,
  hasRows = true,
  timeoutMs = LOOKUP_MS,
): Error {
  if (isExplained(error)) return error
  if (error instanceof Error && error.message === OUT_OF_TIME) return new HrTooSlowError(timeoutMs)
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
  const refusal = REFUSALS[reason] ?? REFUSALS[reason.slice(0, 2)]
  return refusal ? hrRefuses(refusal, reason, cause) : hrAway(reason, cause)
}

/** An error's code, or else the driver's own words, which hold no values of rows. */
function codeOf(error: unknown): string {
  const { code, message } = error as Partial<NodeJS.ErrnoException>
  return code || message || 'connection lost'
}

/** Position in the mapping file. PostgreSQL counts in characters of the whole query, from 1. */
function placeOf(error: pg.DatabaseError, { mapping, before }: Omit<Statement, 'text'>): Place | null {
  const position = Number(error.position) - before.length
  const characters = [...mapping.sql]
  if (!(position >= 1 && position <= characters.length + 1)) return null
  return placeAfter(characters.slice(0, position - 1).join(''))
}
