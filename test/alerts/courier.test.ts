import { setTimeout as delay } from 'node:timers/promises'
import { pino } from 'pino'
import { Webhook } from 'standardwebhooks'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Channel, ChannelError, type ChannelSettings } from '../../src/alerts/channel.ts'
import { openChannel } from '../../src/alerts/channels/index.ts'
import { Courier, putOffMs, sendTest } from '../../src/alerts/courier.ts'
import type { ChannelMessage } from '../../src/alerts/message.ts'
import { noteChannels } from '../../src/alerts/record.ts'
import { createPool, transaction } from '../../src/lib/database.ts'
import { inWords } from '../../src/texts/message.ts'
import { pageOf } from '../docs/pages.ts'
import { until } from '../helpers/company.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'
import { MailServer } from './channels/mail-server.ts'
import { SECRETS, startReceiver } from './channels/receiver.ts'
import { answers, hangs, Inbox, takes } from './inbox.ts'

const store = new StoreUnderTest()

const MESSAGE: ChannelMessage = {
  ...{ kind: 'alerts', language: 'en', tone: 'critical', title: 'dirsync: halted', alerts: [], note: null },
  ...{ url: null, urlText: 'Open the console', at: new Date() },
}

const FROM = { consoleUrl: null, deployment: { id: 'd-1', name: null } }

/** Has a message wait for each channel. Returns their numbers. */
async function write(...channels: Channel[]): Promise<number[]> {
  const ids: number[] = []
  for (const { settings } of channels) {
    const { name, kind, least, language } = settings
    await store.pool.query(
      `insert into dirsync.alert_channel (name, kind, target, least, language, seen_at)
       values ($1, $2, 'here', $3, $4, now()) on conflict do nothing`,
      [name, kind, least, language],
    )
    ids.push(
      await store.value(
        `insert into dirsync.alert_message (channel, kind, content) values ($1, 'alerts', $2) returning id`,
        [name, MESSAGE],
      ),
    )
  }
  return ids
}

function startCourier(channels: Channel[], { pool = store.pool, logger = SILENT } = {}): Courier {
  const courier = new Courier({ pool, channels, logger, consoleUrl: null })
  courier.start()
  onTestFinished(() => courier.stop())
  return courier
}

interface Row {
  state: string
  attempts: number
  leased: boolean
  /** When it is tried again. */
  not_before: Date
  answer: string | null
}

async function row(id: number | undefined): Promise<Row> {
  const [found] = await store.rows<Row>(
    `select state, attempts, leased_until is not null as leased, answer, not_before
     from dirsync.alert_message where id = $1`,
    [id],
  )
  if (!found) throw new Error(`there is no message ${id}`)
  return found
}

const state = async (id: number | undefined) => (await row(id)).state
const channelRow = async (name = 'ops') =>
  (
    await store.rows<{ sent: boolean; failing: boolean; last_answer: string | null }>(
      `select last_sent_at is not null as sent, failing_since is not null as failing, last_answer
       from dirsync.alert_channel where name = $1`,
      [name],
    )
  )[0]
/** Lets the time come at which everything is tried again. */
const itIsTime = () =>
  store.pool.query('update dirsync.alert_message set not_before = now(), leased_until = null')

test('a message does not wait for a clock that was put back to catch up', async () => {
  const inbox = await Inbox.open()
  const channel = inbox.channel()
  await write(channel)
  const courier = startCourier([channel])
  await inbox.arrival(1)
  await until(async () => (await store.value('select state from dirsync.alert_message')) === 'sent')
  const [id] = await write(channel)
  await store.pool.query(
    `update dirsync.alert_message set not_before = now() + interval '1 day', leased_until = now() + interval '1 day'
     where id = $1`,
    [id],
  )
  courier.wake()
  expect((await inbox.arrival(2)).id).toBe(String(id))
})

test('sends what waits, and writes down what the server answered', async () => {
  const inbox = await Inbox.open()
  const channel = inbox.channel()
  const [id] = await write(channel)
  startCourier([channel])
  expect(await inbox.arrival(1)).toMatchObject({ id: String(id), title: 'dirsync: halted' })
  await until(async () => (await state(id)) === 'sent')
  expect(await row(id)).toMatchObject({ attempts: 1, leased: false, answer: expect.stringContaining('ok') })
  expect(await channelRow()).toEqual({ sent: true, failing: false, last_answer: expect.any(String) })
})

test('an alert that was written before a downtime is not sent before it is evaluated again', async () => {
  const inbox = await Inbox.open()
  const channels = [inbox.channel(), inbox.channel({ name: 'hook' })]
  const [alerts, events] = await write(...channels)
  await store.pool.query(
    `update dirsync.alert_message set created_at = now() - interval '10 minutes',
            kind = case id when ${events} then 'events' else kind end;
     insert into dirsync.alert_check (checked_at, checked_by) values (now() - interval '10 minutes', gen_random_uuid())`,
  )
  const courier = startCourier(channels)
  expect((await inbox.arrival(1)).id).toBe(String(events))
  await until(async () => (await state(events)) === 'sent')
  expect(await row(alerts)).toMatchObject({ state: 'waiting', attempts: 0 })
  await store.pool.query('update dirsync.alert_check set checked_at = now()')
  courier.wake()
  expect((await inbox.arrival(2)).id).toBe(String(alerts))
})

test('is woken when a message is written', async () => {
  const inbox = await Inbox.open()
  const channel = inbox.channel()
  const courier = startCourier([channel])
  const [first] = await write(channel)
  courier.wake()
  await until(async () => (await state(first)) === 'sent')
})

test.each([
  ['that fails', answers(500), [7, 13]],
  ['that limits, as long as it says', answers(429, { 'retry-after': '120' }), [110, 121]],
  ['that limits without a word', answers(429), [55, 61]],
  ['that refuses, for longer', answers(400), [200, 391]],
] as const)('puts a message off for a server %s, and tries it again', async (_, answer, [least, most]) => {
  const inbox = await Inbox.open()
  inbox.answer = answer
  const channel = inbox.channel()
  const [id] = await write(channel)
  const begun = Date.now()
  const courier = startCourier([channel])
  await until(async () => (await row(id)).answer !== null)
  const failed = await row(id)
  const ended = Date.now()
  expect(failed).toMatchObject({ state: 'waiting', leased: false, attempts: 1 })
  expect(failed.not_before.getTime()).toBeGreaterThanOrEqual(begun + least * 1000)
  expect(failed.not_before.getTime()).toBeLessThan(ended + most * 1000)
  expect(await channelRow()).toMatchObject({ sent: false, failing: true })

  inbox.answer = takes
  await itIsTime()
  courier.wake()
  await until(async () => (await state(id)) === 'sent')
  expect(await channelRow()).toMatchObject({ sent: true, failing: false })
  // Receivers can tell that it is the same one.
  expect(inbox.arrivals.map(arrival => arrival.id)).toEqual([String(id), String(id)])
  expect(inbox.arrivals[1]?.key).toBe(inbox.arrivals[0]?.key)
})

test.each([
  ['remembers since when a channel fails', 1, true],
  ['does not count the time in which no message was there to fail', 0, false],
])('%s', async (_, tries, isSameFailure) => {
  const inbox = await Inbox.open()
  inbox.answer = answers(500)
  const channel = inbox.channel()
  const [id] = await write(channel)
  await store.pool.query(`update dirsync.alert_channel set failing_since = '2026-11-22 10:00Z'`)
  await store.pool.query('update dirsync.alert_message set attempts = $1', [tries])
  startCourier([channel])
  await until(async () => (await row(id)).answer !== null)
  expect(await store.value(`select failing_since = '2026-11-22 10:00Z' from dirsync.alert_channel`)).toBe(
    isSameFailure,
  )
})

test('a test says what arrives in the channel, and nothing about how things are', async () => {
  const inbox = await Inbox.open()
  const noteOf = async (differs: Partial<ChannelSettings>) => {
    expect(await sendTest(inbox.channel(differs).settings, FROM)).toMatchObject({ accepted: true })
    return inbox.arrivals.at(-1)?.note
  }
  const events = ['run.done', 'case.*']
  const said = 'This is a test message; it says nothing about the present state.'
  expect(await noteOf({ least: 'critical' })).toBe(
    `Alerts of severity “critical” and above arrive here, in the channel ops. ${said}`,
  )
  expect(await noteOf({ events })).toBe(
    `The events run.done, case.*, and no alerts, arrive here, in the channel ops. ${said}`,
  )
  const chinese = '这是一条人工发送的测试消息，不反映当前状态。'
  expect(await noteOf({ language: 'zh-CN' })).toBe(`渠道 ops 可以收到“提示”及以上级别的告警。${chinese}`)
  expect(await noteOf({ language: 'zh-CN', events })).toBe(
    `渠道 ops 只接收事件（run.done, case.*），不接收告警。${chinese}`,
  )
})

test('says once in the log that a channel fails, without secrets', async () => {
  const lines: string[] = []
  const logger = pino({ level: 'debug' }, { write: line => void lines.push(line) })
  const inbox = await Inbox.open()
  const channel = inbox.channel({ url: 'http://127.0.0.1:9/robot?access_token=hidden' })
  const [id] = await write(channel)
  const courier = startCourier([channel], { logger })
  await until(async () => (await row(id)).answer !== null)
  await itIsTime()
  courier.wake()
  await until(async () => (await row(id)).attempts === 2 && !(await row(id)).leased)
  expect(lines.filter(line => line.includes('takes no message'))).toHaveLength(1)
  expect(lines.join('') + (await row(id)).answer).not.toContain('hidden')
})

test('a mail that some of its recipients do not get is not sent again, and its channel fails', async () => {
  const server = await MailServer.start({ authOptional: true, disabledCommands: ['STARTTLS'] })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const lines: string[] = []
  const logger = pino({}, { write: line => void lines.push(line) })
  const inbox = await Inbox.open()
  const url = `smtp://127.0.0.1:${server.port}?tls=off`
  const to = ['nobody@example.com', 'ops@example.com']
  const channel = inbox.channel({ kind: 'mail', url, from: 'dirsync@example.com', to })
  const [id] = await write(channel)
  startCourier([channel], { logger })
  await until(async () => (await state(id)) === 'sent')
  expect(server.arrivals).toMatchObject([{ to: ['ops@example.com'] }])
  expect(await channelRow()).toMatchObject({
    ...{ sent: true, failing: true },
    last_answer: expect.stringContaining('not taken for n***@example.com'),
  })
  expect(lines.filter(line => line.includes('for some of its recipients'))).toHaveLength(1)
  expect(await sendTest(channel.settings, FROM)).toMatchObject({ accepted: false })
})

describe('a mail that some of its recipients are put off for', () => {
  /** A server that has taken a mail for ops alone. */
  async function partlyTaken(...others: string[]) {
    const server = await MailServer.start({ authOptional: true, disabledCommands: ['STARTTLS'] })
    onTestFinished(() => server[Symbol.asyncDispose]())
    const url = `smtp://127.0.0.1:${server.port}?tls=off`
    const settings = { kind: 'mail', url, from: 'dirsync@example.com' } as const
    const to = [...others, 'ops@example.com']
    const channel = (await Inbox.open()).channel({ ...settings, to })
    const [id = 0] = await write(channel)
    const courier = startCourier([channel])
    await until(async () => (await state(id)) === 'sent')
    /** Has everything that waits tried again, by default by a server that takes it. */
    const again = async (isFull = false) => {
      server.isFull = isFull
      await itIsTime()
      courier.wake()
    }
    return { server, channel, courier, id, again, settings }
  }

  const OPS = { to: ['ops@example.com'] }
  const FULL = { to: ['full@example.com'], mail: { subject: 'dirsync: halted' } }

  test('is sent to them again, and to no others', async () => {
    const { server, channel, courier, id, again } = await partlyTaken(
      'nobody@example.com',
      'full@example.com',
    )
    expect(await row(id + 1)).toMatchObject({ state: 'waiting', attempts: 1 })
    // The next one has news of its own, and waits for no one.
    const [next] = await write(channel)
    courier.wake()
    await until(async () => (await state(next)) === 'sent')
    await again()
    await until(async () => server.arrivals.length === 4)
    expect(server.arrivals).toMatchObject([OPS, OPS, FULL, FULL])
  })

  test('is as good as one that all get at once, when they have it', async () => {
    const { id, again } = await partlyTaken('full@example.com')
    expect(await channelRow()).toMatchObject({ failing: true })
    await again()
    await until(async () => (await state(id + 1)) === 'sent')
    expect(await channelRow()).toMatchObject({ failing: false, last_answer: '250 queued as 4F1E2A3B' })
  })

  test('does not make good that its server refuses another one', async () => {
    const { channel, courier, id, again } = await partlyTaken('nobody@example.com', 'full@example.com')
    await again()
    await until(async () => (await state(id + 1)) === 'sent')
    const refused = { failing: true, last_answer: expect.stringContaining('not taken for n***@example.com') }
    expect(await channelRow()).toMatchObject(refused)
    // Neither does a message that is for one person of another address.
    await store.pool.query(
      `insert into dirsync.alert_message (channel, kind, content) values ('ops//0', 'alerts', $1)`,
      [{ ...MESSAGE, recipients: ['ops@example.com'] }],
    )
    courier.wake()
    await until(async () => (await state(id + 2)) === 'sent')
    expect(await channelRow()).toMatchObject(refused)
    expect(await sendTest(channel.settings, FROM)).toMatchObject({ accepted: false })
  })

  test('fails for as long as one of them lacks a message', async () => {
    const { server, channel, courier, id, again } = await partlyTaken('full@example.com')
    await again(true)
    await until(async () => (await row(id + 1)).attempts === 2)
    const [next = 0] = await write(channel)
    courier.wake()
    await until(async () => (await state(next)) === 'sent')
    server.isFull = false
    await store.pool.query('update dirsync.alert_message set not_before = now() where id = $1', [id + 1])
    courier.wake()
    await until(async () => (await state(id + 1)) === 'sent')
    expect(await channelRow()).toMatchObject({ failing: true })
    await again()
    await until(async () => (await state(next + 1)) === 'sent')
    expect(await channelRow()).toMatchObject({ failing: false })
  })

  test('is not sent to whom the settings no longer name, nor to a robot that has the name now', async () => {
    const { server, courier, id, settings } = await partlyTaken('full@example.com')
    await courier.stop()
    server.isFull = false
    const inbox = await Inbox.open()
    for (const channel of [inbox.channel({ ...settings, to: ['ops@example.com'] }), inbox.channel()]) {
      await store.pool.query(`update dirsync.alert_message set state = 'waiting' where id = $1`, [id + 1])
      await itIsTime()
      const next = startCourier([channel])
      await until(async () => (await state(id + 1)) === 'given_up')
      await next.stop()
    }
    expect(server.arrivals).toMatchObject([OPS])
    expect(inbox.arrivals).toEqual([])
  })
})

test('a server that hangs is cut off, and delays no other channel', async () => {
  const [hanging, other] = [await Inbox.open(), await Inbox.open()]
  hanging.answer = hangs
  const channels = [hanging.channel({ name: 'slow' }), other.channel({ name: 'fast' })]
  const [slow, fast] = await write(...channels)
  const courier = startCourier(channels)
  await hanging.arrival(1)
  await until(async () => (await state(fast)) === 'sent')
  const [again] = await write(channels[1] as Channel)
  courier.wake()
  await until(async () => (await state(again)) === 'sent')
  expect(await row(slow)).toMatchObject({ leased: true, answer: null })
  await until(async () => (await row(slow)).answer !== null)
  expect(await row(slow)).toMatchObject({ state: 'waiting', leased: false, attempts: 1 })
  expect(hanging.arrivals).toHaveLength(1)
})

test('a stop does not wait for a server that hangs: the next process sends the message', async () => {
  const inbox = await Inbox.open()
  inbox.answer = hangs
  const channel = inbox.channel()
  const [id] = await write(channel)
  const courier = startCourier([channel])
  await inbox.arrival(1)
  await courier.stop()
  // It was given up before the channel itself gave up, which would have left an answer.
  expect(await row(id)).toMatchObject({ state: 'waiting', leased: false, answer: null })
  expect(await channelRow()).toMatchObject({ failing: false })

  inbox.answer = takes
  startCourier([channel])
  await until(async () => (await state(id)) === 'sent')
})

test('a stop lets a message that is being taken arrive', async () => {
  const inbox = await Inbox.open()
  inbox.answer = response => delay(200).then(() => response.end('ok'))
  const channel = inbox.channel()
  const [id] = await write(channel)
  const courier = startCourier([channel])
  await inbox.arrival(1)
  await courier.stop()
  expect(await state(id)).toBe('sent')
})

test('two processes send each message once', async () => {
  const inbox = await Inbox.open()
  const channels = Array.from({ length: 10 }, (_, i) => inbox.channel({ name: `c${i}` }))
  const ids = await write(...channels)
  startCourier(channels)
  startCourier(channels)
  await until(
    async () => (await store.value(`select bool_and(state = 'sent') from dirsync.alert_message`)) === true,
  )
  expect(inbox.arrivals.map(({ id }) => Number(id)).sort((a, b) => a - b)).toEqual(ids)
})

test('sends nothing for a channel that it does not know', async () => {
  const inbox = await Inbox.open()
  const [mine, theirs] = [inbox.channel({ name: 'mine' }), inbox.channel({ name: 'theirs' })]
  const [one, other] = await write(mine, theirs)
  startCourier([mine])
  await until(async () => (await state(one)) === 'sent')
  expect(await row(other)).toMatchObject({ state: 'waiting', attempts: 0 })
})

test('what another process is sending is left alone until its lease ends', async () => {
  const inbox = await Inbox.open()
  const [channel, other] = [inbox.channel(), inbox.channel({ name: 'other' })]
  const [id, beside] = await write(channel, other)
  await store.pool.query(
    `update dirsync.alert_message set leased_until = now() + interval '20 s', attempts = 1 where id = $1`,
    [id],
  )
  startCourier([channel, other])
  await until(async () => (await state(beside)) === 'sent')
  expect(await row(id)).toMatchObject({ leased: true, attempts: 1 })
  await itIsTime()
  // No notification is sent: the courier polls.
  await until(async () => (await state(id)) === 'sent')
})

test('a process that was too slow does not overwrite the later result', async () => {
  const inbox = await Inbox.open()
  const { promise: since, resolve } = Promise.withResolvers<void>()
  inbox.answer = response => since.then(() => response.writeHead(500).end())
  const channel = inbox.channel()
  const [id] = await write(channel)
  const slow = startCourier([channel])
  await inbox.arrival(1)
  await store.pool.query(
    `update dirsync.alert_message
     set attempts = 2, state = 'sent', sent_at = now(), leased_until = null where id = $1`,
    [id],
  )
  resolve()
  await slow.stop()
  expect(await row(id)).toMatchObject({ state: 'sent', attempts: 2, answer: null })
})

test('a message that was taken while the database was away is not sent again', async () => {
  const inbox = await Inbox.open()
  const channel = inbox.channel()
  const [id] = await write(channel)
  const proxy = await startTcpProxy(store.url)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  const pool = createPool(proxy.url, { max: 2, name: 'proxied', logger: SILENT, timeoutMs: 2000 })
  onTestFinished(() => pool.end())
  const away = Promise.withResolvers<void>()
  inbox.answer = async response => {
    await proxy.refuse()
    response.end('ok')
    away.resolve()
  }
  startCourier([channel], { pool })
  await away.promise
  expect(await row(id)).toMatchObject({ state: 'waiting', leased: true })
  await proxy.accept()
  await until(async () => (await state(id)) === 'sent')
  expect(inbox.arrivals).toHaveLength(1)
})

test('a start retries postponed messages at once: the settings may have been corrected', async () => {
  const inbox = await Inbox.open()
  const channel = inbox.channel()
  const [id] = await write(channel)
  await store.pool.query(`update dirsync.alert_message set not_before = now() + interval '1 hour'`)
  startCourier([channel])
  await until(async () => (await state(id)) === 'sent')
})

describe('the delay', () => {
  const away = new ChannelError('CHANNEL_UNAVAILABLE', inWords('away'))
  const limited = (retryAfterMs: number) =>
    new ChannelError('CHANNEL_LIMITED', inWords('busy'), { retryAfterMs })
  const refused = new ChannelError('CHANNEL_REFUSED', inWords('no'))
  const seconds = (attempts: number, error: unknown) => putOffMs(attempts, error, 0.5) / 1000

  test('grows to five minutes, and where a server refuses to an hour', () => {
    expect([1, 2, 3, 5, 6, 1000].map(n => seconds(n, away))).toEqual([10, 20, 40, 160, 300, 300])
    expect([1, 2, 3, 5, 1000].map(n => seconds(n, refused))).toEqual([300, 600, 1200, 3600, 3600])
    expect(seconds(1, new Error('whatever'))).toBe(10)
  })

  test('is what the server asks for, an hour at most, and never less than usual', () => {
    expect(seconds(1, limited(90_000))).toBe(90)
    expect(seconds(5, limited(1000))).toBe(160)
    expect(seconds(1, limited(86_400_000))).toBe(3600)
  })

  test('differs by chance', () => {
    expect(putOffMs(1, away, 0)).toBe(7000)
    expect(putOffMs(1, away, 0.999)).toBeGreaterThan(12_900)
  })
})

describe('events of runs and cases', () => {
  const addRun = (state: string) =>
    store.value<number>(
      `insert into dirsync.sync_run (kind, state, requested_by) values ('full', $1, 'cron') returning id`,
      [state],
    )

  test('reach a webhook that wants them, signed, once each and in order, whatever it answers', async () => {
    let answer = 500
    await using receiver = await startReceiver(() => [answer, ''])
    const { webhook: secret } = SECRETS
    const settings: ChannelSettings = {
      ...{ name: 'sync', kind: 'webhook', url: receiver.origin, secret, least: 'info', language: 'en' },
      ...{ mention: [], from: null, to: [], events: ['run.requested', 'case.*'] },
    }
    const channel = openChannel(settings)
    onTestFinished(() => channel.close())
    await addRun('requested') // before the channel is there
    await transaction(store.pool, client => noteChannels(client, [channel]))
    const courier = startCourier([channel])
    await until(() => store.value(`select event_place from dirsync.alert_channel where name = 'sync'`))

    const first = await addRun('requested')
    await addRun('held')
    courier.wake()
    await until(async () => receiver.arrivals.length === 1)
    const second = await addRun('requested')
    answer = 200
    await until(async () => {
      await itIsTime()
      courier.wake()
      return receiver.arrivals.length >= 3
    })
    const bodies = receiver.arrivals.map(({ body }) => JSON.parse(body))
    expect(bodies[0]).toMatchObject({ type: 'events', data: { channel: 'sync' } })
    expect(bodies[1].data).toEqual(bodies[0].data)
    expect(receiver.arrivals[1]?.headers['webhook-id']).toBe(receiver.arrivals[0]?.headers['webhook-id'])
    const told = [bodies[1], bodies[2]].flatMap(({ data }) => data.events)
    expect(told.map(({ type, run }) => [type, run.id])).toEqual([
      ['run.requested', first],
      ['run.requested', second],
    ])

    // As docs/alerts.md says.
    const [, code = ''] =
      /```js\n([^`]*export function isSigned[\s\S]*?)```/.exec(pageOf('docs/alerts.md')) ?? []
    const { isSigned } = await import(`data:text/javascript,${encodeURIComponent(code)}`)
    for (const { headers, body } of receiver.arrivals) {
      expect(isSigned(secret, headers, body)).toBe(true)
      expect(isSigned(secret, headers, `${body} `)).toBe(false)
      expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toBeTruthy()
    }
  })

  describe('while no poll is due', () => {
    /** Events of its channel from the first on, sent without a look at the clock. */
    async function deliver(wanted: string[], plant: string): Promise<Inbox> {
      const inbox = await Inbox.open()
      const channel = inbox.channel({ name: 'sync', secret: SECRETS.webhook, events: wanted })
      await transaction(store.pool, client => noteChannels(client, [channel]))
      await store.pool.query('update dirsync.alert_channel set event_place = 0')
      await store.pool.query(plant)
      vi.useFakeTimers({ toFake: ['setTimeout'] })
      onTestFinished(() => void vi.useRealTimers())
      startCourier([channel])
      return inbox
    }

    test('a backlog is sent message after message', async () => {
      const inbox = await deliver(
        ['run.*'],
        `insert into dirsync.sync_run (kind, state, requested_by)
         select 'full', 'requested', 'cron' from generate_series(1, 350)`,
      )
      await inbox.arrival(4)
      const ids = inbox.arrivals.map(({ events = [] }) => events.map(({ run }) => run?.id ?? 0))
      expect(ids.map(({ length }) => length)).toEqual([100, 100, 100, 50])
      expect(ids.flat()).toEqual(ids.flat().toSorted((a, b) => a - b))
    })

    test('what is wanted is found behind whatever is not', async () => {
      const inbox = await deliver(
        ['run.done'],
        `with planted as (
           insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state)
           values ('employee', 'e1', 'update-employee', 'left_hr', '[]', '[]', 'open') returning id
         )
         insert into dirsync.dead_letter_event (dead_letter_id, event, at)
         select id, 'commented', now() - interval '1 minute' from planted cross join generate_series(1, 1500);
         insert into dirsync.sync_run (kind, state, requested_by) values ('full', 'done', 'cron')`,
      )
      expect((await inbox.arrival(1)).events).toMatchObject([{ type: 'run.done' }])
    })
  })
})
