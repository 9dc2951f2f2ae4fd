import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import { requestDueRetries } from '../store/dead-letter.ts'
import { type Halt, readHalts } from '../store/halt.ts'
import { type RunKind, type RunProgress, requestRun, runProgress } from '../store/run.ts'
import { type SyncSummary, syncSummary } from '../store/summary.ts'
import { createProgress } from './progress.ts'

const POLL_MS = 100

/** What a sync of everything came to. */
export interface SyncResult {
  ok: boolean
  /** Numbers of the runs by kind; retries are the runs that followed from them. */
  runs: Record<string, number[]>
  summary: SyncSummary
  halts: Halt[]
  /** Why a run did not come to its end, by its number. */
  messages: { run: number; message: string }[]
  seconds: number
}

/**
 * Employees, then departments, then open ids, then whatever became due on the way, with a progress bar.
 * @returns null when it was told to stop meanwhile
 */
export async function firstSync(options: {
  pool: Pool
  everything: boolean
  stopped: Promise<unknown>
  quiet: boolean
}): Promise<SyncResult | null> {
  const { pool } = options
  const began = performance.now()
  const since = new Date()
  let stop = false
  void options.stopped.then(() => {
    stop = true
  })
  const runs: Record<string, number[]> = {}
  const messages: SyncResult['messages'] = []
  const follow = async (kind: string, id: number) => {
    runs[kind] = [...(runs[kind] ?? []), id]
    const end = await followRun(pool, id, kind, options.quiet, () => stop)
    if (end && (end.state !== 'done' || end.message))
      messages.push({ run: id, message: end.message ?? end.state })
    return end?.state === 'done'
  }
  let ok = true
  const kinds: RunKind[] = [options.everything ? 'full' : 'changes', 'departments', 'openids']
  for (const kind of kinds) {
    if (stop) return null
    ok = (await follow(kind, await requestRun(pool, kind, [], 'start'))) && ok
  }
  for (let id = await requestDueRetries(pool); id !== null && !stop; id = await requestDueRetries(pool))
    await follow('retry', id)
  if (stop) return null
  const firstRun = Math.min(...Object.values(runs).flat())
  return {
    ok,
    runs,
    summary: await syncSummary(pool, firstRun, since),
    halts: await readHalts(pool),
    messages,
    seconds: Math.round((performance.now() - began) / 100) / 10,
  }
}

/** Shows a run until it ends, is held, or everything is halted. Null when told to stop. */
async function followRun(
  pool: Pool,
  id: number,
  kind: string,
  quiet: boolean,
  stopping: () => boolean,
): Promise<RunProgress | null> {
  const progress = createProgress(kind, quiet)
  try {
    while (!stopping()) {
      const now = await runProgress(pool, id)
      if (!now) throw new Error(`run ${id} is gone`)
      progress.show(now)
      if (now.state !== 'requested' && now.state !== 'planning' && now.state !== 'running') return now
      const everything = (await readHalts(pool)).find(halt => halt.scope === '*')
      if (everything) return { ...now, message: `${everything.message} ${everything.remedy}` }
      await delay(POLL_MS)
    }
    return null
  } finally {
    progress.end()
  }
}
