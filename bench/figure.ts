/** One figure, as `npm run bench -- --json` prints it. */
export interface Figure {
  name: string
  value: number
  unit: string
  /** The same of what we are compared with, from the same run. */
  baseline: number
  /** Of `value / baseline`: at least this, or for a figure that should be small at most this. */
  goal: number
  met: boolean
}

/** What a benchmark measures, and against what. */
export interface Benchmark {
  name: string
  unit: string
  /** What `value` is. */
  measures: string
  /** What `baseline` is. */
  against: string
  goal: { atLeast: number } | { atMost: number }
  /** Builds what all pairs share, then hands over how to measure each side once. */
  prepare(): Promise<Sides>
}

/** Each side measures once and answers in the benchmark's unit. */
export interface Sides {
  ours(): Promise<number>
  baseline(): Promise<number>
  close(): Promise<void>
}

/** One measurement of each side, made one right after the other. */
export interface Pair {
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
export function figureOf(benchmark: Benchmark, pairs: readonly Pair[]): Figure {
  const sorted = pairs.toSorted((a, b) => ratioOf(a) - ratioOf(b))
  const pair = sorted[Math.floor((sorted.length - 1) / 2)]
  if (pair === undefined) throw new RangeError('a figure needs at least one pair')
  const { name, unit, goal } = benchmark
  const ratio = ratioOf(pair)
  const [bound, met] =
    'atLeast' in goal ? [goal.atLeast, ratio >= goal.atLeast] : [goal.atMost, ratio <= goal.atMost]
  return { name, value: rounded(pair.ours), unit, baseline: rounded(pair.baseline), goal: bound, met }
}

/** Our side as a share of the baseline. */
export function ratioOf(pair: Pair): number {
  return pair.ours / pair.baseline
}

function rounded(value: number): number {
  return Number(value.toPrecision(4))
}
