import { stripVTControlCharacters, styleText } from 'node:util'
import { Problem, problemOf } from '../console/problem.ts'
import { codeOf } from '../lib/failure.ts'
import { io, perRun, write } from '../lib/io.ts'
import * as texts from '../lib/time-text.ts'
import { inLanguage, inWordsForPrograms } from '../texts/failures.ts'
import { byCount } from '../texts/figures.ts'
import type { TextKey } from '../texts/texts.ts'
import { FailedError, type FailureDocument, linesOf, ShellError, UsageError } from './failure.ts'
import { type Names, named, said, say } from './language.ts'

// Times

/** Whether this command shows times, and whether it has already printed their zone. */
const zone = perRun(() => ({ isNeeded: false, isSaid: false }))

/** That this command shows times. */
export function showsTimes(): void {
  zone().isNeeded = true
}

/** A time for a table. */
export function shortTime(date: Date | null): string | null {
  zone().isNeeded ||= date !== null
  return texts.shortTime(date)
}

/** A time for a timeline, to the second. */
export function longTime(date: Date | null): string | null {
  zone().isNeeded ||= date !== null
  return texts.longTime(date)
}

/** The end of a help text. */
export function examples(...commands: string[]): string {
  return ['', 'Examples:', ...commands.map(command => `  ${command}`)].join('\n')
}

/** Whether this command has printed its JSON document. */
const result = perRun(() => ({ isPrinted: false }))

/** Prints one JSON document: indented on a terminal, else on one line. */
export function printJson(document: unknown): void {
  result().isPrinted = true
  print(JSON.stringify(document, inWordsForPrograms, io().stdout.isTTY ? 2 : undefined))
}

/** Prints the JSON document of a command that failed, unless it has printed one that tells of it. */
export function printJsonFailure(error: unknown): void {
  if (!result().isPrinted) printJson({ error: documentOf(error) })
}

/** The code is that of the API, if the API refuses for the same reason. */
function documentOf(error: unknown): FailureDocument {
  if (error instanceof ShellError && error.document) return error.document
  const cause =
    error instanceof UsageError ? new Problem('invalid') : error instanceof FailedError ? error.cause : error
  const kind = cause ? problemOf(cause).kind : 'internal'
  const code = kind === 'internal' ? codeOf(cause) || 'failed' : kind
  const sentences = linesOf(error).map(line => inLanguage('en', line))
  return { code, message: sentences.join('\n') }
}

export function print(...lines: string[]): void {
  write(io().stdout, lines.map(line => `${line}\n`).join(''))
}

/** Prints a remark on standard error, beside the result. */
export function printAside(text: string): void {
  write(
    io().stderr,
    wrap(text, 80)
      .map(line => `${line}\n`)
      .join(''),
  )
}

/** Prints the zone of the times, and the name of the deployment if it has one. */
export function printFrame(deployment: string | null): void {
  zone().isSaid = true
  print(
    colours.dim(say('shell.frame', { deployment: deployment ?? 'none', zone: texts.zoneName(new Date()) })),
  )
}

/** Called at the end of a command: prints the zone of its times, unless that was done, or would follow a JSON document. */
export function printZone(): void {
  const { isNeeded, isSaid } = zone()
  if (!isNeeded || isSaid || result().isPrinted) return
  print('')
  printFrame(null)
}

/** Prints the title of a section, with a blank line above. */
export function printTitle(title: string): void {
  print('', colours.bold(title))
}

export type Fact = [name: string, value: string | number | null | undefined]

type NameOf<Key> = Key extends `shell.fact.${infer Name}` ? Name : never
/** A name of the catalogue that stands before a value, or above a column. */
type FactName = NameOf<TextKey>
/** A fact whose name is in the catalogue. */
export type NamedFact = [name: FactName, value: Fact[1]]

/** Facts with their names in the language of this command. */
export function factsOf(facts: NamedFact[]): Fact[] {
  return facts.map(([name, value]) => [say(`shell.fact.${name}`), value])
}

export function columnTitle(name: FactName): string {
  return say(`shell.fact.${name}`).toUpperCase()
}

/** Facts as lines, their values aligned and wrapped; facts without a value are left out. */
export function factLines(facts: Fact[]): string[] {
  const present = facts.filter(([, value]) => value !== null && value !== undefined && value !== '')
  const width = Math.max(...present.map(([name]) => widthOf(name)), 0)
  return present.flatMap(([name, value]) =>
    wrap(plain(String(value)), terminalWidth() - width - 4).map(
      (text, i) => `  ${i === 0 ? colours.dim(pad(name, width)) : ' '.repeat(width)}  ${text}`,
    ),
  )
}

export function printFacts(facts: Fact[]): void {
  print(...factLines(facts))
}

export function printNamedFacts(facts: NamedFact[]): void {
  printFacts(factsOf(facts))
}

export function printText(text: string, indent = 2, paint = (line: string) => line): void {
  print(...textLines(text, indent, paint))
}

export function textLines(text: string, indent = 2, paint = (line: string) => line): string[] {
  return wrap(plain(text), terminalWidth() - indent).map(line => ' '.repeat(indent) + paint(line))
}

/** Prints a remedy, after an arrow. */
export function printArrow(text: string): void {
  for (const [i, line] of wrap(plain(text), terminalWidth() - 4).entries())
    print(`  ${i === 0 ? '→' : ' '} ${line}`)
}

/** `12,345` */
export function figure(count: number): string {
  return count.toLocaleString('en')
}

/**
 * Counts by name, the highest first: `3 updated, 1 parked`.
 * @param list the list of names in the catalogue
 */
export function countsText(counts: Readonly<Record<string, number>> | undefined, list: Names): string {
  return byCount(counts)
    .filter(([, count]) => count > 0)
    .map(([name, count]) => say('shell.count_of', { count, name: words(named(list, name)) }))
    .join(say('shell.comma'))
}

/** An identifier as words: `awaiting_activation` becomes `awaiting activation`. */
export function words(identifier: string): string {
  return identifier.replaceAll('_', ' ')
}

const INDENT = 2
const GAP = 2
/** Columns never become narrower than this. */
const LEAST = 6

/** A column of a table of rows. */
export interface Column<Row> {
  title: string
  /** Text of the cell; null and the empty text show as –. */
  of(row: Row): string | number | null
  align?: 'right'
  /** Shrinks first if the table is wider than the terminal. */
  gives?: true
  /** Left out if the table is wider than the terminal. */
  spare?: true
  /** Never cut, however narrow the terminal: what another command takes. Nor are figures, which are aligned to the right. */
  whole?: true
  /** Adds colour to the finished cell. */
  paint?(cell: string, row: Row): string
}

/** Prints rows under their titles. */
export function printTable<Row>(rows: readonly Row[], columns: Column<NoInfer<Row>>[]): void {
  write(io().stdout, table(columns, rows))
}

/** Rows under their titles, no wider than the terminal; cells that do not fit are cut with …, except whole ones. */
export function table<Row>(wanted: Column<Row>[], rows: readonly Row[], room = terminalWidth()): string {
  const columns = fitted(
    wanted.map(column => {
      const cells = rows.map(row => plain(String(column.of(row) ?? '')) || '–')
      return { ...column, cells, width: Math.max(...[column.title, ...cells].map(widthOf)) }
    }),
    room,
  )
  const line = (texts: string[]) => `${' '.repeat(INDENT)}${texts.join(' '.repeat(GAP))}`.trimEnd()
  const header = line(columns.map(({ title, width, align }) => pad(cut(title, width), width, align)))
  const body = rows.map((row, n) =>
    line(
      columns.map(({ cells, width, align, paint }) => {
        const cell = pad(cut(cells[n] ?? '', width), width, align)
        return paint ? paint(cell, row) : cell
      }),
    ),
  )
  return [colours.dim(header), ...body].map(text => `${text}\n`).join('')
}

/**
 * The columns that fit: spare ones are dropped if necessary, then the widest shrink, beginning with those that give.
 */
function fitted<C extends Pick<Column<never>, 'align' | 'gives' | 'spare' | 'whole'> & { width: number }>(
  wanted: C[],
  room: number,
): C[] {
  const total = (columns: C[]) => columns.reduce((sum, { width }) => sum + width + GAP, INDENT - GAP)
  const columns = [...wanted]
  while (total(columns) > room) {
    const spare = columns.findLastIndex(column => column.spare)
    if (spare < 0) break
    columns.splice(spare, 1)
  }
  for (const yielding of [
    columns.filter(column => column.gives),
    columns.filter(column => !column.whole && column.align !== 'right'),
  ])
    while (total(columns) > room) {
      const [widest] = yielding.filter(({ width }) => width > LEAST).sort((a, b) => b.width - a.width)
      if (!widest) break
      widest.width -= 1
    }
  return columns
}

/** Characters that take two columns on a terminal. */
const WIDE =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u
const ZERO = /[\p{Mn}\p{Me}\p{Cf}]/u

/** The columns that a text takes on a terminal; it must not contain control characters other than colour codes. */
export function widthOf(text: string): number {
  let width = 0
  for (const character of stripVTControlCharacters(text))
    width += WIDE.test(character) ? 2 : ZERO.test(character) ? 0 : 1
  return width
}

/** Makes foreign text safe to print: on one line, and unable to control the terminal. */
export function plain(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\u2028\u2029]+/gu, ' ')
}

/** The text in at most `width` columns; if it is too long, its end is replaced by …. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let taken = ''
  for (const character of text) {
    if (widthOf(taken + character) > width - 1) break
    taken += character
  }
  return `${taken}…`
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const blanks = ' '.repeat(Math.max(0, width - widthOf(text)))
  return align === 'right' ? blanks + text : text + blanks
}

/**
 * The pieces between which a line may be broken: words, and single wide characters with the punctuation after them,
 * since that must not begin a line. The first group holds the preceding blanks.
 */
const PIECES = new RegExp(
  String.raw`(\s*)([“（《]*(?:${WIDE.source}|(?:(?!${WIDE.source})[^\s“（《])+)[，。；：、？！）”》]*|[“（《]+)`,
  'gu',
)

/** The text in lines of at most `width` columns, broken between words if possible. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  let line = ''
  for (const [, blank = '', word = ''] of text.matchAll(PIECES)) {
    const longer = line === '' ? word : line + (blank && ' ') + word
    if (widthOf(longer) <= width) {
      line = longer
      continue
    }
    if (line !== '') lines.push(line)
    line = word
  }
  return line === '' ? lines : [...lines, line]
}

/** Columns of the terminal; 80 if there is none. */
export function terminalWidth(): number {
  return io().stdout.columns || 80
}

/** Colours on standard output: only on a terminal, and never if NO_COLOR is set. */
export const colours = {
  bold: onTerminal('bold'),
  cyan: onTerminal('cyan'),
  dim: onTerminal('dim'),
  green: onTerminal('green'),
  red: onTerminal('red'),
  yellow: onTerminal('yellow'),
}

function onTerminal(colour: 'bold' | 'cyan' | 'dim' | 'green' | 'red' | 'yellow') {
  return (text: string): string => {
    const { stdout } = io()
    return stdout.isTTY ? styleText(colour, text, { stream: stdout }) : text
  }
}

/** A duration: 0.4 s, 12 s, 3 min, 2 h, 5 d. */
export function duration(ms: number): string {
  return said(texts.duration(ms))
}
