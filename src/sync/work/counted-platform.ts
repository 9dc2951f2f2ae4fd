import { traced } from '../../lib/tracing.ts'
import type { Semaphore } from '../../lib/waiting.ts'
import type { CallOptions, PlatformClient } from '../../platform/client.ts'
import { abortedError, PlatformError } from '../../platform/errors.ts'

/**
 * The platform for one job: every call has the job's signal and priority, waits for a slot among the calls of all jobs, and is
 * counted by operation.
 */
export class CountedPlatform {
  /** Exchanges with the platform, by operation. */
  readonly calls: Record<string, number> = {}
  /** Milliseconds that they waited for the pacer. */
  readonly waitedMs: Record<string, number> = {}
  /** How many of them the platform refused because of too many calls. */
  readonly rateLimited: Record<string, number> = {}
  /** True once a call was to be made, also if it came only as far as the token for it. */
  called = false
  /** True once the platform itself has answered a call, even with a refusal. */
  answered = false
  /** True once an update was accepted, or may have been although no answer came. */
  mayHaveUpdated = false
  readonly #client: PlatformClient
  readonly #permits: Semaphore
  readonly #options: CallOptions & { signal: AbortSignal; priority: number }
  /** Of calls that change something. */
  readonly #writing: CallOptions

  constructor(
    client: PlatformClient,
    permits: Semaphore,
    { isStillWanted, ...options }: Required<Pick<CallOptions, 'signal' | 'priority' | 'isStillWanted'>>,
  ) {
    this.#client = client
    this.#permits = permits
    this.#options = {
      ...options,
      onCall: ({ operation, waitedMs, rateLimited }) => {
        add(this.calls, operation, 1)
        add(this.waitedMs, operation, Math.round(waitedMs))
        if (rateLimited) add(this.rateLimited, operation, 1)
      },
    }
    this.#writing = { ...this.#options, isStillWanted }
  }

  getEmployee(query: Parameters<PlatformClient['employees']['get']>[0]) {
    return this.#call('employee/get', () => this.#client.employees.get(query, this.#options))
  }

  updateEmployee(params: Parameters<PlatformClient['employees']['update']>[0]) {
    return this.#call('employee/update', async () => {
      try {
        await this.#client.employees.update(params, this.#writing)
        this.mayHaveUpdated = true
      } catch (error) {
        this.mayHaveUpdated ||= !isRefusal(error)
        throw error
      }
    })
  }

  bindOpenid(params: Parameters<PlatformClient['employees']['openid']>[0]) {
    return this.#call('employee/openid', () => this.#client.employees.openid(params, this.#writing))
  }

  deleteDepartment(params: Parameters<PlatformClient['departments']['delete']>[0]) {
    return this.#call('department/delete', () => this.#client.departments.delete(params, this.#writing))
  }

  async #call<T>(operation: string, call: () => Promise<T>): Promise<T> {
    const turn = this.#permits.acquire(this.#options.priority, this.#options.signal)
    if (turn !== undefined)
      await traced('permit', () => turn).catch(reason => {
        throw abortedError(operation, reason)
      })
    this.called = true
    try {
      const answer = await call()
      this.answered = true
      return answer
    } catch (error) {
      if (error instanceof PlatformError && error.kind === 'business') this.answered = true
      throw error
    } finally {
      this.#permits.release()
    }
  }
}

/** True for a failure that had no effect. A code that asks for a repetition ("system busy") may come after the effect. */
function isRefusal(error: unknown): boolean {
  return error instanceof PlatformError && error.outcomeKnown && error.disposition !== 'retry'
}

function add(counts: Record<string, number>, operation: string, more: number): void {
  counts[operation] = (counts[operation] ?? 0) + more
}
