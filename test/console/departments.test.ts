import { beforeEach, describe, expect, test } from 'vitest'
import { deletionCandidates, departmentTree } from '../../src/console/departments/read.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()
const HOUR = 3_600_000

beforeEach(async () => {
  await store.pool.query(`
    insert into dirsync.department (dept_code, parent_code, active, closed_at, first_missing_at, deleted_at) values
      ('A', null, true, null, null, null),
      ('A1', 'A', true, null, null, null),
      ('A2', 'A', false, '2026-11-20T10:00Z', null, null),
      ('A3', 'A', true, null, '2026-11-19T10:00Z', null),
      ('A4', 'A', false, '2026-11-01T10:00Z', null, '2026-11-03T10:00Z'),
      ('B', 'gone', true, null, null, null);
    insert into dirsync.employee (userid, platform_state, dept_code)
      select 'e' || i, 'in_service', 'A2' from generate_series(1, 3) i;
    insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy)
      values ('department', 'A2', 'delete-department', 'base_department', '[]', '[]')`)
})

describe('the tree of departments', () => {
  const level = (under: string | null, after?: string) =>
    departmentTree(store.pool, { enterprise: '', under, after, limit: 2, graceMs: 24 * HOUR })

  test('comes level by level; a department with an unknown parent is at the top', async () => {
    const { departments, next } = await level(null)
    expect(departments).toMatchObject([
      { deptCode: 'A', children: 3, employees: 0, deletableAt: null },
      { deptCode: 'B', parentCode: 'gone', children: 0 },
    ])
    expect(next).toBeNull()
  })

  test('lists a level page by page: employees, the refusal, and the time of deletion', async () => {
    const first = await level('A')
    expect(first.departments).toMatchObject([
      { deptCode: 'A1', active: true, deletableAt: null, caseId: null },
      {
        deptCode: 'A2',
        active: false,
        employees: 3,
        caseId: expect.any(Number),
        deletableAt: new Date('2026-11-21T10:00Z'),
      },
    ])
    const second = await level('A', first.next ?? undefined)
    expect(second).toMatchObject({
      departments: [
        { deptCode: 'A3', missingSince: expect.any(Date), deletableAt: new Date('2026-11-20T10:00Z') },
        { deptCode: 'A4', deletedAt: expect.any(Date), deletableAt: null },
      ],
      next: null,
    })
  })
})

test('candidates for deletion are those closed or missing and not deleted, the soonest first', async () => {
  const found = await deletionCandidates(store.pool, 24 * HOUR)
  expect(found.map(({ deptCode }) => deptCode)).toEqual(['A3', 'A2'])
})
