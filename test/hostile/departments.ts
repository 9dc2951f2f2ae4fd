import fc from 'fast-check'
import { type KnownDepartment, planDeletions } from '../../src/directory/department.ts'
import { examineDepartments } from '../../src/hr/departments.ts'
import { interruptibly, type Kind, must } from './kind.ts'
import { text } from './texts.ts'

/*
 * Departments in any order and shape, as HR's mapping returns them: chains as deep as there are departments, circles, parents that
 * are not there.
 */

interface Departments {
  rows: (string | null)[][]
}

const code = fc.oneof({ weight: 5, arbitrary: fc.constantFrom('d1', 'd2', 'd3', 'd4', 'd5') }, text(200))
const odd = fc.array(
  fc.tuple(
    fc.constantFrom('', 'E1', null),
    fc.option(code),
    fc.option(code),
    fc.constantFrom('t', 'f', 'x', '', null),
    fc.oneof(fc.constantFrom(null, '', '0', '1.5', 'x', '1e999', '-1e20', 'NaN'), text(30)),
  ),
  { maxLength: 30 },
)
/** A chain, which may close to a circle. */
const chain = fc
  .tuple(fc.integer({ min: 1, max: 20_000 }), fc.boolean(), fc.boolean())
  .map(([length, closes, fromTop]) => {
    const rows = Array.from({ length }, (_, index) => [
      '',
      `c${index}`,
      index > 0 ? `c${index - 1}` : closes ? `c${length - 1}` : null,
      'f',
      '0',
    ])
    return fromTop ? rows : rows.reverse()
  })

export const departments: Kind<Departments> = {
  name: 'departments',
  what: "rows of HR's departments, through validation and the plan of deletions",
  share: 60,
  few: 100,
  inputs: fc.record({ rows: fc.oneof({ weight: 40, arbitrary: odd }, { weight: 1, arbitrary: chain }) }),
  async open() {
    return { meet: input => interruptibly(() => meet(input)), async [Symbol.asyncDispose]() {} }
  },
}

function meet({ rows }: Departments): string {
  const { departments, problems } = examineDepartments(rows)
  // A department of before may still be known by a parent that closes a circle.
  const known = departments.map(
    (each): KnownDepartment => ({
      ...each,
      missingSince: null,
      deleted: false,
      setAside: false,
      employees: 0,
    }),
  )
  const due = planDeletions(known, new Date(), 86_400_000)
  const waves = new Map(due.map(each => [JSON.stringify([each.enterpriseCode, each.deptCode]), each.wave]))
  for (const { enterpriseCode, deptCode, parentCode, active } of known) {
    const wave = waves.get(JSON.stringify([enterpriseCode, deptCode]))
    must(!(active && wave !== undefined), 'an active department is deleted')
    const above = waves.get(JSON.stringify([enterpriseCode, parentCode]))
    must(above === undefined || (wave !== undefined && wave < above), 'a parent is deleted before its child')
  }
  return problems.length > 0 ? 'refused' : 'planned'
}
