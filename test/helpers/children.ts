import type { ChildProcess } from 'node:child_process'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Has the run's reaper end this child if nothing else does, for instance because the run is killed. */
export function registerChild(runFolder: string, child: ChildProcess): void {
  if (child.pid === undefined) return
  const file = join(runFolder, 'children', String(child.pid))
  writeFileSync(file, '')
  child.once('exit', () => rmSync(file, { force: true }))
}
