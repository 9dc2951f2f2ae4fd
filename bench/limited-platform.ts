import type { CallRecord } from '../emulator/call-log.ts'
import type { RateLimitKind } from '../emulator/faults.ts'
import { controlOf, type EmulatorControl } from '../test/helpers/emulator-control.ts'
import type { PlatformAccess } from './workshop.ts'

/** The time that an accepted call takes. */
const LATENCY_MS = 20

/** How the platform counts the calls of a second. */
export interface Limit {
  kind: RateLimitKind
  perSecond: number
  /** Whether refusals carry `Retry-After`; they do by default. */
  retryAfter?: boolean
}

/** One call as the platform saw it; times are milliseconds since 1970. */
export interface RecordedCall {
  arrivedAt: number
  answeredAt: number
  accepted: boolean
  /** What the refusal asked for. */
  retryAfterMs: number
}

/** An emulator that limits the calls per second, all operations together, and records every call. */
export class LimitedPlatform {
  readonly access: PlatformAccess
  readonly #control: EmulatorControl
  #since = 0

  constructor(access: PlatformAccess) {
    this.access = access
    this.#control = controlOf(access.baseUrl)
  }

  async permit({ kind, perSecond, retryAfter = true }: Limit): Promise<void> {
    await this.lift()
    const rateLimit = { kind, limit: perSecond, windowMs: 1000, scope: 'all', retryAfter }
    await this.#control('POST', 'faults', [
      { operation: '*', rateLimit },
      { operation: '*', latencyMs: LATENCY_MS },
    ])
  }

  /** Refuses one call, with a `Retry-After` of so many seconds. */
  async refuseOne(retryAfter: number): Promise<void> {
    await this.#control('POST', 'faults', [{ operation: '*', httpStatus: 429, retryAfter, times: 1 }])
  }

  /** Lifts the limit. */
  async lift(): Promise<void> {
    await this.#control('DELETE', 'faults')
  }

  /** From here on, calls are recorded. */
  async begin(): Promise<void> {
    this.#since = (await this.#log(1)).lastId
  }

  /** The recorded calls, in the order of arrival. */
  async calls(): Promise<RecordedCall[]> {
    const { calls } = await this.#log()
    const unexpected = calls.find(({ httpStatus, code }) => httpStatus !== 429 && code !== 0)
    if (unexpected !== undefined) throw new Error(`a call failed: ${JSON.stringify(unexpected)}`)
    return calls
      .map(({ at, durationMs, httpStatus, retryAfter }) => {
        const arrivedAt = Date.parse(at)
        const answeredAt = arrivedAt + durationMs
        return { arrivedAt, answeredAt, accepted: httpStatus !== 429, retryAfterMs: (retryAfter ?? 0) * 1000 }
      })
      .sort((a, b) => a.arrivedAt - b.arrivedAt)
  }

  #log(limit?: number): Promise<{ lastId: number; calls: CallRecord[] }> {
    const query = new URLSearchParams({ since: String(this.#since), ...(limit && { limit: String(limit) }) })
    return this.#control('GET', `calls?${query}`)
  }
}
