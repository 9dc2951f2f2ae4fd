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

/** Lines wider than a terminal of 80 columns. */
export function wideLines(text: string): string[] {
  return text.split('\n').filter(line => [...line].length > 80)
}
