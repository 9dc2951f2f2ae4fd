import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { pino } from 'pino'
import { inject } from 'vitest'
import type { Emulator } from '../../emulator/emulator.ts'
import { loadConfig } from '../../src/config.ts'
import { startService } from '../../src/main.ts'
import type { Role } from '../../src/sync/processes/process.ts'
import { controlOf, type EmulatorControl } from './emulator-control.ts'
import { createTestDatabase, type TestDatabase } from './postgres.ts'
import { testPlatform } from './test-platform.ts'

/** One employee of the invented company, as its HR table holds it. */
export interface Person {
  userid: string
  name: string
  mobile: string
  email: string
  dept_code: string
  entry_day: string
  level: string | null
  cost_center_id: number | null
  active: boolean
}

type State = { employees: Record<string, unknown>[]; departments: { dept_code: string }[] }

/**
 * A company for engine tests: an HR database with one table, the platform's emulator in step with it, a database for
 * dirsync, and settings that bring them together. Differences are planted by SQL or through the control interface.
 */
export interface Company extends AsyncDisposable {
  hr: pg.Pool
  db: pg.Pool
  emulator: Emulator
  settings: Record<string, string>
  /** Starts dirsync in this process. */
  start(roles?: readonly Role[]): Promise<Service>
  /** Asks for a run through SQL and waits until it has ended or is held. */
  run(kind: string, key?: string): Promise<EndedRun>
  /** Retries a case, and waits as {@link run} does. */
  retry(id: number | string): Promise<EndedRun>
  /** The cases of a key, oldest first. */
  cases(entityKey: string): Promise<pg.QueryResult['rows']>
  /** The emulator's control interface. */
  control: EmulatorControl
  /** Employees as the platform holds them, by user id. */
  onPlatform(): Promise<Map<string, Record<string, unknown>>>
  /** Calls so far by operation. */
  calls(): Promise<Record<string, number>>
  /** Calls that `work` took, by operation; tokens left out. */
  spent(work: () => Promise<unknown>): Promise<Record<string, number>>
}

interface EndedRun {
  id: number
  state: string
  result: Record<'outcomes' | 'calls' | 'deadLetters', Record<string, number>> | null
  message: string | null
}

const DEPARTMENTS = ['D0', 'D1', 'D2', 'D3', 'D4']

/** Person number `i`, from 0. */
export function person(i: number): Person {
  return {
    userid: `e${String(i).padStart(4, '0')}`,
    name: `Person ${i}`,
    mobile: `1990000${String(i).padStart(4, '0')}`,
    email: `e${i}@example.com`,
    dept_code: DEPARTMENTS[i % DEPARTMENTS.length] as string,
    entry_day: `2020-01-${String((i % 28) + 1).padStart(2, '0')}`,
    level: null,
    cost_center_id: null,
    active: true,
  }
}

export async function createCompany(options: {
  employees: number
  redisUrl?: string
  settings?: Record<string, string>
  /** The databases to use instead of the run's; the caller drops them. */
  databases?: { hr: TestDatabase; own: TestDatabase }
}): Promise<Company> {
  const { hr, own } = options.databases ?? {
    hr: await createTestDatabase(),
    own: await createTestDatabase({ migrated: true }),
  }
  const folder = await mkdtemp(join(inject('runFolder'), 'company-'))
  const people = Array.from({ length: options.employees }, (_, i) => person(i))
  await seedHr(hr.pool, people)
  const mapping = join(folder, 'employees.sql')
  const departments = join(folder, 'departments.sql')
  await writeFile(
    mapping,
    'select userid, name, mobile, email, dept_code, entry_day, level, cost_center_id, active from person',
  )
  await writeFile(departments, 'select dept_code, parent_code, active, closed_at from department')
  const { emulator, settings: platform } = await testPlatform(seedOf(people))
  const settings = {
    DATABASE_URL: own.url,
    HR_DATABASE_URL: hr.url,
    HR_EMPLOYEES_SQL: mapping,
    HR_DEPARTMENTS_SQL: departments,
    ...platform,
    PLATFORM_RATE_LIMIT: '2000',
    LOG_LEVEL: 'warn',
    ...(options.redisUrl ? { REDIS_URL: options.redisUrl } : {}),
    ...options.settings,
  }
  const control = controlOf(emulator.url)
  const calls = async () => {
    const { operations } = await control<{ operations: Record<string, { calls: number }> }>('GET', 'stats')
    return Object.fromEntries(Object.entries(operations).map(([operation, { calls }]) => [operation, calls]))
  }
  const services: Service[] = []
  return {
    hr: hr.pool,
    db: own.pool,
    emulator,
    settings,
    control,
    async start(roles = ['scheduler', 'worker']) {
      const service = await startSilently(settings, roles)
      services.push(service)
      return service
    },
    async run(kind, key) {
      const { rows } = await own.pool.query('select dirsync.resync($1, $2) as id', [kind, key ?? null])
      return endOf(own.pool, Number(rows[0].id))
    },
    async retry(id) {
      const { rows } = await own.pool.query('select dirsync.retry($1) as run', [id])
      return endOf(own.pool, Number(rows[0].run))
    },
    async cases(entityKey) {
      const text = 'select * from dirsync.dead_letter where entity_key = $1 order by id'
      return (await own.pool.query(text, [entityKey])).rows
    },
    async onPlatform() {
      const { employees } = await control<State>('GET', 'state')
      return new Map(employees.map(employee => [String(employee.userid), employee]))
    },
    calls,
    async spent(work) {
      const before = await calls()
      await work()
      const spent = Object.entries(await calls()).map(
        ([operation, n]) => [operation, n - (before[operation] ?? 0)] as const,
      )
      return Object.fromEntries(spent.filter(([operation, n]) => n > 0 && !operation.startsWith('token')))
    },
    async [Symbol.asyncDispose]() {
      for (const service of services) await service.stop()
      await emulator.close()
      await Promise.all([hr.close(), own.close()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

type Service = Awaited<ReturnType<typeof startService>>

/** dirsync in this process, without a log. */
export function startSilently(
  settings: Record<string, string>,
  roles: readonly Role[],
  schedule = false,
): Promise<Service> {
  const logger = pino({ level: 'silent' })
  return startService({ config: loadConfig(settings), roles, logger, schedule, env: settings })
}

/** Waits until a run has ended or is held. */
export async function endOf(db: pg.Pool, id: number) {
  return until(async () => {
    const { rows } = await db.query(
      `select id::int, state, result, dirsync.in_language('en', message) as message from dirsync.sync_run where id = $1`,
      [id],
    )
    return ['requested', 'planning', 'running'].includes(rows[0].state) ? null : rows[0]
  })
}

/** Asks again and again until the answer is neither null nor false; the test's own time-out is the limit. */
export async function until<T>(ask: () => Promise<T | null | false>): Promise<T> {
  for (;;) {
    const answer = await ask()
    if (answer !== null && answer !== false) return answer
    await new Promise(resolve => setTimeout(resolve, 25))
  }
}

async function seedHr(hr: pg.Pool, people: Person[]): Promise<void> {
  await hr.query(`
    create table department (dept_code text primary key, parent_code text, active boolean not null default true, closed_at timestamptz);
    create table person (userid text primary key, name text, mobile text, email text, dept_code text, entry_day date, level text, cost_center_id int, active boolean)`)
  await hr.query(`insert into department (dept_code) select unnest($1::text[])`, [DEPARTMENTS])
  await hr.query(`insert into person select * from jsonb_populate_recordset(null::person, $1)`, [
    JSON.stringify(people),
  ])
}

function seedOf(people: Person[]) {
  return {
    departments: DEPARTMENTS.map(dept_code => ({ dept_code, dept_name: dept_code })),
    employees: people.map(({ active, level, cost_center_id, ...held }) => ({
      ...held,
      mobile_area: 86,
      ...(level ? { level } : {}),
    })),
  }
}
