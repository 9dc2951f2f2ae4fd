import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { registerChild } from '../helpers/children.ts'
import { cutOff } from '../helpers/cut-off.ts'
import { type Link, startLink } from '../helpers/link.ts'

/** The processes of dirsync, and who starts them again. */

export const LAUNCHER = join(import.meta.dirname, '../../bin/dirsync')
/** A process that ended by itself is started again after this long; one that was killed, at once. */
const PAUSE_MS = 1000

/** How a process ended that was told to. */
export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  seconds: number
  /** Whether it had said that it runs. */
  wasAtWork: boolean
}

/** One that has not ended by then is killed. */
const WAIT_FOR_END_MS = 30_000

export interface Process {
  readonly name: string
  readonly role: 'worker' | 'scheduler' | 'console,notifications'
  /** Between it and each server. */
  readonly links: { postgres: Link; hr: Link; redis?: Link }
  /** Whether its clock can be set. */
  readonly hasOwnClock: boolean
  /** Whether it is of an older version, which could not start again on the present schema. */
  readonly isOlder: boolean
  /** Ends that nobody asked for, once it had been at work. */
  readonly deaths: string[]
  /** How often it refused to start, because something that it needs was away. */
  readonly refusals: () => number
  isAtWork(): boolean
  /** Has it stand still, and go on. */
  stop(): void
  go(): void
  /** `kill -9`; it is started again at once. */
  kill(): void
  /** `SIGTERM`; it is started again as soon as it has ended. */
  terminate(): Promise<Ended>
  /** @param offset as libfaketime reads it: `+3h`, `-26h`, `+0` */
  setClock(offset: string): Promise<void>
  /** Whether it reaches the platform: a link would give each process an address, and so a token, of its own. */
  setReach(reaches: boolean): Promise<void>
  end(): Promise<void>
}

export async function startProcess(options: {
  name: string
  role: Process['role']
  servers: { postgres: string; hr: string; redis?: string | undefined }
  settings: Record<string, string>
  /** Where its log goes. */
  folder: string
  /** Whose `children` end with this process, however it ends. */
  runFolder: string
  /** libfaketime, for a process whose clock can be set. */
  clock: string | null
  /** The program of another version. */
  older?: string | undefined
}): Promise<Process> {
  const { name, role, servers, folder, runFolder, clock, older } = options
  const links: Process['links'] = {
    postgres: await startLink(servers.postgres),
    hr: await startLink(servers.hr),
    ...(servers.redis && { redis: await startLink(servers.redis) }),
  }
  const clockFile = join(runFolder, `clock-${name}`)
  await writeFile(clockFile, '+0')
  const cutFile = join(runFolder, `cut-${name}`)
  const env = {
    PATH: process.env.PATH,
    ...options.settings,
    DATABASE_URL: links.postgres.url,
    HR_DATABASE_URL: links.hr.url,
    ...(links.redis && { REDIS_URL: links.redis.url }),
    NODE_OPTIONS: cutOff(cutFile, Number(new URL(options.settings.PLATFORM_BASE_URL as string).port)),
    ...(clock && {
      LD_PRELOAD: clock,
      FAKETIME_TIMESTAMP_FILE: clockFile,
      FAKETIME_CACHE_DURATION: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    }),
  }
  const log = createWriteStream(join(folder, `${name}.log`))
  const deaths: string[] = []
  let refusals = 0
  let isEnding = false
  let isAtWork = false
  let told: ChildProcess | undefined
  let child: ChildProcess
  const start = () => {
    const started = spawn(older ?? LAUNCHER, ['start', '--roles', role], {
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    child = started
    registerChild(runFolder, started)
    isAtWork = false
    started.stderr.setEncoding('utf8').on('data', (said: string) => {
      log.write(said)
      isAtWork ||= said.includes('"Running')
    })
    started.once('exit', async (code, signal) => {
      if (clock) await removeClockOf(started.pid)
      if (isEnding) return
      if (signal === 'SIGKILL' || told === started) return start()
      if (isAtWork) deaths.push(`${name} ended with ${code ?? signal} at ${new Date().toISOString()}`)
      else refusals += 1
      setTimeout(() => isEnding || start(), PAUSE_MS)
    })
  }
  start()
  return {
    ...{
      name,
      role,
      links,
      deaths,
      refusals: () => refusals,
      isAtWork: () => isAtWork,
      hasOwnClock: clock !== null,
      isOlder: older !== undefined,
    },
    stop: () => void child.kill('SIGSTOP'),
    go: () => void child.kill('SIGCONT'),
    kill: () => void child.kill('SIGKILL'),
    async terminate() {
      // It may have ended just now, and another one starts in its place.
      while (hasEnded(child)) await sleep(50)
      const [stopping, wasAtWork, begun] = [child, isAtWork, performance.now()]
      told = stopping
      const exited = once(stopping, 'exit')
      const late = setTimeout(() => stopping.kill('SIGKILL'), WAIT_FOR_END_MS)
      stopping.kill('SIGTERM')
      const [code, signal] = await exited
      clearTimeout(late)
      return { code, signal, seconds: (performance.now() - begun) / 1000, wasAtWork }
    },
    setClock: offset => writeFile(clockFile, offset),
    setReach: reaches => (reaches ? rm(cutFile, { force: true }) : writeFile(cutFile, '')),
    async end() {
      isEnding = true
      if (!hasEnded(child)) {
        const exited = once(child, 'exit')
        child.kill('SIGCONT')
        child.kill('SIGTERM')
        await exited
      }
      for (const link of Object.values(links)) await link[Symbol.asyncDispose]()
    },
  }
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

/** What libfaketime leaves of a process that is killed. */
async function removeClockOf(pid: number | undefined): Promise<void> {
  for (const left of ['faketime_shm', 'sem.faketime_sem'])
    await rm(`/dev/shm/${left}_${pid}`, { force: true })
}
