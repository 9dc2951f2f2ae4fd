import { html, type SafeHtml } from '@remix-run/html-template'
import { capitalised } from '../../lib/text.ts'
import { RUN_KINDS, RUN_STATES } from '../../sync/runs/run.ts'
import { runMessage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { rangeFields } from '../range.ts'
import { noRows, type Shown, type ShownColumn, tableOf, term, type Words } from '../shown.ts'
import { duration, type Field, filters, percent } from '../ui/parts.ts'
import { BY_ITSELF, type ListedRun } from './list.ts'
import type { RunsResult } from './query.ts'
import {
  kindName,
  outcomesOf,
  outcomesText,
  partsText,
  runStateWords,
  timeLeftText,
  tookMs,
  whoText,
} from './words.ts'

interface Filter {
  kind?: string | undefined
  state?: string | undefined
  by?: string | undefined
  source?: string | undefined
  from?: string | undefined
  to?: string | undefined
  since?: string | undefined
}

/** What has been going on, and what needs a decision. */
export function runsShown(ask: Ask, { items, next, sources }: RunsResult, filter: Filter): Shown {
  const { t } = ask
  return {
    title: t('runs.title'),
    actions: ask.may('operator')
      ? [html`<a class="button main" href="/runs/new">${t('runs.start')}</a>`]
      : [],
    topics: ['runs', 'work'],
    blocks: [
      { drawn: filterForm(ask, filter, sources) },
      tableOf(items, runColumns(ask, sources.length > 0), {
        caption: t('runs.title'),
        ...noRows(
          ask,
          isFiltered(filter) ? t('runs.none_match') : t('runs.none'),
          isFiltered(filter) ? '' : t(ask.readOnly ? 'runs.none.remedy.read_only' : 'runs.none.remedy'),
        ),
        to: ({ id }) => `/runs/${id}`,
      }),
      { next },
    ],
  }
}

/** What a list says of a run. @param hasSources whether there are several HR sources */
export function runColumns(ask: Ask, hasSources: boolean): ShownColumn<ListedRun>[] {
  const { t } = ask
  return [
    { title: t('runs.run'), kind: 'number', only: 'shell', of: run => String(run.id) },
    { title: t('runs.kind'), only: 'shell', of: run => term('run_kind', run.kind) },
    {
      title: t('runs.run'),
      kind: 'main',
      only: 'page',
      of: run => `#${run.id}\u00a0${kindName(ask, run.kind)}`,
    },
    ...(hasSources ? [{ title: t('runs.source'), of: (run: ListedRun) => run.hr_source }] : []),
    { title: t('runs.state'), of: run => runStateWords(ask, run) },
    { title: t('runs.what'), gives: true, of: run => whatOf(ask, run) },
    { title: t('runs.planned'), kind: 'number', of: run => (isPlan(run) ? run.planned : null) },
    {
      title: t('runs.calls'),
      kind: 'number',
      spare: true,
      of: ({ calls, finished_at }) => (finished_at === null ? null : calls),
    },
    { title: t('runs.took'), kind: 'number', of: run => tookOf(ask, run) },
    { title: t('runs.asked'), of: run => ({ since: run.requested_at }) },
    { title: t('runs.by'), spare: true, of: run => whoText(ask, run.requested_by) },
  ]
}

function isFiltered({ kind, state, by, source, from, to, since }: Filter): boolean {
  return [kind, state, by, source, from, to, since].some(value => value !== undefined)
}

function filterForm(ask: Ask, filter: Filter, sources: readonly string[]): SafeHtml {
  const { t, language } = ask
  const all = { value: '', text: t('common.all') }
  const choices = (values: readonly string[], text: (value: string) => string, given?: string) => [
    all,
    // A value in the address stays selected even if the list does not offer it.
    ...[...new Set([...values, ...(given === undefined ? [] : [given])])].map(value => ({
      value,
      text: capitalised(text(value)),
    })),
  ]
  return filters(ask, '/runs', [
    {
      name: 'kind',
      label: t('runs.kind'),
      value: filter.kind,
      choices: choices(RUN_KINDS, kind => kindName(ask, kind)),
    },
    {
      name: 'state',
      label: t('runs.state'),
      value: filter.state,
      choices: choices(RUN_STATES, state => textOr(language, `run_state.${state}`, state)),
    },
    {
      name: 'by',
      label: t('runs.by'),
      value: filter.by,
      choices: choices(
        ['people', 'me', 'dirsync', ...BY_ITSELF],
        by => textOr(language, `runs.by.${by}`, by),
        filter.by,
      ),
    },
    ...sourceChoice(ask, sources, filter.source),
    ...rangeFields(ask, t('runs.asked'), filter),
  ])
}

/** The choice of one of several HR sources; nothing where there is only one. */
export function sourceChoice({ t }: Ask, sources: readonly string[], value: string | undefined): Field[] {
  if (sources.length === 0) return []
  const all = { value: '', text: t('common.all') }
  const choices = [all, ...sources.map(name => ({ value: name, text: name }))]
  return [{ name: 'source', label: t('runs.source'), value, choices }]
}

/**
 * The most important fact about a run: the progress of one under way, the question of one that is held, else the
 * outcome.
 */
function whatOf(ask: Ask, run: ListedRun): Words {
  if (run.state === 'running') return progressOf(ask, run)
  if (run.state === 'held') return { to: `/runs/${run.id}/plan`, text: ask.t('runs.look_at_plan') }
  if (run.undecided !== null && run.state !== 'superseded') return partsText(ask, run)
  const outcomes = run.rows ? ask.t('runs.rows', run.rows) : outcomesText(ask, outcomesOf(run))
  if (run.state === 'done' && !run.message)
    return outcomes || (run.planned ? '' : ask.t('runs.nothing_to_do'))
  const message = runMessage(ask.language, run)
  if (message === null) return outcomes
  return outcomes === '' ? { clip: message } : [{ clip: message }, ' · ', outcomes]
}

/** A suspect source's differences are not a plan. */
export function isPlan({ planned, state }: Pick<ListedRun, 'planned' | 'state'>): boolean {
  return planned !== null && state !== 'source_suspect'
}

/** Progress of a running run, for a glance. */
export function progressOf(
  ask: Ask,
  run: Pick<ListedRun, 'planned' | 'left' | 'time_left' | 'cancelled_at' | 'undecided'>,
): Words {
  const { t } = ask
  // What was taken back is not done.
  if (run.cancelled_at) return t('runs.in_hand', { count: run.left })
  if (run.undecided !== null) return t('runs.parts_left', { count: run.left })
  const total = Math.max(run.planned ?? 0, run.left)
  if (total === 0) return timeLeftText(ask, run.time_left)
  const share = (total - run.left) / total
  const left = timeLeftText(ask, run.time_left)
  const done = t('runs.progress', { done: total - run.left, total, percent: percent(ask, share) })
  return { share, text: left ? [done, { soft: ` · ${left}` }] : done }
}

function tookOf(ask: Ask, run: ListedRun): string | null {
  const ms = run.state === 'held' ? null : tookMs(run, ask.now)
  return ms === null ? null : duration(ask, ms)
}
