import type { QueryError } from 'mysql2'
import {
  hrAway,
  hrRefuses,
  hrTooSlow,
  isExplained,
  mappingRefused,
  type Place,
  placeAfter,
  valueRefused,
} from '../errors.ts'

/** SQLSTATE classes after which another try may succeed: nothing is wrong with the mapping. */
const TRANSIENT_STATES = /^(?:08|28|40|70)/

/** Errors that say the same in classes that hold others too: a server that is full, that starts up, that is in a cluster without a majority. */
const TRANSIENT = new Set([
  ...[1021, 1028, 1030, 1037, 1038, 1040, 1041, 1044, 1045, 1049, 1053, 1114, 1129, 1130, 1135, 1158, 1159],
  ...[1160, 1161, 1203, 1205, 1206, 1213, 1226, 1290, 1317, 1412, 1613, 1615, 1836, 1927, 1969, 3024, 3168],
  ...[3170, 4031],
])

/** Classes whose messages speak of the statement's text and of names in the schema, never of values in rows. */
const ABOUT_THE_STATEMENT = /^(?:42|0A|25)/
/** Others that do: a union of unequal SELECTs, collations that do not mix, a view that is broken, names that the server does not know. */
const ALSO_ABOUT_THE_STATEMENT = new Set([1193, 1222, 1241, 1267, 1270, 1271, 1356, 1449])
/** Raised by a function of HR's own, with a state and words of its choice. */
const RAISED = new Set([1643, 1644])

const REFUSALS: Record<number, 'login' | 'database'> = {
  1044: 'database',
  1045: 'login',
  1049: 'database',
  1698: 'login',
}
const TOO_SLOW = new Set([1969, 3024])

interface ServerError extends QueryError {
  /** The server's own words. */
  sqlMessage: string
}

/** A statement around the text of a mapping. */
export interface Statement {
  text: string
  /** File and text of the mapping, and the length of what stands before it in the statement. */
  mapping: { file: string; sql: string; offset: number }
}

/**
 * What an error of the HR connection means. The server's message is passed on only where it cannot hold values of rows;
 * for the same reason errors about data carry no cause.
 *
 * @param statement the one that was running
 * @param timeoutMs how long it was allowed to run
 */
export function toHrError(error: unknown, statement?: Statement, timeoutMs: number | null = null): Error {
  if (isExplained(error)) return error
  const { errno, code, sqlState, sqlMessage } = error as Partial<ServerError>
  if (errno !== undefined && TOO_SLOW.has(errno) && timeoutMs !== null) return hrTooSlow(timeoutMs)
  const refusal = REFUSALS[errno ?? 0]
  if (refusal) return hrRefuses(refusal, code ?? String(errno), error)
  if (!sqlState || !sqlMessage || !errno) return hrAway(code ?? 'connection lost', error)
  if (TRANSIENT_STATES.test(sqlState) || TRANSIENT.has(errno) || !statement)
    return hrAway(code ?? sqlState, error)
  const { file } = statement.mapping
  const isAboutTheStatement = ABOUT_THE_STATEMENT.test(sqlState) || ALSO_ABOUT_THE_STATEMENT.has(errno)
  if (!isAboutTheStatement || RAISED.has(errno))
    return valueRefused(file, `${sqlState}, error ${errno}`, null)
  const place = placeOf(sqlMessage, statement)
  const message = place ? sqlMessage.replace(/ at line \d+$/, '') : sqlMessage
  return mappingRefused(file, `${message} (${sqlState}, error ${errno})`, place, error)
}

/** MySQL says of a syntax error what follows it and in which line; of other errors only which name it is about. */
function placeOf(message: string, { text, mapping: { sql, offset } }: Statement): Place | null {
  const syntax = /near '([\s\S]*)' at line (\d+)$/.exec(message)
  const at = syntax ? afterSyntax(text, syntax[1] ?? '', Number(syntax[2])) : placeOfName(text, message)
  if (at === null || at < offset) return null
  return placeAfter(sql.slice(0, at - offset))
}

/** Where the text that the server quotes begins; it quotes 80 characters at most, and may cut the last one. */
function afterSyntax(text: string, quoted: string, line: number): number | null {
  const rest = quoted.length < 80 ? quoted : quoted.slice(0, -1)
  const lines = text.split('\n')
  const start = lines.slice(0, line - 1).reduce((length, { length: more }) => length + more + 1, 0)
  const at = rest === '' ? text.trimEnd().length : text.indexOf(rest, start)
  return at === -1 ? null : at
}

/** Where the name stands that the message quotes, if there is only one place. */
function placeOfName(text: string, message: string): number | null {
  const names = [...message.matchAll(/['`]([^'`]+)[`']/g)].map(([, name]) => name)
  // Of a right that is missing, the user comes first and the table last.
  const name = message.includes('denied to user') ? names.at(-1) : names[0]
  if (name === undefined) return null
  // The server puts the database before the name of a table, a statement mostly does not.
  for (const written of [name, name.slice(name.lastIndexOf('.') + 1)]) {
    const word = new RegExp(
      `(?<![\\w$\\u0080-\\uffff])${written.replace(/\W/g, '\\$&')}(?![\\w$\\u0080-\\uffff])`,
      'gi',
    )
    const places = [...text.matchAll(word)].map(({ index }) => index)
    if (places.length > 0) return places.length === 1 ? (places[0] as number) : null
  }
  return null
}
