import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { access, chmod, constants, mkdir, readdir, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const LOCK_TIMEOUT_MS = 120_000

/**
 * Runs `action` while no other process of this machine runs one for the same folder.
 *
 * The lock is a listening socket in Linux' abstract namespace: the kernel releases it with the process, so that
 * nothing is left behind by `kill -9`, and whoever waits learns of the release at once.
 *
 * @throws EmbeddedError `EMBEDDED_LOCK_TIMEOUT` when the lock is not free within two minutes
 */
export async function withFolderLock<T>(folder: string, action: () => Promise<T>): Promise<T> {
  const identity = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
  await using _lock = await acquire(`\0dirsync-${identity}`, folder)
  return await action()
}

async function acquire(name: string, folder: string): Promise<AsyncDisposable> {
  const signal = AbortSignal.timeout(LOCK_TIMEOUT_MS)
  for (;;) {
    const server = await listen(name)
    if (server) return { [Symbol.asyncDispose]: () => close(server) }
    await released(name, signal)
    if (signal.aborted) {
      throw new EmbeddedError(
        'EMBEDDED_LOCK_TIMEOUT',
        `Another process has been starting or stopping ${folder} for two minutes: end it and try again.`,
      )
    }
  }
}

async function listen(name: string): Promise<Server | null> {
  const server = createServer()
  server.listen({ path: name, exclusive: true })
  try {
    await once(server, 'listening')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null
    throw error
  }
  server.on('connection', socket => {
    socket.on('error', () => socket.destroy())
    server.once('release', () => socket.destroy())
  })
  server.setMaxListeners(0)
  return server
}

/** Resolves when the holder's end of the connection goes away, which is when the lock may be tried again. */
function released(name: string, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const socket = connect({ path: name })
    const give = () => socket.destroy()
    signal.addEventListener('abort', give, { once: true })
    socket.resume()
    // An error (nobody listens any more) is followed by 'close' as well.
    socket.on('error', give)
    socket.on('close', () => {
      signal.removeEventListener('abort', give)
      resolve()
    })
  })
}

function close(server: Server): Promise<void> {
  return new Promise(resolve => {
    server.close(() => resolve())
    server.emit('release')
  })
}

let handles = 0

/** The processes that use a folder: one file each in its `users/` folder, named by process id. */
interface FolderUsers {
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

/**
 * Makes the folder unless it is there. Others may pass through it, to what the server's account owns inside; the
 * secrets in it have a mode of their own.
 *
 * @throws EmbeddedError `EMBEDDED_NOT_YOURS` when this user may not write there
 */
export async function openFolder(folder: string): Promise<void> {
  try {
    if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o711)
    await access(folder, constants.W_OK)
  } catch (cause) {
    throw new EmbeddedError(
      'EMBEDDED_NOT_YOURS',
      `The folder ${folder} cannot be written by this user: run dirsync as the user it belongs to, or where this user may write.`,
      { cause },
    )
  }
}

const EXEC_TRIES = 50

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

/**
 * Whose process an id in a file is by now: `ours` has `argument` (a path that only our program is given) on its
 * command line; a `stranger` got the id after our process died.
 */
export async function identify(pid: number, argument: string): Promise<'ours' | 'stranger' | 'none'> {
  const read = () => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  let command = await read()
  // A living process has no command line for the moment in which it becomes another program (exec).
  for (let tries = 0; command === '' && tries < EXEC_TRIES && (await birthOf(pid)) !== null; tries += 1) {
    await delay(1)
    command = await read()
  }
  if (command === '') return 'none' // dead, a zombie, or hidden from us
  return command.split('\0').includes(argument) ? 'ours' : 'stranger'
}

/**
 * A part of the embedded default could not be brought up or taken down.
 *
 * - `EMBEDDED_UNSUPPORTED`: no PostgreSQL binaries exist for this machine
 * - `EMBEDDED_PACKAGE_MISSING`: the optional npm package with the binaries is not installed
 * - `EMBEDDED_DISK_FULL`: too little room for the data
 * - `EMBEDDED_NOT_YOURS`: the folder belongs to another user
 * - `EMBEDDED_IN_USE`: another living process uses the folder
 * - `EMBEDDED_LOCK_TIMEOUT`: another process has been starting or stopping it for too long
 * - `EMBEDDED_POSTGRES_FAILED`, `EMBEDDED_EMULATOR_FAILED`: the program itself did not start or stop
 */
type EmbeddedErrorCode =
  | 'EMBEDDED_UNSUPPORTED'
  | 'EMBEDDED_PACKAGE_MISSING'
  | 'EMBEDDED_DISK_FULL'
  | 'EMBEDDED_NOT_YOURS'
  | 'EMBEDDED_IN_USE'
  | 'EMBEDDED_LOCK_TIMEOUT'
  | 'EMBEDDED_POSTGRES_FAILED'
  | 'EMBEDDED_EMULATOR_FAILED'

/** Carries one sentence for the person at the keyboard, and a stable code. */
export class EmbeddedError extends Error {
  readonly code: EmbeddedErrorCode

  constructor(code: EmbeddedErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EmbeddedError'
    this.code = code
  }
}
