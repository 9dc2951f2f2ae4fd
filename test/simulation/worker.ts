import { DEFECTS, putBackInSchema, putBackInSource, readInstead } from './defects.ts'
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
const { openWorld } = await import('./world.ts')
const { playSeed } = await import('./play.ts')
const { employeesOf } = await import('./scenario.ts')
const { money } = await import('./money.ts')
const world = await openWorld(url)
if (defect) await putBackInSchema(defect, world.observer)

process.on('message', async (seed: number | 'end') => {
  if (seed === 'end') {
    await world.close()
    // What has died never ends by itself.
    process.exit()
  }
  const shrinks = defect === undefined
  const found =
    (only !== 'money' && (await playSeed(world, employeesOf(seed), seed, shrinks))) ||
    (only !== 'employees' && (await playSeed(world, money, seed, shrinks))) ||
    seed
  process.send?.(found)
})
process.send?.('ready')
