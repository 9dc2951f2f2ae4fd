import type { Command } from 'commander'
import { sendTest, type TestAnswer } from '../alerts/courier.ts'
import { noteTaken } from '../alerts/outbox.ts'
import { AlertsReport } from '../alerts/report.ts'
import { RULE_NAMES, type RuleName } from '../alerts/rule.ts'
import { environment, isEmbedded, loadAlerts } from '../config.ts'
import { alerts } from '../console/alerts/routes.ts'
import { channelsShown, EXAMPLE, nowShown, quietShown, rulesShown } from '../console/alerts/view.ts'
import type { Ask } from '../console/ask.ts'
import { describeSettings } from '../doctor/settings.ts'
import { ownZone } from '../lib/time-text.ts'
import { inEnglish, message } from '../texts/message.ts'
import { futureOf, limitOf, numberOf, oneOf, pastOf, periodOf, reasonOf } from './arguments.ts'
import { openContext, openStores } from './context.ts'
import { act, see, seeList } from './definition.ts'
import { FailedError, UsageError } from './failure.ts'
import { said, say, speak } from './language.ts'
import { colours, examples, print, printJson, printText } from './output.ts'

const ruleOf = oneOf('rule', RULE_NAMES)

/** `dirsync alerts`: current alerts, who is told of them, and what is muted. */
export function alertsCommand(program: Command): void {
  const command = program
    .command('alerts')
    .description('see what is wrong and who is told; test channels, mute rules, set quiet hours')
    .addHelpText(
      'after',
      `
Channels are settings: ALERT_CHANNEL_OPS holds the address of a group robot, a
mail server or a webhook. docs/alerts.md says how to get each; docs/runbook.md
says what to do about each alert.

Examples:
  dirsync alerts
  dirsync alerts test
  dirsync alerts mute held_run --for 4h --reason "the department moves today"
  dirsync alerts quiet 22:00-07:00 --time-zone Asia/Shanghai`,
    )

  command
    .command('list', { isDefault: true })
    .description('list what is wrong now (the default)')
    // Anything after `alerts` that is not a command ends up here.
    .allowExcessArguments()
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync alerts', 'dirsync alerts list --json'))
    .action((options: Options, { args: [stray] }: Command) => {
      if (stray !== undefined)
        throw new UsageError(
          message('said.no_such_command', {
            text: JSON.stringify(stray),
            names: command.commands.map(each => each.name()),
          }),
        )
      return part(nowShown, options)
    })

  command
    .command('channels')
    .description('list where alerts go, and how each channel fares')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync alerts channels'))
    .action((options: Options) => part(channelsShown, { ...options, part: 'channels' }))

  command
    .command('rules')
    .description('list what raises an alert, with figures and mutes')
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync alerts rules'))
    .action((options: Options) => part(rulesShown, { ...options, part: 'rules' }))

  command
    .command('history')
    .description('list alerts that are over, the latest first')
    .option('--since <time>', 'ended since a time (2030-01-31), or 12h, 7d, 4w ago', pastOf('--since'))
    .option('--rule <rule>', 'only those of this rule', ruleOf)
    .option('--limit <n>', 'how many to list', limitOf, 50)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync alerts history --since 7d', 'dirsync alerts history --rule halt --limit 5'),
    )
    .action(history)

  command
    .command('test')
    .description('send a message to each channel, and say what its server answered')
    .option('--channel <name>', 'to this channel alone')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Nothing else has to run, not even the database.

Examples:
  dirsync alerts test
  dirsync alerts test --channel ops`,
    )
    .action(test)

  command
    .command('acknowledge')
    .description(
      'say that you take care of an alert: channels are not told again until it is over, or a further refund or top-up comes to it',
    )
    .argument('<id>', 'number of the alert, as dirsync alerts lists it', numberOf('alert'))
    .option('--reason <reason>', 'what you do about it; channels that were told hear it', reasonOf)
    .option('--json', 'print one JSON document')
    .addHelpText('after', examples('dirsync alerts acknowledge 71 --reason "the vendor renews the secret"'))
    .action(acknowledge)

  command
    .command('mute')
    .description('keep the alerts of a rule from all channels for a time')
    .argument('<rule>', 'name of the rule, as dirsync alerts rules lists it', ruleOf)
    .option('--subject <subject>', 'only those about this, such as an enterprise code or a run')
    .option('--for <time>', 'how long: 30m, 4h, 3d, 2w; 30 days at most', periodOf('--for'))
    .option('--until <time>', 'until when: 2030-01-31, 2030-01-31T08:00', futureOf('--until'))
    .requiredOption('--reason <reason>', 'why, for whoever asks later', reasonOf)
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples(
        'dirsync alerts mute held_run --for 4h --reason "the department moves today"',
        'dirsync alerts mute halt --subject E900 --for 3d --reason "code is on its way"',
        'dirsync alerts mute clock --until 2030-01-31T08:00 --reason "NTP comes"',
      ),
    )
    .action(mute)

  command
    .command('unmute')
    .description('let the alerts of a rule through again')
    .argument('<rule>', 'name of the rule', ruleOf)
    .option('--subject <subject>', 'only those about this, as they were muted')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync alerts unmute held_run', 'dirsync alerts unmute halt --subject E900'),
    )
    .action(unmute)

  command
    .command('quiet')
    .description('send only critical alerts in some hours of each day; without hours: show them')
    .argument('[hours]', 'from and to, such as 22:00-07:00; off: at no hour', hoursOf)
    .option('--time-zone <zone>', 'where clocks show these hours; without it: as this shell has it')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      examples('dirsync alerts quiet 22:00-07:00 --time-zone Asia/Shanghai', 'dirsync alerts quiet off'),
    )
    .action(quiet)
}

interface Options {
  json?: true
}

const NOTHING = { params: {}, input: {} }

/** A part of what the page of alerts shows. */
async function part(
  shown: typeof channelsShown,
  options: Options & { part?: 'channels' | 'rules' },
): Promise<void> {
  await using context = await openContext()
  const settings = describeSettings(environment(), context.config)
  const screen = {
    ...alerts(context).now,
    shown: (ask: Ask, result: AlertsReport) => shown(ask, result, settings),
  }
  await see(context, screen, NOTHING, options)
}

async function history(options: Options & { since?: Date; rule?: RuleName; limit: number }): Promise<void> {
  await using context = await openContext()
  const { since, rule, limit } = options
  await seeList(context, alerts(context).history, { rule, since: since?.toISOString(), limit }, options)
}

// Test messages

async function test(options: Options & { channel?: string }): Promise<void> {
  const { channels, CONSOLE_URL, DEPLOYMENT_NAME, DIRSYNC_LANG } = loadAlerts(environment())
  speak(DIRSYNC_LANG)
  if (channels.length === 0)
    throw new FailedError(message('said.no_channel_to_test', { example: EXAMPLE.split('\n', 1) }))
  const wanted = options.channel?.toLowerCase()
  const chosen = channels.filter(({ name }) => wanted === undefined || name === wanted)
  if (chosen.length === 0)
    throw new UsageError(
      message('said.no_such_choice', {
        what: 'channel',
        text: JSON.stringify(options.channel),
        names: channels.map(({ name }) => name),
      }),
    )
  const from = { consoleUrl: CONSOLE_URL, deployment: { id: null, name: DEPLOYMENT_NAME } }
  const answers = await Promise.all(chosen.map(channel => sendTest(channel, from)))
  if (options.json) printJson(answers)
  else printAnswers(answers)
  await noteAnswers(answers)
  if (answers.some(({ accepted }) => !accepted)) throw new FailedError('')
}

/**
 * A channel that took a test message works again. Without its database, dirsync learns that from the next message.
 */
async function noteAnswers(answers: TestAnswer[]): Promise<void> {
  if (isEmbedded(environment())) return
  try {
    await using stores = await openStores()
    for (const { channel, accepted, answer } of answers)
      if (accepted) await noteTaken(stores.pool, channel, inEnglish(answer))
  } catch {
    // The test itself has succeeded.
  }
}

function printAnswers(answers: TestAnswer[]): void {
  for (const { channel, accepted, answer } of answers) {
    const verdict = say(accepted ? 'alerts.test.sent' : 'alerts.test.failed', { channel })
    print(accepted ? colours.green(verdict) : colours.red(verdict))
    printText(said(answer))
  }
}

// Acknowledging, muting, quiet hours

async function acknowledge(id: number, { reason, ...options }: Options & { reason?: string }): Promise<void> {
  await using context = await openContext()
  await act(context, alerts(context).acknowledge, { params: { id }, input: { reason } }, options)
}

async function mute(
  rule: RuleName,
  options: Options & { subject?: string; for?: number; until?: Date; reason: string },
): Promise<void> {
  if ((options.for === undefined) === (options.until === undefined))
    throw new UsageError(message('said.for_or_until'))
  const until = (options.until ?? new Date(Date.now() + (options.for ?? 0))).toISOString()
  await using context = await openContext()
  const { subject = null, reason } = options
  await act(context, alerts(context).mute, { params: {}, input: { rule, subject, until, reason } }, options)
}

async function unmute(rule: RuleName, options: Options & { subject?: string }): Promise<void> {
  await using context = await openContext()
  const { subject = null } = options
  await act(context, alerts(context).unmute, { params: {}, input: { rule, subject } }, options)
}

type Hours = 'off' | { starts: string; ends: string }

/** `22:00-07:00`, or `off`. */
function hoursOf(text: string): Hours {
  if (text === 'off') return 'off'
  const [, starts, ends] = /^((?:[01]\d|2[0-3]):[0-5]\d)-((?:[01]\d|2[0-3]):[0-5]\d)$/.exec(text) ?? []
  if (starts === undefined || ends === undefined || starts === ends)
    throw new UsageError(message('said.not_hours', { text: JSON.stringify(text) }))
  return { starts, ends }
}

async function quiet(hours: Hours | undefined, options: Options & { timeZone?: string }): Promise<void> {
  await using context = await openContext()
  const { now, setQuietHours, clearQuietHours } = alerts(context)
  if (hours === undefined) {
    const result = AlertsReport.pick({ quiet_hours: true })
    await see(context, { ...now, result, shown: quietShown }, NOTHING, options)
    return
  }
  if (hours === 'off') {
    await act(context, clearQuietHours, NOTHING, options)
    return
  }
  const input = { ...hours, time_zone: options.timeZone ?? ownZone() }
  await act(context, setQuietHours, { params: {}, input }, options)
}
