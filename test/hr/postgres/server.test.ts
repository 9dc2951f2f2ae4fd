import { randomUUID } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { toDesired } from '../../../src/directory/desired.ts'
import { type EmployeeKey, keyText } from '../../../src/directory/employee.ts'
import { LOOKUP_MS } from '../../../src/hr/server.ts'
import { WAITING_FOR_A_LOCK } from '../../sync/store-under-test.ts'
import { errorOf } from '../contract/source-under-test.ts'
import { hrDatabase, hrSource, rowsOf } from '../hr-database.ts'

/* What only PostgreSQL has, besides what contract.test.ts shows. */

const key = (userid: string, enterpriseCode = ''): EmployeeKey => ({ enterpriseCode, userid })

test('a server before 13 is refused with its version, whatever is asked of it', async () => {
  const database = await hrDatabase(`
    create schema old;
    create function old.current_setting(name text) returns text language sql as $$
      select case name when 'server_version' then '12.22' when 'server_version_num' then '120022'
        else pg_catalog.current_setting(name) end $$`)
  const options = encodeURIComponent('-c search_path=old,pg_catalog,public')
  const source = hrSource(`${database.url}?options=${options}`, `select '1' as userid`)
  const refusal = { code: 'HR_UNAVAILABLE', message: expect.stringMatching(/PostgreSQL 12\.22\b.* 13 /) }
  await expect(source.inspect()).rejects.toMatchObject(refusal)
  await expect(source.scan({})).rejects.toMatchObject(refusal)
  await expect(source.lookup([key('1')])).rejects.toMatchObject(refusal)
  await expect(source.facts()).rejects.toMatchObject(refusal)
})

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

test('a mapping whose table is locked is given up as a look-up is', async () => {
  const { url, pool } = await hrDatabase(
    `create table staff (id text, nick text); insert into staff values ('1', 'n')`,
  )
  const source = hrSource(url, 'select id as userid, nick as name from staff')
  const waiting = async () => (await pool.query(WAITING_FOR_A_LOCK)).rowCount
  await using locks = await pool.connect().then(client => ({
    client,
    [Symbol.asyncDispose]: async () => {
      await client.query('rollback')
      client.release()
    },
  }))
  await locks.client.query('begin; lock table staff in access exclusive mode')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const error = errorOf(source.lookup([key('1')]))
  await expect.poll(waiting).toBe(1)
  vi.advanceTimersByTime(LOOKUP_MS)
  expect(await error).toMatchObject({ name: 'HrTooSlowError', code: 'HR_UNAVAILABLE' })
  vi.useRealTimers()
  // Its server stops waiting, too.
  await expect.poll(waiting).toBe(0)
  await locks.client.query('rollback')
  expect((await source.lookup([key('1')])).get(keyText(key('1')))).toMatchObject({ name: 'n' })
})

test('a moment before all others is none: its row is read whenever newer ones are', async () => {
  const database = await hrDatabase(`
    create table staff (id text, changed timestamptz, noted timestamp, day date);
    insert into staff values ('1', '-infinity', '-infinity', '-infinity'), ('2', 'infinity', 'infinity', 'infinity'),
      ('3', '2020-01-01', '2020-01-01', '2020-01-01')`)
  for (const column of ['changed', 'noted', 'day']) {
    const source = hrSource(
      database.url,
      `select id as userid, id as name, ${column} as updated_at from staff`,
    )
    const since = new Date('2026-01-01')
    const rows = await rowsOf(await source.scan({ since }))
    expect(rows.map(({ userid }) => userid).sort()).toEqual(['1', '2'])
    const changed = (await source.changedSince(since)) ?? []
    expect(changed.map(({ updatedAt }) => updatedAt.getTime())).toEqual([Number.NaN, Number.NaN])
  }
})

test('is one read-only, repeatable-read transaction, without a time limit', async () => {
  const database = await hrDatabase('')
  await database.pool.query(`alter database ${database.name} set datestyle = 'German, DMY'`)
  await database.pool.query(`alter database ${database.name} set statement_timeout = 1000`)
  await database.pool.query(`alter database ${database.name} set lock_timeout = 1000`)
  await database.pool.query(`alter database ${database.name} set transaction_timeout = 1000`)
  await database.pool.query(`alter database ${database.name} set idle_session_timeout = 1000`)
  const source = hrSource(
    database.url,
    `select 1 as userid, current_setting('transaction_isolation') as name, current_setting('transaction_read_only')
     as remark, current_setting('statement_timeout') as dept_code, current_setting('lock_timeout') as level,
     current_setting('transaction_timeout') as email, current_setting('idle_session_timeout') as cost_center_id,
     date '2024-02-29' as entry_day`,
  )
  expect(await rowsOf(await source.scan({}))).toMatchObject([
    {
      name: 'repeatable read',
      remark: 'on',
      dept_code: '0',
      level: '0',
      email: '0',
      cost_center_id: '0',
      entry_day: '2024-02-29',
    },
  ])
})

test('employees are counted in such a transaction', async () => {
  const { url } = await hrDatabase('')
  const source = hrSource(url, `select 1 as userid, current_setting('transaction_isolation') as dept_code`, {
    departments: "select 'A' as dept_code, null as parent_code, 't' as active",
  })
  expect((await source.departments()).employees).toMatchObject([{ deptCode: 'repeatable read' }])
})

test.each([
  ['citext', 'create extension citext'],
  [
    'text collate blind',
    "create collation blind (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
  ],
])('employees are counted by a department of %s, under the code as it is printed', async (type, ddl) => {
  const { url } = await hrDatabase(`${ddl};
    create table staff (id int, company ${type}, unit ${type}, works boolean);
    insert into staff values (1, 'C', 'D1', true), (2, 'C', 'D1', true), (3, 'C', 'd1', true), (4, 'c', 'D1', true),
      (5, 'C', 'D1', false)`)
  const source = hrSource(
    url,
    'select id as userid, company as enterprise_code, unit as dept_code, works as active from staff',
    { departments: "select 'D1' as dept_code, null as parent_code, 't' as active" },
  )
  const counts = (await source.departments()).employees.map(
    ({ enterpriseCode, deptCode, employees }) => `${enterpriseCode}/${deptCode}: ${employees}`,
  )
  expect(counts.sort()).toEqual(['C/D1: 2', 'C/d1: 1', 'c/D1: 1'])
})

test.each([
  ['40001', /a standby.* to catch up with its primary \(40001\); set hot_standby_feedback/],
  ['53300', /no free connection \(53300\); raise max_connections/],
  ['55P03', /a lock .* \(55P03\)/],
  ['25P04', /does not answer \(25P04\)/],
  ['72000', /does not answer \(72000\)/],
  ['HV00N', /cannot read a table \(HV00N\): it is damaged, or a foreign one whose server is away/],
  ['XX001', /cannot read a table \(XX001\): it is damaged/],
])(
  'a server that ends a SELECT with %s is not blamed on the mapping, and the error says what to do',
  async (state, said) => {
    const database = await hrDatabase(`
    create function ended() returns text language plpgsql as $$
      begin raise 'canceled' using errcode = '${state}'; end $$;
    create view staff as select '1' as id, ended() as nick`)
    const source = hrSource(database.url, 'select id as userid, nick as name from staff')
    const refusal = { code: 'HR_UNAVAILABLE', message: expect.stringMatching(said) }
    await expect(source.lookup([key('1')])).rejects.toMatchObject(refusal)
    await expect(rowsOf(await source.scan({}))).rejects.toMatchObject(refusal)
  },
)

test('a server without TLS is said to have none, also by a look-up', async () => {
  const database = await hrDatabase('')
  const source = hrSource(`${database.url}?sslmode=no-verify`, `select '1' as userid, 'n' as name`)
  const refusal = {
    code: 'HR_UNAVAILABLE',
    message: expect.stringContaining('cannot be reached with TLS: it offers none'),
  }
  await expect(source.inspect()).rejects.toMatchObject(refusal)
  await expect(source.lookup([key('1')])).rejects.toMatchObject(refusal)
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

describe('a user id whose case does not matter', () => {
  const people = (schema: string) => `
    create schema if not exists ${schema}; create extension citext schema ${schema};
    create table person (id ${schema}.citext primary key, name text);
    insert into person select 'E' || n, 'n' from generate_series(1, 20000) n;
    analyze person`
  const SQL = 'select id as userid, name from person'
  const keys = Array.from({ length: 50 }, (_, i) => key(`E${i * 100 + 1}`))

  test('is looked up by its index', async () => {
    const database = await hrDatabase(people('public'))
    const source = hrSource(database.url, SQL)
    expect((await source.lookup(keys)).size).toBe(50)
    await source.close()
    const read = async () => {
      const { rows } = await database.pool.query<{ read: number; index: boolean }>(
        `select seq_tup_read::int as read, idx_scan > 0 as index from pg_stat_user_tables where relname = 'person'`,
      )
      return rows[0]
    }
    // A backend reports what it has read when it ends, at the latest.
    await expect.poll(read).toEqual({ read: 0, index: true })
  })

  test('is found, and told from others as it is written, where its type is not on the path', async () => {
    const database = await hrDatabase(people('extensions'))
    const found = await hrSource(database.url, SQL).lookup([...keys, key('e1')])
    expect(found.size).toBe(50)
  })
})

test('doctor is told of which tables a policy may hide all rows', async () => {
  const role = `hr_reader_${randomUUID().replaceAll('-', '')}`
  const database = await hrDatabase(`
    create table person (id text, name text); create table unit (code text);
    alter table person enable row level security;
    create role ${role} login password 'reader'; grant select on person, unit to ${role}`)
  onTestFinished(async () => {
    await database.pool.query(`drop owned by ${role}; drop role ${role}`)
  })
  const url = new URL(database.url)
  ;[url.username, url.password] = [role, 'reader']
  const hidden = async (at: string) => (await hrSource(at, "select 1 as userid, 'n' as name").facts()).hidden
  expect(await hidden(url.href)).toEqual(['person'])
  expect(await hidden(database.url)).toEqual([])
})

describe('a look-up without an index', () => {
  const staff = (column: string) => `
    create table staff (id ${column}, company text, name text);
    insert into staff select n, 'C', 'n' from generate_series(1, 20000) n; analyze staff;
    create table unit (code text, title text); insert into unit values ('1', 'U')`

  test.each([
    ['text', 'select id as userid, name from staff', '(id)'],
    [
      'varchar(40)',
      'select s.id as userid, u.title as name from staff s left join unit u on u.code = s.name',
      '(id)',
    ],
    ['bigint', 'select id as userid, name from staff', '(id)'],
    ['bigint', 'select id::text as userid, name from staff', '(((id)::text))'],
    [
      'text',
      `select upper('E' || id) as userid, company as enterprise_code, name from staff`,
      `((upper(('E'::text || id))))`,
    ],
    ['text', 'select id as userid, company as enterprise_code, name from staff', '(id)'],
  ])('of %s names the index that it then uses: %s', async (type, sql, expression) => {
    const { url, pool } = await hrDatabase(staff(type))
    const source = hrSource(url, sql)
    const index = `create index on staff ${expression}`
    expect(await source.lookupReadsWhole()).toEqual([{ table: 'staff', rows: 20000, index }])
    await pool.query(index)
    expect(await source.lookupReadsWhole()).toEqual([])
  })

  test('is told of a table whose index cannot be told, and not of a small one', async () => {
    const { url, pool } =
      await hrDatabase(`${staff('text')}; create table part (id text, name text) partition by hash (id);
      create table part_0 partition of part for values with (modulus 2, remainder 0);
      create table part_1 partition of part for values with (modulus 2, remainder 1);
      insert into part select n, 'n' from generate_series(1, 20000) n; analyze part`)
    const told = (sql: string) => hrSource(url, sql).lookupReadsWhole()
    expect(
      await told('with s as materialized (select * from staff) select id as userid, name from s'),
    ).toEqual([{ table: 'staff', rows: 20000, index: null }])
    const ofCompany = 'select id as userid, company as enterprise_code, name from staff'
    expect(await told(ofCompany)).toHaveLength(1)
    await pool.query('create index on staff (company, id)')
    expect(await told(ofCompany)).toEqual([])
    expect(await told('select code as userid, title as name from unit')).toEqual([])
    expect(await told(`select 'P' || id as userid, name from part`)).toEqual([
      { table: 'part', rows: 20000, index: `create index on part (('P'::text || id))` },
    ])
  })
})

test('a look-up whose condition does not reach the server of a foreign table is told of it', async () => {
  const { url, name, pool } = await hrDatabase(`
    create table staff (id text primary key, name text, note text);
    insert into staff select n, 'n', null from generate_series(1, 10) n;
    create function local_id(id text) returns text language plpgsql immutable as $$ begin return 'E' || id; end $$;
    create extension postgres_fdw; create schema far`)
  const { username, password, hostname, port } = new URL(url)
  await pool.query(`
    create server far foreign data wrapper postgres_fdw
      options (host '${hostname}', port '${port}', dbname '${name}');
    create user mapping for current_user server far options (user '${username}', password '${password}');
    import foreign schema public limit to (staff) from server far into far`)
  const told = (sql: string) => hrSource(url, sql).lookupReadsWhole()
  expect(await told('select local_id(id) as userid, name from far.staff')).toEqual([
    { table: 'far.staff', rows: null, index: null },
  ])
  expect(await told('select id as userid, name from far.staff')).toEqual([])
  expect(await told(`select id as userid, name from far.staff where local_id(name) <> 'Ex'`)).toEqual([])
})

test('connections that are cut at any moment fail the look-ups in hand, and never the process', async () => {
  const database = await hrDatabase(`
    create table staff (id text primary key, label text);
    insert into staff select 'e' || n, 'x' from generate_series(1, 50) n`)
  const source = hrSource(database.url, 'select id as userid, label as name from staff')
  await source.lookup([key('e1')])
  let isOver = false
  let found = 0
  let failed = 0
  const lookUp = async () => {
    while (!isOver)
      await source.lookup([key('e1')]).then(
        () => {
          found += 1
        },
        () => {
          failed += 1
        },
      )
  }
  const working = Promise.all([lookUp(), lookUp(), lookUp(), lookUp()])
  // Between two statements nothing waits for an answer: there the end of a connection is an event.
  for (let time = 0; time < 150 || found === 0 || failed === 0; time += 1)
    await database.pool.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and pid <> pg_backend_pid() and application_name like 'dirsync%'`,
    )
  isOver = true
  await working
  expect((await source.lookup([key('e2')])).size).toBe(1)
})
