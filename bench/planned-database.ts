import pg from 'pg'
import type { Logger } from 'pino'
import { EMPLOYEE_FIELDS } from '../src/directory/employee.ts'
import { FILES_DEFAULTS } from '../src/hr/files/settings.ts'
import { hrServer } from '../src/hr/servers.ts'
import { HrSource } from '../src/hr/source.ts'
import { HrSources, WHOLE } from '../src/hr/sources.ts'
import { COPY_MS, createPool, type Pool, transaction } from '../src/lib/database.ts'
import { migrate } from '../src/lib/migrate.ts'
import { UNTRACED } from '../src/lib/tracing.ts'
import { planEmployees } from '../src/sync/plan/plan-employees.ts'
import { writeEmployeePlan } from '../src/sync/plan/plan-tables.ts'
import { Planner } from '../src/sync/plan/planner.ts'
import { createPeople, EMPLOYEES_SQL } from './people.ts'

/** No run is ever held, and every plan reads every row. */
export const LIMITS = {
  gate: { maxFewerRows: 100, maxEmptied: 100 },
  breaker: { count: Number.MAX_SAFE_INTEGER, percent: 100 },
  maxLeavers: 50,
  readAllEveryMs: 0,
}

/** A planner for all of HR, of which nothing is held and no department waits to go. */
export function benchPlanner(pool: Pool, hr: HrSource, logger: Logger): Planner {
  return new Planner({
    pool,
    hr: HrSources.one(hr),
    source: '',
    logger,
    sellerAppids: [],
    ownEnterprise: '',
    tracing: UNTRACED,
    limits: { ...LIMITS, departments: { count: 0, percent: 0 }, departmentGraceMs: 0 },
  })
}

/** The sample HR table as dirsync reads it, by its mapping or another one. */
export function openHr(url: string, logger: Logger, sql = EMPLOYEES_SQL): HrSource {
  return new HrSource({
    // Deliveries are complete as soon as they are moved in, and are kept beside the folder.
    server: hrServer(url, logger, {
      ...FILES_DEFAULTS,
      complete: { restMs: 0 },
      keep: `${url.replace(/^files:/, '')}.kept`,
    }),
    employeesSql: { file: 'employees.sql', sql },
    departmentsSql: null,
    logger,
  })
}

/** Creates HR with so many employees in a database, and dirsync's schema with all of them known and nothing to do. */
export async function fillDatabase(
  url: string,
  employees: number,
  logger: Logger,
  sql = EMPLOYEES_SQL,
): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const hr = openHr(url, logger, sql)
  try {
    await createPeople(client, employees)
    await knowEveryone(url, hr, logger)
    await client.query('vacuum (analyze) hr.employee')
    await client.query('checkpoint')
  } finally {
    await hr.close()
    await client.end()
  }
}

/** Creates dirsync's schema in a database, with everyone in HR known and nothing to do. */
export async function knowEveryone(url: string, hr: HrSource, logger: Logger): Promise<void> {
  // Of ten million rows the update takes longer than any statement of dirsync's may.
  const pool = createPool(url, { max: 2, name: 'bench', logger, timeoutMs: COPY_MS })
  try {
    await migrate(pool)
    const { rows } = await pool.query(
      `insert into dirsync.sync_run (kind, state, finished_at) values ('changes', 'done', now()) returning id`,
    )
    await transaction(pool, async db => {
      const run = { kind: 'changes' as const, state: 'requested' as const, maxAgeMs: null }
      await planEmployees(db, hr, run, LIMITS, new AbortController().signal, WHOLE)
      await writeEmployeePlan(db, Number(rows[0].id), false)
    })
    await pool.query('truncate dirsync.pending')
    // As after a first sync; the marks of the fields have realistic number and length.
    const fields = EMPLOYEE_FIELDS.slice(0, 14)
    await pool.query(
      `update dirsync.employee set acknowledged_hash = source_hash, platform_state = 'in_service', acknowledged_at = now(), queried_at = now(),
         dept_code = 'D1', acknowledged = (select jsonb_object_agg(field, left(md5(userid || field), 16)) from unnest($1::text[]) as f (field))`,
      [fields],
    )
    await pool.query('vacuum (analyze) dirsync.employee')
  } finally {
    await pool.end()
  }
}
