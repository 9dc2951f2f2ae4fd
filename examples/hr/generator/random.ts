/** Seeded random numbers (mulberry32): the same seed gives the same sample, on every machine. */
export interface Random {
  /** A whole number from 0 to `below` - 1. */
  below(below: number): number
  /** True in `percent` of all cases. */
  chance(percent: number): boolean
  pick<T>(list: readonly T[]): T
}

export function seededRandom(seed: number): Random {
  let state = seed

  function below(limit: number): number {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % limit
  }

  return {
    below,
    chance: percent => below(100) < percent,
    pick: list => {
      const item = list[below(list.length)]
      if (item === undefined) throw new RangeError('nothing to pick from: the list is empty')
      return item
    },
  }
}
