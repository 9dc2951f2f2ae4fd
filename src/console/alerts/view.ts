import { html, type SafeHtml } from '@remix-run/html-template'
import { getsAlerts } from '../../alerts/channel.ts'
import type { ChannelReport } from '../../alerts/channel-report.ts'
import { CHANNEL_PREFIX } from '../../alerts/channel-settings.ts'
import type { TestAnswer } from '../../alerts/courier.ts'
import { type AlertsReport, isUrgent, type QuietHours, type RuleReport } from '../../alerts/report.ts'
import type { DescribedSetting } from '../../doctor/settings.ts'
import { actorText } from '../../texts/actor.ts'
import { inLanguage } from '../../texts/failures.ts'
import { COLON, textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { type Block, joined, type Shown, tableOf, term, type Words } from '../shown.ts'
import { LANGUAGE_NAMES } from '../ui/layout.ts'
import {
  actionForm,
  alert,
  duration,
  folded,
  foreign,
  sinceText,
  type Tone,
  tabs,
  timeText,
} from '../ui/parts.ts'
import { inPath } from '../ui/paths.ts'
import { drawBlocks } from '../ui/shown.ts'
import { alertCard, muteForm, notTold, rulePath } from './cards.ts'

/** Is anything wrong, and is someone told about it? */
export function alertsShown(ask: Ask, result: AlertsReport): Shown {
  const { t } = ask
  const now = nowShown(ask, result)
  return {
    ...now,
    topics: ['alerts'],
    blocks: [
      { drawn: alertTabs(ask, 'now') },
      ...now.blocks,
      { section: t('alerts.channels'), blocks: [channelTable(ask, result.channels)] },
      { section: t('alerts.heartbeat'), blocks: [heartbeat(ask, result)] },
      {
        section: t('alerts.quiet_hours'),
        blocks: [...quietShown(ask, result).blocks, { drawn: quietForms(ask, result.quiet_hours) }],
      },
      {
        section: t('alerts.rules'),
        blocks: [
          { text: { soft: t('alerts.rules.about') } },
          { drawn: html`<div class="row">${muteForm(ask, result.rules)}</div>` },
          ...rulesByNeed(ask, result),
        ],
      },
    ],
  }
}

/** What is wrong now. */
export function nowShown(ask: Ask, result: AlertsReport): Shown {
  const { t } = ask
  const { alerts, firing, is_checked, checked_at } = result
  const urgent = alerts.filter(isUrgent)
  const others = alerts.filter(each => !isUrgent(each))
  const more = firing - alerts.filter(each => each.state === 'firing').length
  const checked = checked_at && { soft: t('alerts.checked', { ago: sinceText(ask, checked_at) }) }
  return {
    title: t('alerts.title'),
    aside: firing > 0 ? t('alerts.firing', { count: firing }) : null,
    blocks: [
      ...(is_checked
        ? [{ text: joined([urgent.length === 0 ? quietWords(ask, others) : null, checked], ' ') }]
        : []),
      ...judgement(ask, result),
      ...noChannel(ask, result),
      ...urgent.map(each => alertCard(ask, each, { isOnRulePage: false })),
      ...(more > 0 ? [{ text: { soft: t('alerts.more', { count: more }) } }] : []),
      ...(others.length > 0 ? [notTold(ask, others)] : []),
      { commands: t('alerts.act'), lines: urgent.slice(0, 1).flatMap(commandsOf) },
    ],
  }
}

/** What can be done about an alert, as it is typed. */
function commandsOf({ id, rule, acknowledged_by }: AlertsReport['alerts'][number]): string[] {
  return [
    ...(acknowledged_by === null ? [`alerts acknowledge ${id} --reason "…"`] : []),
    `alerts mute ${rule} --for 4h --reason "…"`,
  ]
}

/**
 * Text for when no alert needs attention: either nothing is wrong, or the remaining alerts are muted or unsubscribed.
 */
function quietWords({ t }: Ask, others: AlertsReport['alerts']): Words {
  const count = others.filter(({ state }) => state === 'firing').length
  return count === 0
    ? { tone: 'ok', text: t('alerts.all_quiet') }
    : { tone: 'off', text: t('alerts.all_kept_back', { count }) }
}

export function alertTabs({ t }: Ask, current: 'now' | 'history'): SafeHtml {
  return tabs(t('alerts.title'), [
    { href: '/alerts', text: t('alerts.now'), current: current === 'now' },
    { href: '/alerts/history', text: t('alerts.history'), current: current === 'history' },
  ])
}

/** Warning that alerts are not being evaluated: what is shown is old, and no new alert will be raised. */
function judgement(ask: Ask, { checked_at, is_checked }: AlertsReport): Block[] {
  const { t } = ask
  if (is_checked) return []
  const title =
    checked_at === null
      ? t('alerts.never_checked')
      : t('alerts.not_checked', { time: duration(ask, ask.now.getTime() - checked_at.getTime()) })
  return [{ notice: 'bad', title, todo: t('alerts.not_checked.remedy') }]
}

/** Example of a first channel, to copy and paste. */
export const EXAMPLE = `ALERT_CHANNEL_OPS=https://oapi.dingtalk.com/robot/send?access_token=…
ALERT_CHANNEL_OPS_SECRET=SEC…`

function noChannel({ t }: Ask, { channels }: AlertsReport): Block[] {
  if (channels.some(getsAlerts)) return []
  return [
    { notice: 'warn', title: t('alerts.no_channel'), todo: t('alerts.no_channel.remedy') },
    { copy: EXAMPLE },
  ]
}

/** What the server of a channel answered to a test message. */
export function testVerdict({ t, language }: Ask, { channel, accepted, ...test }: TestAnswer): SafeHtml {
  const answer = inLanguage(language, test.answer)
  return accepted
    ? html`<p class="notice" role="status">${t('alerts.test.sent', { channel })} ${t('alerts.test.answer', { answer })}</p>`
    : alert('bad', t('alerts.test.failed', { channel }), foreign(answer))
}

// Channels

const CHANNEL_TONES: Record<ChannelReport['state'], Tone> = {
  fine: 'ok',
  unused: 'wait',
  failing: 'bad',
  new: 'wait',
}

/**
 * Where alerts go.
 * @param settings all settings of this process
 */
export function channelsShown(ask: Ask, result: AlertsReport, settings: readonly DescribedSetting[]): Shown {
  const lines = settings
    .filter(({ name, isSet }) => isSet && name.startsWith(CHANNEL_PREFIX))
    .map(({ name, secret, line, file }) =>
      file !== null ? `${name}_FILE=${file}` : secret ? `${name}=…` : line,
    )
  return {
    title: ask.t('alerts.channels'),
    blocks: [
      ...noChannel(ask, result),
      ...(result.channels.length === 0
        ? []
        : [
            channelTable(ask, result.channels),
            ...(lines.length === 0 ? [] : [{ text: ask.t('settings.lines') }, { copy: lines.join('\n') }]),
            // In full, since it says what is wrong with the settings.
            ...result.channels
              .filter(({ state }) => state === 'failing')
              .map(
                ({ name, last_answer }): Block => ({
                  text: [{ code: name }, COLON[ask.language], { foreign: last_answer }],
                }),
              ),
            heartbeat(ask, result),
          ]),
    ],
  }
}

function channelTable(ask: Ask, channels: readonly ChannelReport[]): Block {
  const { t, language } = ask
  return tableOf(
    channels,
    [
      { title: t('alerts.channel'), kind: 'main', of: ({ name }) => name },
      { title: t('alerts.channel.state'), of: channel => channelState(ask, channel) },
      {
        title: t('alerts.channel.where'),
        spare: true,
        of: ({ kind, target }) => [textOr(language, `alerts.kind.${kind}`, kind), ' ', { foreign: target }],
      },
      {
        title: t('alerts.channel.last_sent'),
        spare: true,
        of: ({ last_sent_at: at }) => (at === null ? t('alerts.channel.never') : { since: at }),
      },
      {
        title: t('alerts.channel.takes'),
        spare: true,
        of: ({ least, events }) =>
          events
            ? t('alerts.channel.takes.events', { names: events.join(', ') })
            : t(`alerts.channel.takes.${least}`),
      },
      {
        title: t('alerts.channel.language'),
        spare: true,
        of: channel => LANGUAGE_NAMES[channel.language],
      },
      ...(ask.may('operator')
        ? [
            {
              title: t('alerts.test'),
              only: 'page' as const,
              of: (channel: ChannelReport) => testForm(ask, channel),
            },
          ]
        : []),
    ],
    { caption: t('alerts.channels'), empty: t('alerts.channels.none') },
  )
}

function testForm(ask: Ask, { name, testable }: ChannelReport): Words {
  if (!testable) return { soft: ask.t('alerts.channel.elsewhere') }
  const to = `/alerts/channels/${inPath(name)}/test`
  return { drawn: actionForm(ask, { to, label: ask.t('alerts.test'), role: 'operator' }) }
}

function channelState(ask: Ask, { state, failing_since, last_answer, waiting }: ChannelReport): Words {
  const { t } = ask
  const time = failing_since && duration(ask, ask.now.getTime() - failing_since.getTime())
  return [
    { tone: CHANNEL_TONES[state], text: t(`alerts.channel_state.${state}`) },
    state === 'failing' && time
      ? { soft: [' · ', t('alerts.channel.failing', { time }), { foreign: last_answer }] }
      : null,
    waiting > 0 ? [' · ', t('alerts.channel.waiting', { count: waiting })] : null,
  ]
}

/** Whether an outside monitor would notice that dirsync itself is down. */
function heartbeat(ask: Ask, { heartbeat: { is_set, run, called_at, answer } }: AlertsReport): Block {
  const { t } = ask
  if (run === null)
    return { text: { soft: t(is_set ? 'alerts.heartbeat.not_yet' : 'alerts.heartbeat.none') } }
  if (called_at === null && answer === null)
    return { text: { soft: t('alerts.heartbeat.calling', { run: String(run) }) } }
  return called_at
    ? { text: t('alerts.heartbeat.called', { ago: sinceText(ask, called_at), run: String(run) }) }
    : {
        notice: 'warn',
        title: t('alerts.heartbeat.failing', { run: String(run) }),
        what: { foreign: answer },
      }
}

// Rules

/** What raises an alert, and what is muted. */
export function rulesShown(ask: Ask, { rules, is_checked }: AlertsReport): Shown {
  return { title: ask.t('alerts.rules'), blocks: [ruleTable(ask, rules, is_checked)] }
}

/** The rules that fire, are muted or off; the others are folded away below. */
function rulesByNeed(ask: Ask, { rules, is_checked }: AlertsReport): Block[] {
  const isQuiet = ({ off, firing, mutes }: RuleReport) => firing === 0 && mutes.length === 0 && !off
  const quiet = rules.filter(isQuiet)
  const others = rules.filter(rule => !isQuiet(rule))
  const summary = ask.t(is_checked ? 'alerts.rules.quiet' : 'alerts.rules.unknown', { count: quiet.length })
  return [
    ...(others.length > 0 ? [ruleTable(ask, others, is_checked)] : []),
    ...(quiet.length > 0
      ? [{ drawn: folded('quiet-rules', summary, drawBlocks(ask, [ruleTable(ask, quiet, is_checked)])) }]
      : []),
  ]
}

function ruleTable(ask: Ask, rules: readonly RuleReport[], isChecked: boolean): Block {
  const { t } = ask
  return tableOf(
    rules,
    [
      { title: t('alerts.rule'), only: 'shell', of: ({ rule }) => rule },
      { title: t('alerts.rule'), kind: 'main', only: 'page', of: ({ title }) => title },
      { title: t('alerts.severity'), of: ({ severity }) => term('severity', severity) },
      { title: t('alerts.when'), gives: true, of: ({ figure }) => figure },
      { title: t('alerts.setting'), spare: true, of: settingsOf },
      { title: t('alerts.state'), of: rule => ruleState(ask, rule, isChecked) },
    ],
    { caption: t('alerts.rules'), to: ({ rule }) => rulePath(rule) },
  )
}

export function settingsOf({ settings }: RuleReport): Words {
  return joined(
    settings.map(({ name }) => ({ code: name })),
    ' ',
  )
}

function ruleState(ask: Ask, { severity, off, firing, mutes }: RuleReport, isChecked: boolean): Words {
  const { t } = ask
  const parts: Words[] = [
    ...(firing > 0
      ? [
          {
            tone: severity === 'critical' ? 'bad' : 'warn',
            text: t('alerts.rule.firing', { count: firing }),
          } as const,
        ]
      : []),
    ...mutes.map(
      ({ subject, until }) =>
        ({
          tone: 'off',
          text: t('alerts.rule.muted', { subject: subject ?? 'none', time: timeText(ask, until) }),
        }) as const,
    ),
  ]
  if (parts.length > 0) return joined(parts, ' · ')
  if (off) return { tone: 'off', text: t('alerts.rule.off') }
  return isChecked
    ? { tone: 'ok', text: t('alerts.rule.quiet') }
    : { tone: 'off', text: t('alerts.rule.unknown') }
}

// Quiet hours

/** When only critical alerts are sent. */
export function quietShown(ask: Ask, { quiet_hours: hours }: Pick<AlertsReport, 'quiet_hours'>): Shown {
  const { t } = ask
  const title = t('alerts.quiet_hours')
  if (!hours) return { title, blocks: [{ text: { soft: t('alerts.quiet_hours.none') } }] }
  const { starts, ends, time_zone, until, set_by, set_at } = hours
  return {
    title,
    blocks: [
      { text: t('alerts.quiet_hours.are', { starts, ends, zone: time_zone }) },
      ...(until ? [{ text: [t('alerts.quiet_hours.now'), ' ', { at: until }] }] : []),
      {
        text: {
          soft: t('alerts.quiet_hours.by', { by: actorText(ask, set_by), ago: sinceText(ask, set_at) }),
        },
      },
    ],
  }
}

function quietForms(ask: Ask, hours: QuietHours | null): SafeHtml {
  const { t } = ask
  const form = actionForm(ask, {
    to: '/alerts/quiet-hours',
    label: t(hours ? 'alerts.quiet_hours.change' : 'alerts.quiet_hours.set'),
    role: 'operator',
    fields: [
      {
        name: 'starts',
        label: t('alerts.quiet_hours.starts'),
        type: 'time',
        value: hours?.starts ?? '22:00',
        required: true,
      },
      {
        name: 'ends',
        label: t('alerts.quiet_hours.ends'),
        type: 'time',
        value: hours?.ends ?? '07:00',
        required: true,
        hint: t('alerts.quiet_hours.ends_hint'),
      },
      {
        name: 'time_zone',
        label: t('alerts.quiet_hours.zone'),
        value: hours?.time_zone ?? ask.zone,
        required: true,
        maxlength: 60,
      },
    ],
  })
  const clear = hours
    ? actionForm(ask, {
        to: '/alerts/quiet-hours/clear',
        label: t('alerts.quiet_hours.clear'),
        role: 'operator',
      })
    : ''
  return html`<div class="row">${form}${clear}</div>`
}
