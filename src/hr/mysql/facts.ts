import type { Connection } from 'mysql2'
import { message } from '../../texts/message.ts'
import type { Statement } from '../rows.ts'
import { type HrFacts, type HrTable, MANY_ROWS, type TableReadWhole } from '../server.ts'
import { quotedName } from '../statement.ts'
import { cells } from './connection.ts'
import { MYSQL } from './query.ts'

const PRODUCTS = ['MariaDB', 'TiDB', 'OceanBase', 'MySQL'] as const

/** Values of sql_mode that change the meaning of a statement. */
const OTHER_MEANINGS = new Set([
  'ANSI_QUOTES',
  'PIPES_AS_CONCAT',
  'NO_BACKSLASH_ESCAPES',
  'HIGH_NOT_PRECEDENCE',
])

/** The facts that doctor reports about a MySQL or MariaDB server. */
export async function readFacts(connection: Connection): Promise<HrFacts> {
  const texts = textsFrom(connection)
  const [[version = ''] = []] = await texts('select version()')
  // Its name has changed: MariaDB before 11.1 has only the first, MySQL from 8.0 on the second.
  const [[, readOnly = ''] = []] = await texts(
    "show session variables where variable_name in ('tx_read_only', 'transaction_read_only')",
  )
  const [[writable = ''] = []] = await texts(WRITABLE)
  const [[zone, modes = ''] = []] = await texts('select @@global.time_zone, @@global.sql_mode')
  const [[charset, sessionZone] = []] = await texts('select @@character_set_connection, @@time_zone')
  const product = PRODUCTS.find(name => version.toLowerCase().includes(name.toLowerCase())) ?? 'MySQL'
  return {
    product: `${product} ${/^[\d.]+/.exec(version)?.[0] ?? version}`,
    readOnly: readOnly.toLowerCase(),
    writableTables: Number(writable),
    session: message('doctor.hr_session', {
      zone: sessionZone ?? '',
      own: zone ?? '',
      charset: charset ?? '',
    }),
    unheeded: modes.split(',').filter(mode => OTHER_MEANINGS.has(mode)),
  }
}

/** Queries that return texts; null becomes the empty one. */
function textsFrom(connection: Connection): (sql: string) => Promise<string[][]> {
  return async sql =>
    (await cells(connection, sql)).rows.map(row => row.map(cell => cell?.toString('utf8') ?? ''))
}

/**
 * The user's tables and views: those of the address' own database first, the largest first. The server lists only those that
 * one has a right to.
 */
export async function readTables(connection: Connection): Promise<HrTable[]> {
  const { rows } = await cells(
    connection,
    `select if(table_schema = database(), '', table_schema), table_name, table_rows, ${READABLE}
     from information_schema.tables t
     where table_schema not in ('mysql', 'sys', 'information_schema', 'performance_schema')
       and table_type in ('BASE TABLE', 'SYSTEM VERSIONED', 'VIEW')
     order by table_schema <> database(), data_length desc, table_schema, table_name`,
  )
  return rows.map(row => {
    const [schema = '', name = '', count, readable] = row.map(cell => cell?.toString('utf8'))
    const names = [schema, name].filter(part => part !== '')
    return {
      name: names.join('.'),
      sql: names.map(part => quotedName(part, MYSQL)).join('.'),
      rows: count === undefined ? null : Number(count),
      ...(readable !== undefined && { readable: readable.split('\0') }),
    }
  })
}

/** The columns of a table `t` for which the user has a column privilege; null without any. */
const READABLE = `
  (select group_concat(p.column_name separator '\\0') from information_schema.column_privileges p
   where p.privilege_type = 'SELECT' and p.table_schema = t.table_schema and p.table_name = t.table_name)`

/**
 * How many tables the user may write to: by a right of its own on all, on those of a database, or on some, or by a role. The views of
 * rights leave those of roles out. A column's include them, though not the right to delete; TiDB and OceanBase, at least in older
 * versions, list all rights there, whoever asks.
 */
const WRITABLE = `
  select count(*)
  from information_schema.tables t
  join (select concat('''', substring_index(current_user(), '@', 1), '''@''',
                      substring_index(current_user(), '@', -1), '''') as grantee) me
  left join (select distinct table_schema, table_name from information_schema.columns
             where privileges regexp 'insert|update' and lower(version()) not regexp 'tidb|oceanbase') c
    on c.table_schema = t.table_schema and c.table_name = t.table_name
  where t.table_type in ('BASE TABLE', 'SYSTEM VERSIONED')
    and t.table_schema not in ('mysql', 'sys', 'information_schema', 'performance_schema')
    and (c.table_name is not null
         or exists (select 1 from information_schema.user_privileges p
                    where p.grantee = me.grantee and p.privilege_type in ('INSERT', 'UPDATE', 'DELETE'))
         or exists (select 1 from information_schema.schema_privileges p
                    where p.grantee = me.grantee and p.privilege_type in ('INSERT', 'UPDATE', 'DELETE')
                      and t.table_schema like p.table_schema)
         or exists (select 1 from information_schema.table_privileges p
                    where p.grantee = me.grantee and p.privilege_type in ('INSERT', 'UPDATE', 'DELETE')
                      and p.table_schema = t.table_schema and p.table_name = t.table_name))`

// Plans

/** The user may read a view, but not its underlying tables. */
const NOT_TO_BE_EXPLAINED = new Set<unknown>([1345])

/**
 * The big tables that a look-up scans in full. The server names them as the SELECT does; in a note it writes the SELECT as it
 * understood it, with the tables' own names. From 8 on MySQL has to be asked for the old format, which MariaDB and 5.7 have anyway.
 * @param type of the column that is compared
 */
export async function readWhole(
  connection: Connection,
  { text }: Statement,
  userid: string,
  type: string | undefined,
): Promise<TableReadWhole[]> {
  const texts = textsFrom(connection)
  try {
    const { rows, fields } = await cells(
      connection,
      `explain /*M! extended */ /*!80000 format=traditional */ ${text}`,
    )
    const notes = (await texts('show warnings')).filter(([, code]) => code === '1003')
    const note = notes.map(([, , message]) => message).join('\n')
    const at = (name: string) => fields.findIndex(field => field.name === name)
    const [table, access, count] = [at('table'), at('type'), at('rows')]
    return rows
      .map(row => ({
        alias: row[table]?.toString('utf8') ?? '',
        access: row[access]?.toString('latin1'),
        rows: Number(row[count]),
      }))
      .filter(({ alias, access }) => !alias.startsWith('<') && (access === 'ALL' || access === 'index'))
      .filter(({ rows }) => rows >= MANY_ROWS)
      .map(({ alias, rows }) => {
        const name = tableOf(alias, note)
        const column = comparedIn(alias, userid, note)
        const part = type === 'text' ? '(64)' : ''
        return {
          table: name,
          rows,
          index: column && `create index dirsync_userid on ${name} (${column}${part})`,
        }
      })
  } catch (error) {
    if (NOT_TO_BE_EXPLAINED.has((error as { errno?: number }).errno)) return []
    throw error
  }
}

const QUOTED = '(`(?:[^`]|``)+`)'

function tableOf(alias: string, note: string): string {
  const tables = [...note.matchAll(new RegExp(`${QUOTED}\\.${QUOTED} ${QUOTED}`, 'g'))]
  const own = quotedName(alias, MYSQL)
  return tables.find(([, , , called]) => called === own)?.[2] ?? own
}

/** The quoted column that is compared with a value directly; null where it is computed first. */
function comparedIn(alias: string, value: string, note: string): string | null {
  const compared = note.matchAll(new RegExp(`${QUOTED}\\.${QUOTED} (?:= |in \\()(?:UUID)?'?${value}\\b`, 'g'))
  const own = quotedName(alias, MYSQL)
  return [...compared].find(([, of]) => of === own)?.[2] ?? null
}
