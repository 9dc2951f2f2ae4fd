import { setTimeout as delay } from 'node:timers/promises'
import type { Pool } from 'pg'
import type { TimeLeft } from '../core/time-left.ts'
import { readHalts } from '../store/halt.ts'
import { type RunProgress, runProgress } from '../store/run.ts'
import { runTimeLeft } from '../store/time-left.ts'
import { createProgress } from './progress.ts'

const POLL_MS = 100
/** How often to ask how long it will take. */
const LOOK_MS = 1000
/** So often it is looked whether anybody is still there to do the work. */
const WATCH_EVERY = 20

/** The database may be away for so long, for a restart; the work goes on by itself when it is back. */
const AWAY_MS = 60_000

/** True of a run that waits to begin or goes on. */
export function isUnfinished(state: RunProgress['state']): boolean {
  return state === 'requested' || state === 'planning' || state === 'running'
}

/**
 * Shows a run until it ends, is held, or everything is halted.
 * @param options.check asked now and then; throws when nobody is left to do the work
 * @returns null when told to stop
 */
export async function followRun(options: {
  pool: Pool
  id: number
  label: string
  quiet: boolean
  stopping: () => boolean
  check?: () => Promise<void>
}): Promise<RunProgress | null> {
  const { pool, id, stopping } = options
  const progress = createProgress(options.label, options.quiet)
  let lastAnswer = performance.now()
  let left: TimeLeft | null = null
  let nextLook = 0
  try {
    for (let turn = 1; !stopping(); turn += 1) {
      let now: RunProgress | null
      try {
        now = await runProgress(pool, id)
      } catch (error) {
        if (performance.now() - lastAnswer > AWAY_MS) throw error
        await delay(POLL_MS)
        continue
      }
      lastAnswer = performance.now()
      if (!now) throw new Error(`run ${id} is gone`)
      progress.show(now, left)
      if (!isUnfinished(now.state)) return now
      const everything = (await readHalts(pool).catch(() => [])).find(halt => halt.scope === '*')
      if (everything) return { ...now, message: `${everything.message} ${everything.remedy}` }
      if (turn % WATCH_EVERY === 0) await options.check?.()
      if (performance.now() >= nextLook && now.state === 'running') {
        nextLook = performance.now() + LOOK_MS
        left = await runTimeLeft(pool, id).catch(() => null)
      }
      await delay(POLL_MS)
    }
    return null
  } finally {
    progress.end()
  }
}
