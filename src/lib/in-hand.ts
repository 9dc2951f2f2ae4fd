import { io } from './io.ts'
import type { Logger } from './logger.ts'

/**
 * Tracks what this process is doing. A driver that fails on an answer throws outside any awaited call and ends the process: the
 * last line of its log then says what was in progress.
 */

const works = new Set<{ what: string }>()

/** @param what names the work, and nothing personal */
export async function inHand<T>(what: string, work: () => Promise<T>): Promise<T> {
  const entry = { what }
  works.add(entry)
  try {
    return await work()
  } finally {
    works.delete(entry)
  }
}

/** Jobs come by the hundred; a log line names at most this many. */
const MOST_NAMED = 10

/** Logs the work in progress when an uncaught error ends the process. The process ends all the same. */
export function tellCrashes(logger: Logger): void {
  io().on('uncaughtExceptionMonitor', error => {
    const named = [...works].map(({ what }) => what)
    logger.fatal(
      {
        error,
        inHand: named.slice(0, MOST_NAMED),
        ...(named.length > MOST_NAMED && { others: named.length - MOST_NAMED }),
      },
      'the process ends because of an unexpected error, during this work',
    )
  })
}
