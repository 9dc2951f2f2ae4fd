import { describe, expect, test } from 'vitest'
import type { HrDepartmentRow } from '../../src/hr/departments.ts'
import { knownDepartments, rememberDepartments } from '../../src/sync/departments.ts'
import { plant } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const seen = (deptCode: string, differs: Partial<HrDepartmentRow> = {}): HrDepartmentRow => ({
  enterpriseCode: '',
  deptCode,
  parentCode: null,
  active: true,
  closedAt: null,
  ...differs,
})
const remember = (...departments: HrDepartmentRow[]) => rememberDepartments(store.pool, departments)
const known = (employees: Parameters<typeof knownDepartments>[1] = []) =>
  knownDepartments(store.pool, employees)
const only = async () => (await known())[0]
const set = (text: string) => store.pool.query(`update dirsync.department set ${text}`)

describe('HR’s departments are remembered', () => {
  test('as they are seen first', async () => {
    const closedAt = new Date('2026-01-01T00:00:00Z')
    await remember(seen('A'), seen('B', { parentCode: 'A', active: false, closedAt, enterpriseCode: 'C1' }))
    expect((await known()).toSorted((a, b) => (a.deptCode < b.deptCode ? -1 : 1))).toEqual([
      {
        enterpriseCode: '',
        deptCode: 'A',
        parentCode: null,
        active: true,
        closedAt: null,
        missingSince: null,
        deleted: false,
        parked: false,
        employees: 0,
      },
      expect.objectContaining({
        enterpriseCode: 'C1',
        deptCode: 'B',
        parentCode: 'A',
        active: false,
        closedAt,
      }),
    ])
  })

  test('closed from when it is first noticed, where HR does not say', async () => {
    await remember(seen('A'))
    await remember(seen('A', { active: false }))
    const noticed = (await only())?.closedAt
    expect(noticed).toBeInstanceOf(Date)
    await set(`closed_at = closed_at - interval '1 hour'`)
    await remember(seen('A', { active: false }))
    expect((await only())?.closedAt?.getTime()).toBe((noticed?.getTime() ?? 0) - 3_600_000)
  })

  test('closed from when HR says, also when it says so later or otherwise', async () => {
    await remember(seen('A', { active: false }))
    for (const day of ['2026-01-01', '2026-01-02']) {
      await remember(seen('A', { active: false, closedAt: new Date(day) }))
      expect(await only()).toMatchObject({ closedAt: new Date(day) })
    }
  })

  test('reopened, with nothing left of the closing, so that it may be deleted once more', async () => {
    await remember(seen('A', { active: false }))
    await set('deleted_at = now(), parked_at = now()')
    await remember(seen('A'))
    expect(await only()).toMatchObject({ active: true, closedAt: null, deleted: false, parked: false })
  })

  test('moved below another one', async () => {
    await remember(seen('A'), seen('B'))
    await remember(seen('A'), seen('B', { parentCode: 'A' }))
    expect((await known()).find(({ deptCode }) => deptCode === 'B')).toMatchObject({ parentCode: 'A' })
  })

  test('missing since HR first lacked them, until HR has them again', async () => {
    await remember(seen('A'), seen('B'))
    await remember(seen('B'))
    await set(`first_missing_at = first_missing_at - interval '1 hour'`)
    const since = (await known()).find(({ deptCode }) => deptCode === 'A')?.missingSince
    await remember(seen('B'))
    expect((await known()).find(({ deptCode }) => deptCode === 'A')?.missingSince).toEqual(since)
    await remember(seen('A'), seen('B'))
    expect((await known()).map(({ missingSince }) => missingSince)).toEqual([null, null])
  })

  test('with the same code in two enterprises as two', async () => {
    await remember(seen('A', { enterpriseCode: 'C1' }), seen('A', { enterpriseCode: 'C2' }))
    await remember(seen('A', { enterpriseCode: 'C1' }))
    expect((await known()).find(({ enterpriseCode }) => enterpriseCode === 'C1')?.missingSince).toBeNull()
    expect((await known()).find(({ enterpriseCode }) => enterpriseCode === 'C2')?.missingSince).not.toBeNull()
  })

  test('deleted or parked while HR says nothing new', async () => {
    await remember(seen('A', { active: false }))
    await set('deleted_at = now()')
    await remember(seen('A', { active: false }))
    expect(await only()).toMatchObject({ deleted: true })
    await set('deleted_at = null, parked_at = now()')
    await remember(seen('A', { active: false }))
    expect(await only()).toMatchObject({ deleted: false, parked: true })
  })
})

test('employees of a department are those that HR has in it and those that the platform has', async () => {
  await remember(seen('A'), seen('B'), seen('A', { enterpriseCode: 'C1' }))
  await plant(
    store,
    'employee',
    { userid: 'e1', dept_code: 'A', platform_state: 'in_service' },
    { userid: 'e2', dept_code: 'A', platform_state: 'in_service' },
    { userid: 'e3', dept_code: 'A', platform_state: 'absent' },
    { userid: 'e4', dept_code: 'A', platform_state: 'unknown' },
    { userid: 'e5', dept_code: 'A', platform_state: 'in_service', enterprise_code: 'C1' },
    { userid: 'e6', platform_state: 'in_service' },
  )
  const counted = await known([
    { enterpriseCode: '', deptCode: 'A', employees: 3 },
    { enterpriseCode: '', deptCode: 'unheard of', employees: 9 },
  ])
  expect(
    new Map(
      counted.map(({ enterpriseCode, deptCode, employees }) => [`${enterpriseCode}/${deptCode}`, employees]),
    ),
  ).toEqual(
    new Map([
      ['/A', 5],
      ['/B', 0],
      ['C1/A', 1],
    ]),
  )
})
