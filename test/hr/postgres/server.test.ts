import { expect, test } from 'vitest'
import { toDesired } from '../../../src/directory/desired.ts'
import { type EmployeeKey, keyText } from '../../../src/directory/employee.ts'
import { hrDatabase, hrSource, rowsOf } from '../hr-database.ts'

/* What only PostgreSQL has, besides what contract.test.ts shows. */

const key = (userid: string, enterpriseCode = ''): EmployeeKey => ({ enterpriseCode, userid })

test('prints its own types as canonical text', async () => {
  const database = await hrDatabase(`
    create type grade as enum ('P1', 'P2');
    create table staff (id char(6), company text, works boolean, changed timestamptz, label varchar(50), sex smallint,
      born timestamp, joined timestamptz, groups text[], grade grade, cost numeric(12, 2), more jsonb, note text);
    insert into staff values
      ('  7', ' C1 ', true, '2026-01-02 03:04:05.5+00', E'tab\\there\\\\', 1, '1990-05-17 23:59',
        '2020-01-31 17:00+00', '{b,a}', 'P2', 12.00, '{"k": "v"}', E'line\\nline'),
      ('8', null, false, null, null, null, null, null, '{}', null, null, null, '');`)
  const source = hrSource(
    database.url,
    `select more as employee_attribute, cost as cost_center_id, grade as level, groups as category, born as birth_day,
      joined as entry_day, sex as gender, label as name, note as remark, changed as updated_at, works as active,
      id as userid, company as enterprise_code from staff order by id; -- that is all`,
  )
  const scan = await source.scan({})
  expect(scan.columns).toEqual([
    'enterprise_code',
    'userid',
    'active',
    'updated_at',
    'name',
    'gender',
    'remark',
    'level',
    'category',
    'birth_day',
    'entry_day',
    'cost_center_id',
    'employee_attribute',
  ])
  const rows = await rowsOf(scan)
  expect(rows).toEqual([
    {
      enterprise_code: 'C1',
      userid: '7',
      active: 't',
      updated_at: '2026-01-02 11:04:05.5+08',
      name: 'tab\there\\',
      gender: '1',
      remark: 'line\nline',
      level: 'P2',
      category: 'b,a',
      birth_day: '1990-05-17',
      entry_day: '2020-02-01',
      cost_center_id: '12',
      employee_attribute: '{"k": "v"}',
    },
    {
      enterprise_code: '',
      userid: '8',
      active: 'f',
      updated_at: null,
      name: null,
      gender: null,
      remark: '',
      level: null,
      category: '',
      birth_day: null,
      entry_day: null,
      cost_center_id: null,
      employee_attribute: null,
    },
  ])
  for (const row of rows) expect(toDesired(row, scan.columns).ok).toBe(true)
  const found = await source.lookup([
    { enterpriseCode: 'C1', userid: '7' },
    { enterpriseCode: '', userid: '8' },
  ])
  expect([
    found.get(keyText({ enterpriseCode: 'C1', userid: '7' })),
    found.get(keyText({ enterpriseCode: '', userid: '8' })),
  ]).toEqual(rows)
})

test.each([
  ['smallint', '7', ['x', '07', '32768', '8']],
  ['int', '7', ['x', '07', '2147483648', '8']],
  ['numeric(10, 2)', '7.50', ['7.5', 'abc']],
  ['uuid', '7d793037-a076-4d6b-8f1e-3f9a2f2c5b5e', ['7D793037-A076-4D6B-8F1E-3F9A2F2C5B5E', 'nobody']],
  ['char(8)', 'E7', ['e7']],
  ['name', 'E7', ['E8']],
])('looks up a user id of type %s by its text, and no other', async (type, present, absent) => {
  const database = await hrDatabase(`create table staff (id ${type}, nick text)`)
  await database.pool.query(`insert into staff values ('${present}', 'n')`)
  const source = hrSource(database.url, 'select id as userid, nick as name from staff')
  const found = await source.lookup([present, ...absent].map(userid => key(userid)))
  expect([...found]).toEqual([[keyText(key(present)), { enterprise_code: '', userid: present, name: 'n' }]])
})

test('is one read-only, repeatable-read transaction, without a time limit', async () => {
  const database = await hrDatabase('')
  await database.pool.query(`alter database ${database.name} set datestyle = 'German, DMY'`)
  await database.pool.query(`alter database ${database.name} set statement_timeout = 1000`)
  const source = hrSource(
    database.url,
    `select 1 as userid, current_setting('transaction_isolation') as name, current_setting('transaction_read_only')
     as remark, current_setting('statement_timeout') as dept_code, date '2024-02-29' as entry_day`,
  )
  expect(await rowsOf(await source.scan({}))).toMatchObject([
    { name: 'repeatable read', remark: 'on', dept_code: '0', entry_day: '2024-02-29' },
  ])
})

test('says nothing of a value that a function takes for a query or a name', async () => {
  const database = await hrDatabase(
    `create table staff (id int, nick text); insert into staff values (1, 'secret 7')`,
  )
  for (const expression of [
    'to_tsquery(nick)::text',
    'nick::jsonpath::text',
    'current_setting(nick)',
    'nick::regtype::text',
  ]) {
    const source = hrSource(database.url, `select id as userid, ${expression} as name from staff`)
    const scan = await source.scan({})
    const failure = await rowsOf(scan).catch(error => error)
    expect(failure).toMatchObject({
      code: 'HR_DATA',
      message: expect.stringContaining('failed on a value in HR (SQLSTATE 42'),
    })
    expect(`${failure.message} ${failure.cause}`).not.toContain('secret')
  }
})
