import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPool } from '../../src/lib/database.ts'
import { ROLES } from '../../src/sync/processes/process.ts'
import { startSilently } from '../helpers/company.ts'
import { createDeployment, type Deployment } from '../helpers/deployment.ts'
import { startPgbouncer } from '../helpers/pgbouncer.ts'
import { dirsync } from './dirsync.ts'

describe('DATABASE_URL leads to a pooler', { tags: 'pgbouncer' }, () => {
  let deployment: Deployment

  beforeAll(async () => {
    deployment = await createDeployment()
  })
  afterAll(() => deployment[Symbol.asyncDispose]())

  const behind = (pooler: { urlOf(database: string): string }) => ({
    ...deployment.settings,
    NOTIFICATION_PORT: '0',
    DATABASE_URL: pooler.urlOf(deployment.own.name),
  })

  test('in transaction mode: start and migrate refuse it in one sentence', async () => {
    await using pooler = await startPgbouncer({ mode: 'transaction' })
    for (const command of [['start', '--once'], ['migrate']]) {
      const refused = await dirsync(command, behind(pooler))
      expect(refused.stderr).toMatch(
        /^dirsync: DATABASE_URL leads through a pooler that .* locks.*: connect to PostgreSQL itself, or .*$/m,
      )
      expect(refused.code).toBe(2)
    }
    const { rows } = await deployment.own.pool.query('select from dirsync.sync_run')
    expect(rows).toEqual([])
  })

  test('in transaction mode: doctor finds it, and says how to go on', async () => {
    await using pooler = await startPgbouncer({ mode: 'transaction' })
    const examined = await dirsync(['doctor', '--json'], behind(pooler))
    expect(examined.code).toBe(1)
    expect(examined.json().findings).toContainEqual({
      check: 'database',
      status: 'failed',
      what: expect.stringMatching(/through a pooler .* or use the pooler's session mode$/),
    })
  })

  test('in session mode: nothing is wrong with it', async () => {
    await using pooler = await startPgbouncer({ mode: 'session' })
    expect(await dirsync(['migrate'], behind(pooler))).toMatchObject({ code: 0, stderr: '' })
    const examined = await dirsync(['doctor', '--json'], behind(pooler))
    expect(examined.json().findings.filter(({ status }: { status: string }) => status === 'failed')).toEqual(
      [],
    )
    expect(examined.code).toBe(0)
  })

  test('in session mode: the service is ready, with its console', async () => {
    await using pooler = await startPgbouncer({ mode: 'session' })
    const service = await startSilently(behind(pooler), ROLES)
    try {
      const ready = async () => (await fetch(`${service.consoleUrl}/readyz`)).json()
      await expect.poll(ready).toEqual({ status: 'ready', missing: [], halts: [] })
    } finally {
      await service.stop()
    }
  })

  test('in session mode: PostgreSQL ends the statement of a pool that sets a limit', async () => {
    await using pooler = await startPgbouncer({ mode: 'session' })
    const url = pooler.urlOf(deployment.own.name)
    const limited = createPool(url, {
      max: 1,
      name: 'limited',
      logger: pino({ level: 'silent' }),
      timeoutMs: 3000,
    })
    const { rows } = await limited.query<{ limit: string; path: string }>(
      `select current_setting('statement_timeout') as limit, current_setting('search_path') as path`,
    )
    expect(rows).toEqual([{ limit: '3s', path: 'pg_catalog, pg_temp' }])
    await limited.end()
  })
})
