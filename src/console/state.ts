import { html, type SafeHtml } from '@remix-run/html-template'
import { jsonRows } from '../sync/health/figures.ts'
import { PLATFORM_PAUSE } from '../sync/processes/pace.ts'
import { ALIVE, missingAmong } from '../sync/processes/process.ts'
import { HELD_RUNS } from '../sync/runs/run.ts'
import { failureTexts } from '../texts/failures.ts'
import type { Said } from '../texts/message.ts'
import type { Ask } from './ask.ts'
import { haltTitle, resumeForm } from './halts/view.ts'
import { foreign, live, type Part, state, type Tone, time } from './ui/parts.ts'

/* The bar below the navigation: why work stands still, and the way out. It is empty while all is well. */

/** What keeps work from going on, from a few rows. Dates are texts, as JSON has them. */
export interface Standstill {
  halts: {
    scope: string
    category: string
    message: Said
    remedy: Said
    raised_by: string
    since: string
  }[]
  held: { id: number; planned: number | null; hr_source: string }[]
  pause: { paused_until: string; pause_reason: string | null }[]
  processes: { roles: string[] }[]
}

/** A hold-off that is over sooner is nothing to look up for. */
const SHORTEST_PAUSE_S = 10
/** Further halts and held runs are only counted. */
const MOST = 3

/** SQL of the state, as JSON. */
export const STANDSTILL = `(
  with halts as (
    select scope, category, message, remedy, raised_by, since from dirsync.halt order by scope <> '*', scope
  ), held as (
    select id, planned, hr_source from ${HELD_RUNS} held order by id
  ), pause as (
    select paused_until, pause_reason from (${PLATFORM_PAUSE}) p
    where paused_until > now() + interval '${SHORTEST_PAUSE_S} seconds'
  ), processes as (
    select distinct roles from dirsync.process where ${ALIVE}
  )
  select jsonb_build_object('halts', ${jsonRows('halts')}, 'held', ${jsonRows('held')},
                            'pause', ${jsonRows('pause')}, 'processes', ${jsonRows('processes')})
)`

/** One line of the bar. */
interface Line {
  tone: Tone
  text: Part
  way: Part
}

export function stateBar(ask: Ask, found: Standstill): SafeHtml {
  const lines = linesOf(ask, found)
  const body =
    lines.length === 0
      ? ''
      : html`<ul class="state-bar">${lines.map(
          ({ tone, text, way }) => html`<li>${state(tone, html`<span>${text}</span>`)} ${way}</li>`,
        )}</ul>`
  // The page of halts costs little, and has this bar as every page.
  return live(
    { ...ask, url: '/halts' },
    'state',
    ['halts', 'runs', 'processes', 'platform'],
    html`<div role="status">${body}</div>`,
  )
}

function linesOf(ask: Ask, { halts, held, pause, processes }: Standstill): Line[] {
  const { t, language } = ask
  const link = (to: string, text: string) => html`<a href="${to}">${text}</a>`
  const few = <Item>(all: string, items: readonly Item[], line: (item: Item) => Line): Line[] => {
    const lines = items.slice(0, MOST).map(line)
    const last = lines.at(-1)
    if (last && items.length > MOST)
      last.way = html`${last.way} ${link(all, t('state_bar.more', { count: items.length - MOST }))}`
    return lines
  }
  return [
    ...missingAmong(processes).map(
      (role): Line => ({
        tone: 'bad',
        text: t(`overview.no_${role}`),
        way: link('/halts', t('state_bar.what_to_do')),
      }),
    ),
    ...few('/halts', halts, (halt): Line => {
      const { category, message } = failureTexts(language, halt)
      const at = time(ask, new Date(halt.since))
      return halt.category === 'paused'
        ? {
            tone: 'bad',
            text: html`${foreign(message)}${t('common.comma')}${t('halts.began')} ${at}`,
            way: ask.may('operator') ? resumeForm(ask, halt) : link('/halts', t('common.details')),
          }
        : {
            tone: 'bad',
            text: html`${haltTitle(ask, halt.scope, category)}${t('common.comma')}${at}`,
            way: link('/halts', t('state_bar.what_to_do')),
          }
    }),
    ...pause.map(
      ({ paused_until, pause_reason: reason }): Line => ({
        tone: 'warn',
        text: html`${t('platform.holdoff')} ${reason === null ? '' : foreign(reason)} ${t('platform.goes_on')} ${time(ask, new Date(paused_until))}`,
        way: link('/platform', t('common.details')),
      }),
    ),
    ...few('/runs?state=held', held, run => ({
      tone: 'warn',
      text: inSource(run, t('overview.held', { run: run.id, planned: run.planned ?? 0 })),
      way: link(
        `/runs/${run.id}/plan`,
        t(ask.may('operator') ? 'overview.held.remedy' : 'state_bar.see_plan'),
      ),
    })),
  ]
}

/** A text about a run, with the name of its HR source if there are several. */
export function inSource({ hr_source }: { hr_source: string }, text: string): string {
  return hr_source === '' ? text : `${hr_source}: ${text}`
}
