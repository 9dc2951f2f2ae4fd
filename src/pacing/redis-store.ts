import { createHash } from 'node:crypto'
import { Redis, type RedisOptions } from 'ioredis'
import type { Logger } from 'pino'
import type { LearntRate } from './learning.ts'
import type { LearntRates, LeaseRequest, PacerLease, PacerStore } from './store.ts'

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

/**
 * Reserves slots. Keys: the gate's record, the pauses of all gates, the budget's record. Times are milliseconds of the
 * server's clock; if that was put back, or a server whose clock is behind took over, what it told goes back with it.
 * A gate without a record may have been wiped while slots were out: it begins when those are over.
 * Arguments: gate, holder, count, least spacing or nothing, spacing of the budget or nothing, what is learnt of which set rate.
 */
const LEASE = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local record = redis.call('HMGET', KEYS[1], 'next', 'holder', 'leased', 'learnt' .. ARGV[6], 'rate' .. ARGV[6],
  'version' .. ARGV[6], 'at')
local paused = redis.call('HGET', KEYS[2], ARGV[1])
local back = math.max(0, tonumber(record[7] or 0) - now)
if back > 0 then
  paused = paused and string.format('%.3f', paused - back)
  if paused then redis.call('HSET', KEYS[2], ARGV[1], paused) end
  record[1] = record[1] - back
  redis.call('HSET', KEYS[1], 'next', string.format('%.3f', record[1]), 'at', string.format('%.3f', now))
end
local spacing = math.max(tonumber(ARGV[4]) or 0, record[5] and 1000 / record[5] or 0)
local leased = tonumber(record[3] or 0)
local start = math.max(now, tonumber(record[1] or now + 250), tonumber(paused or 0))
local count = spacing > 0 and tonumber(ARGV[3]) or 0
local budget = 0
if ARGV[5] ~= '' then
  local reserved = redis.call('HMGET', KEYS[3], 'next', 'at')
  budget = (reserved[1] or 0) - math.max(0, (reserved[2] or 0) - now)
end
if budget > start + 10 then
  count = 0
  start = budget
elseif count > 0 then
  start = math.max(start, budget)
  leased = leased + count
  redis.call('HSET', KEYS[1], 'next', string.format('%.3f', start + count * spacing), 'holder', ARGV[2], 'leased', leased, 'at', string.format('%.3f', now))
  if ARGV[5] ~= '' then
    redis.call('HSET', KEYS[3], 'next', string.format('%.3f', start + ARGV[5]), 'at', string.format('%.3f', now))
  end
end
local shared = record[2] and record[2] ~= ARGV[2]
return {string.format('%.3f', start), count, string.format('%.3f', now), paused, shared and 1 or 0,
        string.format('%.6f', spacing), leased, record[4], tonumber(record[6] or 0)}`

/** Keeps a pause if none lasts longer, and tells everybody. Keys: the pauses. Arguments: gate, milliseconds, channel. */
const PAUSE = `
local time = redis.call('TIME')
local ends = time[1] * 1000 + time[2] / 1000 + ARGV[2]
if ends > tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or 0) then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.3f', ends))
end
redis.call('PUBLISH', ARGV[3], ARGV[2] .. ' ' .. ARGV[1])`

/** The pauses that last, as they would be told: milliseconds and gate. Keys: the pauses. */
const PAUSES = `
local time = redis.call('TIME')
local now = time[1] * 1000 + time[2] / 1000
local pauses = redis.call('HGETALL', KEYS[1])
local last = {}
for i = 1, #pauses, 2 do
  if tonumber(pauses[i + 1]) > now then last[#last + 1] = math.ceil(pauses[i + 1] - now) .. ' ' .. pauses[i] end
end
return last`

/**
 * Replaces what was learnt if it has the version expected. Keys: the gate's record. Arguments: the version, what was
 * learnt, its rate, the slots reserved by then: a wiped record goes on counting there; of which set rate.
 */
const LEARN = `
local version = tonumber(redis.call('HGET', KEYS[1], 'version' .. ARGV[5]) or 0)
if version ~= tonumber(ARGV[1]) then return 0 end
local leased = math.max(tonumber(redis.call('HGET', KEYS[1], 'leased') or 0), tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'version' .. ARGV[5], version + 1, 'learnt' .. ARGV[5], ARGV[2], 'rate' .. ARGV[5], ARGV[3],
  'leased', leased)
return 1`
