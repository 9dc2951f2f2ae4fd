import { randomUUID } from 'node:crypto'
import { inWords, type Said } from '../../src/texts/message.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/** A hash as HR rows have them. */
export const hash = (): string => randomUUID()

/** Records a failure the way the engine does; what is not given is that of an employee's duplicate mobile. Returns the case. */
export function fail(store: StoreUnderTest, given: Record<string, unknown> = {}): Promise<number> {
  const differs = withMessages(given)
  return store.value('select dirsync.record_failure($1)', [
    JSON.stringify({
      enterprise_code: '',
      entity: 'employee',
      entity_key: 'e1',
      operation: 'update-employee',
      field: 'mobile',
      category: 'duplicate_mobile',
      message: inWords('the number is taken'),
      remedy: inWords('correct it in HR'),
      state: 'open',
      ...differs,
    }),
  ])
}

/** Tables whose messages and errors are stored as data. */
const HAVE_MESSAGES = new Set([
  'attempt',
  'dead_letter',
  'dry_run',
  'halt',
  'plan_reading',
  'refund',
  'sync_run',
  'topup',
])

/** Texts stand for words of others. */
function withMessages(columns: Record<string, unknown>): Record<string, unknown> {
  const isMessage = (name: string, value: unknown) =>
    ['message', 'remedy', 'error'].includes(name) && typeof value === 'string'
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => [
      name,
      isMessage(name, value) ? inWords(String(value)) : value,
    ]),
  )
}

/** A case as it stands. */
interface Case {
  id: number
  entity_key: string
  field: string
  category: string
  message: Said
  state: string
  blocked_by: string | null
  source_hash: string | null
  occurrences: number
  version: number
  assignee: string | null
  note: string | null
  next_retry_at: Date | null
  snooze_until: Date | null
  first_run_id: number | null
  last_run_id: number | null
  resolution: string | null
  resolved_by: string | null
  resolved_at: Date | null
}

export async function caseOf(store: StoreUnderTest, id: number): Promise<Case> {
  const [found] = await store.rows<Case>('select * from dirsync.dead_letter where id = $1', [id])
  if (!found) throw new Error(`there is no case ${id}`)
  return found
}

/** The story of a case: what happened, by whom and why. */
export function story(store: StoreUnderTest, id: number) {
  return store.rows<{ event: string; actor: string; note: string | null; run_id: number | null }>(
    `select event, actor, coalesce(note, dirsync.in_language('en', said)) as note, run_id from dirsync.dead_letter_event where dead_letter_id = $1 order by id`,
    [id],
  )
}

/** A run in the given state. Returns its number. */
export function plantRun(store: StoreUnderTest, differs: Record<string, unknown> = {}): Promise<number> {
  const run = { kind: 'changes', state: 'running', ...withMessages(differs) }
  const columns = Object.keys(run)
  return store.value(
    `insert into dirsync.sync_run (${columns.join(', ')})
     select ${columns.join(', ')} from jsonb_populate_record(null::dirsync.sync_run, $1) returning id`,
    [JSON.stringify(run)],
  )
}

/** Rows of any table; what is not given has its default. */
export async function plant(
  store: StoreUnderTest,
  table: string,
  ...rows: Record<string, unknown>[]
): Promise<void> {
  for (const given of rows) {
    const row = HAVE_MESSAGES.has(table) ? withMessages(given) : given
    const columns = Object.keys(row).join(', ')
    await store.pool.query(
      `insert into dirsync.${table} (${columns}) select ${columns} from jsonb_populate_record(null::dirsync.${table}, $1)`,
      [JSON.stringify(row)],
    )
  }
}

/** Work of the outbox, at the priority of a run of changes. */
export function plantWork(
  store: StoreUnderTest,
  entityKey: string,
  differs: Record<string, unknown> = {},
): Promise<void> {
  const work = { operation: 'update-employee', entity_key: entityKey, priority: 3, ...differs }
  return plant(store, 'pending', work)
}
