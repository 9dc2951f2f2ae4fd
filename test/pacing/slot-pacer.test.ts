import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { Worker } from 'node:worker_threads'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { PostgresSlots } from '../../src/pacing/postgres-slots.ts'
import { SlotPacer, type SlotPacerOptions } from '../../src/pacing/slot-pacer.ts'
import type { LeaseRequest } from '../../src/pacing/slots.ts'
import { until } from '../helpers/company.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'

const request = { operation: 'employee/get' }

let database: TestDatabase
let open: (() => Promise<void>)[]

beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
})

afterAll(() => database.close())

beforeEach(async () => {
  await database.pool.query('truncate dirsync.pacer')
  open = []
})

afterEach(() => Promise.all(open.map(close => close())))

/** Slots that count how often they are asked for, and how often in vain. */
class CountingSlots extends PostgresSlots {
  leases = 0
  failed = 0

  override async lease(request: LeaseRequest) {
    this.leases += 1
    try {
      return await super.lease(request)
    } catch (error) {
      this.failed += 1
      throw error
    }
  }
}

/**
 * Another thread: a way to the database that sees what passes. Asked to come, it answers; asked to tell, it tells of a hold-off.
 * It wakes this thread once it has answered, and once the notification has been written to it.
 */
const TELLER = `
  const net = require('node:net')
  const { parentPort, workerData: { url, done } } = require('node:worker_threads')
  const { Client } = require('pg')
  const wake = () => (Atomics.add(done, 0, 1), Atomics.notify(done, 0))
  const server = new URL(url)
  const way = net.createServer(socket => {
    const database = net.connect(server.port, server.hostname)
    socket.pipe(database)
    database.on('data', data => {
      const hasTold = data.includes('dirsync_pacer\\x00400\\x00')
      if (hasTold) done[1] = socket.remotePort
      socket.write(data, () => hasTold && wake())
    })
    for (const end of [socket, database]) end.on('error', () => {}).on('close', () => (socket.destroy(), database.destroy()))
  })
  way.listen(0, '127.0.0.1', async () => {
    const client = new Client(url)
    await client.connect()
    parentPort.on('message', async message => {
      if (message === 'come') parentPort.postMessage('here'), wake()
      else await client.query("select pg_notify('dirsync_pacer', '400')")
    })
    const by = new URL(url)
    by.host = '127.0.0.1:' + way.address().port
    parentPort.postMessage(by.href)
  })`

/** A teller, the way to the database by it, and what asks it, which blocks this thread until it is done. */
async function startTeller() {
  const done = new Int32Array(new SharedArrayBuffer(8))
  const teller = new Worker(TELLER, { eval: true, workerData: { url: database.url, done } })
  onTestFinished(() => void teller.terminate())
  const [url] = await once(teller, 'message')
  const ask = (what: 'come' | 'tell') => {
    const before = Atomics.load(done, 0)
    teller.postMessage(what)
    Atomics.wait(done, 0, before)
  }
  /** Blocks until what the teller wrote has arrived here: on a busy machine that is later than when it was written. */
  const untilArrived = () => {
    const port = Atomics.load(done, 1).toString(16).toUpperCase().padStart(4, '0')
    const unread = new RegExp(
      `^ *\\d+: [0-9A-F]{8}:${port} [0-9A-F]{8}:[0-9A-F]{4} 01 [0-9A-F]{8}:(?!0{8})`,
      'm',
    )
    const late = performance.now() + 10_000
    while (!unread.test(readFileSync('/proc/net/tcp', 'utf8')))
      if (performance.now() > late) throw new Error('nothing has arrived')
  }
  return { url, ask, untilArrived, teller }
}

type Teller = Awaited<ReturnType<typeof startTeller>>

/** What Node.js does while it is held up. Each resolves at such a moment. */
const HELD_UP: [string, (by: Teller) => Promise<unknown>][] = [
  // What arrives meanwhile is read next.
  ['in a timer', () => new Promise(resolve => setTimeout(resolve))],
  // Late calls have their turn next.
  [
    'while it reads what arrived',
    async ({ ask, teller }) => {
      await new Promise(setImmediate)
      const message = once(teller, 'message')
      ask('come')
      // By now a slot is due: its timer is looked at before the message.
      for (const until = performance.now() + 5; performance.now() < until; );
      await message
    },
  ],
]

/** A pacer as a process of its own would have it. */
function pacerOf(
  rate: number,
  options: Partial<SlotPacerOptions> & { slots?: PostgresSlots } = {},
): SlotPacer {
  const { slots = new PostgresSlots({ url: database.url }) } = options
  const pacer = new SlotPacer({ budgets: new Map(), ...options, slots, rate })
  open.push(async () => {
    await pacer.close()
    await slots.close()
  })
  return pacer
}

/** Keeps `concurrency` callers busy until `calls` have passed; returns when each did. */
async function run(pacer: SlotPacer, calls: number, concurrency: number): Promise<number[]> {
  const passed: number[] = []
  let left = calls
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left > 0) {
        left -= 1
        await pacer.acquire(request)
        passed.push(performance.now())
      }
    }),
  )
  return passed
}

/** Checks every stretch that begins at `started`: never more than the rate permits, and one. */
function expectWithin(ratePerSecond: number, started: number, passed: number[], processes = 1): void {
  // Each process puts the slots on its own clock, which is as exact as the database answers fast.
  const inexact = (processes - 1) * 20
  for (const [index, at] of passed.toSorted((a, b) => a - b).entries()) {
    expect(index + 1).toBeLessThanOrEqual(((at - started + inexact) / 1000) * ratePerSecond + 1)
  }
}

/** Checks that a hold-off requested after `begun` was kept: it cannot have ended before. */
function expectHeld(begun: number, ms: number): void {
  // The clocks of Node.js and PostgreSQL may run differently by a little.
  expect(performance.now() - begun).toBeGreaterThan(ms - 5)
}

test('one process keeps the rate and reaches most of it, asking for slots far less than once per call', async () => {
  const slots = new CountingSlots({ url: database.url })
  const started = performance.now()
  expectWithin(500, started, await run(pacerOf(500, { slots }), 400, 32))
  expect(slots.leases).toBeLessThan(400 / 5)
})

test('several processes keep the rate together, and each gets a part', async () => {
  const started = performance.now()
  const runs = await Promise.all([1, 2, 3].map(() => run(pacerOf(500), 100, 16)))
  expectWithin(500, started, runs.flat(), 3)
})

test('processes with different priorities inside: the urgent caller goes first', async () => {
  const pacer = pacerOf(50)
  const order: string[] = []
  const come = (who: string, priority?: number) =>
    pacer.acquire({ ...request, ...(priority !== undefined && { priority }) }).then(() => order.push(who))
  await Promise.all([come('a'), come('b'), come('urgent', 1), come('c', 20)])
  expect(order).toEqual(['urgent', 'a', 'b', 'c'])
})

test('a rate that is never reached costs next to nothing', async () => {
  const slots = new CountingSlots({ url: database.url })
  const pacer = pacerOf(100_000, { slots })
  await run(pacer, 100, 32)
  const before = slots.leases
  await run(pacer, 5000, 32)
  expect(slots.leases - before).toBeLessThan(50)
})

test('a slow rate spaces calls, whichever process makes them', async () => {
  const [one, two] = [pacerOf(20), pacerOf(20)]
  const started = performance.now()
  for (const pacer of [one, two, one, two, one]) await pacer.acquire(request)
  expect(performance.now() - started).toBeGreaterThan(4 * 50 - 5)
})

test('an operation with a budget keeps it over all processes, and others pass meanwhile', async () => {
  const budgets = new Map([[request.operation, 25]])
  const processes = [1, 2, 3].map(() => pacerOf(500, { budgets }))
  const started = performance.now()
  const [passed] = await Promise.all([
    Promise.all(processes.map(pacer => run(pacer, 4, 4))),
    ...processes.map(pacer => pacer.acquire({ operation: 'employee/update' })),
  ])
  expectWithin(25, started, passed.flat(), 3)
})

describe('abort and close', () => {
  test('a caller who gives up is rejected with the reason, and the others go on', async () => {
    const pacer = pacerOf(20)
    const abort = new AbortController()
    await pacer.acquire(request)
    const given = pacer.acquire({ ...request, signal: abort.signal }).catch(error => error.message)
    const other = pacer.acquire(request)
    abort.abort(new Error('enough'))
    expect(await given).toBe('enough')
    await other
  })

  test('closing rejects the waiting callers', async () => {
    const pacer = pacerOf(1)
    await pacer.acquire(request)
    const waiting = expect(pacer.acquire(request)).rejects.toMatchObject({ code: 'PACER_CLOSED' })
    await pacer.close()
    await pacer.close()
    await waiting
  })
})

describe('a hold-off', () => {
  test('holds every process, also one that has slots already', async () => {
    const [one, two] = [pacerOf(200), pacerOf(200)]
    await Promise.all([run(one, 5, 2), run(two, 5, 2)])
    const begun = performance.now()
    await one.holdOff(400, 'HTTP 429 on employee/get')
    await new Promise(resolve => setTimeout(resolve, 260)) // what two had reserved is over by then
    await Promise.all([one, two].map(pacer => pacer.acquire(request)))
    expectHeld(begun, 400)
  })

  test('is kept with its reason, and never shortened', async () => {
    const pacer = pacerOf(200)
    await pacer.holdOff(60_000, 'first')
    await pacer.holdOff(10, 'second')
    const { rows } = await database.pool.query(
      `select pause_reason, paused_until > now() + interval '50 s' as long from dirsync.pacer`,
    )
    expect(rows).toEqual([{ pause_reason: 'first', long: true }])
  })

  test('a notification without a stored hold-off delays nothing for long: anyone who may connect may notify', async () => {
    const pacer = pacerOf(100)
    await pacer.acquire(request)
    await database.pool.query(`select pg_notify('dirsync_pacer', '86400000')`)
    await until(async () => pacer.snapshot().pausedForMs > 0)
    await pacer.acquire({ ...request, signal: AbortSignal.timeout(20_000) })
  })

  test('a process that starts during a hold-off keeps it', async () => {
    const begun = performance.now()
    await pacerOf(200).holdOff(300, 'asked to')
    await pacerOf(200).acquire(request)
    expectHeld(begun, 300)
  })

  test.each(HELD_UP)(
    'is heard of by a process that was held up %s before it lets late calls go',
    async (_, held) => {
      const by = await startTeller()
      const pacer = pacerOf(500, { slots: new PostgresSlots({ url: by.url }) })
      await run(pacer, 100, 16)
      await pacer.holdOff(50, 'so that it is known to listen')
      const calls = run(pacer, 200, 16)
      await run(pacerOf(500), 1, 1)
      await held(by)
      by.ask('tell')
      by.untilArrived()
      const until = performance.now()
      const passed = await calls
      expect(passed.filter(at => at >= until && at < until + 350)).toEqual([])
    },
  )

  test('a longer hold-off is noticed by callers that wait already', async () => {
    const [one, two] = [pacerOf(200), pacerOf(200)]
    await one.holdOff(1100, 'first')
    const waiting = two.acquire(request)
    const begun = performance.now()
    await one.holdOff(1400, 'second')
    await waiting
    expectHeld(begun, 1400)
  })
})

describe('while no slots can be had', () => {
  const away = () => database.pool.query('alter table dirsync.pacer rename to pacer_away')
  const back = () => database.pool.query('alter table dirsync.pacer_away rename to pacer')

  test('calls wait, and go on by themselves when they can be had again', async () => {
    const slots = new CountingSlots({ url: database.url })
    const pacer = pacerOf(200, { slots })
    const started = performance.now()
    const before = await run(pacer, 20, 8)
    await away()
    const rest = run(pacer, 150, 8)
    const { failed } = slots
    // By the second question, a second later, all that it had is used up.
    await until(async () => slots.failed >= failed + 2)
    expect(pacer.snapshot().waiting).toBe(8)
    await back()
    expectWithin(200, started, [...before, ...(await rest)])
  })

  test('a hold-off still holds this process', async () => {
    const pacer = pacerOf(200)
    await run(pacer, 5, 1)
    await away()
    const begun = performance.now()
    await pacer.holdOff(100, 'asked to')
    const call = pacer.acquire(request)
    await back()
    await call
    expectHeld(begun, 100)
  })
})

test('a person’s pause is seen by calls that come, and by those whose turn comes', async () => {
  let paused = false
  const pacer = pacerOf(2, { isPaused: async () => paused })
  await pacer.acquire(request)
  const waiting = expect(pacer.acquire(request)).rejects.toMatchObject({ code: 'CALLS_PAUSED' })
  paused = true
  await waiting
  await expect(pacer.acquire(request)).rejects.toMatchObject({ code: 'CALLS_PAUSED' })
})
