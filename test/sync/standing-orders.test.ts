import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, onTestFinished, test, vi } from 'vitest'
import { databaseTime, transaction } from '../../src/lib/database.ts'
import type { CallReport } from '../../src/platform/client.ts'
import { PlatformError, type PlatformFailure } from '../../src/platform/errors.ts'
import { accountProbe } from '../../src/sync/outbox/account-probe.ts'
import { nextProbeDelay } from '../../src/sync/outbox/backoff.ts'
import { takeProbes } from '../../src/sync/outbox/feeding.ts'
import {
  endOutage,
  haltForOutage,
  haltForPlatform,
  leaveProbesToJobs,
  liftHalts,
  readHalts,
} from '../../src/sync/outbox/halts.ts'
import { heartbeat } from '../../src/sync/processes/process.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

/** So many calls of different employees without an answer are an outage for a worker. */
const CALLS = 5
const REFUSED = 1000210003
const PACER = {
  ...{ ratePerSecond: 10, set: 10, learnt: false, ceiling: null, cap: null, waiting: 0, pausedForMs: 0 },
  ...{ callsPerSecond: 0, concurrency: 1, clockOffsetMs: null },
}

/** The platform, and time, which goes on only when told. */
class World {
  accepted = 'a'
  /** It answers nobody; or only what asks about the token. */
  state: 'well' | 'away' | 'partly away' = 'well'
  /** How a call fails that gets no answer: a gateway of the platform may give one in its place. */
  failure: Pick<PlatformFailure, 'kind' | 'httpStatus'> = { kind: 'connection' }
  /** There is a scheduler, and a queue: jobs come to workers. */
  isFed = true
  /** They read HR first, and make no call. */
  hrIsAway = false
  /** Tokens that may have been created: each question about the token needs one. */
  creations = 0

  get jobsCall(): boolean {
    return this.isFed && !this.hrIsAway
  }

  async pass(seconds: number): Promise<void> {
    vi.advanceTimersByTime(seconds * 1000)
    const ago = `- $1 * interval '1 second'`
    await store.pool.query(
      `update dirsync.process set heartbeat_at = heartbeat_at ${ago}, started_at = started_at ${ago}, asked_at = asked_at ${ago}`,
      [seconds],
    )
    await store.pool.query(
      `update dirsync.halt set since = since ${ago}, next_probe_at = next_probe_at ${ago}, jobs_probe_until = jobs_probe_until ${ago}`,
      [seconds],
    )
  }
}

/** Whether a probe is due. Its job is back in the outbox as soon as it is done. */
async function takesProbe(): Promise<boolean> {
  const probes = await transaction(store.pool, db => takeProbes(db, nextProbeDelay))
  await store.pool.query('update dirsync.pending set enqueued_at = null')
  return probes.length > 0
}

/** A worker as far as it is about who works: its heartbeat, the loop that asks, and calls as its jobs make them. */
class Worker {
  isAlive = true
  reaches = true
  readonly secret: string
  readonly standing: Standing
  readonly #world: World
  readonly #id = randomUUID()
  readonly #probe: (signal: AbortSignal) => Promise<void>
  #unanswered = 0

  constructor(world: World, secret: string) {
    this.#world = world
    this.secret = secret
    this.standing = new Standing(store.pool, { id: this.#id, secretPrint: secret })
    this.standing.watch(aside => {
      if (aside === null) this.#unanswered = 0
    })
    this.#probe = accountProbe(this.#deps)
  }

  get isAble(): boolean {
    return this.isAlive && this.reaches && this.secret === this.#world.accepted
  }

  get #deps() {
    const client = {
      tokens: {
        info: async () => {
          this.#world.creations += 1
          await this.#call('token/getTokenInfo')
          return { access_token: '', expires_in: 1 }
        },
      },
      ping: () =>
        this.#call('token/getTokenInfo').then(
          () => true,
          error => error.kind === 'business',
        ),
    }
    return { pool: store.pool, logger: SILENT, standing: this.standing, client }
  }

  async beat(): Promise<void> {
    if (!this.isAlive) return
    const about = {
      host: 'h',
      pid: 1,
      roles: ['worker'],
      version: '1',
      pacer: PACER,
      secretPrint: this.secret,
    }
    this.standing.see((await heartbeat(store.pool, { id: this.#id, ...about })).aside)
  }

  async ask(): Promise<void> {
    // What fails is tried again.
    if (this.isAlive) await this.#probe(AbortSignal.timeout(60_000)).catch(() => {})
  }

  async work(): Promise<void> {
    const isAble = () => this.#world.isFed && this.isAlive && this.standing.aside === null
    for (let calls = CALLS; calls > 0 && isAble(); calls -= 1) {
      const halt = (await readHalts(store.pool)).find(({ scope }) => scope === '*')
      const isProbe = halt !== undefined && (await takesProbe())
      if ((halt && !isProbe) || this.#world.hrIsAway) return
      const startedAt = await databaseTime(store.pool)
      try {
        await this.#call('employee/get')
        this.#unanswered = 0
        if (isProbe) await liftHalts(this.#deps, 'E1', startedAt)
      } catch (error) {
        const { verdict, platformCode } = error as PlatformError
        const isRefused = verdict.disposition === 'halt'
        if (!isRefused) this.#unanswered += 1
        if (isRefused) await haltForPlatform(this.#deps, '*', verdict, platformCode ?? null)
        else if (this.#unanswered >= CALLS) await haltForOutage(this.#deps, verdict)
        if (isProbe && isRefused && this.standing.aside !== 'secret') await endOutage(this.#deps, startedAt)
        else if (isProbe) await leaveProbesToJobs(store.pool, 'E1')
      }
    }
  }

  async #call(operation: string): Promise<void> {
    const { state, accepted } = this.#world
    const ended = (code: CallReport['code']) => this.standing.called({ code })
    if (!this.reaches || state === 'away' || (state === 'partly away' && operation === 'employee/get')) {
      const { kind } = this.#world.failure
      ended(`PLATFORM_${kind.toUpperCase()}`)
      throw new PlatformError({ ...this.#world.failure, operation, outcomeKnown: kind === 'connection' })
    }
    if (this.secret === accepted) return ended(0)
    ended(REFUSED)
    await this.standing.leaveForSecret()
    throw new PlatformError({ kind: 'business', platformCode: REFUSED, operation, outcomeKnown: true })
  }
}

const MOST = 3
const who = fc.nat(MOST - 1)
const secret = fc.constantFrom('a', 'b')
const failure = fc.constantFrom<World['failure']>(
  { kind: 'connection' },
  { kind: 'http', httpStatus: 502 },
  { kind: 'http', httpStatus: 403 },
)
const jobs = fc.constantFrom<Pick<World, 'isFed' | 'hrIsAway'>>(
  { isFed: true, hrIsAway: false },
  { isFed: true, hrIsAway: true },
  { isFed: false, hrIsAway: false },
)
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ what: fc.constant('work' as const), who }) },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('ask' as const), who }) },
  {
    weight: 4,
    arbitrary: fc.record({ what: fc.constant('pass' as const), seconds: fc.integer({ min: 1, max: 400 }) }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('reach' as const),
      who,
      reaches: fc.constantFrom(false, false, true),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      what: fc.constant('platform' as const),
      state: fc.constantFrom('well', 'away', 'partly away'),
      failure,
    }),
  },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('jobs' as const), jobs }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('secret' as const), secret }) },
  { weight: 1, arbitrary: fc.record({ what: fc.constant('kill' as const), who }) },
  { weight: 2, arbitrary: fc.record({ what: fc.constant('start' as const), who, secret }) },
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function take(world: World, workers: Worker[], { what, ...of }: Step): Promise<void> {
  const at = ('who' in of ? of.who : 0) % workers.length
  const worker = workers[at] as Worker
  if (what === 'work') await worker.work()
  if (what === 'ask') await worker.ask()
  if (what === 'kill') worker.isAlive = false
  if (what === 'pass' && 'seconds' in of) {
    await world.pass(of.seconds)
    for (const one of workers) await one.beat()
  }
  if (what === 'reach' && 'reaches' in of) worker.reaches = of.reaches
  if (what === 'platform' && 'state' in of) Object.assign(world, of)
  if (what === 'jobs' && 'jobs' in of) Object.assign(world, of.jobs)
  if (what === 'secret' && 'secret' in of) world.accepted = of.secret
  if (what === 'start' && 'secret' in of) {
    workers[at] = new Worker(world, of.secret)
    await workers[at].beat()
  }
}

const ROUNDS = 40

/** 20 minutes in which all do what they do. @returns what was halted in the last five, each halt once */
async function settle(world: World, workers: readonly Worker[]): Promise<string[]> {
  const halts = new Set<string>()
  for (let round = 0; round < ROUNDS; round += 1) {
    await world.pass(30)
    for (const worker of workers) await worker.beat()
    for (const worker of workers) await worker.ask()
    for (const worker of workers) await worker.work()
    if (round < ROUNDS - 10) continue
    for (const { scope, category, probes } of await readHalts(store.pool))
      if (scope === '*') halts.add(`${category}, ${probes > 0 ? 'probed' : 'new'}`)
  }
  return [...halts]
}

test('whoever can work does so within 20 minutes, whatever has happened, and nobody halts everything again', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const property = fc.asyncProperty(
    fc.integer({ min: 2, max: MOST }),
    fc.array(step, { minLength: 5, maxLength: 40 }),
    who,
    fc.constantFrom('well', 'partly away'),
    jobs,
    async (count, steps, one, state, lasting) => {
      await store.clear()
      await store.pool.query(
        `insert into dirsync.pending (operation, enterprise_code, entity_key, priority) values ('update-employee', 'E1', 'e1', 1)`,
      )
      const world = new World()
      const workers = Array.from({ length: count }, () => new Worker(world, 'a'))
      for (const worker of workers) await worker.beat()
      for (const taken of steps) await take(world, workers, taken)

      // One could work from now on, and the platform is well, or is not for anybody. The others are as they were.
      Object.assign(world, { state }, lasting)
      const at = one % count
      const able = workers[at] as Worker
      able.reaches = true
      if (able.isAlive) world.accepted = able.secret
      else workers[at] = new Worker(world, world.accepted)
      const { creations } = world
      const halts = await settle(world, workers)
      const { jobsCall } = world
      expect(halts).toEqual(state === 'partly away' && jobsCall ? ['platform_unavailable, probed'] : [])
      // In a third of an hour; the platform permits 60 in an hour.
      expect(world.creations - creations).toBeLessThanOrEqual(18)
      // While all is halted, or no job is carried out, one may not have found out yet what is wrong with it alone.
      for (const { isAlive, isAble, standing } of workers)
        if (isAble || (isAlive && state === 'well' && jobsCall)) expect(standing.aside === null).toBe(isAble)
    },
  )
  // The last one that works is cut off, and a proxy before it answers: it does not stand aside, and asks before the other one does.
  const cutOff: Step[] = [
    { what: 'reach', who: 1, reaches: false },
    { what: 'work', who: 1 },
    { what: 'platform', state: 'away', failure: { kind: 'http', httpStatus: 403 } },
    { what: 'work', who: 0 },
    { what: 'reach', who: 0, reaches: false },
  ]
  await fc.assert(property, {
    numRuns: 40,
    examples: [[2, cutOff, 1, 'well', { isFed: false, hrIsAway: false }]],
  })
})
