import { z } from 'zod'
import { emptyShare, type SourceStatistics } from '../../directory/hash.ts'
import { onlyRow, type Pool } from '../../lib/database.ts'
import { runTimeLeft, type TimeLeft } from '../../sync/health/time-left.ts'
import { FULL_READING } from '../../sync/runs/earlier-runs.ts'
import { PLANNED_UNTIL, type PlanSummary, type RunResult, runAndParts } from '../../sync/runs/run.ts'
import { usableRows } from '../../sync/runs/safety.ts'
import { CommandRow } from '../audit/entries.ts'
import { DeadLetter } from '../cases/dead-letter.ts'
import { type ListedRun, REJECTED, STILL_LEFT } from './list.ts'

/** One row of `dirsync.sync_run`, named as its columns. */
type RunRow = Omit<
  ListedRun,
  'named' | 'left' | 'reasons' | 'outcomes' | 'cases' | 'calls' | 'rows' | 'time_left'
> & {
  keys: string[]
  planned_at: Date | null
  approved: boolean
  decided_by: string | null
  decided_at: Date | null
  /** Reason given with reject or cancel. */
  decision_reason: string | null
  /** For a held run: when HR was last checked again. */
  checked_at: Date | null
  read_all: boolean
  /** `max_age` in seconds. */
  max_age_s: number | null
  in_scope: number | null
  plan: PlanSummary | null
  result: RunResult | null
}

/** A person's command about a run. */
export const RunCommand = CommandRow.pick({
  name: true,
  requested_by: true,
  requested_at: true,
  reason: true,
})

/** A case on the page of a run. */
export const RunCase = DeadLetter.pick({
  id: true,
  enterprise_code: true,
  entity: true,
  entity_key: true,
  operation: true,
  field: true,
  category: true,
  state: true,
})

/** Everything about one run. */
export type RunStory = RunRow & {
  /** The remaining time; null unless it is running, and not being cancelled. */
  time_left: TimeLeft | null
  /** Entities of the run that are still in the outbox; for a mirror, parts still to be read. */
  left: number
  /** People's commands about it, the latest `COMMANDS` of them. */
  commands: z.infer<typeof RunCommand>[]
  commands_total: number
  /** Cases that failed in it for the first or the last time; at most `CASES` of them. */
  dead_letters: z.infer<typeof RunCase>[]
  dead_letters_total: number
}

const CASES = 20
/** A plan can be decided in any number of parts. */
const COMMANDS = 50
/** Where counting the cases of a run stops, so that a page takes no longer when a hundred thousand failed in it. */
export const MOST_CASES_COUNTED = 1000

const COLUMNS = `id, kind, hr_source, keys, state, requested_by, requested_at, started_at,
  ${PLANNED_UNTIL} as planned_at, finished_at, approved, decided_by, decided_at, decision_reason, cancelled_at, checked_at,
  read_all, extract(epoch from max_age)::float8 as max_age_s, in_scope, planned, undecided,
  part_of, plan, result, message`

/**
 * One run and its outcome; null if there is none with this number.
 * @param mostCounted where counting its cases stops; null to count all
 */
export async function readRunStory(
  db: Pool,
  id: number,
  mostCounted: number | null = null,
): Promise<RunStory | null> {
  const { rows } = await db.query<RunRow & { left: number }>(
    `select ${COLUMNS}, ${REJECTED} as rejected, ${STILL_LEFT} as left from dirsync.sync_run r where id = $1`,
    [id],
  )
  const run = rows[0]
  if (!run) return null
  const [timeLeft, commands, cases] = await Promise.all([
    run.state === 'running' ? runTimeLeft(db, id) : null,
    db.query<RunStory['commands'][number] & { total: number }>(
      `select name, requested_by, requested_at, reason, (count(*) over ())::int as total
       from dirsync.command where run_id = $1 order by id desc limit ${COMMANDS}`,
      [id],
    ),
    db.query<RunStory['dead_letters'][number] & { total: number }>(
      `with mine as (
         (select id from dirsync.dead_letter where last_run_id = any (${runAndParts('$1')}) limit $2)
         union
         (select id from dirsync.dead_letter where first_run_id = any (${runAndParts('$1')}) limit $2)
       ), first as (
         select id from mine order by id limit ${CASES}
       )
       select d.id, d.enterprise_code, d.entity, d.entity_key, d.operation, d.field, d.category, d.state,
              (select least(count(*), $2) from mine)::int as total
       from first join dirsync.dead_letter d using (id) order by d.id`,
      [id, mostCounted],
    ),
  ])
  return {
    ...run,
    time_left: timeLeft,
    commands: commands.rows.map(({ total, ...row }) => row).toReversed(),
    commands_total: commands.rows[0]?.total ?? 0,
    dead_letters: cases.rows.map(({ total, ...row }) => row),
    dead_letters_total: cases.rows[0]?.total ?? 0,
  }
}

// Compared with the previous run

/** The figures by which two runs of a kind are compared. */
export const RunFigures = z.object({
  id: z.int(),
  state: z.string(),
  finished_at: z.date().nullable(),
  in_scope: z.int().nullable(),
  planned: z.int().nullable(),
  took_ms: z.number().nullable(),
  calls: z.int().nullable(),
  waited_ms: z.number().nullable().describe('Time that its calls waited for the pacer, summed up'),
  rate_limited: z.int().nullable(),
  new_cases: z.int().describe(`Cases that failed for the first time in it, at most ${MOST_CASES_COUNTED}`),
})
export type RunFigures = z.infer<typeof RunFigures>

/** The figures of a run, and of the previous finished run of its kind; the latter is null if there is none. */
export async function readRunComparison(
  db: Pool,
  id: number,
): Promise<{ run: RunFigures; before: RunFigures | null } | null> {
  const { rows } = await db.query<RunFigures>(
    `with run as (
       select * from dirsync.sync_run where id = $1
     ), before as (
       select b.* from run cross join lateral (
         select * from dirsync.sync_run b
         where b.kind = run.kind and b.hr_source = run.hr_source and b.id < run.id and b.state = 'done'
           and (b.keys = '{}') = (run.keys = '{}')
           -- A part of a plan is as large as people have made it.
           and b.part_of is null and run.part_of is null
         order by b.id desc limit 1) b
     )
     -- Of a mirror under way, the result has nothing but its rows.
     select r.id, r.state, r.finished_at, r.in_scope, r.planned,
            (extract(epoch from r.finished_at - r.started_at) * 1000)::float8 as took_ms,
            case when r.result ? 'calls' then ${sumIn('calls')} end as calls,
            case when r.result ? 'calls' then ${sumIn('waitedMs')} end as waited_ms,
            case when r.result ? 'calls' then ${sumIn('rateLimited')} end as rate_limited,
            (select count(*) from (
               select from dirsync.dead_letter d where d.first_run_id = any (${runAndParts('r.id')})
               limit ${MOST_CASES_COUNTED}) d)::int as new_cases
     from (select * from run union all select * from before) r
     order by r.id desc`,
    [id],
  )
  const [run, before] = rows
  return run ? { run, before: before ?? null } : null
}

function sumIn(counts: 'calls' | 'waitedMs' | 'rateLimited'): string {
  return `(select coalesce(sum(value::float8), 0) from jsonb_each_text(coalesce(r.result -> '${counts}', '{}')))`
}

/** Up to this size, a run under way is counted live; a larger one when it has ended. */
const COUNTED_LIVE = 2000

/** The outcomes of a running run so far; null if counting them would take too long. */
export async function resultSoFar(
  db: Pool,
  { id, planned }: Pick<RunStory, 'id' | 'planned'>,
): Promise<RunResult | null> {
  if (planned === null || planned > COUNTED_LIVE) return null
  const { rows } = await db.query<{ result: RunResult }>('select dirsync.run_result($1) as result', [id])
  return onlyRow(rows).result
}

// What the sanity gate measured

const GateRows = z.object({
  rows: z.int(),
  keyless: z.int().describe('Rows without a user id'),
  stray: z.int().describe('Rows of enterprises that are not those of the HR source'),
  usable: z.int().describe('The other rows: those that the gate counts'),
})

function gateRows(source: SourceStatistics): z.infer<typeof GateRows> {
  const { rows, keyless, stray = 0 } = source
  return { rows, keyless, stray, usable: usableRows(source) }
}

/** HR as a run found it, compared with the last good run before. */
export const GateView = z.object({
  ...GateRows.shape,
  before: GateRows.extend({ run: z.int(), at: z.date() }).nullable(),
  columns: z.array(
    z.object({
      column: z.string(),
      empty: z.number().describe('Share of empty values among employees in service, 0 to 1'),
      empty_before: z.number().nullable().describe('The same in the last good run'),
    }),
  ),
})
export type GateView = z.infer<typeof GateView>

/** Null if the run did not read every row of HR. */
export async function readGate(db: Pool, id: number): Promise<GateView | null> {
  const { rows } = await db.query<{ id: number; at: Date; source: SourceStatistics }>(
    `(select id, planned_at as at, source from dirsync.sync_run where id = $1 and source is not null)
     union all
     (select id, planned_at, source from dirsync.sync_run
      where ${FULL_READING} and id < $1
        and hr_source = (select hr_source from dirsync.sync_run where id = $1)
      order by id desc limit 1)
     order by id desc`,
    [id],
  )
  const [now, before] = rows
  if (!now || now.id !== id) return null
  const columns = Object.keys(now.source.empty).map(column => ({
    column,
    empty: emptyShare(now.source, column),
    empty_before: before && column in before.source.empty ? emptyShare(before.source, column) : null,
  }))
  const rise = ({ empty, empty_before }: (typeof columns)[number]) => empty - (empty_before ?? empty)
  return {
    ...gateRows(now.source),
    before: before ? { run: before.id, at: before.at, ...gateRows(before.source) } : null,
    columns: columns.sort((a, b) => rise(b) - rise(a)),
  }
}
