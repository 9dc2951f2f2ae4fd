import { spawn } from 'node:child_process'
import { appendFileSync, openSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CallRecord } from '../../emulator/call-log.ts'
import { registerChild } from '../helpers/children.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { freePort } from '../helpers/free-port.ts'
import { seedOf } from './departments.ts'
import { LAUNCHER } from './processes.ts'

/** The emulator as a process, its faults, and the log of its calls. */

export const APP_ID = 'test-application'
const SECRET = 'test-secret'
/** Calls per second that it permits. */
export const LIMIT = 30
const READ_LOG_EVERY_MS = 2000
/** Merchants to whom employees are known by open ids. With more of them, whatever is as urgent would wait for minutes. */
export const MERCHANTS = ['mall0001']

/** A rule of the emulator's `POST /_emulator/faults`. */
export type Fault = { operation: string } & Record<string, unknown>

/** What always goes wrong now and then. */
const USUAL: Fault[] = [
  { operation: '*', latencyMs: 10, jitterMs: 150 },
  { operation: '*', rateLimit: { kind: 'sliding-log', limit: LIMIT, windowMs: 1000, scope: 'all' } },
  { operation: '*', errorRate: 0.01, reset: true },
  { operation: '*', errorRate: 0.01, httpStatus: 502 },
  { operation: '*', errorRate: 0.005, httpStatus: 200, body: '<html><body>Bad gateway</body></html>' },
  { operation: '*', errorRate: 0.01, loseAnswer: true },
]

interface Statistics {
  overlappingUserids: { userid: string; concurrent: number }[]
  operations: Record<
    string,
    {
      calls: number
      byCode: Record<string, number>
      byHttpStatus: Record<string, number>
      rateLimited: number
      reset: number
      answersLost: number
      abandoned: number
    }
  >
}

export type Platform = Awaited<ReturnType<typeof startPlatform>>

export async function startPlatform(options: { seed: object; folder: string; runFolder: string }) {
  const { folder, runFolder } = options
  const port = await freePort()
  const seed = join(runFolder, 'platform.json')
  await writeFile(seed, JSON.stringify(options.seed))
  const log = openSync(join(folder, 'emulator.log'), 'a')
  const args = [
    'emulator',
    '--port',
    String(port),
    '--appid',
    APP_ID,
    '--secret',
    SECRET,
    '--strict',
    '--seed',
    seed,
  ]
  const child = spawn(LAUNCHER, args, { env: { PATH: process.env.PATH }, stdio: ['ignore', log, log] })
  registerChild(runFolder, child)
  const url = `http://127.0.0.1:${port}`
  const control = controlOf(url)
  for (let tries = 0; ; tries++) {
    if (await control('GET', 'stats').catch(() => null)) break
    if (tries === 200) throw new Error('the emulator does not start')
    await sleep(100)
  }

  const faults = new Map<string, Fault[]>([['usual', USUAL]])
  const applyFaults = async () => {
    // Those of disturbances come first: the first failure decides.
    await control('DELETE', 'faults')
    await control('POST', 'faults', [...faults.values()].reverse().flat())
  }
  await applyFaults()

  const calls: CallRecord[] = []
  const callFile = join(folder, 'calls.jsonl')
  const readNext = async () => {
    const read = await control<{ calls: CallRecord[] }>('GET', `calls?since=${calls.at(-1)?.id ?? 0}`)
    calls.push(...read.calls)
    if (read.calls.length > 0)
      appendFileSync(callFile, read.calls.map(call => `${JSON.stringify(call)}\n`).join(''))
  }
  let last = Promise.resolve()
  const readCalls = () => {
    last = last.catch(() => {}).then(readNext)
    return last
  }
  const state = () =>
    control<Record<'employees' | 'departments' | 'openids', Record<string, unknown>[]>>('GET', 'state')
  const putBack: { at: number; codes: string[] }[] = []
  const reading = setInterval(() => void readCalls().catch(() => {}), READ_LOG_EVERY_MS)

  return {
    settings: {
      ...{ PLATFORM_BASE_URL: url, PLATFORM_APP_ID: APP_ID, PLATFORM_APP_SECRET: SECRET },
      SELLER_APPIDS: MERCHANTS.join(','),
    },
    calls,
    readCalls,
    control,
    /** Faults beside the usual ones, until they are lifted. */
    async plant(name: string, rules: Fault[]): Promise<void> {
      faults.set(name, rules)
      await applyFaults()
    },
    async lift(name: string): Promise<void> {
      faults.delete(name)
      await applyFaults()
    },
    statistics: () => control<Statistics>('GET', 'stats'),
    async employees(): Promise<Map<string, Record<string, unknown>>> {
      const { employees } = await state()
      return new Map(employees.map(employee => [String(employee.userid), employee]))
    },
    async departments(): Promise<Set<string>> {
      const { departments } = await state()
      return new Set(departments.map(({ dept_code }) => String(dept_code)))
    },
    /** By user id and merchant. */
    async openids(): Promise<Map<string, string>> {
      const { openids } = await state()
      return new Map(openids.map(each => [`${each.userid} ${each.seller_appid}`, String(each.open_userid)]))
    },
    /** Departments that people have put back, in the order in which they did. */
    putBack,
    /** As people do in the platform's pages: dirsync never makes a department. */
    async putBackDepartments(codes: string[]): Promise<void> {
      const present = await this.departments()
      const missing = codes.filter(code => !present.has(code))
      if (missing.length === 0) return
      await control('POST', 'departments', missing.map(seedOf))
      putBack.push({ at: Date.now(), codes: missing })
    },
    async [Symbol.asyncDispose]() {
      clearInterval(reading)
      child.kill('SIGKILL')
    },
  }
}
