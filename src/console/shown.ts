import type { SafeHtml } from '@remix-run/html-template'
import type { EmployeeKey } from '../directory/employee.ts'
import { FULL_STOP, type Language, type TextKey } from '../texts/texts.ts'
import { type Ask, isLaterPage } from './ask.ts'
import type { DepartmentKey } from './people.ts'
import type { Part, Sort, Tone } from './ui/parts.ts'

/*
 * What a person sees of an endpoint, as data: `ui/shown.ts` makes a page of it, `src/cli/shown.ts` prints it on a terminal.
 * Texts come translated.
 */

/** A list of names in the catalogue: what stands before the last dot. */
export type Terms<Key extends string = TextKey> = Key extends `${infer List}.${string}` ? List : never

/** A part of a line. Numbers are figures; what is null, undefined or empty is nothing. */
export type Words =
  | string
  | number
  | null
  | undefined
  | readonly Words[]
  | { at: Date }
  /** How long ago, or in how long; `exact`: and when that is. */
  | { since: Date; exact?: true }
  /** A value as it is stored, and where the catalogue has its name. */
  | { named: string; of: Terms }
  | { tone: Tone; text: Words }
  /** An identifier. */
  | { code: string | number }
  /** Beside the point: a page shows it paler, a table on a terminal leaves it out. */
  | { soft: Words }
  /** A share of a whole, 0 to 1; a bar on a page. */
  | { share: number; text: Words }
  /** Cut to one line on a page. */
  | { clip: string }
  /** What HR, the platform or a person wrote. */
  | { foreign: string | null }
  /** The name of a person or department, after their key: on a page alone, as far as HR tells it; `or`: what stands there else. */
  | { nameOf: EmployeeKey | DepartmentKey; or?: string }
  /** Leads to another page. */
  | { to: string; text: Words }
  /** Drawn by hand, on the page alone. */
  | { drawn: SafeHtml }

export interface TableBlock {
  caption: string
  columns: readonly Omit<ShownColumn<unknown>, 'of'>[]
  /** `note`: a remark about a row; beside its last cell on a page, below the table on a terminal. */
  rows: readonly { cells: readonly Words[]; to: string | null; tick: string | null; note: Words }[]
  empty: { text: string; todo: string }
  /** Check boxes before the rows: the name of the field, and the form that it belongs to. */
  tick?: { name: string; label: string; all: string; form: string }
  /** Rows close to each other, on a page. */
  compact?: boolean
}

type Facts = readonly (readonly [name: string, value: Words])[]

/** What asks for attention. */
export interface NoticeBlock {
  notice: 'warn' | 'bad' | 'info'
  title: Words
  /** What is wrong. */
  what?: Words
  todo?: Words
  /** What happens then. */
  next?: Words
  list?: readonly Words[]
  facts?: Facts
  /** What can be done, on the page. */
  actions?: readonly Part[]
}

/** The figures that matter most. */
export interface TileBlock {
  tiles: readonly { value: Words; name: string; note?: Words; to?: string; tone?: Tone }[]
}

export type Block =
  | { text: Words }
  | { facts: Facts }
  | NoticeBlock
  | TileBlock
  | { table: TableBlock }
  /** What has happened, in its order. */
  | { steps: readonly { at: Date; what: Words; details: readonly Words[]; words: Words }[]; empty: string }
  | { section: string; id?: string; aside?: Words; blocks: readonly Block[] }
  /** A part of a page that follows topics by itself; `url`: where it is fetched again, unless that is the page. */
  | { part: string; topics: readonly string[]; url?: string; blocks: readonly Block[] }
  /** Side by side where there is room. */
  | { columns: readonly (readonly Block[])[] }
  /** The cursor of the next page of a list. */
  | { next: string | null }
  /** A text to pass on, as it is. */
  | { copy: string }
  /** Drawn by hand, on the page alone. */
  | { drawn: SafeHtml }
  /** What to type next, on the terminal alone. */
  | { commands: string; lines: readonly string[] }

/** What is to be seen of one endpoint. */
export interface Shown {
  title: string
  /** The identifier in the title, to copy on the page. */
  copy?: string
  /** Beside the title, such as the state. */
  aside?: Words
  /** What can be done, on the page. */
  actions?: readonly SafeHtml[]
  /** What the page follows: see `live.ts`. */
  topics?: readonly string[]
  blocks: readonly Block[]
}

export interface ShownColumn<Row> {
  title: string
  of(row: Row): Words
  /** `number`: to the right; `main`: what the row is, and its link. */
  kind?: 'number' | 'main'
  /** Left out where there is no room: on a phone, or in a narrow terminal. */
  spare?: true
  /** On a terminal, cut before others. */
  gives?: true
  /** On a terminal, never cut: what another command takes. */
  whole?: true
  /** On one face alone. */
  only?: 'page' | 'shell'
  /** The list in the order of this column, on a page. */
  sort?: Sort | undefined
}

/** Rows under titles. @param options.to where a row leads */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: readonly ShownColumn<NoInfer<Row>>[],
  options: Pick<TableBlock, 'caption' | 'tick' | 'compact'> & {
    empty?: string
    todo?: string
    to?(row: NoInfer<Row>): string
    note?(row: NoInfer<Row>): Words
    /** Null: this row cannot be ticked. */
    ticked?(row: NoInfer<Row>): string | null
  },
): { table: TableBlock } {
  const { caption, tick, compact = false, empty = '', todo = '', to, ticked, note } = options
  return {
    table: {
      caption,
      columns,
      rows: rows.map(row => ({
        cells: columns.map(({ of }) => of(row)),
        to: to?.(row) ?? null,
        tick: ticked?.(row) ?? null,
        note: note?.(row) ?? null,
      })),
      empty: { text: empty, todo },
      ...(tick ? { tick } : {}),
      compact,
    },
  }
}

/**
 * What stands instead of an empty page of a list: `emptyPage` as data.
 * @param empty on the first page
 */
export function noRows(
  ask: Pick<Ask, 't' | 'url'>,
  empty: string,
  todo = '',
): { empty: string; todo: string } {
  return isLaterPage(ask) ? { empty: ask.t('common.nothing_more'), todo: '' } : { empty, todo }
}

/** The name of a stored value. */
export function term(of: Terms, value: string): Words {
  return value === '' ? null : { named: value, of }
}

/** Whether there is nothing to show. */
export function isNothing(words: Words): words is null | undefined | '' {
  return (
    words === null || words === undefined || words === '' || (Array.isArray(words) && words.every(isNothing))
  )
}

/** Words after each other, as a sentence of the language. */
export function asSentence({ language }: { language: Language }, ...parts: readonly Words[]): Words {
  return [joined(parts, ' '), FULL_STOP[language]]
}

/** Words with something between those that are not nothing. */
export function joined(parts: readonly Words[], between: string): Words {
  return parts.filter(part => !isNothing(part)).flatMap((part, i) => (i === 0 ? [part] : [between, part]))
}
