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
  /** The same of what we are compared with, from the same run; null where there is nothing to compare with. */
  baseline: number | null
  goal: Goal
}

/** A figure as `npm run bench -- --json` prints it; `goal` is the bound alone. */
export interface FigureJson {
  name: string
  value: number
  unit: string
  baseline: number | null
  goal: number
  met: boolean
}

/** What a benchmark measures, and against what. */
interface Description {
  name: string
  /** What `value` is. */
  measures: string
  /** What `baseline` is. */
  against: string
}

/** One figure from measurements of two sides in turn. */
export interface PairBenchmark extends Description {
  unit: string
  goal: Goal
  /** Builds what all pairs share, then hands over how to measure each side once. */
  prepare(): Promise<Sides>
}

/** Several figures from one run. */
export interface RunBenchmark extends Description {
  /** Parts that may be run alone: names of figures, or what they begin with. */
  parts?: readonly string[]
  /**
   * @param parts those to run; all without any
   * @param report is told how it goes, a line at a time
   */
  run(parts: readonly string[], report: (line: string) => void): Promise<Figure[]>
}

export type Benchmark = PairBenchmark | RunBenchmark

/** Each side measures once and answers in the benchmark's unit. */
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
 * Measures both sides in turn, which begins changing from pair to pair, so that what else the machine does meets both.
 * @param report is told of each pair
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

/** The value as a share of the baseline; null without one, or where the baseline is nothing. */
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

/** Four digits: more of them say nothing. */
export function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
