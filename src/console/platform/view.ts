import { html, type SafeHtml } from '@remix-run/html-template'
import { actorText } from '../../texts/actor.ts'
import { failureTexts } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { haltAlert } from '../halts/view.ts'
import type { History } from '../overview/history.ts'
import {
  actionForm,
  alert,
  bar,
  code,
  curve,
  duration,
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
  type Tone,
  table,
  tiles,
  time,
  withCode,
} from '../ui/parts.ts'
import { untilFields } from '../until.ts'
import { type Hindrance, hindrancesOf, type PlatformResult, totalsOf, versionOf } from './query.ts'
import type { TokenState } from './read.ts'

/** Are we calling as fast as permitted, and does the platform accept it? */
export function platformBody(
  ask: Ask,
  result: PlatformResult,
  history: History,
  token: TokenState | null,
): SafeHtml {
  const { t } = ask
  const { pace } = result
  return html`${head(t('platform.title'), { actions: [lowerRate(ask, result)] })}
  ${token === null ? '' : tokenVerdict(ask, token)}
  ${live(
    ask,
    'pace',
    ['platform', 'halts', 'processes'],
    html`<div class="stack">${verdict(ask, result)}</div>
    ${tiles([
      {
        value: figure(ask, pace.calls_per_second, 1),
        name: t('platform.calls_per_second'),
        note: html`${permittedText(ask, pace)}${
          pace.utilisation === null ? '' : bar(pace.utilisation, pace.cap ? 'warn' : 'ok')
        }`,
      },
      {
        value: pace.utilisation === null ? '–' : percent(ask, round(pace.utilisation)),
        name: t('platform.utilisation'),
        note: t('platform.last_minute', { count: pace.calls_last_minute }),
      },
      {
        value: figure(ask, pace.waiting),
        name: t('platform.waiting'),
        note: pace.concurrency === null ? '' : t('platform.at_a_time', { count: pace.concurrency }),
      },
      refusalTile(ask, result),
    ])}
    <div class="columns">
      ${section(t('platform.rate'), rateFacts(ask, result))}
      ${section(t('platform.token'), html`${tokenFacts(ask, result)}${askToken(ask)}`)}
    </div>
    ${section(t('platform.operations'), operations(ask, result), { aside: t('platform.last_hour') })}`,
  )}
  ${curves(ask, history)}`
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

function verdict(ask: Ask, result: PlatformResult): SafeHtml | SafeHtml[] {
  const hindrances = hindrancesOf(result)
  if (hindrances.length > 0) return hindrances.map(hindrance => hindranceAlert(ask, result, hindrance))
  const { t } = ask
  const { pace, last_hour } = result
  const { calls, too_fast } = totalsOf(last_hour)
  const answer: 'learning' | 'idle' | 'full' | 'slower' =
    pace.permitted_per_second === null
      ? 'learning'
      : pace.calls_per_second === 0 && pace.waiting === 0
        ? 'idle'
        : (pace.utilisation ?? 0) >= 0.9
          ? 'full'
          : 'slower'
  const tone: Tone = answer === 'idle' ? 'ok' : answer === 'learning' ? 'wait' : 'busy'
  return html`<p>${state(tone, t(`platform.is.${answer}`))}</p>${
    calls > 0
      ? html`<p class="soft">${t(too_fast === 0 ? 'platform.accepts_all' : 'platform.accepts', { calls, too_fast })}</p>`
      : ''
  }`
}

function hindranceAlert(ask: Ask, { pace, token_creations }: PlatformResult, found: Hindrance): SafeHtml {
  const { t } = ask
  switch (found.what) {
    case 'halt':
      return haltAlert(ask, found.halt)
    case 'no_worker':
      return alert('bad', t('overview.no_worker'), t('overview.no_worker.remedy'))
    case 'holdoff':
      return alert(
        'warn',
        found.holdoff.gate === 'platform'
          ? t('platform.holdoff')
          : t('platform.holdoff_of', { gate: gateText(ask, found.holdoff.gate) }),
        html`${found.holdoff.pause_reason ?? ''} ${t('platform.goes_on')} ${since(ask, found.holdoff.paused_until)}`,
      )
    case 'fuse':
      return alert(
        token_creations.last_hour >= token_creations.permitted ? 'bad' : 'warn',
        t('platform.fuse', { count: token_creations.last_hour, permitted: token_creations.permitted }),
        t('platform.fuse.remedy'),
      )
    case 'cap':
      return pace.cap
        ? alert(
            'warn',
            t('platform.cap', {
              rate: rateText(ask, pace.cap.per_second),
              by: actorText(ask, pace.cap.set_by),
            }),
            html`<p>${pace.cap.reason}</p>
              <p>${t('platform.cap_until')} ${time(ask, pace.cap.until)} (${since(ask, pace.cap.until)})</p>
              ${actionForm(ask, {
                to: '/platform/rate/clear',
                label: t('platform.restore'),
                role: 'operator',
              })}`,
          )
        : html``
    case 'refused':
      return alert(
        'warn',
        t('platform.refused_at', {
          set: rateText(ask, found.set),
          permitted: rateText(ask, found.permitted),
        }),
        t('platform.refused_at.remedy'),
      )
  }
}

/** The name of the single operation that a gate limits: `operation:employee/get`. */
function gateText(ask: Ask, gate: string): string {
  return operationText(ask, gate.replace(/^operation:/, ''))
}

// Figures

function permittedText(ask: Ask, pace: PlatformResult['pace']): string {
  const { t } = ask
  if (pace.workers === 0) return t('platform.no_worker')
  return pace.permitted_per_second === null
    ? t('platform.not_learnt')
    : t('platform.permitted', { rate: rateText(ask, pace.permitted_per_second) })
}

function refusalTile(ask: Ask, { last_hour }: PlatformResult) {
  const { calls, too_fast } = totalsOf(last_hour)
  return {
    value: figure(ask, too_fast),
    name: ask.t('platform.too_fast_hour'),
    note: ask.t('platform.of_calls', { count: calls }),
  }
}

function rateFacts(ask: Ask, { pace }: PlatformResult): SafeHtml {
  const { t } = ask
  const isCapped = pace.cap !== null && pace.permitted_per_second === pace.cap.per_second
  const perSecond = (rate: number | null) =>
    rate === null ? null : t('platform.per_second', { rate: rateText(ask, rate) })
  return facts([
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
    [t('platform.ceiling'), perSecond(pace.ceiling_per_second) ?? t('platform.no_ceiling')],
    // A cap above the permitted rate lowers nothing at the moment, but is listed.
    [t('platform.cap_fact'), pace.cap && !isCapped ? perSecond(pace.cap.per_second) : null],
  ])
}

function tokenFacts(ask: Ask, { token, token_creations }: PlatformResult): SafeHtml {
  const { t } = ask
  const { last_hour, permitted } = token_creations
  const share = last_hour / permitted
  return facts([
    [t('platform.token_age'), token ? since(ask, token.created_at) : t('platform.no_token')],
    [t('platform.token_renews'), token && since(ask, token.renews_at)],
    [
      t('platform.token_expires'),
      token && html`${since(ask, token.expires_at)} (${time(ask, token.expires_at)})`,
    ],
    [
      t('platform.token_creations'),
      html`${t('platform.creations', { count: last_hour, permitted })}${bar(share, share >= 0.8 ? 'bad' : 'ok')}`,
    ],
  ])
}

function operations(ask: Ask, { last_hour }: PlatformResult): SafeHtml {
  const { t } = ask
  const hot = (count: number, tone: Tone) => (count === 0 ? figure(ask, 0) : state(tone, figure(ask, count)))
  return table(
    last_hour,
    [
      {
        title: t('platform.operation'),
        kind: 'main',
        cell: ({ operation }) =>
          operationText(ask, operation) === operation
            ? code(operation)
            : html`${operationText(ask, operation)} <small class="soft">${code(operation)}</small>`,
      },
      { title: t('platform.calls'), kind: 'number', cell: ({ calls }) => figure(ask, calls) },
      { title: t('platform.failed'), kind: 'number', cell: ({ failed }) => hot(failed, 'bad') },
      { title: t('platform.too_fast'), kind: 'number', cell: ({ too_fast }) => hot(too_fast, 'warn') },
      {
        title: t('platform.latency'),
        kind: 'number',
        cell: ({ mean_duration_ms }) => latency(ask, mean_duration_ms),
      },
      {
        title: t('platform.mean_wait'),
        kind: 'number',
        cell: ({ mean_wait_ms }) => latency(ask, mean_wait_ms),
      },
      {
        title: t('platform.longest_wait'),
        kind: 'number',
        cell: ({ longest_wait_ms }) => latency(ask, longest_wait_ms),
      },
    ],
    { caption: t('platform.operations'), empty: empty(t('platform.no_calls')) },
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

function curves(ask: Ask, { x, calls }: History): SafeHtml {
  const { t } = ask
  const sum = (of: 'per_minute' | 'refused_per_minute') =>
    x.map((_, i) => calls.reduce((total, operation) => total + (operation[of][i] ?? 0), 0))
  const perMinute = sum('per_minute')
  const refused = sum('refused_per_minute')
  return section(
    t('platform.history'),
    html`<div class="columns">
      ${curve(ask, {
        title: t('platform.calls_per_minute'),
        x,
        series: calls.slice(0, MOST_CURVES).map(({ operation, per_minute }) => ({
          name: operationText(ask, operation),
          values: per_minute,
        })),
        unit: 'per_second',
        summary: t('platform.most', { most: Math.ceil(Math.max(0, ...perMinute)) }),
      })}
      ${curve(ask, {
        title: t('platform.refused_per_minute'),
        x,
        series: [{ name: t('platform.too_fast'), values: refused }],
        unit: 'per_second',
        summary: t('platform.most', { most: Math.ceil(Math.max(0, ...refused)) }),
      })}
    </div>`,
    { aside: t('overview.last_24h') },
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

function tokenVerdict(ask: Ask, token: TokenState): SafeHtml {
  const { t } = ask
  if (token.accepted)
    return html`<p class="notice" role="status">${t('platform.token_accepted', {
      time: duration(ask, (token.expires_in ?? 0) * 1000),
    })}</p>`
  const { category, message, remedy } = failureTexts(ask.language, {
    category: token.category ?? '',
    message: token.meaning,
    remedy: token.remedy ?? [],
  })
  return alert(
    token.accepted === false ? 'bad' : 'warn',
    html`${t(token.accepted === false ? 'platform.token_refused' : 'platform.token_unknown')}${category ? html` (${category})` : ''}`,
    html`<p>${withCode(message)}${token.platform_code === null ? '' : html` (${code(token.platform_code)})`}</p>${
      remedy === '' ? '' : html`<p class="todo">${withCode(remedy)}</p>`
    }`,
  )
}
