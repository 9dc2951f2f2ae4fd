import { afterAll, beforeAll, describe } from 'vitest'
import { failureContract } from './failures.ts'
import { lookupContract } from './lookups.ts'
import { mappingContract } from './mappings.ts'
import { scanContract } from './scans.ts'
import { Contract, type KindUnderTest } from './source-under-test.ts'
import { valueContract } from './values.ts'

/** What every kind of HR server has to pass, on a real one. */
export function hrContract(kind: KindUnderTest): void {
  describe(`HR in ${kind.name}`, { tags: kind.tags ?? [] }, () => {
    const contract = new Contract(kind)
    beforeAll(() => contract.open())
    afterAll(() => contract.close())
    valueContract(contract)
    lookupContract(contract)
    scanContract(contract)
    mappingContract(contract)
    failureContract(contract)
  })
}
