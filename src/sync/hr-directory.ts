import { Batcher } from '../core/batcher.ts'
import type { EmployeeKey } from '../core/employee.ts'
import { keyText } from '../core/employee.ts'
import type { HrDepartmentRow, HrEmployeeRow, HrScan, HrSource, MappingInspection } from '../hr/source.ts'

/**
 * HR as the engine sees it: the mapping inspected once, lookups of workers grouped into one query,
 * and rows without an enterprise code given the deployment's own.
 */
export class HrDirectory {
  readonly #source: HrSource
  readonly #defaultEnterprise: string
  #inspection: Promise<MappingInspection> | null = null
  readonly #lookups: Batcher<EmployeeKey, HrEmployeeRow | 'duplicate' | null>

  constructor(source: HrSource, defaultEnterprise: string) {
    this.#source = source
    this.#defaultEnterprise = defaultEnterprise
    this.#lookups = new Batcher(keys => this.#load(keys), { maxBatch: 500 })
  }

  /** The mapping's columns; asked again after a failure. */
  inspect(): Promise<MappingInspection> {
    this.#inspection ??= this.#source.inspect().catch(error => {
      this.#inspection = null
      throw error
    })
    return this.#inspection
  }

  /** The present HR row of an employee; null when HR has none. Calls of the same moment become one query. */
  lookup(key: EmployeeKey): Promise<HrEmployeeRow | 'duplicate' | null> {
    return this.#lookups.load(key)
  }

  scan(options: { since?: Date; signal?: AbortSignal }): Promise<HrScan> {
    return this.#source.scan(options)
  }

  async departments(): Promise<HrDepartmentRow[]> {
    return (await this.#source.departments()).map(row => this.#withEnterprise(row))
  }

  async employeesByDepartment(): Promise<{ enterpriseCode: string; deptCode: string; employees: number }[]> {
    return (await this.#source.employeesByDepartment()).map(row => this.#withEnterprise(row))
  }

  async #load(keys: EmployeeKey[]): Promise<(HrEmployeeRow | 'duplicate' | null)[]> {
    await this.inspect()
    // A row of the deployment's own enterprise may have no code in HR.
    const wanted = keys.flatMap(key =>
      key.enterpriseCode !== '' && key.enterpriseCode === this.#defaultEnterprise
        ? [key, { ...key, enterpriseCode: '' }]
        : [key],
    )
    const rows = await this.#source.lookup(wanted)
    return keys.map(key => {
      const row =
        rows.get(keyText(key)) ??
        (key.enterpriseCode === this.#defaultEnterprise
          ? rows.get(keyText({ ...key, enterpriseCode: '' }))
          : undefined)
      if (row === undefined || row === 'duplicate') return row ?? null
      return { ...row, enterprise_code: key.enterpriseCode }
    })
  }

  #withEnterprise<T extends { enterpriseCode: string }>(row: T): T {
    return row.enterpriseCode === '' ? { ...row, enterpriseCode: this.#defaultEnterprise } : row
  }
}
