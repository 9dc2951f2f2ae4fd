/** @module-tag redis */
import { expect, test } from 'vitest'
import { createRedisStore } from '../../src/queue/redis.ts'
import { type Company, createCompany, type Person, until } from '../helpers/company.ts'
import { startCluster, startSentinels } from '../helpers/redis-topologies.ts'
import { breachesAtRest } from '../simulation/at-rest.ts'
import { worded } from '../texts/worded.ts'

/*
 * The queue in Redis under Sentinels, whose master dies, and in a cluster, one of whose masters dies and comes back, while work
 * is under way. Nothing of it may be lost or done twice.
 */

const EMPLOYEES = 300

async function createBusyCompany(redisUrl: string): Promise<Company> {
  const company = await createCompany({
    employees: EMPLOYEES,
    redisUrl,
    settings: { BREAKER_EMPLOYEES: '1000', PLATFORM_RATE_LIMIT: '40' },
  })
  await company.start()
  return company
}

/** Renames everyone, and resolves when some of them have been sent. */
async function beginWork({ hr, db }: Company): Promise<void> {
  await hr.query(`update person set name = 'Renamed ' || userid`)
  await db.query(`select dirsync.resync('changes')`)
  await until(async () => {
    const { rows } = await db.query(
      `select count(*) > 20 as begun from dirsync.attempt where outcome = 'updated'`,
    )
    return rows[0].begun === true
  })
}

/** Waits until nothing is left to do. @returns what must not be */
async function breaches({ db, hr, control, onPlatform }: Company): Promise<unknown[]> {
  await until(async () => {
    const { rows } = await db.query(
      `select exists (select from dirsync.pending)
              or exists (select from dirsync.sync_run where finished_at is null) as busy`,
    )
    return rows[0].busy === false
  })
  const { rows } = await hr.query<Person>('select *, entry_day::text as entry_day from person')
  const { overlappingUserids } = await control<{ overlappingUserids: unknown[] }>('GET', 'stats')
  const { calls } = await control<{ calls: { operation: string; params: { userid?: string } }[] }>(
    'GET',
    'calls',
  )
  const updates = calls.filter(({ operation }) => operation === 'employee/update')
  return [
    ...(updates.length === EMPLOYEES ? [] : [`${updates.length} updates`]),
    ...overlappingUserids,
    ...(await breachesAtRest<Person>(db, {
      hr: new Map(rows.map(row => [row.userid, row])),
      platform: (await onPlatform()) as unknown as Map<string, Partial<Person>>,
      fields: ['name', 'mobile', 'email', 'dept_code', 'entry_day'],
      touched: new Set(),
    })),
  ]
}

const findings = async (url: string) =>
  (await createRedisStore(url).doctor()).map(({ ok, what }) => `${ok ? 'ok' : 'failed'} ${worded(what)}`)

test('under Sentinels a replica takes over, as told and from a master that dies, and work goes on', async () => {
  await using redis = await startSentinels()
  expect((await findings(redis.url)).filter(line => !line.startsWith('ok'))).toEqual([])
  await using company = await createBusyCompany(redis.url)
  await beginWork(company)
  await redis.switchOver()
  await redis.failOver()
  expect(await breaches(company)).toEqual([])
  expect((await findings(redis.url)).filter(line => !line.startsWith('ok'))).toEqual([])
})

test('in a cluster the queue is on one master, which dies and comes back, and work goes on', async () => {
  await using redis = await startCluster()
  expect((await findings(redis.url)).filter(line => !line.startsWith('ok'))).toEqual([])
  await using company = await createBusyCompany(redis.url)
  await beginWork(company)
  const keys = await redis.keys()
  const homes = keys.flatMap((found, i) => (found.some(key => key.includes('dirsync-')) ? [i] : []))
  expect(homes).toHaveLength(1)
  const home = redis.servers[homes[0] as number] as (typeof redis.servers)[number]
  await home.kill()
  await redis.calledDead(home)
  await home.start()
  expect(await breaches(company)).toEqual([])
})

test('Sentinels that do not know the master, and a cluster that is away, are said to be silent', async () => {
  await using redis = await startSentinels()
  const other = redis.url.replace(/[^/]+$/, 'another')
  for (const url of [other, 'redis+cluster://127.0.0.1:1,127.0.0.1:2'])
    expect(await findings(url)).toEqual([expect.stringMatching(/^failed Redis does not answer: /)])
})
