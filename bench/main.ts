import { join, resolve } from 'node:path'
import { parseArgs } from 'node:util'
import { createLogger } from '../src/lib/logger.ts'
import { atScale } from './at-scale.ts'
import { auto } from './auto.ts'
import { callsPerChange } from './calls-per-change.ts'
import { ceiling } from './ceiling.ts'
import { client } from './client.ts'
import { consolePages } from './console.ts'
import { dividing } from './dividing.ts'
import { feeding, queueDepth } from './feeding.ts'
import {
  type Benchmark,
  type Figure,
  measurePairs,
  medianFigure,
  type PairBenchmark,
  toJson,
} from './figure.ts'
import { fullRun } from './full-run.ts'
import { halving } from './halving.ts'
import { hrCheckMemory, hrCheckSeconds } from './hr-check.ts'
import { makespan } from './makespan.ts'
import { pacing } from './pacing.ts'
import { planFilesMemory, planFilesRows } from './plan-files.ts'
import { planFirst } from './plan-first.ts'
import { planPostgresMemory } from './plan-memory.ts'
import { planMysqlMemory, planMysqlRows } from './plan-mysql.ts'
import { planRows } from './plan-rows.ts'
import { fillDatabase } from './planned-database.ts'
import { pollLatency } from './poll-latency.ts'
import { saveFigures } from './results.ts'
import { sharing } from './sharing.ts'
import { printMarkdown, printTable } from './table.ts'
import { tokens } from './tokens.ts'
import { tracesOff, tracesOn } from './traces.ts'
import { triggerLatency } from './trigger-latency.ts'
import { worker } from './worker.ts'
import { Workshop } from './workshop.ts'

const USAGE =
  'npm run bench [-- [--only NAME]… [--pairs N] [--employees N] [--jobs N] [--calls N] [--changed N] [--seconds N] [--json | --markdown] [--results FOLDER]]'

/** The folder for figures and plots. */
const RESULTS = join(import.meta.dirname, 'results')

const log = (line: string) => process.stderr.write(`${line}\n`)

process.exitCode = await main(process.argv.slice(2))

async function main(args: string[]): Promise<number> {
  const options = optionsOf(args)
  if (options === null) return 2
  const workshop = await Workshop.open()
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.once(signal, () => {
      log('stopping')
      workshop.close().finally(() => process.exit(130))
    })
  }
  try {
    const benchmarks = benchmarksOf(workshop, options)
    const names = benchmarks.map(({ name }) => name)
    const parts = benchmarks.flatMap(partsOf)
    const unknown = options.only.filter(name => !names.includes(name) && !parts.includes(name))
    if (unknown.length > 0) {
      log(`There is no benchmark ${unknown.join(', ')}: choose from ${names.join(', ')}.`)
      return 2
    }
    const figures: Figure[] = []
    const chosen = benchmarks.filter(
      benchmark =>
        options.only.length === 0 ||
        [benchmark.name, ...partsOf(benchmark)].some(name => options.only.includes(name)),
    )
    for (const benchmark of chosen) {
      if ('prepare' in benchmark) figures.push(await measure(benchmark, options.pairs))
      else {
        const report = (line: string) => log(`${benchmark.name}: ${line}`)
        const wanted = options.only.includes(benchmark.name)
          ? []
          : partsOf(benchmark).filter(part => options.only.includes(part))
        figures.push(...(await benchmark.run(wanted, report)))
      }
    }
    await saveFigures(options.results, figures.map(toJson))
    if (options.json) console.log(JSON.stringify(figures.map(toJson), null, 2))
    else if (options.markdown) printMarkdown(figures)
    else printTable(chosen, figures)
    return 0
  } finally {
    await workshop.close()
  }
}

interface Options {
  only: string[]
  pairs: number
  employees: number
  jobs: number
  calls: number
  changed: number
  seconds: number
  json: boolean
  markdown: boolean
  results: string
}

/** Null for a wrong command line, after a sentence on stderr. */
function optionsOf(args: string[]): Options | null {
  try {
    const { values } = parseArgs({
      args,
      options: {
        only: { type: 'string', multiple: true, default: [] },
        pairs: { type: 'string', default: '3' },
        employees: { type: 'string', default: '1000000' },
        jobs: { type: 'string', default: '5000' },
        calls: { type: 'string', default: '50000' },
        changed: { type: 'string', default: '10000' },
        seconds: { type: 'string', default: '60' },
        json: { type: 'boolean', default: false },
        markdown: { type: 'boolean', default: false },
        results: { type: 'string', default: RESULTS },
      },
    })
    const whole = (name: 'pairs' | 'employees' | 'jobs' | 'calls' | 'changed' | 'seconds') => {
      const value = Number(values[name])
      if (!Number.isInteger(value) || value < 1)
        throw new TypeError(`--${name} must be a whole number from 1`)
      return value
    }
    return {
      only: values.only.flatMap(names => names.split(',')),
      pairs: whole('pairs'),
      employees: whole('employees'),
      jobs: whole('jobs'),
      calls: whole('calls'),
      changed: whole('changed'),
      seconds: whole('seconds'),
      json: values.json,
      markdown: values.markdown,
      results: resolve(values.results),
    }
  } catch (error) {
    log(`${(error as Error).message}\n${USAGE}`)
    return null
  }
}

function benchmarksOf(workshop: Workshop, options: Options): Benchmark[] {
  const logger = createLogger({ level: 'warn', pretty: false })
  const filled = new Map<number, Promise<string>>()
  const fill = async (employees: number) => {
    log(`preparing ${employees.toLocaleString('en')} employees in HR, all in sync`)
    const url = await workshop.database()
    await fillDatabase(url, employees, logger)
    return url
  }
  const database = (employees: number) => {
    const url = filled.get(employees) ?? fill(employees)
    filled.set(employees, url)
    return url
  }
  return [
    planRows(() => database(options.employees), options.employees, logger),
    planPostgresMemory(database, options.employees, workshop.folder, logger),
    planFirst(workshop, options.employees, logger),
    hrCheckSeconds(() => database(options.employees), options.employees, workshop.folder, logger),
    hrCheckMemory(database, 2 * options.employees, workshop.folder),
    planMysqlRows(workshop, options.employees, logger),
    planMysqlMemory(workshop, options.employees, logger),
    planFilesRows(workshop, options.employees, logger),
    planFilesMemory(workshop, options.employees, logger),
    worker('redis', workshop, options.jobs, logger),
    worker('postgres', workshop, options.jobs, logger),
    fullRun(workshop, options.employees, logger),
    tracesOff(workshop),
    tracesOn('redis', workshop, options.jobs, logger),
    tracesOn('postgres', workshop, options.jobs, logger),
    feeding('redis', workshop, 4 * options.jobs, logger),
    feeding('postgres', workshop, 4 * options.jobs, logger),
    queueDepth(workshop, logger),
    client(workshop, options.calls, 'prepared'),
    client(workshop, options.calls, 'signed'),
    client(workshop, options.calls, 'fetch'),
    tokens(workshop, logger),
    atScale(workshop, options.employees, logger),
    consolePages(workshop, options.employees, logger),
    makespan(workshop, options.changed, options.results, logger),
    callsPerChange(workshop, Math.min(options.employees, 100_000), logger),
    pacing(workshop, options.seconds, options.results),
    sharing(workshop, logger),
    dividing(100 * options.employees),
    triggerLatency(workshop, logger),
    pollLatency(workshop, logger),
    auto(workshop, options.seconds, options.results),
    halving(workshop, options.seconds, options.results),
    ceiling(workshop, options.seconds, options.results),
  ]
}

function partsOf(benchmark: Benchmark): readonly string[] {
  return ('run' in benchmark && benchmark.parts) || []
}

async function measure(benchmark: PairBenchmark, count: number): Promise<Figure> {
  const sides = await benchmark.prepare()
  try {
    const pairs = await measurePairs(sides, count, pair => {
      const [ours, baseline] = [pair.ours, pair.baseline].map(value => Math.round(value).toLocaleString('en'))
      const ratio = (pair.ours / pair.baseline).toFixed(2)
      log(`${benchmark.name}: ${ours} against ${baseline} ${benchmark.unit}, ratio ${ratio}`)
    })
    return medianFigure(benchmark, pairs)
  } finally {
    await sides.close()
  }
}
