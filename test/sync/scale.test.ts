import type pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readAlertFacts } from '../../src/alerts/facts.ts'
import { everyCase } from '../../src/console/cases/read.ts'
import { listPaymentOrders } from '../../src/console/mirrors/read.ts'
import { screen as money } from '../../src/console/money/routes.ts'
import { readOverview } from '../../src/console/overview/read.ts'
import { planPage } from '../../src/console/plan/stored.ts'
import { readRunStory } from '../../src/console/runs/story.ts'
import type { EmployeeField } from '../../src/directory/employee.ts'
import { type EmployeeLookup, WHOLE } from '../../src/hr/sources.ts'
import { createPool, transaction } from '../../src/lib/database.ts'
import { platformDay } from '../../src/lib/text.ts'
import { ordersToAsk, recordUnknownPayers } from '../../src/mirrors/payment-order.ts'
import { readMisfits } from '../../src/money/refund.ts'
import { mirrorCases } from '../../src/sync/cases/cases.ts'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { withheldFields } from '../../src/sync/cases/withheld.ts'
import { runTimeLeft, timesLeft } from '../../src/sync/health/time-left.ts'
import type { Claim } from '../../src/sync/outbox/claim.ts'
import { enterpriseCodes } from '../../src/sync/outbox/employee.ts'
import { takeForQueue, takeProbes } from '../../src/sync/outbox/feeding.ts'
import { detachHalted } from '../../src/sync/outbox/outbox.ts'
import type { FinishedSettlement } from '../../src/sync/outbox/outcome.ts'
import { readPace } from '../../src/sync/processes/pace.ts'
import { lastFullReading, lastPlanPassed } from '../../src/sync/runs/earlier-runs.ts'
import { claimRun, runProgress } from '../../src/sync/runs/run.ts'
import { requestReplan } from '../../src/sync/runs/run-requests.ts'
import { liftBlocks } from '../../src/sync/settle/field-blocks.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { employee, outcome } from './outcomes.ts'
import { rowsExamined } from './rows-examined.ts'
import { SILENT } from './store-under-test.ts'

const ROWS = 40_000
/** The run that goes on, with all the work. */
const RUN = ROWS + 3

let database: TestDatabase
let pool: pg.Pool
beforeAll(async () => {
  database = await createTestDatabase({ migrated: true })
  pool = createPool(database.url, { max: 1, name: 'test', logger: SILENT })
  // The full reading that the next one is compared with and one reading of departments, then nothing but runs of rows
  // that HR's trigger named. Other kinds have a schedule and no run yet.
  await pool.query(`
    insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
      select job, '0 3 * * *', now() + interval '1 hour', 86400
      from unnest('{departments,openids,mirror-orders,mirror-accounts}'::text[]) job;
    insert into dirsync.sync_run (kind, state, source, planned_at, finished_at) values
      ('changes', 'done', '{"rows": 40000}', now(), now()), ('departments', 'done', '{}', now(), now());
    insert into dirsync.sync_run (kind, state, read_all, keys, planned, planned_at, finished_at)
      select case when i % 10 = 0 then 'retry' else 'changes' end, 'done', false, '{e1}', 1, now(), now() from generate_series(1, ${ROWS}) i;
    insert into dirsync.sync_run (kind, state, planned, planned_at) values ('full', 'running', ${ROWS}, now());
    insert into dirsync.employee (enterprise_code, userid, source_hash, acknowledged_hash)
      select 'E' || i % 3, 'e' || i, md5(i::text)::uuid, md5((i - i % 2)::text)::uuid from generate_series(1, ${ROWS}) i;
    insert into dirsync.pending (operation, enterprise_code, entity_key, run_id, priority)
      select 'update-employee', 'E' || i % 3, 'e' || i, ${RUN}, 7 from generate_series(1, ${ROWS}) i;
    insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, category, message, remedy, next_retry_at)
      select 'E' || i % 3, 'employee', 'e' || i, 'update-employee', 'unclassified', '[]', '[]', now() + interval '1 day' from generate_series(1, ${ROWS}) i;
    insert into dirsync.process (id, host, pid, roles, version, pacer) values
      (gen_random_uuid(), 'h', 1, '{worker}', '1',
       '{"ratePerSecond": 10, "learnt": false, "ceiling": null, "waiting": 0, "pausedForMs": 0, "concurrency": 8, "callsPerSecond": 9}')`)
  await pool.query('vacuum analyze')
  // Runs of a few rows each, which go on beside it. PostgreSQL's statistics show none of so small ones.
  await pool.query(`
    insert into dirsync.sync_run (kind, state, planned, planned_at) select 'changes', 'running', 3, now() from generate_series(1, 20);
    update dirsync.pending set run_id = ${RUN} + 1 + right(entity_key, 1)::int, priority = 3 where length(entity_key) < 4`)
})
afterAll(async () => {
  await pool?.end()
  await database?.close()
})

/** A plan of everybody, decided in parts: of few the mobile changes, and nearly all are approved. */
async function planOfEverybody(): Promise<number> {
  const { rows } = await pool.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, state, planned, undecided) values ('departments', 'held', ${ROWS}, 9) returning id::int`,
  )
  const id = rows[0]?.id ?? 0
  await pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason, department, fields, odd, decision_id)
     select ${id}, 'update-employee', 'p' || i, 'changed', 'D' || i % 1000,
            case when i > ${ROWS} - 9 then '{mobile}' else '{dept_code}' end::text[], i > ${ROWS} - 9,
            case when i <= ${ROWS} - 9 then 1 end
     from generate_series(1, ${ROWS}) i`,
  )
  await pool.query(
    `insert into dirsync.plan_decision (id, run_id, approved, filter, planned, reasons, decided_by)
     overriding system value values (1, ${id}, true, '{}', ${ROWS} - 9, '{}', 'mei')`,
  )
  await pool.query(
    `insert into dirsync.plan_reading (run_id, state, fields)
     values (${id}, 'done', '[{"field": "dept_code", "n": ${ROWS - 9}}, {"field": "mobile", "n": 9}]')`,
  )
  await pool.query('analyze dirsync.planned_work')
  return id
}

describe('a page of a plan of everybody reads few rows', () => {
  let run: number
  beforeAll(async () => {
    run = await planOfEverybody()
  })
  const nobody = { lookup: async () => new Map() } as unknown as EmployeeLookup

  test.each([
    {},
    { field: 'mobile' },
    { field: 'dept_code' },
    { department: 'D7' },
    { key: 'p3999' },
    { odd: 'yes' },
    { decision: 'open' },
    { decision: 'approved' },
    { decision: 'rejected' },
    { decision: 'open', field: 'mobile', department: 'D999' },
  ] as const)('filtered by %j', async filter => {
    const look = () => planPage(pool, nobody, run, { limit: 50, ...filter })
    await look() // what the connection reads once
    expect(await rowsExamined(pool, look)).toBeLessThan(2000)
  })
})

/** A look at so many rows may cost something, but it may not grow with them. */
const FEW = ROWS / 4

describe('whatever the number of employees, rows in the outbox, cases and old runs, few rows are read', () => {
  test.each<[string, () => Promise<unknown>]>([
    ['the metrics, and what alerts are judged by', () => readAlertFacts(pool)],
    [
      'the metrics of a source of HR that has had no good run yet',
      async () => {
        await pool.query(
          `insert into dirsync.hr_source (name, position, kind, address, enterprise_codes)
           values ('beijing', 0, 'postgresql', 'db', '{E0,E1,E2}')`,
        )
        await readAlertFacts(pool)
        await pool.query('delete from dirsync.hr_source')
      },
    ],
    ['the overview', () => readOverview(pool)],
    ['the times left', async () => timesLeft(pool, await readPace(pool))],
    ['the time left of one run', () => runTimeLeft(pool, RUN)],
    ['the progress of a run', () => runProgress(pool, RUN)],
    ['the story of a run', () => readRunStory(pool, RUN - 1)],
    ['the ends of runs', () => finishRuns(pool)],
    ['the plan that waiting rows need', () => requestReplan(pool, WHOLE)],
    ['the enterprise codes', () => enterpriseCodes(pool, '')],
    ['the last run that read every row', () => lastFullReading(pool, WHOLE)],
    ['whether the last plan passed', () => lastPlanPassed(pool, '')],
    ['the retries that are due', () => requestDueRetries(pool)],
    ['the cases of a mirror', () => mirrorCases(pool, 'mirror-orders')],
    [
      'the payers who are unknown',
      () => transaction(pool, client => recordUnknownPayers(client, RUN, '2026-01-01')),
    ],
    ['filling the queue', () => transaction(pool, client => takeForQueue(client, 500, () => 1))],
    [
      'filling the queue while an enterprise is halted',
      async () => {
        await pool.query(
          `insert into dirsync.halt (scope, category, message, remedy) values ('H', 'enterprise_code', '[]', '[]')`,
        )
        expect(await detachHalted(pool)).toBe(0)
        await pool.query(`delete from dirsync.halt`)
      },
    ],
    [
      'filling the queue with departments that go one after the other',
      async () => {
        await pool.query(
          `insert into dirsync.pending (operation, enterprise_code, entity_key, wave, priority)
           select 'delete-department', 'E0', 'D' || i, i, 1 from generate_series(0, 5) i`,
        )
        const taken = await transaction(pool, client => takeForQueue(client, 500, () => 1))
        const departments = taken.filter(({ operation }) => operation === 'delete-department')
        expect(departments).toMatchObject([{ entityKey: 'D0' }])
      },
    ],
    [
      'requesting a run and claiming it',
      async () => {
        await pool.query(`select dirsync.resync()`)
        expect(await transaction(pool, client => claimRun(client, ''))).toMatchObject({
          kind: 'changes',
          state: 'planning',
        })
      },
    ],
  ])('for %s', async (_, work) => {
    expect(await rowsExamined(pool, work)).toBeLessThan(FEW)
  })
})

describe('among employees from whom a field is withheld, few rows are read', () => {
  beforeAll(async () => {
    await pool.query(
      `insert into dirsync.employee (enterprise_code, userid, withheld)
       select 'W', 'w' || i, case when i % 10000 = 0 then '{level,category}' else '{level}' end::text[]
       from generate_series(1, ${ROWS}) i;
       insert into dirsync.employee (enterprise_code, userid, withheld) values ('V', 'v', '{level}');
       insert into dirsync.field_block (enterprise_code, field) values ('W', 'category'), ('V', 'level')`,
    )
    await pool.query('vacuum analyze dirsync.employee')
  })
  afterAll(() =>
    pool.query(
      `delete from dirsync.field_block; delete from dirsync.employee where enterprise_code in ('V', 'W')`,
    ),
  )

  test('to count those of another field or enterprise', async () => {
    const count = async () =>
      expect(await withheldFields(pool)).toMatchObject([
        { field: 'level', employees: 1 },
        { field: 'category', employees: 4 },
      ])
    expect(await rowsExamined(pool, count)).toBeLessThan(100)
  })

  test('to request retries, while all are still to be asked about a field that is no longer blocked', async () => {
    const { rows } = await pool.query<{ id: number }>(
      `insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, field, category, message, remedy, state, resolution, resolved_at)
       values ('W', 'enterprise', 'W', 'update-employee', 'level', 'feature_disabled', '[]', '[]', 'resolved', 'succeeded', now())
       returning id::int`,
    )
    const run = await requestDueRetries(pool)
    expect(await pool.query('select keys from dirsync.sync_run where id = $1', [run])).toMatchObject({
      rows: [{ keys: [String(rows[0]?.id)] }],
    })
    await pool.query(`update dirsync.sync_run set state = 'running' where id = $1`, [run])
    const look = async () => expect(await requestDueRetries(pool)).toBeNull()
    expect(await rowsExamined(pool, look)).toBeLessThan(FEW)
    await pool.query(`delete from dirsync.dead_letter where field = 'level'`)
    await pool.query('delete from dirsync.sync_run where id = $1', [run])
  })

  test.each([
    ['E0', 'level', 0],
    ['W', 'cost_center_id', 0],
    ['W', 'category', 1],
  ])('when %s gets %s through', async (enterpriseCode, field, runs) => {
    await pool.query(
      `insert into dirsync.field_block (enterprise_code, field) values ($1, $2) on conflict do nothing`,
      [enterpriseCode, field],
    )
    await pool.query(
      `insert into dirsync.dead_letter (enterprise_code, entity, entity_key, operation, field, category, message, remedy)
       values ($1, 'enterprise', $1, 'update-employee', $2, 'feature_disabled', '[]', '[]')`,
      [enterpriseCode, field],
    )
    const asked = async () =>
      (await pool.query(`select from dirsync.sync_run where kind = 'retry' and state = 'requested'`)).rowCount
    const before = (await asked()) ?? 0
    const key = employee('e3', enterpriseCode)
    const through = outcome(key, { runId: null } as Claim, { unblockFields: [field as EmployeeField] })
    const lift = () => transaction(pool, client => liftBlocks(client, through as FinishedSettlement))
    expect(await rowsExamined(pool, lift)).toBeLessThan(1000)
    expect(await asked()).toBe(before + runs)
  })
})

test('the orders to ask for one by one are found without those that are over, unpaid or gone', async () => {
  const day = (days: number) => platformDay(new Date(Date.now() - days * 86_400_000))
  await pool.query(
    `insert into dirsync.payment_order (trade_no, status, gone_at, listed_on)
     select 'T' || i, case when i <= 4 then 4 else (array[1, 3, 5, 6, 7])[i % 5 + 1] end,
            case when i > 4 and i % 5 = 2 then now() end, $1::date - i % 100
     from generate_series(1, ${ROWS}) i`,
    [day(40)],
  )
  await pool.query('vacuum analyze dirsync.payment_order')
  const ask = async () =>
    expect(
      await transaction(pool, client => ordersToAsk(client, '', { start: day(30), today: day(0) }, [])),
    ).toHaveLength(4)
  expect(await rowsExamined(pool, ask)).toBeLessThan(100)
  await pool.query('delete from dirsync.payment_order')
})

test('the latest orders are listed without the others, however many are gone', async () => {
  await pool.query(
    `insert into dirsync.payment_order (trade_no, gone_at) select 'T' || i, now() from generate_series(1, ${ROWS}) i`,
  )
  await pool.query('vacuum analyze dirsync.payment_order')
  const look = () => listPaymentOrders(pool, { limit: 20 })
  expect(await rowsExamined(pool, look)).toBeLessThan(200)
  await pool.query('delete from dirsync.payment_order')
})

test('no statement of an export of cases reads all of them, though no index has those of its filter', async () => {
  const examined: number[] = []
  const counting = Object.assign(Object.create(pool), {
    async query(text: string, values: unknown[]) {
      let answer: unknown
      const ask = async () => {
        answer = await pool.query(text, values)
      }
      examined.push(await rowsExamined(pool, ask))
      return answer
    },
  })
  const keys = new Set<string>()
  for await (const { entity_key } of everyCase(counting, { enterprise: 'E1', younger_than: '1d' }, 'latest'))
    keys.add(entity_key)
  expect(keys.size).toBe(Math.ceil(ROWS / 3))
  expect(Math.max(...examined)).toBeLessThan(ROWS / 2)
})

test('notifications of what other systems refund are left out of the look at money', async () => {
  await pool.query(
    `insert into dirsync.refused_notification (outer_refund_no, reason) select 'R' || i, 'unknown' from generate_series(1, ${ROWS}) i`,
  )
  await pool.query('vacuum analyze dirsync.refused_notification')
  const look = async () => {
    await pool.query(money.topics?.money ?? '')
    await readMisfits(pool)
  }
  expect(await rowsExamined(pool, look)).toBeLessThan(100)
  await pool.query('delete from dirsync.refused_notification')
})

describe('while the enterprise with the most urgent work is halted', () => {
  beforeAll(async () => {
    await pool.query(
      `insert into dirsync.halt (scope, category, message, remedy, next_probe_at)
       values ('H', 'enterprise_code', '[]', '[]', now());
       insert into dirsync.pending (operation, enterprise_code, entity_key, run_id, priority)
       select 'update-employee', 'H', 'h' || i, ${RUN}, 1 from generate_series(1, ${ROWS}) i`,
    )
    await pool.query('vacuum analyze dirsync.pending')
  })
  afterAll(() =>
    pool.query(`delete from dirsync.pending where enterprise_code = 'H'; delete from dirsync.halt`),
  )

  const few = async (work: () => Promise<unknown>) => expect(await rowsExamined(pool, work)).toBeLessThan(FEW)

  test('the queue is filled with few rows read', () =>
    few(async () => {
      expect(await transaction(pool, client => takeForQueue(client, 500, () => 1))).toHaveLength(500)
    }))

  test('its probe is found with few rows read', () =>
    few(async () => {
      expect(await transaction(pool, client => takeProbes(client, () => 0))).toMatchObject([
        { enterpriseCode: 'H' },
      ])
    }))

  test('its work leaves the runs a part at a time, with few rows read for each', async () => {
    await few(async () => {
      expect(await detachHalted(pool, 1000)).toBe(1000)
    })
    // However much has left already.
    while ((await detachHalted(pool, 10_000)) === 10_000);
    await few(async () => {
      expect(await detachHalted(pool, 1000)).toBe(0)
    })
  })
})

test('the time left of a run too large to be looked at as a whole is told from a part of it', async () => {
  await pool.query('update dirsync.process set heartbeat_at = now()')
  const left = await runTimeLeft(pool, RUN)
  // One query each, and an update for every second.
  expect(left).toMatchObject({ state: 'estimated', later: 0 })
  expect((left?.calls ?? 0) / (1.5 * ROWS)).toBeCloseTo(1, 1)
})
