import { onlyRow, type Pool } from '../../lib/database.ts'
import { HOURS_KEPT } from '../../sync/health/figures.ts'

const DAY_MS = 86_400_000

/** Data of a chart, as columns of the same length as `x`. */
export interface History {
  /** Seconds between two points. */
  step: number
  /** Seconds since 1970, evenly spaced; a point stands for the step that begins there. */
  x: number[]
  /** Share of the employees whom runs look at that were in sync, 0 to 1: the lowest of the step. Null: nothing was written down. */
  in_sync: (number | null)[]
  /** The highest value of the step, as in the two that follow. */
  open_cases: (number | null)[]
  pending: (number | null)[]
  /** In seconds. */
  oldest_pending: (number | null)[]
  /** 1 if everything was halted at some moment of the step. */
  halted: (0 | 1 | null)[]
  /** By operation, the most called first. */
  calls: { operation: string; per_minute: number[]; refused_per_minute: number[] }[]
  /** Full runs, and runs that failed, the latest first. */
  runs: { id: number; kind: string; state: string; finished_at: Date }[]
}

/** Possible steps in seconds: five minutes (the interval of recording), an hour, three hours. */
const STEPS = [300, 3600, 10_800] as const
const MOST_POINTS = 300
const MOST_RUNS = 100
/** What is stored, plus a day. */
const LONGEST_SPAN_MS = (HOURS_KEPT + 1) * DAY_MS

interface Span {
  from: Date
  to: Date
  /** The minimum of seconds between two points; raised to a step with at most 300 points. */
  step?: number
}

/**
 * Reads the data of a span, reduced in SQL to at most 300 points. A point never hides a bad moment: it shows the
 * worst value of its step. Data from more than 36 days before the end is left out.
 */
export async function readHistory(db: Pool, { from, to, step: wanted = 0 }: Span): Promise<History> {
  const spanMs = Math.min(LONGEST_SPAN_MS, Math.max(0, to.getTime() - from.getTime()))
  const isEnough = (step: number) => step >= wanted && spanMs / 1000 / step <= MOST_POINTS
  const step = STEPS.find(isEnough) ?? STEPS[2]
  // A span that does not begin on a step would otherwise have one point more.
  const end = Math.ceil(to.getTime() / 1000 / step) * step
  const points = Math.min(MOST_POINTS, Math.max(1, Math.ceil(spanMs / 1000 / step)))
  const begin = end - points * step
  const [{ rows: statuses }, { rows: calls }, { rows: runs }] = await Promise.all([
    db.query<CountColumns>({
      name: 'history statuses',
      text: COUNTS_BY_STATUS,
      values: [begin, step, points],
    }),
    db.query<CountedCalls>({
      name: step < 3600 ? 'history minutes' : 'history hours',
      text: callsFrom(step < 3600 ? MINUTES : HOURS),
      values: [begin, step, points],
    }),
    db.query<History['runs'][number]>(
      `select id, kind, state, finished_at from dirsync.sync_run
       where (kind = 'full' or state in ('failed', 'source_suspect', 'rejected', 'cancelled'))
         and finished_at >= to_timestamp($1) and finished_at < to_timestamp($2)
       order by finished_at desc limit ${MOST_RUNS}`,
      [begin, end],
    ),
  ])
  return {
    step,
    x: Array.from({ length: points }, (_, i) => begin + i * step),
    ...onlyRow(statuses),
    calls: calls.map(row => seriesOf(row, points)),
    runs,
  }
}

type CountColumns = Pick<History, 'in_sync' | 'open_cases' | 'pending' | 'oldest_pending' | 'halted'>

/** $1: begin in seconds, $2: step, $3: points. */
const COUNTS_BY_STATUS = `
  with recorded as (
    select floor((extract(epoch from at)::float8 - $1::float8) / $2::float8)::int as point,
           min(in_sync::float8 / nullif(in_sync + awaiting_activation + dead_lettered + accepted + held
                                        + rejected + halted + waiting, 0)) as in_sync,
           max(cases) as cases, max(pending) as pending, max(oldest_pending_seconds) as oldest,
           max(is_halted::int) as halted
    from dirsync.status_history
    where at >= to_timestamp($1::float8) and at < to_timestamp($1::float8 + $2::float8 * $3::int)
    group by 1
  )
  select array_agg(in_sync order by p) as in_sync, array_agg(cases order by p) as open_cases,
         array_agg(pending order by p) as pending, array_agg(oldest order by p) as oldest_pending,
         array_agg(halted order by p) as halted
  from generate_series(0, $3::int - 1) p left join recorded r on r.point = p`

const MINUTES = `
  select minute as at, operation, calls, rate_limited from dirsync.call_minute
  where minute >= to_timestamp($1::float8) and minute < to_timestamp($1::float8 + $2::float8 * $3::int)`

/** The last hour that was summed up has continued since, so it is read from its minutes. */
const HOURS = `
  select hour as at, operation, calls, rate_limited from dirsync.call_hour
  where hour >= to_timestamp($1::float8) and hour < to_timestamp($1::float8 + $2::float8 * $3::int)
    and hour < (select max(hour) from dirsync.call_hour where hour <= now())
  union all
  select minute, operation, calls, rate_limited from dirsync.call_minute
  where minute >= greatest(to_timestamp($1::float8), (select max(hour) from dirsync.call_hour where hour <= now()))
    and minute < to_timestamp($1::float8 + $2::float8 * $3::int)`

/**
 * Per minute on average, in the points that have calls. Of the step that is under way only the part that has passed counts, but
 * no less than a minute, since calls are counted by the minute.
 */
const callsFrom = (source: string) => `
  with summed as (
    select operation, floor((extract(epoch from at)::float8 - $1::float8) / $2::float8)::int as point,
           sum(calls) as calls, sum(rate_limited) as rate_limited
    from (${source}) source
    group by 1, 2
  ), counted as (
    select operation, point, calls / minutes as per_minute, rate_limited / minutes as refused
    from summed
    cross join lateral (select extract(epoch from now())::float8 - $1::float8 - $2::float8 * point as passed) s
    cross join lateral (select case when passed between 0 and $2::float8 then greatest(passed, 60)
                                    else $2::float8 end / 60 as minutes) m
  )
  select operation, array_agg(point) as points, array_agg(per_minute) as per_minute, array_agg(refused) as refused
  from counted group by operation order by sum(per_minute) desc, operation`

interface CountedCalls {
  operation: string
  /** The indexes of the points, with their values. */
  points: number[]
  per_minute: number[]
  refused: number[]
}

/** Points without calls are 0. */
function seriesOf(
  { operation, points, per_minute, refused }: CountedCalls,
  length: number,
): History['calls'][number] {
  const spread = (values: number[]) => {
    const series = new Array<number>(length).fill(0)
    for (const [i, point] of points.entries()) series[point] = values[i] ?? 0
    return series
  }
  return { operation, per_minute: spread(per_minute), refused_per_minute: spread(refused) }
}
