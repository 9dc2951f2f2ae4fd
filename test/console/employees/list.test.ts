import { beforeEach, expect, test } from 'vitest'
import { wayToDepartment } from '../../../src/console/departments/read.ts'
import { countStatuses, LISTED, listEmployees, listStatement } from '../../../src/console/employees/list.ts'
import { searchEmployees } from '../../../src/console/employees/search.ts'
import { readEmployeeStory } from '../../../src/console/employees/story.ts'
import { readUnknownPeople } from '../../../src/console/employees/unknown.ts'
import { readNow } from '../../../src/console/overview/query.ts'
import { todoCommands } from '../../../src/console/overview/view.ts'
import { SHOWN_EMPLOYEE_STATUSES } from '../../../src/sync/health/figures.ts'
import { plant } from '../../sync/planted.ts'
import { StoreUnderTest } from '../../sync/store-under-test.ts'

const store = new StoreUnderTest()

/** 3000 employees: of 100, 92 are in sync, and each other status has one. */
beforeEach(async () => {
  await store.pool.query(
    `insert into dirsync.employee (enterprise_code, userid, active, source_hash, acknowledged_hash, parked_hash,
                                   platform_state, vanished_at, dept_code, held_run, rejected, accepted)
     select case when i % 2 = 0 then 'A' else '' end, 'e' || lpad(i::text, 5, '0'), i % 100 <> 1, h,
            case when i % 100 in (2, 3, 4, 8) then null else h end, case when i % 100 in (3, 4, 8) then h end,
            case when i % 100 = 3 then 'absent' else 'in_service' end,
            case when i % 100 = 5 then now() end, 'D' || i % 7,
            case when i % 100 in (6, 7) then 1 end, i % 100 = 7, i % 100 = 8
     from (select i, md5(i::text)::uuid as h from generate_series(1, 3000) i) x`,
  )
  await store.pool.query('analyze dirsync.employee')
})

/** Everybody of a filter, by pages. */
async function everybody(filter: Parameters<typeof listEmployees>[1], limit = 7) {
  const found: string[] = []
  let after: string | null = null
  do {
    const { items, next } = await listEmployees(store.pool, filter, { after, limit })
    found.push(...items.map(({ enterprise_code, userid }) => `${enterprise_code}/${userid}`))
    after = next
  } while (after)
  return found
}

test('each status lists the employees that the tally counts, page by page, each once', async () => {
  const counts = await countStatuses(store.pool)
  expect(counts).toEqual({
    in_sync: 2760,
    waiting: 30,
    held: 30,
    rejected: 30,
    dead_lettered: 30,
    accepted: 30,
    awaiting_activation: 30,
    left: 30,
    vanished: 30,
    halted: 0,
    no_source: 0,
  })
  for (const status of LISTED) {
    const found = await everybody({ status })
    expect(found).toHaveLength(counts[status])
    expect(new Set(found).size).toBe(found.length)
  }
  const all = await everybody({}, 200)
  expect(all).toHaveLength(3000)
  expect(all).toEqual([...all].sort())
})

test('the status of one employee is the one that the lists show', async () => {
  const { items: employees } = await listEmployees(store.pool, {}, { limit: 100 })
  for (const { enterprise_code: enterpriseCode, userid, status } of employees)
    expect((await readEmployeeStory(store.pool, { enterpriseCode, userid })).record?.status).toBe(status)
  expect(new Set(employees.map(({ status }) => status)).size).toBeGreaterThan(1)
  expect(SHOWN_EMPLOYEE_STATUSES).toEqual(expect.arrayContaining(employees.map(({ status }) => status)))
})

test('those who wait for a halted enterprise are halted, those of others wait, and each is found by its status', async () => {
  await store.pool.query(
    `update dirsync.employee set enterprise_code = 'B' where status = 'waiting' and userid < 'e01000'`,
  )
  const halt = (scope: string) =>
    store.pool.query(
      `insert into dirsync.halt (scope, category, message, remedy) values ($1, 'enterprise_code', '[]', '[]')`,
      [scope],
    )
  const found = async () => {
    const { waiting, halted } = await countStatuses(store.pool)
    const pages = [await everybody({ status: 'waiting' }), await everybody({ status: 'halted' })]
    expect(pages.map(({ length }) => length)).toEqual([waiting, halted])
    for (const [i, status] of (['waiting', 'halted'] as const).entries()) {
      const { items } = await listEmployees(store.pool, { status }, { limit: 3 })
      expect(items.map(item => item.status)).toEqual(items.map(() => status))
      expect(pages[i]).toEqual([...(pages[i] ?? [])].sort())
    }
    return [waiting, halted]
  }
  expect(await found()).toEqual([30, 0])
  await halt('A')
  expect(await found()).toEqual([10, 20])
  const department = { enterpriseCode: 'A', code: 'D3' }
  const halted = await everybody({ status: 'halted', department })
  expect(halted.length).toBeGreaterThan(0)
  expect(await everybody({ status: 'waiting', department })).toEqual([])
  const [key = ''] = halted
  const userid = key.slice(2)
  expect((await readEmployeeStory(store.pool, { enterpriseCode: 'A', userid })).record?.status).toBe('halted')
  expect(await searchEmployees(store.pool, key, { limit: 1 })).toMatchObject([{ userid, status: 'halted' }])
  await halt('*')
  expect(await found()).toEqual([0, 30])
})

test('a department lists those whom the platform last showed in it', async () => {
  const found = await everybody({ department: { enterpriseCode: 'A', code: 'D3' } })
  const { rows } = await store.pool.query(
    `select from dirsync.employee
     where enterprise_code = 'A' and dept_code = 'D3' and platform_state = 'in_service'`,
  )
  expect(found).toHaveLength(rows.length)
  expect(found.length).toBeGreaterThan(100)
})

test('an enterprise lists its own, all of them and by status, as their counts say', async () => {
  const counts = await countStatuses(store.pool, 'A')
  expect(counts).toMatchObject({ in_sync: 1380, held: 30, rejected: 0, waiting: 30 })
  expect(await everybody({ enterprise: 'A' }, 200)).toHaveLength(1500)
  for (const status of LISTED) {
    const found = await everybody({ enterprise: 'A', status })
    expect(found).toHaveLength(counts[status])
    expect(found.every(key => key.startsWith('A/'))).toBe(true)
  }
  expect(await everybody({ enterprise: 'B' })).toEqual([])
})

test.each([
  ...LISTED.map(status => [{ status }, 'employee_status'] as const),
  ...LISTED.map(status => [{ status, enterprise: 'A' }, 'employee_status'] as const),
  [{ enterprise: 'A' }, 'employee_pkey'] as const,
  [{ department: { enterpriseCode: 'A', code: 'D3' } }, 'employee_department'] as const,
  [{}, 'employee_pkey'] as const,
])('a page of %j is read from the index %s', async (filter, index) => {
  const { text, values } = listStatement(filter, ['A', 'e00100'], 20)
  const { rows } = await store.pool.query<{ 'QUERY PLAN': string }>(`explain ${text}`, values)
  const plan = rows.map(row => row['QUERY PLAN']).join('\n')
  expect(plan).toContain(index)
  expect(plan).not.toMatch(/Seq Scan on employee/)
})

test('of the rows of a page alone it is asked when they were confirmed, however many enterprises have such', async () => {
  const { text, values } = listStatement({ status: 'waiting' }, null, 10)
  const client = await store.pool.connect()
  try {
    await client.query(`
      begin; set local track_functions = 'all';
      update dirsync.employee set enterprise_code = 'B' where status = 'waiting' and userid > 'e01500'`)
    expect((await client.query(text, values)).rowCount).toBe(10)
    const { rows } = await client.query(
      `select calls::int from pg_stat_xact_user_functions where funcname = 'confirmed_at'`,
    )
    expect(rows).toEqual([{ calls: 10 }])
    await client.query('rollback')
  } finally {
    client.release()
  }
})

test('the way to a department ends where HR has it below itself', async () => {
  await store.pool.query(
    `insert into dirsync.department (dept_code, parent_code, active)
     values ('top', null, true), ('mid', 'top', true), ('leaf', 'mid', true), ('a', 'b', true), ('b', 'a', true)`,
  )
  const way = async (code: string) =>
    (await wayToDepartment(store.pool, '', code)).map(step => step.dept_code)
  expect(await way('leaf')).toEqual(['top', 'mid', 'leaf'])
  expect(await way('a')).toEqual(['b', 'a'])
  expect(await way('unknown')).toEqual([])
})

test('an enterprise of which the platform knows hardly anyone is named, with an example; new people elsewhere are not, nor one without HR source', async () => {
  await store.pool.query('delete from dirsync.employee')
  const hire = (
    enterprise: string,
    from: number,
    to: number,
    state: 'absent' | 'in_service',
    active = true,
  ) =>
    store.pool.query(
      `insert into dirsync.employee (enterprise_code, userid, active, source_hash, acknowledged_hash, parked_hash, platform_state)
       select $1, 'e' || lpad(i::text, 5, '0'), $5, h, case when $4 = 'in_service' then h end,
              case when $4 = 'absent' then h end, $4
       from (select i, md5(i::text)::uuid as h from generate_series($2::int, $3::int) i) x`,
      [enterprise, from, to, state, active],
    )
  await hire('A', 1, 300, 'absent')
  await hire('A', 301, 302, 'in_service')
  // One who has left is no one to look for.
  await hire('A', 303, 310, 'in_service', false)
  await hire('B', 1, 20, 'in_service')
  await hire('B', 21, 25, 'absent')
  await hire('C', 1, 2, 'absent')
  await hire('D', 1, 3, 'absent')
  expect(await readUnknownPeople(store.pool)).toEqual([
    { enterprise_code: 'A', looked: 92, unknown: 90, example: 'e00001' },
    { enterprise_code: 'D', looked: 3, unknown: 3, example: 'e00001' },
  ])
  const { result } = await readNow(store.pool, 'en')
  const commands = todoCommands(result).filter(command => command.startsWith('employee '))
  expect(commands).toEqual(['employee A/e00001', 'employee D/e00001'])
  // As where the code was wrong, and is another one now. However many such there are, they hide no other one.
  for (let i = 0; i < 10; i++) await hire(`C${i}`, 1, 5, 'absent')
  await plant(store, 'hr_source', {
    ...{ name: 'beijing', position: 0, kind: 'postgres', address: 'hr.example/hr' },
    enterprise_codes: ['B', 'D'],
  })
  expect(await readUnknownPeople(store.pool)).toMatchObject([{ enterprise_code: 'D' }])
})
