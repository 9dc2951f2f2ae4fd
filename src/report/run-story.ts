import type { Pool } from '../lib/database.ts'
import { LEFT, type PlanSummary, type RunResult } from '../sync/run.ts'
import type { DeadLetter } from './review.ts'
import { runTimeLeft, type TimeLeft } from './time-left.ts'

/** One row of `dirsync.sync_run`, named as its columns. */
interface RunRow {
  id: number
  kind: string
  keys: string[]
  state: string
  requested_by: string
  requested_at: Date
  started_at: Date | null
  planned_at: Date | null
  finished_at: Date | null
  approved: boolean
  decided_by: string | null
  decided_at: Date | null
  /** Reason given with reject or cancel. */
  decision_reason: string | null
  /** When its waiting work was taken back. */
  cancelled_at: Date | null
  /** Held: when HR was last judged again. */
  judged_at: Date | null
  sweep: boolean
  /** `max_age` in seconds. */
  max_age_s: number | null
  in_scope: number | null
  planned: number | null
  plan: PlanSummary | null
  result: RunResult | null
  message: string | null
}

/** Everything about one run. */
export interface RunStory extends RunRow {
  /** How long it still takes; null unless it is running. */
  time_left: TimeLeft | null
  /** Entities of the run that are still in the outbox; of a mirror: parts still to be read. */
  left: number
  /** What people asked for that concerns it. */
  commands: { name: string; requested_by: string; requested_at: Date }[]
  /** Cases that failed in it for the first or the last time; not more than `CASES` of them. */
  dead_letters: Pick<
    DeadLetter,
    'id' | 'enterprise_code' | 'entity' | 'entity_key' | 'operation' | 'field' | 'category' | 'state'
  >[]
  dead_letters_total: number
}

const CASES = 20

const COLUMNS = `id, kind, keys, state, requested_by, requested_at, started_at, planned_at, finished_at,
  approved, decided_by, decided_at, decision_reason, cancelled_at, judged_at,
  sweep, extract(epoch from max_age)::float8 as max_age_s, in_scope, planned, plan, result, message`

/** The latest runs, newest first. */
export async function listRuns(db: Pool, limit: number): Promise<RunRow[]> {
  const { rows } = await db.query<RunRow>(
    `select ${COLUMNS} from dirsync.sync_run order by id desc limit $1`,
    [limit],
  )
  return rows
}

/** One run and what became of it; null when there is none of that number. */
export async function readRunStory(db: Pool, id: number): Promise<RunStory | null> {
  const { rows } = await db.query<RunRow & { left: number }>(
    `select ${COLUMNS}, ${LEFT} as left from dirsync.sync_run r where id = $1`,
    [id],
  )
  const run = rows[0]
  if (!run) return null
  const [timeLeft, commands, cases] = await Promise.all([
    run.state === 'running' ? runTimeLeft(db, id) : null,
    db.query<RunStory['commands'][number]>(
      'select name, requested_by, requested_at from dirsync.command where run_id = $1 order by id',
      [id],
    ),
    db.query<RunStory['dead_letters'][number] & { total: number }>(
      `select id, enterprise_code, entity, entity_key, operation, field, category, state,
              count(*) over ()::int as total
       from dirsync.dead_letter where first_run_id = $1 or last_run_id = $1 order by id limit ${CASES}`,
      [id],
    ),
  ])
  return {
    ...run,
    time_left: timeLeft,
    commands: commands.rows,
    dead_letters: cases.rows.map(({ total, ...row }) => row),
    dead_letters_total: cases.rows[0]?.total ?? 0,
  }
}
