import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { birthOf } from './process-identity.ts'

let handles = 0

/** The processes that use a folder: one file each in its `users/` folder, named by process id. */
export interface FolderUsers {
  /** Adds the calling process; the answer takes it out again. One process may be in it several times. */
  enter(): Promise<() => Promise<void>>
  /** Ids of the living processes in it, the caller's included. Files of dead processes are removed. */
  living(): Promise<number[]>
}

/** Must be used under the folder's lock (`withFolderLock`). */
export function folderUsers(folder: string): FolderUsers {
  const directory = join(folder, 'users')
  return {
    async enter() {
      await mkdir(directory, { recursive: true })
      handles += 1
      const file = join(directory, `${process.pid}-${handles}`)
      await writeFile(file, (await birthOf(process.pid)) ?? '', { mode: 0o600 })
      return () => rm(file, { force: true })
    },
    async living() {
      const pids = new Set<number>()
      for (const name of await readdir(directory).catch(() => [])) {
        const pid = Number.parseInt(name, 10)
        const recorded = await readFile(join(directory, name), 'utf8').catch(() => null)
        if (recorded !== null && recorded === (await birthOf(pid))) pids.add(pid)
        else await rm(join(directory, name), { force: true })
      }
      return [...pids]
    },
  }
}
