import { join } from 'node:path'
import pg from 'pg'
import { describe, expect, inject, test } from 'vitest'
import { migrate } from '../../src/lib/migrate.ts'
import { startEmbeddedPostgres } from '../../src/trial/postgres.ts'
import { type Company, createCompany, endOf, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { startRedis } from '../helpers/redis.ts'

const EMPLOYEES = 120
/** What the issue promises after any outage. */
const CONTINUES_WITHIN_MS = 20_000

async function database(postgres: Awaited<ReturnType<typeof startEmbeddedPostgres>>, name: string) {
  await postgres.createDatabase(name)
  const url = postgres.url(name)
  const pool = new pg.Pool({ connectionString: url })
  pool.on('error', () => {}) // connections that the restart cuts
  const close = () => pool.end()
  return { url, name, pool, close, [Symbol.asyncDispose]: close }
}

const attempts = async (company: Company) =>
  (await company.db.query('select count(*)::int as n from dirsync.attempt')).rows[0].n as number

/** Runs everybody through a service process, has `outage` happen in the middle, and expects the run to end as if nothing had been. */
async function survives(company: Company, outage: () => Promise<void>): Promise<void> {
  await company.hr.query(`update person set name = name || ' II'`)
  await using service = spawnDirsync(['start', '--roles', 'scheduler,worker'], { env: company.settings })
  const run = await until(async () => {
    const { rows } = await company.db.query(
      `select id::int from dirsync.sync_run where kind = 'full' and state = 'running'`,
    )
    return rows[0] ?? null
  })
  await until(async () => (await attempts(company)) >= 30)
  await outage()
  const from = await attempts(company)
  const back = performance.now()
  await until(async () => (await attempts(company)) > from)
  expect(performance.now() - back).toBeLessThan(CONTINUES_WITHIN_MS)
  const { state, result } = await endOf(company.db, run.id)
  expect(state).toBe('done')
  // An update whose outcome the outage swallowed is found in step when it is asked for again.
  const { updated = 0, in_sync = 0, ...others } = result?.outcomes ?? {}
  expect({ done: updated + in_sync, others }).toEqual({ done: EMPLOYEES, others: {} })
  for (const employee of (await company.onPlatform()).values()) expect(employee.name).toMatch(/ II$/)
  const { rows } = await company.db.query('select * from dirsync.dead_letter')
  expect(rows).toEqual([])
  expect(await company.control('GET', 'stats')).toMatchObject({ maxConcurrentPerUserid: 1 })
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
}

const settings = { PLATFORM_RATE_LIMIT: '40', WORKER_CONCURRENCY: '4' }

describe('an outage in the middle of a run', () => {
  test('PostgreSQL restarts', { timeout: 90_000 }, async () => {
    const dataDir = join(inject('runFolder'), 'outage-postgres')
    let postgres = await startEmbeddedPostgres({ dataDir })
    try {
      const databases = { hr: await database(postgres, 'hr'), own: await database(postgres, 'own') }
      await migrate(databases.own.pool)
      await using company = await createCompany({ employees: EMPLOYEES, databases, settings })
      await survives(company, async () => {
        await postgres.stop()
        postgres = await startEmbeddedPostgres({ dataDir })
      })
    } finally {
      await postgres.stop()
    }
  })

  test('Redis is killed and comes back, and is wiped', { timeout: 90_000, tags: 'redis' }, async () => {
    await using redis = await startRedis()
    await using company = await createCompany({ employees: EMPLOYEES, redisUrl: redis.url, settings })
    await survives(company, async () => {
      await redis.restart()
      await redis.flush()
    })
  })
})
