import type { CallRecord } from '../emulator/call-log.ts'
import type { PlatformAccess } from './workshop.ts'

/**
 * Sends a request to an emulator's control interface.
 * @throws Error with its answer, unless it succeeds
 */
export async function control(platform: PlatformAccess, path: string, body?: object): Promise<unknown> {
  const init = body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }
  const answer = await fetch(`${platform.baseUrl}/_emulator/${path}`, init)
  if (!answer.ok) throw new Error(`the emulator refuses ${path}: ${await answer.text()}`)
  return await answer.json()
}

/** Limits the calls per second, all operations together; above that it answers 429 with Retry-After. */
export async function limitCalls(platform: PlatformAccess, perSecond: number): Promise<void> {
  const rateLimit = { kind: 'sliding-log', limit: perSecond, windowMs: 1000, scope: 'all' }
  await control(platform, 'faults', { operation: '*', rateLimit })
}

/** The emulator's calls from now on. */
export async function watchCalls(platform: PlatformAccess): Promise<{ all(): Promise<CallRecord[]> }> {
  const { lastId } = (await control(platform, 'calls?limit=0')) as { lastId: number }
  return {
    async all() {
      const { calls } = (await control(platform, `calls?since=${lastId}`)) as { calls: CallRecord[] }
      return calls
    },
  }
}
