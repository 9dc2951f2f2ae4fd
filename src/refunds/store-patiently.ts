import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../logger.ts'

const TRIES = 3
const PAUSE_MS = 1000

/** Stores what became of a call, through a database that is away for a moment. False when it is away for longer. */
export async function storePatiently(store: () => Promise<void>, logger: Logger): Promise<boolean> {
  for (let attempt = 1; ; attempt++) {
    try {
      await store()
      return true
    } catch (error) {
      if (attempt === TRIES) {
        logger.error({ err: (error as Error).message }, 'what became of a call could not be stored')
        return false
      }
    }
    await sleep(PAUSE_MS)
  }
}
