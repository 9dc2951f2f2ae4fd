// @module-tag mariadb

import { buffer } from 'node:stream/consumers'
import type { RowDataPacket } from 'mysql2'
import { expect, onTestFinished, test } from 'vitest'
import { keyText } from '../../../src/directory/employee.ts'
import { parseActive } from '../../../src/directory/field-rules.ts'
import { HrDataError } from '../../../src/hr/source.ts'
import { createMariadbDatabase } from '../../helpers/mariadb.ts'
import { FORGET_ROWS_READ, isMysql, rowsRead } from '../../helpers/mariadb-server.ts'
import { failureOf, key } from '../contract/source-under-test.ts'
import { hrSource, rowsOf } from '../hr-database.ts'

/** A database with tables that goes away with the test. */
async function hr(ddl: string) {
  const database = await createMariadbDatabase()
  onTestFinished(() => database.close())
  // As old schemas were made: with zero dates, and whatever fits somehow.
  await database.admin.query(`set sql_mode = 'ALLOW_INVALID_DATES', time_zone = '+00:00'; ${ddl}`)
  return database
}

/** A column's values as a scan prints them, mapped to a column. */
async function printed(type: string, values: string[], column: string) {
  const { url } = await hr(`
    create table t (place int, v ${type});
    insert into t values ${values.map((value, i) => `(${i}, ${value})`).join(', ')}`)
  const other = column === 'name' ? '' : ", 'n' as name"
  const source = hrSource(url, `select place as userid, v as ${column}${other} from t order by place`)
  return (await rowsOf(await source.scan({}))).map(row => row[column])
}

test.each([
  ['set("b", "a", "")', ["'a,b'", "''", 'null'], 'category', ['b,a', '', null]],
  ['enum("P1", "P2")', ["'P2'", 'null'], 'level', ['P2', null]],
  ['int(5) unsigned zerofill', ['42', '123456'], 'remark', ['00042', '123456']],
  ['tinyint(1)', ['1', '0', '2', '-1', 'null'], 'active', ['t', 'f', '2', '-1', null]],
  ['tinyint(1)', ['1', '0'], 'remark', ['1', '0']],
  ['tinyint', ['1', '0'], 'active', ['1', '0']],
  ['bit(1)', ["b'1'", "b'0'"], 'active', ['t', 'f']],
  ['bit(1)', ["b'1'", "b'0'"], 'remark', ['1', '0']],
  ['bit(64)', ["b'1'", '~0'], 'remark', ['1', '18446744073709551615']],
  ['year', ['2024'], 'remark', ['2024']],
  ['time(6)', ["'-838:59:59'", "'08:00:00.250000'"], 'remark', ['-838:59:59', '08:00:00.25']],
  [
    'float',
    ['0.1', '1234567', '16777216', '-1.5', '3.4e38'],
    'remark',
    ['0.1', '1234567', '16777216', '-1.5', '3.4e+38'],
  ],
  ['double(10, 2)', ['12.50'], 'remark', ['12.5']],
  ['date', ["'0000-00-00'", "'2024-02-30'", "'2024-00-00'"], 'entry_day', [null, '2024-02-30', '2024-00-00']],
  ['datetime(3)', ["'0000-00-00'", "'2024-02-29 23:59:59.999'"], 'birth_day', [null, '2024-02-29']],
  ['timestamp', ["'0000-00-00'", "'2024-02-29 16:00:00'"], 'birth_day', [null, '2024-03-01']],
  [
    'datetime',
    ["'0000-00-00'", "'2024-02-31'", "'2024-01-00'", "'2024-01-31'"],
    'updated_at',
    [null, null, null, '2024-01-31 00:00:00+08'],
  ],
  ['char(8) character set gbk', ["'姓名'", "'a  '"], 'name', ['姓名', 'a']],
  ['varchar(8) character set latin1', ["'Müller'"], 'name', ['Müller']],
  ['longtext character set utf8mb4', ["'👩‍👩‍👧 𠮷'"], 'remark', ['👩‍👩‍👧 𠮷']],
])('%s, %j as %s is %j', async (type, values, column, texts) => {
  expect(await printed(type, values, column)).toEqual(texts)
})

test('a birthday in seconds since 1970 is the day in China, as the guide has it', async () => {
  const midnights = ['1960-01-31T00:00+08:00', '1990-01-31T00:00+08:00', '1990-05-18T00:00+09:00']
  const { url } = await hr(`create table t (place int, born bigint);
    insert into t values ${midnights.map((at, i) => `(${i}, ${Date.parse(at) / 1000})`).join(', ')}`)
  const day = "date(timestampadd(second, born + 3600, '1970-01-01 08:00:00'))"
  const source = hrSource(url, `select place as userid, ${day} as birth_day from t order by place`)
  const days = (await rowsOf(await source.scan({}))).map(row => row.birth_day)
  expect(days).toEqual(midnights.map(at => at.slice(0, 10)))
})

test('a bit that was cast to a text is neither active nor left', async () => {
  const { url } = await hr("create table t (v bit(1)); insert into t values (b'0'), (b'1')")
  const source = hrSource(url, "select 1 as userid, cast(v as char) as active, 'n' as name from t")
  const read = (await rowsOf(await source.scan({}))).map(({ active }) => parseActive(active))
  expect(read).toEqual([undefined, undefined])
})

test('half a character is the same to a scan and to a look-up, and in no user id', async ({ skip }) => {
  skip(isMysql)
  const { url } = await hr(`
    create table t (id varchar(9), v varchar(9));
    insert into t values ('1', _utf8mb4 x'416e6eeda0bd'), (_utf8mb4 x'eda0bd', 'n')`)
  const source = hrSource(url, 'select id as userid, v as name from t order by v')
  const lines = await buffer((await source.scan({})).stream)
  expect(lines.toString('latin1')).toBe(
    Buffer.from('\t1\tAnn\ufffd\ufffd\ufffd\n\t\\N\tn\n').toString('latin1'),
  )
  const found = await source.lookup([key('1')])
  expect(found.get(keyText(key('1')))).toMatchObject({ name: 'Ann\ufffd\ufffd\ufffd' })
})

test('a uuid prints as it is', async ({ skip }) => {
  skip(isMysql)
  const uuid = '7d793037-a076-4d6b-8f1e-3f9a2f2c5b5e'
  expect(await printed('uuid', [`'${uuid}'`], 'remark')).toEqual([uuid])
})

test.each(['binary(4)', 'varbinary(4)', 'blob', 'point'])('%s is refused', async type => {
  const { url } = await hr(`create table t (id int, v ${type})`)
  await expect(hrSource(url, 'select id as userid, v as name from t').inspect()).rejects.toThrow(
    /employees\.sql:1:27: column name cannot be of type \w+ \(make it a single plain value\)/,
  )
})

test('a zero date closes no department', async () => {
  const { url } = await hr(`create table d (code int, closed datetime);
    insert into d values (1, '0000-00-00'), (2, '2026-01-01 08:00:00.4')`)
  const source = hrSource(url, 'select 1 as userid, 1 as dept_code', {
    departments: 'select code as dept_code, null as parent_code, 1 as active, closed as closed_at from d',
  })
  const closed = (await source.departments()).departments.map(
    ({ closedAt }) => closedAt?.toISOString() ?? null,
  )
  expect(closed).toEqual([null, '2026-01-01T00:00:00.000Z'])
})

test.each([
  ['int(6) unsigned zerofill', '42', '1000042'],
  ['decimal(8, 2)', '1.50', '2'],
  ['decimal(8, 2) unsigned zerofill', '1.50', '2'],
  ['float', '0.1', '16777216'],
  ['double zerofill', '0.1', '7'],
  ['bit(8)', "b'1'", "b'11'"],
  ['year', '2024', '2025'],
  ['enum("b", "a")', "'a'", "'b'"],
  ['date', "'2024-01-31'", "'2024-02-01'"],
  ['time(3)', "'08:00:00.250'", "'09:00:00'"],
  ['datetime(3)', "'2024-01-31 08:00:00.250'", "'2024-02-01'"],
  ['timestamp', "'2024-01-31 08:00:00'", "'2024-02-01'"],
  ['char(8) character set gbk', "'甲'", "'a'"],
  ['text', "'Ä'", "'a'"],
])(
  'employees are counted by a department of %s, under the code as it is printed',
  async (type, one, other) => {
    const { url } = await hr(`
    create table t (id int, v ${type}, works tinyint(1) zerofill);
    insert into t values (1, ${one}, 1), (2, ${other}, 1), (3, ${other}, 1), (4, ${other}, 0)`)
    const source = hrSource(url, 'select id as userid, v as dept_code, works as active from t', {
      departments: 'select v as dept_code, null as parent_code, 1 as active from t where id < 3',
    })
    const { departments, employees } = await source.departments()
    const printed = departments.map(({ deptCode }) => deptCode).sort()
    const counts = new Map(employees.map(({ deptCode, employees }) => [deptCode, employees]))
    expect([...counts.keys()].sort()).toEqual(printed)
    expect([...counts.values()].sort()).toEqual([1, 2])
  },
)

test.each(['utf8mb4', 'latin1', 'gbk'])(
  'keys of %s are found by the index, odd ones among them',
  async charset => {
    const { url, admin, name } = await hr(`
    create table person (id varchar(20) character set ${charset} primary key, nick text);
    insert into person select concat('e', seq), 'n' from seq_1_to_20000;
    analyze table person; ${FORGET_ROWS_READ}`)
    const key = (userid: string) => ({ enterpriseCode: '', userid })
    const source = hrSource(url, 'select id as userid, nick as name from person')
    const present = ['e7', 'e19999'].map(key)
    const texts = present.map(keyText).sort()
    expect([...(await source.lookup(present)).keys()].sort()).toEqual(texts)
    const [rows] = await admin.query<RowDataPacket[]>(rowsRead(name, 'person'))
    // Those of filling it are counted as changes.
    expect(Number(rows[0]?.count_read)).toBeLessThan(10)
    expect(
      [...(await source.lookup([...present, ...['姓名', '👩‍👩‍👧', 'é'].map(key)])).keys()].sort(),
    ).toEqual(texts)
  },
)

test('words of a function in HR are not passed on, whatever state it raises', async () => {
  const { url } = await hr(`
    create table person (id int, salary text);
    insert into person values (1, 'secret-7');
    create function checked(salary text) returns text deterministic
    begin
      signal sqlstate '42000' set message_text = 'secret-7 is too much';
      return salary;
    end`)
  const source = hrSource(url, 'select id as userid, checked(salary) as name from person')
  const error = await failureOf(await source.scan({}))
  expect(error).toBeInstanceOf(HrDataError)
  expect(String(error)).toBe(
    'HrDataError: employees.sql: the query failed on a value in HR (SQLSTATE 42000, error 1644); make its casts and arithmetic accept every row (`dirsync hr check` tells which does not)',
  )
})

test('a view whose definer is gone is not called a refused login', async () => {
  const { url, name, admin } = await hr('create table person (id int, nick text)')
  await admin.query(`create user ${name}_definer; grant select on ${name}.* to ${name}_definer;
    create definer = ${name}_definer sql security definer view staff as select * from person;
    drop user ${name}_definer;
    create user ${name}_reader identified by 'reader'; grant select on ${name}.* to ${name}_reader`)
  onTestFinished(() => void admin.query(`drop user ${name}_reader`))
  const source = hrSource(
    url.replace('root', `${name}_reader:reader`),
    'select id as userid, nick as name from staff',
  )
  await expect(source.inspect()).rejects.toMatchObject({
    code: 'MAPPING_SQL',
    message: expect.stringMatching(isMysql ? /error 1449/ : /Access denied .*error 1045.*definer of a view/),
  })
})

test('a type that a cast cannot have is a mistake in the SELECT, not a value', async () => {
  const { url } = await hr('create table person (id int, nick text)')
  const source = hrSource(url, 'select id as userid, cast(nick as nothing) as name from person')
  await expect(source.inspect()).rejects.toMatchObject({ code: 'MAPPING_SQL' })
})

test.each([
  ['select id as userid,\n  nick as name\nfrom person\nwhere nik > 1', 4, 7],
  ['select id as userid, nick as name from persons', 1, 40],
  ['select id as userid, nick as name from person where id = `nik`', 1, 59],
  ['-- 甲\nselect id as userid, nick as name, from person', 2, 36],
  ['select id as userid, nick as name from person where', 1, 52],
])('%j: the mistake is at line %i, column %i', async (sql, line, column) => {
  const { url } = await hr('create table person (id int, nick text)')
  await expect(hrSource(url, sql).inspect()).rejects.toMatchObject({
    code: 'MAPPING_SQL',
    place: { line, column },
  })
})

test('a name that stands in several places has none', async () => {
  const { url } = await hr('create table person (id int, nick text)')
  const sql = 'select nik as userid, nick as name from person where nik > 1'
  await expect(hrSource(url, sql).inspect()).rejects.toMatchObject({ code: 'MAPPING_SQL', place: null })
})

test.each([
  ['varchar(40)', 'select s.id as userid, s.name from people s', '(`id`)'],
  ['text', 'select id as userid, name from people', '(`id`(64))'],
  ['int', 'select id as userid, name from people', '(`id`)'],
  ['varchar(40)', 'select distinct id as userid, name from people', '(`id`)'],
])('a look-up without an index names the one that it then uses: %s, %s', async (type, sql, columns) => {
  const { url, admin } = await hr(`
    create table staff (id ${type}, name varchar(40)); create view people as select * from staff;
    insert into staff select seq, 'n' from seq_1_to_20000; analyze table staff`)
  const source = hrSource(url, sql)
  const index = `create index dirsync_userid on \`staff\` ${columns}`
  const found = await source.lookupReadsWhole()
  expect(found).toMatchObject([{ table: '`staff`', index }])
  expect(found[0]?.rows).toBeGreaterThan(15_000)
  await admin.query(`${index}; analyze table staff`)
  expect(await source.lookupReadsWhole()).toEqual([])
})

test('a look-up by what is calculated names the table alone, and one of a few rows nothing', async () => {
  const { url } = await hr(`
    create table staff (id varchar(40) primary key, name varchar(40)); create table few like staff;
    insert into staff select seq, 'n' from seq_1_to_20000; insert into few values ('1', 'n');
    analyze table staff, few`)
  const told = (table: string) =>
    hrSource(url, `select concat('E', id) as userid, name from ${table}`).lookupReadsWhole()
  expect(await told('staff')).toMatchObject([{ table: '`staff`', index: null }])
  expect(await told('few')).toEqual([])
})

test('a uuid is looked up by its index', async ({ skip }) => {
  skip(isMysql)
  const { url, admin } = await hr(`
    create table staff (id uuid primary key, name varchar(40));
    insert into staff select concat('00000000-0000-0000-0000-', lpad(hex(seq), 12, '0')), 'n' from seq_1_to_20000;
    analyze table staff`)
  const source = hrSource(url, 'select id as userid, name from staff')
  const key = (userid: string) => ({ enterpriseCode: '', userid })
  const [found, other] = [
    key('00000000-0000-0000-0000-0000000000ff'),
    key('00000000-0000-0000-0000-0000000000FF'),
  ]
  const rowsRead = async () => {
    const [rows] = await admin.query<RowDataPacket[]>("show global status like 'Handler_read%next'")
    return rows.reduce((sum, row) => sum + Number(row.Value), 0)
  }
  await source.lookup([key('x')])
  const before = await rowsRead()
  expect([...(await source.lookup([found, other, key('E1')])).keys()]).toEqual([keyText(found)])
  expect((await rowsRead()) - before).toBeLessThan(5000)
  expect(await source.lookupReadsWhole()).toEqual([])
})
