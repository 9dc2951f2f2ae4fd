import { Batcher } from '../core/batcher.ts'
import { type EmployeeKey, keyText } from '../core/employee.ts'
import type { HrEmployeeRow, HrSource } from '../hr/source.ts'

/** The present HR rows that workers ask for: look-ups of the same moment become one query. */
export class HrLookups {
  readonly #batcher: Batcher<EmployeeKey, HrEmployeeRow | 'duplicate' | null>

  constructor(hr: HrSource) {
    this.#batcher = new Batcher(
      async keys => {
        const rows = await hr.lookup(keys)
        return keys.map(key => rows.get(keyText(key)) ?? null)
      },
      { maxBatch: 500 },
    )
  }

  /**
   * Null when HR has no such employee. A row has every column of the mapping that it was read with, in its order.
   * @throws HrUnavailableError, HrDataError, MappingError
   */
  load(key: EmployeeKey): Promise<HrEmployeeRow | 'duplicate' | null> {
    return this.#batcher.load(key)
  }
}
