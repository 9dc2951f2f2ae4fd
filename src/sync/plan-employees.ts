import { Transform } from 'node:stream'
import type { ClientBase } from 'pg'
import { RowHasher, type SourceStatistics } from '../core/row-hash.ts'
import { type Breaker, type GateLimits, suspicion, trips } from '../core/safety.ts'
import type { HrSource } from '../hr/source.ts'
import { compare, type Difference, fillStage, makeStage } from '../store/employee-plan.ts'
import { awaitReplan } from '../store/held-run.ts'
import { cancelledSince, lastSweep, type PlannedRun, type Run, watermark } from '../store/run.ts'

/** Rows changed while the newest one was read may carry an older time; so much is read again. */
const WATERMARK_OVERLAP_MS = 5 * 60_000

export interface EmployeePlanLimits {
  gate: GateLimits
  breaker: Breaker
  /** With updated_at mapped: how long a changes run may go without reading every row. */
  sweepIntervalMs: number
}

export interface EmployeePlan extends PlannedRun {
  state: 'running' | 'held' | 'source_suspect'
  source: SourceStatistics
  difference: Difference
}

/**
 * Plans a `changes` or `full` run inside the caller's transaction: HR streamed and hashed, staged, joined, judged.
 * Nothing but temporary tables is written; `writeEmployeePlan` does that for a plan that may run.
 * @throws HrUnavailableError, HrDataError, MappingError
 */
export async function planEmployees(
  db: ClientBase,
  hr: HrSource,
  run: Pick<Run, 'kind' | 'state' | 'maxAgeMs'>,
  limits: EmployeePlanLimits,
  now: Date,
  signal: AbortSignal,
): Promise<EmployeePlan> {
  const { employees, fingerprint } = await hr.inspect()
  const { columns } = employees
  const last = await lastSweep(db)
  const newest = run.kind === 'full' || !columns.includes('updated_at') ? null : await watermark(db)
  const replans = await awaitReplan(db)
  const sweep =
    newest === null ||
    !last ||
    // Rows that HR did not touch may look different through another mapping.
    last.mapping !== fingerprint ||
    now.getTime() - last.at.getTime() >= limits.sweepIntervalMs ||
    // Whatever rows are in question, held, taken back or found changed by a worker: only all of them tell.
    run.state === 'held' ||
    replans ||
    (await cancelledSince(db, last.at))
  const { statistics, mapping } = await stageHr(db, hr, sweep ? null : newest, signal)
  const difference = await compare(db, {
    everything: run.kind === 'full',
    maxAgeMs: run.maxAgeMs,
    sweep,
    replans,
  })
  const planned = {
    difference,
    sweep,
    inScope: difference.inScope,
    plan: {
      reasons: difference.reasons,
      sample: difference.sample,
      ...(run.maxAgeMs !== null && { skipped: difference.skipped }),
    },
    source: statistics,
    mapping,
  }
  const suspect = sweep
    ? suspicion(statistics, last?.statistics ?? null, difference.duplicates, limits.gate)
    : duplicated(difference)
  if (suspect) return { ...planned, state: 'source_suspect', message: `${suspect}. Nothing was enqueued.` }
  const { changing } = difference
  const total = sweep ? difference.inScope : (last?.statistics.rows ?? difference.inScope)
  if (!difference.first && trips(limits.breaker, changing, total))
    return {
      ...planned,
      state: 'held',
      message: heldMessage(changing, total, limits.breaker),
    }
  return { ...planned, state: 'running' }
}

async function stageHr(
  db: ClientBase,
  hr: HrSource,
  newest: Date | null,
  signal: AbortSignal,
): Promise<{ statistics: SourceStatistics; mapping: string }> {
  const since = newest === null ? {} : { since: new Date(newest.getTime() - WATERMARK_OVERLAP_MS) }
  await makeStage(db)
  const scan = await hr.scan({ ...since, signal })
  const hasher = new RowHasher(scan.columns)
  const toLines = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      done(null, hasher.push(chunk))
    },
  })
  try {
    await fillStage(db, scan.stream, toLines, signal)
  } finally {
    await scan.close()
  }
  return { statistics: hasher.statistics, mapping: scan.mapping }
}

function duplicated(difference: Difference): string | null {
  return difference.duplicates.length > 0 ? duplicatesMessage(difference.duplicates) : null
}

/** Why a run whose rows have these keys more than once is suspect. */
export function duplicatesMessage(keys: readonly string[]): string {
  return `HR delivers keys more than once (${keys.join(', ')}): make the mapping query return one row per employee`
}

/** Why a run is held. */
export function heldMessage(changing: number, total: number, breaker: Breaker): string {
  return `${changing} of ${total} employees would change, more than ${breaker.count} and ${breaker.percent} %: look at the plan, then approve or reject the run.`
}
