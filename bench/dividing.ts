import { hash } from 'node:crypto'
import type { Figure, RunBenchmark } from './figure.ts'

/** As many as a Redis Cluster has. A slot moves as a whole, when a shard is added. */
const SLOTS = 16_384
const SHARDS = 100
const ENTERPRISES = 2000

/** How evenly employees fall on shards by the hash of their key, compared with a shard for each enterprise. Simulated: dirsync has no shards. */
export function dividing(employees: number): RunBenchmark {
  return {
    name: 'dividing',
    measures: `the largest of ${SHARDS} shards ÷ the mean: ${employees.toLocaleString('en')} employees of ${ENTERPRISES.toLocaleString('en')} enterprises (sizes by Zipf's law), by the MD5 of their key over ${SLOTS.toLocaleString('en')} slots; and the share of employees that move to shard ${SHARDS + 1}`,
    against:
      'whole enterprises, each put on the shard that has fewest employees, largest first; and all slots dealt anew',
    async run(_parts, report) {
      const sizes = zipf(employees, ENTERPRISES)
      const slots = new Uint32Array(SLOTS)
      for (const [enterprise, size] of sizes.entries())
        for (let i = 0; i < size; i += 1) {
          const slot = slotOf(`c${enterprise}\0e${i}`)
          slots[slot] = (slots[slot] ?? 0) + 1
        }
      report(`slots have ${Math.min(...slots)} to ${Math.max(...slots)} employees`)
      const dealt = Array.from(slots, (_, slot) => slot % SHARDS)
      const shards = sumOf(slots, dealt, SHARDS)
      const whole = placeGreedily(sizes, SHARDS)
      // The new shard takes one slot in turn from each of the others, until it has its share.
      const wider = dealt.map((shard, slot) => (slot % (SHARDS + 1) === SHARDS ? SHARDS : shard))
      const anew = Array.from(slots, (_, slot) => slot % (SHARDS + 1))
      const moved = (after: number[]) =>
        slots.reduce((sum, n, slot) => (after[slot] === dealt[slot] ? sum : sum + n), 0) / employees
      const figure = (name: string, value: number, baseline: number, goal: number): Figure => ({
        name,
        value,
        unit: '×',
        baseline,
        goal: { valueAtMost: goal },
      })
      return [
        figure('dividing-largest', largest(shards), largest(whole), 1.05),
        figure(
          'dividing-largest-after',
          largest(sumOf(slots, wider, SHARDS + 1)),
          largest(placeGreedily(sizes, SHARDS + 1)),
          1.05,
        ),
        figure('dividing-moved', moved(wider), moved(anew), 0.02),
      ]
    },
  }
}

function slotOf(key: string): number {
  return Number.parseInt(hash('md5', key).slice(0, 8), 16) % SLOTS
}

function zipf(total: number, count: number): number[] {
  const weights = Array.from({ length: count }, (_, i) => 1 / (i + 1))
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const sizes = weights.map(weight => Math.floor((total * weight) / whole))
  sizes[0] = (sizes[0] as number) + total - sizes.reduce((sum, size) => sum + size, 0)
  return sizes
}

function sumOf(slots: Uint32Array, shardOf: readonly number[], shards: number): number[] {
  const sums = new Array<number>(shards).fill(0)
  for (const [slot, n] of slots.entries())
    sums[shardOf[slot] as number] = (sums[shardOf[slot] as number] ?? 0) + n
  return sums
}

function placeGreedily(sizes: readonly number[], shards: number): number[] {
  const sums = new Array<number>(shards).fill(0)
  for (const size of sizes.toSorted((a, b) => b - a)) {
    const least = sums.indexOf(Math.min(...sums))
    sums[least] = (sums[least] as number) + size
  }
  return sums
}

function largest(shards: readonly number[]): number {
  return Math.max(...shards) / (shards.reduce((sum, n) => sum + n, 0) / shards.length)
}
