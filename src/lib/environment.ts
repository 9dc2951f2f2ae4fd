import { readFileSync } from 'node:fs'
import { io } from './io.ts'

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
