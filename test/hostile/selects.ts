import { chmod, readdir } from 'node:fs/promises'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import { isOfHr } from '../../src/hr/errors.ts'
import type { HrSource } from '../../src/hr/source.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { openHrSource } from '../hr/hr-database.ts'
import { type Kind, must } from './kind.ts'
import { text } from './texts.ts'

/*
 * SELECTs that a person pastes who wants more than to read, on a real PostgreSQL whose user may do everything. Whatever they say, the
 * database, its server's files and its sessions stay as they are, and the answer is rows or a failure that names the mapping.
 */

/** Longest time of each statement. */
const TIMEOUT_MS = 2000
/** There are four statements at most, on a machine that others use as well. */
const LONGEST_MS = 30_000
/** Stands for a file that the server may write. */
export const FILE = '/FILE'

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

/** Blanks before a parenthesis that a server may take for a part of the name, or for nothing. */
export const BLANKS = ['\u00a0', '\u2003', '\u200b', '\u202f', '\u3000', '\ufeff'].map(
  blank => (written: string) => written.replace('(', `${blank}(`),
)

/** The same name or call, written otherwise. */
const DISGUISES: ((written: string) => string)[] = [
  written => written,
  written => written.toUpperCase(),
  written => written.replace('(', '/* ( */('),
  written => written.replace('(', ' -- (\n('),
  ...BLANKS,
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

/** White space, or what a server may take for it; and ends of statements and of brackets. */
export const BREAKS = [
  '\r',
  '\n',
  '\f',
  '\u00a0',
  '\u200b',
  '\u2028',
  '\u3000',
  '\ufeff',
  ';',
  ';;',
  '(',
  ')',
  ') m',
  ') m;',
  ',',
]

/** What may open or end a text, a name, a comment or a statement. */
const SOUP = [
  ...BREAKS,
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
  ...['\0', '::', ':', '%', '\\.', '\\copy', '\\!'],
]
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

type Form = (parts: { a: string; b: string; write: string; wayOut: string }) => string

const PLAINEST: Form = ({ a, b, wayOut }) => `select ${a} as userid, ${b} as name from staff${wayOut}`
const FORMS: Form[] = [
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

/** What a server's SQL has of each sort. */
export interface Grammar {
  writes: readonly string[]
  /** Expressions that do more than read. */
  calls: readonly string[]
  plain: readonly string[]
  /** The same name or call, written otherwise. */
  disguises: readonly ((written: string) => string)[]
  soup: readonly string[]
  /** Ways out of the statement around a mapping. */
  escapes: readonly ((write: string) => string)[]
}

export function pasted({ writes, calls, plain, disguises, soup, escapes }: Grammar): fc.Arbitrary<Pasted> {
  const call = fc
    .tuple(fc.constantFrom(...calls), fc.constantFrom(...disguises))
    .map(([written, disguise]) => disguise(written))
  const expression = fc.oneof(
    { weight: 5, arbitrary: call },
    { weight: 6, arbitrary: fc.constantFrom(...plain) },
  )
  const write = fc.constantFrom(...writes)
  const wayOut = fc.tuple(fc.constantFrom(...escapes), write).map(([wayOut, what]) => wayOut(what))
  const pieces = fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom(...soup) },
    { weight: 2, arbitrary: write },
    text(200),
  )
  return fc
    .tuple(
      fc.oneof(
        { weight: 3, arbitrary: fc.constant(PLAINEST) },
        { weight: 5, arbitrary: fc.constantFrom(...FORMS) },
      ),
      fc.record({
        a: expression,
        b: expression,
        write,
        wayOut: fc.oneof({ weight: 2, arbitrary: fc.constant('') }, { weight: 5, arbitrary: wayOut }),
      }),
      fc.array(pieces, { maxLength: 5 }),
      fc.oneof({ weight: 3, arbitrary: fc.constant(-1) }, { weight: 2, arbitrary: fc.nat(400) }),
    )
    .map(([form, parts, more, at]): Pasted => {
      const sql = form(parts)
      const place = at % (sql.length + 1)
      return { sql: at < 0 ? sql : `${sql.slice(0, place)}${more.join('')}${sql.slice(place)}` }
    })
}

const POSTGRES: Grammar = {
  ...{ writes: WRITES, calls: CALLS, plain: PLAIN, disguises: DISGUISES, soup: SOUP, escapes: ESCAPES },
}

export const pastedSelects: Kind<Pasted> = {
  name: 'pasted-selects',
  what: 'SELECTs that try to leave their read-only statement, on a real PostgreSQL as superuser',
  share: 6,
  few: 60,
  inputs: pasted(POSTGRES),
  open: startPostgres,
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

async function startPostgres(): Promise<SelectTrial> {
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
  return SelectTrial.start({
    source: openHrSource(database.url, TODAY),
    state: async () => (await database.pool.query({ text: STATE, rowMode: 'array' })).rows[0],
    close: () => database.close(),
  })
}

/** HR, and what must stay as it is whatever a SELECT says. */
interface Hr {
  source: HrSource
  state(): Promise<unknown>
  close(): Promise<void>
  /** What no row may have. */
  secret?: string
}

/** A SELECT of the mapping in use. */
export const TODAY = 'select id as userid, nick as name from staff'

export class SelectTrial {
  readonly #hr: Hr
  /** Where nothing is to be left behind. */
  readonly #folder: string
  #before = ''

  private constructor(hr: Hr, folder: string) {
    this.#hr = hr
    this.#folder = folder
  }

  static async start(hr: Hr): Promise<SelectTrial> {
    const folder = await temporaryFolder()
    await chmod(folder, 0o777) // the server's user may write there, if it can be made to
    const trial = new SelectTrial(hr, folder)
    trial.#before = JSON.stringify(await hr.state())
    return trial
  }

  async meet({ sql }: Pasted): Promise<string> {
    const begun = performance.now()
    const outcome = await this.#read(sql.replaceAll(FILE, `${this.#folder}/left-behind`))
    must(performance.now() - begun < LONGEST_MS, `it takes ${Math.round(performance.now() - begun)} ms`)
    const after = JSON.stringify(await this.#hr.state())
    must(after === this.#before, `HR was ${this.#before} and is ${after}`)
    const files = await readdir(this.#folder)
    must(files.length === 0, `${files.join()} was written`)
    return outcome
  }

  async after(): Promise<void> {
    const found = await this.#hr.source.lookup([{ enterpriseCode: '', userid: 'e1' }])
    must(found.size === 1, 'HR no longer answers')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#hr.source.close()
    await this.#hr.close()
  }

  /** As a dry run does: looked at, read, and looked up. */
  async #read(sql: string): Promise<string> {
    try {
      await using snapshot = await this.#hr.source.snapshot(TIMEOUT_MS)
      const mapping = await snapshot.inspect({ file: 'SELECT', sql })
      const scan = await snapshot.scan(mapping, new AbortController().signal)
      const rows = await textOf(scan.stream)
      must(this.#hr.secret === undefined || !rows.includes(this.#hr.secret), 'it reads what is not of HR')
      await snapshot.lookup(mapping, [{ enterpriseCode: '', userid: 'e1' }])
      return 'read'
    } catch (error) {
      if (!isOfHr(error)) throw error
      must(error.message !== '', 'a refusal says nothing')
      return error.code
    }
  }
}
