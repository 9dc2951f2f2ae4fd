import { mkdtemp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inject } from 'vitest'
import type { Emulator } from '../../emulator/emulator.ts'
import { controlOf } from './emulator-control.ts'
import { createMariadbDatabase, type MariadbDatabase, startMariadb } from './mariadb.ts'
import type { MariadbServer } from './mariadb-server.ts'
import { createTestDatabase, type TestDatabase } from './postgres.ts'
import { testPlatform } from './test-platform.ts'

const MAPPING = 'select userid, name, active from person'
const TABLE =
  'create table person (userid varchar(20) primary key, name varchar(40), active boolean default true)'
/** Employees of each company. */
export const EACH = 6

/** A group: Shanghai's HR in PostgreSQL (E1), Beijing's in MariaDB (E2), and the platform. */
export interface Group extends AsyncDisposable {
  shanghai: TestDatabase
  beijing: MariadbDatabase
  /** Beijing's own server, which can be stopped; absent: it is the run's. */
  server: MariadbServer | undefined
  own: TestDatabase
  emulator: Emulator
  settings: Record<string, string>
  /** Names on the platform, by `enterprise/userid`. */
  names(): Promise<Map<string, string>>
}

export async function createGroup(options: { ownServer?: boolean } = {}): Promise<Group> {
  await using stack = new AsyncDisposableStack()
  const server = options.ownServer ? stack.use(await startMariadb()) : undefined
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
  const { emulator, settings: platform } = await testPlatform({
    enterprises: [{ enterprise_code: 'E1' }, { enterprise_code: 'E2' }],
    employees,
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
      ...platform,
      PLATFORM_RATE_LIMIT: '2000',
      LOG_LEVEL: 'warn',
    },
    async names() {
      const control = controlOf(emulator.url)
      const { employees } = await control<{ employees: Record<string, string>[] }>('GET', 'state')
      return new Map(employees.map(one => [`${one.enterprise_code}/${one.userid}`, one.name ?? '']))
    },
    [Symbol.asyncDispose]: () => closing.disposeAsync(),
  }
}
