import type { ChannelReport } from '../alerts/channel-report.ts'
import {
  type AlertsReport,
  isUrgent,
  type RuleReport,
  readAlertHistory,
  readAlerts,
} from '../alerts/report.ts'
import type { RuleName, Severity } from '../alerts/rule.ts'
import { readDeployment } from '../sync/deployment.ts'
import { actorText } from '../texts/actor.ts'
import { type CommandContext, openContext } from './context.ts'
import { named, say, shellLanguage } from './language.ts'
import {
  duration,
  paintedBy,
  print,
  printArrow,
  printAside,
  printFrame,
  printJson,
  printTable,
  printText,
  printTitle,
  shortTime,
} from './output.ts'

/* The lists of `dirsync alerts`. */

export interface Options {
  json?: true
}

/** The current alerts, in the language of the shell. */
export function report({ pool, config }: CommandContext, options: Options): Promise<AlertsReport> {
  return readAlerts(pool, config, { language: languageFor(options) })
}

/** Output for programs is English. */
function languageFor({ json }: Options) {
  return json ? 'en' : shellLanguage()
}

export async function list(options: Options): Promise<void> {
  await using context = await openContext()
  const found = await report(context, options)
  const { judged_at, is_judged, firing, quiet_hours } = found
  if (options.json) return printJson({ judged_at, is_judged, firing, alerts: found.alerts, quiet_hours })
  if (is_judged && judged_at) {
    const time = duration(Date.now() - judged_at.getTime())
    print(
      firing === 0 ? say('alerts.shell.none', { time }) : say('alerts.shell.firing', { count: firing, time }),
    )
  }
  if (found.alerts.length > 0) printFrame((await readDeployment(context.pool))?.name ?? null)
  const urgent = found.alerts.filter(isUrgent)
  if (urgent.length > 0) printUrgent(urgent)
  const others = found.alerts.filter(alert => !isUrgent(alert))
  if (others.length > 0) printOthers(others)
  warnIfNotEvaluated(found, context.program)
  warnWithoutChannels(found.channels)
}

type Standing = AlertsReport['alerts'][number]

function printUrgent(alerts: readonly Standing[]): void {
  print('')
  printTable(alerts, [
    { title: say('alerts.shell.id'), of: ({ id }) => id, align: 'right' },
    {
      title: say('alerts.severity'),
      of: ({ severity }) => named('severity', severity),
      paint: paintedBy(({ severity }) => PAINTS[severity]),
    },
    { title: say('alerts.rule'), of: ({ rule }) => rule },
    { title: say('alerts.what'), of: ({ title }) => title, gives: true },
    { title: say('alerts.since'), of: ({ since }) => shortTime(since) },
    { title: say('alerts.told'), of: toldText, gives: true },
  ])
  for (const { id, acknowledged_by: by, acknowledged_reason: reason } of alerts)
    if (by !== null)
      printText(
        say('alerts.shell.in_hand', {
          id: String(id),
          by: actorText({ t: say }, by),
          reason: reason ?? 'none',
        }),
      )
  printArrow(alerts[0]?.remedy ?? '')
}

/** The state whose colour a severity takes. */
const PAINTS: Record<Severity, string> = { critical: 'failed', warning: 'held', info: '' }

/** Which channels were told, or why none were. */
function toldText({ kept_back, told }: Standing): string {
  const reached = told.filter(({ event }) => event !== 'withheld').map(({ channel }) => channel)
  if (reached.length > 0) return reached.join(say('shell.comma'))
  return kept_back
    ? say('alerts.shell.quiet', { time: shortTime(kept_back.until) })
    : say('alerts.shell.nobody')
}

/** Prints alerts that are known but sent to nobody. */
function printOthers(alerts: readonly Standing[]): void {
  printTitle(say('alerts.not_told'))
  printTable(alerts, [
    { title: say('alerts.rule'), of: ({ rule }) => rule },
    { title: say('alerts.what'), of: ({ title }) => title, gives: true },
    { title: say('alerts.why'), of: whyText },
  ])
}

function whyText({ kept_back }: Standing): string {
  if (kept_back?.why === 'mute') return say('alerts.shell.muted', { time: shortTime(kept_back.until) })
  return kept_back
    ? say('alerts.shell.inhibited', { rule: named('alert_rule', kept_back.rule) })
    : say('alerts.shell.pending')
}

function warnIfNotEvaluated({ judged_at, is_judged }: AlertsReport, program: string): void {
  if (is_judged) return
  const what =
    judged_at === null
      ? say('alerts.never_judged')
      : say('alerts.not_judged', { time: duration(Date.now() - judged_at.getTime()) })
  printAside(`${what} ${say('alerts.shell.start', { command: `${program} start` })}`)
}

/** Example of a first channel. */
export const EXAMPLE = 'ALERT_CHANNEL_OPS=https://oapi.dingtalk.com/robot/send?access_token=…'

function warnWithoutChannels(channels: readonly ChannelReport[]): void {
  if (channels.length > 0) return
  printAside(`${say('alerts.no_channel')} ${say('alerts.shell.set_one', { example: EXAMPLE })}`)
}

export async function channelList(options: Options): Promise<void> {
  await using context = await openContext()
  const { channels } = await report(context, options)
  if (options.json) return printJson(channels)
  if (channels.length === 0)
    return print(say('alerts.no_channel'), say('alerts.shell.set_one', { example: EXAMPLE }))
  printFrame((await readDeployment(context.pool))?.name ?? null)
  printTable(channels, [
    { title: say('alerts.channel'), of: ({ name }) => name },
    { title: say('alerts.shell.kind'), of: ({ kind }) => kind },
    { title: say('alerts.channel.where'), of: ({ target }) => target, gives: true },
    { title: say('alerts.shell.least'), of: ({ least }) => named('severity', least) },
    { title: say('alerts.channel.language'), of: ({ language }) => language, spare: true },
    { title: say('alerts.channel.last_sent'), of: ({ last_sent_at }) => shortTime(last_sent_at) },
    {
      title: say('alerts.channel.state'),
      of: channelState,
      gives: true,
      paint: paintedBy(({ state }) => (state === 'failing' ? 'failed' : state === 'fine' ? 'ok' : '')),
    },
  ])
  // Printed in full, since it says what is wrong with the settings.
  for (const { name, state, last_answer } of channels)
    if (state === 'failing' && last_answer !== null)
      printText(say('shell.channel_answer', { name, answer: last_answer }))
}

function channelState({ state, waiting }: ChannelReport): string {
  return [
    say(`alerts.channel_state.${state}`),
    waiting > 0 ? say('alerts.channel.waiting', { count: waiting }) : null,
  ]
    .filter(part => part !== null)
    .join(say('shell.comma'))
}

export async function rules(options: Options): Promise<void> {
  await using context = await openContext()
  const { rules } = await report(context, options)
  if (options.json) return printJson(rules)
  printTable(rules, [
    { title: say('alerts.rule'), of: ({ rule }) => rule },
    { title: say('alerts.severity'), of: ({ severity }) => named('severity', severity) },
    { title: say('alerts.when'), of: ({ figure }) => figure, gives: true },
    {
      title: say('alerts.setting'),
      of: ({ settings }) => settings.map(({ name }) => name).join(' '),
      spare: true,
    },
    { title: say('alerts.state'), of: ruleState },
  ])
}

function ruleState({ firing, mutes }: RuleReport): string | null {
  const parts = [
    ...mutes.map(({ subject, until }) =>
      say('alerts.rule.muted', { subject: subject ?? 'none', time: shortTime(until) }),
    ),
    firing > 0 ? say('alerts.rule.firing', { count: firing }) : null,
  ].filter(part => part !== null)
  return parts.length > 0 ? parts.join(say('shell.comma')) : null
}

export async function history(
  options: Options & { since?: Date; rule?: RuleName; limit: number },
): Promise<void> {
  await using context = await openContext()
  const { since, rule, limit } = options
  const { alerts } = await readAlertHistory(context.pool, languageFor(options), { since, rule }, { limit })
  if (options.json) return printJson({ alerts })
  if (alerts.length === 0)
    return print(say(since || rule ? 'alerts.history.no_match' : 'alerts.history.none'))
  printFrame((await readDeployment(context.pool))?.name ?? null)
  printTable(alerts, [
    { title: say('alerts.severity'), of: ({ severity }) => named('severity', severity) },
    { title: say('alerts.rule'), of: ({ rule }) => rule, spare: true },
    { title: say('alerts.what'), of: ({ title }) => title, gives: true },
    { title: say('alerts.since'), of: row => shortTime(row.since) },
    {
      title: say('alerts.lasted'),
      of: row => row.ended_at && duration(row.ended_at.getTime() - row.since.getTime()),
      align: 'right',
    },
  ])
}
