import { AsyncLocalStorage } from 'node:async_hooks'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'

/** The parts of its process that a run of the program does not share with other runs, except the arguments. */
export interface Io extends Pick<NodeJS.Process, 'env' | 'exit' | 'exitCode' | 'off' | 'on' | 'once'> {
  readonly stdin: Readable & { isTTY?: boolean }
  readonly stdout: Writable & { isTTY?: boolean; columns?: number }
  readonly stderr: Writable & { isTTY?: boolean }
}

const given = new AsyncLocalStorage<Io>()

/** The process, or its substitute. */
export function io(): Io {
  return given.getStore() ?? process
}

/** Runs a function, and everything that it starts, with a substitute for the process. */
export function withIo<T>(io: Io, run: () => T): T {
  return given.run(io, run)
}

/** State of one run of the program, not shared with other runs. */
export function perRun<State extends object>(begin: () => State): () => State {
  const states = new WeakMap<Io, State>()
  return () => {
    const key = io()
    const state = states.get(key) ?? begin()
    states.set(key, state)
    return state
  }
}

/** Writes a text; on a terminal, only the colours of this program control it. Pipes and files get it as it is. */
export function write(stream: Io['stdout' | 'stderr'], text: string): void {
  stream.write(stream.isTTY ? text.replace(CONTROLS, escaped) : text)
}

const COLOUR = String.raw`\u001b\[(?:0|1|2|22|3[1-69])m`
/** Line ends, tabs and colours are kept. */
const CONTROLS = new RegExp(String.raw`(${COLOUR}|[\n\t])|[\p{Cc}\p{Cf}\u2028\u2029]`, 'gu')

/** As in JSON: `\u001b`. */
function escaped(character: string, kept?: string): string {
  if (kept) return kept
  return character
    .split('')
    .map(unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

/** Variables by name. */
export type Environment = Record<string, string | undefined>

/** The program's environment: the only place that reads it. */
export function environment(): Environment {
  return io().env
}

type Found =
  | { value: string; file: string | null }
  | { flaw: 'absent' }
  | { flaw: 'empty' | 'unreadable'; file: string }

/** A setting from the environment, or from the file that `NAME_FILE` names. */
export function readSetting(env: Environment, name: string): Found {
  const value = env[name]?.trim()
  if (value) return { value, file: null }
  const file = env[`${name}_FILE`]?.trim()
  if (!file) return { flaw: 'absent' }
  try {
    const line = (readFileSync(file, 'utf8').split('\n')[0] as string).trim()
    return line === '' ? { flaw: 'empty', file } : { value: line, file }
  } catch {
    return { flaw: 'unreadable', file }
  }
}
