import type { Block, NoticeBlock, Shown, TableBlock, Words } from '../console/shown.ts'
import { isNothing } from '../console/shown.ts'
import type { Tone } from '../console/ui/parts.ts'
import { capitalised } from '../lib/text.ts'
import { longTime, shortTime } from '../lib/time-text.ts'
import { type Names, named, namedWithValue, say, typeable } from './language.ts'
import {
  colours,
  plain,
  print,
  printArrow,
  printFacts,
  printTable,
  printText,
  printTitle,
  showsTimes,
} from './output.ts'

/* What a person sees, on a terminal. */

export function printScreen({ title, aside, blocks }: Shown, program: string): void {
  // Names of people are on pages alone.
  const beside = isNothing(aside) ? '' : painted(aside)
  print(beside === '' ? title : `${title} · ${beside}`)
  printBlocks(blocks, program)
}

function printBlocks(blocks: readonly Block[], program: string): void {
  const shown = blocks.filter(block => !('drawn' in block))
  for (const [i, block] of shown.entries()) {
    if (isApart(block, shown[i - 1])) print('')
    printBlock(block, program)
  }
}

/** Whether there is a blank line between two blocks. */
function isApart(block: Block, above: Block | undefined): boolean {
  if (above === undefined) return false
  if ('table' in block) return block.table.rows.length > 0
  return 'tiles' in block || hasFacts(block) || ('notice' in block && hasFacts(above))
}

const hasFacts = (block: Block) => 'facts' in block && block.facts !== undefined

function printBlock(block: Block, program: string): void {
  if ('text' in block) printText(textOf(block.text))
  else if ('notice' in block) printNotice(block)
  else if ('facts' in block) printFactsOf(block.facts)
  else if ('tiles' in block)
    printFacts(
      block.tiles.map(({ name, value, note }) => [
        capitalised(name),
        textOf(isNothing(note) ? value : [value, ' (', note, ')']),
      ]),
    )
  else if ('table' in block) printRows(block.table)
  else if ('steps' in block) {
    if (block.steps.length === 0) printText(textOf(block.empty))
    else showsTimes()
    for (const { at, what, details, words } of block.steps) {
      print(`  ${longTime(at)}  ${textOf(what)}`)
      for (const line of [words, ...details]) if (!isNothing(line)) printText(textOf(line), 4)
    }
  } else if ('section' in block) {
    printTitle(isNothing(block.aside) ? block.section : `${block.section} · ${textOf(block.aside)}`)
    printBlocks(block.blocks, program)
  } else if ('part' in block) printBlocks(block.blocks, program)
  else if ('columns' in block) for (const column of block.columns) printBlocks(column, program)
  else if ('copy' in block) for (const line of block.copy.split('\n')) print(`  ${plain(line)}`)
  else if ('next' in block) {
    if (block.next !== null) print('', say('shell.more'))
  } else if ('commands' in block && block.lines.length > 0) {
    printTitle(block.commands)
    print(...block.lines.map(line => `  ${program} ${line}`))
  }
}

function printNotice({ notice, title, what, todo, next, list = [], facts }: NoticeBlock): void {
  printText(textOf(title), 2, line => colours[COLOURS[notice] ?? 'bold'](line))
  if (!isNothing(what)) printText(textOf(what))
  // What leads to a page is there as a command.
  if (!isNothing(todo) && !isLink(todo)) printArrow(textOf(todo))
  if (!isNothing(next) && !isLink(next)) printText(textOf(next))
  for (const [i, item] of list.entries()) printText(`${i + 1}. ${textOf(withoutLinks(item)).trimEnd()}`)
  if (facts) printFactsOf(facts)
}

function printFactsOf(facts: NonNullable<NoticeBlock['facts']>): void {
  if (facts.some(([, value]) => hasTime(value))) showsTimes()
  printFacts(facts.map(([name, value]) => [name, textOf(value, namedWithValue)]))
}

function printRows({ columns, rows, empty }: TableBlock): void {
  if (rows.length === 0) {
    for (const text of [empty.text, empty.todo]) if (text !== '') printText(textOf(text))
    return
  }
  const own = columns.flatMap(({ title, kind, only, spare, gives, whole }, i) =>
    only === 'page'
      ? []
      : [
          {
            title: title.toUpperCase(),
            of: ({ cells }: (typeof rows)[number]) => cellOf(cells[i]),
            paint: (cell: string, { cells }: (typeof rows)[number]) => paint(cells[i], cell),
            ...(kind === 'number' ? { align: 'right' as const } : {}),
            ...(gives ? { gives } : {}),
            ...(spare ? { spare } : {}),
            ...(whole ? { whole } : {}),
          },
        ],
  )
  printTable(rows, own)
  for (const { cells, note } of rows) if (!isNothing(note)) printArrow(`${textOf(cells[0])}: ${textOf(note)}`)
}

/** What is soft gives way to the rest of a cell. */
function cellOf(words: Words): string {
  if (!Array.isArray(words)) return textOf(words)
  const rest = words.filter(part => typeof part !== 'object' || part === null || !('soft' in part))
  return textOf(rest.some(part => !isNothing(part)) ? rest : words).trim()
}

/**
 * A line, or a part of one, without colours.
 * @param category how a category is said, which people may pass on to an option
 */
function textOf(words: Words, category: (list: Names, value: string) => string = named): string {
  if (words === null || words === undefined) return ''
  if (typeof words === 'string') return typeable(words)
  if (typeof words === 'number') return words.toLocaleString('en')
  if ('at' in words && words.at instanceof Date) return longTime(words.at) ?? ''
  if ('since' in words) return (words.exact ? longTime : shortTime)(words.since) ?? ''
  if ('named' in words) return (words.of === 'category' ? category : named)(words.of, words.named)
  if ('tone' in words || 'to' in words || 'share' in words) return textOf(words.text, category)
  if ('clip' in words) return words.clip
  if ('foreign' in words) return typeable(words.foreign ?? '')
  if ('nameOf' in words) return words.or ?? ''
  if ('drawn' in words) return ''
  if ('code' in words) return String(words.code)
  if ('soft' in words) return textOf(words.soft, category)
  return (words as readonly Words[]).map(part => textOf(part, category)).join('')
}

/** A link to a page, or nothing but such links and what stands between them. */
function isLink(words: Words): boolean {
  if (typeof words !== 'object' || words === null) return false
  if (!Array.isArray(words)) return 'to' in words
  const [first, ...rest] = words
  return (
    isLink(first) && rest.every(part => isLink(part) || (typeof part === 'string' && !/\p{L}/u.test(part)))
  )
}

/** A sentence without the links to pages beside it. */
const withoutLinks = (words: Words) => (Array.isArray(words) ? words.filter(part => !isLink(part)) : words)

function hasTime(words: Words): boolean {
  if (typeof words !== 'object' || words === null) return false
  return Array.isArray(words) ? words.some(hasTime) : 'at' in words || 'since' in words
}

const COLOURS = { ok: 'green', warn: 'yellow', bad: 'red' } as Partial<
  Record<Tone | 'info', keyof typeof colours>
>

function painted(words: Words): string {
  return paint(words, textOf(words))
}

/** The text in the colour of a state; it may be filled up with blanks. */
function paint(words: Words, text: string): string {
  const tone = toneOf(words)
  const colour = tone && COLOURS[tone]
  if (hasTime(words)) showsTimes()
  const name = text.trimEnd()
  return colour ? colours[colour](name) + text.slice(name.length) : text
}

function toneOf(words: Words): Tone | undefined {
  if (typeof words !== 'object' || words === null) return undefined
  if (Array.isArray(words)) return words.map(toneOf).find(tone => tone !== undefined)
  return 'tone' in words ? words.tone : undefined
}
