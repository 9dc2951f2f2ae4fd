import { type ChildProcess, spawn } from 'node:child_process'
import { join } from 'node:path'
import { inject } from 'vitest'
import { registerChild } from './children.ts'

const ROOT = join(import.meta.dirname, '../..')
export const LAUNCHER = join(ROOT, 'bin/dirsync')
/** Where `bin/dirsync` has Node.js keep what it compiled. */
export const COMPILE_CACHE = join(ROOT, 'node_modules/.cache/dirsync')

/** How a child ended: one of the two is null. */
interface Exit {
  code: number | null
  signal: NodeJS.Signals | null
}

/** A real `dirsync` process. */
export interface DirsyncProcess extends AsyncDisposable {
  readonly pid: number
  /** Everything printed so far. */
  readonly stdout: string
  readonly stderr: string
  /** Resolves when the process has ended and its output is complete. */
  readonly exited: Promise<Exit>
  /**
   * Resolves with the first line, printed already or yet to come, on stdout or stderr, that matches; rejects when
   * the process ends without one.
   */
  waitForLine(pattern: RegExp): Promise<RegExpMatchArray>
  /** Sends the signal (SIGTERM) and waits for the end. */
  kill(signal?: NodeJS.Signals): Promise<Exit>
}

const living = new Map<ChildProcess, string>()

/** Ends every child that is left. @throws Error that names them, if there are any */
export function endLeaked(): void {
  const leaked = [...living.values()]
  for (const child of living.keys()) child.kill('SIGKILL')
  if (leaked.length > 0) throw new Error(`The tests left running: ${leaked.join('; ')}`)
}

/**
 * Runs `bin/dirsync` with the given arguments. Of this process' environment only PATH is handed down. A child that
 * is still there when the test file ends is killed, and fails the file: end it, or hold it with `await using`.
 */
export function spawnDirsync(
  args: string[],
  options: { env?: Record<string, string>; cwd?: string; input?: string } = {},
): DirsyncProcess {
  const child = spawn(LAUNCHER, args, {
    cwd: options.cwd ?? inject('runFolder'),
    env: { PATH: process.env.PATH, ...options.env },
    stdio: [options.input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
  })
  // One that ends before it has read everything is judged by how it ended.
  child.stdin?.on('error', () => {}).end(options.input)
  return follow(child, `dirsync ${args.join(' ')}`)
}

/** Runs a TypeScript file in a Node.js of its own, under the same rules as `spawnDirsync`; as another user if asked. */
export function spawnScript(
  file: string,
  args: string[] = [],
  options: { uid?: number; gid?: number; cwd?: string; env?: Record<string, string> } = {},
): DirsyncProcess {
  const flags = ['--disable-warning=ExperimentalWarning', file, ...args]
  const env = {
    ...(options.env ? { PATH: process.env.PATH } : process.env),
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    ...options.env,
  }
  const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'pipe'], ...options, env })
  return follow(child, `${file} ${args.join(' ')}`)
}

function follow(child: ChildProcess, title: string): DirsyncProcess {
  living.set(child, title)
  registerChild(inject('runFolder'), child)
  const printed = { stdout: '', stderr: '' }
  const watchers = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      for (const watcher of watchers) watcher()
    })
  }
  const exited = new Promise<Exit>((resolve, reject) => {
    child.once('error', error => {
      living.delete(child)
      reject(error)
    })
    child.once('exit', () => living.delete(child))
    child.once('close', (code, signal) => resolve({ code, signal }))
  })
  exited.catch(() => {}) // for callers who never look at it

  const matching = (pattern: RegExp, hasEnded = false) => {
    // The last piece may be the beginning of a line.
    const lines = [printed.stdout, printed.stderr].flatMap(text =>
      text.split('\n').slice(0, hasEnded ? undefined : -1),
    )
    for (const line of lines) {
      const match = line.match(pattern)
      if (match) return match
    }
    return null
  }
  const waitForLine = (pattern: RegExp) =>
    new Promise<RegExpMatchArray>((resolve, reject) => {
      const look = (hasEnded = false) => {
        const match = matching(pattern, hasEnded)
        if (!match) return false
        resolve(match)
        return true
      }
      if (look()) return
      watchers.add(look)
      const ended = () => {
        if (!look())
          reject(new Error(`${title} ended without ${pattern}:\n${printed.stdout}\n${printed.stderr}`))
      }
      exited.then(ended, reject)
    })
  const kill = (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return exited
  }
  return {
    pid: child.pid ?? 0,
    exited,
    waitForLine,
    kill,
    get stdout() {
      return printed.stdout
    },
    get stderr() {
      return printed.stderr
    },
    async [Symbol.asyncDispose]() {
      await kill('SIGKILL')
    },
  }
}
