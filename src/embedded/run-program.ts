import { execFile } from 'node:child_process'

/** A user and group of the operating system. */
export interface Account {
  uid: number
  gid: number
}

/** What a program did: its exit code, or why it could not be executed, and everything it printed. */
export interface ProgramResult {
  exitCode: number | null
  failure: string | null
  output: string
}

/**
 * Runs a program to its end, as another account where one is given (needs root). The environment is minimal on
 * purpose: `PG…` variables of the caller must not reach the embedded server.
 */
export function runProgram(file: string, args: string[], account: Account | null): Promise<ProgramResult> {
  return new Promise(resolve => {
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin', LC_ALL: 'C' }
    execFile(file, args, { cwd: '/', env, ...account }, (error, stdout, stderr) => {
      const output = `${stdout}${stderr}`.trim()
      if (!error) resolve({ exitCode: 0, failure: null, output })
      else if (typeof error.code === 'number') resolve({ exitCode: error.code, failure: null, output })
      else resolve({ exitCode: null, failure: error.code ?? error.signal ?? 'killed', output })
    })
  })
}
