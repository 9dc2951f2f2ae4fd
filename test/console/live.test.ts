import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request } from 'node:http'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Scope } from '../../src/console/auth/scope.ts'
import { addToken } from '../../src/console/auth/tokens.ts'
import { lockTransaction } from '../../src/lib/advisory-lock.ts'
import { until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'
import { openApp, signInAs, type TestApp } from './console-under-test.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))

async function listening(databaseUrl = database.url): Promise<TestApp & { url: string }> {
  const console = await openApp(databaseUrl)
  const url = await console.app.listen({ host: '127.0.0.1', port: 0 })
  onTestFinished(() => console[Symbol.asyncDispose]())
  return Object.assign(console, { url })
}

/** A stream of which every event is kept until it is read. */
interface Stream extends IncomingMessage {
  /** The next of its events, which end with an empty line. */
  next(): Promise<string>
}

async function watch(url: string, headers: Record<string, string>): Promise<Stream> {
  const asked = request(`${url}/events`, { headers, agent: false }).end()
  onTestFinished(() => void asked.destroy())
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  let end: Error | undefined
  let more = Promise.withResolvers<void>()
  const wake = () => {
    more.resolve()
    more = Promise.withResolvers()
  }
  answer
    .setEncoding('utf8')
    .on('data', chunk => {
      text += chunk
      wake()
    })
    .on('error', () => {})
    .on('close', () => {
      end = new Error('the stream has ended')
      wake()
    })
  const next = async () => {
    for (;;) {
      const at = text.indexOf('\n\n')
      if (at >= 0) {
        const event = text.slice(0, at)
        text = text.slice(at + 2)
        return event
      }
      if (end) throw end
      await more.promise
    }
  }
  return Object.assign(answer, { next })
}

/** Waits for events that name the topics. */
async function untilMoved(stream: Stream, ...topics: string[]): Promise<void> {
  let text = ''
  while (!topics.every(topic => new RegExp(`^data:.*\\b${topic}\\b`, 'm').test(text)))
    text += `${await stream.next()}\n`
}

const tokenOf = async (name: string, scopes?: Scope[]) => {
  const expiresAt = new Date(Date.now() + 86_400_000)
  return {
    authorization: `Bearer ${await addToken(database.pool, 'test', { name, role: 'viewer', expiresAt, scopes })}`,
  }
}

test('a stream lasts ten minutes, and can be opened again', async () => {
  const console = await listening()
  const cookie = await signInAs(console, 'reviewer')
  const stream = await watch(console.url, { cookie })
  expect(stream.statusCode).toBe(200)
  stream.resume()
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 10 * 60_000 + 1 })
  onTestFinished(() => void vi.useRealTimers())
  await once(stream, 'end')
  vi.useRealTimers()
  expect((await watch(console.url, { cookie })).statusCode).toBe(200)
})

test('one who opens a hundred streams leaves room for the others', async () => {
  const console = await listening()
  const [greedy, other] = [await tokenOf('greedy'), await tokenOf('other')]
  const streams: Stream[] = []
  // One after the other: the database says who each is, by two connections, and must answer within three seconds.
  while (streams.length < 100) streams.push(await watch(console.url, greedy))
  expect(new Set(streams.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
  const refused = await watch(console.url, greedy)
  expect([refused.statusCode, refused.headers['retry-after']]).toEqual([429, '30'])
  expect((await watch(console.url, other)).statusCode).toBe(200)

  streams[0]?.destroy()
  await vi.waitFor(async () => expect((await watch(console.url, greedy)).statusCode).toBe(200), {
    timeout: 60_000,
  })
})

test('every part is asked for anew when the database goes away, and when it comes back', async () => {
  await using proxy = await startTcpProxy(database.url)
  const console = await listening(proxy.url)
  const stream = await watch(console.url, await tokenOf('watcher'))
  await untilMoved(stream, 'work', 'cases', 'halts')
  await proxy.refuse()
  await untilMoved(stream, 'work', 'cases', 'halts', 'platform')
  await proxy.accept()
  await untilMoved(stream, 'work', 'cases', 'halts', 'platform')
})

test('runs have moved when a part of a held plan is decided, and when HR was checked again', async () => {
  const console = await listening()
  const { rows } = await database.pool.query(
    `insert into dirsync.sync_run (kind, state, planned, planned_at) values ('changes', 'held', 3, now())
     returning id::int`,
  )
  const { id } = rows[0]
  await database.pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason, active, source_hash)
     select $1, 'update-employee', key, 'changed', true, gen_random_uuid() from unnest('{e1,e2,e3}'::text[]) key`,
    [id],
  )
  const stream = await watch(console.url, await tokenOf('decider'))
  // At first everything is new.
  await untilMoved(stream, 'runs', 'cases')
  await database.pool.query(`select dirsync.reject_part($1, '{"keys": ["e1"]}', 'not now')`, [id])
  await untilMoved(stream, 'runs')
  await database.pool.query(`select dirsync.reject_part($1, '{"keys": ["e2"]}', 'nor her')`, [id])
  await untilMoved(stream, 'runs')
  await database.pool.query('update dirsync.sync_run set checked_at = now() where id = $1', [id])
  await untilMoved(stream, 'runs')
})

test('runs have moved when a part of a mirror was read, and processes when one steps aside or is outdated', async () => {
  const console = await listening()
  const { pool } = database
  await pool.query(`
    insert into dirsync.process (id, host, pid, roles, version, hr_owners)
      values (gen_random_uuid(), 'h', 1, '{worker}', '1', dirsync.hr_owners());
    with run as (
      insert into dirsync.sync_run (kind, state, planned_at) values ('orders', 'running', now()) returning id
    )
    insert into dirsync.mirror_task (run_id, position) select id, n from run, generate_series(1, 3) n`)
  onTestFinished(async () => void (await pool.query('delete from dirsync.process')))
  const stream = await watch(console.url, await tokenOf('reader'))
  await untilMoved(stream, 'runs', 'processes')
  await pool.query('delete from dirsync.mirror_task where position = 1')
  await untilMoved(stream, 'runs')
  await pool.query(
    `update dirsync.sync_run set result = '{"rows": {"read": 100, "changed": 0}}' where kind = 'orders'`,
  )
  await untilMoved(stream, 'runs')
  await pool.query(`update dirsync.process set aside_for = 'unreachable'`)
  await untilMoved(stream, 'processes')
  await pool.query(`update dirsync.process set hr_owners = '{"one": "of before"}'`)
  await untilMoved(stream, 'processes')
})

test('money has moved when an outcome becomes known, and when a notification comes after it', async () => {
  const console = await listening()
  await database.pool.query(
    `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, requested_by, state)
     values ('R', 'T', 1, 'tester', 'unknown');
     insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, requested_by, state, settled_at, sent_at)
     values ('later', 'T2', 1, 'tester', 'accepted', now(), now())`,
  )
  const stream = await watch(console.url, await tokenOf('teller'))
  await untilMoved(stream, 'money')
  await database.pool.query(
    `update dirsync.refund set state = 'accepted', settled_at = now() where outer_refund_no = 'R'`,
  )
  await untilMoved(stream, 'money')
  await database.pool.query(
    `update dirsync.refund set state = 'notified', notified_at = now() where outer_refund_no = 'R'`,
  )
  await untilMoved(stream, 'money')
})

test('halts and schedules have moved when another person pauses what is paused, for another reason', async () => {
  const console = await listening()
  await database.pool.query(
    `insert into dirsync.job_schedule (job, expression, interval_seconds, next_due_at)
     values ('full-resync', '0 3 * * *', 86400, now() + interval '1 hour') on conflict do nothing`,
  )
  const pause = (reason: string) =>
    database.pool.query(`select dirsync.pause($1), dirsync.pause_schedule('full-resync', $1)`, [reason])
  await pause('maintenance')
  onTestFinished(async () => {
    await database.pool.query('select dirsync.resume()')
  })
  const stream = await watch(console.url, await tokenOf('pauser'))
  await untilMoved(stream, 'halts', 'schedules')
  await pause('a wrong file')
  await untilMoved(stream, 'halts', 'schedules')
})

describe('the events for programs', () => {
  interface Told {
    id: number
    type: string
    run: { id: number; state: string } | null
    case: { id: number; entity_key: string } | null
  }

  /** The next events of a stream, in their order. */
  async function* eventsOf(stream: Stream): AsyncGenerator<Told> {
    try {
      for (;;) {
        const part = await stream.next()
        const [, id, type, data] = /^id: (\d+)\nevent: (\S+)\ndata: (.*)$/s.exec(part) ?? []
        if (data === undefined) continue
        const event = JSON.parse(data)
        expect([String(event.id), event.type]).toEqual([id, type])
        yield event
      }
    } finally {
      stream.destroy()
    }
  }

  async function next(events: AsyncGenerator<Told>): Promise<Told> {
    const { value } = await events.next()
    return value
  }

  const follow = async (url: string, headers: Record<string, string>) => {
    const stream = await watch(`${url}/api/v1`, headers)
    expect([stream.statusCode, stream.headers['content-type']]).toEqual([200, 'text/event-stream'])
    return eventsOf(stream)
  }

  /** What a stream begins with: its place. */
  async function placeOf(stream: Stream): Promise<number> {
    for (;;) {
      const place = /(?:^|\n)id: (\d+)$/.exec(await stream.next())?.[1]
      if (place !== undefined) return Number(place)
    }
  }

  /** Keeps events from being given their places until it is released. */
  async function withoutPlaces(): Promise<() => Promise<void>> {
    const client = await database.pool.connect()
    await client.query('begin')
    await lockTransaction(client, 'events')
    return async () => {
      await client.query('commit')
      client.release()
    }
  }

  const areWaiting = async () => (await database.pool.query(WAITING_FOR_A_LOCK)).rowCount

  const addRun = async (db: Pick<TestDatabase['pool'], 'query'> = database.pool) => {
    const { rows } = await db.query(
      `insert into dirsync.sync_run (kind, state, requested_by) values ('full', 'requested', 'cron') returning id`,
    )
    return Number(rows[0]?.id)
  }

  test('name what happens to runs and cases, and go on where a program was', async () => {
    const console = await listening()
    const headers = await tokenOf('follower')
    const events = await follow(console.url, headers)
    const run = await addRun()
    expect(await next(events)).toMatchObject({
      type: 'run.requested',
      run: { id: run, state: 'requested' },
      case: null,
    })
    await database.pool.query(`update dirsync.sync_run set state = 'planning' where id = $1`, [run])
    const planning = await next(events)
    expect(planning).toMatchObject({ type: 'run.planning', run: { id: run } })
    await database.pool.query('select dirsync.record_failure($1)', [
      {
        ...{
          enterprise_code: '',
          entity: 'employee',
          entity_key: 'e1',
          operation: 'update-employee',
          field: '',
        },
        ...{ category: 'duplicate_mobile', message: [], remedy: [], state: 'open', changed_fields: [] },
      },
    ])
    const opened = await next(events)
    expect(opened).toMatchObject({ type: 'case.opened', run: null, case: { entity_key: 'e1' } })
    await events.return(undefined)

    const again = await follow(console.url, { ...headers, 'last-event-id': String(planning.id) })
    expect(await next(again)).toEqual(opened)
    const refused = await watch(`${console.url}/api/v1`, { ...headers, 'last-event-id': 'x' })
    expect(refused.statusCode).toBe(422)
  })

  test('tell their place at once: one who saw no event misses none either', async () => {
    const console = await listening()
    const headers = await tokenOf('quiet')
    const first = await watch(`${console.url}/api/v1`, headers)
    const place = await placeOf(first)
    first.destroy()
    const run = await addRun()
    const again = await follow(console.url, { ...headers, 'last-event-id': String(place) })
    expect((await next(again)).run?.id).toBe(run)
  })

  test('tell the place after what a token may not see', async () => {
    const console = await listening()
    const stream = await watch(`${console.url}/api/v1`, await tokenOf('limited', ['runs']))
    const place = await placeOf(stream)
    await database.pool.query(
      `with planted as (
         insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state)
         values ('employee', 'unseen', 'update-employee', 'left_hr', '[]', '[]', 'open') returning id
       )
       insert into dirsync.dead_letter_event (dead_letter_id, event) select id, 'opened' from planted`,
    )
    expect(await placeOf(stream)).toBeGreaterThan(place)
  })

  test('begin anew after an id that has not been given, as that of a database before its backup was restored', async () => {
    const console = await listening()
    const headers = await tokenOf('restored')
    const place = await placeOf(await watch(`${console.url}/api/v1`, headers))
    const stream = await watch(`${console.url}/api/v1`, { ...headers, 'last-event-id': String(place + 1000) })
    expect(await placeOf(stream)).toBe(place)
    const run = await addRun()
    expect((await next(eventsOf(stream))).run?.id).toBe(run)
  })

  test('begin further back after an id that only the database before a restore has given, whatever happened since', async () => {
    const console = await listening()
    const headers = await tokenOf('restored-later')
    const place = await placeOf(await watch(`${console.url}/api/v1`, headers))
    await database.pool.query('select dirsync.doubt_memory()')
    const since = [await addRun(), await addRun(), await addRun()]
    // They have their places, which are not those that the program has seen.
    await placeOf(await watch(`${console.url}/api/v1`, headers))
    const stream = await watch(`${console.url}/api/v1`, { ...headers, 'last-event-id': String(place + 2) })
    expect(await placeOf(stream)).toBe(place)
    const told: unknown[] = []
    for await (const { run } of eventsOf(stream)) if (told.push(run?.id) && run?.id === since.at(-1)) break
    expect(told).toEqual(expect.arrayContaining(since))
  })

  test('begin after what is given its place at that moment', async () => {
    const console = await listening()
    const old = await addRun()
    const release = await withoutPlaces()
    const opened = watch(`${console.url}/api/v1`, await tokenOf('early'))
    await Promise.race([opened, until(async () => (await areWaiting()) === 1)])
    await release()
    const events = eventsOf(await opened)
    const run = await addRun()
    expect([old, (await next(events)).run?.id]).toEqual([old, run])
  })

  test('begin with what comes next, however much was there', async () => {
    await database.pool.query(
      `insert into dirsync.sync_run (kind, state, requested_by)
       select 'full', 'requested', 'cron' from generate_series(1, 4500)`,
    )
    const console = await listening()
    const events = await follow(console.url, await tokenOf('newcomer'))
    const run = await addRun()
    expect((await next(events)).run?.id).toBe(run)
  })

  test('of a transaction that ends later come later, and none is left out', async () => {
    const console = await listening()
    const events = await follow(console.url, await tokenOf('patient'))
    const slow = await database.pool.connect()
    onTestFinished(() => slow.release())
    await slow.query('begin')
    const early = await addRun(slow)
    const quick = await addRun()
    expect((await next(events)).run?.id).toBe(quick)
    await slow.query('commit')
    expect((await next(events)).run?.id).toBe(early)
  })

  test('are limited per user, also those that are opened at the same time', async () => {
    const console = await listening()
    const headers = await tokenOf('hoarder')
    const streams = await Promise.all(
      Array.from({ length: 20 }, () => watch(`${console.url}/api/v1`, headers)),
    )
    const opened = streams.filter(({ statusCode }) => statusCode === 200)
    expect([opened.length, new Set(streams.map(({ statusCode }) => statusCode))]).toEqual([
      5,
      new Set([200, 429]),
    ])
  })

  test('take no place once their callers have gone, even before they were open', async () => {
    const console = await listening()
    const headers = await tokenOf('hasty')
    const release = await withoutPlaces()
    const asked = Array.from({ length: 5 }, () =>
      request(`${console.url}/api/v1/events`, { headers, agent: false })
        .on('error', () => {})
        .end(),
    )
    await until(async () => (await areWaiting()) === 2)
    for (const one of asked) one.destroy()
    await release()
    await vi.waitFor(
      async () => {
        const streams = await Promise.all(asked.map(() => watch(`${console.url}/api/v1`, headers)))
        const statuses = streams.map(({ statusCode }) => statusCode)
        if (statuses.some(status => status !== 200)) for (const stream of streams) stream.destroy()
        expect(statuses).toEqual([200, 200, 200, 200, 200])
      },
      { timeout: 20_000 },
    )
  })
})
