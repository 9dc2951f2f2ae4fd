import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { pino } from 'pino'
import { expect } from 'vitest'
import { hrServer } from '../../../src/hr/servers.ts'
import { startEmbeddedPostgres } from '../../../src/trial/postgres.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import type {
  Cell,
  Columns,
  ColumnType,
  KindUnderTest,
  SourceUnderTest,
} from '../contract/source-under-test.ts'

const READER = 'hr_reader'
const TYPES: Record<ColumnType, string> = {
  key: 'varchar(200)',
  text: 'text',
  integer: 'int8',
  decimal: 'numeric(30, 10)',
  double: 'float8',
  boolean: 'bool',
  date: 'date',
  timestamp: 'timestamp',
  moment: 'timestamptz',
  json: 'jsonb',
  texts: 'text[]',
}

/** PostgreSQL as HR: a server of its own, which can be stopped, and a user who may only read. */
export const POSTGRES_KIND: KindUnderTest = {
  name: 'PostgreSQL',
  open: openPostgres,
  cannot: { 'character 0': 'no text of PostgreSQL holds it' },
  wrong: {
    address: 'postgres://nobody@127.0.0.1:1/none',
    password: url => changed(url, { password: 'another' }),
    database: url => changed(url, { pathname: '/there_is_no_such_database' }),
  },
  ownValues: [
    ["'E7'::char(8)", 'name', 'E7'],
    ["'E7'::name", 'name', 'E7'],
    ['2::smallint', 'gender', '2'],
    ['12.00::numeric(12, 2)', 'cost_center_id', '12'],
    ['1.00::numeric(3, 2)', 'active', '1'],
    ['0::numeric(3, 2)', 'active', '0'],
    ["'12.50'::money::numeric", 'cost_center_id', '12.5'],
    ["'7d793037-a076-4d6b-8f1e-3f9a2f2c5b5e'::uuid", 'remark', '7d793037-a076-4d6b-8f1e-3f9a2f2c5b5e'],
    ["'{b,a}'::varchar(10)[]", 'category', 'b,a'],
    ["'{2,1}'::int[]", 'category', '2,1'],
    [`'{"b": 1,  "a": 2}'::json`, 'employee_attribute', '{"b": 1,  "a": 2}'],
    [`'{"a": null}'::jsonb -> 'a'`, 'category', null],
    [`'{"b": 1,  "a": 2}'::jsonb`, 'employee_attribute', '{"a": 2, "b": 1}'],
    ["'infinity'::date", 'entry_day', 'infinity'],
    ["'0044-03-15 BC'::date", 'entry_day', '0044-03-15 BC'],
    ["'12:30'::time", 'remark', '12:30:00'],
    ['null', 'remark', null],
    ["'x'", 'remark', 'x'],
  ],
  mistakes: [
    [
      staff => `select id as userid,\n  nikc as name from ${staff}`,
      'employees.sql:2:3: column "nikc" does not exist (42703)',
    ],
    [
      staff => `select '甲𠮷',\n id userid\n frm ${staff}`,
      'employees.sql:3:2: syntax error at or near "frm" (42601)',
    ],
    [
      () => '-- x\nselect id as userid, nick as name\nfrom staf',
      'employees.sql:3:6: relation "staf" does not exist (42P01)',
    ],
    [
      staff => `select id as userid, $1 as name from ${staff}`,
      'employees.sql:1:22: there is no parameter $1 (42P02)',
    ],
    [
      staff => `select id + nick as userid, nick as name from ${staff}`,
      'employees.sql:1:11: operator does not exist: bigint + text',
    ],
    [
      () => "select nothing('x') as userid, 'n' as name",
      'employees.sql:1:8: function nothing(unknown) does not exist (42883)',
    ],
    [
      () => 'select 1 as userid into other',
      'employees.sql:1:25: SELECT ... INTO is not allowed here (42601)',
    ],
  ],
  // Hidden in a view, as a mapping may not call it.
  slow: '(select slept from slow)',
  failing: column => `${column}::int`,
  writingSelect: "select nextval('written') as userid, 'n' as name",
  secondStatement: "select 1 as userid, 'n' as name) m; select (1",
}

function changed(url: string, parts: { password?: string; pathname?: string }): string {
  return Object.assign(new URL(url), parts).href
}

async function openPostgres(): Promise<SourceUnderTest> {
  const dataDir = join(await temporaryFolder(), 'postgres')
  const server = await startEmbeddedPostgres({ dataDir })
  await server.createDatabase('hr')
  const admin = new pg.Pool({
    connectionString: server.url('hr'),
    max: 4,
    // A restart without a word must find what was committed, though the server of tests does without.
    options: '-c synchronous_commit=on',
  })
  admin.on('error', () => {}) // restarts cut its connections
  await admin.query(`create role ${READER} login password 'reader';
    create sequence written;
    create view slow as select pg_sleep(60)::text as slept;
    grant select on slow to ${READER};
    grant usage, select, update on sequence written to ${READER};
    alter default privileges in schema public grant select on tables to ${READER}`)
  const url = Object.assign(new URL(server.url('hr')), { username: READER, password: 'reader' }).href
  const tables = new Map<string, Columns>()

  const fill = async (client: pg.ClientBase, name: string, rows: readonly Cell[][]) => {
    const columns = Object.entries(tables.get(name) ?? {})
    const records = rows.map(row =>
      Object.fromEntries(columns.map(([column, type], i) => [column, cell(row[i] ?? null, type)])),
    )
    await client.query(`insert into ${name} select * from json_populate_recordset(null::${name}, $1)`, [
      JSON.stringify(records),
    ])
  }
  const one = async (sql: string, values: unknown[] = []) => {
    const { rows } = await admin.query({ text: sql, values, rowMode: 'array' })
    return rows[0]?.[0]
  }
  const connections = async () =>
    Number(await one('select count(*) from pg_stat_activity where usename = $1', [READER]))
  return {
    url,
    serverAt: address => hrServer(address, pino({ level: 'silent' })),
    async table(name, columns, rows) {
      const list = Object.entries(columns).map(([column, type]) => `${column} ${TYPES[type]}`)
      // Indexes first: making one reads the table, and `rowsRead` would count it.
      const indexed = Object.keys(columns).filter(column => columns[column] === 'key' || column === 'id')
      await admin.query(`drop table if exists ${name}; create table ${name} (${list.join(', ')});
        ${indexed.map(column => `create index on ${name} (${column})`).join(';')}`)
      tables.set(name, columns)
      const client = await admin.connect()
      try {
        await fill(client, name, rows)
        await client.query(`analyze ${name}`)
      } finally {
        client.release()
      }
      return name
    },
    async replaceRows(name, rows) {
      const client = await admin.connect()
      try {
        await client.query(`begin; delete from ${name}`)
        await fill(client, name, rows)
        await client.query('commit')
      } finally {
        client.release()
      }
    },
    numbers: count => `generate_series(1, ${count}) as g (n)`,
    connections,
    isHeldBack: async () =>
      (await one('select wait_event from pg_stat_activity where usename = $1', [READER])) === 'ClientWrite',
    async endConnections() {
      await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where usename = $1', [READER])
    },
    async restart() {
      const pid = Number.parseInt(await readFile(join(dataDir, 'data/postmaster.pid'), 'utf8'), 10)
      process.kill(pid, 'SIGQUIT')
      await expect.poll(() => server.revive()).toBe(true)
    },
    async rowsRead(table) {
      // A backend reports what it has read when it ends, at the latest.
      await expect.poll(connections).toBe(0)
      return Number(
        await one(
          'select seq_tup_read + coalesce(idx_tup_fetch, 0) from pg_stat_user_tables where relname = $1',
          [table],
        ),
      )
    },
    async forbid(table) {
      await admin.query(`revoke select on ${table} from ${READER}`)
    },
    async allowWriting(table) {
      await admin.query(`grant insert on ${table} to ${READER}`)
    },
    hasWritten: () => one('select is_called from written'),
    async [Symbol.asyncDispose]() {
      await admin.end()
      await server.stop()
    },
  }
}

/** A cell as JSON that `json_populate_recordset` takes for the type. */
function cell(value: Cell, type: ColumnType): unknown {
  return type === 'json' && typeof value === 'string' ? JSON.parse(value) : value
}
