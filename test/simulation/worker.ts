import { DEFECTS, putBackInSchema, putBackInSource, readInstead, type ScenarioName } from './defects.ts'
import type { Turn } from './play.ts'

/** Plays the seeds that its parent sends it, in a process of its own, so that a defect is in nothing else. */

/** A seed that breaks a law, shrunk to what it takes. */
export interface Found {
  seed: number
  breaches: string[]
  happenings: readonly Turn[]
  /** What came after what. */
  order: string
}

const [url = '', only, name] = process.argv.slice(2)
const defect = DEFECTS.find(each => each.name === name)
if (defect) putBackInSource(defect)
// A stage has too few employees for jobs of several keys, so it says itself into how many its work is divided.
readInstead({
  file: 'sync/outbox/job-size.ts',
  from: 'keys / FEWEST_JOBS',
  to: 'keys / globalThis.fewestJobs',
})
// As are pages.
for (const file of ['mirrors/orders.ts', 'mirrors/taxpayers.ts'])
  readInstead({ file, from: 'const PAGE_SIZE = 100', to: 'const PAGE_SIZE = 2' })
const { openWorld } = await import('./world.ts')
const { playSeed } = await import('./play.ts')
const { employeesOf } = await import('./scenario.ts')
const { money } = await import('./money.ts')
const { mirrorsOf } = await import('./mirrors.ts')
const world = await openWorld(url)
if (defect) await putBackInSchema(defect, world.observer)

/** Each plays a seed, in this order. */
const SCENARIOS = {
  employees: (seed: number) => playSeed(world, employeesOf(seed, false), seed, shrinks),
  money: (seed: number) => playSeed(world, money, seed, shrinks),
  mirrors: (seed: number) => playSeed(world, mirrorsOf(seed), seed, shrinks),
  restores: (seed: number) => playSeed(world, employeesOf(seed, true), seed, shrinks),
} satisfies Record<ScenarioName, (seed: number) => Promise<Found | null>>
const shrinks = defect === undefined
/** Of so many seeds one plays restores, too: they take some five times as long as the rest. */
const RESTORED = 4

process.on('message', async (seed: number | 'end') => {
  if (seed === 'end') {
    await world.close()
    // What has died never ends by itself.
    process.exit()
  }
  let found: Found | null = null
  for (const [scenario, play] of Object.entries(SCENARIOS))
    if (only ? only === scenario : scenario !== 'restores' || seed % RESTORED === 0)
      found ??= await play(seed)
  process.send?.(found ?? seed)
})
process.send?.('ready')
