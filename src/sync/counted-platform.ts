import type { Slots } from '../core/slots.ts'
import { abortedError } from '../platform/caller.ts'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError } from '../platform/errors.ts'

/**
 * The platform as one job sees it: its signal and priority on every call, a slot for each call among all jobs' calls, and a
 * count of the calls per operation.
 */
export class CountedPlatform {
  readonly calls: Record<string, number> = {}
  /** True once the platform itself has answered a call, were it with a refusal. */
  answered = false
  readonly #client: PlatformClient
  readonly #slots: Slots
  readonly #options: { signal: AbortSignal; priority: number }

  constructor(client: PlatformClient, slots: Slots, options: { signal: AbortSignal; priority: number }) {
    this.#client = client
    this.#slots = slots
    this.#options = options
  }

  getEmployee(query: Parameters<PlatformClient['employees']['get']>[0]) {
    return this.#call('employee/get', () => this.#client.employees.get(query, this.#options))
  }

  updateEmployee(params: Parameters<PlatformClient['employees']['update']>[0]) {
    return this.#call('employee/update', () => this.#client.employees.update(params, this.#options))
  }

  bindOpenid(params: Parameters<PlatformClient['employees']['openid']>[0]) {
    return this.#call('employee/openid', () => this.#client.employees.openid(params, this.#options))
  }

  deleteDepartment(params: Parameters<PlatformClient['departments']['delete']>[0]) {
    return this.#call('department/delete', () => this.#client.departments.delete(params, this.#options))
  }

  async #call<T>(operation: string, call: () => Promise<T>): Promise<T> {
    const turn = this.#slots.enter(this.#options.priority, this.#options.signal)
    if (turn)
      await turn.catch(reason => {
        throw abortedError(operation, reason)
      })
    this.calls[operation] = (this.calls[operation] ?? 0) + 1
    try {
      const answer = await call()
      this.answered = true
      return answer
    } catch (error) {
      if (error instanceof PlatformError && error.kind === 'business') this.answered = true
      throw error
    } finally {
      this.#slots.leave()
    }
  }
}
