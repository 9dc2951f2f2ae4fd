import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { type Message, message } from '../texts/message.ts'
import { EmbeddedError } from './folder.ts'

/** Where the embedded PostgreSQL can run: its data, its account, and binaries that this account can execute. */

/** A user and group of the operating system. */
interface Account {
  uid: number
  gid: number
}

/** The location of a server's files, and its account. */
export interface ClusterPlace {
  /** Folder of the cluster, free of symbolic links. It may not exist yet. */
  data: string
  /** Folder that holds `data`. */
  root: string
  /** Account of the server; null: the caller's own. */
  account: Account | null
}

/**
 * Determines where the cluster of `folder` goes. That is `folder/data`, unless the caller is root and the account that
 * PostgreSQL then runs as cannot get there (a checkout under /root): then it is a folder under /var/lib/dirsync, or the
 * temporary folder, and `folder/data` links to it.
 *
 * @throws EmbeddedError `EMBEDDED_NOT_YOURS` when the folder belongs to another user
 */
export async function settlePlace(folder: string): Promise<ClusterPlace> {
  const data = join(folder, 'data')
  const existing = await stat(data).catch(() => null)
  if (existing) {
    const path = await realpath(data)
    return { data: path, root: dirname(path), account: accountFor(existing, folder) }
  }
  await rm(data, { force: true }) // a link without a target
  const own = await realpath(folder)
  if (process.getuid?.() !== 0) return { data: join(own, 'data'), root: folder, account: null }

  const account = await unprivilegedAccount()
  const hash = createHash('sha256').update(own).digest('hex').slice(0, 16)
  for (const candidate of [folder, `/var/lib/dirsync/${hash}`, join(tmpdir(), `dirsync-${hash}`)]) {
    if (!(await isUsable(candidate, account))) continue
    const root = await realpath(candidate)
    if (candidate !== folder) {
      // Left behind when the folder was removed by hand, and its password with it.
      await rm(join(root, 'data'), { recursive: true, force: true })
      await symlink(join(root, 'data'), data)
    }
    return { data: join(root, 'data'), root, account }
  }
  throw new EmbeddedError(
    'EMBEDDED_NOT_YOURS',
    message('said.embedded_root', { id: account.uid, folder, other: tmpdir() }),
  )
}

/** Removes the cluster, wherever it is. The server must be down. */
export async function removePlace(folder: string): Promise<void> {
  const data = join(folder, 'data')
  const entry = await lstat(data).catch(() => null)
  if (entry?.isSymbolicLink()) await rm(dirname(await readlink(data)), { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true })
}

/** PostgreSQL insists on running as the owner of its data. */
function accountFor(owner: Account, folder: string): Account | null {
  const uid = process.getuid?.()
  if (owner.uid === uid) return null
  if (uid === 0) return { uid: owner.uid, gid: owner.gid }
  throw new EmbeddedError(
    'EMBEDDED_NOT_YOURS',
    message('said.embedded_owner', { folder, owner: owner.uid, id: uid ?? '' }),
  )
}

async function unprivilegedAccount(): Promise<Account> {
  const passwd = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const lines = passwd.split('\n').map(line => line.split(':'))
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
    const entered = await runToEnd('/bin/sh', ['-c', 'cd -- "$1" && [ -w . ]', 'sh', probe], account)
    await rm(probe, { recursive: true })
    return entered.exitCode === 0
  } catch {
    return false // a read-only or foreign file system: the next candidate may do
  }
}

const OWN_SERVERS = message('said.own_servers')

/**
 * The folder with PostgreSQL's `bin/`, `lib/` and `share/` that npm installed. Where the account cannot execute them there (a
 * checkout under /root, a write-protected node_modules without the libraries' links), they are copied to the place, once per
 * version.
 *
 * @throws EmbeddedError `EMBEDDED_UNSUPPORTED`, `EMBEDDED_PACKAGE_MISSING`, `EMBEDDED_POSTGRES_FAILED`
 */
export async function usableBinaries({ root, account }: ClusterPlace): Promise<string> {
  const installed = findPackage()
  const probe = (native: string) => runToEnd(join(native, 'bin/postgres'), ['--version'], account)
  if (await linkLibraries(installed)) {
    const { exitCode, failure } = await probe(installed)
    if (exitCode === 0) return installed
    if (failure === 'ENOENT') throw unsupported(message('said.other_libc'))
  }
  const copy = await copyBinaries(installed, root)
  const { exitCode, failure, output } = await probe(copy)
  if (exitCode === 0) return copy
  throw new EmbeddedError(
    'EMBEDDED_POSTGRES_FAILED',
    message('said.embedded_not_executable', { folder: copy, words: failure ?? output, remedy: OWN_SERVERS }),
  )
}

function findPackage(): string {
  const { platform, arch } = process
  if (platform !== 'linux' || !['x64', 'arm64'].includes(arch))
    throw unsupported(message('said.other_system', { name: platform, arch }))
  const name = `@embedded-postgres/${platform}-${arch}`
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), '../native')
  } catch (cause) {
    throw new EmbeddedError('EMBEDDED_PACKAGE_MISSING', message('said.embedded_package', { name }), { cause })
  }
}

function unsupported(what: Message): EmbeddedError {
  return new EmbeddedError(
    'EMBEDDED_UNSUPPORTED',
    message('said.embedded_system', { what, remedy: OWN_SERVERS }),
  )
}

/** Creates the libraries' links, which npm leaves to an install script that may be switched off. False: not permitted. */
async function linkLibraries(native: string): Promise<boolean> {
  const listed: { source: string; target: string }[] = JSON.parse(
    await readFile(join(native, 'pg-symlinks.json'), 'utf8'),
  )
  for (const { source, target } of listed) {
    try {
      await symlink(basename(source), join(native, '..', target))
    } catch (error) {
      const { code = '' } = error as NodeJS.ErrnoException
      if (['EACCES', 'EROFS', 'EPERM'].includes(code)) return false
      if (code !== 'EEXIST') throw error
    }
  }
  return true
}

async function copyBinaries(native: string, root: string): Promise<string> {
  const { version }: { version: string } = JSON.parse(await readFile(join(native, '../package.json'), 'utf8'))
  const copy = join(root, `native-${version}`)
  if (await stat(copy).catch(() => null)) return join(copy, 'native')
  const partial = await mkdtemp(`${copy}.`)
  const isNeeded = (path: string) => !path.endsWith('.a')
  await cp(native, join(partial, 'native'), { recursive: true, verbatimSymlinks: true, filter: isNeeded })
  await linkLibraries(join(partial, 'native'))
  await openToAll(partial)
  await rename(partial, copy)
  return join(copy, 'native')
}

/** A strict umask at installation must not keep the server's account out. */
async function openToAll(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isSymbolicLink()) continue
    const { mode } = await stat(path)
    await chmod(path, entry.isDirectory() || mode & 0o100 ? 0o755 : 0o644)
  }
}

/** The result of a program: its exit code, or why it could not be executed, and its output. */
interface ProgramResult {
  exitCode: number | null
  failure: string | null
  output: string
}

/**
 * Runs a program to its end, as another account if given (needs root). The environment is minimal on purpose: `PG…` variables
 * of the caller must not reach the embedded server.
 */
export function runToEnd(file: string, args: string[], account: Account | null): Promise<ProgramResult> {
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
