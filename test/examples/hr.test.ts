import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { toActual, toDesired } from '../../src/directory/desired.ts'
import { diffEmployee } from '../../src/directory/difference.ts'
import { EMPLOYEE_FIELDS, keyText } from '../../src/directory/employee.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { type Expected, type Row, type Seed, sampleFile, sampleJson, textRows } from './sample.ts'

const DEPARTMENT_COLUMNS = ['enterprise_code', 'dept_code', 'parent_code', 'active', 'closed_at', 'name']
const GRACE_HOURS = 24

const database = duringFile(createTestDatabase)
let expected: Expected
let seed: Seed
let columns: string[]
let employees: Row[]
let departments: Row[]
let departmentColumns: string[]

beforeAll(async () => {
  await database.pool.query(await sampleFile('schema.sql'))
  await database.pool.query(await sampleFile('data.sql'))
  expected = await sampleJson('expected.json')
  seed = await sampleJson('platform.json')
  const mapped = await textRows(database.pool, await sampleFile('employees.sql'))
  columns = mapped.columns
  employees = mapped.rows
  const mappedDepartments = await textRows(database.pool, await sampleFile('departments.sql'))
  departmentColumns = mappedDepartments.columns
  departments = mappedDepartments.rows
})

const keyOf = (row: { enterprise_code?: string | null; userid?: string | null }) =>
  keyText({ enterpriseCode: row.enterprise_code ?? '', userid: row.userid ?? '' })
const hrRow = (key: string) => employees.find(row => keyOf(row) === key) ?? {}
const held = (key: string) => seed.employees.find(employee => keyOf(employee) === key)
const inService = (key: string) => held(key) !== undefined && held(key)?.in_service !== false
const casesOf = (outcome: string) => expected.employee_cases.filter(each => each.outcome === outcome)
const departmentKey = (row: {
  enterprise_code?: string | null | undefined
  dept_code?: string | null | undefined
}) => `${row.enterprise_code}/${row.dept_code}`

/** The units in which HR and the platform's seed differ; throws for a row that HR should not have. */
function differences(row: Row): string[] {
  const result = toDesired(row, columns)
  if (!result.ok) throw new Error(`${row.userid}: ${result.problems.map(each => each.message).join('; ')}`)
  const actual = toActual(held(keyOf(row)) ?? {})
  return diffEmployee({ desired: result.desired, actual, acknowledged: {} }).map(unit => unit.unit)
}

describe('the mapping queries', () => {
  test('name their columns as the specification does', () => {
    expect(columns).toEqual(['enterprise_code', 'userid', 'active', 'updated_at', ...EMPLOYEE_FIELDS])
    expect(departmentColumns).toEqual(DEPARTMENT_COLUMNS)
  })

  test('give one row per key', () => {
    expect(new Set(employees.map(keyOf)).size).toBe(employees.length)
    expect(new Set(departments.map(departmentKey)).size).toBe(departments.length)
  })

  test('take the present one of two employments', () => {
    const back = expected.employee_cases.find(each => each.case.startsWith('came back'))
    expect(hrRow(keyOf(back ?? {}))).toMatchObject({ active: 't' })
  })

  test('tell area code and number apart, however they are typed', () => {
    const mobiles = employees.filter(row => row.mobile_area === '86' && row.enterprise_code === 'E100')
    const odd = mobiles.filter(row => !/^1000001\d{4}$/.test(row.mobile ?? '')).map(row => row.userid)
    const planted = expected.employee_cases.filter(each => /full-width|with letters/.test(each.case))
    expect(odd.sort()).toEqual(planted.map(each => each.userid).sort())
    expect(new Set(employees.map(row => row.mobile_area))).toEqual(new Set(['86', '1', '44', '999']))
  })

  test('move updated_at with an update of HR', async () => {
    const { rows } = await database.pool.query(`
      with before as (select now() as at), changed as (
        update hr.contact set value = value where kind = 'mobile' and person_id = 10003 returning changed_at)
      select changed.changed_at >= before.at as moved from before, changed`)
    expect(rows).toEqual([{ moved: true }])
  })
})

describe('the company', () => {
  test('has more than 300 employees in 25 departments of three levels', () => {
    const main = employees.filter(row => row.enterprise_code === 'E100' && row.active === 't')
    expect(main.length).toBeGreaterThanOrEqual(300)
    const used = new Set(main.map(row => row.dept_code ?? ''))
    expect(used.size).toBe(25)
    const parents = new Map(
      departments.filter(row => row.enterprise_code === 'E100').map(row => [row.dept_code, row.parent_code]),
    )
    const level = (code: string | null | undefined): number => (code ? 1 + level(parents.get(code)) : 0)
    expect(new Set([...used].map(level))).toEqual(new Set([1, 2, 3]))
  })

  test('has every department that an employee or another department names', () => {
    const known = new Set(departments.map(departmentKey))
    const named = [
      ...employees.map(row => ({ enterprise_code: row.enterprise_code, dept_code: row.dept_code })),
      ...departments
        .filter(row => row.parent_code !== null)
        .map(row => ({ enterprise_code: row.enterprise_code, dept_code: row.parent_code })),
    ]
    expect(named.map(departmentKey).filter(key => !known.has(key))).toEqual([])
  })

  test('is made up: no address or number is in use', () => {
    for (const row of employees) {
      expect(row.email ?? 'none@example.com').toMatch(/^[a-z.0-9]+@example\.(com|org)$/)
      if (row.card_type === '1') expect(row.card_no).toMatch(/^\d\d0000/)
    }
  })
})

describe('employees', () => {
  test('add up to the expected sums', () => {
    const planted = (outcome: string) => casesOf(outcome).length
    const { in_scope, out_of_scope, ...parts } = expected.employees
    expect(employees.filter(row => row.active === 't')).toHaveLength(in_scope ?? 0)
    expect(employees.filter(row => row.active === 'f')).toHaveLength(out_of_scope ?? 0)
    expect(Object.values(parts).reduce((sum, part) => sum + part, 0)).toBe(in_scope)
    for (const outcome of Object.keys(parts).filter(name => name !== 'in_sync')) {
      expect([outcome, planted(outcome)]).toEqual([outcome, parts[outcome]])
    }
  })

  test('are planted once each', () => {
    const keys = expected.employee_cases.map(keyOf)
    expect(new Set(keys).size).toBe(keys.length)
    expect(keys.filter(key => hrRow(key).userid === undefined)).toEqual([])
  })

  test('that nothing is planted on equal the platform, and so do those planted as in step', () => {
    const different = new Set(expected.employee_cases.filter(each => each.outcome !== 'in_sync').map(keyOf))
    const same = employees.filter(row => !different.has(keyOf(row)))
    expect(same).toHaveLength(expected.employees.in_sync ?? 0)
    expect(same.filter(row => !inService(keyOf(row)))).toEqual([])
    expect(same.filter(row => differences(row).length > 0).map(row => row.userid)).toEqual([])
  })

  test('with an invalid row fail the validation with the field that is planted, and all others pass', () => {
    const invalid = employees.flatMap(row => {
      const result = toDesired(row, columns)
      return result.ok ? [] : [[row.userid, result.problems.map(each => each.field)]]
    })
    const planted = expected.employee_cases
      .filter(each => each.dead_letters.some(letter => letter.category === 'invalid_hr_row'))
      .map(each => [each.userid, each.dead_letters.map(letter => letter.field)])
    expect(invalid).toHaveLength(4)
    expect(new Map(invalid as [string, string[]][])).toEqual(new Map(planted as [string, string[]][]))
  })

  test.each([
    ['name spelt otherwise', ['name']],
    ['new mobile', ['mobile']],
    ['moved to another department', ['dept_code']],
    ['new grade', ['level']],
    ['entry day corrected', ['entry_day']],
    ['other cost center', ['cost_center_id']],
    ['other contract (extended attribute)', ['employee_attribute']],
    ['other contract and taxpayer (two extended attributes)', ['employee_attribute']],
    ['new e-mail', ['email']],
    ['other gender', ['gender']],
    ['new passport', ['card_no']],
    ['new work number', ['corp_code']],
    ['other categories', ['category']],
    ['other remark', ['remark']],
    ['name, mobile and department at once', ['name', 'mobile', 'dept_code']],
    ['remark cleared', ['remark']],
    ['birth day cleared', ['birth_day']],
    ['entry day cleared', ['entry_day']],
    ['grade cleared', ['level']],
    ['categories cleared', ['category']],
    ['takes over the mobile that a later colleague gives up', ['mobile']],
    ['takes over the mobile that a later colleague gives up: that colleague', ['mobile']],
    ['work number of a colleague', ['corp_code']],
    ['e-mail of a colleague', ['email']],
    ['mobile of a colleague', ['mobile']],
    ['department that the platform lacks', ['dept_code']],
    ['identity number of a province that does not exist', ['card_no']],
    ['area code that no country has', ['mobile']],
    [
      'e-mail of a colleague, department that the platform lacks, and a name spelt otherwise',
      ['name', 'email', 'dept_code'],
    ],
    ['grade where grades are off', ['level']],
    ['category where categories are off', ['category']],
    ['attribute that is not enabled', ['employee_attribute']],
  ])('with "%s" differ in %j', (name, fields) => {
    const planted = expected.employee_cases.filter(each => each.case === name)
    expect(planted.length).toBeGreaterThan(0)
    for (const each of planted)
      expect([each.userid, differences(hrRow(keyOf(each)))]).toEqual([each.userid, fields])
  })

  test('that left or wait are as the cases say on the platform', () => {
    const service = (name: string) => {
      const [planted] = expected.employee_cases.filter(each => each.case === name)
      const key = keyOf(planted ?? {})
      return { active: hrRow(key).active, known: held(key) !== undefined, inService: inService(key) }
    }
    expect(service('not added on the platform')).toEqual({ active: 't', known: false, inService: false })
    expect(service('out of service on the platform')).toEqual({ active: 't', known: true, inService: false })
    expect(service('left, and still in service on the platform')).toEqual({
      active: 'f',
      known: true,
      inService: true,
    })
    expect(service('left, and out of service on the platform')).toEqual({
      active: 'f',
      known: true,
      inService: false,
    })
    expect(service('enterprise that is not bound')).toEqual({ active: 't', known: false, inService: false })
  })
})

describe('departments', () => {
  const hoursClosed = (row: Row) => (Date.now() - Date.parse(row.closed_at ?? '')) / 3_600_000

  test('to be deleted are closed for longer than the grace period and empty, and stay under the breaker', () => {
    const used = new Set([...employees, ...seed.employees].map(departmentKey))
    const candidates = departments
      .filter(row => row.active === 'f' && hoursClosed(row) > GRACE_HOURS && !used.has(departmentKey(row)))
      .map(departmentKey)
    const planted = expected.department_cases.filter(each => each.outcome !== 'kept').map(departmentKey)
    expect(candidates.sort()).toEqual(planted.sort())
    expect(candidates).toHaveLength(expected.departments.candidates ?? 0)
    const open = departments.filter(row => row.active === 't').length
    expect(candidates.length).toBeLessThanOrEqual(Math.max(3, Math.floor(open * 0.05)))
  })

  test('that are closed are all accounted for', () => {
    const closed = departments.filter(row => row.active === 'f').map(departmentKey)
    expect(closed.sort()).toEqual(expected.department_cases.map(departmentKey).sort())
    expect(departments).toHaveLength(expected.departments.in_hr ?? 0)
  })
})

test('the dead letters expected are those of the cases', () => {
  const categories = [
    ...expected.employee_cases.flatMap(each => each.dead_letters.map(letter => letter.category)),
    ...expected.department_cases.flatMap(each => each.category ?? []),
  ]
  const counted = Object.fromEntries(
    [...new Set(categories)].map(category => [category, categories.filter(each => each === category).length]),
  )
  expect(expected.dead_letters).toEqual(counted)
})

test('the README names every trouble and every sum', async () => {
  const readme = await sampleFile('README.md')
  const troubles = expected.employee_cases.filter(each => each.outcome !== 'updated' || each.other_userid)
  for (const { userid, dead_letters, other_userid } of troubles) {
    const line = readme.split('\n').find(text => text.includes(`\`${userid}\``)) ?? ''
    expect(line).toContain(userid)
    if (other_userid) expect(line).toContain(`\`${other_userid}\``)
    for (const { category } of dead_letters) expect(line).toContain(`\`${category}\``)
  }
  for (const { dept_code, category } of expected.department_cases) {
    const line =
      readme.split('\n').find(text => text.startsWith('| `') && text.includes(`\`${dept_code}\``)) ?? ''
    expect(line).toContain(dept_code)
    if (category) expect(line).toContain(`\`${category}\``)
  }
  for (const sums of [expected.employees, expected.departments]) {
    for (const [name, sum] of Object.entries(sums).filter(([each]) => each !== 'in_hr')) {
      const labels: Record<string, string> = { dead_lettered: 'dead-lettered', in_sync: 'in sync' }
      const label = labels[name] ?? name.replaceAll('_', ' ')
      expect(readme).toMatch(new RegExp(`^\\| ${label} +\\| ${sum} +\\|`, 'm'))
    }
  }
})

test('generating again writes the same bytes', async () => {
  const folder = await temporaryFolder()
  const script = join(import.meta.dirname, '../../examples/hr/generate.ts')
  await promisify(execFile)(process.execPath, [script, folder])
  for (const name of ['data.sql', 'platform.json', 'expected.json']) {
    expect(await readFile(join(folder, name), 'utf8')).toBe(await sampleFile(name))
  }
})
