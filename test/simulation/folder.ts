import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp } from 'node:fs/promises'
import { join } from 'node:path'

/** A folder in memory that is gone with this process, and with it whatever runs there. */
export async function launchFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp('/dev/shm/dirsync-simulation-')
  await chmod(path, 0o711) // PostgreSQL runs as another user when this one is root
  await mkdir(join(path, 'children'))
  const reaper = spawn('/bin/sh', [join(import.meta.dirname, '../helpers/reaper.sh'), path], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  return {
    path,
    async [Symbol.asyncDispose]() {
      reaper.stdin.end()
      await once(reaper, 'exit')
    },
  }
}
