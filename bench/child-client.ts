import { LocalPacer } from '../src/platform/caller.ts'
import { PlatformClient } from '../src/platform/client.ts'
import { MemoryTokenStore } from '../src/platform/token.ts'
import { BareCaller, FORM, type PreparedRequest } from './bare-call.ts'
import { answerParent, NO_LIMIT } from './child.ts'
import type { CallTask } from './client.ts'

const ACCOUNT = { appId: 'bench', appSecret: 'bench-secret' }
const USERIDS = 1000
/** Share of the calls that are made before the clock starts, so that the code is compiled. */
const WARM_UP = 0.2

type Call = (userid: string) => Promise<unknown>

// Makes concurrent calls, and answers with the seconds they took.
answerParent<CallTask, number>(async task => {
  const userids = Array.from({ length: USERIDS }, (_, i) => `e${String(i).padStart(8, '0')}`)
  const { call, close } = await open(task, userids)
  const run = async (calls: number) => {
    let begun = 0
    const caller = async () => {
      while (begun < calls) await call(userids[begun++ % USERIDS] as string)
    }
    await Promise.all(Array.from({ length: task.concurrency }, caller))
  }
  await run(task.calls * WARM_UP)
  const startedAt = performance.now()
  await run(task.calls)
  const seconds = (performance.now() - startedAt) / 1000
  await close()
  return seconds
})

async function open(task: CallTask, userids: string[]): Promise<{ call: Call; close(): Promise<void> }> {
  if (task.client === 'dirsync') {
    const pacer = new LocalPacer(NO_LIMIT)
    const client = new PlatformClient({
      baseUrl: task.url,
      ...ACCOUNT,
      tokenStore: new MemoryTokenStore(),
      pacer,
    })
    const close = async () => {
      await client.close()
      await pacer.close()
    }
    return { call: userid => client.employees.get({ userid }), close }
  }
  const caller = new BareCaller({ baseUrl: task.url, ...ACCOUNT }, task.concurrency)
  await caller.createToken()
  if (task.client === 'signed')
    return { call: userid => caller.getEmployee(userid), close: () => caller.close() }
  const prepared = new Map(userids.map(userid => [userid, caller.prepare('employee/get', { userid })]))
  const send =
    task.client === 'fetch'
      ? (request: PreparedRequest) => fetchAnswer(task.url, request)
      : (request: PreparedRequest) => caller.send(request)
  return { call: userid => send(prepared.get(userid) as PreparedRequest), close: () => caller.close() }
}

async function fetchAnswer(url: string, { path, body }: PreparedRequest): Promise<unknown> {
  const response = await fetch(url + path, { method: 'POST', headers: FORM, body })
  const answer = (await response.json()) as { code: number; data: Record<string, unknown> }
  if (answer.code !== 0) throw new Error(`the platform answered ${answer.code}`)
  return answer.data
}
