import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type EmployeeKey, keyText } from '../../src/directory/employee.ts'
import { hrServer } from '../../src/hr/servers.ts'
import { HrDataError, HrSource, MappingError } from '../../src/hr/source.ts'
import { inEnglish } from '../../src/texts/message.ts'
import { delivered } from './files/delivered.ts'
import { hrDatabase, hrSource, rowsOf } from './hr-database.ts'

/* What is the same for every kind of server, shown on PostgreSQL; what each kind has to do is in contract/. */

const key = (userid: string, enterpriseCode = ''): EmployeeKey => ({ enterpriseCode, userid })

describe('a mapping that has changed', () => {
  const ddl = `create table staff (id int, nick text, unit text); insert into staff values (1, 'n', 'u');
    create view mapped as select id as userid, nick as name from staff`
  const MORE =
    'create or replace view mapped as select id as userid, nick as name, unit as dept_code from staff'
  const columns = async (source: HrSource, mapping: string) =>
    Object.keys((await source.lookup([key('1')], { mapping })).get(keyText(key('1'))) ?? {}).slice(2)

  test('has another fingerprint, be it by its text, its columns or their types', async () => {
    const database = await hrDatabase(ddl)
    const source = hrSource(database.url, 'select * from mapped')
    const before = (await source.inspect()).fingerprint
    expect((await source.inspect()).fingerprint).toBe(before)
    await database.pool.query(MORE)
    const more = (await source.inspect()).fingerprint
    await database.pool.query(
      'drop view mapped; create view mapped as select id::bigint as userid, nick as name from staff',
    )
    const other = (await source.inspect()).fingerprint
    expect(new Set([before, more, other]).size).toBe(3)
    const scan = await source.scan({})
    await scan.close()
    expect(scan.mapping).toBe(other)
  })

  test('is taken over for the keys whose plan was made with it, and not before', async () => {
    const database = await hrDatabase(ddl)
    const [planner, worker] = [1, 2].map(() => hrSource(database.url, 'select * from mapped')) as [
      HrSource,
      HrSource,
    ]
    const before = (await planner.inspect()).fingerprint
    expect(await columns(worker, before)).toEqual(['name'])
    await database.pool.query(MORE)
    const after = (await planner.inspect()).fingerprint
    expect(await columns(worker, before)).toEqual(['name'])
    expect(await columns(planner, before)).toEqual(['name'])
    expect(await columns(worker, after)).toEqual(['name', 'dept_code'])
    expect(await columns(worker, before)).toEqual(['name'])
  })

  test('is looked at once, and not for every key, where this process cannot find it', async () => {
    const database = await hrDatabase(ddl)
    const source = hrSource(database.url, 'select * from mapped')
    await source.inspect()
    await database.pool.query(MORE)
    const questions = Array.from({ length: 20 }, () => columns(source, 'of another file'))
    expect(new Set((await Promise.all(questions)).map(String))).toEqual(new Set(['name,dept_code']))
    await database.pool.query(
      'drop view mapped; create view mapped as select id as userid, nick as name, unit as remark from staff',
    )
    await expect(columns(source, 'of another file')).rejects.toBeInstanceOf(MappingError)
    expect(await columns(source, 'of another file')).toEqual(['name', 'remark'])
  })
})

describe('departments', () => {
  const employees = 'select 1 as userid, null as dept_code'
  const departmentsOf = async (rows: string) => {
    const database = await hrDatabase('')
    const departments = `select * from (values ${rows}) d (enterprise_code, dept_code, parent_code, active, closed_at)`
    return hrSource(database.url, employees, { departments }).departments()
  }

  test.each([
    ["('', null, null, 't', null::date), ('', ' ', null, 't', null)", 'rows without dept_code: 2'],
    ["('', 'A', null, 't', null::date), ('', 'A ', null, 't', null)", 'dept_code A occurs twice'],
    ["('', 'A', null, 'perhaps', null::date)", 'active of A is neither true nor false'],
    ["('', 'A', null, 'f', '290000-01-01'::date)", 'closed_at of A is not a date'],
    ["('', 'A', 'A', 't', null::date)", "departments are each other's parents: A → A"],
    [
      "('', 'X', 'B', 't', null::date), ('', 'A', 'B', 't', null), ('', 'B', 'C', 't', null), ('', 'C', 'A', 't', null)",
      "departments are each other's parents: B → C → A → B",
    ],
    [`('', repeat('d', 51), null, 't', null::date)`, 'has more than 50 characters'],
  ])('%j is an HrDataError', async (rows, message) => {
    const failure = departmentsOf(rows)
    await expect(failure).rejects.toBeInstanceOf(HrDataError)
    await expect(failure).rejects.toThrow(message)
  })

  test.each(['date', 'timestamp', 'timestamptz'])(
    'that are closed at a %s of infinity are closed at none',
    async type => {
      const { departments } = await departmentsOf(
        `('', 'A', null, 't', 'infinity'::${type}), ('', 'B', null, 'f', '-infinity'), ('', 'C', null, 'f', '2026-01-01 08:00+08')`,
      )
      expect(departments.map(({ closedAt }) => closedAt?.getUTCFullYear() ?? null)).toEqual([
        null,
        null,
        expect.any(Number),
      ])
    },
  )

  test('without a mapping there are none to be had', async () => {
    const database = await hrDatabase('')
    const source = hrSource(database.url, "select 1 as userid, 'n' as name")
    expect(source.hasDepartments).toBe(false)
    await expect(source.departments()).rejects.toMatchObject({ code: 'MAPPING_MISSING' })
  })

  test('whose mapping breaks keep nobody from reading employees, and are read again once it is mended', async () => {
    const database = await hrDatabase(`
      create table staff (id int, nick text, unit text); insert into staff values (1, 'n', 'A');
      create table units (code text, title text); insert into units values ('A', 'Sales')`)
    const source = hrSource(database.url, 'select id as userid, nick as name, unit as dept_code from staff', {
      departments: "select code as dept_code, null as parent_code, 't' as active, title as name from units",
    })
    const wanted = [{ enterpriseCode: '', deptCode: 'A' }]
    const refused = { code: 'MAPPING_SQL', file: 'departments.sql' }
    await database.pool.query('alter table units rename column code to key')

    expect(await source.inspect()).toMatchObject({
      employees: { file: 'employees.sql' },
      departments: refused,
    })
    expect(await rowsOf(await source.scan({}))).toMatchObject([{ userid: '1' }])
    expect((await source.lookup([key('1')])).size).toBe(1)
    await expect(source.departments()).rejects.toMatchObject(refused)
    await expect(source.departmentNames(wanted, 10_000)).rejects.toMatchObject(refused)
    await expect(source.searchDepartments('s', { limit: 1, timeoutMs: 10_000 })).rejects.toMatchObject(
      refused,
    )

    await database.pool.query('alter table units rename column key to code')
    expect((await source.departmentNames(wanted, 10_000)).size).toBe(1)
    expect(await source.departments()).toMatchObject({
      departments: [{ deptCode: 'A' }],
      employees: [{ deptCode: 'A', employees: 1 }],
    })
  })

  test('whose file or whose column of employees is missing keep nobody from reading employees', async () => {
    const database = await hrDatabase('')
    const lacking = hrSource(database.url, "select 1 as userid, 'n' as name", {
      departments: "select 'A' as dept_code, null as parent_code, 't' as active",
    })
    const { deliver, folder, settings } = await delivered()
    await deliver('staff.csv', 'id,unit\n1,A\n')
    const employees = 'select id as userid, unit as dept_code from staff'
    const unreadable = new HrSource({
      server: hrServer(`files:${folder}`, pino({ level: 'silent' }), settings),
      employeesSql: { file: 'employees.sql', sql: employees },
      departmentsSql: { file: 'departments.sql', sql: 'select 1 as dept_code' },
      reread: async file => {
        if (file === 'employees.sql') return employees
        throw Object.assign(new Error('gone'), { code: 'ENOENT' })
      },
      logger: pino({ level: 'silent' }),
    })
    onTestFinished(() => unreadable.close())
    const { problem, files } = (await unreadable.delivery()) ?? {}
    expect([problem, files && inEnglish(files)]).toEqual([null, 'staff.csv (1 row, UTF-8)'])
    for (const [source, refused] of [
      [lacking, { code: 'MAPPING_COLUMNS', file: 'employees.sql' }],
      [unreadable, { code: 'MAPPING_FILE', file: 'departments.sql' }],
    ] as const) {
      expect(await source.inspect()).toMatchObject({ departments: refused })
      expect(await rowsOf(await source.scan({}))).toHaveLength(1)
      expect((await source.lookup([key('1')])).size).toBe(1)
      await expect(source.departments()).rejects.toMatchObject(refused)
    }
  })
})
