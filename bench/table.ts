import { type Benchmark, type Figure, ratioOf } from './figure.ts'

/** Prints figures aligned, then what each is and what it is compared with. */
export function printTable(benchmarks: readonly Benchmark[], figures: readonly Figure[]): void {
  const rows = figures.map((figure, i) => [
    figure.name,
    figure.value.toLocaleString('en'),
    figure.baseline.toLocaleString('en'),
    figure.unit,
    ratioOf({ ours: figure.value, baseline: figure.baseline }).toFixed(2),
    `${benchmarks[i] && 'atLeast' in benchmarks[i].goal ? '≥' : '≤'} ${figure.goal}`,
    figure.met ? 'yes' : 'NO',
  ])
  const table = [['name', 'value', 'baseline', 'unit', 'ratio', 'goal', 'met'], ...rows]
  const widths = table[0]?.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0))) ?? []
  const numbers = new Set([1, 2, 4])
  for (const row of table) {
    const cells = row.map((cell, i) =>
      numbers.has(i) ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0),
    )
    console.log(cells.join('  ').trimEnd())
  }
  console.log()
  for (const { name, measures, against } of benchmarks)
    console.log(`${name}: ${measures}; baseline: ${against}.`)
}
