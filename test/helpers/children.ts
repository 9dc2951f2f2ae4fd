import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Has the run's reaper end this child if nothing else does, for instance because the run is killed. */
export function registerChild(runFolder: string, child: ChildProcess): void {
  if (child.pid === undefined) return
  const file = join(runFolder, 'children', String(child.pid))
  writeFileSync(file, '')
  child.once('exit', () => rmSync(file, { force: true }))
}

/** Registers a server and waits until it has printed `ready`. @throws Error with all that it printed, if it ends before */
export async function untilReady(runFolder: string, child: ChildProcess, ready: string): Promise<void> {
  registerChild(runFolder, child)
  let output = ''
  await new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', chunk => {
        output += chunk
        if (output.includes(ready)) resolve()
      })
    child.once('error', reject)
    child.once('exit', code => reject(new Error(`${child.spawnfile} ended with ${code}: ${output}`)))
  })
}

/** Kills a child that has not ended, and waits for its end. */
export async function killChild(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill('SIGKILL')
  await exited
}
