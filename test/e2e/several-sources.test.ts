import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, inject, test } from 'vitest'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { loadConfig } from '../../src/config.ts'
import { startService } from '../../src/main.ts'
import { until } from '../helpers/company.ts'
import { createMariadbDatabase, type MariadbDatabase, startMariadb } from '../helpers/mariadb.ts'
import type { MariadbServer } from '../helpers/mariadb-server.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { spawnDirsync } from '../helpers/process.ts'

const MAPPING = 'select userid, name, active from person'
const TABLE =
  'create table person (userid varchar(20) primary key, name varchar(40), active boolean default true)'
const EACH = 6

/** A group: Shanghai's HR in PostgreSQL (E1), Beijing's in a MariaDB that can be stopped (E2), and the platform. */
interface Group extends AsyncDisposable {
  shanghai: TestDatabase
  beijing: MariadbDatabase
  server: MariadbServer
  own: TestDatabase
  emulator: Emulator
  settings: Record<string, string>
  /** Names on the platform, by `enterprise/userid`. */
  names(): Promise<Map<string, string>>
}

async function createGroup(): Promise<Group> {
  await using stack = new AsyncDisposableStack()
  const server = stack.use(await startMariadb())
  const shanghai = stack.use(await createTestDatabase())
  const beijing = stack.use(await createMariadbDatabase(server))
  const own = stack.use(await createTestDatabase({ migrated: true }))
  const rows = (prefix: string) =>
    Array.from({ length: EACH }, (_, i) => `('${prefix}${i}', 'Person ${i}', true)`)
  await shanghai.pool.query(`${TABLE}; insert into person values ${rows('s')}`)
  await beijing.admin.query(`${TABLE}; insert into person values ${rows('b')}`)
  const employees = [
    ...Array.from({ length: EACH }, (_, i) => ({ enterprise_code: 'E1', userid: `s${i}`, name: 'Old' })),
    ...Array.from({ length: EACH }, (_, i) => ({ enterprise_code: 'E2', userid: `b${i}`, name: 'Old' })),
  ]
  const emulator = await startEmulator({
    strict: true,
    appId: 'test-application',
    appSecret: 'test-secret',
    seed: { enterprises: [{ enterprise_code: 'E1' }, { enterprise_code: 'E2' }], employees },
  })
  stack.defer(() => emulator.close())
  const folder = await mkdtemp(join(inject('runFolder'), 'group-'))
  await writeFile(join(folder, 'employees.sql'), MAPPING)
  await writeFile(join(folder, 'beijing.url'), `${beijing.url}\n`)
  const file = join(folder, 'sources.json')
  const sources = [
    { name: 'shanghai', address: shanghai.url, employees_sql: 'employees.sql', enterprise_codes: ['E1'] },
    {
      name: 'beijing',
      address_file: 'beijing.url',
      employees_sql: 'employees.sql',
      enterprise_codes: ['E2'],
    },
  ]
  await writeFile(file, JSON.stringify(sources))
  const closing = stack.move()
  return {
    ...{ shanghai, beijing, server, own, emulator },
    settings: {
      DATABASE_URL: own.url,
      HR_SOURCES: file,
      PLATFORM_BASE_URL: emulator.url,
      PLATFORM_APP_ID: 'test-application',
      PLATFORM_APP_SECRET: 'test-secret',
      PLATFORM_RATE_LIMIT: '2000',
      LOG_LEVEL: 'warn',
    },
    async names() {
      const answer = await fetch(`${emulator.url}/_emulator/state`)
      const state = (await answer.json()) as { employees: Record<string, string>[] }
      return new Map(state.employees.map(one => [`${one.enterprise_code}/${one.userid}`, one.name ?? '']))
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  }
}

test('one source is away: the other one goes on, with its own halt alone, until it is back', async () => {
  await using group = await createGroup()
  const { own, shanghai, beijing, server, settings } = group
  const once = spawnDirsync(['start', '--once', '--json'], { env: settings })
  expect(await once.exited).toMatchObject({ code: 0 })
  expect(JSON.parse(once.stdout)).toMatchObject({
    ok: true,
    employees: { in_scope: 2 * EACH, updated: 2 * EACH },
  })
  expect(new Set((await group.names()).values())).toEqual(
    new Set(Array.from({ length: EACH }, (_, i) => `Person ${i}`)),
  )

  await beijing.admin.query(`update person set name = 'Late' where userid = 'b1'`)
  const logger = pino({ level: 'silent' })
  const service = await startService({
    config: loadConfig(settings),
    roles: ['scheduler', 'worker'],
    logger,
    schedule: false,
  })
  await using stack = new AsyncDisposableStack()
  stack.defer(() => service.stop())
  const halts = async () =>
    (await own.pool.query('select scope, category, message from dirsync.halt order by scope')).rows
  const resync = async () => (await own.pool.query('select dirsync.resync()')).rowCount

  // It goes away between the plan and the work: what waits for it is halted, and nothing else.
  await own.pool.query(`select dirsync.pause('until it is away')`)
  await resync()
  await until(async () => (await own.pool.query('select from dirsync.pending')).rowCount === 1)
  await server.stop()
  await own.pool.query('select dirsync.resume()')
  const raised = await until(async () => {
    const rows = await halts()
    return rows.length > 0 && rows
  })
  expect(raised).toEqual([
    {
      scope: 'E2',
      category: 'hr_unavailable',
      message: expect.stringMatching(/^HR source beijing cannot be read: /),
    },
  ])
  await shanghai.pool.query(`update person set name = 'Changed' where userid = 's1'`)
  await resync()
  await until(async () => (await group.names()).get('E1/s1') === 'Changed')
  expect(await halts()).toHaveLength(1)
  const { rows: runs } = await own.pool.query(
    `select hr_source, state from dirsync.sync_run where kind = 'changes' order by id desc limit 2`,
  )
  await until(async () => {
    const { rows } = await own.pool.query(
      `select from dirsync.sync_run where hr_source = 'beijing' and state = 'failed'`,
    )
    return rows.length === 1
  })
  expect(runs.map(run => run.hr_source)).toEqual(['beijing', 'shanghai'])

  await server.restart()
  await own.pool.query(`select dirsync.probe_now('E2')`)
  await until(async () => (await group.names()).get('E2/b1') === 'Late')
  await until(async () => (await halts()).length === 0)
})

test('--once does what can be done, and ends with 1 where a source is away', async () => {
  await using group = await createGroup()
  await group.server.stop()
  const once = spawnDirsync(['start', '--once', '--json'], { env: group.settings })
  expect(await once.exited).toMatchObject({ code: 1 })
  const { ok, runs, employees, messages } = JSON.parse(once.stdout)
  expect({ ok, full: runs.full.length }).toEqual({ ok: false, full: 2 })
  expect(employees).toMatchObject({ in_scope: EACH, updated: EACH })
  expect(messages[0]).toMatchObject({ message: expect.stringContaining('does not answer') })
  const names = await group.names()
  expect([names.get('E1/s1'), names.get('E2/b1')]).toEqual(['Person 1', 'Old'])
})
