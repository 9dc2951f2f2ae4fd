import { type Message, message } from '../texts/message.ts'
import { MappingError, placeAfter } from './errors.ts'

/** A mapping file: its name for messages, and its text. */
export interface MappingFile {
  file: string
  sql: string
}

/** A mapping whose columns have been checked on the server. */
export interface Mapping extends MappingFile {
  /** The source of each mapped column, by its canonical name (`code` has become `corp_code`). */
  columns: ReadonlyMap<string, MappedColumn>
}

export interface MappedColumn {
  /** Its name in the mapping's SELECT. */
  source: string
  /** The server's own name for its type. */
  type: string
}

/** How to parse a server's SQL, as far as quotes and comments go: a semicolon in one of them does not end a statement. */
export interface Dialect {
  /** The words that a SELECT may begin with, in lower case. A parenthesis always may. */
  beginnings: readonly string[]
  /** What opens a text or a quoted name; its last character ends it. The first match counts. */
  quotes: readonly { opening: string; hasEscapes: boolean }[]
  /** The quote of a name; doubled, it is a character of the name. */
  nameQuote: string
  /** Whether `$tag$ … $tag$` is a text. */
  hasDollarQuotes: boolean
  /** A comment that ends with its line; a sticky expression. */
  lineComment: RegExp
  /** Whether block comments nest. */
  nestsComments: boolean
  /** Characters beyond ASCII that the server takes for blanks outside of quotes; a global expression. */
  blanks?: RegExp
  /** The beginning of a comment that the server heeds as part of the statement, which is refused; a sticky expression. */
  executedComment?: RegExp
  /**
   * Calls that do more than read, such as lock or sleep, for servers that do not report what a SELECT calls. They are refused.
   * Matched against the words of the statement separated by blanks, in lower case; names are without their quotes.
   */
  acts?: RegExp
}

/** Quotes and comments of PostgreSQL's SQL, which others share. */
export const POSTGRES_TOKENS = {
  quotes: [
    { opening: "e'", hasEscapes: true },
    { opening: "E'", hasEscapes: true },
    { opening: "'", hasEscapes: false },
    { opening: '"', hasEscapes: false },
  ],
  nameQuote: '"',
  hasDollarQuotes: true,
  lineComment: /--[^\n\r]*/y,
  nestsComments: true,
} satisfies Partial<Dialect>

/**
 * The single SELECT of a mapping file, from the file's first character (so that positions hold) up to its final semicolon.
 * Throws a MappingError for an empty file, several statements, or another kind of statement.
 */
export function singleSelect({ file, sql }: MappingFile, dialect: Dialect): string {
  const text = sql.replace(/^\ufeff/, '')
  const parsed = dialect.blanks ? text.replace(dialect.blanks, ' ') : text
  const words: { word: string; at: number }[] = []
  let end: number | undefined
  let depth = 0
  let at = 0
  const refuse = (reason: Message) => new MappingError('MAPPING_STATEMENT', file, reason)
  const refuseHere = (reason: Message) => {
    const place = placeAfter(text.slice(0, at))
    return new MappingError('MAPPING_STATEMENT', file, reason, { place })
  }
  const zero = text.indexOf('\0')
  if (zero >= 0) {
    at = zero
    throw refuseHere(message('said.select_zero'))
  }
  while (at < text.length) {
    const character = parsed.charAt(at)
    const token = tokenAt(parsed, at, dialect)
    if (token.end === null) throw refuseHere(message('said.select_unclosed'))
    if (token.kind === 'executed') throw refuseHere(message('said.select_in_comment'))
    if (token.kind !== 'comment' && !/\s/.test(character) && character !== ';') {
      if (end !== undefined) {
        throw refuseHere(message('said.select_second'))
      }
      words.push({ word: wordOf(parsed.slice(at, token.end), dialect), at })
    }
    if (character === '(') depth += 1
    if (character === ')') depth -= 1
    if (depth < 0) throw refuseHere(message('said.select_parenthesis'))
    if (character === ';') end ??= at
    at = token.end
  }
  const [{ word: first } = {}] = words
  if (first === undefined) throw refuse(message('said.select_empty'))
  if (first !== '(' && !dialect.beginnings.includes(first)) throw refuse(message('said.select_other'))
  const acting = dialect.acts?.exec(words.map(({ word }) => word).join(' '))
  if (acting) {
    at = words[acting.input.slice(0, acting.index).split(' ').length - 1]?.at ?? 0
    throw refuseHere(message('said.select_acts', { words: acting[0].replace(' (', '') }))
  }
  return text.slice(0, end)
}

/** A token in lower case, a name without its quotes; for a text, and for a name unlike any of the server's own, two quotes. */
function wordOf(token: string, { nameQuote }: Dialect): string {
  const word = token.startsWith(nameQuote) ? token.slice(1, -1) : token
  return /^(?:\w+|[^\s'"$\w])$/.test(word) ? word.toLowerCase() : "''"
}

/** A name as a SELECT writes it, whatever its characters and its meaning in SQL. */
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
  /** Its end, or null when it is unterminated. */
  end: number | null
}

const WORD = /[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*/y
/** A number with an exponent: the server ends it there, so that a word may follow without a blank. */
const NUMBER = /(?:\d+(?:\.\d*)?|\.\d+)e[+-]?\d+/iy
const DOLLAR_QUOTE = /\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/y

/** The comment, quote, word, number or character that begins at `at`. */
function tokenAt(text: string, at: number, dialect: Dialect): Token {
  const comment = matchAt(dialect.lineComment, text, at)
  if (comment) return { kind: 'comment', end: at + comment.length }
  if (text.startsWith('/*', at)) {
    const isExecuted = dialect.executedComment !== undefined && matchAt(dialect.executedComment, text, at)
    const end = endOfComment(text, at + 2, dialect.nestsComments)
    return { kind: isExecuted ? 'executed' : 'comment', end }
  }
  return { kind: 'plain', end: endOfPlain(text, at, dialect) }
}

function endOfPlain(text: string, at: number, { quotes, hasDollarQuotes }: Dialect): number | null {
  for (const { opening, hasEscapes } of quotes)
    if (text.startsWith(opening, at)) return endOfQuoted(text, at + opening.length, opening, hasEscapes)
  const dollars = hasDollarQuotes && matchAt(DOLLAR_QUOTE, text, at)
  if (dollars) return after(text.indexOf(dollars, at + dollars.length), dollars.length)
  return at + (matchAt(WORD, text, at) ?? matchAt(NUMBER, text, at) ?? ' ').length
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

/** What may separate the parts of one text, at least a line break. */
const GOES_ON = /[ \t\f\v]*(?:--[^\n\r]*)?[\n\r](?:\s|--[^\n\r]*[\n\r])*'/y

/**
 * A doubled quote is parsed as the end of one text and the beginning of the next, which is equivalent. So is a text that
 * continues on another line, except for E'…', whose next part has escapes as well.
 */
function endOfQuoted(text: string, inside: number, opening: string, hasEscapes: boolean): number | null {
  for (let at = inside; at < text.length; at += 1) {
    if (hasEscapes && text[at] === '\\') at += 1
    else if (text[at] === opening.at(-1)) {
      const next = opening.length > 1 && matchAt(GOES_ON, text, at + 1)
      if (!next) return at + 1
      at += next.length
    }
  }
  return null
}
