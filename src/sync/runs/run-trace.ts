import type { Pool } from '../../lib/database.ts'
import type { Tracing } from '../../lib/tracing.ts'
import type { RunResult } from './run.ts'

/** Names the root span of a run, which the work of every process for it belongs to. */
export function runSpan(id: number): string {
  return `run ${id}`
}

interface EndedRun {
  kind: string
  state: string
  planned: number | null
  result: RunResult | null
  tookMs: number
  endedMsAgo: number
}

/** Final states of a run that may need attention. */
const NOT_WELL = ['failed', 'source_suspect']

/** Records a run that has ended, from its request to its end. Does nothing while it is in progress, or held. */
export async function traceRun(db: Pool, tracing: Tracing, id: number): Promise<void> {
  if (!tracing.isOn) return
  const { rows } = await db.query<EndedRun>(
    `select kind, state, planned, result,
            (extract(epoch from finished_at - requested_at) * 1000)::float8 as "tookMs",
            (extract(epoch from clock_timestamp() - finished_at) * 1000)::float8 as "endedMsAgo"
     from dirsync.sync_run where id = $1 and finished_at is not null`,
    [id],
  )
  for (const { kind, state, planned, result, tookMs, endedMsAgo } of rows)
    tracing.conclude(runSpan(id), {
      name: `run ${kind}`,
      tookMs,
      endedMsAgo,
      attributes: {
        'dirsync.run': id,
        'dirsync.run.kind': kind,
        'dirsync.run.state': state,
        ...(planned !== null && { 'dirsync.run.planned': planned }),
        ...figures('outcomes', result?.outcomes),
        ...figures('calls', result?.calls),
      },
      failed: NOT_WELL.includes(state),
    })
}

/** Figures as attributes, one for each. */
export function figures(of: string, counts: Record<string, number> = {}): Record<string, number> {
  return Object.fromEntries(Object.entries(counts).map(([what, n]) => [`dirsync.run.${of}.${what}`, n]))
}
