import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { inject } from 'vitest'
import { registerChild } from '../helpers/children.ts'
import { program } from '../helpers/programs.ts'

const LAUNCHER = join(import.meta.dirname, '../../bin/dirsync')

/** A `dirsync` process at a terminal of its own. */
interface AtTerminal {
  /** Types, as a person does: `\r` is the return key, `\x03` Ctrl-C. */
  type(keys: string): void
  /** Resolves when the screen shows this. */
  shows(pattern: RegExp): Promise<void>
  /** Resolves with everything shown, and the exit code. */
  readonly ended: Promise<{ code: number | null; screen: string }>
}

/** Runs `bin/dirsync` at a pseudo-terminal, which util-linux' `script` lends it: tag the test script. */
export function atTerminal(args: string[], env: Record<string, string>): AtTerminal {
  // Without exec, Ctrl-C would end the shell in between too, and its exit code would be shown.
  const words = [LAUNCHER, ...args].map(word => `'${word.replaceAll("'", `'\\''`)}'`)
  const command = `exec ${words.join(' ')}`
  const child = spawn(
    program('script'),
    ['--quiet', '--return', '--flush', '--command', command, '/dev/null'],
    {
      cwd: inject('runFolder'),
      env: { PATH: process.env.PATH, TERM: 'dumb', NO_COLOR: '1', ...env },
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  registerChild(inject('runFolder'), child)
  let screen = ''
  const watchers = new Set<() => void>()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    screen += text
    for (const watcher of watchers) watcher()
  })
  const ended = new Promise<{ code: number | null; screen: string }>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', code => resolve({ code, screen }))
  })
  return {
    ended,
    type: keys => child.stdin.write(keys),
    shows: pattern =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (pattern.test(screen)) resolve()
        }
        watchers.add(look)
        look()
        ended.then(() => reject(new Error(`it ended without ${pattern}:\n${screen}`)), reject)
      }),
  }
}
