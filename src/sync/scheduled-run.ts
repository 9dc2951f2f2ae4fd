import type { Pool } from 'pg'
import type { Logger } from '../logger.ts'
import { type RunKind, replanHeldRun, requestRun, unfinishedRun } from '../store/run.ts'

/**
 * Requests a run that nobody asked for by name: not while one of its kind waits to begin or goes on. Only a
 * changes run may begin while an earlier one still sends, so that a change of HR never waits behind a long run.
 * A held run is planned anew under its own number, since HR may have been mended meanwhile.
 */
export async function requestScheduledRun(
  pool: Pool,
  kind: RunKind,
  by: string,
  logger: Logger,
): Promise<number> {
  const unfinished = await unfinishedRun(pool, kind)
  if (unfinished?.state === 'held') await replanHeldRun(pool, unfinished.id)
  const goesOn = unfinished && (unfinished.state !== 'running' || kind !== 'changes')
  if (!goesOn) return requestRun(pool, kind, [], by)
  logger.info(
    { runId: unfinished.id, state: unfinished.state },
    `a run of kind ${kind} is unfinished: no second one`,
  )
  return unfinished.id
}
