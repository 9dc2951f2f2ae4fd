import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

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

/** Tells a process from a later one with the same id, across restarts of the machine too; null when it is dead. */
async function birthOf(pid: number): Promise<string | null> {
  try {
    const [boot, stat] = await Promise.all([
      readFile('/proc/sys/kernel/random/boot_id', 'utf8'),
      readFile(`/proc/${pid}/stat`, 'utf8'),
    ])
    // The command's name, in parentheses, may hold anything; start time is the 20th value after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? null : `${boot.trim()} ${fields[19]}`
  } catch {
    return null // no such process
  }
}
