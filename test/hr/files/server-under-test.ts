import { mkdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { pino } from 'pino'
import type { FilesSettings } from '../../../src/hr/files/settings.ts'
import { hrServer } from '../../../src/hr/servers.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import type {
  Cell,
  Columns,
  ColumnType,
  KindUnderTest,
  SourceUnderTest,
} from '../contract/source-under-test.ts'

const TYPES: Record<ColumnType, string> = {
  key: 'varchar',
  text: 'varchar',
  integer: 'bigint',
  decimal: 'decimal(30, 10)',
  double: 'double',
  boolean: 'boolean',
  date: 'date',
  timestamp: 'timestamp',
  moment: 'timestamptz',
  json: 'json',
  texts: 'varchar[]',
}

const NO_SERVER = 'there is no server: DuckDB reads a kept copy within our process'

/** HR in files: Parquet, which has types as a database does, moved into the folder. */
export const FILES_KIND: KindUnderTest = {
  name: 'files',
  open: openFiles,
  cannot: {
    connections: NO_SERVER,
    restart: NO_SERVER,
    logins: NO_SERVER,
    databases: NO_SERVER,
    rights: 'a file has no rights of its own; test/hr/files/locked.test.ts shows what cannot be read',
    index: 'a delivery has no index: a look-up reads a column, which takes some 40 ms of a million rows',
    'writing SELECT': 'DuckDB has no SELECT that writes; test/hr/files/locked.test.ts shows what is refused',
  },
  wrong: { address: 'files:/there/is/no/such/folder' },
  ownValues: [
    ["cast('E7' as varchar)", 'name', 'E7'],
    ['cast(2 as tinyint)', 'gender', '2'],
    ['170141183460469231731687303715884105727::hugeint', 'remark', '170141183460469231731687303715884105727'],
    ['18446744073709551615::ubigint', 'remark', '18446744073709551615'],
    ['12.50::decimal(4, 2)', 'cost_center_id', '12.5'],
    ['100::decimal(18, 0)', 'cost_center_id', '100'],
    ['0.1::float', 'remark', '0.1'],
    ['1.5e15::double', 'remark', '1.5e+15'],
    ['-1234567890123456::double', 'remark', '-1.234567890123456e+15'],
    ["'nan'::double", 'remark', 'NaN'],
    ['true', 'active', 't'],
    ['1 = 2', 'active', 'f'],
    ['12', 'active', '12'],
    ["time '12:30:00.50'", 'remark', '12:30:00.5'],
    ["'2024-02-29 12:30:00.25'::timestamp_ms", 'remark', '2024-02-29 12:30:00.25'],
    ["'2024-02-29 12:30:00'::timestamp_s", 'entry_day', '2024-02-29'],
    ["'x'::enum('x', 'y')", 'remark', 'x'],
    ["['b', null, 'a']", 'category', 'b,a'],
    ['[1, 2]', 'category', '1,2'],
    ["{'code': 'A', 'n': 1}", 'employee_attribute', '{"code":"A","n":1}'],
    [`json_extract('{"a": null}', '$.a')`, 'category', null],
    ['null::struct(a varchar)', 'employee_attribute', null],
    ["map {'code': 'A'}", 'employee_attribute', '{"code":"A"}'],
    ['1e400', 'remark', 'Infinity'],
    ['null', 'remark', null],
    ["'a' || 'b'", 'remark', 'ab'],
    ["e'a\\tb'", 'remark', 'a\tb'],
    ["'it''s'", 'remark', "it's"],
  ],
  mistakes: [
    [
      staff => `select id as userid,\n  nikc as name from ${staff}`,
      /^employees\.sql:2:3: Referenced column "nikc" not found in FROM clause! \(Binder Error\)$/,
    ],
    [
      staff => `select '甲𠮷',\n id userid\n frm ${staff}`,
      'employees.sql:3:2: syntax error at or near "frm" (Parser Error)',
    ],
    [
      () => '-- x\nselect id as userid, nick as name\nfrom staf',
      'employees.sql:3:6: the delivery has no file or sheet for the table staf (DuckDB: Table with name staf does not exist! Did you mean "staff"?)',
    ],
    [
      staff => `select id as userid, ? as name from ${staff}`,
      'employees.sql:1:22: the SELECT has a parameter, which is never given a value',
    ],
    [
      staff => `select id as userid, pupil as name from (pivot ${staff} on nick using count(*))`,
      "employees.sql: the SELECT has a pivot that does not name its values; write them into it: pivot … on column in ('a', 'b')",
    ],
    [() => "select nothing('x') as userid, 'n' as name", 'Scalar Function with name nothing does not exist!'],
    [
      staff => `select id as userid from ${staff} union select id, nick from ${staff}`,
      'Set operations can only apply to expressions with the same number of result columns',
    ],
    [
      () => "select column0 as userid, 'n' as name from read_csv('/etc/passwd')",
      'employees.sql:1:44: Cannot access file "/etc/passwd" - file system operations are disabled by configuration',
    ],
  ],
  slow: '(select max(hash(a.range * b.range))::varchar from range(1000000) a, range(1000000) b)',
  failing: column => `cast(${column} as integer)`,
  writingSelect: '',
  secondStatement: "select 1 as userid, 'n' as name) m; select (1",
}

/** Settings of a delivery that is complete as soon as it is there. */
export async function settingsOf(changes: Partial<FilesSettings> = {}): Promise<FilesSettings> {
  return {
    encoding: 'auto',
    complete: { restMs: 0 },
    keep: join(await temporaryFolder(), 'kept'),
    headings: new Map(),
    ...changes,
  }
}

async function openFiles(): Promise<SourceUnderTest> {
  const root = await temporaryFolder()
  const folder = join(root, 'delivered')
  await mkdir(folder)
  const settings = await settingsOf()
  const writer = await DuckDBInstance.create(':memory:', { threads: '1' })
  const connection = await writer.connect()
  await connection.run("set TimeZone = 'UTC'")
  const tables = new Map<string, Columns>()
  let names: string[] = []

  const deliver = async (name: string, rows: readonly Cell[][]) => {
    const columns = Object.entries(tables.get(name) ?? {})
    const list = columns.map(([column, type]) => `${column} ${TYPES[type]}`).join(', ')
    await connection.run(`create or replace table t (${list})`)
    for (let at = 0; at < rows.length; at += 1000) {
      const values = rows
        .slice(at, at + 1000)
        .map(row => `(${columns.map(([, type], i) => cell(row[i] ?? null, type)).join(', ')})`)
      await connection.run(`insert into t values ${values.join(', ')}`)
    }
    await connection.run(`copy t to '${root}/${name}' (format parquet)`)
    await rename(join(root, name), join(folder, `${name}.parquet`))
    // No test wants more than these, and every delivery is read in as a whole. What is missing has to be forgotten.
    names = [name, ...names.filter(other => other !== name)]
    const [gone] = names.splice(3)
    if (gone === undefined) return
    await rm(join(folder, `${gone}.parquet`))
    await rm(settings.keep, { recursive: true, force: true })
  }
  // A folder with nothing in it is no delivery, and some mappings want no table.
  tables.set('something', { id: 'integer' })
  await deliver('something', [])
  return {
    url: `files:${folder}`,
    serverAt: address => hrServer(address, pino({ level: 'silent' }), settings),
    async table(name, columns, rows) {
      tables.set(name, columns)
      await deliver(name, rows)
      return name
    },
    replaceRows: deliver,
    numbers: count => `(select range + 1 as n from range(${count})) g`,
    connections: async () => 0,
    async isHeldBack() {
      const before = process.cpuUsage()
      await sleep(100)
      const { user, system } = process.cpuUsage(before)
      return user + system < 20_000
    },
    endConnections: async () => {},
    restart: async () => {},
    rowsRead: async () => 0,
    forbid: async () => {},
    allowWriting: async () => {},
    hasWritten: async () => false,
    async [Symbol.asyncDispose]() {
      connection.closeSync()
      writer.closeSync()
      await rm(root, { recursive: true })
    },
  }
}

/** A cell as a literal of SQL. */
function cell(value: Cell, type: ColumnType): string {
  if (value === null) return 'null'
  if (typeof value !== 'string') return `[${value.map(item => cell(item, 'text')).join(', ')}]::varchar[]`
  if (type === 'double' || type === 'boolean' || type === 'integer' || type === 'decimal') return `'${value}'`
  return value
    .split('\0')
    .map(part => `'${part.replaceAll("'", "''")}'`)
    .join(' || chr(0) || ')
}
