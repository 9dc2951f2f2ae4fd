import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Pool } from 'pg'
import type { Logger } from 'pino'
import { readOverview } from '../src/console/overview/read.ts'
import { createPool, transaction } from '../src/lib/database.ts'
import { createQueueBackend } from '../src/queue/backend.ts'
import { foldTally } from '../src/sync/health/figures.ts'
import { readHealth } from '../src/sync/health/health.ts'
import { runTimeLeft, timesLeft } from '../src/sync/health/time-left.ts'
import { claim } from '../src/sync/outbox/claim.ts'
import { Feeder } from '../src/sync/outbox/feeder.ts'
import { finished, type Settlement, unsent } from '../src/sync/outbox/outcome.ts'
import { readPace } from '../src/sync/processes/pace.ts'
import { claimRun, requestRun } from '../src/sync/runs/run.ts'
import { finishRuns } from '../src/sync/settle/finish-runs.ts'
import { settle } from '../src/sync/settle/settlement.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { acknowledgeAll, seedOf } from './company.ts'
import type { Figure, Goal, RunBenchmark } from './figure.ts'
import { EMPLOYEES_SQL } from './people.ts'
import { benchPlanner, fillDatabase, openHr } from './planned-database.ts'
import { type Deployment, serviceEnvironment, startService } from './service.ts'
import type { Workshop } from './workshop.ts'

/** Employees that the emulator has, too; the others exist only in outbox, HR and memory. */
const WORKED_ON = 120_000
const CASES = 100_000
const OLD_RUNS = 1_000_000
const HIGH_WATER = 1000
const RATE_PER_SECOND = 5000
const ROUNDS = 20
/** How long workers run before measuring, to reach full speed. */
const WARM_UP_MS = 8000

/** The employees that the emulator lacks are in a group of eight enterprises. */
const GROUP_SQL = EMPLOYEES_SQL.replace(
  'select ',
  `select case when e.staff_id > '${useridOf(WORKED_ON)}' then 'G' || right(e.staff_id, 1)::int % 8 else '' end as enterprise_code, `,
)

/** The baseline: the same figures of metrics and status, counted from the tables. */
const COUNTED = `
  select (select jsonb_agg(x) from (select operation, enqueued_at is null, count(*), min(created_at) from dirsync.pending group by 1, 2) x),
         (select jsonb_agg(x) from (select category, state, count(*) from dirsync.dead_letter group by 1, 2) x),
         (select jsonb_agg(x) from (select state, count(*), max(finished_at) from dirsync.sync_run group by 1) x),
         (select jsonb_agg(x) from (select acknowledged_hash = source_hash, parked_hash = source_hash, count(*) from dirsync.employee group by 1, 2) x)`

/** The calls that the outbox needs, counted. */
const COUNTED_CALLS = `
  select p.run_id, p.priority, count(*), sum(case when e.acknowledged_hash = e.source_hash then 1 else 2 end)
  from dirsync.pending p
  left join dirsync.employee e on e.enterprise_code = p.enterprise_code and e.userid = p.entity_key group by 1, 2`

/** Parts that can be run alone, each with its prerequisites. */
const PARTS = ['at-scale-sql', 'at-scale-scheduler', 'at-scale-writers', 'at-scale-service'] as const

/** What reading status and the scheduler's steps cost with a million of everything. */
export function atScale(workshop: Workshop, employees: number, logger: Logger): RunBenchmark {
  const [many, cases, runs] = [employees, CASES, OLD_RUNS].map(n => n.toLocaleString('en'))
  return {
    name: 'at-scale',
    measures: `${many} employees, as many rows in the outbox (the middle of a full run), ${cases} cases and ${runs} old runs: the worst of ${ROUNDS} metrics, status and times left, the median of ${ROUNDS} of what the scheduler does, and the statements that keep the tally`,
    against:
      'metrics, status, time left: the tables counted by one statement, in the same database; settle and outbox: the same without the triggers of the tally',
    parts: PARTS,
    async run(parts, report) {
      const databaseUrl = await workshop.database()
      await fillDatabase(databaseUrl, employees, logger, GROUP_SQL)
      const people = await acknowledgeAll(databaseUrl, logger)
      report('the emulator, the outbox, cases and old runs')
      const platform = await workshop.emulator(seedOf(people))
      const pool = createPool(databaseUrl, { max: 4, name: 'bench', logger })
      try {
        const run = await fillTables(pool)
        const deployment = {
          databaseUrl,
          redisUrl: await workshop.redis(),
          platform,
          ratePerSecond: RATE_PER_SECOND,
        }
        const measures: Record<(typeof PARTS)[number], () => Promise<Figure[]>> = {
          'at-scale-sql': () => lookedAt(pool, run, report),
          'at-scale-scheduler': () => scheduled(pool, deployment, employees, logger, report),
          'at-scale-writers': () => written(pool, run, report),
          'at-scale-service': () => served(pool, workshop, deployment, report),
        }
        const figures: Figure[] = []
        for (const part of PARTS)
          if (parts.length === 0 || parts.includes(part)) figures.push(...(await measures[part]()))
        return figures
      } finally {
        await pool.end()
      }
    },
  }
}

/**
 * Fills the tables as in the middle of a full run, with cases and old runs.
 * @returns the number of the run
 */
async function fillTables(pool: Pool): Promise<number> {
  await pool.query(
    `insert into dirsync.sync_run (kind, state, read_all, keys, planned, planned_at, finished_at, requested_at)
     select case when i % 20 = 0 then 'retry' else 'changes' end, case when i % 50 = 0 then 'failed' else 'done' end, false, '{e1}', 1, t, t, t
     from generate_series(1, $1::int) i, lateral (select now() - i * interval '10 s' as t) at`,
    [OLD_RUNS],
  )
  const { rows } = await pool.query(
    `insert into dirsync.sync_run (kind, state, started_at, planned_at, planned, in_scope)
     select 'full', 'running', now(), now(), count(*), count(*) from dirsync.employee returning id`,
  )
  const run: number = rows[0].id
  await pool.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, run_id, priority, created_at)
     select 'update-employee', enterprise_code, userid, $1, case enterprise_code when '' then 3 else 7 end, now() - interval '1 hour'
     from dirsync.employee order by enterprise_code, userid`,
    [run],
  )
  await pool.query(
    `insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, field, category, message, remedy, state, note, next_retry_at)
     select enterprise_code, 'employee', userid, 'update-employee', 'mobile', 'duplicate_mobile',
            '{"key": "code.1002218007.meaning"}', '{"key": "code.1002218007.remedy"}',
            case when n % 10 = 0 then 'ignored' else 'open' end, 'n', now() + interval '7 days'
     from (select enterprise_code, userid, row_number() over (order by userid desc) as n from dirsync.employee) e where n <= $1`,
    [CASES],
  )
  await pool.query('vacuum (analyze)')
  return run
}

/** The statements behind what people and Prometheus read. */
async function lookedAt(pool: Pool, run: number, report: Report): Promise<Figure[]> {
  const counted = await times(() => pool.query(COUNTED), 3)
  const calls = await times(() => pool.query(COUNTED_CALLS), 3)
  const status = async () => {
    const pace = readPace(pool).then(pace => timesLeft(pool, pace))
    await Promise.all([readOverview(pool), pace])
  }
  return [
    worst('at-scale-metrics-sql', await times(() => readHealth(pool)), counted, 100, report),
    worst('at-scale-status-sql', await times(status), counted, 500, report),
    worst('at-scale-time-left', await times(() => runTimeLeft(pool, run)), calls, 1000, report),
  ]
}

/** The scheduler's steps. */
async function scheduled(
  pool: Pool,
  place: Deployment,
  employees: number,
  logger: Logger,
  report: Report,
): Promise<Figure[]> {
  const hr = openHr(place.databaseUrl, logger, GROUP_SQL)
  const queue = createQueueBackend({ ...place, deployment: 'bench', logger })
  try {
    await queue.prepare()
    await queue.obliterate()
    const claims: number[] = []
    for (let i = 0; i < ROUNDS; i += 1) {
      const id = await requestRun(pool, 'changes', ['e1'], 'bench')
      claims.push(...(await times(() => transaction(pool, client => claimRun(client, '')), 1)))
      await pool.query(`update dirsync.sync_run set state = 'done', finished_at = now() where id = $1`, [id])
    }
    const planner = benchPlanner(pool, hr, logger)
    const triggered: number[] = []
    for (let i = 0; i <= ROUNDS; i += 1) {
      const userid = useridOf(employees - i * 7)
      await pool.query(`update hr.employee set note = 'Seen at ' || clock_timestamp() where staff_id = $1`, [
        userid,
      ])
      const id = await requestRun(pool, 'changes', [userid], 'bench')
      triggered.push(...(await times(() => planner.planNext(new AbortController().signal), 1)))
      const { rows } = await pool.query('select planned, message from dirsync.sync_run where id = $1', [id])
      if (rows[0].planned !== 1) throw new Error(`a named row should be planned: ${JSON.stringify(rows[0])}`)
    }
    const feeder = new Feeder({ pool, queue, highWater: HIGH_WATER, logger })
    const [filled] = await times(() => feeder.feed(), 1)
    report(`the queue was filled with ${HIGH_WATER} jobs in ${filled?.toFixed(1)} ms`)
    const tick = async () => {
      await feeder.feed()
      await finishRuns(pool)
      await foldTally(pool)
    }
    return [
      median('at-scale-claim', claims, { valueAtMost: 5 }, report),
      // The first one includes a connection to HR and reading its columns.
      median('at-scale-trigger-run', triggered.slice(1), { valueAtMost: 20 }, report),
      median('at-scale-tick', await times(tick), { valueAtMost: 5 }, report),
    ]
  } finally {
    await queue.obliterate()
    await pool.query('update dirsync.pending set enqueued_at = null where enqueued_at is not null')
    await queue.close()
    await hr.close()
  }
}

/** What the tally costs the writers: batches of outcomes, and new outbox rows. */
async function written(pool: Pool, run: number, report: Report): Promise<Figure[]> {
  const { rows } = await pool.query<{ userid: string }>(
    `select entity_key as userid from dirsync.pending where priority = 7 limit ${12 * ROUNDS * BATCH}`,
  )
  const left = rows.map(row => row.userid)
  const outcomes = async () => {
    const keys = left.splice(0, ROUNDS * BATCH)
    const batches = Array.from({ length: ROUNDS }, (_, i) => keys.slice(i * BATCH, (i + 1) * BATCH))
    const startedAt = performance.now()
    for (const batch of batches) await carryOut(pool, batch, run)
    return (ROUNDS * BATCH * 1000) / (performance.now() - startedAt)
  }
  const inserted = async () => {
    const [ms = 0] = await times(
      () =>
        pool.query(
          `insert into dirsync.pending (operation, entity_key, run_id, priority)
           select 'update-employee', 'x' || i, $1, 7 from generate_series(1, $2::int) i`,
          [run, INSERTED],
        ),
      1,
    )
    await pool.query(`delete from dirsync.pending where entity_key like 'x%'`)
    return (INSERTED * 1000) / ms
  }
  return [
    await withAndWithout(pool, 'at-scale-settle', 'outcomes/s', outcomes, report),
    await withAndWithout(pool, 'at-scale-outbox', 'rows/s', inserted, report),
  ]
}

/** How many outcomes a busy worker writes at a time. */
const BATCH = 20
const INSERTED = 100_000

async function carryOut(pool: Pool, userids: string[], run: number): Promise<void> {
  const { rows } = await pool.query<{ code: string; userid: string }>(
    `select enterprise_code as code, entity_key as userid from dirsync.pending where run_id = $1 and entity_key = any ($2)
       and operation = 'update-employee' and enterprise_code = any ('{G0,G1,G2,G3,G4,G5,G6,G7}')`,
    [run, userids],
  )
  const keys = rows.map(({ code, userid }) => ({
    operation: 'update-employee' as const,
    enterpriseCode: code,
    entityKey: userid,
    detail: '',
  }))
  const claims = await claim(pool, keys, {})
  const settlements = claims.flatMap((begun, i): Settlement[] => {
    const key = keys[i]
    if (!begun || !key) return []
    return [
      {
        ...finished('in_sync', {
          stored: unsent({
            active: true,
            acknowledgedHash: begun.sourceHash,
            parkedHash: null,
            acknowledged: begun.acknowledged,
            ...{ hadLeft: false, account: null, isAnew: false },
            overwritten: begun.overwritten,
            withheld: [],
            platformState: 'in_service',
            isAnswered: true,
            deptCode: 'D1',
          }),
        }),
        key,
        version: begun.version,
        execution: begun.execution,
        runId: begun.runId,
        startedAt: begun.startedAt,
        durationMs: 5,
        calls: { 'employee/get': 1 },
        waitedMs: {},
        rateLimited: {},
        changed: false,
        sentUnknown: false,
      },
    ]
  })
  await settle(pool, settlements)
}

/** Metrics and status of a whole service: alone, then with workers at full speed. */
async function served(
  pool: Pool,
  workshop: Workshop,
  deployment: Deployment,
  report: Report,
): Promise<Figure[]> {
  const port = await freePort()
  const mapping = { HR_EMPLOYEES_SQL: await workshop.file('group.sql', GROUP_SQL) }
  const settings = { ...mapping, CONSOLE_PORT: String(port) }
  const scrape = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`)
    const text = await answer.text()
    if (!/^dirsync_database_up 1$/m.test(text)) throw new Error(`the database is away: ${text.slice(-500)}`)
  }
  const env = { ...(await serviceEnvironment(workshop.folder, deployment)), ...settings }
  const launcher = join(import.meta.dirname, '../bin/dirsync')
  const status = () => promisify(execFile)(launcher, ['status', '--json'], { env, maxBuffer: 1e8 })

  const alone = await startService(workshop.folder, deployment, ['console'], settings)
  const counted = await times(() => pool.query(COUNTED), 2)
  const first = await times(scrape, 1)
  const quiet = await times(scrape)
  const help = await times(() => promisify(execFile)(launcher, ['--version'], { env }), 3)
  const whole = await times(status, 5)
  await alone.stop()
  report(
    `dirsync --version, which asks no server, takes ${Math.min(...help).toFixed()} ms of what dirsync status takes`,
  )

  const busy = await startService(
    workshop.folder,
    deployment,
    ['scheduler,worker,console', 'worker'],
    settings,
  )
  await sleep(WARM_UP_MS)
  const left = () => pool.query(`select count(*)::int as n from dirsync.pending where enterprise_code = ''`)
  const before = (await left()).rows[0].n
  const startedAt = performance.now()
  const countedBusy = await times(() => pool.query(COUNTED), 2)
  const loaded = await times(scrape)
  const wholeBusy = await times(status, 3)
  const after = (await left()).rows[0].n
  const perSecond = ((before - after) * 1000) / (performance.now() - startedAt)
  await busy.stop()
  report(`the workers ended ${perSecond.toFixed()} jobs a second while they were looked at`)
  if (after === before || after === 0) throw new Error(`the workers were not busy: ${before}, then ${after}`)
  return [
    worst('at-scale-metrics-first', first, counted, 100, report),
    worst('at-scale-metrics', quiet, counted, 100, report),
    worst('at-scale-metrics-busy', loaded, countedBusy, 100, report),
    worst('at-scale-status', whole, counted, 500, report),
    worst('at-scale-status-busy', wholeBusy, countedBusy, 500, report),
  ]
}

type Report = (line: string) => void

/** How long each repetition takes, in milliseconds. */
async function times(work: () => Promise<unknown>, rounds = ROUNDS): Promise<number[]> {
  const taken: number[] = []
  for (let i = 0; i < rounds; i += 1) {
    const startedAt = performance.now()
    await work()
    taken.push(performance.now() - startedAt)
  }
  return taken
}

function worst(name: string, ms: number[], counted: number[], valueAtMost: number, report: Report): Figure {
  report(`${name}: ${spread(ms)}; counted ${spread(counted)}`)
  return {
    name,
    value: Math.max(...ms),
    unit: 'ms',
    baseline: middle(counted),
    goal: { valueAtMost },
  }
}

function median(name: string, ms: number[], goal: Goal, report: Report): Figure {
  report(`${name}: ${spread(ms)}`)
  return { name, value: middle(ms), unit: 'ms', baseline: null, goal }
}

/** The same with the triggers of the tally and without, alternately. The tally is wrong afterwards. */
async function withAndWithout(
  pool: Pool,
  name: string,
  unit: string,
  rate: () => Promise<number>,
  report: Report,
): Promise<Figure> {
  const rates: Record<'enable' | 'disable', number[]> = { enable: [], disable: [] }
  await rate()
  for (let i = 0; i < 5; i += 1)
    for (const how of i % 2 === 0 ? (['enable', 'disable'] as const) : (['disable', 'enable'] as const)) {
      for (const table of ['pending', 'employee'])
        await pool.query(`alter table dirsync.${table} ${how} trigger user`)
      rates[how].push(await rate())
    }
  for (const table of ['pending', 'employee'])
    await pool.query(`alter table dirsync.${table} enable trigger user`)
  const [value, baseline] = [middle(rates.enable), middle(rates.disable)]
  report(`${name}: ${value.toFixed()} ${unit}, ${baseline.toFixed()} without the tally`)
  return { name, value, unit, baseline, goal: { atLeast: 0.9 } }
}

function spread(ms: number[]): string {
  return `median ${middle(ms).toFixed(1)} ms, worst ${Math.max(...ms).toFixed(1)} ms`
}

function middle(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor((values.length - 1) / 2)] ?? Number.NaN
}

function useridOf(number: number): string {
  return `e${String(number).padStart(8, '0')}`
}
