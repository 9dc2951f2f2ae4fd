import pg from 'pg'
import { type MappingFile, singleSelect } from './statement.ts'
import {
  CHANNEL,
  functionSchemas,
  installation,
  namedTables,
  qualified,
  removal,
  tablesOf,
  triggeredTables,
  type WatchedTable,
} from './trigger.ts'

/** HR's own statements must not queue behind ours for longer. */
const BEGIN = ['begin read write', `set local lock_timeout = '5s'`]

/** No table, or not one that can have the trigger. */
export class TriggerTableError extends Error {
  readonly code = 'TRIGGER_TABLE'
}

/** The HR database refused the statements; nothing was changed. */
export class TriggerRefusedError extends Error {
  readonly code = 'TRIGGER_REFUSED'
}

/** What will be done, to be printed or carried out. */
export interface TriggerChange {
  /** `names`: the column whose values are named in notifications; null where none is. */
  tables: { table: string; names: string | null }[]
  statements: string[]
}

/**
 * The statements that install the trigger, in place of one that is there.
 * @param names tables instead of those that the mapping reads
 * @throws TriggerTableError, MappingError, HrUnavailableError
 */
export async function planInstallation(
  client: pg.ClientBase,
  mapping: MappingFile,
  names: string[] | null,
): Promise<TriggerChange> {
  const read = await tablesOf(client, { ...mapping, sql: singleSelect(mapping) })
  const tables = names === null ? read : await tablesNamed(client, names, read)
  if (tables.length === 0)
    throw new TriggerTableError(`${mapping.file} reads no table: name the tables with --table`)
  const unfit = tables.filter(({ kind }) => kind !== 'r' && kind !== 'p').map(qualified)
  if (unfit.length > 0)
    throw new TriggerTableError(
      `${unfit.join(', ')} cannot have the trigger (no tables of this database): name the tables that change with --table`,
    )
  const { statements } = await planRemoval(client)
  return {
    tables: tables.map(table => ({ table: qualified(table), names: table.useridColumn })),
    // Whoever listens reads what changed before the trigger was there.
    statements: [...statements, ...installation(tables), `notify ${CHANNEL}`],
  }
}

async function tablesNamed(
  client: pg.ClientBase,
  names: string[],
  read: WatchedTable[],
): Promise<WatchedTable[]> {
  const tables = await namedTables(client, names)
  if (tables.length < new Set(names).size)
    throw new TriggerTableError(
      `--table holds ${names.join(' ')} but not each is a table, once: write schema.table`,
    )
  return tables.map(table => read.find(one => qualified(one) === qualified(table)) ?? table)
}

/** The statements that remove the trigger, from wherever it is. */
export async function planRemoval(client: pg.ClientBase): Promise<TriggerChange> {
  const tables = await triggeredTables(client)
  return {
    tables: tables.map(table => ({ table: qualified(table), names: null })),
    statements: removal(tables, await functionSchemas(client)),
  }
}

/** The statements as one transaction, for somebody else to run. */
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
    throw new TriggerRefusedError(`the HR database refuses it: ${remedy(error)}. Nothing was changed`, {
      cause: error,
    })
  }
}

function remedy(error: pg.DatabaseError): string {
  if (error.code === '42501' || error.code === '25006')
    return `${error.message}; give --url with a user who owns the tables, or have a DBA run what --print prints`
  if (error.code === '55P03') return 'a table is in use for longer than 5 s; try again at a quieter time'
  return error.message
}
