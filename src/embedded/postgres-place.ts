import { createHash } from 'node:crypto'
import { chmod, chown, lstat, mkdir, readFile, readlink, realpath, rm, stat, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { EmbeddedError } from './embedded-error.ts'
import { type Account, runProgram } from './run-program.ts'

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
