import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmod,
  chown,
  lstat,
  mkdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  statfs,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EmbeddedError, identify } from './folder.ts'
import type { NativeFolder } from './postgres-binaries.ts'

/** Name of the superuser of an embedded cluster. */
export const SUPERUSER = 'postgres'

const NEEDED_BYTES = 200 * 1024 * 1024
const PATIENCE_MS = 60_000

/** Creates the cluster, whole or not at all. */
export async function createCluster(native: NativeFolder, place: Place, password: string): Promise<void> {
  await assertRoom(place)
  const partial = join(place.root, 'data.new')
  const passwordFile = join(place.root, 'password.new')
  await rm(partial, { recursive: true, force: true })
  await rm(passwordFile, { force: true })
  await mkdir(partial, { mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (place.account) {
    await chown(partial, place.account.uid, place.account.gid)
    await chown(passwordFile, place.account.uid, place.account.gid)
  }
  const result = await runProgram(
    join(native, 'bin/initdb'),
    [
      ...['-D', partial, '-U', SUPERUSER, `--pwfile=${passwordFile}`, '--auth=scram-sha-256', '--no-sync'],
      ...['--encoding=UTF8', '--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
      ...['--set=timezone=UTC', '--set=log_timezone=UTC'],
    ],
    place.account,
  )
  await rm(passwordFile, { force: true })
  if (result.exitCode !== 0) {
    await assertRoom(place)
    throw failed('initialise its data folder', place, result.failure ?? result.output)
  }
  await rename(partial, place.data)
}

/**
 * The server that runs on this cluster, ready for connections, whoever started it; null when none does.
 *
 * @throws EmbeddedError `EMBEDDED_POSTGRES_FAILED` when one is there and neither gets ready nor ends
 */
export async function findServer(place: Place): Promise<{ pid: number; port: number } | null> {
  const giveUpAt = Date.now() + PATIENCE_MS
  for (;;) {
    const lines = (await readFile(join(place.data, 'postmaster.pid'), 'utf8').catch(() => '')).split('\n')
    const pid = Number(lines[0])
    if (!pid || (await identify(pid, place.data)) !== 'ours') return null
    if (lines[7]?.trim() === 'ready') return { pid, port: Number(lines[3]) }
    if (Date.now() > giveUpAt) throw failed('get ready', place, `process ${pid} is there and does not answer`)
    await delay(50) // the file is all there is to watch, and the server rewrites it in place
  }
}

/** Starts the server on 127.0.0.1 and waits until it takes connections. */
export async function launchServer(
  native: NativeFolder,
  place: Place,
  port: number,
  settings: Record<string, string>,
): Promise<void> {
  await assertRoom(place)
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    log_checkpoints: 'off',
    ...settings,
  }
  const options = Object.entries(all).map(([name, value]) => `-c ${name}=${value || "''"}`)
  const pidFile = join(place.data, 'postmaster.pid')
  const recorded = Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10)
  // PostgreSQL clears a dead server's file itself, but takes a stranger that got its process id for a living server.
  if (recorded && (await identify(recorded, place.data)) === 'stranger') await rm(pidFile)
  const result = await runProgram(
    join(native, 'bin/pg_ctl'),
    [
      ...['start', '--wait', '--silent', `--timeout=${PATIENCE_MS / 1000}`, '-D', place.data],
      ...['-l', join(place.data, 'server.log'), '-o', `-p ${port} ${options.join(' ')}`],
    ],
    place.account,
  )
  if (result.exitCode !== 0) {
    await assertRoom(place)
    throw failed('start', place, await lastWords(place))
  }
}

/** Stops the server; clients are disconnected, nothing committed is lost. */
export async function haltServer(native: NativeFolder, place: Place): Promise<void> {
  const result = await runProgram(
    join(native, 'bin/pg_ctl'),
    ['stop', '--mode=fast', '--wait', '--silent', `--timeout=${PATIENCE_MS / 1000}`, '-D', place.data],
    place.account,
  )
  if (result.exitCode !== 0 && (await findServer(place))) throw failed('stop', place, result.output)
}

async function assertRoom({ root }: Place): Promise<void> {
  const { bavail, bsize } = await statfs(root)
  if (bavail * bsize >= NEEDED_BYTES) return
  throw new EmbeddedError(
    'EMBEDDED_DISK_FULL',
    `The embedded PostgreSQL needs ${NEEDED_BYTES / 1024 / 1024} MB in ${root}, and ${Math.floor((bavail * bsize) / 1024 / 1024)} MB are free: make room and start again.`,
  )
}

async function lastWords({ data }: Place): Promise<string> {
  const log = await readFile(join(data, 'server.log'), 'utf8').catch(() => '')
  return log.trim().split('\n').slice(-3).join(' | ')
}

function failed(what: string, place: Place, detail: string): EmbeddedError {
  return new EmbeddedError(
    'EMBEDDED_POSTGRES_FAILED',
    `The embedded PostgreSQL could not ${what} (${detail.replaceAll('\n', ' | ')}): see ${join(place.data, 'server.log')}.`,
  )
}

/** Where a server's files lie, and as whom it runs. */
export interface Place {
  /** Folder of the cluster, free of symbolic links; it may not exist yet. */
  data: string
  /** Folder that holds `data`. */
  root: string
  /** Account to run the server as; null: the caller's own. */
  account: Account | null
}

/**
 * Settles where the cluster of `folder` lies. That is `folder/data`, except where the caller is root and the account
 * that PostgreSQL then runs as cannot get there (a checkout under /root): then a folder under /var/lib/dirsync, or
 * the temporary folder, which `folder/data` links to.
 *
 * @throws EmbeddedError `EMBEDDED_NOT_YOURS` when the folder belongs to another user
 */
export async function settlePlace(folder: string): Promise<Place> {
  const data = join(folder, 'data')
  const existing = await stat(data).catch(() => null)
  if (existing) {
    const path = await realpath(data)
    return { data: path, root: dirname(path), account: accountFor(existing, folder) }
  }
  await rm(data, { force: true }) // a link whose target is gone
  if (process.getuid?.() !== 0)
    return { data: join(await realpath(folder), 'data'), root: folder, account: null }

  const account = await unprivilegedAccount()
  const hash = createHash('sha256')
    .update(await realpath(folder))
    .digest('hex')
    .slice(0, 16)
  for (const candidate of [folder, `/var/lib/dirsync/${hash}`, join(tmpdir(), `dirsync-${hash}`)]) {
    if (!(await isUsable(candidate, account))) continue
    const root = await realpath(candidate)
    if (candidate !== folder) {
      // Left behind when somebody removed the folder by hand: nobody has its password any more.
      await rm(join(root, 'data'), { recursive: true, force: true })
      await symlink(join(root, 'data'), data)
    }
    return { data: join(root, 'data'), root, account }
  }
  throw new EmbeddedError(
    'EMBEDDED_NOT_YOURS',
    `PostgreSQL does not run as root, and user id ${account.uid} reaches neither ${folder} nor /var/lib/dirsync nor ${tmpdir()}: move the checkout to a folder that others may enter.`,
  )
}

/** Removes the cluster, wherever it lies. The server must be down. */
export async function removePlace(folder: string): Promise<void> {
  const data = join(folder, 'data')
  const isLink = await lstat(data).then(
    entry => entry.isSymbolicLink(),
    () => false,
  )
  if (isLink) await rm(dirname(await readlink(data)), { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
}

/** PostgreSQL insists on running as the owner of its data. */
function accountFor(owner: Account, folder: string): Account | null {
  const uid = process.getuid?.()
  if (owner.uid === uid) return null
  if (uid === 0) return { uid: owner.uid, gid: owner.gid }
  throw new EmbeddedError(
    'EMBEDDED_NOT_YOURS',
    `${folder} belongs to user id ${owner.uid}, and this process runs as ${uid}: run it as that user, or remove the folder.`,
  )
}

async function unprivilegedAccount(): Promise<Account> {
  const lines = (await readFile('/etc/passwd', 'utf8').catch(() => ''))
    .split('\n')
    .map(line => line.split(':'))
  const found = lines.find(([name]) => name === 'postgres') ?? lines.find(([name]) => name === 'nobody')
  return { uid: Number(found?.[2] ?? 65_534), gid: Number(found?.[3] ?? 65_534) }
}

async function isUsable(folder: string, account: Account): Promise<boolean> {
  try {
    const made = await mkdir(folder, { recursive: true })
    for (const path of new Set([made ?? folder, folder])) await chmod(path, 0o711)
    const probe = join(folder, 'probe')
    await mkdir(probe, { recursive: true, mode: 0o700 })
    await chown(probe, account.uid, account.gid)
    const entered = await runProgram('/bin/sh', ['-c', 'cd -- "$1" && [ -w . ]', 'sh', probe], account)
    await rm(probe, { recursive: true })
    return entered.exitCode === 0
  } catch {
    return false // a read-only or foreign file system: the next candidate may do
  }
}

/** A user and group of the operating system. */
export interface Account {
  uid: number
  gid: number
}

/** What a program did: its exit code, or why it could not be executed, and everything it printed. */
interface ProgramResult {
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
