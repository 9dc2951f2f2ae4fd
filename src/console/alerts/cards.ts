import { html, type SafeHtml } from '@remix-run/html-template'
import type { Alert, AlertsReport, KeptBack, LastTold } from '../../alerts/report.ts'
import { CALM_MINUTES, RULES, type RuleName, type Severity } from '../../alerts/rule.ts'
import { actorText } from '../../texts/actor.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import type { NavEntry } from '../endpoint.ts'
import { type Block, joined, tableOf, term, type Words } from '../shown.ts'
import { actionForm, reasonField, sinceText, type Tone, timeText } from '../ui/parts.ts'
import { untilFields } from '../until.ts'

/* Alerts as people see them: in full while action is needed, otherwise in one line. */

type CurrentAlert = AlertsReport['alerts'][number]

export const rulePath = (rule: string) => `/alerts/rules/${rule}`

const TONES: Record<Severity, { notice: 'info' | 'warn' | 'bad'; tone: Tone }> = {
  info: { notice: 'info', tone: 'off' },
  warning: { notice: 'warn', tone: 'warn' },
  critical: { notice: 'bad', tone: 'bad' },
}

export function severityOf({ severity }: { severity: Severity }): Words {
  return { tone: TONES[severity].tone, text: term('severity', severity) }
}

/** An alert in full: what is wrong, since when, what to do, and who was told. */
export function alertCard(ask: Ask, alert: CurrentAlert, { isOnRulePage }: { isOnRulePage: boolean }): Block {
  const { t } = ask
  const { id, rule, severity, title, remedy, kept_back, acknowledged_at, acknowledged_by } = alert
  return {
    notice: TONES[severity].notice,
    title: [title, { soft: [' · ', term('severity', severity)] }],
    what: whatWords(alert),
    todo: remedy,
    facts: [
      [t('alerts.number'), String(id)],
      [t('alerts.rule'), { code: rule }],
      [t('alerts.since'), { since: alert.since, exact: true }],
      [t('alerts.told'), toldWords(ask, alert)],
      [
        t('alerts.in_hand'),
        acknowledged_by !== null && acknowledged_at
          ? withReason(
              t('alerts.in_hand.by', {
                by: actorText(ask, acknowledged_by),
                ago: sinceText(ask, acknowledged_at),
              }),
              alert.acknowledged_reason,
            )
          : null,
      ],
      [
        t('alerts.kept_back'),
        // On the page of a rule, its mute is shown first.
        kept_back && (kept_back.why !== 'mute' || !isOnRulePage) ? keptBackWords(ask, kept_back) : null,
      ],
      [
        t('alerts.state'),
        alert.gone_at &&
          t('alerts.seems_over', {
            ago: sinceText(ask, alert.gone_at),
            minutes: alert.returns > 0 ? CALM_MINUTES : 1,
          }),
      ],
    ],
    actions: cardActions(ask, alert, isOnRulePage),
  }
}

/** What is wrong, with the code of the platform. */
export function whatWords({ what, facts }: Pick<Alert, 'what' | 'facts'>): Words {
  const { platform_code: code } = facts
  return typeof code === 'number' ? [what, ' (', { code }, ')'] : what
}

/** What can be done about an alert, and where more can be seen. */
function cardActions(ask: Ask, alert: CurrentAlert, isOnRulePage: boolean): SafeHtml[] {
  const { t } = ask
  const { id, rule, subject, state, acknowledged_by } = alert
  const screen = screenOf(alert)
  const acknowledge = () =>
    actionForm(ask, {
      to: `/alerts/acknowledge/${id}`,
      label: t('alerts.acknowledge'),
      role: 'operator',
      warning: t('alerts.acknowledge.meaning'),
      fields: [reasonField(t, false)],
    })
  return [
    ...(isOnRulePage ? [] : [html`<a href="${rulePath(rule)}">${t('alerts.runbook')}</a>`]),
    ...(screen
      ? [html`<a href="${screen.href}">${t('alerts.see', { screen: t(`nav.${screen.nav}`) })}</a>`]
      : []),
    ...(state === 'firing' && acknowledged_by === null ? [acknowledge()] : []),
    muteForm(ask, rule, subject),
  ]
}

/** Alerts that are known but not sent to anyone, with the reason. */
export function notTold(ask: Ask, alerts: readonly CurrentAlert[]): Block {
  const { t } = ask
  return {
    section: t('alerts.not_told'),
    blocks: [
      tableOf(
        alerts,
        [
          { title: t('alerts.rule'), only: 'shell', of: ({ rule }) => rule },
          { title: t('alerts.what'), kind: 'main', gives: true, of: ({ title }) => title },
          { title: t('alerts.severity'), spare: true, of: ({ severity }) => term('severity', severity) },
          { title: t('alerts.since'), of: ({ since }) => ({ since }) },
          {
            title: t('alerts.why'),
            gives: true,
            of: ({ kept_back }) =>
              kept_back ? keptBackWords(ask, kept_back) : t('alerts.kept_back.pending'),
          },
        ],
        { caption: t('alerts.not_told'), to: ({ rule }) => rulePath(rule) },
      ),
    ],
  }
}

function keptBackWords(ask: Ask, { why, until, rule, by, reason }: KeptBack): Words {
  const { t } = ask
  const time = until === null ? '' : timeText(ask, until)
  switch (why) {
    case 'inhibited':
      return t('alerts.kept_back.inhibited', { rule: rule === null ? '' : t(`alert_rule.${rule}`) })
    case 'mute':
      return withReason(t('alerts.kept_back.mute', { time, by: actorText(ask, by ?? '') }), reason)
    case 'quiet_hours':
      return t('alerts.kept_back.quiet_hours', { time })
  }
}

/** A decision, and why a person made it. */
export function withReason(decision: string, reason: string | null): Words {
  return reason === null ? decision : [decision, { soft: [' · ', { foreign: reason }] }]
}

/** Which channels were told, or why none were. */
function toldWords(ask: Ask, { told, channels }: CurrentAlert): Words {
  const reached = told.filter(({ event }) => event !== 'withheld')
  if (reached.length === 0) return ask.t(channels.length === 0 ? 'alerts.told.nobody' : 'alerts.told.not_yet')
  return joined(
    reached.map(each => toldOf(ask, each)),
    ' · ',
  )
}

function toldOf(ask: Ask, { channel, event, at, message_state }: LastTold): Words {
  const { t, language } = ask
  if (message_state !== null && message_state !== 'sent') {
    const what = textOr(language, `message_state.${message_state}`, message_state)
    return { tone: 'warn', text: t('alerts.told.not_sent', { channel, what }) }
  }
  const what = textOr(language, `alert_event.${event}`, event)
  return t('alerts.told.one', { channel, what, ago: sinceText(ask, at) })
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
