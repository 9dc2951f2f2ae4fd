import { html, type SafeHtml } from '@remix-run/html-template'
import { scheduleLine } from '../../doctor/settings.ts'
import { capitalised } from '../../lib/text.ts'
import { actorText } from '../../texts/actor.ts'
import { COLON, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { type Block, joined, type NoticeBlock, type Shown, tableOf, type Words } from '../shown.ts'
import { actionForm, duration, reasonField, type Tone } from '../ui/parts.ts'
import { inPath } from '../ui/paths.ts'
import type { Schedule, SchedulesResult, Tick } from './query.ts'

/** Does everything run on time? Jobs that are late, failed or paused come first. */
export function schedulesShown(ask: Ask, { items: schedules, scheduler_alive }: SchedulesResult): Shown {
  const { t } = ask
  const failing = schedules.filter(
    ({ off, paused_at, ticks }) =>
      !off && paused_at === null && ticks.find(({ finished_at }) => finished_at)?.error,
  )
  const paused = schedules.filter(({ paused_at }) => paused_at !== null)
  const late = schedules.filter(({ overdue }) => overdue)
  const names = (jobs: Schedule[]) =>
    new Intl.ListFormat(ask.language).format(jobs.map(({ job }) => jobName(ask, job)))
  const notices: Block[] = [
    ...noScheduler(ask, scheduler_alive),
    ...(failing.length > 0
      ? [
          {
            notice: 'warn',
            title: t('schedules.failing', { jobs: names(failing) }),
            todo: t('schedules.failing.remedy'),
          } as const,
        ]
      : []),
    ...(scheduler_alive && late.length > 0
      ? [
          {
            notice: 'warn',
            title: t('schedules.late', { jobs: names(late) }),
            todo: t('schedules.late.remedy'),
          } as const,
        ]
      : []),
    ...(paused.length > 0
      ? [{ notice: 'info', title: t('schedules.are_paused', { jobs: names(paused) }) } as const]
      : []),
  ]
  return {
    title: t('schedules.title'),
    topics: ['schedules', 'processes'],
    blocks: [
      ...(notices.length > 0 ? notices : [{ text: { tone: 'ok', text: t('schedules.well') } } as const]),
      jobTable(ask, schedules),
    ],
  }
}

function noScheduler({ t }: Ask, isAlive: boolean): NoticeBlock[] {
  if (isAlive) return []
  return [{ notice: 'bad', title: t('schedules.no_scheduler'), todo: t('schedules.no_scheduler.remedy') }]
}

/** When each job runs, and how it went. */
export function jobTable(ask: Ask, schedules: readonly Schedule[]): Block {
  const { t } = ask
  return tableOf(
    schedules,
    [
      { title: t('schedules.job'), only: 'shell', of: ({ job }) => job },
      { title: t('schedules.job'), kind: 'main', only: 'page', of: ({ job }) => jobName(ask, job) },
      { title: t('schedules.when'), gives: true, of: schedule => whenText(ask, schedule) },
      {
        title: t('schedules.next'),
        of: row =>
          joined(
            [nextTick(ask, row), row.pause_reason && { foreign: row.pause_reason }],
            COLON[ask.language],
          ),
      },
      { title: t('schedules.latest'), of: ({ ticks: [tick] }) => tick && latestTick(ask, tick) },
      { title: t('schedules.ticks'), spare: true, only: 'page', of: ({ ticks }) => marks(ask, ticks) },
      { title: t('schedules.actions'), only: 'page', of: schedule => rowActions(ask, schedule) },
    ],
    {
      caption: t('schedules.title'),
      empty: t('schedules.none'),
      todo: t('schedules.none.remedy'),
      to: ({ job }) => jobPath(job),
    },
  )
}

/** The page of one job, with its ticks and controls. */
export const jobPath = (job: string) => `/schedules?job=${encodeURIComponent(job)}`

/** When the job runs, with the time zone: the scheduler reads the expression in its own zone, not the viewer's. */
function whenText({ t, language }: Ask, { words, time_zone: zone }: Schedule): string {
  return zone === null ? words[language] : t('schedules.when_in_zone', { words: words[language], zone })
}

/** One cron job: its purpose, its controls, and its latest ticks. */
export function jobShown(ask: Ask, schedule: Schedule, schedulerAlive: boolean): Shown {
  const { t } = ask
  const { job, expression, paused_at, pause_reason, pause_effect, run_requested_at } = schedule
  const asked = run_requested_at && [
    { since: run_requested_at },
    t('common.comma'),
    actorText(ask, schedule.run_requested_by ?? ''),
  ]
  return {
    title: jobName(ask, job),
    actions: jobActions(ask, schedule),
    topics: ['schedules', 'processes'],
    blocks: [
      ...noScheduler(ask, schedulerAlive),
      ...(paused_at === null
        ? []
        : [
            {
              notice: pause_effect === 'none' ? 'info' : 'warn',
              title: t('schedules.is_paused', { by: actorText(ask, schedule.paused_by ?? '') }),
              what: { foreign: pause_reason },
              next: pauseWarning(ask, schedule),
            } as const,
          ]),
      {
        facts: [
          [t('schedules.when'), [whenText(ask, schedule), ' (', { code: expression }, ')']],
          [t('schedules.next'), nextTick(ask, schedule)],
          [t('schedules.paused_at'), paused_at && { since: paused_at, exact: true }],
          [t('schedules.requested'), asked],
          [t('schedules.job'), { code: job }],
          [t('schedules.setting'), { code: `SCHEDULE_${job.toUpperCase().replaceAll('-', '_')}` }],
          [t('schedules.pausing'), pause_effect === 'refused' ? t('schedules.pause.refused') : null],
        ],
      },
      { text: t('settings.line') },
      { copy: scheduleLine(job, expression) },
      { section: t('schedules.ticks'), blocks: [tickTable(ask, schedule.ticks)] },
    ],
  }
}

function jobActions(ask: Ask, schedule: Schedule): SafeHtml[] {
  const { t } = ask
  const { job, off, paused_at, pause_effect } = schedule
  if (off && paused_at === null) return []
  const path = `/schedules/${inPath(job)}`
  const run = actionForm(ask, {
    to: `${path}/run`,
    label: t('schedules.run'),
    role: 'operator',
    ...(paused_at === null ? { tone: 'main' } : {}),
  })
  if (paused_at !== null) {
    const resume = { to: `${path}/resume`, label: t('schedules.resume'), tone: 'main' } as const
    return [...(off ? [] : [run]), actionForm(ask, { ...resume, role: 'operator' })]
  }
  if (pause_effect === 'refused') return [run]
  const pause = actionForm(ask, {
    to: `${path}/pause`,
    label: t('schedules.pause'),
    role: 'operator',
    tone: 'danger',
    warning: pauseWarning(ask, schedule),
    fields: [reasonField(t)],
  })
  return [run, pause]
}

function tickTable(ask: Ask, ticks: readonly Tick[]): Block {
  const { t } = ask
  return tableOf(
    ticks,
    [
      { title: t('schedules.due'), of: ({ due_at }) => ({ at: due_at }) },
      { title: t('schedules.outcome'), of: tick => tickState(ask, tick) },
      { title: t('schedules.took'), kind: 'number', of: tick => tookText(ask, tick) },
      { title: t('schedules.led_to'), of: tick => runsOf(ask, tick) },
      {
        title: t('schedules.remark'),
        of: ({ error, skipped, requested_by, missed }) => {
          if (error !== null || skipped !== null) return { foreign: error ?? skipped }
          if (requested_by !== null) return t('schedules.asked_by', { by: actorText(ask, requested_by) })
          return missed ? t('schedules.missed') : null
        },
      },
    ],
    { caption: t('schedules.ticks'), empty: t('schedules.no_ticks') },
  )
}

export function jobName({ language }: Ask, job: string): string {
  return capitalised(textOr(language, `job.${job}`, job))
}

function nextTick(
  { t, now }: Ask,
  { off, paused_at, run_requested_at, overdue, next_due_at }: Schedule,
): Words {
  if (off) return { tone: 'off', text: t('schedules.off') }
  if (run_requested_at !== null) return { tone: 'busy', text: t('schedules.starting') }
  if (paused_at !== null) return { tone: 'off', text: t('schedules.paused') }
  if (overdue) return [{ tone: 'warn', text: t('schedules.overdue') }, ' ', { since: next_due_at }]
  return next_due_at <= now ? t('schedules.due_now') : { since: next_due_at }
}

/** The result of the latest tick, with its error. */
function latestTick(ask: Ask, tick: Tick): Words {
  const error = tick.error === null ? null : { foreign: tick.error }
  return joined([tickState(ask, tick), { soft: { since: tick.claimed_at } }, runsOf(ask, tick), error], ' ')
}

/** Where the tick's work can be followed. */
function runsOf({ t }: Ask, { runs }: Tick): Words {
  const links = runs.map(run => ({ to: `/runs/${run}`, text: t('schedules.run_of', { run: String(run) }) }))
  return joined(links, ' ')
}

const OUTCOMES: Record<ReturnType<typeof outcomeOf>, Tone> = {
  failed: 'bad',
  skipped: 'off',
  running: 'busy',
  done: 'ok',
}

function outcomeOf({ error, skipped, finished_at }: Tick) {
  if (error !== null) return 'failed'
  if (skipped !== null) return 'skipped'
  return finished_at === null ? 'running' : 'done'
}

function tickState({ t }: Ask, tick: Tick): Words {
  const outcome = outcomeOf(tick)
  return { tone: OUTCOMES[outcome], text: t(`schedules.tick.${outcome}`) }
}

function tookText(ask: Ask, { claimed_at, finished_at, skipped }: Tick): string | null {
  if (finished_at === null || skipped !== null) return null
  return duration(ask, finished_at.getTime() - claimed_at.getTime())
}

/** The latest ticks at a glance, the newest on the right, with a text for screen readers. */
function marks(ask: Ask, ticks: readonly Tick[]): Words {
  if (ticks.length === 0) return null
  const failed = ticks.filter(({ error }) => error !== null).length
  const drawn = html`<span class="marks" role="img" aria-label="${ask.t('schedules.marks', {
    count: ticks.length,
    failed,
  })}">${ticks
    .toReversed()
    .map(tick => html`<span class="state ${OUTCOMES[outcomeOf(tick)]}"><i></i></span>`)}</span>`
  return { drawn }
}

function rowActions(ask: Ask, { job, off, paused_at, run_requested_at }: Schedule): Words {
  if (off && paused_at === null) return null
  const path = `/schedules/${inPath(job)}`
  const drawn = html`<span class="row">${
    run_requested_at === null && !off
      ? actionForm(ask, { to: `${path}/run`, label: ask.t('schedules.run'), role: 'operator' })
      : ''
  }${
    paused_at === null
      ? ''
      : actionForm(ask, { to: `${path}/resume`, label: ask.t('schedules.resume'), role: 'operator' })
  }</span>`
  return { drawn }
}

/** What pausing the job means, shown before a person does it. */
export function pauseWarning(
  { t, language }: Ask,
  { job, pause_effect }: Pick<Schedule, 'job' | 'pause_effect'>,
): string {
  if (pause_effect === 'stops') return t('schedules.pause.stops')
  return pause_effect === 'stalls'
    ? textOr(language, `schedules.pause.${job}`, t('schedules.pause.stalls'))
    : t('schedules.pause.none')
}
