import type { QueryError } from 'mysql2'
import { HANDSHAKE, sentenceOf } from '../../lib/failure.ts'
import { inWords, message } from '../../texts/message.ts'
import {
  HrTooSlowError,
  hrAway,
  hrRefuses,
  isExplained,
  mappingRefused,
  onlyPlaceOf,
  type Place,
  placeAfter,
  subqueryOfMany,
  valueRefused,
} from '../errors.ts'
import type { Statement } from '../rows.ts'

/** SQLSTATE classes after which a retry may succeed: the mapping is not at fault. */
const TRANSIENT_STATES = /^(?:08|28|40|70)/

/** Errors of the same kind in mixed classes: a server that is starting up, whose disk is full, or in a cluster without a majority. */
const TRANSIENT = new Set([
  ...[1021, 1028, 1030, 1037, 1038, 1041, 1114, 1129, 1130, 1135, 1158, 1159, 1160, 1161, 1206, 1213, 1226],
  ...[1290, 1317, 1412, 1613, 1615, 1836, 1969, 3024, 3168, 3170],
])

/** A table or an index is damaged, or the server behind a foreign table has trouble. */
const UNREADABLE = new Set([1016, 1017, 1033, 1034, 1035, 1194, 1195, 1296, 1297, 1429, 1430, 1712])
/** A server passes on a storage engine's numbers, below 1000, and a client's, which it is itself to a foreign table's server. */
const isPassedOn = (errno: number) => errno < 1000 || (errno >= 2000 && errno < 3000)

/** Classes whose messages are about the statement's text and the schema's names, never about values of rows. */
const ABOUT_THE_STATEMENT = /^(?:42|0A|25)/
/** Others of the kind: a union of unequal SELECTs, incompatible collations, a broken view, names and types unknown to the server. */
const ALSO_ABOUT_THE_STATEMENT = new Set([1193, 1222, 1241, 1267, 1270, 1271, 1356, 1449, 4161])
/** Raised by a function of HR's own, with its own state and message. */
const RAISED = new Set([1643, 1644])

/** ER_SUBQUERY_NO_1_ROW. */
const SUBQUERY_OF_MANY = 1242

/** ER_ACCESS_DENIED_ERROR. */
const ACCESS_DENIED = 1045

/** By the server's number of an error, or by the driver's code. */
const REFUSALS: Record<number | string, 'login' | 'database' | 'right' | 'full' | 'lock' | 'lost'> = {
  1040: 'full',
  1044: 'right',
  1045: 'login',
  1049: 'database',
  1053: 'lost',
  1203: 'full',
  1205: 'lock',
  1698: 'login',
  1927: 'lost',
  3159: 'login', // without TLS
  4031: 'lost',
  PROTOCOL_CONNECTION_LOST: 'lost',
}
/** What its address says for TLS. */
const TLS = { authority: 'ssl-ca', unchecked: 'ssl-mode=required', off: 'ssl-mode=disabled' }

const TOO_SLOW = new Set([1969, 3024])

interface ServerError extends QueryError {
  /** The server's own message. */
  sqlMessage: string
}

/**
 * Translates an error of the HR connection. The server's message is passed on only where it cannot hold values of rows; for the
 * same reason errors about data carry no cause.
 *
 * @param statement the one that was running
 * @param timeoutMs how long it was allowed to run
 */
export function toHrError(error: unknown, statement?: Statement, timeoutMs: number | null = null): Error {
  if (isExplained(error)) return error
  const { errno, code, sqlState, sqlMessage } = error as Partial<ServerError>
  if (errno !== undefined && TOO_SLOW.has(errno) && timeoutMs !== null) return new HrTooSlowError(timeoutMs)
  // The login was long ago: MariaDB says so of the user whose rights a view has.
  if (errno === ACCESS_DENIED && statement && sqlMessage) {
    const reason = inWords(`${sqlMessage} (${sqlState}, error ${errno})`)
    return mappingRefused(statement.mapping.file, message('said.definer_denied', { reason }), null, error)
  }
  const isOfTable =
    sqlState === 'HY000' && errno !== undefined && (UNREADABLE.has(errno) || isPassedOn(errno))
  const refusal = isOfTable ? 'table' : REFUSALS[errno ?? code ?? '']
  if (refusal) return hrRefuses(refusal, code ?? String(errno), error)
  if (code === HANDSHAKE) return hrAway(sentenceOf(error).split('\n', 1)[0] ?? code, error, TLS)
  if (!sqlState || !sqlMessage || !errno) return hrAway(code ?? 'connection lost', error, TLS)
  if (TRANSIENT_STATES.test(sqlState) || TRANSIENT.has(errno) || !statement)
    return hrAway(code ?? sqlState, error)
  const { file } = statement.mapping
  const state = `SQLSTATE ${sqlState}, error ${errno}`
  if (errno === SUBQUERY_OF_MANY) return subqueryOfMany(file, state, null)
  const isAboutTheStatement = ABOUT_THE_STATEMENT.test(sqlState) || ALSO_ABOUT_THE_STATEMENT.has(errno)
  if (!isAboutTheStatement || RAISED.has(errno)) return valueRefused(file, state, null)
  const place = placeOf(sqlMessage, statement)
  const words = place ? sqlMessage.replace(/ at line \d+$/, '') : sqlMessage
  return mappingRefused(file, `${words} (${sqlState}, error ${errno})`, place, error)
}

/** For a syntax error MySQL gives the text after it and its line; for other errors only the name concerned. */
function placeOf(message: string, { text, mapping: { sql }, before }: Statement): Place | null {
  const syntax = /near '([\s\S]*)' at line (\d+)$/.exec(message)
  const at = syntax ? afterSyntax(text, syntax[1] ?? '', Number(syntax[2])) : placeOfName(text, message)
  if (at === null && syntax) {
    const linesBefore = placeAfter(before).line - 1
    return { line: Math.min(Number(syntax[2]) - linesBefore, placeAfter(sql).line), column: null }
  }
  return at === null || at < before.length ? null : placeAfter(sql.slice(0, at - before.length))
}

/** Most bytes of the statement that the server quotes, less a character that it would have to cut. */
const QUOTED = 80 - 3

/**
 * Where the text that the server quotes begins: it quotes all of the rest, or its beginning. Both servers write `?` for characters
 * beyond the first plane; of one that is cut in two, MySQL writes each byte as a character. MariaDB names the line in which it stopped
 * reading, which may be the next one.
 */
function afterSyntax(text: string, quoted: string, line: number): number | null {
  if (quoted === '') return text.trimEnd().length
  const isCut = Buffer.byteLength(quoted) >= QUOTED
  const pattern = [...(isCut ? quoted.replace(/(?:\.{3}|\ufffd+|[\u0080-\u00ff]{1,3})$/, '') : quoted)]
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

/** The position of the name that the message quotes, if it occurs once. */
function placeOfName(text: string, message: string): number | null {
  const names = [...message.matchAll(/['`]([^'`]+)[`']/g)].map(([, name]) => name)
  // For a missing privilege, the user comes first and the table last.
  const name = message.includes('denied to user') ? names.at(-1) : names[0]
  if (name === undefined) return null
  // The server qualifies a table with its database; a statement mostly does not.
  return onlyPlaceOf(name, text) ?? onlyPlaceOf(name.slice(name.lastIndexOf('.') + 1), text)
}
