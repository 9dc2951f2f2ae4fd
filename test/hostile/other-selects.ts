import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pino } from 'pino'
import { hrServer } from '../../src/hr/servers.ts'
import { HrSource } from '../../src/hr/source.ts'
import { createMariadbDatabase } from '../helpers/mariadb.ts'
import { isMysql } from '../helpers/mariadb-server.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { settingsOf } from '../hr/files/server-under-test.ts'
import { openHrSource } from '../hr/hr-database.ts'
import type { Kind } from './kind.ts'
import { BLANKS, BREAKS, FILE, type Grammar, pasted, SelectTrial, TODAY } from './selects.ts'

/* The same with the SQL of the other servers: MariaDB, whose user may do everything, and DuckDB over delivered files. */

const SOUP = [
  ...BREAKS,
  ...[
    "'",
    "''",
    '"',
    '""',
    '`',
    '``',
    "\\'",
    '\\',
    '/*',
    '*/',
    '/*!',
    '/*M!',
    '/*!50000',
    '--',
    '-- ',
    '--\n',
    '#',
    '#\n',
  ],
  ...[':', '@', '@@', '$$', '$x$', "e'\\'", "x'", "_utf8'", "n'", '?', '%', '||', '{x ', '}', 'delimiter //'],
]

const ESCAPES: Grammar['escapes'] = [
  write => `; ${write}`,
  write => `; ${write};`,
  write => `) m; ${write}; -- `,
  write => `) m; ${write}; select * from (select 1`,
  write => `\n) m\n; ${write}; /*`,
  write => ` where 'x' <> '\\' or ') m; ${write}; -- '`,
  write => ` where "x" <> "\\" or ") m; ${write}; -- "`,
  write => ` where \`id\` <> '\`) m; ${write}; -- \`'`,
  write => ` /*! ; ${write} */`,
  write => ` /*M!100000 ; ${write} */`,
  write => ` /* /* */ ; ${write}; */`,
  write => ` # \n; ${write}`,
  write => ` --\u00a0; ${write}`,
  write => ` -- \r; ${write}`,
  write => ` union all ${write}`,
  write => ` where exists (${write})`,
  () => ' for update',
  () => ' FOR /* x */ SHARE',
  () => ' lock in share mode',
  () => ' having 1e0for update',
  () => ' limit 1e0lock in share mode',
  () => ' where id > 0e0lock in share mode',
  () => ` into outfile '${FILE}'`,
  () => ` into dumpfile '${FILE}'`,
  () => ' into @a, @b',
  () => ' procedure analyse()',
]

const DISGUISES: Grammar['disguises'] = [
  written => written,
  written => written.toUpperCase(),
  written => written.replace('(', '/* ( */('),
  written => written.replace('(', ' -- (\n('),
  written => written.replace('(', '\n#(\n('),
  written => written.replace('(', ' ('),
  // In a subquery, the parenthesis of the call.
  ...BLANKS.map(written => (call: string) => call.replace(/\w\(/, written)),
  ...BLANKS,
  written => written.replace(/^(\w+)\(/, '`$1`('),
  written => written.replace(/^(\w+)\(/, '"$1"('),
  written => written.replace(/^(\w+)\(/, 'main.$1('),
  written => written.replace(/^(\w+)\(/, 'system.main."$1"('),
  written => `(${written})`,
  written => `case when 1 = 1 then ${written} end`,
  written => `(select ${written})`,
  written => `(with w as (select ${written} as v) select v from w)`,
  written => `(select v from (select ${written} as v) t)`,
  written => `coalesce(null, ${written})`,
  written => `(select ${written} from staff order by ${written} limit 1)`,
  written => `concat(${written}, '')`,
  written => `list_transform([1], x -> ${written})[1]`,
  written => `(select max(${written}) over () from staff limit 1)`,
]

const PLAIN = [
  'id',
  'nick',
  "'x'",
  '1',
  'null',
  'concat(id, nick)',
  '(select max(nick) from staff)',
  'now()',
  '*',
  'staff.nick',
]

const MARIADB: Grammar = {
  writes: [
    ...[
      'delete from staff',
      'truncate staff',
      'drop table staff',
      "update staff set nick = 'Eve'",
      "insert into staff values ('e9', 'Eve')",
    ],
    ...[
      "replace into staff values ('e1', 'Eve')",
      'create table left_behind (n int)',
      'create temporary table staff (n int)',
      'alter table staff add n int',
    ],
    ...[
      `select 1 into outfile '${FILE}'`,
      `load data infile '/etc/passwd' into table staff`,
      'set global max_connections = 7',
      "set session sql_mode = 'ANSI_QUOTES'",
    ],
    ...[
      'set session transaction read write',
      'start transaction read write',
      'commit; delete from staff',
      'rollback',
      'call writer()',
      'lock tables staff write',
    ],
    ...[
      'do sleep(60)',
      "do get_lock('payroll', 0)",
      'flush tables',
      'reset query cache',
      "prepare s from 'delete from staff'; execute s",
    ],
    ...[
      "execute immediate 'delete from staff'",
      "create user 'hostile'@'%'",
      'rename table staff to stuff',
      'xa start "x"',
      'kill 1',
      'handler staff open',
    ],
    ...[
      'begin not atomic delete from staff; end',
      "set statement sql_mode = '' for delete from staff",
      'optimize table staff',
      'alter sequence numbers restart 42',
    ],
    ...[
      'set persist max_connections = 7',
      `clone local data directory = '/tmp/left_behind'`,
      "install plugin x soname 'x.so'",
      'lock instance for backup',
      `table staff into outfile '${FILE}'`,
      'values row(1) into @a',
      'shutdown',
      'restart',
    ],
  ],
  calls: [
    ...[
      'written()',
      'tamper()',
      'sleep(60)',
      "benchmark(1000000000, md5('x'))",
      "get_lock('payroll', 0)",
      "release_lock('payroll')",
      'release_all_locks()',
    ],
    ...[
      "load_file('/etc/passwd')",
      'nextval(numbers)',
      'setval(numbers, 42)',
      'next value for numbers',
      'lastval(numbers)',
      "master_pos_wait('x', 1, 60)",
    ],
    ...[
      'last_insert_id(5)',
      'uuid_short()',
      '@a := 1',
      "@@session.sql_mode := 'ANSI_QUOTES'",
      '@@global.max_connections',
      "sys_exec('id')",
      "updatexml('x', 'y', 'z')",
    ],
    ...[
      'wait_for_executed_gtid_set(1)',
      "master_gtid_wait('0-1-999', 60)",
      "source_pos_wait('x', 1, 60)",
      "wait_until_sql_thread_after_gtids('x', 60)",
      'hidden.was',
      '(select was from hidden)',
      "json_table('[1]', '$[*]' columns (n int path '$'))",
    ],
  ],
  plain: PLAIN,
  disguises: DISGUISES,
  soup: SOUP,
  escapes: ESCAPES,
}

export const pastedInMariadb: Kind<{ sql: string }> = {
  name: 'pasted-selects-mariadb',
  what: 'SELECTs that try to leave their read-only transaction, on a real MariaDB as root',
  share: 6,
  few: 60,
  inputs: pasted(MARIADB),
  async open() {
    const database = await createMariadbDatabase()
    const { admin, url } = database
    await admin.query(`create table staff (id varchar(40), nick varchar(40)); insert into staff values ('e1', 'Ann'), ('e2', 'Ben');
      ${isMysql ? 'create table numbers (next_not_cached_value int, cycle_count int); insert into numbers values (1, 0)' : 'create sequence numbers'};
      create function tamper() returns int begin set session sql_mode = 'NO_BACKSLASH_ESCAPES'; return 1; end;
      create function written() returns int begin insert into staff values ('e8', 'Eve'); return 1; end;
      create procedure writer() begin delete from staff; end;
      create sql security definer view hidden as select written() as was`)
    return SelectTrial.start({
      source: openHrSource(url, TODAY),
      async state() {
        const [state] =
          await admin.query(`select (select group_concat(id, nick order by id) from staff) as staff,
          (select concat(next_not_cached_value, ' ', cycle_count) from numbers) as numbers,
          (select count(*) from information_schema.tables where table_schema = database()) as tables_of_it,
          (select group_concat(concat(variable_name, variable_value)) from ${isMysql ? 'performance' : 'information'}_schema.global_variables
             where variable_name in ('max_connections', 'sql_mode', 'tx_read_only', 'transaction_read_only', 'general_log')) as variables,
          (select count(*) from mysql.user where user like 'hostile%') as users,
          is_used_lock('payroll') as payroll`)
        return state
      },
      close: () => database.close(),
    })
  },
}

/** What stands beside the delivery, and is nobody's. */
const BESIDE = '/BESIDE'

const DUCKDB: Grammar = {
  writes: [
    ...[
      'delete from staff',
      'drop table staff',
      "update staff set nick = 'Eve'",
      "insert into staff values ('e9', 'Eve')",
      'create table left_behind (n int)',
    ],
    ...[
      'create temp table staff (n int)',
      'create or replace macro main.lower(x) as 1',
      'create temp view staff as select 1',
      `copy staff to '${FILE}'`,
    ],
    ...[
      `copy (select 1) to '${FILE}' (format csv)`,
      `export database '${FILE}'`,
      `attach '${FILE}' as other`,
      `attach '${BESIDE}' (type sqlite)`,
      'detach kept',
    ],
    ...[
      'install httpfs',
      'load httpfs',
      'set enable_external_access = true',
      "set global memory_limit = '100GB'",
      "set temp_directory = '/tmp'",
      'reset lock_configuration',
    ],
    ...[
      "pragma enable_profiling = 'json'",
      `pragma profiling_output = '${FILE}'`,
      'checkpoint',
      'force checkpoint',
      'vacuum',
      'call pragma_version()',
      'use memory',
    ],
    ...[
      'begin; delete from staff; commit',
      'set variable x = 1',
      'create secret (type s3)',
      'create sequence left_behind',
      "import database '/tmp'",
      'analyze',
    ],
    ...[
      'prepare s as delete from staff',
      'execute s',
      'explain analyze delete from staff',
      "create type x as enum ('a')",
      "comment on table staff is 'x'",
    ],
  ],
  calls: [
    ...[
      "getenv('HOME')",
      `(select content from read_text('${BESIDE}'))`,
      `(select max(columns) from read_csv('${BESIDE}'))`,
      `(select line from '${BESIDE}')`,
    ],
    ...[
      `(select filename from read_blob('${BESIDE}'))`,
      "(select max(file) from glob('/*'))",
      "(select 1 from query('drop table staff'))",
      "(select 1 from query_table('staff'))",
    ],
    ...[
      "write_log('x')",
      'sleep_ms(60000)',
      `(select 1 from enable_logging(storage = 'file', storage_path = '${FILE}'))`,
      '(select 1 from disable_logging())',
    ],
    ...[
      "(select 1 from json_execute_serialized_sql(json_serialize_sql('select 1')))",
      '(select 1 from truncate_duckdb_logs())',
      "nextval('numbers')",
      'setseed(0.5)',
    ],
    ...[
      "current_setting('temp_directory')",
      "getvariable('x')",
      '(select max(path) from duckdb_databases())',
      '(select max(secret_string) from duckdb_secrets())',
    ],
    ...[
      "(select 1 from duckdb_settings() where name = 'x')",
      '(select 1 from checkpoint())',
      '(select 1 from force_checkpoint())',
      '(select 1 from enable_profiling())',
    ],
    ...[
      '(select 1 from "enable_peg_parser"())',
      '(select max(sql) from duckdb_views())',
      'txid_current()',
      "(select 1 from read_parquet('http://127.0.0.1:9/x'))",
      "(select 1 from sniff_csv('/etc/passwd'))",
    ],
    ...[
      '(select max(hash(a.range * b.range)) from range(1000000) a, range(1000000) b)',

      "error('x')",
      'pragma_version()',
      'test_all_types()',
    ],
  ],
  plain: PLAIN,
  disguises: DISGUISES,
  soup: SOUP,
  escapes: ESCAPES,
}

export const pastedInFiles: Kind<{ sql: string }> = {
  name: 'pasted-selects-files',
  what: 'SELECTs that try to leave a delivery of files, in DuckDB',
  share: 6,
  few: 60,
  inputs: pasted(DUCKDB),
  async open() {
    const root = await temporaryFolder()
    const [folder, beside] = [join(root, 'delivered'), join(root, 'beside.csv')]
    await mkdir(folder)
    await writeFile(join(folder, 'staff.csv'), 'id,nick\ne1,Ann\ne2,Ben\n')
    const secret = 'what-stands-beside'
    await writeFile(beside, `id,nick\ntop,${secret}\n`)
    const logger = pino({ level: 'silent' })
    const source = new HrSource({
      server: hrServer(`files:${folder}`, logger, await settingsOf()),
      employeesSql: { file: 'employees.sql', sql: TODAY },
      departmentsSql: null,
      logger,
    })
    const trial = await SelectTrial.start({
      source,
      state: async () => [
        await readdir(root),
        await readdir(folder),
        await readFile(join(folder, 'staff.csv'), 'utf8'),
      ],
      close: async () => {},
      secret,
    })
    return {
      meet: ({ sql }) => trial.meet({ sql: sql.replaceAll(BESIDE, beside) }),
      after: () => trial.after(),
      [Symbol.asyncDispose]: () => trial[Symbol.asyncDispose](),
    }
  },
}
