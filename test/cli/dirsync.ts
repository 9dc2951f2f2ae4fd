import { vi } from 'vitest'
import { runProgram } from '../../src/cli/program.ts'
import { spawnDirsync } from '../helpers/process.ts'

/** What a `dirsync` process printed, and how it ended. */
export interface Run {
  code: number | null
  stdout: string
  stderr: string
  /** Standard output as the one JSON document that it should be. */
  // biome-ignore lint/suspicious/noExplicitAny: each test looks at a document of its own
  json(): any
}

/** Runs `bin/dirsync` to its end. */
export async function dirsync(args: string[], env: Record<string, string> = {}): Promise<Run> {
  const child = spawnDirsync(args, { env })
  const { code } = await child.exited
  const { stdout, stderr } = child
  return { code, stdout, stderr, json: () => JSON.parse(stdout) }
}

/** Runs a command that needs neither settings nor a terminal in this process; one at a time. */
export async function command(args: string[]): Promise<Omit<Run, 'json'>> {
  const printed = { stdout: '', stderr: '' }
  const spies = (['stdout', 'stderr'] as const).map(name =>
    vi.spyOn(process[name], 'write').mockImplementation(text => {
      printed[name] += text
      return true
    }),
  )
  try {
    return { code: await runProgram(args), ...printed }
  } finally {
    for (const spy of spies) spy.mockRestore()
  }
}

/** Lines wider than a terminal of 80 columns. */
export function wideLines(text: string): string[] {
  return text.split('\n').filter(line => [...line].length > 80)
}
