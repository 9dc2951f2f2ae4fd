import { Batcher } from '../core/batcher.ts'
import { type EmployeeKey, keyText } from '../core/employee.ts'
import type { HrEmployeeRow, HrSource } from '../hr/source.ts'

interface Wanted {
  key: EmployeeKey
  mapping: string | null
}

/** The present HR rows that workers ask for: look-ups of the same moment become one query. */
export class HrLookups {
  readonly #batcher: Batcher<Wanted, HrEmployeeRow | 'duplicate' | null>

  constructor(hr: HrSource) {
    this.#batcher = new Batcher(
      async wanted => {
        // One mapping, but for the moment in which a plan with another one passes.
        const groups = [...Map.groupBy(wanted, ({ mapping }) => mapping)].map(async ([mapping, group]) => {
          const rows = await hr.lookup(
            group.map(({ key }) => key),
            { mapping },
          )
          return group.map(item => [item, rows.get(keyText(item.key)) ?? null] as const)
        })
        const found = new Map((await Promise.all(groups)).flat())
        return wanted.map(item => found.get(item) ?? null)
      },
      { maxBatch: 500 },
    )
  }

  /**
   * Null when HR has no such employee. A row has every column of the mapping that it was read with, in its order.
   * @param mapping as of `HrSource.lookup`
   * @throws HrUnavailableError, HrDataError, MappingError
   */
  load(key: EmployeeKey, mapping: string | null): Promise<HrEmployeeRow | 'duplicate' | null> {
    return this.#batcher.load({ key, mapping })
  }
}
