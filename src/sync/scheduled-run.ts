import type { Pool } from 'pg'
import type { Logger } from '../logger.ts'
import { rejudgeHeldRun } from '../store/held-run.ts'
import { heldEmployeeRun, type RunKind, requestRun, unfinishedRun } from '../store/run.ts'

/**
 * Requests a run that nobody asked for by name: not while one of its kind waits to begin or goes on. Only a
 * changes run may begin while an earlier one still sends, so that a change of HR never waits behind a long run.
 * While a run is held HR is judged again, since it may have been mended meanwhile; the stored plan stays as it is.
 */
export async function requestScheduledRun(
  pool: Pool,
  kind: RunKind,
  by: string,
  logger: Logger,
): Promise<number> {
  const held = kind === 'changes' ? await heldEmployeeRun(pool) : null
  const unfinished = held ?? (await unfinishedRun(pool, kind))
  if (unfinished?.state === 'held') await rejudgeHeldRun(pool, unfinished.id)
  const goesOn = unfinished && (unfinished.state !== 'running' || kind !== 'changes')
  if (!goesOn) return requestRun(pool, kind, [], by)
  logger.info(
    { runId: unfinished.id, state: unfinished.state },
    `a run of kind ${kind} is unfinished: no second one`,
  )
  return unfinished.id
}
