import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  access,
  chmod,
  constants,
  mkdir,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  writeFile,
} from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { CodedError, message } from '../texts/message.ts'

/** For processes that share a folder: a lock, the list of its users, and checks whose process an id belongs to. */

type EmbeddedErrorCode =
  /** No PostgreSQL binaries exist for this machine. */
  | 'EMBEDDED_UNSUPPORTED'
  /** The optional npm package with the binaries is not installed. */
  | 'EMBEDDED_PACKAGE_MISSING'
  /** Too little room for the data. */
  | 'EMBEDDED_DISK_FULL'
  /** Something that is no folder is in its place, or the file system refuses it. */
  | 'EMBEDDED_NO_FOLDER'
  /** The folder belongs to another user. */
  | 'EMBEDDED_NOT_YOURS'
  /** Another living process uses the folder. */
  | 'EMBEDDED_IN_USE'
  /** Another process has been starting or stopping it for too long. */
  | 'EMBEDDED_LOCK_TIMEOUT'
  /** The program itself did not start or stop. */
  | 'EMBEDDED_POSTGRES_FAILED'
  | 'EMBEDDED_EMULATOR_FAILED'

/** An embedded part could not be started or stopped. The message is one sentence for a person. */
export class EmbeddedError extends CodedError<EmbeddedErrorCode> {}

/**
 * Creates the folder if needed. Other users may pass through it, to files that the server's account owns inside; the secrets in
 * it have a mode of their own.
 *
 * @throws EmbeddedError `EMBEDDED_NOT_YOURS` when this user may not write there, `EMBEDDED_NO_FOLDER` otherwise
 */
export async function openFolder(folder: string): Promise<void> {
  try {
    if (await mkdir(folder, { recursive: true })) await chmod(folder, 0o711)
    await access(folder, constants.W_OK)
  } catch (cause) {
    const { code: reason = '' } = cause as NodeJS.ErrnoException
    throw reason === 'EACCES' || reason === 'EPERM'
      ? new EmbeddedError('EMBEDDED_NOT_YOURS', message('said.embedded_not_writable', { folder }), { cause })
      : new EmbeddedError('EMBEDDED_NO_FOLDER', message('said.embedded_no_folder', { folder, reason }), {
          cause,
        })
  }
}

const LOCK_TIMEOUT_MS = 120_000

/**
 * Runs `action` while no other process of this machine runs one for the same folder.
 *
 * The lock is a listening socket in Linux' abstract namespace: the kernel releases it with the process, so that `kill -9`
 * leaves nothing behind, and waiters learn of the release at once.
 *
 * @throws EmbeddedError `EMBEDDED_LOCK_TIMEOUT` when the lock is not free within two minutes
 */
export async function withFolderLock<T>(folder: string, action: () => Promise<T>): Promise<T> {
  const identity = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
  const name = `\0dirsync-${identity}`
  const signal = AbortSignal.timeout(LOCK_TIMEOUT_MS)
  let lock = await listen(name)
  while (!lock) {
    await released(name, signal)
    if (signal.aborted)
      throw new EmbeddedError('EMBEDDED_LOCK_TIMEOUT', message('said.embedded_locked', { folder }))
    lock = await listen(name)
  }
  try {
    return await action()
  } finally {
    lock.emit('release')
    lock.close()
    await once(lock, 'close')
  }
}

async function listen(name: string): Promise<Server | null> {
  const server = createServer(socket => {
    socket.on('error', () => socket.destroy())
    server.once('release', () => socket.destroy())
  })
  server.setMaxListeners(0).listen({ path: name, exclusive: true })
  try {
    await once(server, 'listening')
    return server
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') return null
    throw error
  }
}

/** Resolves when the lock holder's end of the connection closes, which is when to try the lock again. */
function released(name: string, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    const socket = connect({ path: name, signal })
    socket.resume()
    // Errors (no listener any more, or a timeout) are followed by 'close' as well.
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve())
  })
}

let entries = 0

/**
 * Adds the calling process to the users of a folder, a file each in `users/`. Must be called under the folder's lock. A process
 * may enter several times.
 * @returns removes it again
 */
export async function enterFolder(folder: string): Promise<() => Promise<void>> {
  await mkdir(join(folder, 'users'), { recursive: true })
  entries += 1
  const file = join(folder, 'users', `${process.pid}-${entries}`)
  await writeFile(file, (await birthOf(process.pid)) ?? '', { mode: 0o600 })
  return () => rm(file, { force: true })
}

/** Ids of the living processes that use a folder; dead ones are removed. Must be called under the folder's lock. */
export async function usersOf(folder: string): Promise<number[]> {
  const pids = new Set<number>()
  for (const name of await readdir(join(folder, 'users')).catch(() => [])) {
    const file = join(folder, 'users', name)
    const pid = Number.parseInt(name, 10)
    const recorded = await readFile(file, 'utf8').catch(() => null)
    if (recorded !== null && recorded === (await birthOf(pid))) pids.add(pid)
    else await rm(file, { force: true })
  }
  return [...pids]
}

/** Distinguishes a process from a later one with the same id, even after a reboot; null when it is dead. */
async function birthOf(pid: number): Promise<string | null> {
  try {
    const boot = await readFile('/proc/sys/kernel/random/boot_id', 'utf8')
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8')
    // The command's name, in parentheses, may hold anything. The start time is the 20th value after it.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return fields[0] === 'Z' ? null : `${boot.trim()} ${fields[19]}`
  } catch {
    return null // no such process
  }
}

const EXEC_TRIES = 50

/**
 * Whose process a recorded id is by now: `ours` has `path` (which only our program is given) on its command line, or is at work in
 * `folder`, also where that was moved meanwhile; a `stranger` got the id after our process died.
 */
export async function identify(
  pid: number,
  path: string,
  folder = path,
): Promise<'ours' | 'stranger' | 'none'> {
  const read = () => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  let command = await read()
  // A living process has no command line for the moment in which it becomes another program (exec).
  for (let tries = 0; command === '' && tries < EXEC_TRIES && (await birthOf(pid)) !== null; tries += 1) {
    await delay(1)
    command = await read()
  }
  if (command === '') return 'none' // dead, a zombie, or hidden from us
  const isOurs = command.split('\0').includes(path) || (await folderOf(pid)) === folder
  return isOurs ? 'ours' : 'stranger'
}

/** The folder that a process works in; null where that is hidden from us. */
function folderOf(pid: number): Promise<string | null> {
  return readlink(`/proc/${pid}/cwd`).catch(() => null)
}
