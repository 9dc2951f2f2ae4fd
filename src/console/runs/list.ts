import { z } from 'zod'
import { decodeCursor, onePage, type PageAsked, type Paged } from '../../lib/cursor.ts'
import { type PlaceValue, type Pool, placeholders } from '../../lib/database.ts'
import { TimeLeft, timesLeft } from '../../sync/health/time-left.ts'
import { readPace } from '../../sync/processes/pace.ts'
import { LEFT, type PlanSummary, type RunKind, type RunResult, type RunState } from '../../sync/runs/run.ts'
import { SaidText } from '../../texts/failures.ts'
import { message } from '../../texts/message.ts'
import { Problem } from '../problem.ts'

/** Requesters other than people: an index leaves their runs out. */
export const BY_ITSELF = ['cron', 'start', 'trigger', 'poller', 'replan', 'restore'] as const

/** Filters of the list; absent ones do not restrict it. */
interface RunFilter {
  kind?: RunKind | undefined
  state?: RunState | undefined
  /** `people`, `dirsync` (by itself), or the requester, such as `cron` or `console:anna`. */
  by?: string | undefined
  /** The HR source, if there are several. */
  source?: string | undefined
  from?: Date | undefined
  to?: Date | undefined
  /** These runs alone. */
  ids?: readonly number[]
}

/** One run in a list; its remaining time is read separately. */
export const ListedRun = z.object({
  id: z.int(),
  kind: z.string(),
  hr_source: z
    .string()
    .describe('The HR source that it is about; empty: there is only one, or it is about all'),
  state: z.string(),
  named: z.int().describe('How many employees, rows or cases it is about; 0: everything'),
  requested_by: z.string(),
  requested_at: z.date(),
  started_at: z.date().nullable(),
  finished_at: z.date().nullable(),
  cancelled_at: z.date().nullable(),
  planned: z.int().nullable(),
  undecided: z.int().nullable().describe('Rows without a decision; null: its plan is not decided in parts'),
  rejected: z.int().describe('Rows that people have rejected, if its plan is decided in parts'),
  part_of: z.int().nullable().describe('The held run whose approved part it sends'),
  left: z.int().describe('Entities that are still to be sent'),
  reasons: z.record(z.string(), z.int()).describe('Of the plan: entities by reason'),
  outcomes: z.record(z.string(), z.int()).describe('Last outcome per entity; empty until the run has ended'),
  cases: z.int().describe('Cases that failed in it and were unresolved when it ended'),
  calls: z.int(),
  rows: z.object({ read: z.int(), changed: z.int() }).nullable().describe('Of a mirror'),
  message: SaidText.nullable(),
  time_left: TimeLeft.nullable(),
})
export type ListedRun = z.infer<typeof ListedRun>

/** How a run stands, as `runStateWords` puts it. */
export const RunStanding = ListedRun.pick({ state: true, cancelled_at: true, finished_at: true, cases: true })
export type RunStanding = z.infer<typeof RunStanding>

/** SQL: the columns of a `RunStanding` from run `r`. */
export const STANDING = `r.state, r.cancelled_at, r.finished_at,
  (select coalesce(sum(n::int), 0)::int from jsonb_each_text(r.result -> 'deadLetters') as c (category, n)) as cases`

type Row = Omit<ListedRun, 'reasons' | 'outcomes' | 'cases' | 'calls' | 'rows' | 'time_left'> & {
  plan: PlanSummary | null
  result: RunResult | null
}

/** SQL: rows of the plan of run `r` that were rejected, if it is decided in parts. */
export const REJECTED = `case when r.undecided is null then 0 else (
  select coalesce(sum(d.planned), 0)::int from dirsync.plan_decision d where d.run_id = r.id and not d.approved) end`

/** SQL: entities that run `r` has still to send; none once it has ended. */
export const STILL_LEFT = `case when r.finished_at is null then ${LEFT} else 0 end`

/** Runs, newest first. */
export async function listRunsPage(db: Pool, filter: RunFilter, page: PageAsked): Promise<Paged<ListedRun>> {
  const { values, place } = placeholders(page.limit + 1)
  const conditions = [runMatches(filter, place)]
  const before = decodeCursor(z.tuple([z.int()]), page.after)
  if (before) conditions.push(`r.id < ${place(before[0])}`)
  const { rows } = await db.query<Row>(
    `select id, kind, hr_source, state, cardinality(keys) as named, requested_by, requested_at, started_at, finished_at,
            cancelled_at, planned, undecided, part_of, message, plan, result,
            ${REJECTED} as rejected, ${STILL_LEFT} as left
     from dirsync.sync_run r where ${conditions.join(' and ')}
     order by id desc limit $1`,
    values,
  )
  const { items: shown, next } = onePage(rows, page.limit, row => [row.id])
  const times = new Map<number, TimeLeft>()
  if (shown.some(({ state }) => state === 'running'))
    for (const { run, ...left } of await timesLeft(db, await readPace(db))) times.set(run, left)
  return {
    items: shown.map(({ plan, result, ...run }) => ({
      ...run,
      reasons: plan?.reasons ?? {},
      outcomes: result?.outcomes ?? {},
      cases: sumOf(result?.deadLetters),
      calls: sumOf(result?.calls),
      rows: result?.rows ?? null,
      time_left: times.get(run.id) ?? null,
    })),
    next,
  }
}

/** SQL: whether run `r` matches. It contains only the given conditions, so that each filter can use its index. */
function runMatches(filter: RunFilter, place: PlaceValue): string {
  const conditions = ['true']
  if (filter.ids) conditions.push(`r.id = any (${place(filter.ids)})`)
  if (filter.kind) conditions.push(`r.kind = ${place(filter.kind)}`)
  if (filter.state) conditions.push(`r.state = ${place(filter.state)}`)
  if (filter.source) conditions.push(`r.hr_source = ${place(filter.source)}`)
  if (filter.by) conditions.push(byCondition(filter.by, place))
  if (filter.to) conditions.push(`r.requested_at < ${place(filter.to)}`)
  if (filter.from) {
    const since = place(filter.from)
    conditions.push(
      // Numbers grow with time, so reading stops where older runs begin.
      `r.requested_at >= ${since}
       and r.id >= (select min(id) from (select id from dirsync.sync_run where requested_at >= ${since}
                                         order by requested_at limit 100) first)`,
    )
  }
  return conditions.join(' and ')
}

/** In the terms of the index, so that PostgreSQL uses it. */
const PEOPLE = `r.requested_by not in (${BY_ITSELF.map(name => `'${name}'`).join(', ')})
  and r.requested_by not like '% (restore)'`

function byCondition(by: string, place: PlaceValue): string {
  if (by === 'people') return PEOPLE
  if (by === 'dirsync') return `not (${PEOPLE})`
  // A person is stored as the database user, followed by the name: `dirsync (console:anna)`. So is what SQL asks for after a
  // restore: `dirsync (restore)`.
  const name = place(by)
  const isBy = `(r.requested_by = ${name} or right(r.requested_by, length(${name}) + 3) = ' (' || ${name} || ')')`
  return BY_ITSELF.some(own => own === by) ? isBy : `${PEOPLE} and ${isBy}`
}

export function sumOf(counts: Record<string, number> | undefined): number {
  return Object.values(counts ?? {}).reduce((sum, n) => sum + n, 0)
}

/** That there is no run of this number, or none any more: cases keep it for longer. */
export async function noRun(db: Pool, run: number, cause?: unknown): Promise<Problem> {
  const { rowCount } = await db.query('select from dirsync.sync_run where id > $1 limit 1', [run])
  return new Problem('not_found', message(rowCount === 0 ? 'said.no_run' : 'said.run_gone', { run }), {
    cause,
  })
}
