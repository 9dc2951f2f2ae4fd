import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { Mirror } from '../core/mirror.ts'
import { requestDueRetries } from '../store/dead-letter.ts'
import { type Halt, readHalts } from '../store/halt.ts'
import { requestReplan } from '../store/held-run.ts'
import { type RunKind, type RunState, requestRun, unfinishedRun } from '../store/run.ts'
import { type SyncSummary, syncSummary } from '../store/summary.ts'
import { followRun, isUnfinished } from './follow-run.ts'

/** How often to look whether HR may be read again, for rows that changed since their plan. */
const EARLY_MS = 100

/** What a sync of everything came to. */
export interface SyncResult {
  ok: boolean
  /** Numbers of the runs by kind; `replan` and `retry` are the runs that followed from them. */
  runs: Record<string, number[]>
  summary: SyncSummary
  halts: Halt[]
  /** Why a run did not come to its end, or what it has to say, by its number. */
  messages: { run: number; state: RunState; message: string }[]
  seconds: number
}

/**
 * Employees, then departments, then open ids, then the mirrors that are switched on, then what HR changed meanwhile and
 * whatever became due on the way, with a progress bar.
 * @returns null when it was told to stop meanwhile
 */
export async function firstSync(options: {
  pool: Pool
  everything: boolean
  mirrors: readonly Mirror[]
  stopped: Promise<unknown>
  quiet: boolean
}): Promise<SyncResult | null> {
  const { pool, quiet } = options
  const began = performance.now()
  const since = new Date()
  let stop = false
  void options.stopped.then(() => {
    stop = true
  })
  /** Everything is halted or paused: what is requested waits, and nothing is to be followed. */
  let stopped = false
  const runs: Record<string, number[]> = {}
  const messages: SyncResult['messages'] = []
  const follow = async (kind: string, id: number) => {
    runs[kind] = [...(runs[kind] ?? []), id]
    const end = await followRun({ pool, id, label: kind, quiet, stopping: () => stop })
    const message = end && (end.state !== 'done' || end.message) ? (end.message ?? end.state) : null
    // What stops everything is told of the first run that it stopped.
    if (end && message !== null && !messages.some(told => told.message === message))
      messages.push({ run: id, state: end.state, message })
    stopped ||= end !== null && isUnfinished(end.state)
    return end?.state === 'done'
  }
  let ok = true
  const kinds: RunKind[] = [
    options.everything ? 'full' : 'changes',
    'departments',
    'openids',
    ...options.mirrors,
  ]
  for (const kind of kinds) {
    if (stop) return null
    ok = (await follow(kind, await requestRun(pool, kind, [], 'start'))) && ok
  }
  for (
    let run = await replanUnderWay(pool);
    run !== null && !stop && !stopped;
    run = await replanUnderWay(pool)
  )
    if (run === 'early') await delay(EARLY_MS)
    else ok = (await follow('replan', run)) && ok
  for (
    let id = await requestDueRetries(pool);
    id !== null && !stop && !stopped;
    id = await requestDueRetries(pool)
  )
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

/** The run that judges, or by now sends, what HR changed since its plan; null when there is none, or only a held one. */
async function replanUnderWay(pool: Pool): Promise<number | 'early' | null> {
  const requested = await requestReplan(pool)
  if (requested !== null) return requested
  const changes = await unfinishedRun(pool, 'changes')
  return changes && changes.state !== 'held' ? changes.id : null
}
