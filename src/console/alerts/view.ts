import { html, type SafeHtml } from '@remix-run/html-template'
import type { ChannelReport } from '../../alerts/channel-report.ts'
import { isUrgent, type QuietHours, type RuleReport } from '../../alerts/report.ts'
import type { TestAnswer } from '../../alerts/test-message.ts'
import { actorText } from '../../texts/actor.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { LANGUAGE_NAMES } from '../ui/layout.ts'
import {
  actionForm,
  alert,
  code,
  copyable,
  duration,
  empty,
  foreign,
  head,
  live,
  section,
  since,
  state,
  type Tone,
  table,
  tabs,
  timeText,
  withCode,
} from '../ui/parts.ts'
import { alertCard, muteForm, notTold, plainAgo, rulePath } from './cards.ts'
import type { AlertsResult } from './query.ts'

/** Is anything wrong, and is someone told about it? */
export function alertsBody(ask: Ask, result: AlertsResult, test: TestAnswer | null): SafeHtml {
  const { t } = ask
  const { alerts, channels } = result
  const mine = alerts.filter(isUrgent)
  const others = alerts.filter(each => !isUrgent(each))
  const more = result.firing - alerts.filter(each => each.state === 'firing').length
  return html`${head(t('alerts.title'))}
  ${alertTabs(ask, 'now')}
  ${test === null ? '' : testVerdict(ask, test)}
  ${live(
    ask,
    'alerts',
    ['alerts'],
    html`<div class="stack">
      ${judgementAlert(ask, result)}
      ${noChannelAlert(ask, channels)}
      ${mine.map(each => alertCard(ask, each, { isOnRulePage: false }))}
      ${more > 0 ? html`<p class="soft">${t('alerts.more', { count: more })}</p>` : ''}
      ${
        result.is_judged && result.judged_at
          ? html`<p>${mine.length === 0 ? html`${quietText(ask, others)} ` : ''}<span class="soft">${t(
              'alerts.judged',
              { ago: plainAgo(ask, result.judged_at) },
            )}</span></p>`
          : ''
      }
    </div>
    ${others.length === 0 ? '' : notTold(ask, others)}
    ${section(t('alerts.channels'), channelTable(ask, channels))}
    ${section(t('alerts.heartbeat'), heartbeatText(ask, result))}
    ${section(t('alerts.quiet_hours'), quietHours(ask, result.quiet_hours))}
    ${section(
      t('alerts.rules'),
      html`<p class="soft">${t('alerts.rules.about')}</p>
        <div class="row">${muteForm(ask, result.rules)}</div>
        ${ruleTable(ask, result)}`,
    )}`,
  )}`
}

/**
 * Text for when no alert needs attention: either nothing is wrong, or the remaining alerts are muted or unsubscribed.
 */
function quietText({ t }: Ask, others: AlertsResult['alerts']): SafeHtml {
  const keptBack = others.filter(({ state }) => state === 'firing').length
  return keptBack === 0
    ? state('ok', t('alerts.all_quiet'))
    : state('off', t('alerts.all_kept_back', { count: keptBack }))
}

export function alertTabs({ t }: Ask, current: 'now' | 'history'): SafeHtml {
  return tabs(t('alerts.title'), [
    { href: '/alerts', text: t('alerts.now'), current: current === 'now' },
    { href: '/alerts/history', text: t('alerts.history'), current: current === 'history' },
  ])
}

/** Warning that alerts are not being evaluated: the page shows old data, and no new alert will be raised. */
function judgementAlert(ask: Ask, { judged_at, is_judged }: AlertsResult): SafeHtml {
  const { t } = ask
  if (is_judged) return html``
  return alert(
    'bad',
    judged_at === null
      ? t('alerts.never_judged')
      : t('alerts.not_judged', { time: duration(ask, ask.now.getTime() - judged_at.getTime()) }),
    t('alerts.not_judged.remedy'),
  )
}

/** Example of a first channel, to copy and paste. */
const EXAMPLE = `ALERT_CHANNEL_OPS=https://oapi.dingtalk.com/robot/send?access_token=…
ALERT_CHANNEL_OPS_SECRET=SEC…`

function noChannelAlert({ t }: Ask, channels: readonly ChannelReport[]): SafeHtml {
  if (channels.length > 0) return html``
  return alert(
    'warn',
    t('alerts.no_channel'),
    html`<div class="stack"><p class="todo">${withCode(t('alerts.no_channel.remedy'))}</p>${copyable(t, EXAMPLE)}</div>`,
  )
}

function testVerdict({ t }: Ask, { channel, accepted, answer }: TestAnswer): SafeHtml {
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

function channelTable(ask: Ask, channels: readonly ChannelReport[]): SafeHtml {
  const { t } = ask
  const testButton = ({ name, testable }: ChannelReport) =>
    testable
      ? actionForm(ask, {
          to: `/alerts/channels/${encodeURIComponent(name)}/test`,
          label: t('alerts.test'),
          role: 'operator',
        })
      : html`<small class="soft">${t('alerts.channel.elsewhere')}</small>`
  return table(
    channels,
    [
      { title: t('alerts.channel'), kind: 'main', cell: ({ name }) => name },
      { title: t('alerts.channel.state'), cell: channel => channelState(ask, channel) },
      {
        title: t('alerts.channel.where'),
        kind: 'spare',
        cell: ({ kind, target }) =>
          html`${textOr(ask.language, `alerts.kind.${kind}`, kind)} <small class="soft">${foreign(target)}</small>`,
      },
      {
        title: t('alerts.channel.takes'),
        kind: 'spare',
        cell: ({ least }) => t(`alerts.channel.takes.${least}`),
      },
      {
        title: t('alerts.channel.language'),
        kind: 'spare',
        cell: ({ language }) => LANGUAGE_NAMES[language],
      },
      {
        title: t('alerts.channel.last_sent'),
        kind: 'spare',
        cell: ({ last_sent_at }) =>
          last_sent_at === null ? t('alerts.channel.never') : since(ask, last_sent_at),
      },
      ...(ask.may('operator') ? [{ title: t('alerts.test'), cell: testButton }] : []),
    ],
    { caption: t('alerts.channels'), empty: empty(t('alerts.channels.none')) },
  )
}

function channelState(ask: Ask, channel: ChannelReport): SafeHtml {
  const { t } = ask
  const { failing_since, last_answer, waiting } = channel
  return html`${state(CHANNEL_TONES[channel.state], t(`alerts.channel_state.${channel.state}`))}${
    channel.state === 'failing' && failing_since
      ? html`<br><small>${t('alerts.channel.failing', {
          time: duration(ask, ask.now.getTime() - failing_since.getTime()),
        })}${foreign(last_answer)}</small>`
      : ''
  }${waiting > 0 ? html`<br><small class="soft">${t('alerts.channel.waiting', { count: waiting })}</small>` : ''}`
}

/** Whether an outside monitor would notice that dirsync itself is down. */
function heartbeatText(ask: Ask, { heartbeat }: AlertsResult): SafeHtml {
  const { t } = ask
  const { is_set, run, called_at, answer } = heartbeat
  if (run === null)
    return html`<p class="soft">${t(is_set ? 'alerts.heartbeat.not_yet' : 'alerts.heartbeat.none')}</p>`
  return called_at
    ? html`<p>${t('alerts.heartbeat.called', { ago: plainAgo(ask, called_at), run: String(run) })}</p>`
    : alert('warn', t('alerts.heartbeat.failing', { run: String(run) }), foreign(answer))
}

// Rules

function ruleTable(ask: Ask, { rules, is_judged }: AlertsResult): SafeHtml {
  const { t } = ask
  return table(
    rules,
    [
      { title: t('alerts.rule'), kind: 'main', cell: ({ title }) => title },
      { title: t('alerts.severity'), kind: 'spare', cell: ({ severity }) => t(`severity.${severity}`) },
      { title: t('alerts.when'), kind: 'spare', cell: ({ figure }) => figure },
      {
        title: t('alerts.setting'),
        kind: 'spare',
        cell: ({ settings }) =>
          html`${settings.map(({ name }, i) => html`${i > 0 ? ' ' : ''}${code(name)}`)}`,
      },
      { title: t('alerts.state'), cell: rule => ruleState(ask, rule, is_judged) },
    ],
    { caption: t('alerts.rules'), empty: empty(''), href: ({ rule }) => rulePath(rule) },
  )
}

function ruleState(ask: Ask, { severity, off, firing, mutes }: RuleReport, isJudged: boolean): SafeHtml {
  const { t } = ask
  const parts = [
    ...mutes.map(({ subject, until }) =>
      state('off', t('alerts.rule.muted', { subject: subject ?? 'none', time: timeText(ask, until) })),
    ),
    ...(firing > 0
      ? [state(severity === 'critical' ? 'bad' : 'warn', t('alerts.rule.firing', { count: firing }))]
      : []),
  ]
  if (parts.length > 0) return html`<span class="row">${parts}</span>`
  if (off) return state('off', t('alerts.rule.off'))
  return isJudged ? state('ok', t('alerts.rule.quiet')) : state('off', t('alerts.rule.unknown'))
}

// Quiet hours

function quietHours(ask: Ask, hours: QuietHours | null): SafeHtml {
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
  if (!hours) return html`<p class="soft">${t('alerts.quiet_hours.none')}</p><div class="row">${form}</div>`
  const { starts, ends, time_zone, until, set_by, set_at } = hours
  return html`<p>${t('alerts.quiet_hours.are', { starts, ends, zone: time_zone })}
      ${until ? html`<strong>${t('alerts.quiet_hours.now', { time: timeText(ask, until) })}</strong>` : ''}
      <span class="soft">${t('alerts.quiet_hours.by', { by: actorText(ask, set_by), ago: plainAgo(ask, set_at) })}</span></p>
    <div class="row">${form}${actionForm(ask, {
      to: '/alerts/quiet-hours/clear',
      label: t('alerts.quiet_hours.clear'),
      role: 'operator',
    })}</div>`
}
