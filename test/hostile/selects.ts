import { chmod, readdir } from 'node:fs/promises'
import fc from 'fast-check'
import { isOfHr } from '../../src/hr/errors.ts'
import type { HrSource } from '../../src/hr/source.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { openHrSource } from '../hr/hr-database.ts'
import { type Kind, must } from './kind.ts'
import { text } from './texts.ts'

/*
 * SELECTs that a person pastes who wants more than to read, on a real PostgreSQL whose user may do everything. Whatever they say, the
 * database, its server's files and its sessions stay as they are, and the answer is rows or a failure that names the mapping.
 */

const TODAY = 'select id as userid, nick as name from staff'
/** Longest time of each statement. */
const TIMEOUT_MS = 2000
/** Stands for a file that the server may write. */
const FILE = '/FILE'

const WRITES = [
  'delete from staff',
  'truncate staff',
  'drop table staff',
  'drop schema public cascade',
  "update staff set nick = 'Eve'",
  "insert into staff values ('e9', 'Eve')",
  'create table left_behind ()',
  'create temp table staff (id text, nick text)',
  'create role hostile_role superuser',
  `copy staff to '${FILE}'`,
  `copy staff to program 'touch ${FILE}'`,
  `copy staff from program 'touch ${FILE}; echo x'`,
  `select lo_export(lo_from_bytea(0, 'x'), '${FILE}')`,
  'select lo_create(4711)',
  "select nextval('numbers')",
  "select setval('numbers', 99)",
  'select pg_advisory_lock(4711)',
  'commit; begin read write; delete from staff; commit',
  'rollback; set default_transaction_read_only = off; delete from staff',
  'do $$ begin delete from staff; end $$',
  'do $x$ begin perform lo_create(4711); end $x$',
  'set session characteristics as transaction read write',
  "set session default_transaction_read_only = 'off'",
  "alter role current_user set search_path = 'evil'",
  'alter sequence numbers restart with 42',
  'create extension dblink',
  'prepare transaction $$x$$',
  'listen x',
  'vacuum full staff',
  'call writer()',
]

const CALLS = [
  "nextval('numbers')::text",
  "setval('numbers', 42)::text",
  'writes()',
  'staff.writes',
  "set_config('default_transaction_read_only', 'off', false)",
  "set_config('transaction_read_only', 'off', true)",
  "set_config('search_path', 'evil', false)",
  "pg_read_file('/etc/hostname')",
  "pg_ls_dir('/')",
  "lo_import('/etc/hostname')::text",
  `lo_export(1, '${FILE}')::text`,
  'lo_create(4711)::text',
  "lo_from_bytea(4711, 'x')::text",
  "lo_put(1, 0, 'x')::text",
  'lo_unlink(1)::text',
  'pg_advisory_lock(4711)::text',
  'pg_try_advisory_lock_shared(4711)::text',
  "pg_notify('x', 'y')::text",
  'pg_sleep(60)::text',
  'pg_terminate_backend(1)::text',
  "dblink_exec('dbname=postgres', 'drop table x')",
  "query_to_xml('delete from staff', true, false, '')::text",
  "cursor_to_xml('c', 1, true, false, '')::text",
  "table_to_xml('staff', true, false, '')::text",
  "ts_stat('delete from staff')::text",
  "pg_logical_emit_message(false, 'x', 'y')::text",
  'pg_switch_wal()::text',
  'txid_current()::text',
  'pg_current_xact_id()::text',
  "pg_create_logical_replication_slot('hostile_slot', 'pgoutput')::text",
  'pg_stat_reset()::text',
  'pg_export_snapshot()',
  "currval('numbers')::text",
  'has_been()',
]

const PLAIN = [
  'id',
  'nick',
  "'x'",
  '1',
  'null',
  'id || nick',
  '(select max(nick) from staff)',
  'now()::text',
  'staff',
  '*',
  'hidden.was',
]

/** The same name or call, written otherwise. */
const DISGUISES: ((written: string) => string)[] = [
  written => written,
  written => written.toUpperCase(),
  written => written.replace('(', '/* ( */('),
  written => written.replace('(', ' -- (\n('),
  written => written.replace(/^(\w+)\(/, (_, name) => `pg_catalog."${name}"(`),
  written => written.replace(/^(\w)(\w*)\(/, (_, first, rest) => `U&"\\${hex(first, 4)}${rest}"(`),
  written =>
    written.replace(/^(\w)(\w*)\(/, (_, first, rest) => `U&"!+${hex(first, 6)}${rest}" UESCAPE '!'(`),
  written => `(${written})`,
  written => `case when true then ${written} end`,
  written => `(select ${written})`,
  written => `(select v from (values (${written})) as t (v))`,
  written => `(with w as materialized (select ${written} as v) select v::text from w)`,
  written => `coalesce(null, ${written})`,
  written => `array(select ${written})::text`,
  written => `(select ${written} from staff order by ${written} limit 1)`,
]
const hex = (character: string, digits: number) =>
  (character.codePointAt(0) ?? 0).toString(16).padStart(digits, '0')

const call = fc
  .tuple(fc.constantFrom(...CALLS), fc.constantFrom(...DISGUISES))
  .map(([written, disguise]) => disguise(written))
const expression = fc.oneof(
  { weight: 5, arbitrary: call },
  { weight: 6, arbitrary: fc.constantFrom(...PLAIN) },
)
const write = fc.constantFrom(...WRITES)

/** What may open or end a text, a name, a comment or a statement. */
const SOUP = [
  ...[
    "'",
    "''",
    '"',
    '""',
    '$$',
    '$x$',
    '$1',
    "E'",
    "e'\\'",
    "U&'\\0027",
    "B'",
    "N'",
    "'\n'",
    '\\',
    '\\\\',
    '/*',
    '*/',
    '/*/*',
    '--',
    '--\n',
  ],
  ...[
    '\r',
    '\n',
    '\f',
    '\u00a0',
    '\u2028',
    '\ufeff',
    '\0',
    ';',
    ';;',
    '(',
    ')',
    ') m',
    ') m;',
    ',',
    '::',
    ':',
    '%',
    '\\.',
    '\\copy',
    '\\!',
  ],
]
const soup = fc.array(
  fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...SOUP) }, { weight: 2, arbitrary: write }, text(200)),
  {
    maxLength: 5,
  },
)

/** Ways out of the statement around a mapping: for what ends it, and what stays open. */
const ESCAPES: ((write: string) => string)[] = [
  write => `; ${write}`,
  write => `; ${write};`,
  write => `) m; ${write}; --`,
  write => `) m; ${write}; select * from (select 1`,
  write => `) m) to stdout; ${write}; copy (select 1 from (select 1`,
  write => `\n) m\n; ${write}; /*`,
  write => ` where 'x' <> '\\' || ') m; ${write}; --'`,
  write => ` where 'x' <> E'\\') m; ${write}; --'`,
  write => ` where $a$x$a$ <> '$a$ ) m; ${write}; -- $a$'`,
  write => ` where U&'\\0027' <> ') m; ${write}; --'`,
  write => ` /* /* */ ; ${write}; */`,
  write => ` -- \r; ${write}`,
  write => ` union all ${write}`,
  write => ` where exists (${write})`,
  write => ` where id in (${write} returning id)`,
  () => ' for update',
  () => ' for key share of staff nowait',
  () => ' into left_behind',
  () => ' limit nextval($$numbers$$)',
  () => ' tablesample bernoulli (nextval($$numbers$$))',
]

const FORMS: ((parts: { a: string; b: string; write: string; wayOut: string }) => string)[] = [
  ({ a, b, wayOut }) => `select ${a} as userid, ${b} as name from staff${wayOut}`,
  ({ a, b, wayOut }) =>
    `select id as userid, ${b} as name from staff, hidden where ${a} is not null${wayOut}`,
  ({ a, write, wayOut }) =>
    `with w as (${write} returning *) select id as userid, ${a} as name from staff${wayOut}`,
  ({ a, write, wayOut }) =>
    `with recursive w (v) as (select 1 union all (${write})) select id as userid, ${a} as name from staff${wayOut}`,
  ({ a, b, wayOut }) =>
    `select id as userid, (select ${a} from staff limit 1) as name from staff group by id, nick having ${b} is null${wayOut}`,
  ({ a, b }) => `values (${a}, ${b})`,
  ({ write }) => write,
  ({ write }) => `explain analyze ${write}`,
  ({ a, b, write }) => `select ${a} as userid, ${b} as name from staff; ${write}`,
  ({ a, write }) => `select id as "userid', ${write}; --", ${a} as name from staff`,
  ({ a, write }) => `select id as userid, ${a} as "name"") m; ${write}; --" from staff`,
  ({ a, b }) => `select f as userid, ${b} as name from lateral (select ${a}) as x (f)`,
  ({ a }) => `select f::text as userid, 'n' as name from rows from (generate_series(1, 2), ${a}) as f`,
  ({ wayOut }) => `table staff${wayOut}`,
]

interface Pasted {
  sql: string
}

const inputs = fc
  .tuple(
    fc.constantFrom(...FORMS),
    fc.record({
      a: expression,
      b: expression,
      write,
      wayOut: fc.oneof(
        { weight: 2, arbitrary: fc.constant('') },
        {
          weight: 5,
          arbitrary: fc.tuple(fc.constantFrom(...ESCAPES), write).map(([wayOut, what]) => wayOut(what)),
        },
      ),
    }),
    soup,
    fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, { weight: 2, arbitrary: fc.nat(400) }),
  )
  .map(([form, parts, more, at]): Pasted => {
    const sql = form(parts)
    const place = at % (sql.length + 1)
    return { sql: at < 0 ? sql : `${sql.slice(0, place)}${more.join('')}${sql.slice(place)}` }
  })

export const pastedSelects: Kind<Pasted> = {
  name: 'pasted-selects',
  what: 'SELECTs that try to leave their read-only statement, on a real PostgreSQL as superuser',
  share: 6,
  few: 60,
  inputs,
  open: () => Hr.start(),
}

/** What no SELECT may change, whatever it says. */
const STATE = `
  select (select coalesce(string_agg(id || nick, ',' order by id), '') from public.staff),
         (select last_value || ' ' || is_called from public.numbers),
         (select count(*) from pg_class where oid >= 16384),
         (select count(*) from pg_proc where oid >= 16384),
         (select count(*) from pg_extension),
         (select count(*) from pg_largeobject_metadata),
         (select count(*) from pg_db_role_setting where setdatabase in (0, (select oid from pg_database where datname = current_database()))),
         (select count(*) from pg_roles where rolname like 'hostile%'),
         (select count(*) from pg_replication_slots where slot_name like 'hostile%'),
         (select count(*) from pg_prepared_xacts where database = current_database()),
         (select count(*) from pg_locks where locktype = 'advisory'
          and database = (select oid from pg_database where datname = current_database()))`

class Hr {
  readonly #database: TestDatabase
  readonly #source: HrSource
  readonly #folder: string
  #before = ''

  private constructor(database: TestDatabase, folder: string) {
    this.#database = database
    this.#folder = folder
    this.#source = openHrSource(database.url, TODAY)
  }

  static async start(): Promise<Hr> {
    const database = await createTestDatabase()
    await database.pool.query(`
      create table staff (id text, nick text);
      insert into staff values ('e1', 'Ann'), ('e2', 'Ben');
      create sequence numbers;
      create view hidden as select set_config('default_transaction_read_only', 'off', false) as was;
      create function writes() returns text language sql as $$ insert into staff values ('e8', 'Eve') returning nick $$;
      create function writes(staff) returns text language sql stable as $$ select nextval('numbers')::text $$;
      create function has_been() returns text language plpgsql stable as $$ begin perform nextval('numbers'); return 'x'; end $$;
      create procedure writer() language sql as $$ delete from staff $$`)
    const folder = await temporaryFolder()
    await chmod(folder, 0o777) // the server's user may write there, if it can be made to
    const hr = new Hr(database, folder)
    hr.#before = await hr.#state()
    return hr
  }

  async meet({ sql }: Pasted): Promise<string> {
    const outcome = await this.#read(sql.replaceAll(FILE, `${this.#folder}/left-behind`))
    const after = await this.#state()
    must(after === this.#before, `the database was ${this.#before} and is ${after}`)
    const files = await readdir(this.#folder)
    must(files.length === 0, `the server wrote ${files.join()}`)
    return outcome
  }

  async after(): Promise<void> {
    const found = await this.#source.lookup([{ enterpriseCode: '', userid: 'e1' }])
    must(found.size === 1, 'HR no longer answers')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#source.close()
    await this.#database.close()
  }

  /** As a dry run does: looked at, read, and looked up. */
  async #read(sql: string): Promise<string> {
    try {
      await using snapshot = await this.#source.snapshot(TIMEOUT_MS)
      const mapping = await snapshot.inspect({ file: 'SELECT', sql })
      const scan = await snapshot.scan(mapping, new AbortController().signal)
      for await (const _ of scan.stream);
      await snapshot.lookup(mapping, [{ enterpriseCode: '', userid: 'e1' }])
      return 'read'
    } catch (error) {
      if (!isOfHr(error)) throw error
      must(error.message !== '', 'a refusal says nothing')
      return error.code
    }
  }

  async #state(): Promise<string> {
    const { rows } = await this.#database.pool.query({ text: STATE, rowMode: 'array' })
    return JSON.stringify(rows[0])
  }
}
