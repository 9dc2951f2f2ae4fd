import { html, type SafeHtml } from '@remix-run/html-template'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import type { Page } from '../endpoint.ts'
import {
  type Block,
  isNothing,
  joined,
  type NoticeBlock,
  type Shown,
  type TableBlock,
  type Words,
} from '../shown.ts'
import {
  alert,
  bar,
  code,
  copyable,
  copyButton,
  empty,
  facts,
  figure,
  foreign,
  head,
  live,
  maskedText,
  moment,
  type Part,
  pager,
  section,
  state,
  table,
  tiles,
  time,
  withCode,
} from './parts.ts'

/* What a person sees, as a page. */

export function pageOf(ask: Ask, shown: Shown): Page {
  const { title, topics } = shown
  return { title, body: topics ? live(ask, 'page', topics, bodyOf(ask, shown)) : bodyOf(ask, shown) }
}

function bodyOf(ask: Ask, { title, copy, aside, actions, blocks }: Shown): SafeHtml {
  const besides = [
    copy === undefined ? '' : copyButton(ask, copy),
    aside === undefined ? '' : wordsOf(ask, aside),
  ]
  return html`${head(title, { aside: html`${besides}`, actions: [...(actions ?? [])] })}${drawBlocks(ask, blocks)}`
}

export function drawBlocks(ask: Ask, blocks: readonly Block[]): SafeHtml {
  return html`${blocks.map(block => blockOf(ask, block))}`
}

function blockOf(ask: Ask, block: Block): SafeHtml {
  if ('text' in block) return html`<p>${wordsOf(ask, block.text)}</p>`
  if ('notice' in block) return noticeHtml(ask, block)
  if ('facts' in block) return factsHtml(ask, block.facts)
  if ('tiles' in block)
    return tiles(
      block.tiles.map(({ value, note, to, tone, name }) => ({
        name,
        value: wordsOf(ask, value),
        ...(isNothing(note) ? {} : { note: wordsOf(ask, note) }),
        ...(to ? { href: to } : {}),
        ...(tone ? { tone } : {}),
      })),
    )
  if ('table' in block) return tableHtml(ask, block.table)
  if ('steps' in block) {
    if (block.steps.length === 0) return empty(block.empty)
    return html`<ol class="steps">${block.steps.map(
      ({ at, what, details, words }) =>
        html`<li><div>${moment(ask, at)}</div><div>${wordsOf(ask, what)}</div>${isNothing(words) ? '' : html`<p class="words">${wordsOf(ask, words)}</p>`}${details
          .filter(line => !isNothing(line))
          .map(line => html`<p class="soft">${wordsOf(ask, line)}</p>`)}</li>`,
    )}</ol>`
  }
  if ('section' in block)
    return section(block.section, drawBlocks(ask, block.blocks), {
      ...(block.id ? { id: block.id } : {}),
      ...(block.aside === undefined ? {} : { aside: wordsOf(ask, block.aside) }),
    })
  if ('part' in block) {
    const { part, topics, url = ask.url, blocks } = block
    return live({ ...ask, url }, part, topics, drawBlocks(ask, blocks))
  }
  if ('columns' in block)
    return html`<div class="columns">${block.columns.map(
      column => html`<div class="part">${drawBlocks(ask, column)}</div>`,
    )}</div>`
  if ('next' in block) return pager(ask, block.next)
  if ('copy' in block) return copyable(ask.t, block.copy)
  return 'drawn' in block ? block.drawn : html``
}

function noticeHtml(ask: Ask, { notice, title, what, todo, next, list, facts: known, actions }: NoticeBlock) {
  const line = (words: Words, name: string) =>
    isNothing(words) ? '' : html`<p class="${name}">${wordsOf(ask, words)}</p>`
  const body = html`${line(what, 'what')}${line(todo, 'todo')}${line(next, 'soft')}${
    list?.length ? html`<ol>${list.map(item => html`<li>${wordsOf(ask, item)}</li>`)}</ol>` : ''
  }${known ? factsHtml(ask, known) : ''}${actions?.length ? html`<div class="row">${[...actions]}</div>` : ''}`
  return alert(notice, wordsOf(ask, title), known || actions ? html`<div class="stack">${body}</div>` : body)
}

function factsHtml(ask: Ask, known: NonNullable<NoticeBlock['facts']>): SafeHtml {
  const copied = (value: Words) =>
    typeof value === 'object' && value !== null && 'code' in value
      ? html` ${copyButton(ask, value.code)}`
      : ''
  return facts(
    known.map(
      ([name, value]) =>
        [name, isNothing(value) ? null : html`${wordsOf(ask, value)}${copied(value)}`] as const,
    ),
  )
}

function tableHtml(
  whole: Ask,
  { columns, rows, caption, tick, compact = false, empty: none }: TableBlock,
): SafeHtml {
  const ask: Ask = { ...whole, inRow: true }
  const last = columns.findLastIndex(({ only }) => only !== 'shell')
  const shown = columns.flatMap(({ title, spare, kind = spare && ('spare' as const), only, sort }, i) =>
    only === 'shell'
      ? []
      : [
          {
            title,
            sort,
            ...(kind ? { kind } : {}),
            cell: ({ cells, note }: (typeof rows)[number]) => {
              const words =
                i === last ? joined([cells[i], isNothing(note) ? null : { soft: note }], ' ') : cells[i]
              return isNothing(words) ? null : wordsOf(ask, words)
            },
          },
        ],
  )
  return table(rows, shown, {
    caption,
    compact,
    empty: none.text === '' ? html`` : empty(none.text, none.todo),
    ...(rows.some(({ to }) => to !== null) ? { href: ({ to }) => to ?? '' } : {}),
    ...(tick ? { tick: { ...tick, value: row => row.tick } } : {}),
  })
}

/** A line, or a part of one. */
export function wordsOf(ask: Ask, words: Words): Part {
  if (words === null || words === undefined) return ''
  if (typeof words === 'string') return withCode(words)
  if (typeof words === 'number') return figure(ask, words)
  if ('at' in words && words.at instanceof Date) return time(ask, words.at)
  if ('since' in words) return words.exact ? moment(ask, words.since) : time(ask, words.since)
  if ('named' in words) return textOr(ask.language, `${words.of}.${words.named}`, words.named)
  if ('tone' in words) return state(words.tone, wordsOf(ask, words.text))
  if ('share' in words)
    return html`<span class="progress"><span>${wordsOf(ask, words.text)}</span>${bar(words.share, 'busy')}</span>`
  if ('clip' in words) return html`<span class="clip" title="${words.clip}">${words.clip}</span>`
  if ('foreign' in words) return foreign(words.foreign)
  if ('nameOf' in words) return ask.marks.nameOf(words.nameOf, words.or)
  if ('drawn' in words) return words.drawn
  if ('code' in words) return code(words.code)
  if ('soft' in words) return html`<span class="soft">${wordsOf(ask, words.soft)}</span>`
  if ('to' in words) return html`<a href="${words.to}">${wordsOf(ask, words.text)}</a>`
  return html`${(words as readonly Words[]).map(part => wordsOf(ask, part))}`
}

/** Fields whose values are codes with a meaning (platform spec, section 2.3). */
const CODED = new Set(['gender', 'card_type'])

/** A field's value as dirsync masks it, with the word for a code; an empty one is labelled as such. */
export function valueWords(
  { t, language }: Pick<Ask, 't' | 'language'>,
  field: string,
  value: string | null,
): Words {
  if (value === null || value === '') return { soft: t('common.empty') }
  const word = CODED.has(field) ? textOr(language, `${field}.${value}`, '') : ''
  return word === '' ? { foreign: maskedText(t, value) } : [word, ' ', { soft: value }]
}
