import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expectedResult } from './generator/expected.ts'
import { buildUnits } from './generator/organisation.ts'
import { buildPeople } from './generator/people.ts'
import { plantCases } from './generator/plant.ts'
import { platformSeed } from './generator/platform-seed.ts'
import { seededRandom } from './generator/random.ts'
import { dataSql } from './generator/sql.ts'
import { tradeSeed } from './generator/trade.ts'

/**
 * Writes the generated half of the sample: `data.sql`, `platform.json` and `expected.json`, into this folder or
 * into the one that is named. The same bytes every time.
 *
 *     npx node examples/hr/generate.ts [FOLDER]
 */

const SEED = 2411
/** A seed of its own, so that purchases do not change the employees. */
const TRADE_SEED = 2412

const folder = process.argv[2] ?? import.meta.dirname
const units = buildUnits()
const people = buildPeople(seededRandom(SEED), units)
const cases = plantCases(people)
const platform = { ...platformSeed(units, people), ...tradeSeed(seededRandom(TRADE_SEED), people) }

writeFileSync(join(folder, 'data.sql'), dataSql(units, people))
writeFileSync(join(folder, 'platform.json'), json(platform))
writeFileSync(join(folder, 'expected.json'), json(expectedResult(units, people, cases)))

/** One line per item of a list, so that a difference between two versions is readable. */
function json(document: Record<string, unknown>): string {
  const members = Object.entries(document).map(([name, value]) => {
    if (!Array.isArray(value)) return `  ${JSON.stringify(name)}: ${JSON.stringify(value)}`
    return `  ${JSON.stringify(name)}: [\n${value.map(item => `    ${JSON.stringify(item)}`).join(',\n')}\n  ]`
  })
  return `{\n${members.join(',\n')}\n}\n`
}
