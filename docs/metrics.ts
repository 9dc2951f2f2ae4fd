import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DATABASE_METRICS, type Metric } from '../src/console/database-metrics.ts'
import { PROCESS_METRICS } from '../src/console/process-metrics.ts'
import { table } from './settings.ts'

/** `npm run docs:metrics`: generates the tables of docs/monitoring.md from what the service says of its metrics. */

const FILE = join(import.meta.dirname, 'monitoring.md')

/** The whole page, of which the rest is written by hand. */
export function monitoringPage(): string {
  const tables = [DATABASE_METRICS, PROCESS_METRICS].map(metricTable)
  return readFileSync(FILE, 'utf8').replace(/^\| Metric .*?\n(?!\|)/gms, () => tables.shift() ?? '')
}

function metricTable(metrics: Readonly<Record<string, Metric>>): string {
  const rows = Object.entries(metrics).map(([name, { help, labels = [], buckets }]) => [
    `\`${name}${labels.length > 0 ? `{${labels.join()}}` : ''}\``,
    `${buckets ? 'Histogram. ' : ''}${help}`,
  ])
  return table(['Metric', 'What'], rows)
}

if (import.meta.main) {
  const page = monitoringPage()
  if (page !== readFileSync(FILE, 'utf8')) writeFileSync(FILE, page)
}
