import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { HrDepartmentRow } from '../../src/hr/departments.ts'
import { WHOLE } from '../../src/hr/sources.ts'
import { knownDepartments, rememberDepartments } from '../../src/sync/plan/departments.ts'
import { DepartmentReader } from '../../src/sync/work/delete-department.ts'
import { hrDatabase, hrSource } from '../hr/hr-database.ts'
import { plant, plantRun } from './planted.ts'
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
const remember = (...departments: HrDepartmentRow[]) => rememberDepartments(store.pool, departments, null)
const known = (employees: Parameters<typeof knownDepartments>[1] = []) =>
  knownDepartments(store.pool, employees, null)
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
        setAside: false,
        rejectedRun: null,
        isHeld: false,
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

  test('and nothing is written of those that are as they were', async () => {
    const closedAt = new Date('2026-01-01T00:00:00Z')
    const all = [seen('A'), seen('B', { parentCode: 'A' }), seen('C', { active: false, closedAt }), seen('D')]
    await remember(...all)
    await remember(...all.slice(0, 3))
    const versions = () =>
      store.rows('select dept_code, xmin, xmax, ctid from dirsync.department order by dept_code')
    const before = await versions()
    await remember(...all.slice(0, 3))
    expect(await versions()).toEqual(before)
    await remember(seen('A', { active: false }), ...all.slice(1, 3))
    expect((await versions()).slice(1)).toEqual(before.slice(1))
    expect((await known()).find(({ deptCode }) => deptCode === 'A')).toMatchObject({ active: false })
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
    expect(await only()).toMatchObject({ active: true, closedAt: null, deleted: false, setAside: false })
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

  test('rejected until HR, which lacked them, has them again: lacking them once more is another matter', async () => {
    const rejected = async () => (await known()).find(({ deptCode }) => deptCode === 'A')?.setAside
    await remember(seen('A'), seen('B'))
    await remember(seen('B'))
    await set(`rejected_run = 1`)
    await remember(seen('B'))
    expect(await rejected()).toBe(true)
    await remember(seen('A'), seen('B'))
    await remember(seen('B'))
    expect(await rejected()).toBe(false)
  })

  test('with the same code in two enterprises as two', async () => {
    await remember(seen('A', { enterpriseCode: 'C1' }), seen('A', { enterpriseCode: 'C2' }))
    await remember(seen('A', { enterpriseCode: 'C1' }), seen('B', { enterpriseCode: 'C2' }))
    const missing = (await known()).filter(({ missingSince }) => missingSince !== null)
    expect(missing).toMatchObject([{ enterpriseCode: 'C2', deptCode: 'A' }])
  })

  test('deleted while HR has them closed, also where closed_at is when the row was changed last', async () => {
    await remember(seen('A', { active: false, closedAt: new Date('2026-01-01') }))
    await set(`deleted_at = '2026-01-03'`)
    await remember(seen('A', { active: false, closedAt: new Date('2026-01-04') }))
    expect(await only()).toMatchObject({ deleted: true })
  })

  test('deleted or parked while HR says nothing new', async () => {
    await remember(seen('A', { active: false }))
    await set('deleted_at = now()')
    await remember(seen('A', { active: false }))
    expect(await only()).toMatchObject({ deleted: true })
    await set('deleted_at = null, parked_at = now()')
    await remember(seen('A', { active: false }))
    expect(await only()).toMatchObject({ deleted: false, setAside: true })
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

describe('deletions', () => {
  const HR = 'select dept_code, null as parent_code, active from department'

  test('of one run share a reading of HR; those of another run have their own', async () => {
    const { url } = await hrDatabase(
      `create table department as select 'D' || i as dept_code, i > 5 as active from generate_series(1, 10) i;
       create table person as select 'e1' as userid, 'n' as name, 'D9' as dept_code`,
    )
    const hr = hrSource(url, 'select userid, name, dept_code from person', { departments: HR })
    let reads = 0
    const read = hr.departments.bind(hr)
    let slowly = async () => {}
    hr.departments = async options => {
      reads += 1
      await slowly()
      return read(options)
    }
    const gate = { maxFewerRows: 20, maxEmptied: 20 }
    const reader = new DepartmentReader(store.pool, { ...WHOLE, hr }, { gate, departmentGraceMs: 0 })
    const run = await plantRun(store, {
      state: 'done',
      planned_at: new Date(),
      finished_at: new Date(),
      source: { rows: 1, keyless: 0, empty: {} },
      mapping: (await hr.inspect()).fingerprint,
    })
    const wanted = async (run: number | null, since = performance.now()) =>
      (await reader.facts({ run, since })).wanted.map(({ deptCode }) => deptCode)
    const all = await Promise.all(Array.from({ length: 100 }, () => wanted(run)))
    expect(reads).toBe(1)
    expect(await wanted(run)).toHaveLength(5)
    expect(all).toHaveLength(100)
    expect(reads).toBe(1)
    // What is remembered is asked each time.
    await set(`deleted_at = now() where dept_code = 'D1'`)
    expect(await wanted(run)).toHaveLength(4)
    expect(reads).toBe(1)
    await wanted(run + 1)
    await wanted(null)
    await wanted(null)
    expect(reads).toBe(4)
    // What took long is believed for as long, and also looks again for those that were claimed before it.
    const clock = vi.spyOn(performance, 'now')
    onTestFinished(() => clock.mockRestore())
    let passed = 0
    const present = performance.now()
    clock.mockImplementation(() => present + passed)
    slowly = async () => {
      passed += 40_000
    }
    await Promise.all([wanted(run), wanted(run + 2)])
    passed += 39_000
    await Promise.all([wanted(run), wanted(run + 2), wanted(null, present)])
    expect(reads).toBe(5)
    await wanted(null)
    expect(reads).toBe(6)
    passed += 41_000
    await wanted(null, present)
    expect(reads).toBe(7)
  })
})
