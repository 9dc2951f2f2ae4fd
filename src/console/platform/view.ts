import { html, type SafeHtml } from '@remix-run/html-template'
import type { z } from 'zod'
import { actorText } from '../../texts/actor.ts'
import { failureTexts } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { haltNotice } from '../halts/view.ts'
import type { History } from '../overview/history.ts'
import { notKept } from '../overview/query.ts'
import { rangeFields } from '../range.ts'
import { type Block, type NoticeBlock, type Shown, type TileBlock, tableOf, type Words } from '../shown.ts'
import {
  actionForm,
  bar,
  curves,
  duration,
  figure,
  filters,
  percent,
  reasonField,
  section,
  type Tone,
} from '../ui/parts.ts'
import { untilFields } from '../until.ts'
import {
  type Hindrance,
  hindrancesOf,
  type PlatformResult,
  type PlatformSpan,
  totalsOf,
  versionOf,
} from './query.ts'
import type { TokenState } from './token-state.ts'

type Pace = Omit<PlatformResult['pace'], 'at_concurrency'>

/** Are we calling as fast as permitted, and does the platform accept it? */
export function platformShown(ask: Ask, result: PlatformResult): Shown {
  const { t } = ask
  const { pace, last_hour } = result
  const { calls, rate_limited } = totalsOf(last_hour)
  return {
    title: t('platform.title'),
    actions: [lowerRate(ask, result)],
    topics: ['platform', 'halts', 'processes'],
    blocks: [
      ...verdict(ask, result),
      {
        tiles: [
          ...paceTiles(ask, pace),
          {
            value: rate_limited,
            name: t('platform.rate_limited_hour'),
            note: t('platform.of_calls', { count: calls }),
          },
        ],
      },
      {
        columns: [
          [{ section: t('platform.rate'), blocks: [rateFacts(ask, pace)] }],
          [{ section: t('platform.token'), blocks: [tokenFacts(ask, result), { drawn: askToken(ask) }] }],
        ],
      },
      {
        section: t('platform.operations'),
        aside: t('platform.last_hour'),
        blocks: [operationTable(ask, last_hour)],
      },
    ],
  }
}

/** How fast calls are, how much of what is permitted that is, and what waits. */
export function paceTiles(ask: Ask, pace: Pace): TileBlock['tiles'] {
  const { t } = ask
  return [
    {
      value: figure(ask, pace.calls_per_second, 1),
      name: t('platform.calls_per_second'),
      note: [
        permittedText(ask, pace),
        pace.utilisation === null ? null : { drawn: bar(pace.utilisation, pace.cap ? 'warn' : 'ok') },
      ],
    },
    {
      value: pace.utilisation === null ? '–' : percent(ask, round(pace.utilisation)),
      name: t('platform.utilisation'),
      note: t('platform.last_minute', { count: pace.calls_last_minute }),
    },
    {
      value: pace.waiting,
      name: t('platform.waiting'),
      note: pace.concurrency === null ? null : t('platform.at_a_time', { count: pace.concurrency }),
    },
  ]
}

/** Shares are given in whole percent: a rate over ten seconds is no more precise. */
function round(share: number): number {
  return Math.round(share * 100) / 100
}

/** Calls per second, with the digits that matter. */
function rateText(ask: Ask, rate: number): string {
  return figure(ask, rate, rate < 10 ? 2 : 1)
}

function operationText({ language }: Ask, operation: string): string {
  return textOr(language, `call.${operation}`, operation)
}

// The status

function verdict(ask: Ask, result: PlatformResult): Block[] {
  const hindrances = hindrancesOf(result)
  if (hindrances.length > 0) return hindrances.flatMap(found => hindranceNotice(ask, result, found))
  const { t } = ask
  const { pace, last_hour } = result
  const { calls, rate_limited } = totalsOf(last_hour)
  const answer: 'idle' | 'learning' | 'full' | 'at_concurrency' | 'slower' =
    pace.calls_per_second === 0 && pace.waiting === 0
      ? 'idle'
      : pace.permitted_per_second === null
        ? 'learning'
        : (pace.utilisation ?? 0) >= 0.9
          ? 'full'
          : pace.at_concurrency
            ? 'at_concurrency'
            : 'slower'
  const tone: Tone = answer === 'idle' ? 'ok' : answer === 'learning' ? 'wait' : 'busy'
  const accepts = t(rate_limited === 0 ? 'platform.accepts_all' : 'platform.accepts', { calls, rate_limited })
  return [
    { text: { tone, text: t(`platform.is.${answer}`) } },
    ...(calls > 0 ? [{ text: { soft: accepts } }] : []),
  ]
}

function hindranceNotice(
  ask: Ask,
  { pace, token_creations }: PlatformResult,
  found: Hindrance,
): NoticeBlock[] {
  const { t } = ask
  switch (found.what) {
    case 'halt':
      return [haltNotice(ask, found.halt)]
    case 'no_worker':
    case 'no_scheduler':
      return [{ notice: 'bad', title: t(`overview.${found.what}`), todo: t(`overview.${found.what}.remedy`) }]
    case 'holdoff':
      return [holdoffNotice(ask, found.holdoff)]
    case 'fuse':
      return [
        {
          notice: token_creations.last_hour >= token_creations.permitted ? 'bad' : 'warn',
          title: t('platform.fuse', {
            count: token_creations.last_hour,
            permitted: token_creations.permitted,
          }),
          todo: t('platform.fuse.remedy'),
        },
      ]
    case 'cap':
      return capNotice(ask, pace)
    case 'refused':
      return [
        {
          notice: 'warn',
          title: t('platform.refused_at', {
            set: rateText(ask, found.set),
            permitted: rateText(ask, found.permitted),
          }),
          todo: t('platform.refused_at.remedy'),
        },
      ]
  }
}

/** The platform asked for a break, of all calls or of those of one operation. */
export function holdoffNotice(ask: Ask, holdoff: PlatformResult['holdoffs'][number]): NoticeBlock {
  const { t } = ask
  const { gate, pause_reason, paused_until } = holdoff
  return {
    notice: 'warn',
    title:
      gate === 'platform' ? t('platform.holdoff') : t('platform.holdoff_of', { gate: gateText(ask, gate) }),
    what: pause_reason && { foreign: pause_reason },
    next: [t('platform.goes_on'), ' ', { since: paused_until }],
  }
}

/** A lower rate that a person has set for a time. */
export function capNotice(
  ask: Ask,
  { cap, permitted_per_second: permitted }: Pick<Pace, 'cap' | 'permitted_per_second'>,
): NoticeBlock[] {
  if (cap === null) return []
  const { t } = ask
  return [
    {
      notice: 'warn',
      title: t('platform.cap', { rate: rateText(ask, cap.per_second), by: actorText(ask, cap.set_by) }),
      what: { foreign: cap.reason },
      todo: permitted !== null && permitted < cap.per_second ? t('platform.cap_idle') : null,
      facts: [[t('platform.cap_until'), { since: cap.until, exact: true }]],
      actions: [
        actionForm(ask, { to: '/platform/rate/clear', label: t('platform.restore'), role: 'operator' }),
      ],
    },
  ]
}

/** The name of the single operation that a gate limits: `operation:employee/get`. */
function gateText(ask: Ask, gate: string): string {
  return operationText(ask, gate.replace(/^operation:/, ''))
}

// Figures

function permittedText(ask: Ask, pace: Pace): string {
  const { t } = ask
  if (pace.workers === 0) return t('platform.no_worker')
  return pace.permitted_per_second === null
    ? t('platform.not_learnt')
    : t('platform.permitted', { rate: rateText(ask, pace.permitted_per_second) })
}

/** The rate of calls, and where it comes from. */
export function rateFacts(ask: Ask, pace: Pace): Block {
  const { t } = ask
  const isCapped = pace.cap !== null && pace.permitted_per_second === pace.cap.per_second
  const perSecond = (rate: number | null) =>
    rate === null ? null : t('platform.per_second', { rate: rateText(ask, rate) })
  return {
    facts: [
      [t('platform.permitted_now'), perSecond(pace.permitted_per_second) ?? permittedText(ask, pace)],
      [
        t('platform.set'),
        pace.workers === 0 ? null : (perSecond(pace.set_per_second) ?? t('platform.set_auto')),
      ],
      [
        t('platform.learnt'),
        pace.workers === 0
          ? null
          : t(
              isCapped
                ? 'platform.cap_fact'
                : pace.learnt
                  ? pace.set_per_second === null
                    ? 'platform.learnt_rate'
                    : 'platform.lowered_itself'
                  : 'platform.as_set',
            ),
      ],
      [
        t('platform.ceiling'),
        pace.workers === 0 ? null : (perSecond(pace.ceiling_per_second) ?? t('platform.no_ceiling')),
      ],
      // A cap above the permitted rate lowers nothing at the moment, but is listed.
      [t('platform.cap_fact'), pace.cap && !isCapped ? perSecond(pace.cap.per_second) : null],
    ],
  }
}

function tokenFacts(ask: Ask, { token, token_creations }: PlatformResult): Block {
  const { t } = ask
  const { last_hour, permitted } = token_creations
  const share = last_hour / permitted
  return {
    facts: [
      [t('platform.token_age'), token ? { since: token.created_at } : t('platform.no_token')],
      [t('platform.token_renews'), token && { since: token.renews_at }],
      [t('platform.token_expires'), token && { since: token.expires_at, exact: true }],
      [
        t('platform.token_creations'),
        [
          t('platform.creations', { count: last_hour, permitted }),
          { drawn: bar(share, share >= 0.8 ? 'bad' : 'ok') },
        ],
      ],
    ],
  }
}

/** Calls by operation, the most called first. */
export function operationTable(ask: Ask, operations: PlatformResult['last_hour']): Block {
  const { t } = ask
  const hot = (count: number, tone: Tone): Words => (count === 0 ? 0 : { tone, text: count })
  return tableOf(
    operations,
    [
      {
        title: t('platform.operation'),
        kind: 'main',
        of: ({ operation }) =>
          operationText(ask, operation) === operation
            ? { code: operation }
            : [operationText(ask, operation), ' ', { soft: { code: operation } }],
      },
      { title: t('platform.calls'), kind: 'number', of: ({ calls }) => calls },
      { title: t('platform.failed'), kind: 'number', of: ({ failed }) => hot(failed, 'bad') },
      {
        title: t('platform.rate_limited'),
        kind: 'number',
        of: ({ rate_limited }) => hot(rate_limited, 'warn'),
      },
      {
        title: t('platform.latency'),
        kind: 'number',
        spare: true,
        of: row => latency(ask, row.mean_duration_ms),
      },
      { title: t('platform.mean_wait'), kind: 'number', of: row => latency(ask, row.mean_wait_ms) },
      { title: t('platform.longest_wait'), kind: 'number', of: row => latency(ask, row.longest_wait_ms) },
    ],
    { caption: t('platform.operations'), empty: t('platform.no_calls') },
  )
}

/** A latency, with milliseconds. */
function latency(ask: Ask, ms: number): string {
  if (ms >= 1000) return duration(ask, ms)
  return new Intl.NumberFormat(ask.language, {
    style: 'unit',
    unit: 'millisecond',
    unitDisplay: 'short',
    maximumFractionDigits: 0,
  }).format(ms)
}

/** The last 24 hours, or what is between two moments. */
export function platformCurves(ask: Ask, input: z.output<typeof PlatformSpan>, history: History): SafeHtml {
  const { t } = ask
  const { step, x, halted, calls } = history
  const isWhole = input.from === undefined && input.to === undefined
  const sum = (of: 'per_minute' | 'refused_per_minute') =>
    x.map((_, i) => calls.reduce((total, operation) => total + (operation[of][i] ?? 0), 0))
  const perMinute = sum('per_minute')
  const refused = sum('refused_per_minute')
  return section(
    t('platform.history'),
    html`${filters(ask, '/platform', rangeFields(ask, t('platform.history'), input))}${curves(
      ask,
      { page: '/platform#history', step, halted, given: input },
      [
        {
          title: t('platform.calls_per_minute'),
          x,
          series: calls.slice(0, MOST_CURVES).map(({ operation, per_minute }) => ({
            name: operationText(ask, operation),
            values: per_minute,
          })),
          unit: 'per_second',
          summary: mostAMinute(ask, history, perMinute),
        },
        {
          title: t('platform.refused_per_minute'),
          x,
          series: [{ name: t('platform.rate_limited'), values: refused }],
          unit: 'per_second',
          summary: mostAMinute(ask, history, refused),
        },
      ],
    )}`,
    { id: 'history', ...(isWhole ? { aside: t('overview.last_24h') } : {}) },
  )
}

/** The highest rate of a curve. Each of its points is the average over a step, in seconds. */
export function mostAMinute(
  ask: Ask,
  history: Pick<History, 'x' | 'step'>,
  perMinute: readonly number[],
): string {
  const most = Math.ceil(Math.max(0, ...perMinute))
  return (
    notKept(ask, history) ?? ask.t('overview.most_calls', { most, span: duration(ask, history.step * 1000) })
  )
}

/** More curves than this cannot be told apart. */
const MOST_CURVES = 4

// Actions

function lowerRate(ask: Ask, { pace }: PlatformResult): SafeHtml {
  const { t } = ask
  return actionForm(ask, {
    to: '/platform/rate',
    label: t('platform.lower'),
    role: 'operator',
    warning: t('platform.lower.meaning'),
    fields: [
      {
        name: 'per_second',
        label: t('platform.lower.rate'),
        type: 'number',
        min: 0.01,
        max: 100_000,
        step: 'any',
        required: true,
        ...(pace.permitted_per_second === null
          ? {}
          : {
              hint: t('platform.lower.rate_hint', { rate: rateText(ask, pace.permitted_per_second) }),
            }),
      },
      ...untilFields(ask),
      reasonField(t),
      { name: 'version', type: 'hidden', value: versionOf(pace.cap) },
    ],
  })
}

function askToken(ask: Ask): SafeHtml {
  if (!ask.may('operator')) return html``
  const { t } = ask
  return html`<div class="row">${actionForm(ask, {
    to: '/platform/token',
    label: t('platform.ask_token'),
    role: 'operator',
  })}<span class="soft">${t('platform.ask_token.meaning')}</span></div>`
}

/** What the platform said about the access token. */
export function tokenVerdict(ask: Ask, token: TokenState): Block {
  const { t } = ask
  if (token.accepted) {
    const time = duration(ask, (token.expires_in ?? 0) * 1000)
    return { drawn: html`<p class="notice" role="status">${t('platform.token_accepted', { time })}</p>` }
  }
  const { category, message, remedy } = failureTexts(ask.language, {
    category: token.category ?? '',
    message: token.meaning,
    remedy: token.remedy ?? [],
  })
  const title = t(token.accepted === false ? 'platform.token_refused' : 'platform.token_unknown')
  return {
    notice: token.accepted === false ? 'bad' : 'warn',
    title: category ? `${title} (${category})` : title,
    what: token.platform_code === null ? message : [message, ' (', { code: token.platform_code }, ')'],
    todo: remedy,
  }
}
