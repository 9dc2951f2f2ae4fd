import { html, type SafeHtml } from '@remix-run/html-template'
import { capitalised } from '../../lib/text.ts'
import { BY_ITSELF, RUN_KINDS, RUN_STATES } from '../../report/run-list.ts'
import { runMessage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  bar,
  duration,
  empty,
  figure,
  filters,
  head,
  live,
  pager,
  percent,
  since,
  table,
} from '../ui/parts.ts'
import type { RunItem, RunsResult } from './query.ts'
import { kindName, outcomesText, runStanding, timeLeftText, tookMs, whoText } from './words.ts'

interface Filter {
  kind?: string | undefined
  state?: string | undefined
  by?: string | undefined
  source?: string | undefined
  since?: string | undefined
}

const PERIODS = ['24h', '7d', '30d']

/** What has been going on, and what needs a decision. */
export function runsBody(ask: Ask, { runs, next, sources }: RunsResult, filter: Filter): SafeHtml {
  const { t } = ask
  const start = ask.may('operator')
    ? [html`<a class="button main" href="/runs/new">${t('runs.start')}</a>`]
    : []
  return html`${head(t('runs.title'), { actions: start })}
    ${filterForm(ask, filter, sources)}
    ${live(
      ask,
      'runs',
      ['runs', 'work'],
      html`${table(
        runs,
        [
          {
            title: t('runs.run'),
            kind: 'main',
            cell: run => html`<span class="nowrap">#${run.id} ${kindName(ask, run.kind)}</span>`,
          },
          ...(sources.length > 0
            ? [{ title: t('runs.source'), cell: (run: RunItem) => run.hr_source || null }]
            : []),
          {
            title: t('runs.state'),
            cell: run => runStanding(ask, run),
          },
          { title: t('runs.what'), cell: run => whatOf(ask, run) },
          {
            title: t('runs.planned'),
            kind: 'number',
            cell: run => (isPlan(run) ? figure(ask, run.planned ?? 0) : null),
          },
          {
            title: t('runs.calls'),
            kind: 'number',
            cell: ({ calls, finished_at }) => (finished_at === null ? null : figure(ask, calls)),
          },
          { title: t('runs.took'), kind: 'number', cell: run => tookOf(ask, run) },
          { title: t('runs.asked'), kind: 'spare', cell: run => since(ask, run.requested_at) },
          { title: t('runs.by'), kind: 'spare', cell: run => whoText(ask, run.requested_by) },
        ],
        {
          caption: t('runs.title'),
          empty: isFiltered(filter)
            ? empty(t('runs.none_match'), html`<a href="/runs">${t('common.clear')}</a>`)
            : empty(t('runs.none'), t('runs.none.remedy')),
          href: ({ id }) => `/runs/${id}`,
        },
      )}
      ${pager(ask, next)}`,
    )}`
}

function isFiltered({ kind, state, by, source, since }: Filter): boolean {
  return [kind, state, by, source, since].some(value => value !== undefined)
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
    ...(sources.length > 0
      ? [
          {
            name: 'source',
            label: t('runs.source'),
            value: filter.source,
            choices: [all, ...sources.map(name => ({ value: name, text: name }))],
          },
        ]
      : []),
    {
      name: 'since',
      label: t('runs.asked'),
      value: filter.since,
      choices: choices(PERIODS, since => textOr(language, `runs.within.${since}`, since), filter.since),
    },
  ])
}

/**
 * The most important fact about a run: the progress of one under way, the question of one that is held, else the
 * outcome.
 */
function whatOf(ask: Ask, run: RunItem): SafeHtml | string {
  if (run.state === 'running') return progressOf(ask, run)
  if (run.state === 'held') return html`<a href="/runs/${run.id}/plan">${ask.t('runs.look_at_plan')}</a>`
  if (run.rows) return ask.t('runs.rows', run.rows)
  if (run.state === 'done' && !run.message)
    return outcomesText(ask, run.outcomes) || (run.planned ? '' : ask.t('runs.nothing_to_do'))
  const message = runMessage(ask.language, run)
  return message === null
    ? outcomesText(ask, run.outcomes)
    : html`<span class="clip" title="${message}">${message}</span>`
}

/** The differences to a suspect source are not a plan. */
export function isPlan({ planned, state }: Pick<RunItem, 'planned' | 'state'>): boolean {
  return planned !== null && state !== 'source_suspect'
}

/** The progress of a running run, for a glance. */
export function progressOf(
  ask: Ask,
  run: Pick<RunItem, 'planned' | 'left' | 'time_left' | 'cancelled_at'>,
): SafeHtml {
  const { t } = ask
  const total = Math.max(run.planned ?? 0, run.left)
  if (total === 0) return html`${timeLeftText(ask, run.time_left)}`
  const share = (total - run.left) / total
  const left = run.cancelled_at ? t('runs.in_hand', { count: run.left }) : timeLeftText(ask, run.time_left)
  return html`<span class="progress"><span>${t('runs.progress', {
    done: total - run.left,
    total,
    percent: percent(ask, share),
  })}${left ? html` <span class="soft">· ${left}</span>` : ''}</span>${bar(share, 'busy')}</span>`
}

function tookOf(ask: Ask, run: RunItem): string | null {
  const ms = run.state === 'held' ? null : tookMs(run, ask.now)
  return ms === null ? null : duration(ask, ms)
}
