import { createConnection } from 'mysql2/promise'
import { pino } from 'pino'
import { hrServer } from '../../../src/hr/servers.ts'
import { startMariadb } from '../../helpers/mariadb.ts'
import { FORGET_ROWS_READ, HELD_BACK, rowsRead, SEQUENCES } from '../../helpers/mariadb-server.ts'
import type {
  Cell,
  Columns,
  ColumnType,
  KindUnderTest,
  SourceUnderTest,
} from '../contract/source-under-test.ts'

const READER = 'hr_reader'
/** Every collation of MySQL folds or pads, but for the binary ones: this one does both, more than most. */
const TYPES: Record<ColumnType, string> = {
  key: 'varchar(200) collate utf8mb4_unicode_ci',
  text: 'mediumtext',
  integer: 'bigint',
  decimal: 'decimal(30, 10)',
  double: 'double',
  boolean: 'tinyint(1)',
  date: 'date',
  timestamp: 'datetime(6)',
  moment: 'timestamp(6) null',
  json: 'json',
  texts: 'json',
}

/** MariaDB as HR: a server of its own, which can be stopped, and a user who may only read. */
export const MARIADB_KIND: KindUnderTest = {
  name: 'MariaDB',
  tags: 'mariadb',
  open: openMariadb,
  cannot: {
    texts: 'MySQL has no arrays; sets are among its own values',
    'summer time': 'MySQL knows only zones that were loaded into it, so sessions use +08:00',
  },
  wrong: {
    address: 'mysql://nobody@127.0.0.1:1/none',
    password: url => changed(url, { password: 'another' }),
    database: url => changed(url, { pathname: '/there_is_no_such_database' }),
  },
  ownValues: [
    ["cast('E7' as char(8))", 'name', 'E7'],
    ["convert('姓名' using gbk)", 'name', '姓名'],
    ['_latin1 0xe9', 'name', 'é'],
    ['cast(2 as signed)', 'gender', '2'],
    ['cast(18446744073709551615 as unsigned)', 'remark', '18446744073709551615'],
    ['1 = 1', 'active', 't'],
    ['1 = 2', 'active', 'f'],
    ['1 = 1', 'remark', '1'],
    ['12', 'active', '12'],
    ['cast(12.00 as decimal(12, 2))', 'cost_center_id', '12'],
    ["cast('12:30:00.50' as time(2))", 'remark', '12:30:00.5'],
    ["cast('0000-00-00' as date)", 'entry_day', null],
    ["cast('0000-00-00 00:00:00' as datetime)", 'birth_day', null],
    [`'{"b": 1,  "a": 2}'`, 'employee_attribute', '{"b": 1,  "a": 2}'],
    [`json_array('b', 'a')`, 'category', '["b", "a"]'],
    [`json_extract('{"a": null}', '$.a')`, 'category', null],
    ['null', 'remark', null],
    ["'x'", 'remark', 'x'],
    ["if('a' = 'A', 'folds', 'does not')", 'remark', 'folds'],
    [`"it's"`, 'remark', "it's"],
    ["'a' || 'b'", 'remark', '0'],
    ["'\\\\'", 'remark', '\\'],
  ],
  mistakes: [
    [
      staff => `select id as userid,\n  nikc as name from ${staff}`,
      /^employees\.sql:2:3: Unknown column 'nikc' in '(?:SELECT|field list)' \(42S22, error 1054\)$/,
    ],
    [
      staff => `select '甲𠮷',\n id userid\n frm ${staff}`,
      /^employees\.sql:3:2: You have an error in your SQL syntax; .* near 'frm staff' \(42000, error 1064\)$/,
    ],
    [
      () => '-- x\nselect id as userid, nick as name\nfrom staf',
      "employees.sql:3:6: Table 'hr.staf' doesn't exist (42S02, error 1146)",
    ],
    [
      staff => `select id as userid, ? as name from ${staff}`,
      'employees.sql:1:22: the SELECT has a parameter ?, which is never given a value',
    ],
    [
      () => "select nothing('x') as userid, 'n' as name",
      'FUNCTION hr.nothing does not exist (42000, error 1305)',
    ],
    [staff => `select id as userid from ${staff} union select id, nick from ${staff}`, '(21000, error 1222)'],
    [
      staff => `select id as userid, nick as name from ${staff} into outfile '/tmp/never'`,
      'Access denied; you need (at least one of) the FILE privilege(s) for this operation (42000, error 1227)',
    ],
  ],
  // Rows of a table that everybody may read, joined with themselves: every function that waits is refused.
  slow: `(select max(sha2(concat(a.id, b.id, c.id, d.id), 256)) from ${['a', 'b', 'c', 'd'].map(name => `information_schema.collations ${name}`).join(', ')})`,
  failing: column => `exp(if(${column} = '1', 1, 1000))`,
  writingSelect: "select writes() as userid, 'n' as name",
  secondStatement: "select 1 as userid, 'n' as name) m; select (1",
}

function changed(url: string, parts: { password?: string; pathname?: string }): string {
  return Object.assign(new URL(url), parts).href
}

async function openMariadb(): Promise<SourceUnderTest> {
  const server = await startMariadb()
  const { port } = new URL(server.url('hr'))
  const connected = async () => {
    const connection = await createConnection({
      host: '127.0.0.1',
      port: Number(port),
      user: 'root',
      multipleStatements: true,
      rowsAsArray: true,
    })
    connection.on('error', () => {}) // a restart cuts it
    await connection.query("set sql_mode = '', time_zone = '+00:00'")
    return connection
  }
  let admin = await connected()
  await admin.query(`create database hr character set utf8mb4; use hr; ${SEQUENCES}
    create table written (n int);
    create function writes() returns int modifies sql data begin insert into written values (1); return 1; end;
    create user ${READER} identified by 'reader';
    grant select, execute on hr.* to ${READER}`)
  const url = `mysql://${READER}:reader@127.0.0.1:${port}/hr`
  const tables = new Map<string, Columns>()

  const fill = async (name: string, rows: readonly Cell[][]) => {
    const types = Object.values(tables.get(name) ?? {})
    for (let at = 0; at < rows.length; at += 5000) {
      const values = rows
        .slice(at, at + 5000)
        .map(row => `(${types.map((type, i) => admin.escape(cell(row[i] ?? null, type))).join(', ')})`)
      await admin.query(`insert into ${name} values ${values.join(', ')}`)
    }
  }
  const one = async (sql: string) => {
    const [rows] = await admin.query<(unknown[] & { constructor: { name: 'RowDataPacket' } })[]>(sql)
    return rows[0]?.[0]
  }
  const OURS = `from information_schema.processlist where user = '${READER}'`
  const connections = async () => Number(await one(`select count(*) ${OURS}`))
  return {
    url,
    serverAt: address => hrServer(address, pino({ level: 'silent' })),
    async table(name, columns, rows) {
      const list = Object.entries(columns).flatMap(([column, type]) => [
        `${column} ${TYPES[type]}`,
        ...(type === 'key' || column === 'id' ? [`key (${column}${type === 'text' ? '(50)' : ''})`] : []),
      ])
      await admin.query(`drop table if exists ${name}; create table ${name} (${list.join(', ')})`)
      // It has a right of its own, so that one can be taken away.
      await admin.query(`grant select on ${name} to ${READER}`)
      tables.set(name, columns)
      await fill(name, rows)
      await admin.query(`analyze table ${name}; ${FORGET_ROWS_READ}`)
      return name
    },
    async replaceRows(name, rows) {
      await admin.query(`start transaction; delete from ${name}`)
      await fill(name, rows)
      await admin.query('commit')
    },
    numbers: count => `(select seq as n from seq_1_to_${count}) g`,
    connections,
    isHeldBack: async () => HELD_BACK.test(String(await one(`select state ${OURS}`))),
    async endConnections() {
      const [rows] = await admin.query<(unknown[] & { constructor: { name: 'RowDataPacket' } })[]>(
        `select id ${OURS}`,
      )
      for (const [id] of rows) await admin.query(`kill ${id}`)
    },
    async restart() {
      await server.restart()
      admin = await connected()
      await admin.query('use hr')
    },
    async rowsRead(table) {
      while ((await connections()) > 0);
      return Number((await one(rowsRead('hr', table))) ?? 0)
    },
    async forbid(table) {
      await admin.query(`revoke select on hr.* from ${READER}; revoke select on ${table} from ${READER};
        grant select on seq_1_to_3000000 to ${READER}`)
    },
    async allowWriting(table) {
      await admin.query(`grant insert on ${table} to ${READER}`)
    },
    hasWritten: async () => Number(await one('select count(*) from written')) > 0,
    async [Symbol.asyncDispose]() {
      admin.destroy()
      await server.stop()
    },
  }
}

/** A cell as MySQL takes it. */
function cell(value: Cell, type: ColumnType): unknown {
  if (typeof value !== 'string') return value
  if (type === 'boolean') return value === 'true'
  return type === 'moment' ? value.replace('T', ' ').replace('Z', '') : value
}
