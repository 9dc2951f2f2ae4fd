import { type Benchmark, type Figure, type Goal, isMet, ratioOf, rounded } from './figure.ts'

const HEADER = ['name', 'value', 'baseline', 'unit', 'ratio', 'goal', 'met']
/** Numeric columns. */
const NUMBERS = new Set([1, 2, 4])

/** Prints figures aligned, then the meaning and baseline of each. */
export function printTable(benchmarks: readonly Benchmark[], figures: readonly Figure[]): void {
  const table = [HEADER, ...figures.map(cellsOf)]
  const widths = HEADER.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0)))
  for (const row of table) {
    const cells = row.map((cell, i) =>
      NUMBERS.has(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
    )
    console.log(cells.join('  ').trimEnd())
  }
  console.log()
  for (const { name, measures, against } of benchmarks)
    console.log(`${name}: ${measures}; baseline: ${against}.`)
}

/** Prints figures as a Markdown table. */
export function printMarkdown(figures: readonly Figure[]): void {
  const rule = HEADER.map((_, i) => (NUMBERS.has(i) ? '--:' : '---'))
  const rows = figures.map(figure => {
    const [name, ...cells] = cellsOf(figure)
    return [`\`${name}\``, ...cells.map(cell => (cell === 'NO' ? '**no**' : cell))]
  })
  for (const row of [HEADER, rule, ...rows]) console.log(`| ${row.join(' | ')} |`)
}

function cellsOf(figure: Figure): string[] {
  return [
    figure.name,
    rounded(figure.value).toLocaleString('en', { maximumFractionDigits: 4 }),
    figure.baseline === null
      ? '–'
      : rounded(figure.baseline).toLocaleString('en', { maximumFractionDigits: 4 }),
    figure.unit,
    ratioOf(figure)?.toFixed(2) ?? '–',
    goalText(figure.goal),
    isMet(figure) ? 'yes' : 'NO',
  ]
}

function goalText(goal: Goal): string {
  if ('atLeast' in goal) return `ratio ≥ ${goal.atLeast}`
  if ('atMost' in goal) return `ratio ≤ ${goal.atMost}`
  return 'valueAtLeast' in goal ? `≥ ${goal.valueAtLeast}` : `≤ ${goal.valueAtMost}`
}
