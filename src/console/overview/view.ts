import { html, type SafeHtml } from '@remix-run/html-template'
import { runMessage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { STANDING_TONES } from '../employees/list-view.ts'
import { haltTexts } from '../halts/view.ts'
import {
  actionForm,
  alert,
  bar,
  curve,
  empty,
  facts,
  figure,
  head,
  live,
  percent,
  reasonField,
  section,
  since,
  state,
  table,
  tabs,
  tiles,
  timeText,
  withCode,
} from '../ui/parts.ts'
import { runState } from '../ui/states.ts'
import { type HistoryResult, type OverviewResult, type SpanName, type Todo, todosOf } from './query.ts'

/** Answers within five seconds: is everyone in sync, and if not, what must I do? */
export function overviewBody(
  ask: Ask,
  overview: OverviewResult,
  span: SpanName,
  history: HistoryResult,
): SafeHtml {
  const { t } = ask
  const { in_scope = 0, in_step = 0, accepted = 0, rejected = 0 } = overview.employees
  const isSettled = in_step + accepted + rejected === in_scope
  const todos = todosOf(overview)
  const isPaused = overview.halts.some(({ category }) => category === 'paused')
  return html`${head(t('overview.title'), {
    actions: [
      isPaused
        ? actionForm(ask, { to: '/resume', label: t('overview.resume'), role: 'operator', tone: 'main' })
        : actionForm(ask, {
            to: '/pause',
            label: t('overview.pause'),
            role: 'operator',
            fields: [reasonField(t)],
            tone: 'danger',
          }),
    ],
  })}
  ${live(
    ask,
    'now',
    ['employees', 'work', 'cases', 'runs', 'halts', 'processes', 'platform', 'alerts'],
    html`<div class="stack">${
      todos.length === 0
        ? html`<p>${state(in_step === in_scope ? 'ok' : isSettled ? 'off' : 'busy', t(in_step === in_scope ? 'overview.all_well' : isSettled ? 'overview.decided' : 'overview.at_work'))}</p>`
        : todos.map(todo => todoAlert(ask, todo))
    }</div>
    ${tiles([
      {
        value: overview.share_in_step === null ? '–' : percent(ask, overview.share_in_step),
        name: t('overview.in_step'),
        note: html`${t('overview.of', { count: in_step, total: in_scope })}${bar(overview.share_in_step ?? 0)}`,
        href: '/employees',
      },
      {
        value: figure(ask, overview.pending.waiting + overview.pending.enqueued + overview.pending.postponed),
        name: t('overview.pending'),
        note: overview.oldest_work
          ? t('overview.oldest', { time: plainSince(ask, overview.oldest_work) })
          : t('overview.no_work'),
        href: '/runs',
      },
      {
        value: figure(
          ask,
          overview.open_cases.reduce((sum, { count }) => sum + count, 0),
        ),
        name: t('overview.open_cases'),
        note:
          overview.cases_that_wait > 0
            ? t('overview.cases_that_wait', { count: overview.cases_that_wait })
            : t('overview.no_cases_wait'),
        href: '/cases?states=open,blocked',
      },
      {
        value: figure(ask, overview.pace.calls_per_second, 1),
        name: t('overview.calls_per_second'),
        note:
          overview.pace.permitted_per_second === null
            ? t('overview.rate_unknown')
            : t('overview.permitted', { rate: figure(ask, overview.pace.permitted_per_second, 1) }),
        href: '/platform',
      },
    ])}
    <div class="columns">
      ${section(t('overview.cases'), casesByCategory(ask, overview))}
      ${section(t('overview.standings'), standings(ask, overview))}
    </div>
    ${section(t('overview.latest_runs'), latestRuns(ask, overview))}`,
  )}
  ${curves(ask, span, history)}`
}

/** History of the last 24 hours or 30 days. */
function curves(
  ask: Ask,
  span: SpanName,
  { x, in_step, open_cases, pending, calls }: HistoryResult,
): SafeHtml {
  const { t } = ask
  // The columns are recorded together, every five minutes.
  const latest = in_step.findLastIndex(value => value !== null)
  const share = in_step[latest] ?? null
  const cases = open_cases[latest] ?? null
  const waiting = pending[latest] ?? null
  const at = timeText(ask, new Date((x[latest] ?? 0) * 1000))
  const perMinute = x.map((_, i) => calls.reduce((sum, { per_minute }) => sum + (per_minute[i] ?? 0), 0))
  const refused = x.map((_, i) => calls.reduce((sum, line) => sum + (line.refused_per_minute[i] ?? 0), 0))
  const none = t('overview.no_history')
  return section(
    t('overview.history'),
    html`${tabs(t('overview.history'), [
      { href: '/overview?span=24h', text: t('overview.last_24h'), current: span === '24h' },
      { href: '/overview?span=30d', text: t('overview.last_30d'), current: span === '30d' },
    ])}<div class="columns">
      ${curve(ask, {
        title: t('overview.in_step'),
        x,
        series: [{ name: t('overview.in_step'), values: in_step }],
        unit: 'percent',
        summary: share === null ? none : t('overview.share_at', { share: percent(ask, share), time: at }),
      })}
      ${curve(ask, {
        title: t('overview.cases_and_work'),
        x,
        series: [
          { name: t('overview.unresolved_cases'), values: open_cases },
          { name: t('overview.pending'), values: pending },
        ],
        summary:
          cases === null || waiting === null
            ? none
            : t('overview.cases_at', { cases, pending: waiting, time: at }),
      })}
      ${curve(ask, {
        title: t('overview.calls_per_minute'),
        x,
        series: [
          { name: t('overview.calls'), values: perMinute },
          { name: t('overview.refused'), values: refused },
        ],
        unit: 'per_second',
        summary: t('overview.most_calls', { most: Math.ceil(Math.max(0, ...perMinute)) }),
      })}
    </div>`,
  )
}

function plainSince(ask: Ask, date: Date): string {
  return String(since(ask, date)).replace(/<[^>]*>/g, '')
}

function todoAlert(ask: Ask, todo: Todo): SafeHtml {
  const { t } = ask
  switch (todo.what) {
    case 'no_worker':
    case 'no_scheduler':
      return alert('bad', t(`overview.${todo.what}`), t(`overview.${todo.what}.remedy`))
    case 'halt':
      return haltTodo(ask, todo.halt)
    case 'held':
      return alert(
        'warn',
        inSource(todo.run, t('overview.held', { run: todo.run.id, planned: todo.run.planned ?? 0 })),
        html`<a href="/runs/${todo.run.id}/plan">${t('overview.held.remedy')}</a>`,
      )
    case 'suspect':
    case 'failed':
      return alert(
        'warn',
        inSource(todo.run, t(`overview.${todo.what}`, { run: todo.run.id })),
        html`${runMessage(ask.language, todo.run) ?? ''} <a href="/runs/${todo.run.id}">${t('common.details')}</a>`,
      )
    case 'alerts':
      return alertsTodo(ask, todo.alerts)
    case 'cases':
      return alert(
        'info',
        t('overview.cases_wait', { count: todo.count }),
        html`<a href="/cases">${t('overview.cases_wait.remedy')}</a>`,
      )
  }
}

/** A text about a run, with the name of its HR source if there are several. */
function inSource({ hr_source }: { hr_source: string }, text: string): string {
  return hr_source === '' ? text : `${hr_source}: ${text}`
}

/** Further alerts are only counted. */
const MOST_ALERTS = 4

/** Alerts about things that nothing above shows. */
function alertsTodo({ t }: Ask, alerts: OverviewResult['alerts']): SafeHtml {
  const titles = alerts.slice(0, MOST_ALERTS).map(({ title }) => title)
  const more = alerts.length - titles.length
  return alert(
    alerts[0]?.severity === 'critical' ? 'bad' : 'warn',
    html`${titles.join(t('overview.alerts.separator'))}${more > 0 ? ` ${t('overview.alerts.more', { count: more })}` : ''}`,
    html`<a href="/alerts">${t('overview.alerts.see')}</a>`,
  )
}

/** Which enterprise is halted, and why; a pause is shown with its reason. */
function haltTodo(ask: Ask, halt: OverviewResult['halts'][number]): SafeHtml {
  const { what, message, remedy } = haltTexts(ask, halt)
  const isPaused = halt.category === 'paused'
  return alert(
    'bad',
    isPaused ? message : what,
    html`${isPaused ? '' : html`<p>${message}</p>`}<p class="todo">${withCode(remedy)} <a href="/halts">${ask.t('overview.see_halt')}</a></p>`,
  )
}

function casesByCategory(ask: Ask, { open_cases }: OverviewResult): SafeHtml {
  const { t, language } = ask
  return table(
    open_cases,
    [
      {
        title: t('overview.category'),
        kind: 'main',
        cell: ({ category }) => textOr(language, `category.${category}`, category),
      },
      { title: t('overview.count'), kind: 'number', cell: ({ count }) => figure(ask, count) },
    ],
    {
      caption: t('overview.cases'),
      empty: empty(t('overview.no_cases')),
      href: ({ category }) => `/cases?categories=${encodeURIComponent(category)}`,
    },
  )
}

function standings(ask: Ask, { employees }: OverviewResult): SafeHtml {
  const { in_scope, ...byStanding } = employees
  if (!in_scope) return empty(ask.t('overview.nobody'), ask.t('overview.nobody.remedy'))
  return facts(
    Object.entries(byStanding).map(([standing, count]) => {
      const shown = state(count === 0 ? 'off' : (STANDING_TONES[standing] ?? 'off'), figure(ask, count))
      // Employees who are in sync have no list of their own. `halted` is the state `waiting` during a halt.
      const listed = standing === 'halted' ? 'waiting' : standing
      const href = listed !== 'in_step' && `/employees?standing=${listed}`
      return [
        textOr(ask.language, `standing.${standing}`, standing),
        href && count > 0 ? html`<a href="${href}">${shown}</a>` : shown,
      ]
    }),
  )
}

function latestRuns(ask: Ask, { latest_runs }: OverviewResult): SafeHtml {
  const { t, language } = ask
  return table(
    latest_runs,
    [
      { title: t('overview.run'), kind: 'main', cell: ({ id }) => `#${id}` },
      { title: t('overview.kind'), cell: ({ kind }) => textOr(language, `run_kind.${kind}`, kind) },
      ...(latest_runs.some(({ hr_source }) => hr_source !== '')
        ? [
            {
              title: t('runs.source'),
              cell: ({ hr_source }: OverviewResult['latest_runs'][number]) => hr_source || null,
            },
          ]
        : []),
      { title: t('overview.state'), cell: run => runState(ask, run.state) },
      { title: t('overview.requested'), kind: 'spare', cell: run => since(ask, run.requested_at) },
      {
        title: t('overview.planned'),
        kind: 'number',
        cell: ({ planned }) => (planned === null ? null : figure(ask, planned)),
      },
    ],
    {
      caption: t('overview.latest_runs'),
      empty: empty(t('overview.no_runs')),
      href: ({ id }) => `/runs/${id}`,
    },
  )
}
