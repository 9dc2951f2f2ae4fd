import { stripVTControlCharacters } from 'node:util'

/** Characters that take two columns of a terminal. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const ZERO = /[\p{Mn}\p{Me}\p{Cf}]/u

/** Columns that a text without control characters takes; colour codes count for nothing. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of stripVTControlCharacters(text))
    width += WIDE.test(character) ? 2 : ZERO.test(character) ? 0 : 1
  return width
}

/** A text that comes from elsewhere on one line, unable to steer the terminal. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
}

/** The text in at most `width` columns, its end replaced by … where it is too long. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let taken = ''
  for (const character of text) {
    if (widthOf(taken + character) > width - 1) break
    taken += character
  }
  return `${taken}…`
}

/** Fills up with blanks. */
export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'right' ? blanks + text : text + blanks
}

/** The text in lines of at most `width` columns, broken between words where it can be. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const word of text.split(/\s+/).filter(Boolean)) {
    const longer = line === '' ? word : `${line} ${word}`
    if (widthOf(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = word
  }
  return line === '' ? lines : [...lines, line]
}

/** Columns of the terminal; 80 where there is none. */
export function terminalWidth(): number {
  return process.stdout.columns || 80
}
