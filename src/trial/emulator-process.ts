import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, open, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { extname, join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { message } from '../texts/message.ts'
import { EmbeddedError, identify } from './folder.ts'
import { freePort } from './postgres.ts'

/** TypeScript in a checkout, JavaScript in a package. */
const MAIN = join(import.meta.dirname, `../cli/main${extname(import.meta.filename)}`)
/** Short, because numbers of 10 to 30 characters have to begin with it, as those of the sample do. */
const APP_ID = 'demo-application'
/** The emulator's default, which its environment, being empty, does not change. */
export const SIGN_ALGORITHM = 'sha256'
const START_MS = 20_000
const STOP_MS = 5_000

/** The emulator as a separate process, which outlives the one that started it. */
export interface EmulatorProcess {
  readonly url: string
  readonly appId: string
  readonly appSecret: string
  isRunning(): Promise<boolean>
  /** Restarts it on the same port if it died. */
  revive(): Promise<void>
  stop(): Promise<void>
}

/**
 * Starts the emulator with its state and credentials in `folder`, or joins the one that runs there already. The caller holds
 * the lock of the folder above, here and around `revive` and `stop`.
 *
 * @param seed absolute path of the file with the platform's initial state
 * @throws EmbeddedError `EMBEDDED_EMULATOR_FAILED`
 */
export async function startEmulatorProcess(folder: string, seed: string): Promise<EmulatorProcess> {
  await mkdir(folder, { recursive: true })
  const files = filesOf(folder)
  const appId = await readOrMake(files.appId, () => APP_ID)
  const appSecret = await readOrMake(files.secret, () => randomBytes(16).toString('hex'))
  const last = Number(await readFile(files.port, 'utf8').catch(() => ''))
  const isRunning = async () => (await runningPid(folder)) !== null
  const port = last && (await isRunning()) ? last : await freePort(last)
  await writeFile(files.port, String(port))
  const url = `http://127.0.0.1:${port}`

  const revive = async () => {
    if (await answers(folder, url)) return
    await stopEmulatorProcess(folder) // alive, but it does not answer
    await launch(folder, appId, port, seed)
    if (!(await answers(folder, url))) throw await failed(folder)
  }
  await revive()
  return { url, appId, appSecret, isRunning, revive, stop: () => stopEmulatorProcess(folder) }
}

/** Stops the emulator of `folder`, whichever process started it. */
export async function stopEmulatorProcess(folder: string): Promise<void> {
  const pid = await runningPid(folder)
  if (pid === null) return
  process.kill(pid, 'SIGTERM')
  const killAt = Date.now() + STOP_MS
  while ((await runningPid(folder)) === pid) {
    if (Date.now() > killAt) process.kill(pid, 'SIGKILL')
    await delay(20) // it may be another process' child, whose end the system reports only to its parent
  }
}

function filesOf(folder: string) {
  return {
    appId: resolve(folder, 'appid'),
    secret: resolve(folder, 'secret'),
    port: resolve(folder, 'port'),
    pid: resolve(folder, 'pid'),
    log: resolve(folder, 'emulator.log'),
    data: resolve(folder, 'emulator.sqlite'),
  }
}

async function runningPid(folder: string): Promise<number | null> {
  const { pid: file, data } = filesOf(folder)
  const pid = Number.parseInt(await readFile(file, 'utf8').catch(() => ''), 10)
  return pid && (await identify(pid, data, await realpath(folder))) === 'ours' ? pid : null
}

async function launch(folder: string, appId: string, port: number, seed: string): Promise<void> {
  const { secret, pid, log, data } = filesOf(folder)
  await rm(pid, { force: true })
  await using output = await open(log, 'w', 0o600)
  // The process records its own id before it becomes the emulator: recorded here, a kill between the two would leave an
  // untracked emulator.
  const script = ['-c', 'echo $$ >"$0" && exec "$@"', pid]
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', MAIN]
  const emulator = ['emulator', '--port', String(port), '--appid', appId, '--secret-file', secret]
  const child = spawn('/bin/sh', [...script, ...node, ...emulator, '--data', data, '--seed', seed], {
    // By which it is found where the folder was moved.
    cwd: folder,
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
    env: {},
  })
  child.unref()
  await once(child, 'spawn')
  // Callers find the process by that record.
  const giveUpAt = Date.now() + START_MS
  while ((await runningPid(folder)) === null && child.exitCode === null && Date.now() < giveUpAt)
    await delay(5)
}

/** Waits until the emulator answers; false when it exits, or does not answer within the time for a start. */
async function answers(folder: string, url: string): Promise<boolean> {
  const giveUpAt = Date.now() + START_MS
  while ((await runningPid(folder)) !== null && Date.now() < giveUpAt) {
    const signal = AbortSignal.timeout(2_000)
    const answer = await fetch(`${url}/_emulator/stats`, { signal }).catch(() => null)
    if (answer?.ok) return true
    await delay(25)
  }
  return false
}

async function readOrMake(file: string, make: () => string): Promise<string> {
  const existing = await readFile(file, 'utf8').catch(() => null)
  if (existing) return existing
  const value = make()
  await writeFile(file, value, { mode: 0o600 })
  return value
}

async function failed(folder: string): Promise<EmbeddedError> {
  const { log } = filesOf(folder)
  const words = (await readFile(log, 'utf8').catch(() => '')).trim().split('\n').slice(-3).join(' | ')
  return new EmbeddedError(
    'EMBEDDED_EMULATOR_FAILED',
    message('said.embedded_emulator_failed', { words, file: log }),
  )
}
