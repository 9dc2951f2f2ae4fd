import type { Pool } from 'pg'
import type { Logger } from 'pino'
import type { CallRecord } from '../emulator/call-log.ts'
import { createPool } from '../src/lib/database.ts'
import { acknowledgeAll, seedOf } from './company.ts'
import { limitCalls, watchCalls } from './emulator-log.ts'
import type { Figure, RunBenchmark } from './figure.ts'
import { isRejected, NAIVE, runNaive } from './naive.ts'
import { fillDatabase } from './planned-database.ts'
import type { Panel } from './plot.ts'
import { ratePanel } from './rate-panel.ts'
import { savePlot } from './results.ts'
import { runChanges } from './run-changes.ts'
import { startService } from './service.ts'
import type { Workshop } from './workshop.ts'

const PARTS = ['makespan-redis', 'makespan-postgres'] as const
const RATE = 200
const CALLS_PER_CHANGE = 2
/** One in two of them has changed; with more employees, the ratio is the same. */
const NAIVE_EMPLOYEES = 2000

/** How long the whole service takes for many changes, compared with the time that the permitted rate alone takes. */
export function makespan(workshop: Workshop, changed: number, results: string, logger: Logger): RunBenchmark {
  const employees = changed * 2
  return {
    name: 'makespan',
    parts: PARTS,
    measures: `seconds from the start of the diff to the last acknowledgement ÷ (calls needed ÷ permitted rate): ${changed.toLocaleString('en')} of ${employees.toLocaleString('en')} employees changed, ${CALLS_PER_CHANGE} calls each, ${RATE} calls in any second permitted and set; dirsync start as a scheduler and two workers`,
    against: `the same quotient of ${NAIVE}; on ${NAIVE_EMPLOYEES.toLocaleString('en')} employees, half of them changed`,
    async run(parts, report) {
      const figures: Figure[] = []
      for (const part of parts.length > 0 ? parts : PARTS)
        figures.push(...(await measure(workshop, part, changed, results, logger, report)))
      return figures
    },
  }
}

async function measure(
  workshop: Workshop,
  name: string,
  changed: number,
  results: string,
  logger: Logger,
  report: (line: string) => void,
): Promise<Figure[]> {
  const databaseUrl = await workshop.database()
  const redisUrl = name === 'makespan-redis' ? await workshop.redis() : null
  await fillDatabase(databaseUrl, changed * 2, logger)
  const platform = await workshop.emulator(seedOf(await acknowledgeAll(databaseUrl, logger)))
  const pool = createPool(databaseUrl, { max: 2, name: 'bench', logger })
  try {
    await limitCalls(platform, RATE)
    await changeEverySecond(pool, 'first')
    const sample = Math.min(NAIVE_EMPLOYEES, changed * 2)
    const naive = await runNaive(workshop, { databaseUrl, platform, employees: sample })
    const naiveRejected = naive.calls.filter(isRejected).length
    const naiveQuotient = naive.seconds / ((CALLS_PER_CHANGE * (sample / 2)) / RATE)
    report(`${name}: the script took ${naiveQuotient.toFixed(2)}, ${naiveRejected} calls rejected`)

    const deployment = { databaseUrl, redisUrl, platform, ratePerSecond: RATE }
    const service = await startService(workshop.folder, deployment, ['scheduler', 'worker', 'worker'])
    await changeEverySecond(pool, 'second')
    const watched = await watchCalls(platform)
    const { seconds } = await runChanges(pool, { changed })
    await service.stop()
    const calls = (await watched.all()).filter(({ operation }) => !operation.startsWith('token/'))
    const rejected = calls.filter(isRejected).length
    const updates = calls.filter(call => call.operation === 'employee/update' && !isRejected(call))
    if (updates.length !== changed)
      throw new Error(`${changed} employees should be updated once: ${updates.length} updates were made`)
    const quotient = seconds / ((CALLS_PER_CHANGE * changed) / RATE)
    report(
      `${name}: ${quotient.toFixed(3)}, ${seconds.toFixed(1)} s for ${calls.length} calls, ${rejected} of them rejected`,
    )
    await savePlot(results, name, {
      title: `${(CALLS_PER_CHANGE * changed).toLocaleString('en')} calls that are needed, at ${RATE} a second`,
      xLabel: 'seconds',
      yLabel: 'calls per second',
      panels: [
        panel(`dirsync, ${name === 'makespan-redis' ? 'Redis' : 'PostgreSQL'}`, calls),
        panel(`The script, on ${sample.toLocaleString('en')} employees`, naive.calls),
      ],
    })
    return [
      {
        name,
        value: quotient,
        unit: '× the time permitted',
        baseline: naiveQuotient,
        goal: { valueAtMost: 1.05 },
      },
      {
        name: `${name}-rejected`,
        value: rejected,
        unit: 'calls',
        baseline: naiveRejected,
        goal: { valueAtMost: 0 },
      },
    ]
  } finally {
    await pool.end()
  }
}

function panel(title: string, calls: readonly CallRecord[]): Panel {
  const recorded = calls
    .map(call => ({ arrivedAt: Date.parse(call.at), accepted: !isRejected(call) }))
    .sort((a, b) => a.arrivedAt - b.arrivedAt)
  const last = recorded.at(-1)?.arrivedAt ?? 0
  const seconds = Math.ceil((last - (recorded[0]?.arrivedAt ?? 0) + 1) / 1000)
  return ratePanel(title, recorded, seconds, [{ from: 0, rate: RATE }])
}

/** Gives every second employee another note. */
async function changeEverySecond(db: Pool, word: string): Promise<void> {
  await db.query(
    `update hr.employee set note = 'Moved a ' || $1 || ' time' where right(staff_id, 1)::int % 2 = 0`,
    [word],
  )
}
