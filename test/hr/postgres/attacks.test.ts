import { access, chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { keyText } from '../../../src/directory/employee.ts'
import { usable } from '../../../src/hr/source.ts'
import type { TestDatabase } from '../../helpers/postgres.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { errorOf, key, linesOf } from '../contract/source-under-test.ts'
import { hrDatabase, hrSource } from '../hr-database.ts'

/*
 * Attacks by a person who chooses the SELECT. HR's user is a superuser here, the worst case: whatever is refused is
 * refused by the way in which HR is read, and not for lack of rights.
 */

const never = new AbortController().signal
const TODAY = 'select id as userid, nick as name from staff'
const IDS = 'select id from staff order by id'

/** HR with a table, and with views and functions in which it hides what no mapping may call itself. */
function hr(): Promise<TestDatabase> {
  return hrDatabase(`
    create table staff (id text, nick text);
    insert into staff values ('e1', 'Ann'), ('e2', 'Ben');
    create view backslashes as select set_config('standard_conforming_strings', 'off', false) as was;
    create view characters as select set_config('client_encoding', 'GBK', false) as was;
    create view writable as select set_config('default_transaction_read_only', 'off', false) as was;
    create sequence numbers;
    create function noted(text) returns text language sql as 'select $1';
    create function known(text) returns text language sql stable as 'select $1';
    create function shown(staff) returns text language sql as 'select $1.nick';
    create function same(text, text) returns boolean language plpgsql as 'begin return $1 = $2; end';
    create operator === (leftarg = text, rightarg = text, function = same);
    create type badge as (n text);
    create function badge(text) returns badge language sql as 'select row($1)::badge';
    create cast (text as badge) with function badge(text);
    create function added(text, text) returns text language plpgsql as 'begin return $2; end';
    create aggregate gathered(text) (sfunc = added, stype = text);
    create function closed(text) returns text language plpgsql as 'begin return $1; end';
    create aggregate folded(text) (sfunc = textcat, stype = text, finalfunc = closed)`)
}

/** Reads a SELECT as a dry run does: looked at, and then read twice in one session. */
async function readTwice(database: TestDatabase, sql: string): Promise<string[]> {
  const source = hrSource(database.url, TODAY)
  await using snapshot = await source.snapshot(20_000)
  const mapping = await snapshot.inspect({ file: 'SELECT', sql })
  await linesOf(await snapshot.scan(mapping, never))
  return await linesOf(await snapshot.scan(mapping, never))
}

const TRICKS: [name: string, view: string, call: string, attack: string][] = [
  [
    'standard_conforming_strings',
    'backslashes',
    `set_config('standard_conforming_strings', 'off', false)`,
    `'x' <> '\\' || ') m) to stdout;`,
  ],
  [
    'client_encoding',
    'characters',
    `set_config('client_encoding', 'GBK', false)`,
    `'x' <> E'中\\') m) to stdout;`,
  ],
]

test.each(TRICKS)(
  'a SELECT that changes %s carries out no second statement',
  async (_, view, call, attack) => {
    const database = await hr()
    const folder = await temporaryFolder()
    await chmod(folder, 0o777) // the server's user may write there, if it can be made to
    const file = join(folder, 'left-behind')
    const payload = `commit; begin read write; insert into staff values ($$e9$$, $$Eve$$);
    copy staff to program $$cat > ${file}$$; commit; copy (select 1, 1, 1 from (select 1 --'`
    const sql = (tamper: string) => `select 'e1' as userid, ${tamper} as name where ${attack} ${payload}`

    expect(await errorOf(readTwice(database, sql(call)))).toMatchObject({
      code: 'MAPPING_SQL',
      place: { line: 1 },
      message: expect.stringContaining('it calls set_config(text,text,boolean), which can do more than read'),
    })
    // Hidden from the gate: it sets what it wants, and the next reading finds nothing of it.
    expect(await readTwice(database, sql(`(select was from ${view})`))).toHaveLength(1)

    expect((await database.pool.query(IDS)).rows).toEqual([{ id: 'e1' }, { id: 'e2' }])
    await expect(access(file)).rejects.toMatchObject({ code: 'ENOENT' })
  },
)

test('what a SELECT sets does not outlive it, neither in a session nor on the connections of look-ups', async () => {
  const database = await hr()
  const sql = `select id as userid, case when id = 'e1' then (select concat(b.was, c.was, w.was) from backslashes b, characters c, writable w)
      else concat_ws(' ', current_setting('standard_conforming_strings'), current_setting('client_encoding'),
                     current_setting('default_transaction_read_only')) end as name from staff`
  const source = hrSource(database.url, sql)
  await using snapshot = await source.snapshot(20_000)
  const mapping = await snapshot.inspect((await source.mappingFiles()).employees)
  for (const lookup of [source.lookup.bind(source), snapshot.lookup.bind(snapshot, mapping)]) {
    expect((await lookup([key('e1')])).get(keyText(key('e1')))).toMatchObject({ name: 'offGBKoff' })
    expect((await lookup([key('e2')])).get(keyText(key('e2')))).toMatchObject({ name: 'on UTF8 on' })
  }
})

test.each([
  `set_config('work_mem', '1GB', true)`,
  `pg_catalog . "set_config" ('work_mem', '1GB', true)`,
  `U&"\\0073et_config"('work_mem', '1GB', true)`,
  `set_config/* a comment */('work_mem', '1GB', true)`,
  `(select v from set_config('work_mem', '1GB', true) as v)`,
  `case when false then setval('numbers', 1)::text end`,
  `pg_sleep(60)::text`,
  `pg_advisory_lock(1)::text`,
  `pg_try_advisory_lock(1)::text`,
  `pg_terminate_backend(1)::text`,
  `pg_notify('dirsync_hr', '')::text`,
  `pg_read_file('/etc/passwd')`,
  `(select string_agg(f, ',') from pg_ls_dir('/') as f)`,
  `lo_import('/etc/passwd')::text`,
  `lo_export(1, '/tmp/x')::text`,
  `pg_reload_conf()::text`,
  `pg_logical_emit_message(false, 'x', 'y')::text`,
  `query_to_xml('select set_config(''work_mem'', ''1GB'', true)', true, false, '')::text`,
  `(select word from ts_stat('select to_tsvector(nick) from staff'))`,
  `(select max(noted(nick)) over (order by noted(id)) from staff limit 1)`,
  `noted(nick)`,
  `(staff).shown`,
  `case when nick === id then 'x' end`,
  `(cast(nick as badge)).n`,
  `(select gathered(nick) from staff)`,
  `(select folded(nick) over () from staff limit 1)`,
  `query_to_xml_and_xmlschema('drop table staff', true, false, '')::text`,
  `cursor_to_xml('c', 1, true, false, '')::text`,
  `table_to_xml('pg_authid', true, false, '')::text`,
  `table_to_xml_and_xmlschema('pg_hba_file_rules', true, false, '')::text`,
  `schema_to_xml('pg_catalog', true, false, '')::text`,
  `database_to_xml(true, false, '')::text`,
  `ts_rewrite('a & b'::tsquery, 'select ''a''::tsquery, ''b''::tsquery')::text`,
  `(select word from pg_catalog.ts_stat($$select ''::tsvector$$, 'a'))`,
  `lo_get(1)::text`,
  `(pg_stat_file('/etc/passwd')).size::text`,
  `pg_export_snapshot()`,
  `(select string_agg(v::text, ',') from rows from (generate_series(1, 2), pg_sleep(1)) as r (v, w))`,
  `(select string_agg(n, ',') from staff s, lateral pg_ls_dir(s.nick) as n)`,
  `(select nick from staff order by pg_advisory_lock(1)::text limit 1)`,
  `array(select pg_cancel_backend(id) from generate_series(1, 9) as id)::text`,
])('a mapping may not call what may do more than read: %s', async call => {
  const error = await errorOf(readTwice(await hr(), `select id as userid, ${call} as name from staff`))
  expect(error).toMatchObject({
    code: 'MAPPING_SQL',
    message: expect.stringMatching(/it calls .+ more than read; /),
  })
})

test('a call is seen wherever the server breaks the line that names it', async () => {
  const source = hrSource((await hr()).url, TODAY)
  await using snapshot = await source.snapshot(20_000)
  // Lines have 78 characters: a longer text moves what follows.
  for (let length = 0; length < 60; length += 1) {
    const sql = `select id as userid, coalesce('${'x'.repeat(length)}', pg_read_file('/etc/passwd')) as name from staff`
    expect(await errorOf(snapshot.inspect({ file: 'SELECT', sql })), sql).toMatchObject({
      code: 'MAPPING_SQL',
      message: expect.stringContaining('it calls pg_read_file'),
    })
  }
})

test.each([
  ['pg_hba_file_rules', 'select auth_method'],
  ['pg_authid', 'select rolpassword'],
  ['pg_largeobject', 'select data::text'],
  ['information_schema._pg_user_mappings', 'select umoptions::text'],
])('a mapping may not read what the server shows to superusers alone: %s', async (relation, select) => {
  const sql = `select id as userid, (${select} from ${relation} limit 1) as name from staff`
  expect(await errorOf(readTwice(await hr(), sql))).toMatchObject({
    code: 'MAPPING_SQL',
    place: { line: 1 },
    message: expect.stringContaining(`it reads ${relation}`),
  })
})

test.each([
  [
    'rows without end',
    `select g::text as userid, 'n' as name from generate_series(1, 9223372036854775806) g`,
  ],
  [
    'a recursion without end',
    `with recursive r (n) as (select 1 union all select n from r) select n::text as userid, 'n' as name from r`,
  ],
  [
    'a count that has no end',
    `select count(*)::text as userid, 'n' as name from generate_series(1, 9e18::bigint) g`,
  ],
  ['a value of 1 GB', `select id as userid, repeat(nick, 300000000) as name from staff`],
  ['a value in a value', `select id as userid, repeat(repeat(nick, 30000), 30000) as name from staff`],
  [
    'an expression without bottom',
    `select ${'('.repeat(50_000)}id${')'.repeat(50_000)} as userid, 'n' as name from staff`,
  ],
  [
    'a table in XML',
    `select id as userid, table_to_xml('staff', true, false, repeat('x', 3000000))::text as name from staff`,
  ],
])('what asks for more than there is ends as a refusal, and HR answers the next: %s', async (_, sql) => {
  const database = await hr()
  const source = hrSource(database.url, TODAY)
  const reading = async () => {
    await using snapshot = await source.snapshot(1000)
    const mapping = await snapshot.inspect({ file: 'SELECT', sql })
    return (await linesOf(await snapshot.scan(mapping, never))).length
  }
  expect(await errorOf(reading())).toMatchObject({ code: expect.stringMatching(/^(MAPPING|HR)_/) })
  expect(await linesOf(await source.scan({}))).toHaveLength(2)
})

test('every way of reading HR goes through the same gate', async () => {
  const { url } = await hr()
  const call = `set_config('work_mem', '1GB', true)`
  const source = hrSource(url, `select id as userid, ${call} as name, 'D' as dept_code from staff`, {
    departments: `select 'D' as dept_code, null as parent_code, true as active`,
  })
  const departments = hrSource(url, `select id as userid, nick as name, 'D' as dept_code from staff`, {
    departments: `select ${call} as dept_code, null as parent_code, true as active`,
  })
  const ways = [
    () => source.inspect(),
    () => source.scan({}),
    () => source.lookup([key('e1')]),
    () => source.changedSince(new Date()),
    () => departments.departments(),
    async () => usable((await departments.inspect()).departments),
  ]
  for (const way of ways)
    expect(await errorOf(way())).toMatchObject({
      code: 'MAPPING_SQL',
      message: expect.stringContaining('it calls set_config'),
    })
})

test.each([
  'random()::text',
  'gen_random_uuid()::text',
  'clock_timestamp()::text',
  'now()::text',
  `'staff'::regclass::text`,
  `to_char(current_date, 'YYYY')`,
  'known(nick)',
  '(select was from writable)',
  `(select string_agg(upper(nick), ',' order by id) from staff)`,
])('a mapping may call functions that only read, and those that HR declares read-only: %s', async call => {
  const lines = await readTwice(await hr(), `select id as userid, ${call} as name from staff`)
  expect(lines).toHaveLength(2)
})

test.each([
  `select id as userid, nick as name from staff for update`,
  `select id as userid, nick as name into other from staff`,
  `with u as (update pg_settings set setting = 'off' where name = 'row_security' returning *) select id as userid, nick as name from staff`,
  `select id as userid, (with d as (delete from staff returning id) select id from d) as name from staff`,
  `do $$ begin delete from staff; end $$`,
  `explain analyze select id as userid, nick as name from staff`,
  `with gone as (delete from staff returning *) select id as userid, nick as name from gone`,
  `select 1 as userid, 'n' as name) m; delete from staff; select * from (select 1 as userid, 'n' as name`,
])(
  'a statement that writes, locks or is not a single SELECT is refused by the server itself: %s',
  async sql => {
    const database = await hr()
    const server = hrSource(database.url, TODAY)
    await using snapshot = await server.snapshot(20_000)
    const error = await errorOf(
      snapshot
        .inspect({ file: 'SELECT', sql })
        .then(async mapping => linesOf(await snapshot.scan(mapping, never))),
    )
    expect(error).toMatchObject({ code: expect.stringMatching(/^MAPPING_(SQL|STATEMENT)$/) })
    expect((await database.pool.query(IDS)).rows).toHaveLength(2)
  },
)

test.each(['\u0085', '\u00a0', '\u2003', '\u200b', '\u2060', '\u3000', '\ufeff'])(
  'the server takes %j for a letter: no call of its own stands before it',
  async blank => {
    const sql = `select id as userid, pg_sleep${blank}(60)::text as name from staff`
    expect(await errorOf(readTwice(await hr(), sql))).toMatchObject({
      code: 'MAPPING_SQL',
      message: expect.stringContaining(`function pg_sleep${blank}(integer) does not exist`),
    })
  },
)
