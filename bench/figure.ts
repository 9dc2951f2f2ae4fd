/** A bound on `value / baseline`, or on the value alone. */
export type Goal =
  | { atLeast: number }
  | { atMost: number }
  | { valueAtLeast: number }
  | { valueAtMost: number }

/** One measured figure. */
export interface Figure {
  name: string
  value: number
  unit: string
  /** The same for the thing we compare with, from the same run; null if there is none. */
  baseline: number | null
  goal: Goal
}

/** A figure as printed by `npm run bench -- --json`; `goal` is only the bound. */
export interface FigureJson {
  name: string
  value: number
  unit: string
  baseline: number | null
  goal: number
  met: boolean
}

/** What a benchmark measures, and its baseline. */
interface Description {
  name: string
  /** The meaning of `value`. */
  measures: string
  /** The meaning of `baseline`. */
  against: string
}

/** One figure from alternating measurements of two sides. */
export interface PairBenchmark extends Description {
  unit: string
  goal: Goal
  /** Prepares what all pairs share, and returns how to measure each side once. */
  prepare(): Promise<Sides>
}

/** Several figures from one run. */
export interface RunBenchmark extends Description {
  /** Parts that may be run alone: names of figures, or their beginnings. */
  parts?: readonly string[]
  /**
   * @param parts the parts to run; all if empty
   * @param report called with each line of progress
   */
  run(parts: readonly string[], report: (line: string) => void): Promise<Figure[]>
}

export type Benchmark = PairBenchmark | RunBenchmark

/** Each side measures once and returns a value in the benchmark's unit. */
interface Sides {
  ours(): Promise<number>
  baseline(): Promise<number>
  close(): Promise<void>
}

/** One measurement of each side, made one right after the other. */
interface Pair {
  ours: number
  baseline: number
}

/**
 * Measures both sides alternately, beginning with the other side in each pair, so that disturbances of the machine
 * affect both.
 * @param report called with each pair
 */
export async function measurePairs(
  sides: Sides,
  count: number,
  report: (pair: Pair) => void,
): Promise<Pair[]> {
  const pairs: Pair[] = []
  for (let i = 0; i < count; i++) {
    const pair = { ours: 0, baseline: 0 }
    for (const side of i % 2 === 0 ? (['baseline', 'ours'] as const) : (['ours', 'baseline'] as const)) {
      pair[side] = await sides[side]()
    }
    report(pair)
    pairs.push(pair)
  }
  return pairs
}

/** The figure of the pair whose ratio is the median of all pairs. */
export function medianFigure({ name, unit, goal }: PairBenchmark, pairs: readonly Pair[]): Figure {
  const sorted = pairs.toSorted((a, b) => a.ours / a.baseline - b.ours / b.baseline)
  const pair = sorted[Math.floor((sorted.length - 1) / 2)]
  if (pair === undefined) throw new RangeError('a figure needs at least one pair')
  return { name, value: pair.ours, unit, baseline: pair.baseline, goal }
}

/** The value as a share of the baseline; null without one, or if the baseline is 0. */
export function ratioOf({ value, baseline }: Figure): number | null {
  return baseline === null || baseline === 0 ? null : value / baseline
}

/** Whether the goal is met. Without a baseline, a goal for the ratio is not. */
export function isMet(figure: Figure): boolean {
  const { value, goal } = figure
  if ('valueAtLeast' in goal) return value >= goal.valueAtLeast
  if ('valueAtMost' in goal) return value <= goal.valueAtMost
  const ratio = ratioOf(figure)
  if (ratio === null) return false
  return 'atLeast' in goal ? ratio >= goal.atLeast : ratio <= goal.atMost
}

export function toJson(figure: Figure): FigureJson {
  const { name, value, unit, baseline, goal } = figure
  return {
    name,
    value: rounded(value),
    unit,
    baseline: baseline === null ? null : rounded(baseline),
    goal: boundOf(goal),
    met: isMet(figure),
  }
}

function boundOf(goal: Goal): number {
  if ('atLeast' in goal) return goal.atLeast
  if ('atMost' in goal) return goal.atMost
  return 'valueAtLeast' in goal ? goal.valueAtLeast : goal.valueAtMost
}

/** Rounds to four digits; more would be meaningless. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
