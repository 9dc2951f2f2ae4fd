import { pause } from './waiting.ts'

interface LoopOptions {
  /** The work to repeat; true: there is more to do. */
  step(signal: AbortSignal): Promise<void> | Promise<boolean>
  pauseMs: number
  /** How long to pause while there is more to do; default: not at all. */
  busyMs?: number
  /** How long to pause after a step that failed; default: as after any other. */
  retryMs?: number
  /** Called with the first error of several in a row: once per outage, not once per step. */
  failed(error: Error): void
}

/** Repeats a step, one after the other, until it is stopped. */
export class Loop {
  readonly #options: LoopOptions
  readonly #stopping = new AbortController()
  #running: Promise<void> | undefined
  #isWoken = false
  #leave = () => {}
  readonly #tried = Promise.withResolvers<void>()

  constructor(options: LoopOptions) {
    this.#options = options
  }

  start(): void {
    this.#running ??= this.#run()
  }

  /** Resolves when the first step has ended, well or not. */
  get tried(): Promise<void> {
    return this.#tried.promise
  }

  /** Starts the next step at once. */
  wake(): void {
    this.#isWoken = true
    this.#leave()
  }

  /** Starts no further step and waits for the current one, whose signal aborts. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    this.wake()
    await this.#running
  }

  async #run(): Promise<void> {
    const { step, pauseMs, busyMs = 0, retryMs = pauseMs, failed } = this.#options
    const { signal } = this.#stopping
    let isInTrouble = false
    while (!signal.aborted) {
      // Before the step, so that no wake-up during it is missed.
      this.#isWoken = false
      let rest = pauseMs
      try {
        if ((await step(signal)) === true) rest = busyMs
        isInTrouble = false
      } catch (error) {
        if (!isInTrouble && !signal.aborted) failed(error as Error)
        isInTrouble = true
        rest = retryMs
      }
      this.#tried.resolve()
      if (rest > 0 && !this.#isWoken) await this.#pause(rest)
    }
  }

  async #pause(ms: number): Promise<void> {
    const woken = Promise.withResolvers<void>()
    this.#leave = woken.resolve
    await pause(ms, woken.promise)
  }
}

/** Loops that start, wake and stop together. */
export class Loops {
  readonly #loops: readonly Loop[]

  constructor(loops: readonly Loop[]) {
    this.#loops = loops
  }

  start(): void {
    for (const loop of this.#loops) loop.start()
  }

  wake(): void {
    for (const loop of this.#loops) loop.wake()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map(loop => loop.stop()))
  }
}
