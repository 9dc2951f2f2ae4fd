import { html, type SafeHtml } from '@remix-run/html-template'
import { shortened } from '../../lib/text.ts'
import { inLanguage } from '../../texts/failures.ts'
import { durationText, numbers, percentText } from '../../texts/figures.ts'
import { changed, type Said } from '../../texts/message.ts'
import { moneyText } from '../../texts/money-text.ts'
import type { TextKey, Translate } from '../../texts/texts.ts'
import { type Ask, isLaterPage, type Refused, type Taste } from '../ask.ts'
import type { AccessRole } from '../auth/viewer.ts'

/*
 * Building blocks of pages. Texts come translated; values from HR or the platform are escaped by `html`.
 */

export type Part = SafeHtml | string | number

// States: never by colour alone, but with a shape and a word

/** What a state asks of a person: nothing, patience, a look, action; `off`: it is over. */
export type Tone = 'ok' | 'busy' | 'wait' | 'warn' | 'bad' | 'off'

export function state(tone: Tone, text: Part): SafeHtml {
  return html`<span class="state ${tone}"><i aria-hidden="true"></i>${text}</span>`
}

// Times and figures

const formats = new Map<string, Intl.DateTimeFormat>()

function format(
  taste: Pick<Taste, 'language' | 'zone'>,
  options: Intl.DateTimeFormatOptions,
): Intl.DateTimeFormat {
  const id = `${taste.language} ${taste.zone} ${JSON.stringify(options)}`
  let found = formats.get(id)
  if (!found) {
    found = new Intl.DateTimeFormat(taste.language, { timeZone: taste.zone, hourCycle: 'h23', ...options })
    formats.set(id, found)
  }
  return found
}

const EXACT = {
  year: 'numeric',
  month: '2-digit',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  timeZoneName: 'short',
} as const

/** Moments further away are dates. */
const RELATIVE_MS = 30 * 86_400_000

/**
 * A moment: how long ago, or in how long. The exact one, with its zone, is shown on hover, on focus, and in the row that has
 * the focus.
 */
export function time(ask: Ask, date: Date | null): SafeHtml {
  if (date === null) return html`–`
  const isNear = Math.abs(ask.now.getTime() - date.getTime()) < RELATIVE_MS
  const text = isNear ? sinceText(ask, date) : timeText(ask, date)
  return html`<time datetime="${date.toISOString()}" title="${format(ask, EXACT).format(date)}"${ask.inRow ? '' : html` tabindex="0"`}>${text}</time>`
}

/** When something happened, in a list in which that matters as much as how long ago. */
export function moment(ask: Ask, date: Date): SafeHtml {
  return html`${time(ask, date)} <small class="soft nowrap">${timeText(ask, date)}</small>`
}

/** A moment in the viewer's zone, for use within a sentence: 14:05:12 today, 21 Nov 14:05 this year. */
export function timeText(ask: Ask, date: Date): string {
  const day = format(ask, { year: 'numeric', month: '2-digit', day: '2-digit' })
  const clock = { hour: '2-digit', minute: '2-digit' } as const
  if (day.format(date) === day.format(ask.now))
    return format(ask, { ...clock, second: '2-digit' }).format(date)
  if (date.getFullYear() === ask.now.getFullYear())
    return format(ask, { day: '2-digit', month: 'short', ...clock }).format(date)
  return day.format(date)
}

/** How long ago, or in how long, for use within a sentence: `5 min ago`, `in 2 h`. */
export function sinceText(ask: Ask, date: Date): string {
  const ms = ask.now.getTime() - date.getTime()
  // Clocks differ a little: what is just over may seem to come.
  if (Math.abs(ms) < 5000) return ask.t(ms > -1000 ? 'common.now' : 'common.soon')
  return ms > 0
    ? ask.t('common.ago', { time: duration(ask, ms) })
    : ask.t('common.in', { time: duration(ask, -ms) })
}

/** A duration: 0.4 s, 12 s, 3 min, 2 h, 5 d. */
export function duration({ language }: Pick<Taste, 'language'>, ms: number): string {
  return durationText(language, ms)
}

export function figure({ language }: Pick<Taste, 'language'>, value: number, digits = 0): string {
  return numbers(language, { maximumFractionDigits: digits }).format(value)
}

/** An amount of money, or of an asset; see `moneyText`. */
export function amount(
  { language }: Pick<Taste, 'language'>,
  text: string | null,
  asset?: string | null,
): string {
  return text === null ? '–' : moneyText(language, text, asset)
}

/** A share of 0 to 1 in percent. It never rounds up to 100 % or down to 0 %. */
export function percent({ language }: Pick<Taste, 'language'>, share: number): string {
  return percentText(language, share)
}

/** A share of 0 to 1 as a bar beside its figure. */
export function bar(share: number, tone: Tone = 'ok'): SafeHtml {
  const width = Math.round(Math.min(1, Math.max(0, share)) * 1000) / 10
  return html`<svg class="bar ${tone}" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="4" class="rest"/><rect width="${width}" height="4" class="share"/></svg>`
}

// Blocks

/** The head of a page: its title, the text beside it, and its actions. */
export function head(title: Part, options: { aside?: Part; actions?: Part[] } = {}): SafeHtml {
  return html`<header class="head"><h1>${title}</h1>${options.aside ?? ''}${
    options.actions?.length ? html`<div class="actions">${options.actions}</div>` : ''
  }</header>`
}

/** A titled block of a page. */
export function section(title: string, body: Part, options: { aside?: Part; id?: string } = {}): SafeHtml {
  return html`<section${options.id ? html` id="${options.id}"` : ''}><h2>${title}${
    options.aside === undefined ? '' : html` <small>${options.aside}</small>`
  }</h2>${body}</section>`
}

/** What is folded away under a line that says what it is. While the page follows what happens, it stays as the viewer left it. */
export function folded(id: string, summary: string, body: Part): SafeHtml {
  return html`<details class="folded" id="${id}"><summary>${summary}</summary>${body}</details>`
}

/** A list of names and values; entries without a value are left out. */
export function facts(items: readonly (readonly [name: string, value: Part | null | undefined])[]): SafeHtml {
  const present = items.filter(([, value]) => value !== null && value !== undefined && value !== '')
  return html`<dl class="facts">${present.map(([name, value]) => html`<div><dt>${name}</dt><dd>${value}</dd></div>`)}</dl>`
}

/** The key figures of a page: a big number, and what it counts. */
export function tiles(
  items: readonly { value: Part; name: string; note?: Part; href?: string; tone?: Tone }[],
): SafeHtml {
  return html`<ul class="tiles">${items.map(
    ({ value, name, note, href, tone }) =>
      html`<li class="${tone ?? ''}">${href ? html`<a href="${href}">` : ''}<strong>${value}</strong><span>${name}</span>${
        note === undefined ? '' : html`<small>${note}</small>`
      }${href ? html`</a>` : ''}</li>`,
  )}</ul>`
}

/** Renders a text of the catalogue, or of a failure, with its commands and settings in backticks as code. */
export function withCode(text: string): SafeHtml {
  const parts = text.split('`')
  if (parts.length % 2 === 0) return html`${text}` // an odd number of backticks: a person's own words
  return html`${parts.map((part, i) => (i % 2 === 1 ? html`<code>${part}</code>` : part))}`
}

const said = (part: Part): Part => (typeof part === 'string' ? withCode(part) : part)

/** Shown instead of an empty list: what is absent, and what to do about it. */
export function empty(what: string, todo: Part = ''): SafeHtml {
  return html`<div class="empty"><p>${said(what)}</p>${todo === '' ? '' : html`<p class="todo">${said(todo)}</p>`}</div>`
}

/**
 * Shown instead of an empty page of a list.
 * @param none on the first page; the rows of a later one have moved to those before it, or are gone
 */
export function emptyPage(ask: Ask, none: SafeHtml): SafeHtml {
  return isLaterPage(ask) ? empty(ask.t('common.nothing_more')) : none
}

/** A box that needs attention before everything else. */
export function alert(tone: 'warn' | 'bad' | 'info', title: Part, body: Part = ''): SafeHtml {
  return html`<div class="alert ${tone}" role="${tone === 'bad' ? 'alert' : 'status'}"><p><strong>${said(title)}</strong></p>${
    body === '' ? '' : html`<div>${said(body)}</div>`
  }</div>`
}

export interface Column<Row> {
  title: string
  cell(row: Row): Part | null
  /** `number`: right-aligned figures; `main`: identifies the row, and holds its link; `spare`: hidden on a phone. */
  kind?: 'number' | 'main' | 'spare'
  sort?: Sort | undefined
}

/** Where the head of a column leads: to the same list in its order; `is`: how the list is sorted by it now. */
export interface Sort {
  to: string
  is: 'ascending' | 'descending' | null
}

/** Columns that fit a phone beside each other. */
const MOST_ON_PHONE = 2

/**
 * A table. Rows with a link can be reached by keyboard (j, k, Enter).
 * @param options.href where a row leads
 * @param options.empty shown if there are no rows
 */
export function table<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  options: {
    caption: string
    empty: SafeHtml
    href?(row: Row): string
    /**
     * Check boxes before the rows: the name of the field, and the value of a row; null if the row cannot be ticked.
     */
    tick?: { name: string; label: string; all: string; value(row: Row): string | null; form: string }
    /** Rows close to each other. */
    compact?: boolean
  },
): SafeHtml {
  if (rows.length === 0) return options.empty
  const { href, tick } = options
  // On a phone the rows of a list with more columns than fit become blocks.
  const isStacked = columns.filter(({ kind }) => kind !== 'spare').length > MOST_ON_PHONE
  return html`<div class="scroll${options.compact ? ' compact' : ''}" tabindex="0" role="region" aria-label="${options.caption}"><table${isStacked ? html` class="stacked"` : ''}${href ? html` data-rows` : ''}>
    <caption>${options.caption}</caption>
    <thead><tr>${
      tick
        ? html`<th class="tick"><input type="checkbox" aria-label="${tick.all}" data-tick-all="${tick.name}" hidden></th>`
        : ''
    }${columns.map(
      ({ title, kind, sort }) =>
        html`<th scope="col" class="${kind ?? ''}"${sort?.is ? html` aria-sort="${sort.is}"` : ''}>${
          sort ? html`<a class="sort" href="${sort.to}">${title}</a>` : title
        }</th>`,
    )}</tr></thead>
    <tbody>${rows.map(row => {
      const ticked = tick?.value(row) ?? null
      // By its id a row is found again when the list is refreshed, and keeps its tick.
      return html`<tr${tick && ticked !== null ? html` id="${tick.name}-${ticked}"` : ''}>${
        tick
          ? html`<td class="tick">${
              ticked === null
                ? ''
                : html`<input type="checkbox" name="${tick.name}" value="${ticked}" form="${tick.form}" aria-label="${tick.label} ${ticked}">`
            }</td>`
          : ''
      }${columns.map(({ title, cell, kind = '' }) => {
        const given = cell(row)
        const content = given ?? '–'
        return html`<td class="${given === null ? `${kind} nothing` : kind}" data-label="${title}">${href && kind === 'main' ? html`<a href="${href(row)}">${content}</a>` : content}</td>`
      })}</tr>`
    })}</tbody>
  </table></div>`
}

/** Link to the next page of a list; nothing on the last page. */
export function pager(ask: Ask, next: string | null): SafeHtml {
  const { pathname, searchParams } = new URL(ask.url, 'http://console')
  const isFirst = !isLaterPage(ask)
  if (next === null && isFirst) return html``
  const to = (cursor: string | null) => {
    const query = new URLSearchParams(searchParams)
    if (cursor === null) query.delete('cursor')
    else query.set('cursor', cursor)
    return `${pathname}${query.size > 0 ? `?${query}` : ''}`
  }
  return html`<nav class="pager" aria-label="${ask.t('common.next_page')}">${
    isFirst ? '' : html`<a href="${to(null)}">${ask.t('common.first_page')}</a>`
  }${next === null ? '' : html`<a rel="next" href="${to(next)}">${ask.t('common.next_page')}</a>`}</nav>`
}

/** Tabs: parts of a page under one head, each at its own address. */
export function tabs(
  label: string,
  items: readonly { href: string; text: Part; current: boolean }[],
): SafeHtml {
  return html`<nav class="tabs" aria-label="${label}">${items.map(
    ({ href, text, current }) =>
      html`<a href="${href}"${current ? html` aria-current="page"` : ''}>${text}</a>`,
  )}</nav>`
}

/**
 * A live part: it is fetched again whenever one of its topics changes (see live.ts), and morphed in place. The title stays:
 * the address may be that of another page that has the same part.
 * @param id unique on the page
 */
export function live(ask: Ask, id: string, topics: readonly string[], body: Part): SafeHtml {
  return html`<div id="${id}" data-live="${topics.join(' ')}" hx-get="${ask.url}" hx-trigger="moved" hx-select="#${id}" hx-target="this" hx-swap="outerMorph ignoreTitle:true">${body}</div>`
}

// Forms

type FieldType =
  | 'text'
  | 'search'
  | 'number'
  | 'datetime-local'
  | 'date'
  | 'time'
  | 'password'
  | 'textarea'
  | 'hidden'
  | 'checkbox'

export interface Field {
  name: string
  /** By it an address leads to the field, which unfolds its form. */
  id?: string
  label?: string
  type?: FieldType
  value?: string | number | undefined
  /** If given, the field is a list to choose from. */
  choices?: readonly { value: string; text: string }[]
  /** The chosen ones of the choices, of which any number can be. */
  several?: readonly string[]
  /** Values that are offered while one types. */
  offered?: readonly string[]
  required?: boolean
  checked?: boolean
  hint?: string
  placeholder?: string
  autocomplete?: 'off' | 'new-password' | 'current-password'
  maxlength?: number
  min?: string | number
  max?: string | number
  step?: string | number
  /** What is wrong with the value. */
  error?: string
}

let fields = 0

export function field({ several: chosen, ...given }: Field): SafeHtml {
  if (chosen) return several(given, chosen)
  const { label, hint, choices, offered, type = 'text', value, error, id: own, ...rest } = given
  if (type === 'hidden') return html`<input type="hidden" name="${rest.name}" value="${value ?? ''}">`
  fields = (fields + 1) % 1_000_000
  const id = own ?? `f${fields}`
  const attributes = Object.entries(rest).map(([name, given]) =>
    given === undefined || given === false ? '' : given === true ? html` ${name}` : html` ${name}="${given}"`,
  )
  const notes = [...(error ? [`${id}e`] : []), ...(hint ? [`${id}h`] : [])]
  const hinted = html`${notes.length > 0 ? html` aria-describedby="${notes.join(' ')}"` : ''}${error ? html` aria-invalid="true"` : ''}`
  const input = choices
    ? html`<select id="${id}"${attributes}${hinted}>${choices.map(
        choice =>
          html`<option value="${choice.value}"${choice.value === String(value ?? '') ? html` selected` : ''}>${choice.text}</option>`,
      )}</select>`
    : type === 'textarea'
      ? html`<textarea id="${id}" rows="3"${attributes}${hinted}>${value ?? ''}</textarea>`
      : html`<input id="${id}" type="${type}" value="${value ?? ''}"${attributes}${hinted}${
          offered
            ? html` list="${id}l"><datalist id="${id}l">${offered.map(name => html`<option value="${name}">`)}</datalist>`
            : html`>`
        }`
  return html`<p class="field"><label for="${id}">${label ?? rest.name}</label>${input}${
    error ? html`<small class="error" id="${id}e">${error}</small>` : ''
  }${hint ? html`<small id="${id}h">${hint}</small>` : ''}</p>`
}

/** The fields of a form, as they were typed and with what is wrong, if its input was just refused. */
function asTyped(ask: Ask, to: string, items: readonly Field[]): readonly Field[] {
  const { refused } = ask
  if (!refused || !isOf(refused, to, items)) return items
  const { values } = refused
  return items.map(item => {
    const said = refused.errors.find(({ path }) => path[0] === item.name)?.said
    const typed = values[item.name]
    return {
      ...item,
      // Secrets are typed anew.
      ...(item.type === 'password' || typeof typed !== 'string' ? {} : { value: typed }),
      ...(said ? { error: refusalText(ask, said, item) } : {}),
    }
  })
}

/** Hidden values that another drawing of the same form may have changed. */
const CHANGING: ReadonlySet<string> = new Set(['zone', 'version', 'expected'])

/** Whether it was this form: others of the page may be sent to the same place, with other hidden values. */
function isOf({ to: sentTo, values }: Refused, to: string, items: readonly Field[]): boolean {
  const isSame = ({ type, name, value = '' }: Field) =>
    type !== 'hidden' ||
    CHANGING.has(name) ||
    values[name] === undefined ||
    String(values[name]) === String(value)
  return sentTo === to && items.every(isSame)
}

/** What is wrong with a value, which is called as its field is. */
function refusalText({ language, zone }: Ask, said: Said, { name, label = name }: Field): string {
  const text = inLanguage(
    language,
    changed(said, ({ key, values = {} }) => ({
      key,
      values: Object.fromEntries(
        Object.entries(values).map(([of, value]) => [of, value === name ? label : value]),
      ),
    })),
    zone,
  )
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Check boxes in a list that unfolds. */
function several({ name, label = name, choices = [], placeholder = '' }: Field, chosen: readonly string[]) {
  const names = choices.filter(({ value }) => chosen.includes(value)).map(({ text }) => text)
  const text = names.join(', ') || placeholder
  return html`<div class="field"><span class="label">${label}</span><details class="menu several"><summary aria-label="${label}: ${text}">${text}</summary>
    <div class="menu-body" role="group" aria-label="${label}">${choices.map(
      ({ value, text }) =>
        html`<label><input type="checkbox" name="${name}" value="${value}"${chosen.includes(value) ? html` checked` : ''}> ${text}</label>`,
    )}</div></details></div>`
}

/** A filter form above a list. It sends a GET, so that the address can be bookmarked. */
export function filters(ask: Ask, action: string, items: readonly Field[]): SafeHtml {
  return filterForm(
    ask,
    action,
    items,
    html`${asTyped(ask, action, items).map(field)}<p class="field"><button>${ask.t(
      'common.apply',
    )}</button> <a href="${action}">${ask.t('common.clear')}</a></p>`,
  )
}

/** The same with fields as they are drawn. On a phone it is folded, as CSS says: it stands behind what unfolds it. */
export function filterForm(ask: Ask, action: string, items: readonly Field[], drawn: SafeHtml): SafeHtml {
  const isRefused = asTyped(ask, action, items) !== items
  const inUse = items.filter(
    ({ type, value, several = [] }) => type !== 'hidden' && (several.length > 0 || (value ?? '') !== ''),
  )
  return html`<details class="fold"${isRefused ? html` open` : ''}><summary class="button">${ask.t(
    'common.filters',
    {
      count: inUse.length,
    },
  )}</summary></details><form class="filters" action="${action}" method="get">${drawn}</form>`
}

/** Leads to the file of a list as it is filtered, whole. */
export function csvLink(
  { t }: Ask,
  list: string,
  { cursor: _, limit: __, ...filter }: Record<string, unknown>,
  text = t('common.download_csv'),
): SafeHtml {
  const given = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, String(value)] as [string, string]],
  )
  const query = String(new URLSearchParams(given))
  return html`<a class="button" href="${list}.csv${query && `?${query}`}" download>${text}</a>`
}

export interface ActionForm {
  to: string
  label: string
  /** What its button says, unless that is the label. */
  submit?: string
  /** The role that the action needs, as in its endpoint; users without it do not see the form. */
  role: AccessRole
  fields?: readonly Field[]
  /** Shown above the fields: the consequences, for actions that need thought. */
  warning?: string
  tone?: 'main' | 'danger'
  /** Unfolds before it can be sent, for actions that need a reason or more thought. */
  folded?: boolean
  /** Id, so that fields elsewhere on the page can belong to it. */
  id?: string
}

/** An action: a button, or a form that unfolds. Works without JavaScript. */
export function actionForm(ask: Ask, options: ActionForm): SafeHtml {
  if (!ask.may(options.role)) return html``
  const { fields = [], folded = fields.some(({ type }) => type !== 'hidden') } = options
  const items = asTyped(ask, options.to, fields)
  const form = html`<form method="post" action="${options.to}"${options.id ? html` id="${options.id}"` : ''}>${
    options.warning ? html`<p>${withCode(options.warning)}</p>` : ''
  }${items.map(
    field,
  )}<p class="field"><button class="${options.tone ?? ''}">${options.submit ?? options.label}</button></p></form>`
  if (!folded) return form
  return html`<details class="action"${items === fields ? '' : html` open`}><summary class="button ${options.tone ?? ''}">${options.label}</summary><div class="action-body">${form}</div></details>`
}

/** The reason for an action; it is kept in the audit. */
export function reasonField(t: Translate, required = true, hint: TextKey = 'common.reason_hint'): Field {
  return {
    name: 'reason',
    label: t('common.reason'),
    type: 'textarea',
    required,
    maxlength: 500,
    hint: t(hint),
  }
}

/** A text with a copy button; without JavaScript it can be selected. */
export function copyable(t: Translate, text: string): SafeHtml {
  return html`<div class="copyable"><pre>${text}</pre><button type="button" data-copy data-copied="${t('common.copied')}" hidden>${t('common.copy')}</button></div>`
}

/** The line of a setting for settings.env: it unfolds, and a button copies it where the browser lets it. */
export function copyLine(t: Translate, name: string, line: string): SafeHtml {
  return html`<span class="copy-line"><details><summary aria-label="${t('settings.line_of', { name })}">${t('settings.its_line')}</summary><pre>${line}</pre></details><button type="button" data-copy data-copied="${t('common.copied')}" title="${line}" aria-label="${t('settings.copy_line', { line })}" hidden>${t('common.copy')}</button></span>`
}

/** A small button beside an identifier that copies it; not there without JavaScript. */
export function copyButton({ t }: Pick<Taste, 't'>, text: string | number): SafeHtml {
  return html`<button type="button" class="copy" data-copy="${text}" aria-label="${t('common.copy_it', { text: String(text) })}" title="${t('common.copy')}" hidden></button>`
}

/** An identifier, such as a user id, a code or a trace id. */
export function code(text: string | number | null): SafeHtml {
  return text === null ? html`–` : html`<code>${text}</code>`
}

/** How many characters of a text from HR, the platform or a person a list shows. */
const FOREIGN = 300

/**
 * A text from HR, the platform or a person. It may be long, have no spaces, or run from right to left, so it is
 * isolated from the text around it.
 */
export function foreign(text: string | null): SafeHtml {
  return text === null ? html`–` : html`<bdi class="foreign">${shortened(text, FOREIGN)}</bdi>`
}

/** A hidden value, masked to its length (see src/directory/masking.ts). */
const HIDDEN = /^\*{4} \((\d+)\)$/

/** A value as dirsync masks it; an empty one is labelled as such. */
export function masked({ t }: Pick<Taste, 't'>, value: string | null): SafeHtml {
  if (value === null || value === '') return html`<span class="soft">${t('common.empty')}</span>`
  return foreign(maskedText(t, value))
}

/** A masked value, in words. */
export function maskedText(t: Translate, value: string): string {
  const count = HIDDEN.exec(value)?.[1]
  return count === undefined ? value : `**** ${t('common.characters', { count: Number(count) })}`
}

interface Curve {
  title: string
  /** Seconds since 1970. */
  x: readonly number[]
  series: readonly { name: string; values: readonly (number | null)[] }[]
  unit?: 'percent' | 'count' | 'per_second'
  /** Text below the curve: the latest value, or that there is no data yet. */
  summary: string
}

/** What a part of curves leads to. */
interface Selection {
  /** The page of the curves: its `from` and `to` are what is selected. */
  page: string
  /** Seconds between two points. */
  step: number
  /** At which points all work stood still: their time is shaded. */
  halted: readonly (0 | 1 | null)[]
  /** The range that the page shows; empty: its usual one. */
  given: { from?: string | undefined; to?: string | undefined }
  /** The list of what happened at a point, by `from` and `to` as well. */
  list?: { href: string; text: string; hint: string }
}

/** Curves side by side. What can be done by mouse can be done by the links below them and the page's filter. */
export function curves(ask: Ask, selection: Selection, items: readonly Curve[]): SafeHtml {
  const { page, given, halted, list } = selection
  const range = new URLSearchParams(
    Object.entries(given).filter((entry): entry is [string, string] => entry[1] !== undefined),
  )
  const hint = list ? list.hint : ask.t('common.curve_hint')
  return html`<div class="columns">${items.map(item => curve(ask, item, selection))}</div>
    ${halted.includes(1) ? html`<p class="summary shaded">${ask.t('common.curve_halted')}</p>` : ''}
    <p class="summary"><span data-curve-hint hidden>${hint}</span>${
      range.size === 0
        ? ''
        : html` ${list ? html`<a href="${list.href}?${String(range)}">${list.text}</a> · ` : ''}<a href="${page}">${ask.t('common.curve_back')}</a>`
    }</p>`
}

/** A curve that uPlot draws from data in the page. The sentence below it has the latest figures, for screen readers too. */
function curve(
  ask: Ask,
  { title, x, series, unit = 'count', summary }: Curve,
  selection: Selection,
): SafeHtml {
  const data = JSON.stringify({
    ...{ x, series, unit },
    ...{ page: selection.page, step: selection.step, list: selection.list?.href, halted: selection.halted },
    ...{ language: ask.language, zone: ask.zone, time: ask.t('common.time') },
  })
  return html`<figure class="curve"><figcaption>${title}</figcaption><div class="plot" role="img" aria-label="${summary}" data-curve="${data}"></div><p class="summary">${summary}</p></figure>`
}
