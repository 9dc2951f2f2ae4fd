import { setTimeout as delay } from 'node:timers/promises'
import type { BareCaller } from './bare-call.ts'
import type { PlatformAccess } from './workshop.ts'

const FIRST_BACKOFF_MS = 500
const LONGEST_BACKOFF_MS = 8000

/**
 * The obvious loop: a number of concurrent calls with `fetch`, each repeated after a 429, either after `Retry-After`
 * or after a time that doubles from try to try. Ends when the signal aborts.
 */
export async function loopWithBackoff(
  { baseUrl }: PlatformAccess,
  caller: BareCaller,
  userids: readonly string[],
  concurrency: number,
  signal: AbortSignal,
): Promise<void> {
  let begun = 0
  const run = async () => {
    while (!signal.aborted) {
      const userid = userids[begun++ % userids.length] as string
      for (let backoff = FIRST_BACKOFF_MS; ; backoff = Math.min(backoff * 2, LONGEST_BACKOFF_MS)) {
        const { path, body } = caller.prepare('employee/get', { userid })
        const response = await fetch(baseUrl + path, {
          method: 'POST',
          body: new URLSearchParams(body),
          signal,
        })
        const text = await response.text()
        if (response.ok) {
          JSON.parse(text)
          break
        }
        if (response.status !== 429) throw new Error(`the platform answered ${response.status}`)
        const advised = Number(response.headers.get('retry-after') ?? 0) * 1000
        await delay(advised || backoff, undefined, { signal })
      }
    }
  }
  await Promise.all(Array.from({ length: concurrency }, () => run().catch(unlessOver(signal))))
}

/** Failures after the end are ignored. */
export function unlessOver(signal: AbortSignal): (error: unknown) => void {
  return error => {
    if (!signal.aborted) throw error
  }
}
