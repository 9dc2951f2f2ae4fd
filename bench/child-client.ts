import { LocalPacer } from '../src/platform/caller.ts'
import { PlatformClient } from '../src/platform/client.ts'
import { MemoryTokenStore } from '../src/platform/token.ts'
import { BareCaller, FORM, type PreparedRequest } from './bare-call.ts'
import { answerParent, NO_LIMIT } from './child.ts'
import type { CallTask } from './client.ts'

const ACCOUNT = { appId: 'bench', appSecret: 'bench-secret' }
/** The employee about whom the server always answers: an answer about another is refused. */
const USERID = 'e00000001'
/** Share of the calls that are made before the clock starts, so that the code is compiled. */
const WARM_UP = 0.2

type Call = () => Promise<unknown>

// Makes concurrent calls, and answers with the seconds they took.
answerParent<CallTask, number>(async task => {
  const { call, close } = await open(task)
  const run = async (calls: number) => {
    let begun = 0
    const caller = async () => {
      while (begun < calls) {
        begun += 1
        await call()
      }
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

async function open(task: CallTask): Promise<{ call: Call; close(): Promise<void> }> {
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
    return { call: () => client.employees.get({ userid: USERID }), close }
  }
  const caller = new BareCaller({ baseUrl: task.url, ...ACCOUNT }, task.concurrency)
  await caller.createToken()
  if (task.client === 'signed') return { call: () => caller.getEmployee(USERID), close: () => caller.close() }
  const prepared = caller.prepare('employee/get', { userid: USERID })
  const send =
    task.client === 'fetch'
      ? (request: PreparedRequest) => fetchAnswer(task.url, request)
      : (request: PreparedRequest) => caller.send(request)
  return { call: () => send(prepared), close: () => caller.close() }
}

async function fetchAnswer(url: string, { path, body }: PreparedRequest): Promise<unknown> {
  const response = await fetch(url + path, { method: 'POST', headers: FORM, body })
  const answer = (await response.json()) as { code: number; data: Record<string, unknown> }
  if (answer.code !== 0) throw new Error(`the platform answered ${answer.code}`)
  return answer.data
}
