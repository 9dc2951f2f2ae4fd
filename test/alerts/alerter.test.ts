import { EventEmitter, once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Alerter, startAlertService } from '../../src/alerts/alerter.ts'
import { isAway } from '../../src/alerts/away.ts'
import type { Channel } from '../../src/alerts/channel.ts'
import { readChannels } from '../../src/alerts/channel-report.ts'
import { Courier } from '../../src/alerts/courier.ts'
import { readAlertFacts } from '../../src/alerts/facts.ts'
import { IS_FREE } from '../../src/alerts/outbox.ts'
import { type Finding, RULE_NAMES } from '../../src/alerts/rule.ts'
import { loadConfig } from '../../src/config.ts'
import { createPool } from '../../src/lib/database.ts'
import { dirsyncListener } from '../../src/lib/listener.ts'
import { until } from '../helpers/company.ts'
import { LEAST } from '../helpers/least-settings.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { writeDown, writeTopUpDown } from '../sync/journal.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'
import { MailServer } from './channels/mail-server.ts'
import { answers, Inbox, said, takes } from './inbox.ts'
import { FACTS } from './planted.ts'

const store = new StoreUnderTest()

const LIMITS = { repeatHours: 4, messagesPerHour: 20 }
const HOUR = 3_600_000

function finding(rule: Finding['rule'], differs: Partial<Finding> = {}): Finding {
  return { rule, subject: '', facts: {}, forMs: 0, ...differs }
}

/** What is wrong at the moment, for all processes. */
let wrong: Finding[] = []
let judgements = 0

/** Judges and sends as a process does, only more often. */
async function startProcess(
  channels: Channel[],
  differs: Partial<ConstructorParameters<typeof Alerter>[0]> = {},
): Promise<{ stop(): Promise<void> }> {
  const pool = differs.pool ?? store.pool
  const courier = new Courier({ pool, channels, logger: SILENT, consoleUrl: null })
  const alerter = new Alerter({
    pool,
    deployment: { id: 'd-1', name: null },
    processId: crypto.randomUUID(),
    find: async () => {
      judgements += 1
      return wrong
    },
    channels,
    limits: LIMITS,
    databaseAwayMs: 0,
    language: 'en',
    consoleUrl: 'https://dirsync.example.com',
    intervalMs: 30,
    logger: SILENT,
    ...differs,
  })
  const listener = dirsyncListener(store.url, SILENT, () => courier.wake())
  await listener.start()
  courier.start()
  alerter.start()
  const stop = async () => {
    await Promise.all([alerter.stop(), courier.stop()])
    await listener.close()
  }
  onTestFinished(stop)
  return { stop }
}

/** Waits for two evaluations from now on, so that the present problems have been seen. */
async function judged(): Promise<void> {
  const from = judgements
  await until(async () => judgements >= from + 3)
}

/** Lets so much time pass for all alerts, notices and messages. */
async function pass(ms: number): Promise<void> {
  const back = (table: string, ...columns: string[]) =>
    store.pool.query(
      `update dirsync.${table} set ${columns.map(column => `${column} = ${column} - $1 * interval '1 ms'`)}`,
      [ms],
    )
  await back('alert', 'since', 'raised_at', 'gone_at', 'ended_at')
  await back('alert_notice', 'at')
  await back('alert_message', 'created_at', 'not_before', 'sent_at')
  // The courier would look by itself within five seconds, as test/alerts/courier.test.ts shows.
  await store.pool.query(`select pg_notify('dirsync', 'alert')`)
}

/** Waits until every message has arrived, and is marked so. */
const delivered = () =>
  until(() => store.value<boolean | null>(`select bool_and(state = 'sent') from dirsync.alert_message`))

/** Ends what is wrong, and lets the minute pass after which it is over. */
async function mend(...left: Finding[]): Promise<void> {
  wrong = left
  await judged()
  await pass(61_000)
}

const events = () =>
  store.rows<{ rule: string; event: string; channel: string }>(
    `select a.rule, n.event, n.channel from dirsync.alert_notice n
     join dirsync.alert a on a.id = n.alert_id order by n.at, n.event, a.rule, n.channel`,
  )

describe('what is wrong', () => {
  test('is told in one message, repeated after four hours, and followed by its recovery', async () => {
    const inbox = await Inbox.open()
    wrong = [
      finding('halt', {
        subject: '*',
        facts: { scope: '*', message: 'm', remedy: 'r', category: 'credentials' },
      }),
      finding('tokens', { facts: { count: 30 } }),
    ]
    await startProcess([inbox.channel()])
    expect(said(await inbox.arrival(1))).toBe('halt raised, tokens raised')
    await judged()
    await delivered()
    await pass(4 * HOUR)
    expect(said(await inbox.arrival(2))).toBe('halt repeated, tokens repeated')
    await delivered()
    await mend()
    const over = await inbox.arrival(3)
    expect(said(over)).toBe('halt recovered, tokens recovered')
    expect(over).toMatchObject({ title: 'dirsync: 2 alerts recovered' })
    await judged()
    expect(inbox.arrivals).toHaveLength(3)
  })

  test.each(RULE_NAMES)('by the rule %s is raised, repeated and recovered', async rule => {
    const inbox = await Inbox.open()
    wrong = [finding(rule, FACTS[rule])]
    await startProcess([inbox.channel()])
    await judged()
    // Problems that existed before the first evaluation may clear by themselves for some minutes.
    await store.pool.query(`update dirsync.alert_check set watched_since = now() - interval '1 day'`)
    expect(said(await inbox.arrival(1))).toBe(`${rule} raised`)
    await delivered()
    await pass(4 * HOUR)
    const repeated = await inbox.arrival(2)
    expect(said(repeated)).toBe(`${rule} repeated`)
    expect(repeated.alerts[0]?.remedy).not.toBe('')
    await delivered()
    await mend()
    const over = await inbox.arrival(3)
    expect(said(over)).toBe(`${rule} recovered`)
    expect(over.alerts[0]?.remedy).toBeNull()
  })

  test.each([
    [`select dirsync.pause('maintenance')`, /^All calls are paused: .* resumes them/],
    [
      `insert into dirsync.halt (scope, category, message, remedy, next_probe_at)
       values ('*', 'credentials', '{}', '{}', now())`,
      /^Everything is halted: /,
    ],
    ['select', /^Work continues by itself\.$/],
  ])('that is over lets work continue unless all of it is stopped: %s', async (stop, over) => {
    const inbox = await Inbox.open()
    wrong = [finding('halt', FACTS.halt)]
    await startProcess([inbox.channel()])
    await inbox.arrival(1)
    await delivered()
    await store.pool.query(stop)
    await mend()
    expect((await inbox.arrival(2)).alerts[0]?.what).toMatch(over)
  })

  test('and flaps ten times within an hour is reported as one flapping alert', async () => {
    const inbox = await Inbox.open()
    const flapping = [finding('queue_away')]
    wrong = flapping
    await startProcess([inbox.channel()])
    for (let flap = 0; flap < 10; flap++) {
      wrong = flapping
      await judged()
      // What is not sent yet would be decided about anew, with what comes next.
      await delivered()
      await pass(4 * 60_000)
      await mend()
      await judged()
      await delivered()
    }
    await pass(15 * 60_000)
    await inbox.arrival(4)
    await judged()
    expect(inbox.arrivals.map(said)).toEqual([
      'queue_away raised',
      'queue_away recovered',
      'queue_away raised',
      'queue_away recovered',
    ])
    expect(inbox.arrivals[2]?.alerts[0]?.what).toContain('It comes and goes, and has returned once')
    expect(await store.rows('select state, returns from dirsync.alert order by id')).toEqual([
      { state: 'ended', returns: 0 },
      { state: 'ended', returns: 9 },
    ])
  })

  test('is neither forgotten nor repeated by a restart', async () => {
    const inbox = await Inbox.open()
    wrong = [finding('tokens')]
    const first = await startProcess([inbox.channel()])
    await inbox.arrival(1)
    await first.stop()
    await startProcess([inbox.channel()])
    await judged()
    expect(inbox.said).toEqual(['tokens raised'])
    await mend()
    expect(said(await inbox.arrival(2))).toBe('tokens recovered')
  })

  /** Events that wait for the channel since it was one of events. */
  const leaveEvents = () =>
    store.pool.query(
      `insert into dirsync.alert_message (channel, kind, content) values ('ops', 'events', $1)`,
      [{ kind: 'events', language: 'en', alerts: [], at: new Date(), events: [] }],
    )

  test('follows the events that wait for a webhook since it was told of these', async () => {
    const inbox = await Inbox.open()
    inbox.answer = answers(503)
    await leaveEvents()
    await startProcess([inbox.channel()])
    await inbox.arrival(1)
    wrong = [finding('tokens')]
    await judged()
    inbox.answer = takes
    await pass(61_000)
    await inbox.arrival(3)
    expect(inbox.arrivals.map(({ type }) => type)).toEqual(['events', 'events', 'alerts'])
  })

  test('does not wait for events that a webhook has not taken for ten minutes', async () => {
    const inbox = await Inbox.open()
    inbox.answer = (response, arrival) =>
      (arrival.type === 'events' ? answers(400) : takes)(response, arrival)
    await leaveEvents()
    await startProcess([inbox.channel()])
    await inbox.arrival(1)
    wrong = [finding('tokens')]
    await judged()
    expect(inbox.arrivals.map(({ type }) => type)).not.toContain('alerts')
    await pass(600_000)
    await until(() => Promise.resolve(inbox.arrivals.some(({ type }) => type === 'alerts')))
  })

  test('reaches every channel, each in its language and from its least severity on', async () => {
    const [ops, chinese, few] = [await Inbox.open(), await Inbox.open(), await Inbox.open()]
    wrong = [finding('tokens', { facts: { count: 30 } }), finding('role_missing', { subject: 'worker' })]
    await startProcess([
      ops.channel(),
      chinese.channel({ name: 'qun', language: 'zh-CN' }),
      few.channel({ name: 'phone', least: 'critical' }),
    ])
    expect(said(await few.arrival(1))).toBe('role_missing raised')
    expect(said(await ops.arrival(1))).toBe('role_missing raised, tokens raised')
    expect((await chinese.arrival(1)).title).toBe('dirsync：2 条告警，最高级别为严重')
    expect(await store.rows('select name, least, language from dirsync.alert_channel order by name')).toEqual(
      [
        { name: 'ops', least: 'info', language: 'en' },
        { name: 'phone', least: 'critical', language: 'en' },
        { name: 'qun', least: 'info', language: 'zh-CN' },
      ],
    )
  })

  test('is recorded and logged where no channel is set, in the language of the log', async () => {
    const lines: Record<string, unknown>[] = []
    const logger = pino({}, { write: line => void lines.push(JSON.parse(line)) })
    wrong = [finding('role_missing', { subject: 'worker' }), finding('tokens', { facts: { count: 30 } })]
    await startProcess([], { logger, language: 'zh-CN' })
    await judged()
    await mend()
    await until(
      async () => (await store.value(`select bool_and(state = 'ended') from dirsync.alert`)) === true,
    )
    expect(lines.map(({ level, rule }) => `${level} ${rule}`).sort()).toEqual([
      '30 role_missing',
      '30 tokens',
      '40 tokens',
      '50 role_missing',
    ])
    expect(lines[0]?.msg).toMatch(/\p{Script=Han}/u)
    expect(await store.value('select count(*) from dirsync.alert_message')).toBe(0)
  })
})

describe('of several processes', () => {
  test('one judges', async () => {
    wrong = []
    const from = judgements
    const processes = await Promise.all([1, 2, 3].map(() => startProcess([], { intervalMs: 60_000 })))
    await until(async () => judgements > from)
    // They come to the end of their first look before they stop.
    await Promise.all(processes.map(({ stop }) => stop()))
    expect(judgements).toBe(from + 1)
  })

  test('another one takes over when it dies in the middle, and nothing is told twice', async () => {
    const inbox = await Inbox.open()
    wrong = [finding('tokens')]
    let died = 0
    await startProcess([inbox.channel()], {
      find: async () => {
        died += 1
        throw new TypeError('it fell over')
      },
    })
    await until(async () => died > 0)
    await startProcess([inbox.channel()])
    await inbox.arrival(1)
    await judged()
    expect(inbox.said).toEqual(['tokens raised'])
  })
})

describe('channels of processes with other settings', () => {
  const MINUTE = 60_000

  test('are not forgotten by the one that judges', async () => {
    const [inbox, other] = [await Inbox.open(), await Inbox.open()]
    other.answer = answers(500)
    wrong = [finding('tokens')]
    const first = await startProcess([other.channel({ name: 'other' })])
    const failing = () => store.rows('select name from dirsync.alert_channel where failing_since is not null')
    await until(async () => (await failing()).length === 1)
    await first.stop()
    await startProcess([inbox.channel()])
    await judged()
    expect(await failing()).toEqual([{ name: 'other' }])
  })

  test('are told what is wrong, whichever process judges', async () => {
    const [inbox, other] = [await Inbox.open(), await Inbox.open()]
    wrong = []
    const from = judgements
    await startProcess([inbox.channel()], { intervalMs: 100 })
    await until(async () => judgements > from)
    // It has its turn only once the first is gone.
    await startProcess([other.channel({ name: 'other', least: 'critical' })], { intervalMs: MINUTE })
    await until(async () => (await store.rows('select from dirsync.alert_channel')).length === 2)
    wrong = [finding('tokens'), finding('halt')]
    expect(said(await inbox.arrival(1))).toBe('halt raised, tokens raised')
    expect(said(await other.arrival(1))).toBe('halt raised')
    await mend()
    expect(said(await other.arrival(2))).toBe('halt recovered')
  })

  test('are noted although another process judges', async () => {
    const [inbox, other] = [await Inbox.open(), await Inbox.open()]
    wrong = []
    const from = judgements
    await startProcess([inbox.channel()], { intervalMs: MINUTE })
    await until(async () => judgements > from)
    await startProcess([other.channel({ name: 'other' })], { intervalMs: MINUTE })
    const names = () => store.rows('select name from dirsync.alert_channel order by name')
    await until(async () => (await names()).length === 2)
    expect(judgements).toBe(from + 1)
  })

  test('are listed while a process has them, and forgotten a day later', async () => {
    const inbox = await Inbox.open()
    const seen = (ago: string) =>
      store.pool.query(
        `insert into dirsync.alert_channel (name, kind, target, least, language, seen_at)
         values ('old', 'webhook', 'here', 'info', 'en', now() - $1::interval)
         on conflict (name) do update set seen_at = excluded.seen_at`,
        [ago],
      )
    wrong = []
    await startProcess([inbox.channel()])
    const listed = async () => (await readChannels(store.pool, [])).map(({ name }) => name)
    await seen('4 minutes')
    await judged()
    expect(await listed()).toEqual(['old', 'ops'])
    await seen('6 minutes')
    expect(await listed()).toEqual(['ops'])
    await judged()
    expect(await store.value('select count(*) from dirsync.alert_channel')).toBe(2)
    await seen('25 hours')
    await judged()
    expect(await store.value('select count(*) from dirsync.alert_channel')).toBe(1)
  })
})

describe('a channel that is away', () => {
  const tried = () =>
    until(() => store.value<boolean>('select bool_or(answer is not null) from dirsync.alert_message'))

  test('gets everything in one message when it is back, even alerts that came and went meanwhile', async () => {
    const [inbox, other] = [await Inbox.open(), await Inbox.open()]
    inbox.answer = answers(500)
    wrong = [finding('tokens')]
    await startProcess([inbox.channel(), other.channel({ name: 'other' })])
    expect(said(await other.arrival(1))).toBe('tokens raised')
    await tried()
    wrong = [finding('tokens'), finding('clock')]
    expect(said(await other.arrival(2))).toBe('clock raised')
    await mend(finding('clock'), finding('paused'))
    await until(async () => other.said.includes('tokens recovered'))
    // While it is being sent, what waits is not decided about anew; nor does one on its way count as refused yet.
    await until(async () =>
      store.value(
        `select content::text like '%"recovered"%' and ${IS_FREE} and not_before > now()
         from dirsync.alert_message where state = 'waiting'`,
      ),
    )

    const failed = inbox.arrivals.length
    inbox.answer = takes
    await pass(HOUR)
    const arrived = await inbox.arrival(failed + 1)
    expect(said(arrived).split(', ').sort()).toEqual(['clock raised', 'paused raised', 'tokens recovered'])
    await delivered()
    await judged()
    expect(inbox.arrivals).toHaveLength(failed + 1)
    // It has other contents than the refused one, so it must have another id.
    expect(arrived.id).not.toBe(inbox.arrivals[0]?.id)
  })

  test('gets the same message again while nothing has changed', async () => {
    const inbox = await Inbox.open()
    inbox.answer = answers(500)
    wrong = [finding('tokens')]
    await startProcess([inbox.channel()])
    const { id } = await inbox.arrival(1)
    await tried()
    await judged()
    inbox.answer = takes
    await pass(HOUR)
    expect((await inbox.arrival(2)).id).toBe(id)
    await delivered()
    expect(await events()).toEqual([{ rule: 'tokens', event: 'raised', channel: 'ops' }])
  })

  describe('counts as failing only while a message waits for it', () => {
    const failing = async () => (await readAlertFacts(store.pool)).failingChannels.length > 0
    const waiting = () =>
      store.value<number>(`select count(*) from dirsync.alert_message where state = 'waiting'`)
    async function fails(): Promise<void> {
      const inbox = await Inbox.open()
      inbox.answer = answers(500)
      wrong = [finding('tokens')]
      await startProcess([inbox.channel()])
      await until(failing)
      await judged()
      expect(await failing()).toBe(true)
    }

    test('and not after it was withdrawn, as by a mute', async () => {
      await fails()
      await store.pool.query(`select dirsync.mute_alert('tokens', now() + interval '1 hour', 'we are on it')`)
      await until(async () => (await waiting()) === 0)
      await judged()
      expect(await failing()).toBe(false)
    })

    test('and not after it was given up, as of an alert that is over', async () => {
      await fails()
      await mend()
      await until(async () =>
        store.value(`select bool_or(content::text like '%"recovered"%') from dirsync.alert_message`),
      )
      await pass(24 * HOUR)
      await until(async () => (await waiting()) === 0)
      await judged()
      expect(await failing()).toBe(false)
    })
  })

  test('for days has its messages given up, and is told at last what still holds', async () => {
    const inbox = await Inbox.open()
    inbox.answer = answers(403)
    wrong = [finding('held_run', { subject: '7' })]
    await startProcess([inbox.channel()])
    const inState = async (state: string) => {
      const of = `select content #>> '{alerts,0,event}' as event from dirsync.alert_message where state = $1 order by id`
      return (await store.rows<{ event: string }>(of, [state])).map(({ event }) => event)
    }
    for (const given of [['raised'], ['raised', 'raised']]) {
      await tried()
      await pass(24 * HOUR)
      await until(async () => (await inState('given_up')).length === given.length)
      expect(await inState('given_up')).toEqual(given)
      await judged()
      expect(await inState('waiting')).toEqual(['raised'])
    }
    inbox.answer = takes
    await pass(HOUR)
    await until(async () => (await inState('sent')).length === 1)
    wrong = []
    await judged()
    await pass(61_000)
    await until(async () => (await inState('sent')).length === 2)
    expect(await inState('sent')).toEqual(['raised', 'recovered'])
  })

  test('for a day fails since then, also once its message is given up for a new one', async () => {
    const inbox = await Inbox.open()
    inbox.answer = answers(500)
    wrong = [finding('held_run', { subject: '7' })]
    await startProcess([inbox.channel()])
    await tried()
    await store.pool.query(`update dirsync.alert_channel set failing_since = '2026-11-22 10:00Z'`)
    await pass(24 * HOUR)
    await until(() =>
      store.value<boolean>(`select count(*) = 2 and bool_and(answer is not null) from dirsync.alert_message`),
    )
    expect(await store.value(`select failing_since = '2026-11-22 10:00Z' from dirsync.alert_channel`)).toBe(
      true,
    )
  })

  test('over a long weekend is told at last that an alert is over', async () => {
    const inbox = await Inbox.open()
    wrong = [finding('halt')]
    await startProcess([inbox.channel()])
    await inbox.arrival(1)
    await delivered()
    inbox.answer = answers(403)
    wrong = []
    await judged()
    await pass(61_000)
    await inbox.arrival(2)
    await pass(96 * HOUR)
    await judged()
    inbox.answer = takes
    await pass(HOUR)
    const sent = `select array_agg(event order by n.at) from dirsync.alert_notice n
      join dirsync.alert_message m on m.id = n.message_id where m.state = 'sent'`
    await until(async () => (await store.value<string[]>(sent)).length === 2)
    expect(await store.value(sent)).toEqual(['raised', 'recovered'])
  })
})

describe('people', () => {
  test('who mute a rule hear of it when the mute ends', async () => {
    const inbox = await Inbox.open()
    await store.pool.query(`select dirsync.mute_alert('tokens', now() + interval '1 hour', 'we are on it')`)
    wrong = [finding('tokens'), finding('halt')]
    await startProcess([inbox.channel()])
    expect(said(await inbox.arrival(1))).toBe('halt raised')
    await judged()
    expect(await events()).toEqual([
      { rule: 'halt', event: 'raised', channel: 'ops' },
      { rule: 'tokens', event: 'withheld', channel: 'ops' },
    ])
    await store.pool.query(`select dirsync.unmute_alert('tokens')`)
    expect(said(await inbox.arrival(2))).toBe('tokens raised')
  })

  test('hear once who acknowledged an alert, and nothing more until it is over', async () => {
    const inbox = await Inbox.open()
    wrong = [finding('halt')]
    const { stop } = await startProcess([inbox.channel()], { limits: { ...LIMITS, repeatHours: 0 } })
    await inbox.arrival(1)
    await stop()
    const { rows } = await store.pool.query<{ taken: boolean }>(
      `select dirsync.acknowledge_alert(id, ' we are on it ') as taken from dirsync.alert`,
    )
    expect(rows).toEqual([{ taken: true }])
    // The second person is told so.
    expect(await store.rows('select dirsync.acknowledge_alert(id) as taken from dirsync.alert')).toEqual([
      { taken: false },
    ])
    expect(
      await store.rows(
        `select name, arguments ->> 'reason' as reason from dirsync.command where name like 'ack%'`,
      ),
    ).toEqual([{ name: 'acknowledge_alert', reason: 'we are on it' }])
    const told = inbox.said.length
    await startProcess([inbox.channel()], { limits: { ...LIMITS, repeatHours: 0 } })
    expect(said(await inbox.arrival(told + 1))).toBe('halt acknowledged')
    await judged()
    await judged()
    expect(inbox.said).toHaveLength(told + 1)
  })

  test('hear at once of more money of unknown outcome than someone has acknowledged', async () => {
    const inbox = await Inbox.open()
    const unknown = (count: number) => [finding('money_unknown', { subject: 'refund', facts: { count } })]
    const acknowledge = () => store.rows('select dirsync.acknowledge_alert(id) from dirsync.alert')
    wrong = [...unknown(2), finding('halt', { facts: { count: 2 } })]
    await startProcess([inbox.channel()])
    await inbox.arrival(1)
    await delivered()
    await acknowledge()
    expect(said(await inbox.arrival(2))).toBe('halt acknowledged, money_unknown acknowledged')
    await delivered()
    wrong = unknown(1)
    await judged()
    expect(inbox.said).toHaveLength(2)
    wrong = [...unknown(2), finding('halt', { facts: { count: 3 } })]
    expect(said(await inbox.arrival(3))).toBe('money_unknown repeated')
    await delivered()
    await acknowledge()
    expect(said(await inbox.arrival(4))).toBe('money_unknown acknowledged')
    await delivered()
    // What was acknowledged is settled, and another one comes before it is certain that all is over.
    wrong = []
    await judged()
    wrong = unknown(1)
    expect(said(await inbox.arrival(5))).toBe('money_unknown repeated')
    await delivered()
    await mend()
    expect(said(await inbox.arrival(6))).toMatch(/money_unknown recovered/)
  })

  test.each([
    ['that acknowledged money of unknown outcome now waits for a person', 'for_person', 1],
    ['of another refund of unknown outcome in place of the acknowledged one', 'latest_at', 1_796_068_002_302],
  ])('hear at once %s', async (_, fact, later) => {
    const inbox = await Inbox.open()
    const unknown = (more: number) => [
      finding('money_unknown', { subject: 'refund', facts: { count: 1, for_person: 0, [fact]: more } }),
    ]
    wrong = unknown(0)
    await startProcess([inbox.channel()])
    await inbox.arrival(1)
    await delivered()
    await store.rows('select dirsync.acknowledge_alert(id) from dirsync.alert')
    expect(said(await inbox.arrival(2))).toBe('money_unknown acknowledged')
    await delivered()
    wrong = unknown(later)
    expect(said(await inbox.arrival(3))).toBe('money_unknown repeated')
    expect(await store.rows('select acknowledged_by from dirsync.alert')).toEqual([{ acknowledged_by: null }])
  })

  test('who have quiet hours hear what still holds at their end', async () => {
    const inbox = await Inbox.open()
    const quiet = (from: string, to: string) =>
      store.pool.query(
        `select dirsync.set_quiet_hours((now() at time zone 'UTC' + $1::interval)::time,
                                        (now() at time zone 'UTC' + $2::interval)::time, 'UTC')`,
        [from, to],
      )
    await quiet('-1 hour', '1 hour')
    wrong = [finding('tokens'), finding('clock')]
    await startProcess([inbox.channel()])
    await judged()
    await mend(finding('clock'))
    await until(
      async () => (await store.value(`select count(*) from dirsync.alert where state = 'ended'`)) === 1,
    )
    expect(inbox.arrivals).toEqual([])
    await quiet('2 hours', '3 hours')
    expect(said(await inbox.arrival(1))).toBe('clock raised')
    await judged()
    expect(inbox.arrivals).toHaveLength(1)
  })

  test('get one summary when there is too much to tell, and the rest when the hour permits', async () => {
    const inbox = await Inbox.open()
    const categories = ['no_permission', 'unclassified', 'invalid_email', 'base_department']
    const jumps = (count: number) =>
      categories
        .slice(0, count)
        .map(subject => finding('cases_jump', { subject, facts: { count: 30, rise: 30 } }))
    await startProcess([inbox.channel()], { limits: { ...LIMITS, messagesPerHour: 2 } })
    const isSent = async (count: number) =>
      (await store.value(`select count(*) from dirsync.alert_message where state = 'sent'`)) === count
    for (const count of [1, 2, 3]) {
      wrong = jumps(count)
      await until(() => isSent(count))
    }
    expect(inbox.arrivals[2]).toMatchObject({
      type: 'summary',
      alerts: [],
      title: 'dirsync: 1 more alert, warning',
    })
    expect(inbox.arrivals[2]?.note).toContain(
      'This channel has had its 2 messages for this hour. 1 more alert is',
    )
    wrong = jumps(4)
    await judged()
    expect(inbox.arrivals).toHaveLength(3)
    await pass(HOUR)
    expect(said(await inbox.arrival(4))).toBe('cases_jump raised, cases_jump raised')
  })
})

test('ten thousand cases at once are one message of one alert', async () => {
  const inbox = await Inbox.open()
  wrong = [finding('cases_jump', { subject: 'duplicate_mobile', facts: { count: 10_000, rise: 10_000 } })]
  await startProcess([inbox.channel()])
  expect((await inbox.arrival(1)).alerts).toMatchObject([{ what: expect.stringContaining('10,000') }])
})

test('of very many alerts the worst are told, and the others counted', async () => {
  const inbox = await Inbox.open()
  const runs = Array.from({ length: 300 }, (_, i) =>
    finding('held_run', { subject: String(i), facts: { run: String(i) } }),
  )
  wrong = [...runs, finding('halt', { subject: '*' })]
  await startProcess([inbox.channel()])
  const { alerts, note, title } = await inbox.arrival(1)
  expect(alerts).toHaveLength(50)
  expect(alerts[0]?.rule).toBe('halt')
  expect(note).toBe('251 more are on the console’s alerts page.')
  expect(title).toBe('dirsync: 301 alerts, the worst critical')
  await judged()
  expect(inbox.arrivals).toHaveLength(1)
})

describe('while the database is away', () => {
  /** A process whose database can go away. */
  async function proxied(channels: Channel[], differs: Parameters<typeof startProcess>[1] = {}) {
    const proxy = await startTcpProxy(store.url)
    onTestFinished(() => proxy[Symbol.asyncDispose]())
    const pool: pg.Pool = createPool(proxy.url, { max: 2, name: 'proxied', logger: SILENT, timeoutMs: 1000 })
    onTestFinished(() => pool.end())
    return { proxy, pool, ...(await startProcess(channels, { pool, ...differs })) }
  }

  test('the process that evaluated last tells it, and its recovery once it is back', async () => {
    const inbox = await Inbox.open()
    wrong = []
    const { proxy } = await proxied([inbox.channel()])
    await judged()
    await proxy.refuse()
    const away = await inbox.arrival(1)
    expect(away).toMatchObject({ id: expect.stringMatching(/^away-[\d-]+$/), alerts: [{ event: 'raised' }] })
    expect(said(away)).toBe('database_away raised')
    // Others may reach it.
    expect(away).toMatchObject({
      alerts: [{ what: expect.stringMatching(/^The process that last checked/) }],
    })
    await delay(200)
    expect(inbox.arrivals).toHaveLength(1)

    await proxy.accept()
    await until(async () => (await store.value('select state from dirsync.alert')) === 'firing')
    await judged()
    await pass(61_000)
    expect(said(await inbox.arrival(2))).toBe('database_away recovered')
    expect(await events()).toMatchObject([{ event: 'raised' }, { event: 'recovered' }])
    // The message that was sent from memory counts as one of its hour.
    await until(
      async () =>
        (await store.value(`select count(*) from dirsync.alert_message where state = 'sent'`)) === 2,
    )
  })

  test('a channel that limits is tried again when it says', async () => {
    const inbox = await Inbox.open()
    inbox.answer = answers(429, { 'retry-after': '120' })
    wrong = []
    const refusals: string[] = []
    const logger = pino({ level: 'debug' }, { write: line => void refusals.push(line) })
    const { proxy } = await proxied([inbox.channel()], { logger })
    await judged()
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    await proxy.refuse()
    await until(async () => refusals.some(line => line.includes('did not take')))
    await delay(200)
    vi.setSystemTime(Date.now() + 100_000)
    await delay(200)
    expect(inbox.arrivals).toHaveLength(1)
    inbox.answer = takes
    vi.setSystemTime(Date.now() + 20_000)
    expect(said(await inbox.arrival(2))).toBe('database_away raised')
  })

  test('a mail that is put off for some recipients is sent to them again', async () => {
    const server = await MailServer.start({ authOptional: true, disabledCommands: ['STARTTLS'] })
    onTestFinished(() => server[Symbol.asyncDispose]())
    const inbox = await Inbox.open()
    const url = `smtp://127.0.0.1:${server.port}?tls=off`
    const to = ['full@example.com', 'ops@example.com']
    wrong = []
    const { proxy } = await proxied([inbox.channel({ kind: 'mail', url, from: 'dirsync@example.com', to })])
    await judged()
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    await proxy.refuse()
    await until(async () => server.arrivals.length === 1)
    server.isFull = false
    vi.setSystemTime(Date.now() + 20_000)
    await until(async () => server.arrivals.length === 2)
    expect(server.arrivals).toMatchObject([{ to: ['ops@example.com'] }, { to: ['full@example.com'] }])
    expect(server.arrivals[1]?.mail.subject).toBe(server.arrivals[0]?.mail.subject)
  })

  test('the others keep still', async () => {
    const inbox = await Inbox.open()
    wrong = []
    const { proxy, pool } = await proxied([inbox.channel()])
    await judged()
    await store.pool.query(`update dirsync.alert_check set checked_at = now() + interval '30 seconds'`)
    // This process stops evaluating; from now on the row says that another one was the last.
    await store.pool.query('update dirsync.alert_check set checked_by = gen_random_uuid()')
    // It has looked at that row.
    for (let looks = 0; looks < 4; looks++) await once(pool, 'release')
    await proxy.refuse()
    await delay(300)
    expect(inbox.arrivals).toEqual([])
  })

  test('nothing is told before its minutes are over, nor what is muted', async () => {
    const [patient, muted] = [await Inbox.open(), await Inbox.open()]
    wrong = []
    const one = await proxied([patient.channel()], { databaseAwayMs: 60_000 })
    await judged()
    await one.proxy.refuse()
    await delay(200)
    await one.stop()
    await store.pool.query(
      `select dirsync.mute_alert('database_away', now() + interval '1 hour', 'moving it')`,
    )
    const two = await proxied([muted.channel()])
    await judged()
    await two.proxy.refuse()
    await delay(200)
    expect(patient.arrivals).toEqual([])
    expect(muted.arrivals).toEqual([])
  })

  test('it is told once its minutes are over, and a moment of absence before does not count', async () => {
    const inbox = await Inbox.open()
    wrong = []
    const missed = new EventEmitter()
    const logger = pino({ level: 'error' }, { write: () => void missed.emit('line') })
    const { proxy } = await proxied([inbox.channel()], { databaseAwayMs: 60_000, logger })
    await judged()
    vi.useFakeTimers({ toFake: ['Date'] })
    onTestFinished(() => void vi.useRealTimers())
    const goAway = async () => {
      const noticed = once(missed, 'line')
      await proxy.refuse()
      await noticed
      vi.setSystemTime(Date.now() + 40_000)
    }
    for (let moments = 0; moments < 3; moments++) {
      await goAway()
      await proxy.accept()
      await judged()
    }
    expect(inbox.arrivals).toEqual([])
    await goAway()
    vi.setSystemTime(Date.now() + 20_000)
    expect(said(await inbox.arrival(1))).toBe('database_away raised')
    await proxy.accept()
    await until(async () => (await store.value('select state from dirsync.alert')) === 'firing')
  })

  test.each([
    ['28P01', 'a changed password', true],
    ['3D000', 'a dropped database', true],
    ['53100', 'a full disk', true],
    ['53300', 'no connection left', true],
    ['57P01', 'a shutdown', true],
    ['25006', 'a standby', true],
    ['XX001', 'damaged data', true],
    ['42703', 'a column that does not exist', false],
    ['40P01', 'a deadlock', false],
  ])('%s, %s, counts as away: %s', (code, _, away) => {
    expect(isAway(Object.assign(new pg.DatabaseError('', 0, 'error'), { code }))).toBe(away)
  })

  test('an evaluation that fails in every process is told, too, with its error', async () => {
    const inbox = await Inbox.open()
    let tries = 0
    await startProcess([inbox.channel()], {
      find: async () => {
        tries += 1
        if (tries > 1) await store.pool.query('select no_such_column')
        return []
      },
    })
    await until(async () => tries > 2)
    expect(inbox.arrivals).toEqual([])
    // Nor has any other process judged meanwhile.
    await store.pool.query(`update dirsync.alert_check set checked_at = now() - interval '3 minutes'`)
    const told = await inbox.arrival(1)
    expect(said(told)).toBe('database_away raised')
    expect(told.alerts[0]?.what).toContain('column "no_such_column" does not exist')
  })

  test('an evaluation that fails in only one of several processes is not told', async () => {
    const inbox = await Inbox.open()
    const lines: string[] = []
    const logger = pino({}, { write: line => void lines.push(line) })
    let tries = 0
    await startProcess([inbox.channel()], {
      logger,
      find: async () => {
        tries += 1
        // It has judged once, and so would be the one to tell.
        if (tries > 1) await store.pool.query('select no_such_column')
        return []
      },
    })
    await until(async () => tries > 4)
    expect(inbox.arrivals).toEqual([])
    expect(lines).toHaveLength(1)
  })
})

test('the state of everything is recorded for the rules, whether or not a scheduler does it', async () => {
  const service = startAlertService({
    config: loadConfig({ ...LEAST, DATABASE_URL: store.url }),
    ...{ deployment: { id: 'd-1', name: null }, processId: crypto.randomUUID(), logger: SILENT },
  })
  try {
    await until(async () => (await store.rows('select from dirsync.alert_check')).length > 0)
    const recorded = `select at > now() - interval '5 minutes' as recent from dirsync.status_history`
    expect(await store.rows(recorded)).toEqual([{ recent: true }])
  } finally {
    await service.stop()
    await service.close()
  }
})

test('a refund and a top-up whose senders died are found and logged, whatever the roles of the process', async () => {
  const refund = await writeDown(store)
  await writeTopUpDown(store)
  const logged: { number?: string; msg: string }[] = []
  const logger = pino({ level: 'warn' }, { write: line => void logged.push(JSON.parse(line)) })
  const service = startAlertService({
    config: loadConfig({ ...LEAST, DATABASE_URL: store.url }),
    ...{ deployment: { id: 'd-1', name: null }, processId: crypto.randomUUID(), logger },
  })
  try {
    const found = () =>
      store.rows(`select subject from dirsync.alert where rule = 'money_unknown' order by 1`)
    await until(async () => (await found()).length > 0)
    expect(await found()).toEqual([{ subject: 'refund' }, { subject: 'topup' }])
    expect(logged).toContainEqual(
      expect.objectContaining({
        number: refund,
        msg: expect.stringMatching(/^the sender of a refund ended/),
      }),
    )
  } finally {
    await service.stop()
    await service.close()
  }
})
