import { Batcher } from '../core/batcher.ts'
import { type EmployeeKey, keyText } from '../core/employee.ts'
import type { HrEmployeeRow, HrSource } from '../hr/source.ts'

/** A mapping's columns change when HR's tables or views do; workers notice within this time. */
const INSPECT_EVERY_MS = 2000

/** What HR has of an employee now. */
export interface PresentRow {
  /** Null when HR has no such employee. */
  row: HrEmployeeRow | 'duplicate' | null
  /** Columns of the mapping that it was read with. */
  columns: readonly string[]
}

/** The present HR rows that workers ask for: look-ups of the same moment become one query. */
export class HrLookups {
  readonly #hr: HrSource
  readonly #batcher: Batcher<EmployeeKey, PresentRow>
  #columns: readonly string[] = []
  #inspectedAt = Number.NEGATIVE_INFINITY

  constructor(hr: HrSource) {
    this.#hr = hr
    this.#batcher = new Batcher(keys => this.#lookUp(keys), { maxBatch: 500 })
  }

  /** @throws HrUnavailableError, HrDataError, MappingError */
  load(key: EmployeeKey): Promise<PresentRow> {
    return this.#batcher.load(key)
  }

  async #lookUp(keys: EmployeeKey[]): Promise<PresentRow[]> {
    const now = performance.now()
    if (now - this.#inspectedAt > INSPECT_EVERY_MS) {
      this.#columns = (await this.#hr.inspect()).employees.columns
      this.#inspectedAt = now
    }
    try {
      const rows = await this.#hr.lookup(keys)
      return keys.map(key => ({ row: rows.get(keyText(key)) ?? null, columns: this.#columns }))
    } catch (error) {
      this.#inspectedAt = Number.NEGATIVE_INFINITY
      throw error
    }
  }
}
