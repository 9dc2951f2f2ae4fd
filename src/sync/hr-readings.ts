import type { HrSources } from '../hr/sources.ts'
import type { Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Loop, Loops } from '../lib/loop.ts'
import { runNextDryRun } from './dry-run.ts'
import type { RunLimits } from './safety.ts'
import { areInForce } from './sources.ts'
import { readNextPlan } from './stored-plan.ts'

/** How often to check for something to read without a notification. */
const POLL_MS = 1000

interface HrReadingsOptions {
  pool: Pool
  hr: HrSources
  limits: RunLimits
  /** Memory of the process of a dry run, in MB. */
  memoryMb: number
  logger: Logger
}

/**
 * The scheduler role's long readings of HR for people: the figures of held plans, and dry runs of other mappings. No run waits
 * for them. Any number of processes may run them; each of the two is done by one at a time. They stop in the middle: another
 * process continues, or this one after its next start.
 */
export function hrReadings(options: HrReadingsOptions): Loops {
  const loop = (step: (signal: AbortSignal) => Promise<boolean>) =>
    new Loop({
      step: async signal => (await areInForce(options.pool, options.hr, '')) && step(signal),
      pauseMs: POLL_MS,
      failed: error => options.logger.error({ error }, 'HR is not read for a page; trying again'),
    })
  return new Loops([
    loop(signal => readNextPlan(options, signal)),
    loop(signal => runNextDryRun(options, signal)),
  ])
}
