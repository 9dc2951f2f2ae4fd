import type { PlatformClient } from '../platform/client.ts'

/** The platform as one job sees it: its signal and priority on every call, and a count of the calls per operation. */
export class CountedPlatform {
  readonly calls: Record<string, number> = {}
  readonly #client: PlatformClient
  readonly #options: { signal: AbortSignal; priority: number }

  constructor(client: PlatformClient, options: { signal: AbortSignal; priority: number }) {
    this.#client = client
    this.#options = options
  }

  getEmployee(query: Parameters<PlatformClient['employees']['get']>[0]) {
    this.#count('employee/get')
    return this.#client.employees.get(query, this.#options)
  }

  updateEmployee(params: Parameters<PlatformClient['employees']['update']>[0]) {
    this.#count('employee/update')
    return this.#client.employees.update(params, this.#options)
  }

  bindOpenid(params: Parameters<PlatformClient['employees']['openid']>[0]) {
    this.#count('employee/openid')
    return this.#client.employees.openid(params, this.#options)
  }

  deleteDepartment(params: Parameters<PlatformClient['departments']['delete']>[0]) {
    this.#count('department/delete')
    return this.#client.departments.delete(params, this.#options)
  }

  #count(operation: string): void {
    this.calls[operation] = (this.calls[operation] ?? 0) + 1
  }
}
