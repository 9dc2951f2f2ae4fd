import { describe, expect, test } from 'vitest'
import { type EmployeeKey, keyText } from '../../src/directory/employee.ts'
import { HrDataError, type HrSource, MappingError } from '../../src/hr/source.ts'
import { hrDatabase, hrSource } from './hr-database.ts'

const key = (userid: string, enterpriseCode = ''): EmployeeKey => ({ enterpriseCode, userid })

describe('inspect', () => {
  test('tells what is mapped, without reading a row', async () => {
    const database = await hrDatabase(`create table staff (id int, nick text, unit text);
      create table unit (code text, parent text, open boolean);
      insert into staff values (1, 'n', 'u');
      create function refuse() returns text language plpgsql as $$ begin raise exception 'a row was read'; end $$`)
    const departments = 'select code as dept_code, parent as parent_code, open as active from unit'
    const source = hrSource(
      database.url,
      'select refuse() as name, id as userid, unit as dept_code from staff',
      {
        departments,
      },
    )
    const inspection = await source.inspect()
    expect(inspection).toEqual({
      employees: {
        file: 'employees.sql',
        columns: ['enterprise_code', 'userid', 'name', 'dept_code'],
        fields: ['name', 'dept_code'],
      },
      departments: { file: 'departments.sql', columns: ['dept_code', 'parent_code', 'active'] },
      fingerprint: expect.stringMatching(/^[\w-]{16}$/),
    })
    expect(source.hasDepartments).toBe(true)
    const other = hrSource(database.url, 'select nick as name, id as userid, unit as dept_code from staff', {
      departments,
    })
    expect((await other.inspect()).fingerprint).not.toBe(inspection.fingerprint)
  })

  test.each([
    [
      'select id as userid,\n  nick as nmae,\n  id as userid from staff',
      'employees.sql: column "userid" occurs 2 times; unknown column "nmae"',
    ],
    [
      'select id as userid,\n  nikc as name from staff',
      'employees.sql: line 2: column "nikc" does not exist (42703)',
    ],
    [
      "select '甲𠮷',\n id userid\n frm staff",
      'employees.sql: line 3: syntax error at or near "frm" (42601)',
    ],
    [
      '-- x\nselect id as userid, nick as name\nfrom staf',
      'employees.sql: line 3: relation "staf" does not exist (42P01)',
    ],
    ['select id as userid, $1 as name from staff', 'employees.sql: line 1: there is no parameter $1 (42P02)'],
  ])('%j is a MappingError with its place', async (sql, message) => {
    const database = await hrDatabase('create table staff (id int, nick text)')
    const error = await hrSource(database.url, sql)
      .inspect()
      .catch(failure => failure)
    expect(error).toBeInstanceOf(MappingError)
    expect(error.message).toContain(message)
  })

  test('a text that is no single SELECT is refused at once', () => {
    expect(() => hrSource('postgres://nobody@127.0.0.1:1/none', 'select 1; select 2')).toThrow(MappingError)
  })

  test('departments without the employees’ department are refused', async () => {
    const database = await hrDatabase('')
    const departments = "select 'a' as dept_code, null as parent_code, true as active"
    const source = hrSource(database.url, "select 1 as userid, 'n' as name", { departments })
    await expect(source.inspect()).rejects.toThrow(
      'employees.sql: column dept_code is missing; departments.sql needs it',
    )
  })

  test('a mapping that was mended in the database works at the next question', async () => {
    const database = await hrDatabase('')
    const source = hrSource(database.url, 'select id as userid, nick as name from staff')
    await expect(source.lookup([key('1')])).rejects.toBeInstanceOf(MappingError)
    await database.pool.query("create table staff (id int, nick text); insert into staff values (1, 'n')")
    expect((await source.lookup([key('1')])).size).toBe(1)
    await database.pool.query('alter table staff alter id type text; alter table staff rename nick to other')
    await expect(source.lookup([key('1')])).rejects.toBeInstanceOf(MappingError)
    await database.pool.query('alter table staff rename other to nick')
    expect((await source.lookup([key('1')])).size).toBe(1)
  })
})

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

describe('lookup', () => {
  test.each([
    ['int', '7', ['x', '07', '99999999999999999999', '8']],
    ['bigint', '9007199254740993', ['9223372036854775808', '1.0', '']],
    ['numeric(10, 2)', '7.50', ['7.5', 'abc']],
    ['uuid', '7d793037-a076-4d6b-8f1e-3f9a2f2c5b5e', ['7D793037-A076-4D6B-8F1E-3F9A2F2C5B5E', 'nobody']],
    ['text', 'E 7', ['e 7', 'E\u00007', "E'7"]],
    ['varchar(20)', 'E7', ['E7 ']],
    ['char(8)', 'E7', ['e7']],
    ['date', '2024-01-31', ['31.01.2024']],
    ['name', 'E7', ['E8']],
  ])('finds a userid of type %s by its text, and no other', async (type, present, absent) => {
    const database = await hrDatabase(`create table staff (id ${type}, nick text)`)
    await database.pool.query(`insert into staff values ('${present}', 'n')`)
    const source = hrSource(database.url, 'select id as userid, nick as name from staff')
    const found = await source.lookup([present, ...absent].map(userid => key(userid)))
    expect([...found]).toEqual([[keyText(key(present)), { enterprise_code: '', userid: present, name: 'n' }]])
  })

  test('finds what has blanks around it, as a scan does', async () => {
    const database = await hrDatabase(`create table staff (id text, company text);
      insert into staff values (' 1 ', 'C1'), ('1', ' C2'), ('2', ''), ('3', null)`)
    const source = hrSource(
      database.url,
      'select id as userid, company as enterprise_code, id as name from staff',
    )
    const keys = [key('1', 'C1'), key('1', 'C2'), key('2'), key('3'), key('1', 'C3'), key('2', 'C1')]
    const found = await source.lookup(keys)
    expect([...found.keys()].sort()).toEqual(keys.slice(0, 4).map(keyText).sort())
  })

  test('a userid of many enterprises is found in each, and only where it was asked for', async () => {
    const database = await hrDatabase(`create table staff (id int, company int, nick text);
      insert into staff select i, c, c || '-' || i from generate_series(1, 20) i, generate_series(1, 5) c`)
    const source = hrSource(
      database.url,
      'select id as userid, company as enterprise_code, nick as name from staff',
    )
    const found = await source.lookup([key('1', '2'), key('2', '3'), key('1', 'x'), key('99', '1')])
    expect([...found.values()].map(row => row !== 'duplicate' && row.name).sort()).toEqual(['2-1', '3-2'])
  })

  test('finds rows without an enterprise under the default one', async () => {
    const database = await hrDatabase(
      "create table staff (id int, company text); insert into staff values (1, null), (2, 'C')",
    )
    const source = hrSource(
      database.url,
      'select id as userid, company as enterprise_code, id as name from staff',
      {
        defaultEnterpriseCode: 'D',
      },
    )
    const found = await source.lookup([key('1', 'D'), key('2', 'C'), key('1')])
    expect([...found.keys()]).toEqual([keyText(key('1', 'D')), keyText(key('2', 'C'))])
  })

  test('a key that HR has twice is told apart', async () => {
    const database = await hrDatabase(
      "create table staff (id text); insert into staff values ('1'), ('2'), ('2')",
    )
    const source = hrSource(database.url, 'select id as userid, id as name from staff')
    const found = await source.lookup([key('1'), key('2'), key('2')])
    expect(found.get(keyText(key('1')))).toMatchObject({ name: '1' })
    expect(found.get(keyText(key('2')))).toBe('duplicate')
  })

  test('asks by an index where there is one', async () => {
    const database =
      await hrDatabase(`create table staff (company text, id text, nick text, primary key (company, id));
      insert into staff select 'C1', g::text, 'n' from generate_series(1, 20000) g; analyze staff`)
    const source = hrSource(
      database.url,
      'select company as enterprise_code, id as userid, nick as name from staff',
    )
    await source.lookup([key('1', 'C1'), key('2', 'C1')])
    await source.close() // a backend reports what it read when it ends, at the latest
    await expect
      .poll(
        async () => {
          const { rows } = await database.pool.query<{ idx_scan: string }>(
            "select idx_scan from pg_stat_user_tables where relname = 'staff'",
          )
          return Number(rows[0]?.idx_scan)
        },
        { timeout: 10_000 },
      )
      .toBeGreaterThan(0)
  })

  test('no keys are no question', async () => {
    const source = hrSource('postgres://nobody@127.0.0.1:1/none', "select 1 as userid, 'n' as name")
    expect((await source.lookup([])).size).toBe(0)
  })
})

describe('departments', () => {
  const employees = 'select 1 as userid, null as dept_code'
  const departmentsOf = async (rows: string) => {
    const database = await hrDatabase('')
    const departments = `select * from (values ${rows}) d (enterprise_code, dept_code, parent_code, active, closed_at)`
    return hrSource(database.url, employees, { departments }).departments()
  }

  test('are read with their parents, states and moments of closing', async () => {
    expect(
      await departmentsOf(`('', ' A ', null, 't', null::timestamptz), ('', 'B', 'A', 'No', '2026-01-01 00:00:00.5+08'),
        ('C1', 'A', 'gone', null, null)`),
    ).toEqual([
      { enterpriseCode: '', deptCode: 'A', parentCode: null, active: true, closedAt: null },
      {
        enterpriseCode: '',
        deptCode: 'B',
        parentCode: 'A',
        active: false,
        closedAt: new Date('2025-12-31T16:00:00.500Z'),
      },
      { enterpriseCode: 'C1', deptCode: 'A', parentCode: 'gone', active: true, closedAt: null },
    ])
  })

  test.each([
    ["('', null, null, 't', null::date), ('', ' ', null, 't', null)", '2 rows have no dept_code'],
    ["('', 'A', null, 't', null::date), ('', 'A ', null, 't', null)", 'dept_code A occurs twice'],
    ["('', 'A', null, 'perhaps', null::date)", 'active of A is neither true nor false'],
    ["('', 'A', null, 'f', 'infinity'::date)", 'closed_at of A is not a date'],
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

  test('without a mapping there are none to be had', async () => {
    const database = await hrDatabase('')
    const source = hrSource(database.url, "select 1 as userid, 'n' as name")
    expect(source.hasDepartments).toBe(false)
    await expect(source.departments()).rejects.toMatchObject({ code: 'MAPPING_MISSING' })
    await expect(source.employeesByDepartment()).rejects.toBeInstanceOf(MappingError)
  })

  test('count their active employees', async () => {
    const database = await hrDatabase(`create table staff (id int, company text, unit text, works text);
      insert into staff values (1, 'C1', 'A', 't'), (2, 'C1', ' A', 'perhaps'), (3, 'C1', 'A', 'no'), (4, 'C2', 'A', null),
        (5, 'C1', null, 't'), (6, 'C1', 'B', 'f'), (7, 'C1', ' ', 't')`)
    const source = hrSource(
      database.url,
      'select id as userid, company as enterprise_code, unit as dept_code, works as active from staff',
    )
    const counts = await source.employeesByDepartment()
    expect(counts.sort((a, b) => a.enterpriseCode.localeCompare(b.enterpriseCode))).toEqual([
      { enterpriseCode: 'C1', deptCode: 'A', employees: 2 },
      { enterpriseCode: 'C2', deptCode: 'A', employees: 1 },
    ])
  })
})

test('of whom the enterprise is not known is looked for by the index alone once one enterprise has him', async () => {
  const database = await hrDatabase(`create table staff (id text primary key, unit text, nick text);
    insert into staff select 'e' || i, 'C' || i % 3, 'n' from generate_series(1, 20000) i; analyze staff`)
  const source = hrSource(
    database.url,
    'select unit as enterprise_code, id as userid, nick as name from staff',
  )
  const candidates = ['C0', 'C1', 'C2', 'C3'].flatMap(code => [key('e17', code), key('e40', code)])
  const found = await source.lookup(candidates, { anyEnterprise: true })
  expect([...found.keys()]).toEqual([key('e17', 'C2'), key('e40', 'C1')].map(keyText))
  // A connection tells what it has read when it ends, if not before.
  await source.close()
  const read = async () => {
    const { rows } = await database.pool.query(
      `select seq_tup_read::int as scanned, idx_tup_fetch::int as fetched from pg_stat_user_tables where relname = 'staff'`,
    )
    return rows[0]
  }
  await expect.poll(read, { timeout: 20_000 }).toMatchObject({ fetched: 2 })
  expect(await read()).toEqual({ scanned: 0, fetched: 2 })
})
