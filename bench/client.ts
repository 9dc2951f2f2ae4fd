import { askChild } from './child.ts'
import type { Benchmark } from './figure.ts'
import type { Workshop } from './workshop.ts'

const CONCURRENCY = 32

/** The task of a client's process. */
export interface CallTask {
  url: string
  calls: number
  concurrency: number
  /**
   * `dirsync`: our client; `signed`: undici's request, each call signed; `prepared`: undici's request, signed beforehand;
   * `fetch`: the global fetch, signed beforehand.
   */
  client: 'dirsync' | ClientBaseline
}

type ClientBaseline = 'signed' | 'prepared' | 'fetch'

const BEFOREHAND =
  'all of them signed and written out before the clock starts, so that nothing is left but to send and to parse'

const BASELINES: Record<ClientBaseline, { name: string; against: string; atLeast: number }> = {
  prepared: {
    name: 'client',
    against: `undici.request of the same requests, ${BEFOREHAND}`,
    atLeast: 0.85,
  },
  signed: {
    name: 'client-signed',
    against: 'undici.request of the same requests, each signed as it is made',
    atLeast: 0.85,
  },
  fetch: {
    name: 'client-fetch',
    against: `the global fetch of the same requests, ${BEFOREHAND}`,
    atLeast: 3,
  },
}

/** Calls per second of the platform client, compared with code that one would write without it. */
export function client(workshop: Workshop, calls: number, baseline: ClientBaseline): Benchmark {
  const { name, against, atLeast } = BASELINES[baseline]
  return {
    name,
    unit: 'calls/s',
    measures: `${calls.toLocaleString('en')} employee/get by PlatformClient (checked, paced without limit, signed, answer validated), concurrency ${CONCURRENCY}, against a trivial HTTP server`,
    against: `${against}; the answer as JSON`,
    goal: { atLeast },
    async prepare() {
      const url = await workshop.server('http-server.ts')
      const task = { url, calls, concurrency: CONCURRENCY }
      const rate = async (which: CallTask['client']) =>
        calls /
        (await askChild<CallTask, number>(workshop.folder, 'child-client.ts', { ...task, client: which }))
      return { ours: () => rate('dirsync'), baseline: () => rate(baseline), close: async () => {} }
    },
  }
}
