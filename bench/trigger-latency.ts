import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { Logger } from 'pino'
import { carryOut, planInstallation, planRemoval } from '../src/hr/postgres/trigger.ts'
import { acknowledgeAll, seedOf } from './company.ts'
import { watchCalls } from './emulator-log.ts'
import type { Figure, RunBenchmark } from './figure.ts'
import { EMPLOYEES_SQL } from './people.ts'
import { fillDatabase } from './planned-database.ts'
import { type Deployment, startService } from './service.ts'
import type { Workshop } from './workshop.ts'

export const EMPLOYEES = 20_000
/** The default. */
export const RATE_PER_SECOND = 10
const ROUNDS = 2
const CHANGES_A_ROUND = 20
/**
 * The pause between two changes, so that each finds an idle system; not a whole second, so that polls are met at any
 * phase.
 */
const PAUSE_MS = 1270

const PARTS = ['trigger-latency-redis', 'trigger-latency-postgres'] as const

/** Time from the UPDATE of an HR row, its commit included, to the arrival of `employee/update` at the platform. */
export function triggerLatency(workshop: Workshop, logger: Logger): RunBenchmark {
  return {
    name: 'trigger-latency',
    parts: PARTS,
    measures: `median of ${ROUNDS * CHANGES_A_ROUND} single changes in HR, ${EMPLOYEES.toLocaleString('en')} employees, idle system, default settings, trigger installed and no cron job: from the UPDATE to the arrival of employee/update at the platform`,
    against: 'the same service without the trigger, with SCHEDULE_SYNC_CHANGES at every second',
    async run(parts, report) {
      const figures: Figure[] = []
      for (const name of PARTS.filter(part => parts.length === 0 || parts.includes(part)))
        figures.push(await measure(name, workshop, logger, report))
      return figures
    },
  }
}

async function measure(
  name: (typeof PARTS)[number],
  workshop: Workshop,
  logger: Logger,
  report: (line: string) => void,
): Promise<Figure> {
  const databaseUrl = await workshop.database()
  await fillDatabase(databaseUrl, EMPLOYEES, logger)
  const platform = await workshop.emulator(seedOf(await acknowledgeAll(databaseUrl, logger)))
  const redisUrl = name.endsWith('redis') ? await workshop.redis() : null
  const deployment = { databaseUrl, redisUrl, platform, ratePerSecond: RATE_PER_SECOND }
  const [triggered, polled]: [number[], number[]] = [[], []]
  await using hr = await connected(databaseUrl)
  const change = async (userid: string, note: string) => {
    await hr.client.query('update hr.employee set note = $2 where staff_id = $1', [userid, note])
  }
  for (let round = 0; round < ROUNDS; round += 1) {
    await carryOut(hr.client, (await planRemoval(hr.client)).statements)
    polled.push(
      ...(await latencies(workshop.folder, deployment, change, { SCHEDULE_SYNC_CHANGES: '* * * * * *' })),
    )
    const { statements } = await planInstallation(
      hr.client,
      { file: 'employees.sql', sql: EMPLOYEES_SQL },
      null,
    )
    await carryOut(hr.client, statements)
    triggered.push(...(await latencies(workshop.folder, deployment, change, {})))
  }
  const [value, baseline] = [at(triggered, 0.5), at(polled, 0.5)]
  for (const [side, all] of Object.entries({ triggered, polled }))
    report(
      `${name}: ${side} p50 ${at(all, 0.5)} ms, p95 ${at(all, 0.95)} ms, worst ${at(all, 1)} ms, ${all.length} changes`,
    )
  return { name, value, unit: 'ms', baseline, goal: { valueAtMost: 250 } }
}

/**
 * The latency of each change of a round, in milliseconds.
 * @param change writes a note into an employee's row in HR
 * @param settings of the service, which has no cron job that looks for changes unless they say so
 */
export async function latencies(
  runFolder: string,
  deployment: Deployment,
  change: (userid: string, note: string) => Promise<void>,
  settings: Record<string, string>,
): Promise<number[]> {
  const service = await startService(runFolder, deployment, ['scheduler,worker'], settings)
  const measured: number[] = []
  // The first change includes connections, plans and compilation.
  for (let i = 0; i <= CHANGES_A_ROUND; i += 1) {
    await sleep(PAUSE_MS)
    const watched = await watchCalls(deployment.platform)
    const userid = `e${String(1 + Math.floor(Math.random() * EMPLOYEES)).padStart(8, '0')}`
    const begun = Date.now()
    await change(userid, `Seen at ${begun}`)
    const arrived = await arrivalOf(watched, userid)
    if (i > 0) measured.push(arrived - begun)
  }
  await service.stop()
  return measured
}

async function arrivalOf(watched: Awaited<ReturnType<typeof watchCalls>>, userid: string): Promise<number> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline; await sleep(20)) {
    const found = (await watched.all()).find(
      call => call.operation === 'employee/update' && call.params.userid === userid,
    )
    if (found) return Date.parse(found.at)
  }
  throw new Error(`the change of ${userid} did not arrive within 30 s`)
}

async function connected(url: string): Promise<AsyncDisposable & { client: pg.Client }> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return { client, [Symbol.asyncDispose]: () => client.end() }
}

/** The value below which this share of values lies. */
export function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN
}
