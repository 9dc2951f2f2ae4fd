import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type KnownDepartment, planDeletions } from '../../src/directory/department.ts'

const NOW = new Date('2026-03-02T12:00:00Z')
const HOUR = 3_600_000
const GRACE = 24 * HOUR

const ago = (hours: number) => new Date(NOW.getTime() - hours * HOUR)

/** A department that HR closed long ago; what differs is given. */
function department(deptCode: string, differs: Partial<KnownDepartment> = {}): KnownDepartment {
  return {
    enterpriseCode: '',
    deptCode,
    parentCode: null,
    active: false,
    closedAt: ago(100),
    missingSince: null,
    deleted: false,
    setAside: false,
    employees: 0,
    ...differs,
  }
}

const plan = (...departments: KnownDepartment[]) => planDeletions(departments, NOW, GRACE)
const codes = (...departments: KnownDepartment[]) => plan(...departments).map(({ deptCode }) => deptCode)

test('departments by the hundred thousand below one are no harder than below many', () => {
  const below = Array.from({ length: 300_000 }, (_, i) => department(`C${i}`, { parentCode: 'A' }))
  expect(planDeletions([department('A'), ...below], NOW, GRACE)).toHaveLength(300_001)
})

test('departments each below another, ten thousand deep, are deleted from below', () => {
  const chain = Array.from({ length: 10_000 }, (_, i) =>
    department(`C${i}`, { parentCode: i === 0 ? null : `C${i - 1}` }),
  )
  const due = planDeletions(chain, NOW, GRACE)
  expect(due.map(({ wave }) => wave)).toEqual(Array.from({ length: 10_000 }, (_, i) => i))
  expect(due[0]?.deptCode).toBe('C9999')
})

describe('a department is deleted', () => {
  test('when it has been closed for longer than the grace period', () => {
    expect(plan(department('A'))).toEqual([{ enterpriseCode: '', deptCode: 'A', wave: 0 }])
  })

  test('when HR has lacked it for longer than the grace period', () => {
    expect(codes(department('A', { active: true, closedAt: null, missingSince: ago(25) }))).toEqual(['A'])
  })

  test('one millisecond after the grace period, not before', () => {
    const edge = new Date(NOW.getTime() - GRACE)
    const after = new Date(edge.getTime() - 1)
    expect(codes(department('A', { closedAt: edge }))).toEqual([])
    expect(codes(department('A', { closedAt: after }))).toEqual(['A'])
    expect(codes(department('A', { active: true, closedAt: null, missingSince: edge }))).toEqual([])
    expect(codes(department('A', { active: true, closedAt: null, missingSince: after }))).toEqual(['A'])
  })

  test('counted from its closing when HR drops it later', () => {
    expect(codes(department('A', { closedAt: ago(100), missingSince: ago(1) }))).toEqual(['A'])
  })
})

describe('a department stays', () => {
  test.each([
    ['while it is active', { active: true, closedAt: null }],
    ['while employees are in it', { employees: 1 }],
    ['when its deletion is a dead letter', { setAside: true }],
    ['when it is deleted already', { deleted: true }],
    ['when HR closes it in the future', { closedAt: ago(-48) }],
    ['when it is unknown since when it is closed', { closedAt: null }],
  ])('%s', (_, differs) => {
    expect(codes(department('A', differs))).toEqual([])
  })

  test('while anything below it stays, however deep', () => {
    const chain = [
      department('A'),
      department('B', { parentCode: 'A' }),
      department('C', { parentCode: 'B' }),
      department('D', { parentCode: 'C', employees: 1 }),
      department('E', { parentCode: 'B' }),
    ]
    expect(codes(...chain)).toEqual(['E'])
  })

  test('while the deletion of a child is a dead letter', () => {
    expect(codes(department('A'), department('B', { parentCode: 'A', setAside: true }))).toEqual([])
  })

  test('when it is part of a cycle, or its own parent, or above one', () => {
    const cycle = [department('A', { parentCode: 'B' }), department('B', { parentCode: 'A' })]
    expect(codes(...cycle)).toEqual([])
    expect(codes(...cycle.toReversed())).toEqual([])
    expect(codes(department('A', { parentCode: 'A' }))).toEqual([])
    expect(codes(...cycle, department('C', { parentCode: 'B' }))).toEqual(['C'])
  })
})

test('children go before their parents, and those already gone hold nothing back', () => {
  const tree = [
    department('A'),
    department('B', { parentCode: 'A' }),
    department('C', { parentCode: 'B' }),
    department('D', { parentCode: 'A', deleted: true, employees: 5 }),
    department('E'),
  ]
  expect(plan(...tree).map(({ deptCode, wave }) => [deptCode, wave])).toEqual([
    ['C', 0],
    ['E', 0],
    ['B', 1],
    ['A', 2],
  ])
})

test('departments of two enterprises with the same codes have nothing to do with each other', () => {
  const tree = [
    department('A', { enterpriseCode: 'C1' }),
    department('B', { enterpriseCode: 'C2', parentCode: 'A', employees: 1 }),
    department('B', { enterpriseCode: 'C1', parentCode: 'A' }),
  ]
  expect(plan(...tree)).toEqual([
    { enterpriseCode: 'C1', deptCode: 'B', wave: 0 },
    { enterpriseCode: 'C1', deptCode: 'A', wave: 1 },
  ])
})

describe('of any organisation, cycles and all', () => {
  const organisation = fc
    .array(
      fc.record({
        parent: fc.option(fc.nat(14), { freq: 4 }),
        state: fc.constantFrom('closed', 'closed', 'closed', 'missing', 'active', 'fresh'),
        employees: fc.constantFrom(0, 0, 0, 0, 1),
        setAside: fc.constantFrom(false, false, false, false, true),
        deleted: fc.constantFrom(false, false, false, false, true),
      }),
      { minLength: 1, maxLength: 15 },
    )
    .map(rows =>
      rows.map(({ parent, state, employees, setAside, deleted }, index) =>
        department(`D${index}`, {
          parentCode: parent === null ? null : `D${parent}`,
          active: state === 'active' || state === 'missing',
          closedAt: state === 'closed' ? ago(100) : state === 'fresh' ? ago(1) : null,
          missingSince: state === 'missing' ? ago(100) : null,
          employees,
          setAside,
          deleted,
        }),
      ),
    )

  test('only empty, expired departments go that are neither set aside nor deleted', () => {
    fc.assert(
      fc.property(organisation, departments => {
        for (const { deptCode } of plan(...departments)) {
          const gone = departments.find(known => known.deptCode === deptCode)
          expect(gone).toMatchObject({ employees: 0, setAside: false, deleted: false })
          expect((gone?.closedAt ?? gone?.missingSince)?.getTime()).toBeLessThan(NOW.getTime() - GRACE)
        }
      }),
    )
  })

  test('each child that is there goes in an earlier wave and earlier in the list', () => {
    fc.assert(
      fc.property(organisation, departments => {
        const deletions = plan(...departments)
        for (const [position, { deptCode, wave }] of deletions.entries()) {
          const children = departments.filter(known => known.parentCode === deptCode && !known.deleted)
          for (const child of children) {
            const at = deletions.findIndex(deletion => deletion.deptCode === child.deptCode)
            expect(at).toBeGreaterThanOrEqual(0)
            expect(at).toBeLessThan(position)
            expect(deletions[at]?.wave).toBeLessThan(wave)
          }
        }
      }),
    )
  })

  test('the order in which HR lists them makes no difference', () => {
    const sorted = (departments: KnownDepartment[]) =>
      plan(...departments).toSorted((a, b) => (a.deptCode < b.deptCode ? -1 : 1))
    fc.assert(
      fc.property(organisation, departments => {
        expect(sorted(departments.toReversed())).toEqual(sorted(departments))
      }),
    )
  })

  test('nothing is left to plan once everything planned is deleted', () => {
    fc.assert(
      fc.property(organisation, departments => {
        const gone = new Set(codes(...departments))
        const after = departments.map(known => ({
          ...known,
          deleted: known.deleted || gone.has(known.deptCode),
        }))
        expect(codes(...after)).toEqual([])
      }),
    )
  })
})
