import { AsyncLocalStorage } from 'node:async_hooks'
import { syncBuiltinESMExports } from 'node:module'
import type { Duplex } from 'node:stream'
import type { TimerOptions } from 'node:timers'
import timers from 'node:timers/promises'
import type { Scheduler } from 'fast-check'
import pg from 'pg'

/**
 * Chooses the order of events. Every statement that a simulated process sends to dirsync's database, every answer of the
 * platform and every short timer waits until fast-check's scheduler releases it, so that a seed decides what comes first. The
 * statements run on a real PostgreSQL. One that waits for a lock there is left waiting, and another is released.
 */

export interface StandsStill {
  /** While it stands still nothing of it goes on, and what it holds it keeps. */
  still: Promise<void> | null
}

/** A process of dirsync, as far as the order of events is concerned. */
export interface SimulatedProcess extends StandsStill {
  readonly name: string
  /** Nothing of a dead process goes on: its statements are never sent, their answers never come. */
  dead: boolean
  /** Its next statement that begins so is carried out, and all of its connections drop before the answer. */
  losesAnswerOf?: string | null
}

const NEVER = new Promise<never>(() => {})
const current = new AsyncLocalStorage<SimulatedProcess>()
/** Whose code this is. */
export const currentProcess = () => current.getStore()
/** Whose a connection is. */
const owners = new Map<pg.Client, SimulatedProcess>()

/** The backends that execute what a process sends. @param application of these connections; default: all */
export function backendsOf(process: SimulatedProcess, application?: string): number[] {
  return [...owners].flatMap(([client, owner]) => {
    const isMeant = application === undefined || applicationOf(client) === application
    const backend = backendOf(client)
    return owner === process && backend !== null && isMeant ? [backend] : []
  })
}

function applicationOf(client: pg.Client): string {
  const { connectionParameters } = client as pg.Client & {
    connectionParameters: { application_name?: string }
  }
  return connectionParameters.application_name ?? ''
}

/** Null while it is not connected. */
function backendOf(client: pg.Client): number | null {
  return (client as pg.Client & { processID: number | null }).processID
}

function streamOf(client: pg.Client): Duplex {
  return (client as pg.Client & { connection: { stream: Duplex } }).connection.stream
}

/** Timers above this are time-outs of a database that hangs, which none does here. */
const LONGEST_TIMER_MS = 1000

let schedule: Schedule | undefined

/** Runs code as a process: what it sends from then on is the process's. */
export function as<T>(process: SimulatedProcess, work: () => Promise<T>): Promise<T> {
  return current.run(process, work)
}

/** A statement that takes longer may be waiting for a lock. */
const PATIENCE_MS = 5

export class Schedule {
  readonly #scheduler: Scheduler
  /** Steps that wait for their turn. */
  readonly #due = new Set<{ process: SimulatedProcess; label: string }>()
  /** Statements that were sent and not answered, with the backend that executes them. */
  readonly #running = new Map<symbol, pg.Client | null>()
  /** Asks PostgreSQL which backends wait for a lock. */
  readonly #waiting: (backends: number[]) => Promise<number[]>
  /** Those who wait for time to pass, and for how long yet. */
  readonly #asleep = new Set<{ ms: number; wake: () => void }>()
  /** Called when all that goes on waits for time to pass. */
  onIdle: () => Promise<void> = async () => {}
  /** How many have ended, and what to call at the next end. */
  #ends = 0
  #ended: () => void = () => {}
  readonly #last = new WeakMap<pg.Client, Promise<unknown>>()
  /** What stands still, by how many more steps of others. */
  readonly #still = new Map<StandsStill, { steps: number; goesOn: () => void }>()

  private constructor(scheduler: Scheduler, waiting: (backends: number[]) => Promise<number[]>) {
    this.#scheduler = scheduler
    this.#waiting = waiting
  }

  /** While `work` runs, all that is sent by processes waits for its turn. */
  static async during<T>(
    scheduler: Scheduler,
    waiting: (backends: number[]) => Promise<number[]>,
    work: (schedule: Schedule) => Promise<T>,
  ): Promise<T> {
    const mine = new Schedule(scheduler, waiting)
    schedule = mine
    try {
      return await work(mine)
    } finally {
      schedule = undefined
    }
  }

  /** Whether anything but the caller has a step to take, or is at one. */
  get isBusy(): boolean {
    return this.#scheduler.count() > 0 || this.#running.size > 0
  }

  /** One step of a process: it begins when its turn comes. */
  async step<T>(process: SimulatedProcess, label: string, begin: () => Promise<T>): Promise<T> {
    const mine = { process, label }
    this.#due.add(mine)
    await this.#scheduler.schedule(Promise.resolve(), `${process.name}: ${label}`)
    while (process.still && !process.dead) await process.still
    this.#due.delete(mine)
    return process.dead ? NEVER : begin()
  }

  /** Waits until time has passed, or the signal aborts. */
  async sleep(process: SimulatedProcess, ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = () => resolve()
    const mine = { ms, wake }
    this.#asleep.add(mine)
    signal.addEventListener('abort', wake)
    if (signal.aborted) wake()
    await promise
    signal.removeEventListener('abort', wake)
    this.#asleep.delete(mine)
    await this.step(process, `has slept ${ms} ms`, async () => signal.throwIfAborted())
  }

  pass(seconds: number): void {
    for (const one of this.#asleep) {
      one.ms -= seconds * 1000
      if (one.ms <= 0) one.wake()
    }
  }

  /** Whether a step of a process that begins so waits for its turn. */
  isDueOf(process: SimulatedProcess, beginning: string): boolean {
    return [...this.#due].some(step => step.process === process && step.label.startsWith(beginning))
  }

  /** `SIGSTOP`, until so many steps have been released, or none is left. */
  standStill(who: StandsStill, steps: number): void {
    if (who.still) return
    const { promise, resolve } = Promise.withResolvers<void>()
    who.still = promise
    this.#still.set(who, { steps, goesOn: resolve })
  }

  /** @param passed steps since the last time */
  #goOn(passed: number): void {
    for (const [who, still] of this.#still) {
      still.steps -= passed
      if (still.steps > 0 && !('dead' in who && who.dead)) continue
      this.#still.delete(who)
      who.still = null
      still.goesOn()
    }
  }

  /** The same for a statement, behind those that its connection has been given before. */
  statement<T>(
    client: pg.Client,
    process: SimulatedProcess,
    label: string,
    send: () => Promise<T>,
  ): Promise<T> {
    const before = this.#last.get(client) ?? Promise.resolve()
    const mine = before.then(() => this.step(process, label, send))
    this.#last.set(
      client,
      mine.catch(() => {}),
    )
    return mine
  }

  /** Something whose end has to be awaited before the next step. */
  async track<T>(client: pg.Client | null, begin: () => Promise<T>): Promise<T> {
    const id = Symbol()
    this.#running.set(id, client)
    try {
      return await begin()
    } finally {
      this.#running.delete(id)
      this.#ends += 1
      this.#ended()
    }
  }

  /** Releases one step after the other until `work` is over. */
  async drive(work: Promise<void>): Promise<void> {
    let isOver = false
    const over = work.finally(() => {
      isOver = true
    })
    over.catch(() => {}) // it is awaited below
    for (let idle = 0; ; ) {
      await this.#settled()
      // What nobody awaits, such as returning a lock, comes to its end too.
      if (isOver && this.#scheduler.count() === 0 && this.#running.size === 0 && this.#still.size === 0) break
      if (this.#scheduler.count() > 0) {
        idle = 0
        await this.#scheduler.waitOne()
        this.#goOn(1)
      } else {
        idle += 1
        this.#goOn(Number.POSITIVE_INFINITY)
        if (this.#asleep.size > 0 && this.#running.size === 0 && !isOver) await this.onIdle()
        // Each of them is a millisecond and more: PostgreSQL ends a deadlock after one second.
        if (idle > 5000)
          throw new Error(
            `stuck: nothing can be released; due ${[...this.#due].map(({ process, label }) => `${process.name}: ${label}`)}; ` +
              `running ${this.#running.size}; asleep ${this.#asleep.size}`,
          )
        await new Promise(resolve => setImmediate(resolve))
        await new Promise(resolve => nativeTimeout(resolve, 1))
      }
    }
    await over
  }

  /** Resolves once all that was released is over or waits for a lock, and what follows from it has been scheduled. */
  async #settled(): Promise<void> {
    for (;;) {
      // What follows from an answer does so within a few turns.
      for (let turn = 0; turn < 3; turn++) await new Promise(resolve => setImmediate(resolve))
      if (this.#running.size === 0) return
      if (await this.#nextEnd()) continue
      const backends = [...this.#running.values()].map(client => client && backendOf(client))
      if (backends.includes(null)) continue
      const before = this.#ends
      const waiting = await this.#waiting(backends as number[])
      if (this.#ends === before && backends.every(pid => waiting.includes(pid as number))) return
    }
  }

  /** @returns whether something that is awaited ended before one had to ask what it waits for */
  #nextEnd(): Promise<boolean> {
    return new Promise(resolve => {
      const impatient = nativeTimeout(() => resolve(false), PATIENCE_MS)
      this.#ended = () => {
        clearTimeout(impatient)
        resolve(true)
      }
    })
  }
}

const nativeTimeout = globalThis.setTimeout

type Callback = (error: Error | null, result?: unknown) => void
type AnyQuery = (this: pg.Client, ...given: unknown[]) => unknown

/**
 * Puts the scheduler between processes and PostgreSQL, for the life of this JavaScript process.
 * @param pass lets time pass, for who waits for it while nothing is scheduled
 */
export function interceptPostgres(pass: (seconds: number) => Promise<void>): void {
  const sleep = async (process: SimulatedProcess, ms: number, signal: AbortSignal) => {
    if (schedule) return schedule.sleep(process, ms, signal)
    signal.throwIfAborted()
    await pass(ms / 1000)
  }
  const prototype = pg.Client.prototype as unknown as { query: AnyQuery; connect: AnyQuery }
  const { query, connect } = prototype
  prototype.connect = function (this: pg.Client, ...given: unknown[]) {
    // A process may be the reason for which the model looks into the database.
    const owner = applicationOf(this) === '' ? undefined : current.getStore()
    if (owner) {
      owners.set(this, owner)
      this.once('end', () => owners.delete(this))
    }
    const callback = given.find(value => typeof value === 'function') as Callback | undefined
    if (!schedule || !owner) return connect.apply(this, given)
    const connected = schedule.track(null, () => connect.call(this) as Promise<void>)
    if (!callback) return connected
    connected.then(() => callback(null), callback)
  }
  prototype.query = function (this: pg.Client, ...given: unknown[]) {
    const owner = owners.get(this)
    const [config] = given
    const isStream = typeof (config as { submit?: unknown } | null)?.submit === 'function'
    if (!schedule || !owner || isSilent(config)) return query.apply(this, given)
    if (isStream) {
      const stream = query.apply(this, given) as NodeJS.EventEmitter
      if (typeof stream?.once !== 'function') return stream
      void schedule.track(
        this,
        () =>
          new Promise<void>(resolve => {
            for (const end of ['close', 'end', 'finish', 'error']) stream.once(end, () => resolve())
          }),
      )
      return stream
    }
    const at = given.findIndex(value => typeof value === 'function')
    const callback = given[at] as Callback | undefined
    const parameters = at < 0 ? given : given.slice(0, at)
    const running = schedule
    const send = () =>
      running.track(
        this,
        () =>
          new Promise<unknown>((resolve, reject) => {
            query.call(this, ...parameters, (error: Error | null, result: unknown) =>
              error ? reject(error) : resolve(result),
            )
          }),
      )
    const answer = running.statement(this, owner, textOf(config), send).then(
      result => {
        if (owner.dead) return NEVER
        if (!owner.losesAnswerOf || !textOf(config).startsWith(owner.losesAnswerOf)) return result
        owner.losesAnswerOf = null
        for (const [client, of] of owners) if (of === owner) streamOf(client).destroy()
        throw new Error('Connection terminated before the answer')
      },
      error => (owner.dead ? NEVER : Promise.reject(error)),
    )
    if (!callback) return answer
    answer.then(result => callback(null, result), callback)
  }
  globalThis.setTimeout = Object.assign(
    (work: (...values: unknown[]) => void, ms = 0, ...values: unknown[]) => {
      const owner = current.getStore()
      if (!schedule || !owner || ms > LONGEST_TIMER_MS) return nativeTimeout(work, ms, ...values)
      const timer = nativeTimeout(() => {}, 0)
      const mine = { isCleared: false }
      cleared.set(timer, mine)
      void schedule
        .step(owner, `timer of ${ms} ms`, async () => {
          if (!mine.isCleared) work(...values)
        })
        .catch(() => {})
      return timer
    },
    nativeTimeout,
  ) as typeof setTimeout
  const nativeWait = timers.setTimeout
  timers.setTimeout = (<T>(ms?: number, value?: T, options?: TimerOptions) => {
    const owner = current.getStore()
    if (owner && options?.signal) return sleep(owner, ms ?? 0, options.signal).then(() => value)
    if (!schedule || !owner || (ms ?? 0) > LONGEST_TIMER_MS) return nativeWait(ms, value, options)
    return schedule.step(owner, `timer of ${ms} ms`, async () => value)
  }) as typeof timers.setTimeout
  syncBuiltinESMExports()
  const nativeClear = globalThis.clearTimeout
  globalThis.clearTimeout = (timer => {
    const mine = timer && typeof timer === 'object' ? cleared.get(timer) : undefined
    if (mine) mine.isCleared = true
    nativeClear(timer)
  }) as typeof clearTimeout
}

const cleared = new WeakMap<object, { isCleared: boolean }>()

/** The pulse of connections that hold locks. */
function isSilent(config: unknown): boolean {
  return textOf(config) === 'select'
}

function textOf(config: unknown): string {
  const text = typeof config === 'string' ? config : ((config as { text?: string } | null)?.text ?? '')
  return text.trim().replace(/\s+/g, ' ').slice(0, 60)
}
