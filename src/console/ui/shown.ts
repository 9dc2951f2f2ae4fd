import { html, type SafeHtml } from '@remix-run/html-template'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import type { Page } from '../endpoint.ts'
import { type Block, isNothing, type Shown, type TableBlock, type Words } from '../shown.ts'
import {
  alert,
  bar,
  code,
  empty,
  facts,
  figure,
  head,
  live,
  type Part,
  pager,
  section,
  since,
  state,
  table,
  tiles,
  time,
} from './parts.ts'

/* What a person sees, as a page. */

export function pageOf(ask: Ask, shown: Shown): Page {
  const { title, topics } = shown
  return { title, body: topics ? live(ask, 'page', topics, bodyOf(ask, shown)) : bodyOf(ask, shown) }
}

function bodyOf(ask: Ask, { title, aside, actions, blocks }: Shown): SafeHtml {
  const beside = aside === undefined ? {} : { aside: wordsOf(ask, aside) }
  return html`${head(title, { ...beside, actions: [...(actions ?? [])] })}${drawBlocks(ask, blocks)}`
}

export function drawBlocks(ask: Ask, blocks: readonly Block[]): SafeHtml {
  return html`${blocks.map(block => blockOf(ask, block))}`
}

function blockOf(ask: Ask, block: Block): SafeHtml {
  if ('text' in block) return html`<p>${wordsOf(ask, block.text)}</p>`
  if ('facts' in block)
    return facts(
      block.facts.map(([name, value]) => [name, isNothing(value) ? null : wordsOf(ask, value)] as const),
    )
  if ('notice' in block) {
    const { notice, title, todo, list = [], next } = block
    return alert(
      notice,
      title,
      html`${isNothing(todo) ? '' : html`<p class="todo">${wordsOf(ask, todo)}</p>`}${
        isNothing(next) ? '' : html`<p class="soft">${wordsOf(ask, next)}</p>`
      }${list.length === 0 ? '' : html`<ol>${list.map(item => html`<li>${wordsOf(ask, item)}</li>`)}</ol>`}`,
    )
  }
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
        html`<li>${time(ask, at)}<div>${wordsOf(ask, what)}</div>${isNothing(words) ? '' : html`<p class="words">${wordsOf(ask, words)}</p>`}${details
          .filter(line => !isNothing(line))
          .map(line => html`<p class="soft">${wordsOf(ask, line)}</p>`)}</li>`,
    )}</ol>`
  }
  if ('section' in block)
    return section(block.section, drawBlocks(ask, block.blocks), {
      ...(block.aside === undefined ? {} : { aside: wordsOf(ask, block.aside) }),
    })
  if ('columns' in block)
    return html`<div class="columns">${block.columns.map(
      column => html`<div class="part">${drawBlocks(ask, column)}</div>`,
    )}</div>`
  if ('next' in block) return pager(ask, block.next)
  return 'drawn' in block ? block.drawn : html``
}

function tableHtml(ask: Ask, { columns, rows, caption, tick, empty: none }: TableBlock): SafeHtml {
  const shown = columns.flatMap(({ title, spare, kind = spare && ('spare' as const), only }, i) =>
    only === 'shell'
      ? []
      : [
          {
            title,
            ...(kind ? { kind } : {}),
            cell: ({ cells }: (typeof rows)[number]) => (isNothing(cells[i]) ? null : wordsOf(ask, cells[i])),
          },
        ],
  )
  return table(rows, shown, {
    caption,
    empty: none.text === '' ? html`` : empty(none.text, none.todo),
    ...(rows.some(({ to }) => to !== null) ? { href: ({ to }) => to ?? '' } : {}),
    ...(tick ? { tick: { ...tick, value: row => row.tick } } : {}),
  })
}

/** A line, or a part of one. */
function wordsOf(ask: Ask, words: Words): Part {
  if (words === null || words === undefined) return ''
  if (typeof words === 'string') return words
  if (typeof words === 'number') return figure(ask, words)
  if ('at' in words && words.at instanceof Date) return time(ask, words.at)
  if ('since' in words) return since(ask, words.since)
  if ('named' in words) return textOr(ask.language, `${words.of}.${words.named}`, words.named)
  if ('tone' in words) return state(words.tone, wordsOf(ask, words.text))
  if ('share' in words)
    return html`<span class="progress"><span>${wordsOf(ask, words.text)}</span>${bar(words.share, 'busy')}</span>`
  if ('clip' in words) return html`<span class="clip" title="${words.clip}">${words.clip}</span>`
  if ('code' in words) return code(words.code)
  if ('soft' in words) return html`<span class="soft">${wordsOf(ask, words.soft)}</span>`
  if ('to' in words) return html`<a href="${words.to}">${wordsOf(ask, words.text)}</a>`
  return html`${(words as readonly Words[]).map(part => wordsOf(ask, part))}`
}
