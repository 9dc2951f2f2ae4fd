import { askChild } from './child.ts'
import type { Benchmark } from './figure.ts'
import type { Workshop } from './workshop.ts'

const CONCURRENCY = 32

/** What a client's process is told. */
export interface CallTask {
  url: string
  calls: number
  concurrency: number
  /** `dirsync`: our client; `signed`: undici's request, each call signed; `prepared`: undici's request, signed beforehand. */
  client: 'dirsync' | 'signed' | 'prepared'
}

/** Calls per second of the platform client against undici's `request` of the same requests. */
export function client(workshop: Workshop, calls: number, against: 'signed' | 'prepared'): Benchmark {
  const baseline = {
    signed: 'each signed as it is made',
    prepared:
      'all of them signed and written out before the clock starts, so that nothing is left but to send and to parse',
  }
  return {
    name: against === 'prepared' ? 'client' : 'client-signed',
    unit: 'calls/s',
    measures: `${calls.toLocaleString('en')} employee/get by PlatformClient (checked, paced without limit, signed, answer validated), concurrency ${CONCURRENCY}, against a trivial HTTP server`,
    against: `undici.request of the same requests, ${baseline[against]}; the answer as JSON`,
    goal: { atLeast: 0.8 },
    async prepare() {
      const url = await workshop.server('http-server.ts')
      const task = { url, calls, concurrency: CONCURRENCY }
      const rate = async (which: CallTask['client']) =>
        calls /
        (await askChild<CallTask, number>(workshop.folder, 'child-client.ts', { ...task, client: which }))
      return { ours: () => rate('dirsync'), baseline: () => rate(against), close: async () => {} }
    },
  }
}
