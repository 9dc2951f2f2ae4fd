import pg from 'pg'
import { NO_RIGHT, READ_ONLY } from '../../lib/failure.ts'
import { shellWord } from '../../lib/text.ts'
import { inWords, type Message, message, SaidError } from '../../texts/message.ts'
import { readMappingFile } from '../mapping.ts'
import type { SourceSettings } from '../source-list.ts'
import type { MappingFile } from '../statement.ts'
import { singleSelect } from '../statement.ts'
import { connectClient, ONE_STATEMENT } from './connection.ts'
import { toHrError } from './errors.ts'
import { FunctionGate } from './gate.ts'
import { POSTGRES } from './query.ts'

/**
 * The optional trigger in HR, which notifies dirsync of changes at once. A person installs it; change-listener.ts listens.
 * Everything else in dirsync only reads HR.
 */

/** Notified by the trigger: with a JSON array of user ids, or with an empty text when anything may have changed. */
export const CHANNEL = 'dirsync_hr'

const FUNCTION = 'dirsync_hr_changed'
/** More user ids than this are not named: dirsync reads every row then, which costs HR less than the notification would. */
const MOST_NAMED = 50

/** HR's own statements must not queue behind ours for longer. */
const BEGIN = ['begin read write', `set local lock_timeout = '5s'`]

/** No table, or not one that can have the trigger. */
export class TriggerTableError extends SaidError {
  readonly code = 'TRIGGER_TABLE'
}

/** The HR database refused the statements; nothing was changed. */
export class TriggerRefusedError extends SaidError {
  readonly code = 'TRIGGER_REFUSED'
}

/** The planned statements, to be printed or run. */
interface TriggerChange {
  /** `names`: the column whose values are named in notifications; null for none. */
  tables: { table: string; names: string | null }[]
  /** Tables whose trigger stays, as other sources read them, or may. */
  kept: TriggeredTable[]
  statements: string[]
}

/** Whether the trigger on a table is a source's to remove. */
type IsOurs = (table: TriggeredTable) => boolean

/**
 * The statements that install the trigger, replacing an existing one.
 * @param names tables instead of those that the mapping reads
 * @throws TriggerTableError, MappingError, HrUnavailableError
 */
export async function planInstallation(
  client: pg.ClientBase,
  mapping: MappingFile,
  names: string[] | null,
  isOurs: IsOurs = () => true,
): Promise<TriggerChange> {
  const read = await tablesOf(client, mapping)
  const tables = names === null ? read : await tablesNamed(client, names, read)
  if (tables.length === 0)
    throw new TriggerTableError(message('said.mapping_without_table', { file: mapping.file }))
  const unfit = tables.filter(table => !isFit(table)).map(tableSql)
  if (unfit.length > 0) throw new TriggerTableError(message('said.table_unfit', { names: unfit }))
  const schemas = [...new Set(tables.map(table => table.schema))]
  const own = tables.map(tableSql)
  const { kept, statements } = await removal(client, table => own.includes(tableSql(table)) || isOurs(table))
  return {
    kept,
    tables: tables.map(table => ({ table: tableSql(table), names: table.useridColumn })),
    statements: [
      ...statements,
      ...schemas.map(functionStatement),
      ...tables.flatMap(triggerStatements),
      // Listeners read the changes from before the trigger existed.
      `notify ${CHANNEL}`,
    ],
  }
}

/**
 * The statements that remove the trigger.
 * @param names tables instead of those that are the source's
 * @throws TriggerTableError
 */
export async function planRemoval(
  client: pg.ClientBase,
  names: string[] | null = null,
  isOurs: IsOurs = () => true,
): Promise<TriggerChange> {
  if (names === null) return removal(client, isOurs)
  const named = (await tablesNamed(client, names, [])).map(tableSql)
  return { ...(await removal(client, table => named.includes(tableSql(table)))), kept: [] }
}

async function removal(client: pg.ClientBase, isTaken: IsOurs): Promise<TriggerChange> {
  const triggered = await triggeredTables(client)
  const tables = triggered.filter(isTaken)
  const { rows: schemas } = await client.query(
    `select n.nspname as name from pg_proc p join pg_namespace n on n.oid = p.pronamespace
     where p.proname = $1
       and not exists (select from pg_trigger t where t.tgfoid = p.oid and t.tgrelid <> all ($2)) order by 1`,
    [FUNCTION, tables.map(({ oid }) => oid)],
  )
  return {
    tables: tables.map(table => ({ table: tableSql(table), names: null })),
    kept: triggered.filter(table => !isTaken(table)),
    statements: [
      ...tables.flatMap(table =>
        table.triggers.map(name => `drop trigger ${pg.escapeIdentifier(name)} on ${tableSql(table)}`),
      ),
      ...schemas.map(({ name }) => `drop function ${pg.escapeIdentifier(name)}.${FUNCTION}()`),
    ],
  }
}

/**
 * Ours are the triggers on tables that no other source reads: on all of these where all tables of the others are known, else on those
 * that the source reads itself; none where another source's mapping cannot be read.
 * @param beside the other sources in the database
 */
export async function triggersOfSource(
  source: SourceSettings,
  beside: readonly SourceSettings[],
): Promise<IsOurs> {
  const others = await tablesRead(beside)
  if (!others.areRead) return () => false
  const own = others.areAll ? null : (await tablesRead([source])).names
  return table => !others.names.includes(tableSql(table)) && (own === null || own.includes(tableSql(table)))
}

/**
 * The tables that the sources read, tableSql, as the user of each sees them; whether none is unknown, and whether all their mappings
 * could be read.
 */
export async function tablesRead(
  sources: readonly SourceSettings[],
): Promise<{ names: string[]; areAll: boolean; areRead: boolean }> {
  const read = await Promise.all(sources.map(source => tablesReadBy(source).catch(() => null)))
  return {
    names: read.flatMap(tables => tables ?? []).map(tableSql),
    areAll: read.every(tables => tables !== null && areAllKnown(tables)),
    areRead: !read.includes(null),
  }
}

async function tablesReadBy({ address, employeesSql: file }: SourceSettings): Promise<WatchedTable[]> {
  const client = await connectClient(address)
  try {
    return await tablesOf(client, { file, sql: await readMappingFile(file) })
  } finally {
    await client.end()
  }
}

/** The statements as one transaction, for another user to run. */
export function script(statements: readonly string[]): string[] {
  return [...BEGIN, ...statements, 'commit'].map(statement => `${statement};`)
}

/**
 * Runs the statements in one transaction.
 * @throws TriggerRefusedError
 */
export async function carryOut(client: pg.ClientBase, statements: readonly string[]): Promise<void> {
  try {
    for (const statement of [...BEGIN, ...statements]) await client.query(statement)
    await client.query('commit')
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error
    await client.query('rollback')
    throw new TriggerRefusedError(message('said.trigger_refused', { reason: remedy(error) }), {
      cause: error,
    })
  }
}

function remedy(error: pg.DatabaseError): Message {
  if (error.code === NO_RIGHT || error.code === READ_ONLY)
    return message('said.trigger_needs_owner', { words: error.message })
  if (error.code === '55P03') return message('said.table_in_use')
  return inWords(error.message)
}

/** A table on which the trigger is installed. */
interface TriggeredTable {
  oid: number
  schema: string
  name: string
  triggers: string[]
  /** Whether HR has switched any of them off. */
  isDisabled: boolean
}

export async function triggeredTables(client: pg.ClientBase): Promise<TriggeredTable[]> {
  const { rows } = await client.query<TriggeredTable>(
    `select c.oid, n.nspname as schema, c.relname as name,
            array_agg(t.tgname::text order by t.tgname) as triggers,
            bool_or(t.tgenabled not in ('O', 'A')) as "isDisabled"
     from pg_trigger t join pg_proc p on p.oid = t.tgfoid join pg_class c on c.oid = t.tgrelid
     join pg_namespace n on n.oid = c.relnamespace
     where p.proname = $1 and not t.tgisinternal group by 1, 2, 3 order by 2, 3`,
    [FUNCTION],
  )
  return rows
}

/**
 * Of the tables with the trigger those that the mapping reads, and those that no source reads: one of these may have been replaced
 * by a new one under its name, and kept the trigger. Where tables of other sources alone are unknown, these may be theirs.
 * `mustName`: those to install it on have to be named, as not all that the mapping reads can have it.
 * @param others what other sources read
 * @throws MappingError, HrUnavailableError
 */
export async function triggersOf(
  client: pg.ClientBase,
  mapping: MappingFile,
  others: Awaited<ReturnType<typeof tablesRead>>,
): Promise<{ tables: TriggeredTable[]; without: string[]; strays: string[]; mustName: boolean }> {
  const read = await tablesOf(client, mapping)
  const own = read.map(tableSql)
  const mustName = !areAllKnown(read)
  const hasUnread = others.areAll || mustName
  const tables = (await triggeredTables(client)).filter(
    table => own.includes(tableSql(table)) || (hasUnread && !others.names.includes(tableSql(table))),
  )
  const triggered = tables.map(tableSql)
  return {
    tables,
    without: read.filter(table => isFit(table) && !triggered.includes(tableSql(table))).map(tableWord),
    strays: tables.filter(table => !own.includes(tableSql(table))).map(tableWord),
    mustName,
  }
}

/** A table that the employees' mapping reads. */
interface WatchedTable {
  schema: string
  name: string
  /** `pg_class.relkind`: `r` a table, `p` a partitioned one; others cannot have the trigger. */
  kind: string
  /** The column with the mapping's user ids; null where they come from elsewhere, are computed, or the table is read twice. */
  useridColumn: string | null
}

function isFit({ kind }: WatchedTable): boolean {
  return kind === 'r' || kind === 'p'
}

/** Others, as a materialized view, have tables behind them that are not known. */
function areAllKnown(tables: readonly WatchedTable[]): boolean {
  return tables.length > 0 && tables.every(isFit)
}

/**
 * The tables behind a mapping, as the server plans it: views are expanded, partitions count as their parent. Nothing is read or
 * written.
 * @throws MappingError, HrUnavailableError
 */
async function tablesOf(client: pg.ClientBase, mapping: MappingFile): Promise<WatchedTable[]> {
  const { file } = mapping
  const sql = singleSelect(mapping, POSTGRES)
  const before = 'explain (format json, verbose, costs off) select * from (\n'
  const ask = (text: string) => client.query({ text, ...ONE_STATEMENT })
  try {
    await client.query('begin read only')
    await new FunctionGate().check(client, { file, sql })
    const plan = await ask(`${before}${sql}\n) m`)
    const names = [...relations(plan.rows[0]['QUERY PLAN'])]
    const { fields } = await ask(`select * from (\n${sql}\n) m limit 0`)
    const userid = fields.find(field => field.name === 'userid')
    return await namedTables(client, names, userid)
  } catch (error) {
    throw toHrError(error, { mapping: { file, sql }, before })
  } finally {
    await client.query('rollback').catch(() => undefined) // the connection may be gone
  }
}

/**
 * The named tables; those that do not exist are left out.
 * @param names each as often as it is read
 * @param userid the source of the mapping's user ids, by the server's answer
 */
async function namedTables(
  client: pg.ClientBase,
  names: string[],
  userid: Pick<pg.FieldDef, 'tableID' | 'columnID'> = { tableID: 0, columnID: 0 },
): Promise<WatchedTable[]> {
  const { rows } = await client.query<WatchedTable>(
    `select n.nspname as schema, c.relname as name, c.relkind::text as kind,
            -- Read twice, its rows may also be in those of other employees.
            case when max(named.reads) = 1 then a.attname end as "useridColumn"
     from (select name, count(*) as reads from unnest($1::text[]) as n (name) group by name) named
     join pg_class c
       on c.oid = coalesce(pg_partition_root(to_regclass(named.name)), to_regclass(named.name))
     join pg_namespace n on n.oid = c.relnamespace
     left join pg_attribute a on a.attrelid = c.oid and a.attrelid = $2 and a.attnum = $3
     where n.nspname <> 'pg_catalog' group by 1, 2, 3, a.attname order by 1, 2`,
    [names, userid.tableID, userid.columnID],
  )
  return rows
}

/** Every relation that a plan of EXPLAIN reads, qualified and quoted. */
function* relations(node: unknown): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  if ('Relation Name' in node && 'Schema' in node)
    yield `${pg.escapeIdentifier(String(node.Schema))}.${pg.escapeIdentifier(String(node['Relation Name']))}`
  for (const inner of Object.values(node)) yield* relations(inner)
}

/** The tables that a person named. */
async function tablesNamed(
  client: pg.ClientBase,
  names: string[],
  read: WatchedTable[],
): Promise<WatchedTable[]> {
  const tables = await namedTables(client, names)
  if (tables.length < new Set(names).size)
    throw new TriggerTableError(
      message('said.setting_holds', {
        name: '--table',
        held: names.join(' '),
        wanted: message('said.wanted_tables'),
      }),
    )
  return tables.map(table => read.find(one => tableSql(one) === tableSql(table)) ?? table)
}

interface TableName {
  schema: string
  name: string
}

/** The table's name as SQL writes it. */
export function tableSql({ schema, name }: TableName): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(name)}`
}

/** The table's name as a person types it for --table in a shell. */
export function tableWord({ schema, name }: TableName): string {
  return shellWord([schema, name].map(part => (isPlain(part) ? part : pg.escapeIdentifier(part))).join('.'))
}

/** Whether PostgreSQL takes a name as it is without quotes. */
function isPlain(name: string): boolean {
  return /^[a-z_\u0080-\uffff][\w\u0080-\uffff]*$/.test(name) && name === name.toLowerCase()
}

/** Transition tables cost a statement far less than a trigger per row, and a notification is sent once per transaction. */
function functionStatement(schema: string): string {
  return `create or replace function ${pg.escapeIdentifier(schema)}.${FUNCTION}() returns trigger
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  userids text;
begin
  if tg_op <> 'TRUNCATE' then
    if not exists (select from changed) then
      return null;
    end if;
  end if;
  -- A few user ids are named. For many, for deletions and for other tables dirsync only learns that something
  -- changed.
  if tg_op in ('INSERT', 'UPDATE') and tg_nargs = 1 then
    begin
      execute format('select case when count(*) <= ${MOST_NAMED} then jsonb_agg(distinct key)::text end
                      from (select %1$I::text as key from changed where %1$I is not null limit ${MOST_NAMED + 1}) k', tg_argv[0])
      into userids;
    exception when others then
      null; -- the column is not there any more: HR's own statement must not fail for it
    end;
  end if;
  perform pg_notify('${CHANNEL}', case when octet_length(userids) < 8000 then userids else '' end);
  return null;
end $$`
}

function triggerStatements(table: WatchedTable): string[] {
  const argument = table.useridColumn === null ? '' : pg.escapeLiteral(table.useridColumn)
  const call = (transition: string, given = '') =>
    `${transition}for each statement execute function ${pg.escapeIdentifier(table.schema)}.${FUNCTION}(${given})`
  const create = (event: string, rest: string) =>
    `create trigger dirsync_hr_${event} after ${event} on ${tableSql(table)} ${rest}`
  return [
    create('insert', call('referencing new table as changed ', argument)),
    create('update', call('referencing new table as changed ', argument)),
    create('delete', call('referencing old table as changed ')),
    create('truncate', call('')),
  ]
}
