import { html } from '@remix-run/html-template'
import { z } from 'zod'
import type { ChannelSettings } from '../../alerts/channel.ts'
import { sendTest, TestAnswer } from '../../alerts/courier.ts'
import { noteTaken } from '../../alerts/outbox.ts'
import { IS_EVALUATED } from '../../alerts/record.ts'
import {
  AlertHistory,
  AlertsReport,
  AlertTaken,
  countUrgent,
  FIRING_ALERTS,
  readAlerts,
  readTaken,
} from '../../alerts/report.ts'
import { isZone } from '../../lib/time-text.ts'
import { readDeployment } from '../../sync/health/deployment.ts'
import { actorText } from '../../texts/actor.ts'
import { inEnglish, message, worded } from '../../texts/message.ts'
import type { Ask } from '../ask.ts'
import { action, type Notice, plainText, read, reason, rowNumber } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { sinceText, timeText } from '../ui/parts.ts'
import { pageOf } from '../ui/shown.ts'
import { Until, untilOf } from '../until.ts'
import { rulePath } from './cards.ts'
import { historyShown } from './history-view.ts'
import { HistoryInput, RuleResult, readConsoleHistory, readRule, ruleName } from './query.ts'
import { ruleShown } from './rule-view.ts'
import { alertsShown, testVerdict } from './view.ts'

const subject = z
  .string()
  .max(300)
  .nullish()
  .transform(given => given || null)
  .describe('Only alerts about this subject, such as an enterprise code; absent: all alerts of the rule')

/** Minimum time between two test messages to the same channel: a test is sent to real people. */
const BETWEEN_TESTS_MS = 10_000

const clock = z
  .string()
  .regex(/^([01]\d|2[0-3]):[0-5]\d$/, worded('said.give_time'))
  .describe('HH:MM')

const QuietHoursInput = z.object({
  starts: clock,
  ends: clock.describe('HH:MM; before `starts`: on the next day'),
  time_zone: z.string().max(60).describe('IANA name, such as Asia/Shanghai'),
})

export const screen: Screen = {
  name: 'alerts',
  badge: { sql: `select coalesce(jsonb_agg(f), '[]') from (${FIRING_ALERTS}) f`, count: countUrgent },
  topics: {
    alerts: `
      select concat_ws(' ',
        (select concat_ws('|', checked_at, ${IS_EVALUATED}) from dirsync.alert_check),
        (select md5(string_agg(concat_ws('|', id, state, gone_at, acknowledged_at), ',' order by id)) from dirsync.alert
         where state <> 'ended'),
        (select string_agg(concat_ws('|', name, last_sent_at, failing_since, last_answer), ',' order by name)
         from dirsync.alert_channel),
        (select string_agg(concat_ws('|', rule, subject, until), ',' order by rule, subject)
         from dirsync.alert_mute
         where until > now()),
        (select set_at from dirsync.quiet_hours))`,
  },
  endpoints: services => Object.values(alerts(services)),
}

/** Current alerts, who is told of them, and what is muted. */
export function alerts(services: Pick<Services, 'pool' | 'config'>) {
  const { pool, config } = services
  const lastTests = new Map<string, number>()
  const readNow = ({ language }: Ask) => readAlerts(pool, config, { language })
  return {
    now: read({
      path: '/alerts',
      role: 'viewer',
      summary: 'Current alerts and who was told; channels, rules, mutes and quiet hours',
      result: AlertsReport,
      run: readNow,
      shown: alertsShown,
    }),
    history: read({
      path: '/alerts/history',
      role: 'viewer',
      summary: 'Alerts that have ended, the latest first',
      query: HistoryInput,
      result: AlertHistory,
      run: (ask, { input }) => readConsoleHistory(services, ask, input),
      shown: (ask, result, { input }) => historyShown(ask, result, input),
    }),
    rule: read({
      path: '/alerts/rules/:rule',
      role: 'viewer',
      summary: 'A rule: when it raises an alert, what to do about it, and its alerts',
      params: z.object({ rule: ruleName }),
      result: RuleResult,
      run: (ask, { params }) => readRule(services, ask, params.rule),
      shown: ruleShown,
    }),
    acknowledge: action({
      path: '/alerts/acknowledge/:id',
      formerly: '/alerts/:id/acknowledge',
      role: 'operator',
      summary:
        'Acknowledge an alert: no more reminders are sent until it is over, or a further refund or top-up comes to it',
      params: z.object({ id: rowNumber }),
      body: z.object({ reason: z.string().trim().max(500).nullish() }),
      result: AlertTaken.extend({
        acknowledged: z
          .boolean()
          .describe('false: it is over, not raised yet, or another person has acknowledged it'),
      }),
      run: async (ask, { params: { id }, input }) => {
        const acknowledged = await ask.commands.acknowledgeAlert(id, input.reason ?? null)
        const alert = await readTaken(pool, id)
        if (!alert) throw new Problem('not_found', message('said.no_such_alert', { id }))
        return { ...alert, acknowledged }
      },
      next: (ask, { acknowledged, ...alert }) => ({
        to: '/alerts',
        notice: takenNotice(ask, acknowledged, alert),
      }),
    }),
    mute: action({
      path: '/alerts/mute',
      role: 'operator',
      summary:
        'Keep the alerts of a rule, or those about one subject, from all channels until a time within 30 days',
      body: Until.extend({ rule: ruleName, subject, reason }),
      result: z.object({ rule: ruleName, subject: z.string().nullable(), until: z.date() }),
      async run(ask, { input }) {
        const until = untilOf(ask, input)
        await ask.commands.muteAlert(input.rule, input.subject, until, input.reason)
        return { rule: input.rule, subject: input.subject, until }
      },
      next: (ask, { rule, subject, until }) => ({
        to: rulePath(rule),
        notice: {
          key: 'alerts.muted',
          values: { rule, subject: subject ?? 'none', time: timeText(ask, until) },
        },
      }),
    }),
    unmute: action({
      path: '/alerts/unmute',
      role: 'operator',
      summary: 'End the mute of a rule, or of one of its subjects, before its time',
      body: z.object({ rule: ruleName, subject }),
      result: z.object({
        rule: ruleName,
        subject: z.string().nullable(),
        unmuted: z.boolean().describe('false: it was not muted'),
      }),
      run: async (ask, { input }) => ({
        ...input,
        unmuted: await ask.commands.unmuteAlert(input.rule, input.subject),
      }),
      next: (_ask, { unmuted }, { input }) => ({
        to: rulePath(input.rule),
        notice: { key: unmuted ? 'alerts.unmuted' : 'alerts.not_muted' },
      }),
    }),
    setQuietHours: action({
      path: '/alerts/quiet-hours',
      role: 'operator',
      summary: 'Send only critical alerts in these hours of each day',
      body: QuietHoursInput,
      result: QuietHoursInput,
      async run(ask, { input }) {
        const { starts, ends, time_zone } = input
        if (starts === ends) throw new Problem('invalid', ask.t('alerts.quiet_hours.same'), { field: 'ends' })
        if (!isZone(time_zone))
          throw new Problem('invalid', ask.t('alerts.quiet_hours.no_zone'), { field: 'time_zone' })
        await ask.commands.setQuietHours({ starts, ends, timeZone: time_zone })
        return input
      },
      next: (_ask, { starts, ends, time_zone }) => ({
        to: '/alerts',
        notice: { key: 'alerts.quiet_hours.were_set', values: { starts, ends, zone: time_zone } },
      }),
    }),
    clearQuietHours: action({
      path: '/alerts/quiet-hours/clear',
      role: 'operator',
      summary: 'End quiet hours for good',
      result: z.object({ cleared: z.boolean().describe('false: there were none') }),
      run: async ask => ({ cleared: await ask.commands.clearQuietHours() }),
      next: (_ask, { cleared }) => ({
        to: '/alerts',
        notice: { key: cleared ? 'alerts.quiet_hours.cleared' : 'alerts.quiet_hours.not_set' },
      }),
    }),
    test: action({
      path: '/alerts/channels/:channel/test',
      role: 'operator',
      summary: 'Send a test message to one of the channels of this process',
      params: z.object({ channel: plainText(100) }),
      result: TestAnswer,
      async run(ask, { params }) {
        const channel = config.channels.find(({ name }) => name === params.channel)
        if (!channel) throw new Problem('not_found', ask.t('alerts.test.elsewhere', params))
        assertRested(lastTests, channel, ask.now)
        await ask.commands.note('test_alert', { channel: channel.name })
        const test = await sendTest(channel, {
          consoleUrl: config.CONSOLE_URL,
          deployment: { id: (await readDeployment(pool))?.id ?? null, name: config.DEPLOYMENT_NAME },
        })
        if (test.accepted) await noteTaken(pool, channel.name, inEnglish(test.answer))
        return test
      },
      page: async (ask, test) => {
        // Refreshes of page parts use the page's own address, even when the page answers a form.
        const page = pageOf({ ...ask, url: '/alerts' }, alertsShown(ask, await readNow(ask)))
        return { ...page, body: html`${testVerdict(ask, test)}${page.body}` }
      },
    }),
  }
}

function takenNotice(
  ask: Ask,
  isTaken: boolean,
  { state, acknowledged_by: by, acknowledged_at: at }: z.infer<typeof AlertTaken>,
): Notice {
  if (isTaken) return { key: 'alerts.acknowledged' }
  if (state === 'pending') return { key: 'alerts.not_raised' }
  if (state === 'ended' || by === null || at === null) return { key: 'alerts.is_over' }
  return { key: 'alerts.not_acknowledged', values: { by: actorText(ask, by), ago: sinceText(ask, at) } }
}

/** @throws Problem if the channel was tested a moment ago */
function assertRested(lastTests: Map<string, number>, { name }: ChannelSettings, now: Date): void {
  const restMs = (lastTests.get(name) ?? -Infinity) + BETWEEN_TESTS_MS - now.getTime()
  if (restMs > 0) throw new Problem('too_many', '', { retryAfter: Math.ceil(restMs / 1000) })
  lastTests.set(name, now.getTime())
}
