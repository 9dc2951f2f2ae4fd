import { createLogger } from '../src/lib/logger.ts'
import { PostgresSlots } from '../src/pacing/postgres-slots.ts'
import { SlotPacer } from '../src/pacing/slot-pacer.ts'
import { LocalPacer } from '../src/platform/caller.ts'
import { answerWhenTold } from './child.ts'
import type { SlotTask } from './sharing.ts'

/** Callers in line at any moment. */
const CALLERS = 64

// Takes slots as fast as they come, and answers with how many it had.
answerWhenTold<SlotTask, number>(async ({ databaseUrl, rate, seconds }) => {
  const logger = createLogger({ level: 'error', pretty: false })
  const slots = databaseUrl === null ? null : new PostgresSlots({ url: databaseUrl, logger })
  const pacer = slots
    ? new SlotPacer({ slots, rate, budgets: new Map(), logger })
    : new LocalPacer(rate, new Map())
  return async () => {
    const over = AbortSignal.timeout(seconds * 1000)
    let taken = 0
    const take = async () => {
      while (!over.aborted) {
        await pacer.acquire({ operation: 'employee/get', priority: 7, signal: over })
        taken += 1
      }
    }
    await Promise.allSettled(Array.from({ length: CALLERS }, take))
    await pacer.close()
    await slots?.close()
    return taken
  }
})
