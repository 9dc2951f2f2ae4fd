import { html, type SafeHtml } from '@remix-run/html-template'
import type { Alert, AlertsReport, KeptBack, LastTold } from '../../alerts/report.ts'
import { CALM_MINUTES, RULES, type RuleName, type Severity } from '../../alerts/rule.ts'
import { actorText } from '../../texts/actor.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import type { NavEntry } from '../endpoint.ts'
import {
  actionForm,
  alert,
  empty,
  facts,
  foreign,
  reasonField,
  section,
  since,
  state,
  type Tone,
  table,
  time,
  timeText,
  withCode,
} from '../ui/parts.ts'
import { untilFields } from '../until.ts'

/* Alerts as pages show them: in full while action is needed, otherwise in one line. */

type Standing = AlertsReport['alerts'][number]

export const rulePath = (rule: string) => `/alerts/rules/${rule}`

const TONES: Record<Severity, { block: 'info' | 'warn' | 'bad'; state: Tone }> = {
  info: { block: 'info', state: 'off' },
  warning: { block: 'warn', state: 'warn' },
  critical: { block: 'bad', state: 'bad' },
}

export function severityState({ t }: Pick<Ask, 't'>, severity: Severity): SafeHtml {
  return state(TONES[severity].state, t(`severity.${severity}`))
}

/** An alert in full: what is wrong, since when, what to do, and who was told. */
export function alertCard(
  ask: Ask,
  standing: Standing,
  { isOnRulePage }: { isOnRulePage: boolean },
): SafeHtml {
  const { t } = ask
  const { rule, severity, title, what, remedy, kept_back } = standing
  const screen = screenOf(standing)
  return alert(
    TONES[severity].block,
    html`${title} <small class="soft">${t(`severity.${severity}`)}</small>`,
    html`<div class="stack"><p>${withCode(what)}</p>
      <p class="todo">${withCode(remedy)}</p>
      ${facts([
        [t('alerts.since'), html`${since(ask, standing.since)} (${time(ask, standing.since)})`],
        [t('alerts.told'), toldText(ask, standing)],
        [
          t('alerts.in_hand'),
          standing.acknowledged_by !== null && standing.acknowledged_at
            ? html`${t('alerts.in_hand.by', {
                by: actorText(ask, standing.acknowledged_by),
                ago: plainAgo(ask, standing.acknowledged_at),
              })}<br><small class="soft">${foreign(standing.acknowledged_reason)}</small>`
            : null,
        ],
        [
          t('alerts.kept_back'),
          // On the page of a rule, its mute is shown first.
          kept_back && (kept_back.why !== 'mute' || !isOnRulePage) ? keptBackText(ask, kept_back) : null,
        ],
        [
          t('alerts.state'),
          standing.gone_at &&
            t('alerts.seems_over', {
              ago: plainAgo(ask, standing.gone_at),
              minutes: standing.returns > 0 ? CALM_MINUTES : 1,
            }),
        ],
      ])}
      <div class="row">${
        isOnRulePage ? '' : html`<a href="${rulePath(rule)}">${t('alerts.runbook')}</a>`
      }${screen ? html`<a href="${screen.href}">${t('alerts.see', { screen: t(`nav.${screen.nav}`) })}</a>` : ''}${
        standing.state === 'firing' && standing.acknowledged_by === null
          ? acknowledgeForm(ask, standing.id)
          : ''
      }${muteForm(ask, rule, standing.subject)}</div></div>`,
  )
}

function acknowledgeForm(ask: Ask, id: number): SafeHtml {
  return actionForm(ask, {
    to: `/alerts/${id}/acknowledge`,
    label: ask.t('alerts.acknowledge'),
    role: 'operator',
    warning: ask.t('alerts.acknowledge.meaning'),
    fields: [reasonField(ask.t, false)],
  })
}

/** Alerts that are known but not sent to anyone, with the reason. */
export function notTold(ask: Ask, alerts: readonly Standing[]): SafeHtml {
  const { t } = ask
  return section(
    t('alerts.not_told'),
    table(
      alerts,
      [
        { title: t('alerts.what'), kind: 'main', cell: ({ title }) => title },
        { title: t('alerts.severity'), kind: 'spare', cell: ({ severity }) => t(`severity.${severity}`) },
        { title: t('alerts.since'), cell: row => since(ask, row.since) },
        {
          title: t('alerts.why'),
          cell: ({ kept_back }) => (kept_back ? keptBackText(ask, kept_back) : t('alerts.kept_back.pending')),
        },
      ],
      { caption: t('alerts.not_told'), empty: empty(''), href: ({ rule }) => rulePath(rule) },
    ),
  )
}

function keptBackText(ask: Ask, { why, until, rule, by, reason }: KeptBack): SafeHtml | string {
  const { t } = ask
  switch (why) {
    case 'inhibited':
      return t('alerts.kept_back.inhibited', { rule: rule === null ? '' : t(`alert_rule.${rule}`) })
    case 'mute':
      return html`${t('alerts.kept_back.mute', {
        time: until === null ? '' : timeText(ask, until),
        by: actorText(ask, by ?? ''),
      })}<br><small class="soft">${foreign(reason)}</small>`
    case 'quiet_hours':
      return t('alerts.kept_back.quiet_hours', { time: until === null ? '' : timeText(ask, until) })
  }
}

/** Which channels were told, or why none were. */
function toldText(ask: Ask, { told, channels }: Standing): SafeHtml | string {
  const { t } = ask
  const reached = told.filter(({ event }) => event !== 'withheld')
  if (reached.length > 0)
    return html`${reached.map((each, i) => html`${i > 0 ? ' · ' : ''}${toldOf(ask, each)}`)}`
  return t(channels.length === 0 ? 'alerts.told.nobody' : 'alerts.told.not_yet')
}

function toldOf(ask: Ask, { channel, event, at, message_state }: LastTold): SafeHtml | string {
  const { t, language } = ask
  if (message_state !== null && message_state !== 'sent') {
    const what = textOr(language, `message_state.${message_state}`, message_state)
    return state('warn', t('alerts.told.not_sent', { channel, what }))
  }
  const what = textOr(language, `alert_event.${event}`, event)
  return t('alerts.told.one', { channel, what, ago: plainAgo(ask, at) })
}

/** How long ago, within a sentence. */
export function plainAgo(ask: Ask, date: Date): string {
  return String(since(ask, date)).replace(/<[^>]*>/g, '')
}

/** The screen where the subject of an alert can be seen and fixed; null if the console has none. */
function screenOf({
  rule,
  subject,
}: Pick<Alert, 'rule' | 'subject'>): { href: string; nav: NavEntry } | null {
  switch (rule) {
    case 'held_run':
      return { href: `/runs/${encodeURIComponent(subject)}/plan`, nav: 'runs' }
    case 'cases_jump':
      return { href: `/cases?categories=${encodeURIComponent(subject)}`, nav: 'cases' }
    default: {
      const nav: NavEntry | undefined = RULES[rule].screen
      return nav ? { href: `/${nav}`, nav } : null
    }
  }
}

/**
 * Form to mute a rule, or its alerts about one subject, on all channels for a time.
 * @param rule rules to choose from, if the form is not for a single rule
 */
export function muteForm(
  ask: Ask,
  rule: RuleName | readonly { rule: RuleName; title: string }[],
  subject?: string,
): SafeHtml {
  const { t } = ask
  return actionForm(ask, {
    to: '/alerts/mute',
    label: t(subject === undefined ? 'alerts.mute_rule' : 'alerts.mute'),
    role: 'operator',
    warning: t('alerts.mute.meaning'),
    fields: [
      typeof rule === 'string'
        ? { name: 'rule', type: 'hidden', value: rule }
        : {
            name: 'rule',
            label: t('alerts.rule'),
            choices: rule.map(each => ({ value: each.rule, text: each.title })),
          },
      ...(subject ? [{ name: 'subject', type: 'hidden' as const, value: subject }] : []),
      ...untilFields(ask),
      reasonField(t),
    ],
  })
}
