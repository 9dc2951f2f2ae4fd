import type { CallRecord } from '../emulator/call-log.ts'
import { controlOf } from '../test/helpers/emulator-control.ts'
import type { PlatformAccess } from './workshop.ts'

/** Limits the calls per second, all operations together; above that it answers 429 with Retry-After. */
export async function limitCalls({ baseUrl }: PlatformAccess, perSecond: number): Promise<void> {
  const rateLimit = { kind: 'sliding-log', limit: perSecond, windowMs: 1000, scope: 'all' }
  await controlOf(baseUrl)('POST', 'faults', { operation: '*', rateLimit })
}

/** The emulator's calls from now on. */
export async function watchCalls({ baseUrl }: PlatformAccess): Promise<{ all(): Promise<CallRecord[]> }> {
  const control = controlOf(baseUrl)
  const { lastId } = await control<{ lastId: number }>('GET', 'calls?limit=0')
  return {
    async all() {
      return (await control<{ calls: CallRecord[] }>('GET', `calls?since=${lastId}`)).calls
    },
  }
}
