import { plainText } from './text.ts'

const TRUE = new Set(['t', 'true', '1', 'y', 'yes'])
const FALSE = new Set(['f', 'false', '0', 'n', 'no'])

/**
 * Reads the `active` column of a mapping: t/f, true/false, 1/0, y/n, yes/no in any case; nothing means active.
 * Undefined when the text is none of these.
 */
export function parseActive(text: string | null | undefined): boolean | undefined {
  const word = plainText(text ?? '').toLowerCase()
  if (word === '' || TRUE.has(word)) return true
  return FALSE.has(word) ? false : undefined
}
