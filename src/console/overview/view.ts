import { html, type SafeHtml } from '@remix-run/html-template'
import type { z } from 'zod'
import { qualified } from '../../directory/employee.ts'
import { shellWord } from '../../lib/text.ts'
import { actorText } from '../../texts/actor.ts'
import { runMessage } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { EMPLOYEE_STATUS_TONES } from '../employees/list-view.ts'
import { unknownNotice } from '../employees/unknown.ts'
import { haltNotice } from '../halts/view.ts'
import { holdoffNotice, mostAMinute } from '../platform/view.ts'
import { rangeFields } from '../range.ts'
import { runColumns } from '../runs/list-view.ts'
import { jobName, jobPath, pauseWarning } from '../schedules/view.ts'
import { type Block, joined, type NoticeBlock, type Shown, tableOf, term } from '../shown.ts'
import { inSource } from '../state.ts'
import {
  actionForm,
  bar,
  curves,
  figure,
  filters,
  percent,
  reasonField,
  section,
  sinceText,
  type Tone,
  tabs,
  timeText,
} from '../ui/parts.ts'
import { casesForAPerson } from '../ui/paths.ts'
import {
  type HistoryResult,
  type HistorySpan,
  notKept,
  type OverviewResult,
  spanOf,
  type Todo,
  todosOf,
} from './query.ts'

/** Answers within five seconds: is everyone in sync, and if not, what must I do? */
export function overviewShown(ask: Ask, overview: OverviewResult, setup: readonly Block[]): Shown {
  const { t } = ask
  const isPaused = overview.halts.some(({ category }) => category === 'paused')
  const pause = () =>
    actionForm(ask, {
      to: '/pause',
      label: t('overview.pause'),
      role: 'operator',
      fields: [reasonField(t)],
      tone: 'danger',
    })
  return {
    title: t('overview.title'),
    actions: isPaused ? [] : [pause()],
    topics: ['employees', 'work', 'cases', 'runs', 'halts', 'processes', 'schedules', 'platform', 'alerts'],
    blocks: [
      ...todoBlocks(ask, overview, ({ what }) => !IN_BAR.has(what)),
      ...setup,
      overviewTiles(ask, overview),
      {
        columns: [
          [{ section: t('overview.cases'), blocks: [casesByCategory(ask, overview)] }],
          [employeeSection(ask, overview)],
        ],
      },
      { section: t('overview.latest_runs'), blocks: [latestRunTable(ask, overview)] },
    ],
  }
}

/** What the bar above every page says already. */
const IN_BAR: ReadonlySet<Todo['what']> = new Set(['no_worker', 'no_scheduler', 'halt', 'holdoff', 'held'])

/** What needs a person, or that nothing does. */
export function todoBlocks(
  ask: Ask,
  overview: OverviewResult,
  isShown: (todo: Todo) => boolean = () => true,
): Block[] {
  const todos = todosOf(overview)
  if (todos.length > 0) return todos.filter(isShown).map(todo => todoNotice(ask, todo, overview))
  const {
    in_scope = 0,
    in_sync = 0,
    accepted = 0,
    rejected = 0,
    no_source = 0,
    awaiting_activation = 0,
  } = overview.employees
  const decided = in_sync + accepted + rejected + no_source
  const stopped = overview.retries_stopped && overview.cases_that_wait > 0
  const [tone, text]: [Tone, 'all_well' | 'decided' | 'awaiting' | 'at_work' | 'nobody' | 'retries_off'] =
    in_scope === 0
      ? ['wait', 'nobody']
      : in_sync === in_scope
        ? ['ok', 'all_well']
        : decided === in_scope
          ? ['off', 'decided']
          : stopped
            ? ['wait', 'retries_off']
            : in_sync + awaiting_activation === in_scope
              ? ['wait', 'awaiting']
              : ['busy', 'at_work']
  return [{ text: { tone, text: ask.t(`overview.${text}`, { job: jobName(ask, 'retry-due') }) } }]
}

/** The figures that matter most. */
export function overviewTiles(ask: Ask, overview: OverviewResult): Block {
  const { t } = ask
  const { employees, share_in_sync: share, pending, oldest_work, open_cases, pace } = overview
  const { in_scope = 0, in_sync = 0, no_source = 0 } = employees
  return {
    tiles: [
      {
        value: share === null ? '–' : percent(ask, share),
        name: t('overview.in_sync'),
        note: [t('overview.of', { count: in_sync, total: in_scope - no_source }), { drawn: bar(share ?? 0) }],
        to: '/employees',
      },
      {
        value: pending.waiting + pending.enqueued + pending.postponed,
        name: t('overview.pending'),
        note: oldest_work
          ? t('overview.oldest', { time: sinceText(ask, oldest_work) })
          : t('overview.no_work'),
        to: '/work',
      },
      {
        value: open_cases.reduce((sum, { count }) => sum + count, 0),
        name: t('overview.open_cases'),
        note:
          overview.cases_that_wait > 0
            ? t(overview.retries_stopped ? 'overview.cases_that_wait_stopped' : 'overview.cases_that_wait', {
                count: overview.cases_that_wait,
                job: jobName(ask, 'retry-due'),
              })
            : t('overview.no_cases_wait'),
        to: casesForAPerson(),
      },
      {
        value: figure(ask, pace.calls_per_second, 1),
        name: t('overview.calls_per_second'),
        note: pace.paused_until
          ? [t('platform.goes_on'), ' ', { since: pace.paused_until }]
          : pace.permitted_per_second === null
            ? t('overview.rate_unknown')
            : t('overview.permitted', { rate: figure(ask, pace.permitted_per_second, 1) }),
        to: '/platform',
      },
    ],
  }
}

/** History of the last 24 hours or 30 days, or between two moments. */
export function overviewCurves(
  ask: Ask,
  input: z.output<typeof HistorySpan>,
  history: HistoryResult,
): SafeHtml {
  const { t } = ask
  const { step, x, halted, in_sync, open_cases, pending, calls } = history
  // The columns are recorded together, every five minutes.
  const latest = in_sync.findLastIndex(value => value !== null)
  const share = in_sync[latest] ?? null
  const cases = open_cases[latest] ?? null
  const waiting = pending[latest] ?? null
  const at = timeText(ask, new Date((x[latest] ?? 0) * 1000))
  const perMinute = x.map((_, i) => calls.reduce((sum, { per_minute }) => sum + (per_minute[i] ?? 0), 0))
  const refused = x.map((_, i) => calls.reduce((sum, line) => sum + (line.refused_per_minute[i] ?? 0), 0))
  const none = notKept(ask, history) ?? t('overview.no_history')
  const span = input.from === undefined && input.to === undefined ? input.span : null
  return section(
    t('overview.history'),
    html`${tabs(t('overview.history'), [
      { href: '/overview?span=24h#history', text: t('overview.last_24h'), current: span === '24h' },
      { href: '/overview?span=30d#history', text: t('overview.last_30d'), current: span === '30d' },
    ])}${filters(ask, '/overview', rangeFields(ask, t('overview.history'), input))}${curves(
      ask,
      {
        page: '/overview#history',
        ...{ step, halted },
        // Without a beginning, the curves have one; a list would begin with its first entry.
        given: {
          from: input.from ?? (input.to && spanOf(ask, input).from.toISOString()),
          to: input.to,
        },
        list: { href: '/runs', text: t('overview.runs_then'), hint: t('overview.curve_hint') },
      },
      [
        {
          title: t('overview.in_sync'),
          x,
          series: [{ name: t('overview.in_sync'), values: in_sync }],
          unit: 'percent',
          summary: share === null ? none : t('overview.share_at', { share: percent(ask, share), time: at }),
        },
        {
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
        },
        {
          title: t('overview.calls_per_minute'),
          x,
          series: [
            { name: t('overview.calls'), values: perMinute },
            { name: t('overview.refused'), values: refused },
          ],
          unit: 'per_second',
          summary: mostAMinute(ask, history, perMinute),
        },
      ],
    )}`,
    { id: 'history' },
  )
}

function todoNotice(ask: Ask, todo: Todo, { employees }: OverviewResult): NoticeBlock {
  const { t } = ask
  switch (todo.what) {
    case 'no_worker':
    case 'no_scheduler':
      return { notice: 'bad', title: t(`overview.${todo.what}`), todo: t(`overview.${todo.what}.remedy`) }
    case 'halt':
      return haltNotice(ask, todo.halt)
    case 'holdoff':
      return holdoffNotice(ask, todo.holdoff)
    case 'money': {
      const { kind, count } = todo
      return {
        notice: 'bad',
        title: t(kind === 'refunds' ? 'money.waiting.refunds' : 'money.unknown.topups', { count }),
        todo: t('money.waiting_todo'),
        // Those whose sender hangs, or that nothing shows, are in another state.
        next: { to: `/money?kind=${todo.kind}`, text: t('money.show_them') },
      }
    }
    case 'stalled':
      return {
        notice: 'warn',
        title: t('overview.stalled', {
          job: jobName(ask, todo.job.job),
          by: actorText(ask, todo.job.paused_by ?? ''),
        }),
        what: { foreign: todo.job.pause_reason },
        todo: pauseWarning(ask, todo.job),
        next: { to: jobPath(todo.job.job), text: t('common.details') },
      }
    case 'doubted':
      return {
        notice: 'warn',
        title: t('overview.doubted', { count: todo.count }),
        what: t('overview.doubted.why'),
        todo: { to: '/runs', text: t('overview.doubted.remedy') },
      }
    case 'no_source':
      return {
        notice: 'info',
        title: t('overview.no_source', { count: todo.count }),
        todo: t('employees.now.no_source.remedy'),
        next: { to: '/employees?status=no_source', text: t('common.details') },
      }
    case 'unknown':
      return unknownNotice(ask, todo.people, (employees.in_sync ?? 0) > 0)
    case 'held':
      return {
        notice: 'warn',
        title: inSource(todo.run, t('overview.held', { run: todo.run.id, planned: todo.run.planned ?? 0 })),
        todo: { to: `/runs/${todo.run.id}/plan`, text: t('overview.held.remedy') },
      }
    case 'failed': {
      const [run] = todo.runs
      const ids = todo.runs.map(({ id }) => id)
      const what = runMessage(ask.language, run)
      if (ids.length === 1)
        return {
          notice: 'warn',
          title: inSource(run, t('overview.failed', { run: run.id })),
          what,
          todo: { to: `/runs/${run.id}`, text: t('common.details') },
        }
      const runs = new Intl.ListFormat(ask.language).format(ids.map(String))
      return {
        notice: 'warn',
        title: inSource(run, t('overview.failed_alike', { runs })),
        what,
        todo: joined(
          ids.map(id => ({ to: `/runs/${id}`, text: t('setup.to.run', { run: String(id) }) })),
          t('common.list_comma'),
        ),
      }
    }
    case 'suspect':
      return {
        notice: 'warn',
        title: inSource(
          todo.run,
          t(todo.run.state === 'source_suspect' ? 'overview.suspect' : 'overview.suspect_check', {
            run: todo.run.id,
          }),
        ),
        what: runMessage(ask.language, todo.run),
        todo: { to: `/runs/${todo.run.id}`, text: t('common.details') },
      }
    case 'alerts':
      return alertsTodo(ask, todo.alerts)
    case 'cases':
      return {
        notice: 'info',
        title: t('overview.cases_wait', { count: todo.count }),
        todo: joined(
          [
            { to: casesForAPerson(), text: t('runs.review_cases') },
            { to: '/cases/groups', text: t('cases.tab_groups') },
          ],
          ' · ',
        ),
      }
  }
}

/** What to type about what needs a person. */
export function todoCommands(overview: OverviewResult): string[] {
  return todosOf(overview).flatMap(commandsOf)
}

function commandsOf(todo: Todo): string[] {
  switch (todo.what) {
    case 'no_worker':
      return ['start --roles worker']
    case 'no_scheduler':
      return ['start --roles scheduler']
    case 'halt':
      return todo.halt.category === 'paused' ? ['resume'] : ['doctor']
    case 'holdoff':
    case 'no_source':
      return []
    case 'money':
      return [`${todo.kind === 'refunds' ? 'refund' : 'topup'} list`]
    case 'stalled':
      return []
    case 'doubted':
      return ['runs']
    case 'unknown':
      return [`employee ${shellWord(qualified(todo.people.enterprise_code, todo.people.example))}`]
    case 'held':
      return [`plan ${todo.run.id}`, `approve ${todo.run.id}`, `reject ${todo.run.id} --reason "…"`]
    case 'suspect':
      return [`runs ${todo.run.id}`]
    case 'failed':
      return todo.runs.map(({ id }) => `runs ${id}`)
    case 'alerts':
      return ['alerts']
    case 'cases':
      return ['dead-letters list']
  }
}

/** Further alerts are only counted. */
const MOST_ALERTS = 4

/** Alerts about things that nothing above shows: one says what to do, several are only named. */
function alertsTodo({ t }: Ask, alerts: OverviewResult['alerts']): NoticeBlock {
  const titles = alerts.slice(0, MOST_ALERTS).map(({ title }) => title)
  const more = alerts.length - titles.length
  const see = { to: '/alerts', text: t('overview.alerts.see') }
  const alone = alerts.length === 1 ? alerts[0] : undefined
  return {
    notice: alerts[0]?.severity === 'critical' ? 'bad' : 'warn',
    title: [
      titles.join(t('overview.alerts.separator')),
      more > 0 ? ` ${t('overview.alerts.more', { count: more })}` : null,
    ],
    ...(alone ? { what: alone.what, todo: alone.remedy, next: see } : { todo: see }),
  }
}

function casesByCategory({ t }: Ask, { open_cases }: OverviewResult): Block {
  return tableOf(
    open_cases,
    [
      { title: t('overview.category'), kind: 'main', of: ({ category }) => term('category', category) },
      { title: t('overview.count'), kind: 'number', of: ({ count }) => count },
    ],
    {
      caption: t('overview.cases'),
      empty: t('overview.no_cases'),
      to: ({ category }) => casesForAPerson({ categories: [category] }),
    },
  )
}

export function employeeSection({ t, language }: Ask, { employees, ignored_fields }: OverviewResult): Block {
  const { in_scope, ...byStatus } = employees
  const title = t('overview.statuses')
  if (!in_scope) {
    const none = { caption: title, empty: t('overview.nobody'), todo: t('overview.nobody.remedy') }
    return { section: title, blocks: [tableOf([], [], none)] }
  }
  const facts = Object.entries(byStatus).map(([status, count]) => {
    const text = {
      tone: count === 0 ? 'off' : (EMPLOYEE_STATUS_TONES[status] ?? 'off'),
      text: count,
    } as const
    // Employees who are in sync have no list of their own.
    const isListed = status !== 'in_sync' && count > 0
    return [
      textOr(language, `status.${status}`, status),
      isListed ? { to: `/employees?status=${status}`, text } : text,
    ] as const
  })
  const ignored = (employees.dead_lettered ?? 0) > 0 ? ignored_fields : []
  const notes = ignored.map(
    ({ enterprise_code, field, dead_letter }): Block => ({
      text: {
        soft: [
          t('overview.ignored_field', {
            field: textOr(language, `field.${field}`, field),
            enterprise: enterprise_code || 'none',
          }),
          ' ',
          { to: `/cases/${dead_letter}`, text: t('employees.open_case', { id: dead_letter }) },
        ],
      },
    }),
  )
  return { section: title, blocks: [{ facts }, ...notes] }
}

/** The latest run of each kind. */
export function latestRunTable(ask: Ask, { latest_runs }: OverviewResult): Block {
  const { t } = ask
  return tableOf(
    latest_runs,
    runColumns(
      ask,
      latest_runs.some(({ hr_source }) => hr_source !== ''),
    ),
    {
      caption: t('overview.latest_runs'),
      empty: t('overview.no_runs'),
      to: ({ id }) => `/runs/${id}`,
    },
  )
}
