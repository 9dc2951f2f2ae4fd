/** White space of every script, control characters, and characters that print nothing (zero width, direction marks). */
const INVISIBLE = /[\s\p{Cc}\p{Cf}]/gu
const EDGE = /^[\s\p{Cc}\p{Cf}]+/u
const FULL_WIDTH = /[\uff01-\uff5e\u3000]/g
/** Printable ASCII without blanks: most values, and no invisible character. */
const PLAIN = /^[!-~]*$/

/** Whether a character of this code needs no closer look at the edge of a text: printable ASCII or a common ideograph. */
function isPlain(code: number): boolean {
  return (code > 0x20 && code < 0x7f) || (code >= 0x4e00 && code <= 0x9fff)
}

/** Cuts blanks (also U+3000 and NBSP), control and zero-width characters off both ends. */
export function trimText(text: string): string {
  if (text === '' || (isPlain(text.charCodeAt(0)) && isPlain(text.charCodeAt(text.length - 1)))) return text
  const begin = EDGE.exec(text)?.[0].length ?? 0
  let end = text.length
  // Step by step: an expression that ends with $ would try every blank within the text, and each all those after it.
  while (end > begin) {
    const last = lastCharacter(text, end)
    if (!EDGE.test(last)) break
    end -= last.length
  }
  return text.slice(begin, end)
}

/** The whole character before a position. */
function lastCharacter(text: string, end: number): string {
  const pair = text.slice(Math.max(0, end - 2), end)
  return pair.length === 2 && (pair.codePointAt(0) ?? 0) > 0xffff ? pair : text.slice(end - 1, end)
}

/** Full-width letters, digits, punctuation and blanks (U+FF01–U+FF5E, U+3000) as their ASCII counterparts. */
export function toHalfWidth(text: string): string {
  if (PLAIN.test(text)) return text
  return text.replace(FULL_WIDTH, character =>
    character === '\u3000' ? ' ' : String.fromCharCode(character.charCodeAt(0) - 0xfee0),
  )
}

/** Removes every blank, control and zero-width character, wherever it stands. */
export function withoutBlanks(text: string): string {
  return PLAIN.test(text) ? text : text.replace(INVISIBLE, '')
}

/** An alphanumeric field as people type it: half-width, trimmed. */
export function halfWidthText(text: string): string {
  return trimText(toHalfWidth(text))
}

/** Whether the text has at most `limit` characters, counted as the platform counts them: in code points. */
export function fits(text: string, limit: number): boolean {
  if (text.length <= limit) return true
  if (text.length > limit * 2) return false
  let count = 0
  for (const _ of text) count += 1
  return count <= limit
}

/** The beginning of a text, of at most `limit` code units, that ends with a whole character. */
export function beginning(text: string, limit: number): string {
  if (text.length <= limit) return text
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
}

/** The text, cut with … where it is longer than this many code units. */
export function shortened(text: string, limit: number): string {
  return text.length <= limit ? text : `${beginning(text, limit)}…`
}

/** The name at most two letters away from a misspelt one, preferring one letter to two; undefined without one. */
export function closestName(name: string, names: readonly string[]): string | undefined {
  return names.find(other => areClose(name, other, 1)) ?? names.find(other => areClose(name, other, 2))
}

/** Whether one text becomes the other by inserting, removing or replacing at most this many letters. */
function areClose(a: string, b: string, left: number): boolean {
  let same = 0
  while (same < a.length && a[same] === b[same]) same += 1
  const [restA, restB] = [a.slice(same), b.slice(same)]
  if (restA === '' || restB === '') return restA.length + restB.length <= left
  if (left === 0) return false
  const [nextA, nextB] = [restA.slice(1), restB.slice(1)]
  return [
    [nextA, nextB],
    [nextA, restB],
    [restA, nextB],
  ].some(([x = '', y = '']) => areClose(x, y, left - 1))
}

/** Whether an address has no raw @, # or %, as in a password: one that has is parsed with a wrong host name, or none at all. */
export function isEncodedAddress(text: string): boolean {
  const afterScheme = text.slice(text.indexOf('://') + 3)
  return !afterScheme.includes('#') && (afterScheme.match(/@/g)?.length ?? 0) <= 1 && isEncoded(afterScheme)
}

/** Whether every % of a text begins a character that is percent-encoded. */
export function isEncoded(text: string): boolean {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** Whether it is an address with one of these beginnings, such as `https://`, in any letters. */
export function isAddress(text: string, beginnings: readonly string[]): boolean {
  return URL.canParse(text) && beginnings.some(beginning => text.toLowerCase().startsWith(beginning))
}

/** Whether an address has neither login nor parameters, so that a path can follow it. */
export function isBareAddress(text: string): boolean {
  const { username, password, search, hash } = new URL(text)
  return `${username}${password}${search}${hash}` === ''
}

/** A text with a capital first letter, for the beginning of a line or a sentence. */
export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const FULL_DATE = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ](\d{1,2}:\d{2}.*))?$/
const ZONED_TIME =
  /^(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)? ?(?:Z|UTC|GMT|([+-])(\d{1,2})(?::?(\d{2}))?(?::?\d{2})?)$/i
const COMPACT_DATE = /^(\d{4})(\d{2})(\d{2})$/
const MONTH_DAY = /^(\d{1,2})[-/.](\d{1,2})$/
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Whether the day exists in the Gregorian calendar; `month` counts from 1. */
export function isCalendarDate(year: number, month: number, day: number): boolean {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const last = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0)
  return year >= 1 && day >= 1 && day <= last
}

/**
 * `yyyy-MM-dd` of a date as HR systems write it: `yyyy-M-d`, `yyyy/M/d`, `yyyy.M.d`, `yyyy年M月d日`, `yyyyMMdd`, or a timestamp. Of
 * one without a zone it is the date part; one with `Z` or an offset is a moment, whose day is the one in China. Null when it is none
 * of these or the day does not exist.
 */
export function normaliseDate(text: string): string | null {
  const plain = halfWidthText(text).replace(/^(\d{4})年(\d{1,2})月(\d{1,2})日$/, '$1-$2-$3')
  const match = FULL_DATE.exec(plain)
  const parts = match ? [match[1], match[3], match[4]] : COMPACT_DATE.exec(plain)?.slice(1)
  if (!parts) return null
  const [year = '', month = '', day = ''] = parts
  if (!isCalendarDate(Number(year), Number(month), Number(day))) return null
  const date = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
  const zoned = ZONED_TIME.exec(match?.[5] ?? '')
  return zoned ? dayInChina(date, zoned) : date
}

const CHINA_DAY = new Intl.DateTimeFormat('sv-SE', {
  timeZone: 'Asia/Shanghai',
  ...({ year: 'numeric', month: '2-digit', day: '2-digit' } as const),
})

/** With the summer times of 1986 to 1991, as PostgreSQL has it: midnight of a birthday was then at +09:00. */
function dayInChina(date: string, time: RegExpExecArray): string | null {
  const [, hour = '', minute = '', second = '00', sign = '+', hours = '0', minutes = '0'] = time
  const offset = Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) * 60_000
  const moment = Date.parse(`${date}T${hour.padStart(2, '0')}:${minute}:${second}Z`) - offset
  const day = Number.isNaN(moment) ? '' : CHINA_DAY.format(moment).padStart(10, '0')
  return day.length === 10 ? day : null
}

/** `MM-dd` of a day without a year (29 February exists), or null when there is no such day. */
export function normaliseMonthDay(text: string): string | null {
  const match = MONTH_DAY.exec(halfWidthText(text))
  if (!match) return null
  const [, month = '', day = ''] = match
  if (!isCalendarDate(2000, Number(month), Number(day))) return null
  return `${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}

const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[ T]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.\d+)?$/

/** The time of the platform's `yyyy-MM-dd HH:mm:ss`, in GMT+8; null for a text that is not one. */
export function platformTime(text: string): Date | null {
  const [match, year, month, day, hour, minute, second] = DATE_TIME.exec(text.trim()) ?? []
  if (match === undefined || !isCalendarDate(Number(year), Number(month), Number(day))) return null
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}+08:00`)
}

/** China's UTC offset. */
export const CHINA_MS = 8 * 3_600_000

/** `yyyy-MM-dd` of a moment on the platform, where a day begins at midnight in GMT+8. */
export function platformDay(moment: Date): string {
  return new Date(moment.getTime() + CHINA_MS).toISOString().slice(0, 10)
}

/** As PostgreSQL's lower() with the collation "C": letters of other alphabets keep their capitals, so that an index serves. */
export function lowerAscii(text: string): string {
  return text.replace(/[A-Z]/g, letter => letter.toLowerCase())
}

/** A text as LIKE takes it literally, where a backslash escapes. */
export function likeText(text: string): string {
  return text.replace(/[\\%_]/g, '\\$&')
}

/** A pattern for LIKE of texts that begin so. */
export function likeBeginning(text: string): string {
  return `${likeText(text)}%`
}

/** What a JSON text says; undefined when it is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Quotes an argument for the shell. */
export function shellWord(text: string): string {
  return /^[\w./:@%+=,\u0080-\uffff-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`
}
