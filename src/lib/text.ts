/** Blanks of every script, control characters, and characters that print nothing (zero width, direction marks). */
const EDGES = /^[\s\p{Cc}\p{Cf}]+|[\s\p{Cc}\p{Cf}]+$/gu
const INVISIBLE = /[\s\p{Cc}\p{Cf}]/gu
const FULL_WIDTH = /[\uff01-\uff5e\u3000]/g
/** Printable ASCII without blanks: most values, and none of the above is among them. */
const PLAIN = /^[!-~]*$/

/** Whether a character of this code needs no closer look at the edge of a text: printable ASCII or a common ideograph. */
function isPlain(code: number): boolean {
  return (code > 0x20 && code < 0x7f) || (code >= 0x4e00 && code <= 0x9fff)
}

/** Cuts blanks (also U+3000 and NBSP), control and zero-width characters off both ends. */
export function trimText(text: string): string {
  if (text === '' || (isPlain(text.charCodeAt(0)) && isPlain(text.charCodeAt(text.length - 1)))) return text
  return text.replace(EDGES, '')
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
export function plainText(text: string): string {
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
