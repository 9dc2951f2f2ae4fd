import { createHash } from 'node:crypto'
import { Redis, type RedisOptions } from 'ioredis'
import type { Logger } from 'pino'
import type { LearntRate } from '../core/rate-learning.ts'
import type { LearntRates } from './learnt-rates.ts'
import type { LeaseRequest, PacerLease, PacerStore } from './pacer-store.ts'
import { LEARN, LEASE, PAUSE, PAUSES } from './redis-scripts.ts'

type LeaseAnswer = [string, number, string, string | null, 0 | 1, string, number, string | null, number]

interface Scripts {
  leaseSlots(...args: (string | number)[]): Promise<LeaseAnswer>
  pauseGate(...args: (string | number)[]): Promise<null>
  lastingPauses(pauses: string): Promise<string[]>
  learnRate(...args: (string | number)[]): Promise<0 | 1>
}

const OPTIONS = {
  lazyConnect: true,
  connectTimeout: 2_000,
  keepAlive: 5_000,
  retryStrategy: (attempts: number) => Math.min(attempts * 100, 500),
  // After a failover the old primary keeps its connections: the address may lead to the new one.
  reconnectOnError: error => error.message.includes('READONLY'),
} satisfies RedisOptions

/** Slots in Redis, pauses pushed through a channel. What is learnt is kept in PostgreSQL as well, for a Redis that is wiped. */
export class RedisStore implements PacerStore {
  readonly #client: Redis & Scripts
  readonly #subscriber: Redis
  /** The limit is the application's, so whoever calls the same platform as the same application shares these keys. */
  readonly #prefix: string
  readonly #rates: LearntRates
  readonly #log: Logger | undefined
  /** Names under which Redis was found to know nothing, and PostgreSQL neither. */
  readonly #unknown = new Set<string>()
  #connected: Promise<unknown> | null = null

  constructor(options: {
    url: string
    application: { baseUrl: string; appId: string }
    rates: LearntRates
    logger?: Logger
  }) {
    const { baseUrl, appId } = options.application
    const id = createHash('sha256').update(`${baseUrl}\n${appId}`).digest('hex').slice(0, 16)
    this.#prefix = `dirsync:pacer:{${id}}:`
    this.#rates = options.rates
    this.#log = options.logger?.child({ component: 'pacer' })
    const client = new Redis(options.url, {
      ...OPTIONS,
      connectionName: 'dirsync-pacer',
      // What cannot be asked now is not asked later: the pacer then goes on alone.
      enableOfflineQueue: false,
      maxRetriesPerRequest: 0,
      commandTimeout: 1_000,
    })
    client.defineCommand('leaseSlots', { numberOfKeys: 3, lua: LEASE })
    client.defineCommand('pauseGate', { numberOfKeys: 1, lua: PAUSE })
    client.defineCommand('lastingPauses', { numberOfKeys: 1, lua: PAUSES })
    client.defineCommand('learnRate', { numberOfKeys: 1, lua: LEARN })
    this.#client = client as Redis & Scripts
    this.#subscriber = new Redis(options.url, { ...OPTIONS, connectionName: 'dirsync-pauses' })
    // Its commands are refused, which is reported where they were given.
    client.on('error', error => this.#log?.debug({ err: error.message }, 'no connection to Redis'))
    this.#subscriber.on('error', error =>
      this.#log?.debug({ err: error.message }, 'pauses of other processes are noticed late'),
    )
  }

  async lease(request: LeaseRequest): Promise<PacerLease> {
    const lease = await this.#lease(request)
    const name = request.learntAs ?? request.gate
    if (lease.learnt !== null) {
      this.#unknown.delete(name)
      return lease
    }
    // At a rate that was set, most never learn anything: PostgreSQL is asked once.
    if (lease.spacingMs > 0 && this.#unknown.has(name)) return lease
    const kept = await this.#rates.find(name)
    if (kept === null) {
      this.#unknown.add(name)
      return lease
    }
    await this.#learn(name, 0, kept)
    // The slots just reserved are too close together; they expire.
    return this.#lease(request)
  }

  async pause(gate: string, ms: number, _reason: string): Promise<void> {
    await this.#connect()
    await this.#client.pauseGate(this.#pauses, gate, Math.ceil(ms), this.#pauses)
  }

  async learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean> {
    if (!(await this.#learn(name, expectedVersion, learnt))) return false
    try {
      await this.#rates.keep(name, learnt)
    } catch (error) {
      this.#log?.warn({ err: error }, 'the learnt rate is in Redis alone: PostgreSQL did not take it')
    }
    return true
  }

  watch(onPause: (gate: string, ms: number) => void): void {
    const tell = (payload: string) => {
      const space = payload.indexOf(' ')
      onPause(payload.slice(space + 1), Number(payload.slice(0, space)))
    }
    this.#subscriber.on('message', (_channel, payload) => tell(payload))
    this.#subscriber.on('ready', async () => {
      try {
        await this.#subscriber.subscribe(this.#pauses)
        await this.#connect()
        for (const payload of await this.#client.lastingPauses(this.#pauses)) tell(payload)
      } catch (error) {
        this.#log?.debug({ err: error }, 'pauses could not be read; the next lease tells them')
      }
    })
    this.#subscriber.connect().catch(() => undefined) // it goes on trying
  }

  async close(): Promise<void> {
    this.#client.disconnect()
    this.#subscriber.disconnect()
  }

  /** Key of the pauses, and name of the channel that tells them. */
  get #pauses(): string {
    return `${this.#prefix}pauses`
  }

  /** Waits for the first connection; afterwards commands are refused while there is none. */
  async #connect(): Promise<void> {
    this.#connected ??= this.#client.connect().catch(() => undefined) // it goes on trying
    await this.#connected
  }

  async #lease({
    gate,
    holder,
    count,
    spacingMs,
    budget,
    learntAs = gate,
  }: LeaseRequest): Promise<PacerLease> {
    await this.#connect()
    const keys = [this.#prefix + gate, this.#pauses, this.#prefix + (budget?.gate ?? gate)]
    const terms = [gate, holder, count, spacingMs ?? '', budget?.spacingMs ?? '', ofSetRate(learntAs)]
    const [start, given, now, paused, shared, spacing, leased, learnt, version] =
      await this.#client.leaseSlots(...keys, ...terms)
    return {
      startMs: Number(start),
      count: given,
      nowMs: Number(now),
      pausedUntilMs: paused === null ? null : Number(paused),
      shared: shared === 1,
      spacingMs: Number(spacing),
      leased,
      learnt: learnt === null ? null : JSON.parse(learnt),
      version,
    }
  }

  async #learn(name: string, expectedVersion: number, learnt: LearntRate): Promise<boolean> {
    await this.#connect()
    const { ratePerSecond, leasedAtChange } = learnt
    const setRate = ofSetRate(name)
    const gate = name.slice(0, name.length - setRate.length)
    const values = [expectedVersion, JSON.stringify(learnt), ratePerSecond, leasedAtChange, setRate]
    return (await this.#client.learnRate(this.#prefix + gate, ...values)) === 1
  }
}

/** The part of a name after the gate's own: the record's fields of that rate end in it. */
function ofSetRate(learntAs: string): string {
  return /@.*$/.exec(learntAs)?.[0] ?? ''
}
