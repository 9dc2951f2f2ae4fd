import { MappingError } from './errors.ts'

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
const OPENING = /[eE]'|'|"|--|\/\*|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y
const BEGINNINGS = new Set(['select', 'with', 'values', 'table', '('])

/** A mapping file: its name for messages, and its text. */
export interface MappingFile {
  file: string
  sql: string
}

/**
 * The one SELECT of a mapping file, from the file's first character (so that positions hold) up to its final
 * semicolon. Throws a MappingError for an empty file, several statements, or another kind of statement.
 */
export function singleSelect({ file, sql }: MappingFile): string {
  const text = sql.replace(/^\ufeff/, '')
  let first: string | undefined
  let end: number | undefined
  let depth = 0
  let at = 0
  const refuse = (message: string) => new MappingError('MAPPING_STATEMENT', file, message)
  while (at < text.length) {
    const character = text.charAt(at)
    const after = skip(text, at)
    if (after === null) throw refuse(`line ${lineAt(text, at)}: a quote or comment is not closed`)
    const isComment = text.startsWith('--', at) || text.startsWith('/*', at)
    if (!isComment && !/\s/.test(character) && character !== ';') {
      if (end !== undefined) {
        throw refuse(`line ${lineAt(text, at)}: a second statement begins; the mapping must be one SELECT`)
      }
      first ??= text.slice(at, after).toLowerCase()
    }
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) throw refuse(`line ${lineAt(text, at)}: a parenthesis closes that was never opened`)
    if (character === ';') end ??= at
    at = after
  }
  if (first === undefined) throw refuse('the file holds no statement; it must be one SELECT')
  if (!BEGINNINGS.has(first)) throw refuse('the statement must be a SELECT (or begin with WITH)')
  return text.slice(0, end)
}

/** Where the token that begins at `at` ends, or null when it never does. */
function skip(text: string, at: number): number | null {
  OPENING.lastIndex = at
  const opening = OPENING.exec(text)?.[0]
  if (opening === undefined) {
    WORD.lastIndex = at
    return at + (WORD.exec(text)?.[0].length ?? 1)
  }
  const inside = at + opening.length
  if (opening === '--') return found(text.indexOf('\n', inside), 0) ?? text.length
  if (opening === '/*') return skipComment(text, inside)
  if (opening.startsWith('$')) return found(text.indexOf(opening, inside), opening.length)
  return skipQuoted(text, inside, opening.slice(-1), opening.length === 2)
}

function found(index: number, length: number): number | null {
  return index === -1 ? null : index + length
}

/** Comments nest in PostgreSQL. */
function skipComment(text: string, inside: number): number | null {
  const mark = /\/\*|\*\//g
  mark.lastIndex = inside
  for (let depth = 1; ; ) {
    const match = mark.exec(text)
    if (!match) return null
    depth += match[0] === '/*' ? 1 : -1
    if (depth === 0) return mark.lastIndex
  }
}

/** A doubled quote is read as the end of one text and the beginning of the next, which comes to the same. */
function skipQuoted(text: string, inside: number, quote: string, escapes: boolean): number | null {
  for (let at = inside; at < text.length; at += 1) {
    if (escapes && text[at] === '\\') at += 1
    else if (text[at] === quote) return at + 1
  }
  return null
}

function lineAt(text: string, at: number): number {
  return text.slice(0, at).split('\n').length
}
