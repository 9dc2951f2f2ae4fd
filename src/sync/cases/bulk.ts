import { onlyRow, type Pool, placeholders, withLiveConnection } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import { Loop } from '../../lib/loop.ts'
import { message } from '../../texts/message.ts'
import { type Asker, asAsker, CommandError } from '../runs/commands.ts'
import { type CaseFilter, caseMatches } from './case-filter.ts'
import { type CaseState, openStates } from './cases.ts'

/**
 * A person's action on many cases at once: `dirsync.bulk_action` and its cases in `dirsync.bulk_item`. A preview lists the
 * cases and changes nothing; once it is confirmed, a process with the console's or the scheduler's role carries it out in
 * batches. The outcome of a case is written in the transaction that acts on it, so that no case is acted on twice.
 */
export type BulkAction = 'retry' | 'snooze' | 'ignore' | 'assign' | 'comment'

export type BulkRequest = { of: { filter: CaseFilter } | { ids: readonly number[] } } & (
  | { action: 'retry' }
  | { action: 'snooze'; until: Date; reason?: string | null | undefined }
  | { action: 'ignore'; reason: string }
  | { action: 'assign'; assignee: string | null }
  | { action: 'comment'; text: string }
)

export interface BulkPreview {
  id: number
  action: BulkAction
  /** Number of selected cases. */
  total: number
  /** Whether more matched than one action takes: those are left out. */
  more: boolean
  categories: Record<string, number>
  states: Partial<Record<CaseState, number>>
  /** Of the total, the cases that the action applies to, and those that are resolved or ignored already. */
  willAct: number
  willSkip: number
  /** Number of runs that a retry makes. */
  runs: number
  sample: BulkSample[]
}

/** A case of a preview. */
interface BulkSample {
  id: number
  enterprise_code: string
  entity: string
  entity_key: string
  field: string
  category: string
  state: CaseState
  occurrences: number
  last_failed_at: Date
}

/** Most cases of one action. */
export const MOST_CASES = 100_000
/** Cases per transaction, the most that stopping an action waits for. */
const BATCH = 200
/** Most cases that one run retries. */
const CASES_OF_RUN = 10_000
const SAMPLE = 20

/** The states in which an action applies to a case. SQL says the same in `dirsync.bulk_skip_reason`. */
export const POSSIBLE: Record<BulkAction, (state: CaseState) => boolean> = {
  retry: state => state !== 'resolved',
  snooze: state => openStates.has(state),
  ignore: state => openStates.has(state),
  assign: () => true,
  comment: () => true,
}

/**
 * Selects the cases as they are now, and says what would happen. Nothing happens to them; an unconfirmed preview is deleted
 * after a day.
 * @throws CommandError when an argument is wrong, or no case matches
 */
export async function previewBulk(pool: Pool, asker: Asker, request: BulkRequest): Promise<BulkPreview> {
  const { of, action } = request
  const filter = 'filter' in of ? of.filter : null
  if ('ids' in of && of.ids.length > MOST_CASES)
    throw new CommandError(
      'COMMAND_INVALID',
      message('said.too_many_cases', { limit: MOST_CASES, count: of.ids.length }),
    )
  return asAsker(pool, asker, async client => {
    const { rows: made } = await client.query<{ id: number }>(
      'select dirsync.bulk_begin($1, $2, $3, $4) as id',
      [action, filter, argumentsOf(request), asker.actor],
    )
    const { id } = onlyRow(made)

    const { values, place } = placeholders()
    const which = 'ids' in of ? `d.id = any (${place(of.ids)})` : caseMatches(of.filter, place)
    const { rows } = await client.query<{ category: string; state: CaseState; n: number; named: number }>(
      `with matching as materialized (
         select d.id, d.version, d.category, d.state from dirsync.dead_letter d where ${which}
         order by d.id limit ${place(MOST_CASES + 1)}
       ), named as materialized (
         select * from matching order by id limit ${place(MOST_CASES)}
       ), item as (
         insert into dirsync.bulk_item (bulk_id, dead_letter_id, version)
         select ${place(id)}, id, version from named
       )
       select category, state, count(*)::int as n, (select count(*)::int from matching) as named
       from named group by category, state`,
      values,
    )
    const [first] = rows
    if (first === undefined) throw new CommandError('COMMAND_NOT_FOUND', message('said.no_matching_case'))
    const sum = (counts: { n: number }[]) => counts.reduce((total, { n }) => total + n, 0)
    const by = (name: 'category' | 'state') =>
      Object.fromEntries([...Map.groupBy(rows, row => row[name])].map(([key, group]) => [key, sum(group)]))
    const total = sum(rows)
    const more = first.named > total
    const [categories, states] = [by('category'), by('state')]
    await client.query(
      'update dirsync.bulk_action set total = $2, more = $3, categories = $4, states = $5 where id = $1',
      [id, total, more, categories, states],
    )

    const { rows: sample } = await client.query<BulkSample>(
      `select d.id, enterprise_code, entity, entity_key, field, category, state, occurrences, last_failed_at
       from (select dead_letter_id from dirsync.bulk_item where bulk_id = $1 order by dead_letter_id limit $2) i
       join dirsync.dead_letter d on d.id = i.dead_letter_id order by d.id`,
      [id, SAMPLE],
    )
    const willAct = sum(rows.filter(({ state }) => POSSIBLE[action](state)))
    const runs = action === 'retry' ? Math.ceil(willAct / CASES_OF_RUN) : 0
    return { id, action, total, more, categories, states, willAct, willSkip: total - willAct, runs, sample }
  })
}

function argumentsOf(request: BulkRequest): Record<string, unknown> {
  const { of: _, action: __, ...given } = request
  return given
}

/**
 * Confirms a preview: records the action, and the runner begins.
 * @throws CommandError when the preview is gone, or was confirmed already
 */
export async function startBulk(pool: Pool, asker: Asker, id: number): Promise<void> {
  await asAsker(pool, asker, client => client.query('select dirsync.bulk_start($1, $2)', [id, asker.actor]))
}

/**
 * Stops an action after the current batch, or discards a preview. Finished cases stay as they are.
 * @throws CommandError when there is no such action, or it has ended
 */
export async function stopBulk(pool: Pool, asker: Asker, id: number): Promise<void> {
  await asAsker(pool, asker, client => client.query('select dirsync.bulk_stop($1)', [id]))
}

/**
 * Takes a bulk ignore, snooze or assignment back in the background, case by case: those to which nothing happened since.
 * @returns the number of the action that does it
 * @throws CommandError when it is too late, or was done already
 */
export function undoBulk(pool: Pool, asker: Asker, id: number): Promise<number> {
  return asAsker(pool, asker, async client => {
    const { rows } = await client.query<{ id: number }>('select dirsync.bulk_undo($1, $2) as id', [
      id,
      asker.actor,
    ])
    return onlyRow(rows).id
  })
}

/** How often to check for an action without a notification. */
const IDLE_MS = 1000

/**
 * Carries out confirmed actions, batch by batch. Any number of processes may run it: one at a time works on an action, and when
 * it dies the next one continues there. It stops after the current batch.
 */
export function bulkRunner({ pool, logger }: { pool: Pool; logger: Logger }): Loop {
  return new Loop({
    async step() {
      const { rows } = await withLiveConnection(pool, client =>
        client.query<{ id: number | null }>('select dirsync.bulk_step($1, $2) as id', [BATCH, CASES_OF_RUN]),
      )
      return onlyRow(rows).id !== null
    },
    pauseMs: IDLE_MS,
    failed: error => logger.error({ error }, 'a bulk action stopped; trying again'),
  })
}
