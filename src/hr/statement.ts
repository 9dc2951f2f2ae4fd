import { MappingError, placeAfter } from './errors.ts'
import type { MappingFile } from './mapping.ts'

/** How a server's SQL is read, as far as quotes and comments go: a semicolon in one of them ends no statement. */
export interface Dialect {
  /** The words that a SELECT may begin with, in small letters. A parenthesis always may. */
  beginnings: readonly string[]
  /** What opens a text or a quoted name; its last character ends it. The first that fits counts. */
  quotes: readonly { opening: string; hasEscapes: boolean }[]
  /** What stands around a quoted name; doubled, it is a character of the name. */
  nameQuote: string
  /** Whether `$tag$ … $tag$` is a text. */
  hasDollarQuotes: boolean
  /** What begins a comment that ends with its line; a sticky expression. */
  lineComment: RegExp
  /** Whether comments between slashes and stars may hold others. */
  nestsComments: boolean
  /** What begins a comment that the server runs as a part of the statement, which is refused; a sticky expression. */
  executedComment?: RegExp
}

/**
 * The one SELECT of a mapping file, from the file's first character (so that positions hold) up to its final
 * semicolon. Throws a MappingError for an empty file, several statements, or another kind of statement.
 */
export function singleSelect({ file, sql }: MappingFile, dialect: Dialect): string {
  const text = sql.replace(/^\ufeff/, '')
  let first: string | undefined
  let end: number | undefined
  let depth = 0
  let at = 0
  const refuse = (message: string) => new MappingError('MAPPING_STATEMENT', file, message)
  const refuseHere = (message: string) => {
    const place = placeAfter(text.slice(0, at))
    return new MappingError('MAPPING_STATEMENT', file, message, { place })
  }
  while (at < text.length) {
    const character = text.charAt(at)
    const token = tokenAt(text, at, dialect)
    if (token.end === null) throw refuseHere('a quote or comment is not closed')
    if (token.kind === 'executed')
      throw refuseHere('the server runs what stands in this comment; write it without the comment')
    if (token.kind !== 'comment' && !/\s/.test(character) && character !== ';') {
      if (end !== undefined) {
        throw refuseHere('a second statement begins; the mapping must be one SELECT')
      }
      first ??= text.slice(at, token.end).toLowerCase()
    }
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) throw refuseHere('a parenthesis closes that was never opened')
    if (character === ';') end ??= at
    at = token.end
  }
  if (first === undefined) throw refuse('the file holds no statement; it must be one SELECT')
  if (first !== '(' && !dialect.beginnings.includes(first))
    throw refuse('the statement must be a SELECT (or begin with WITH)')
  return text.slice(0, end)
}

/** A name as a SELECT writes it, whatever characters it has and whatever it means in SQL. */
export function quotedName(name: string, { nameQuote }: Dialect): string {
  return `${nameQuote}${name.replaceAll(nameQuote, nameQuote.repeat(2))}${nameQuote}`
}

/** A text as a SELECT writes it. */
export function quotedText(text: string, { quotes }: Dialect): string {
  const hasEscapes = quotes.some(quote => quote.opening === "'" && quote.hasEscapes)
  return `'${(hasEscapes ? text.replaceAll('\\', '\\\\') : text).replaceAll("'", "''")}'`
}

interface Token {
  kind: 'plain' | 'comment' | 'executed'
  /** Where it ends, or null when it never does. */
  end: number | null
}

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
const DOLLAR_QUOTE = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y

/** The comment, quote, word or character that begins at `at`. */
function tokenAt(text: string, at: number, dialect: Dialect): Token {
  if (matchAt(dialect.lineComment, text, at))
    return { kind: 'comment', end: after(text.indexOf('\n', at), 0) ?? text.length }
  if (text.startsWith('/*', at)) {
    const isExecuted = dialect.executedComment !== undefined && matchAt(dialect.executedComment, text, at)
    const end = endOfComment(text, at + 2, dialect.nestsComments)
    return { kind: isExecuted ? 'executed' : 'comment', end }
  }
  return { kind: 'plain', end: endOfPlain(text, at, dialect) }
}

function endOfPlain(text: string, at: number, { quotes, hasDollarQuotes }: Dialect): number | null {
  for (const { opening, hasEscapes } of quotes)
    if (text.startsWith(opening, at))
      return endOfQuoted(text, at + opening.length, opening.slice(-1), hasEscapes)
  const dollars = hasDollarQuotes && matchAt(DOLLAR_QUOTE, text, at)
  if (dollars) return after(text.indexOf(dollars, at + dollars.length), dollars.length)
  return at + (matchAt(WORD, text, at)?.length ?? 1)
}

function matchAt(sticky: RegExp, text: string, at: number): string | undefined {
  sticky.lastIndex = at
  return sticky.exec(text)?.[0]
}

function after(index: number, length: number): number | null {
  return index === -1 ? null : index + length
}

function endOfComment(text: string, inside: number, nests: boolean): number | null {
  if (!nests) return after(text.indexOf('*/', inside), 2)
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
function endOfQuoted(text: string, inside: number, quote: string, hasEscapes: boolean): number | null {
  for (let at = inside; at < text.length; at += 1) {
    if (hasEscapes && text[at] === '\\') at += 1
    else if (text[at] === quote) return at + 1
  }
  return null
}
