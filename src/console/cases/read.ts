import { z } from 'zod'
import type { EmployeeKey } from '../../directory/employee.ts'
import { decodeCursor, MOMENT_AND_ID, momentKey, momentOfKey, onePage, type Paged } from '../../lib/cursor.ts'
import {
  countUpTo,
  MOST_COUNTED,
  onlyRow,
  type PlaceValue,
  type Pool,
  placeholders,
} from '../../lib/database.ts'
import {
  type CaseFilter,
  caseMatches,
  includesClosed,
  LOWER_KEY,
  narrow,
  statesOf,
} from '../../sync/cases/case-filter.ts'
import { FOR_A_PERSON, isOneOf, openStates, UNRESOLVED } from '../../sync/cases/cases.ts'
import { areRetriesStopped, CAN_BE_RETRIED, IS_LEFT_ALONE, NEXT_TRY } from '../../sync/cases/retries.ts'
import { employeeStatus, SHOWN_EMPLOYEE_STATUSES } from '../../sync/health/figures.ts'
import { HELD_DECISION } from '../../sync/outbox/employee.ts'
import { haltWhere, isInForceFor } from '../../sync/outbox/halts.ts'
import { UNDOABLE_STEPS } from '../../sync/runs/commands.ts'
import { HELD_RUNS } from '../../sync/runs/run.ts'
import type { MessageKey } from '../../texts/message.ts'
import { Attempt, PendingWork } from '../employees/story.ts'
import { DeadLetter, DeadLetterEvent, HasSource, RetriesStopped, readCase } from './dead-letter.ts'

/**
 * Cases as pages show them, among a hundred thousand open and a million resolved ones. No page counts or sorts them
 * all: each page is read from an index, and counts come from the tally.
 */

const MOMENT = {
  position: MOMENT_AND_ID,
  key: momentKey,
  value: momentOfKey,
}

const TEXT = {
  position: z.tuple([z.string(), z.int().nonnegative()]),
  key: (column: string) => column,
  value: (place: string) => `${place}::text`,
}

/**
 * The orders that an index keeps. Those by the latest failure are for all cases, the others for cases that are neither
 * resolved nor ignored.
 */
const BY = {
  last_failed: { sql: 'd.last_failed_at', ...MOMENT },
  first_failed: { sql: 'd.first_failed_at', ...MOMENT },
  failures: {
    sql: 'd.occurrences',
    position: MOMENT_AND_ID,
    key: (column: string) => column,
    value: (place: string) => `${place}::integer`,
  },
  key: {
    sql: LOWER_KEY,
    ...TEXT,
  },
  state: { sql: 'd.state', ...TEXT },
  cause: { sql: 'd.category', ...TEXT },
  assignee: { sql: `coalesce(d.assignee, '')`, ...TEXT },
  // What is not tried again by itself comes last.
  next_try: { sql: `coalesce(d.next_retry_at, '2100-01-01 00:00:00+00'::timestamptz)`, ...MOMENT },
} as const

export const CASE_ORDERS = {
  latest: { by: 'last_failed', direction: 'desc' },
  earliest: { by: 'last_failed', direction: 'asc' },
  oldest: { by: 'first_failed', direction: 'asc' },
  newest: { by: 'first_failed', direction: 'desc' },
  most: { by: 'failures', direction: 'desc' },
  fewest: { by: 'failures', direction: 'asc' },
  key: { by: 'key', direction: 'asc' },
  key_backwards: { by: 'key', direction: 'desc' },
  state: { by: 'state', direction: 'asc' },
  state_backwards: { by: 'state', direction: 'desc' },
  cause: { by: 'cause', direction: 'asc' },
  cause_backwards: { by: 'cause', direction: 'desc' },
  assignee: { by: 'assignee', direction: 'asc' },
  assignee_backwards: { by: 'assignee', direction: 'desc' },
  next_try: { by: 'next_try', direction: 'asc' },
  next_try_backwards: { by: 'next_try', direction: 'desc' },
} as const satisfies Record<string, { by: keyof typeof BY; direction: 'asc' | 'desc' }>
export type CaseOrder = keyof typeof CASE_ORDERS

/** The order in which the cases of a filter can be listed: one that an index keeps for them. */
export function orderFor(filter: CaseFilter, order: CaseOrder): CaseOrder {
  return includesClosed(filter) && CASE_ORDERS[order].by !== 'last_failed' ? 'latest' : order
}

/** The numbers of a few cases that include all matching ones; null: they are many, or no index has them together. */
type Few = number[] | null

/** The few cases that a filter may be about, for its page and its count. */
export function fewCases(db: Pool, filter: CaseFilter): Promise<Few> {
  return idsOf(db, place => narrow(filter, place))
}

interface PageOptions {
  /** `next` of the preceding page; absent: the first page. */
  after?: string | null | undefined
  limit: number
  order?: CaseOrder | undefined
  /** As `fewCases` tells; default: it is asked. */
  few?: Few
}

/** The columns of a case in lists. Of two with one name, the latter counts. */
const SHOWN = `d.*, ${NEXT_TRY}`

/** Up to this many cases are sorted on demand; more are read in order, until the page is full. */
const FEW = 10_000

/**
 * One page of the cases that match.
 * @throws CursorError
 */
export async function listCasesPage(
  db: Pool,
  filter: CaseFilter,
  { after, limit, order = 'latest', few: known }: PageOptions,
): Promise<Paged<DeadLetter>> {
  const { by, direction } = CASE_ORDERS[orderFor(filter, order)]
  const { sql, position, key, value } = BY[by]
  const { values, place } = placeholders()
  const conditions = [caseMatches(filter, place)]
  const last = decodeCursor<typeof position>(position, after)
  if (last) {
    const [at, id] = last
    const behind = direction === 'asc' ? '>' : '<'
    conditions.push(`(${sql}, d.id) ${behind} (${value(place(at))}, ${place(id)})`)
  }
  const most = place(limit + 1)
  const found = (which = 'true') =>
    `select d.id, ${sql} as at from dirsync.dead_letter d
     where ${[which, ...conditions].join(' and ')} order by ${sql} ${direction}, d.id ${direction} limit ${most}`

  const narrowed = known === undefined ? await fewCases(db, filter) : known
  const few = narrowed ?? (await idsOf(db, place => ofCauses(filter, by, place)))
  const lanes = few === null ? lanesOf(filter, by, place) : null
  const lane = lanes && `select f.id, f.at from ${lanes.each} cross join lateral (${found(lanes.has)}) f`
  const page = lane ?? found(`d.id = any (${place(few)})`)
  const { rows } = await db.query<DeadLetter & { cursor_key: number | string }>(
    `with page as materialized (
       select id, at from (${page}) found order by at ${direction}, id ${direction} limit ${most}
     )
     select ${SHOWN}, ${key('page.at')} as cursor_key
     from page join dirsync.dead_letter d on d.id = page.id
     order by page.at ${direction}, page.id ${direction}`,
    values,
  )
  const { items, next } = onePage(rows, limit, row => [row.cursor_key, row.id])
  return { items: items.map(({ cursor_key: _, ...row }) => row), next }
}

const EXPORT_PAGE = 500
/** An export looks through so many numbers of cases at a time: no statement takes longer where there are more cases. */
const EXPORT_STEP = 10_000

/** The cases that match as an export looks them up, at its beginning, each once, whatever changes while it goes on. */
export async function* everyCase(db: Pool, filter: CaseFilter, order: CaseOrder): AsyncGenerator<DeadLetter> {
  const ids = await everyIdOf(db, filter, CASE_ORDERS[orderFor(filter, order)])
  for (let at = 0; at < ids.length; at += EXPORT_PAGE) {
    const { rows } = await db.query<DeadLetter>(
      `select ${SHOWN} from dirsync.dead_letter d where d.id = any ($1) order by array_position($1::bigint[], d.id)`,
      [ids.slice(at, at + EXPORT_PAGE)],
    )
    yield* rows
  }
}

/** The numbers of all cases that match, in order; texts by their letters' codes, whatever the database's language. */
async function everyIdOf(
  db: Pool,
  filter: CaseFilter,
  { by, direction }: (typeof CASE_ORDERS)[CaseOrder],
): Promise<number[]> {
  const found: { id: number; at: number | string }[] = []
  const find = async (which: (place: PlaceValue) => string) => {
    const { values, place } = placeholders()
    const { rows } = await db.query<{ id: number; at: number | string }>(
      `select d.id, ${BY[by].key(BY[by].sql)} as at from dirsync.dead_letter d
       where ${which(place)} and ${caseMatches(filter, place)}`,
      values,
    )
    found.push(...rows)
  }
  const few = await fewCases(db, filter)
  if (few !== null) await find(place => `d.id = any (${place(few)})`)
  else {
    const { rows } = await db.query<{ first: number; last: number }>(
      'select coalesce(min(id), 1) as first, coalesce(max(id), 0) as last from dirsync.dead_letter',
    )
    const { first, last } = onlyRow(rows)
    for (let from = first; from <= last; from += EXPORT_STEP)
      await find(place => `d.id between ${place(from)} and ${place(Math.min(from + EXPORT_STEP - 1, last))}`)
  }
  const ascending = (a: (typeof found)[number], b: typeof a) =>
    a.at < b.at ? -1 : a.at > b.at ? 1 : a.id - b.id
  return found.sort(direction === 'asc' ? ascending : (a, b) => ascending(b, a)).map(({ id }) => id)
}

/** The ids that a statement gives; null if there is none, or they are many. */
async function idsOf(db: Pool, statement: (place: PlaceValue) => string | null): Promise<Few> {
  const { values, place } = placeholders()
  const narrowed = statement(place)
  if (narrowed === null) return null
  const { rows } = await db.query<{ ids: number[] }>(
    `select coalesce(array_agg(id::float8), '{}') as ids from (${narrowed} limit ${FEW + 1}) few`,
    values,
  )
  const { ids } = onlyRow(rows)
  return ids.length > FEW ? null : ids
}

/** SQL: the cases of the causes, where no index keeps those of a cause in the order. */
function ofCauses(filter: CaseFilter, by: keyof typeof BY, place: PlaceValue): string | null {
  if (hasLanes(by)) return null
  if (!filter.categories && filter.code === undefined) return null
  const { each, has } = lanesOf(filter, 'last_failed', place)
  return `select d.id from ${each} join dirsync.dead_letter d on ${has}`
}

/** Whether indexes keep the cases of each cause or state in this order, and not only all unresolved ones. */
function hasLanes(by: keyof typeof BY): boolean {
  return by === 'last_failed' || by === 'first_failed'
}

/** SQL: the parts of the table that one index each keeps in order, and which cases `d` belong to them. */
function lanesOf(filter: CaseFilter, by: keyof typeof BY, place: PlaceValue): { each: string; has: string } {
  if (!hasLanes(by)) return { each: '(select) lane', has: UNRESOLVED }
  const { categories, code } = filter
  const closed = includesClosed(filter)
  if (!closed && (categories || code !== undefined))
    return {
      each: `(select category, coalesce(platform_code, 0) as code from dirsync.tally
              where source = 'dead_letter' and state <> 'ignored'
                ${categories ? `and category = any (${place(categories)})` : ''}
                ${code === undefined ? '' : `and coalesce(platform_code, 0) = ${place(code)}`}
              group by 1, 2 having sum(n) > 0) lane`,
      has: `d.category = lane.category and coalesce(d.platform_code, 0) = lane.code and ${UNRESOLVED}`,
    }
  if (by === 'first_failed') return { each: '(select) lane', has: UNRESOLVED }
  const states = statesOf(filter)
  const each = `unnest(${place(states)}::text[]) as lane (state)`
  if (closed && categories && states.every(state => !openStates.has(state)))
    return {
      each: `${each} cross join unnest(${place(categories)}::text[]) as cause (category)`,
      has: `d.category = cause.category and d.state = lane.state and d.state in ('resolved', 'ignored')`,
    }
  return { each, has: 'd.state = lane.state' }
}

/**
 * How many cases match: exact up to the cap; beyond it, only that there are `more`. Counts from the tally are exact
 * at any size.
 */
export async function countCases(
  db: Pool,
  filter: CaseFilter,
  { cap = MOST_COUNTED, few: known }: { cap?: number; few?: Few } = {},
): Promise<{ count: number; more: boolean }> {
  const tallied = await countFromTally(db, filter)
  if (tallied !== null) return { count: tallied, more: false }
  const few = known === undefined ? await fewCases(db, filter) : known
  const { values, place } = placeholders()
  const conditions = [caseMatches(filter, place)]
  if (few !== null) conditions.push(`d.id = any (${place(few)})`)
  const from = `from dirsync.dead_letter d where ${conditions.join(' and ')}`
  const n = await countUpTo(db, cap + 1, from, values)
  return { count: Math.min(n, cap), more: n > cap }
}

/** The tally counts by category, code and state, resolved cases aside. */
async function countFromTally(db: Pool, filter: CaseFilter): Promise<number | null> {
  const { states: _, categories, code, ...others } = filter
  const states = statesOf(filter)
  if (Object.values(others).some(value => value !== undefined) || states.includes('resolved')) return null
  const { rows } = await db.query<{ n: number }>(
    `select coalesce(sum(n), 0)::int as n from dirsync.tally
     where source = 'dead_letter' and state = any ($1) and ($2::text[] is null or category = any ($2))
       and ($3::bigint is null or coalesce(platform_code, 0) = $3)`,
    [states, categories ?? null, code ?? null],
  )
  return onlyRow(rows).n
}

/** The cases that are neither resolved nor ignored and have the same cause. */
export const CaseGroup = z.object({
  category: z.string(),
  platform_code: z.int().nullable(),
  count: z.int().describe('Cases that are neither resolved nor ignored'),
  open: z.int().describe('They need a person: open or blocked'),
  snoozed: z.int(),
  waiting: z.int().describe('dirsync tries again by itself'),
  retrying: z.int(),
  failures: z.int().describe('How often all of them have failed'),
  oldest: z.date().describe('The first failure of the oldest'),
  newest: z.date().describe('The last failure of any'),
})
type CaseGroup = z.infer<typeof CaseGroup>

/** The causes of unresolved cases, the one with the most cases first. */
export async function groupCases(db: Pool): Promise<CaseGroup[]> {
  const edge = (column: string, direction: string) =>
    `select d.${column} as at from dirsync.dead_letter d
     where d.category = g.category and coalesce(d.platform_code, 0) = coalesce(g.platform_code, 0) and ${UNRESOLVED}
     order by d.${column} ${direction}, d.id ${direction} limit 1`
  const { rows } = await db.query<CaseGroup>(
    `with g as materialized (
       select category, platform_code, sum(n)::int as count,
              coalesce(sum(n) filter (where state ${isOneOf(FOR_A_PERSON)}), 0)::int as open,
              coalesce(sum(n) filter (where state = 'snoozed'), 0)::int as snoozed,
              coalesce(sum(n) filter (where state in ('retry_scheduled', 'awaiting_activation')
                                         and ${CAN_BE_RETRIED}), 0)::int as waiting,
              coalesce(sum(n) filter (where state = 'retrying'), 0)::int as retrying,
              sum(failures)::int as failures
       from dirsync.tally d where source = 'dead_letter' and state <> 'ignored'
       group by 1, 2 having sum(n) > 0
     )
     select g.*, oldest.at as oldest, newest.at as newest
     from g
     cross join lateral (${edge('first_failed_at', 'asc')}) oldest
     cross join lateral (${edge('last_failed_at', 'desc')}) newest
     order by count desc, category, platform_code`,
  )
  return rows
}

/** A case as a line on another page. */
const CaseLine = DeadLetter.pick({
  id: true,
  operation: true,
  field: true,
  category: true,
  platform_code: true,
  state: true,
  message: true,
  occurrences: true,
  first_failed_at: true,
  last_failed_at: true,
  next_retry_at: true,
  assignee: true,
})
type CaseLine = z.infer<typeof CaseLine>

/** The holder that a case waits for. */
const Blocker = z.object({
  userid: z.string(),
  enterprise_code: z.string(),
  employee: z
    .object({
      active: z.boolean(),
      in_sync: z.boolean(),
      status: z.enum(SHOWN_EMPLOYEE_STATUSES),
      platform_state: z.enum(['unknown', 'in_service', 'absent']),
      dept_code: z.string().nullable(),
      vanished_at: z.date().nullable(),
    })
    .nullable()
    .describe('null: no run has seen them'),
  has_changed: z
    .boolean()
    .describe(
      'The platform has other data of them, or has them no longer, since the case failed last: the value may be free',
    ),
  cases: z.array(CaseLine).describe('Their cases that are neither resolved nor ignored'),
})
type Blocker = z.infer<typeof Blocker>

/** Everything stored about one case, and about related ones. */
export const CaseStory = DeadLetter.extend({
  events: z.array(DeadLetterEvent).describe('Oldest first'),
  attempts: z.array(Attempt.extend({ id: z.int() })).describe('The latest, newest first'),
  swapped_with: z.array(z.int()).describe('The other cases of the swap'),
  others: z.array(CaseLine).describe('Other unresolved cases of the same employee or department'),
  undoable: z
    .object({ event: z.enum(UNDOABLE_STEPS), until: z.date() })
    .nullable()
    .describe('The last step, if it can be taken back, and until when'),
  blocker: Blocker.nullable().describe('Who has to change first'),
  halt: PendingWork.shape.halt,
  held_run: z
    .int()
    .nullable()
    .describe(
      'The held run that a retry waits for, as its plan has another HR row of the employee, or as none is deleted before it',
    ),
  retry_run: z.int().nullable().describe('The requested run that will retry it'),
  has_source: HasSource,
  retries_stopped: RetriesStopped,
})
export type CaseStory = z.infer<typeof CaseStory>

const ATTEMPTS = 10
const OTHERS = 50

/** Null if there is no case with this number. */
export async function caseStory(db: Pool, id: number): Promise<CaseStory | null> {
  const found = await readCase(db, id)
  if (found === null) return null
  const { enterprise_code: enterpriseCode, entity_key, blocked_by, operation } = found
  const [
    others,
    blocker,
    { rows: undoable },
    { rows: attempts },
    { rows: halts },
    { rows: held },
    requested,
    { rows: sources },
    retries_stopped,
  ] = await Promise.all([
    unresolvedCasesOf(db, { enterpriseCode, key: entity_key, except: id }),
    blocked_by === null ? null : readBlocker(db, id, { enterpriseCode, userid: blocked_by }),
    db.query<NonNullable<CaseStory['undoable']>>(
      'select event, until from dirsync.undoable($1) where event is not null',
      [id],
    ),
    db.query<CaseStory['attempts'][number]>(
      `select id, started_at, run_id, operation, detail, outcome, duration_ms, calls, fields, platform_code, trace_id,
              error
       from dirsync.attempt where enterprise_code = $1 and entity_key = $2 and operation = $3
       order by id desc limit ${ATTEMPTS}`,
      [enterpriseCode, entity_key, operation],
    ),
    // Mirrors are read while HR is away.
    db.query<Pick<CaseStory, 'halt'>>(
      `select ${haltWhere(`${isInForceFor('$1')} and not (h.category = 'hr_unavailable' and $2 like 'mirror-%')`)} as halt`,
      [enterpriseCode, operation],
    ),
    db.query<Pick<CaseStory, 'held_run'>>(
      `select e.held_run from dirsync.employee e
       join dirsync.pending p on p.operation = $3 and p.enterprise_code = e.enterprise_code and p.entity_key = e.userid
       where $3 = 'update-employee' and e.enterprise_code = $1 and e.userid = $2 and e.status = 'held'
         and p.replan_at is not null
         and not exists (select from (${HELD_DECISION}) o where o.decided_at is not null)
       union all
       select h.id from dirsync.pending p
       cross join lateral (
         select a.error from dirsync.attempt a
         where a.operation = p.operation and a.enterprise_code = p.enterprise_code and a.entity_key = p.entity_key
         order by a.id desc limit 1) latest
       join ${HELD_RUNS} h on h.id = (latest.error #>> '{values,run}')::bigint
       where $3 = 'delete-department' and p.operation = $3 and p.enterprise_code = $1 and p.entity_key = $2
         and latest.error ->> 'key' = '${'said.employees_held' satisfies MessageKey}'`,
      [enterpriseCode, entity_key, operation],
    ),
    db.query<{ id: number }>(
      `select r.id from dirsync.dead_letter d join dirsync.sync_run r on d.id::text = any (r.keys)
       where d.id = $1 and d.state <> 'resolved' and r.kind = 'retry' and r.state in ('requested', 'planning')
         and ${IS_LEFT_ALONE} is not true
       order by r.id limit 1`,
      [id],
    ),
    db.query<Pick<CaseStory, 'has_source'>>(
      `select ${CAN_BE_RETRIED} as has_source from dirsync.dead_letter d where d.id = $1`,
      [id],
    ),
    areRetriesStopped(db),
  ])
  const { halt = null } = halts[0] ?? {}
  const { held_run = null } = held[0] ?? {}
  const retry_run = requested.rows[0]?.id ?? null
  const { has_source = true } = sources[0] ?? {}
  return {
    ...{ ...found, others, blocker, undoable: undoable[0] ?? null, attempts, halt, held_run, retry_run },
    ...{ has_source, retries_stopped },
  }
}

/** @param id of the case */
async function readBlocker(db: Pool, id: number, key: EmployeeKey): Promise<Blocker> {
  const [{ rows }, { rows: holder }, cases] = await Promise.all([
    db.query<NonNullable<Blocker['employee']>>(
      `select active, status = 'in_sync' as in_sync, ${employeeStatus('e')} as status, platform_state, dept_code,
              vanished_at
       from dirsync.employee e where enterprise_code = $1 and userid = $2`,
      [key.enterpriseCode, key.userid],
    ),
    db.query<Pick<Blocker, 'has_changed'>>(
      'select dirsync.holder_has_changed(d) as has_changed from dirsync.dead_letter d where id = $1',
      [id],
    ),
    unresolvedCasesOf(db, { enterpriseCode: key.enterpriseCode, key: key.userid, except: 0 }),
  ])
  return {
    userid: key.userid,
    enterprise_code: key.enterpriseCode,
    employee: rows[0] ?? null,
    ...onlyRow(holder),
    cases,
  }
}

async function unresolvedCasesOf(
  db: Pool,
  of: { enterpriseCode: string; key: string; except: number },
): Promise<CaseLine[]> {
  const { rows } = await db.query<CaseLine>(
    `select id, operation, field, category, platform_code, state, message, occurrences, first_failed_at,
            last_failed_at, ${NEXT_TRY}, assignee
     from dirsync.dead_letter d
     where enterprise_code = $1 and entity_key = $2 and id <> $3 and ${UNRESOLVED}
     order by last_failed_at desc, id desc limit ${OTHERS}`,
    [of.enterpriseCode, of.key, of.except],
  )
  return rows
}
