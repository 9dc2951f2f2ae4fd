import { html, type SafeHtml } from '@remix-run/html-template'
import { actorText } from '../../texts/actor.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import {
  actionForm,
  alert,
  code,
  duration,
  empty,
  facts,
  head,
  live,
  reasonField,
  section,
  since,
  state,
  type Tone,
  table,
  time,
} from '../ui/parts.ts'
import type { SchedulesResult } from './query.ts'
import type { Schedule, Tick } from './read.ts'

/** Does everything run on time? Jobs that are late, failed or paused come first. */
export function schedulesBody(ask: Ask, { schedules, scheduler_alive }: SchedulesResult): SafeHtml {
  const { t } = ask
  const failing = schedules.filter(({ ticks }) => ticks.find(({ finished_at }) => finished_at)?.error)
  const paused = schedules.filter(({ paused_at }) => paused_at !== null)
  const late = schedules.filter(({ overdue }) => overdue)
  const names = (jobs: Schedule[]) =>
    new Intl.ListFormat(ask.language).format(jobs.map(({ job }) => jobName(ask, job)))
  return html`${head(t('schedules.title'))}
  ${live(
    ask,
    'jobs',
    ['schedules', 'processes'],
    html`<div class="stack">
      ${scheduler_alive ? '' : alert('bad', t('schedules.no_scheduler'), t('schedules.no_scheduler.remedy'))}
      ${failing.length > 0 ? alert('warn', t('schedules.failing', { jobs: names(failing) }), t('schedules.failing.remedy')) : ''}
      ${scheduler_alive && late.length > 0 ? alert('warn', t('schedules.late', { jobs: names(late) }), t('schedules.late.remedy')) : ''}
      ${paused.length > 0 ? alert('info', t('schedules.are_paused', { jobs: names(paused) })) : ''}
      ${
        scheduler_alive && failing.length + late.length + paused.length === 0
          ? html`<p>${state('ok', t('schedules.well'))}</p>`
          : ''
      }
    </div>
    ${table(
      schedules,
      [
        { title: t('schedules.job'), kind: 'main', cell: ({ job }) => jobName(ask, job) },
        { title: t('schedules.when'), kind: 'spare', cell: schedule => whenText(ask, schedule) },
        { title: t('schedules.next'), cell: schedule => nextTick(ask, schedule) },
        { title: t('schedules.latest'), cell: ({ ticks }) => latestTick(ask, ticks) },
        { title: t('schedules.ticks'), kind: 'spare', cell: ({ ticks }) => marks(ask, ticks) },
        { title: t('schedules.actions'), kind: 'spare', cell: schedule => rowActions(ask, schedule) },
      ],
      {
        caption: t('schedules.title'),
        empty: empty(t('schedules.none'), t('schedules.none.remedy')),
        href: ({ job }) => `/schedules?job=${encodeURIComponent(job)}`,
      },
    )}`,
  )}`
}

/** When the job runs, with the time zone: the scheduler reads the expression in its own zone, not the viewer's. */
function whenText({ t, language }: Ask, { words, time_zone: zone }: Schedule): string {
  return zone === null ? words[language] : t('schedules.when_in_zone', { words: words[language], zone })
}

/** One cron job: its purpose, its controls, and its latest ticks. */
export function jobBody(ask: Ask, schedule: Schedule, schedulerAlive: boolean): SafeHtml {
  const { t } = ask
  const { job, expression, paused_at, pause_reason, pause_effect } = schedule
  const path = `/schedules/${encodeURIComponent(job)}`
  return html`${head(jobName(ask, job), {
    actions: [
      actionForm(ask, {
        to: `${path}/run`,
        label: t('schedules.run'),
        role: 'operator',
        ...(paused_at === null ? { tone: 'main' } : {}),
      }),
      paused_at !== null
        ? actionForm(ask, {
            to: `${path}/resume`,
            label: t('schedules.resume'),
            role: 'operator',
            tone: 'main',
          })
        : pause_effect === 'refused'
          ? ''
          : actionForm(ask, {
              to: `${path}/pause`,
              label: t('schedules.pause'),
              role: 'operator',
              tone: 'danger',
              warning: pauseWarning(ask, schedule),
              fields: [reasonField(t)],
            }),
    ],
  })}
  <p><a href="/schedules">${t('schedules.back')}</a></p>
  ${live(
    ask,
    'job',
    ['schedules', 'processes'],
    html`<div class="stack">
      ${schedulerAlive ? '' : alert('bad', t('schedules.no_scheduler'), t('schedules.no_scheduler.remedy'))}
      ${
        paused_at === null
          ? ''
          : alert(
              pause_effect === 'stalls' ? 'warn' : 'info',
              t('schedules.is_paused', { by: actorText(ask, schedule.paused_by ?? '') }),
              html`<p>${pause_reason ?? ''}</p><p class="soft">${pauseWarning(ask, schedule)}</p>`,
            )
      }
    </div>
    ${facts([
      [t('schedules.when'), html`${whenText(ask, schedule)} (${code(expression)})`],
      [t('schedules.next'), nextTick(ask, schedule)],
      [t('schedules.paused_at'), paused_at && html`${since(ask, paused_at)} (${time(ask, paused_at)})`],
      [
        t('schedules.requested'),
        schedule.run_requested_at &&
          html`${since(ask, schedule.run_requested_at)}, ${actorText(ask, schedule.run_requested_by ?? '')}`,
      ],
      [t('schedules.job'), code(job)],
      [t('schedules.setting'), code(`SCHEDULE_${job.toUpperCase().replaceAll('-', '_')}`)],
      [t('schedules.pausing'), pause_effect === 'refused' ? t('schedules.pause.refused') : null],
    ])}
    ${section(
      t('schedules.ticks'),
      table(
        schedule.ticks,
        [
          { title: t('schedules.due'), cell: ({ due_at }) => time(ask, due_at) },
          { title: t('schedules.outcome'), cell: tick => tickState(ask, tick) },
          { title: t('schedules.took'), kind: 'number', cell: tick => tookText(ask, tick) },
          {
            title: t('schedules.remark'),
            cell: ({ error, skipped, requested_by, missed }) =>
              error ??
              skipped ??
              (requested_by !== null
                ? t('schedules.asked_by', { by: actorText(ask, requested_by) })
                : missed
                  ? t('schedules.missed')
                  : ''),
          },
        ],
        { caption: t('schedules.ticks'), empty: empty(t('schedules.no_ticks')) },
      ),
    )}`,
  )}`
}

function jobName({ language }: Ask, job: string): string {
  const name = textOr(language, `job.${job}`, job)
  return name.charAt(0).toLocaleUpperCase(language) + name.slice(1)
}

function nextTick(
  ask: Ask,
  { paused_at, run_requested_at, overdue, next_due_at }: Schedule,
): SafeHtml | string {
  const { t } = ask
  if (run_requested_at !== null) return state('busy', t('schedules.starting'))
  if (paused_at !== null) return state('off', t('schedules.paused'))
  return overdue
    ? html`${state('warn', t('schedules.overdue'))} ${since(ask, next_due_at)}`
    : next_due_at <= ask.now
      ? t('schedules.due_now')
      : since(ask, next_due_at)
}

/** The result of the latest tick, with its error below. */
function latestTick(ask: Ask, [tick]: readonly Tick[]): SafeHtml | null {
  if (!tick) return null
  return html`${tickState(ask, tick)} <span class="soft">${since(ask, tick.claimed_at)}</span>${
    tick.error === null ? '' : html`<br><small>${tick.error}</small>`
  }`
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

function tickState(ask: Ask, tick: Tick): SafeHtml {
  const outcome = outcomeOf(tick)
  return state(OUTCOMES[outcome], ask.t(`schedules.tick.${outcome}`))
}

function tookText(ask: Ask, { claimed_at, finished_at, skipped }: Tick): string | null {
  if (finished_at === null || skipped !== null) return null
  return duration(ask, finished_at.getTime() - claimed_at.getTime())
}

/** The latest ticks at a glance, the newest on the right, with a text for screen readers. */
function marks(ask: Ask, ticks: readonly Tick[]): SafeHtml | null {
  if (ticks.length === 0) return null
  const failed = ticks.filter(({ error }) => error !== null).length
  return html`<span class="marks" role="img" aria-label="${ask.t('schedules.marks', {
    count: ticks.length,
    failed,
  })}">${ticks
    .toReversed()
    .map(tick => html`<span class="state ${OUTCOMES[outcomeOf(tick)]}"><i></i></span>`)}</span>`
}

function rowActions(ask: Ask, { job, paused_at, run_requested_at }: Schedule): SafeHtml {
  const path = `/schedules/${encodeURIComponent(job)}`
  return html`<span class="row">${
    run_requested_at === null
      ? actionForm(ask, { to: `${path}/run`, label: ask.t('schedules.run'), role: 'operator' })
      : ''
  }${
    paused_at === null
      ? ''
      : actionForm(ask, { to: `${path}/resume`, label: ask.t('schedules.resume'), role: 'operator' })
  }</span>`
}

/** What pausing the job means, shown before a person does it. */
function pauseWarning({ t, language }: Ask, { job, pause_effect }: Schedule): string {
  return pause_effect === 'stalls'
    ? textOr(language, `schedules.pause.${job}`, t('schedules.pause.stalls'))
    : t('schedules.pause.none')
}
