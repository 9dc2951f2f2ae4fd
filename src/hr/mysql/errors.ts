import type { QueryError } from 'mysql2'
import {
  hrAway,
  hrRefuses,
  hrTooSlow,
  isExplained,
  mappingRefused,
  onlyPlaceOf,
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
  if (at === null && syntax) {
    const before = placeAfter(text.slice(0, offset)).line - 1
    return { line: Math.min(Number(syntax[2]) - before, placeAfter(sql).line), column: null }
  }
  return at === null || at < offset ? null : placeAfter(sql.slice(0, at - offset))
}

/** Bytes of the statement that the server quotes at most, but for a character that it would have to cut. */
const QUOTED = 80 - 3

/**
 * Where the text that the server quotes begins: it quotes all that is left, or a beginning of it. MariaDB writes `?` for
 * characters beyond the first plane, and names the line in which it stopped to read, which may be the next one.
 */
function afterSyntax(text: string, quoted: string, line: number): number | null {
  if (quoted === '') return text.trimEnd().length
  const isCut = Buffer.byteLength(quoted) >= QUOTED
  const pattern = [...(isCut ? quoted.replace(/(?:\.{3}|\ufffd+)$/, '') : quoted)]
    .map(character =>
      character === '?'
        ? '(?:\\?|[\\u{10000}-\\u{10ffff}])'
        : character.replace(/[\\^$.*+()[\]{}|/]/, '\\$&'),
    )
    .join('')
  const places = [...text.matchAll(new RegExp(isCut ? pattern : `${pattern}$`, 'gu'))].map(
    match => match.index,
  )
  const near = places.filter(at => placeAfter(text.slice(0, at)).line === line)
  const [only, another] = places.length > 1 ? near : places
  return only === undefined || another !== undefined ? null : only
}

/** Where the name stands that the message quotes, if there is only one place. */
function placeOfName(text: string, message: string): number | null {
  const names = [...message.matchAll(/['`]([^'`]+)[`']/g)].map(([, name]) => name)
  // Of a right that is missing, the user comes first and the table last.
  const name = message.includes('denied to user') ? names.at(-1) : names[0]
  if (name === undefined) return null
  // The server puts the database before the name of a table, a statement mostly does not.
  return onlyPlaceOf(name, text) ?? onlyPlaceOf(name.slice(name.lastIndexOf('.') + 1), text)
}
