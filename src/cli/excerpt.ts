import { readFile } from 'node:fs/promises'
import type { MappingError, Place } from '../hr/errors.ts'
import { colours, cut, terminalWidth, widthOf } from './output.ts'

/** The line of a mapping file in which an error is, with a mark below the column; empty if the place is unknown. */
export async function excerptOf({ file, place }: Pick<MappingError, 'file' | 'place'>): Promise<string[]> {
  if (!place) return []
  const text = await readFile(file, 'utf8').catch(() => null)
  return text === null ? [] : excerpt(text, place)
}

/** One line of a text with a mark below the column. */
export function excerpt(text: string, { line, column }: Place): string[] {
  const content = text.replace(/^\ufeff/, '').split('\n')[line - 1]
  if (content === undefined) return []
  const margin = `${String(line).padStart(4)} | `
  // Split by characters, because the server counts characters.
  const characters = [...content.replace(/[\p{Cc}\p{Cf}\u2028\u2029]/gu, ' ')]
  const room = terminalWidth() - margin.length - 2
  // A long line is shown from a little before the error.
  const from = widthOf(content) <= room ? 0 : Math.max(0, (column ?? 1) - 1 - Math.floor(room / 4))
  const shown = cut(characters.slice(from).join('').trimEnd(), room)
  const before = characters.slice(from, (column ?? 1) - 1).join('')
  const mark = column === null ? [] : [`${' '.repeat(margin.length + widthOf(before))}${colours.red('^')}`]
  return [`${colours.dim(margin)}${shown}`, ...mark]
}
