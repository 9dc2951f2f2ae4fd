import { type CallOutcome, CallsPausedError, type PaceRequest, type Pacer } from '../core/pacing.ts'

/** How long an answer to "are calls paused?" is good for: a pause takes effect within this. */
const GOOD_FOR_MS = 250

/** A pacer before which a person can close the gate for the whole deployment, at once (`dirsync.pause`). */
export class PausablePacer implements Pacer {
  readonly #pacer: Pacer
  readonly #isPaused: () => Promise<boolean>
  #asked: Promise<boolean> | null = null
  #goodUntil = Number.POSITIVE_INFINITY

  /** @param isPaused asks the store that all processes share; asked a few times a second while calls are made */
  constructor(pacer: Pacer, isPaused: () => Promise<boolean>) {
    this.#pacer = pacer
    this.#isPaused = isPaused
  }

  /** @throws CallsPausedError, also where the pause came while the call waited for its turn */
  async acquire(request: PaceRequest): Promise<void> {
    await this.#assertGoing(request.signal)
    await this.#pacer.acquire(request)
    await this.#assertGoing(request.signal)
  }

  pause(ms: number, reason: string): Promise<void> {
    return this.#pacer.pause(ms, reason)
  }

  observe(outcome: CallOutcome): void {
    this.#pacer.observe(outcome)
  }

  snapshot() {
    return this.#pacer.snapshot()
  }

  close(): Promise<void> {
    return this.#pacer.close()
  }

  async #assertGoing(signal: AbortSignal | undefined): Promise<void> {
    signal?.throwIfAborted()
    if (this.#asked === null || performance.now() > this.#goodUntil) this.#asked = this.#ask()
    if (await this.#asked) throw new CallsPausedError()
  }

  /** One question at a time: a store that does not answer is not asked again until it has been given up. */
  async #ask(): Promise<boolean> {
    this.#goodUntil = Number.POSITIVE_INFINITY
    try {
      return await this.#isPaused()
    } finally {
      this.#goodUntil = performance.now() + GOOD_FOR_MS
    }
  }
}
