import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { inject } from 'vitest'
import { runProgram } from '../../src/cli/program.ts'
import { type Io, withIo } from '../../src/lib/io.ts'
import { spawnDirsync } from '../helpers/process.ts'

/** What `dirsync` printed, and how it ended. */
export interface Run {
  code: number | null
  stdout: string
  stderr: string
  /** Standard output as the one JSON document that it should be. */
  // biome-ignore lint/suspicious/noExplicitAny: each test looks at a document of its own
  json(): any
}

const ROOT = join(import.meta.dirname, '../..')

/**
 * Runs a command to its end in this process, several at once if need be. As in a process of its own it knows nothing of the
 * environment but PATH, and there is no terminal.
 * @param input what it finds on its standard input
 * @param columns of a screen for what it prints; without: 80
 */
export async function dirsync(
  args: readonly string[],
  env: Record<string, string> = {},
  input = '',
  columns?: number,
): Promise<Run> {
  // Where `dirsync` would be started: files of tests have absolute names, and nothing is left in the project.
  if (process.cwd() === ROOT) process.chdir(inject('runFolder'))
  const stdout = Object.assign(new Text(), { columns })
  const stderr = new Text()
  const io = Object.assign(new EventEmitter(), {
    env: { PATH: process.env.PATH, ...env },
    stdin: Readable.from(input === '' ? [] : [input]),
    stdout,
    stderr,
  }) as unknown as Io
  const code = await withIo(io, () => runProgram([...args]))
  return ran(code, stdout.text, stderr.text)
}

/** Runs `bin/dirsync` to its end: for what only a process shows. */
export async function dirsyncProcess(args: string[], env: Record<string, string> = {}): Promise<Run> {
  const child = spawnDirsync(args, { env })
  const { code } = await child.exited
  return ran(code, child.stdout, child.stderr)
}

const ran = (code: number | null, stdout: string, stderr: string): Run => ({
  code,
  stdout,
  stderr,
  json: () => JSON.parse(stdout),
})

class Text extends Writable {
  text = ''

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk
    done()
  }
}

/** Lines wider than a terminal of 80 columns. */
export function wideLines(text: string): string[] {
  return text.split('\n').filter(line => [...line].length > 80)
}
