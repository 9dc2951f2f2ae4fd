import { chmod, cp, mkdtemp, readdir, readFile, rename, rm, stat, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join, resolve } from 'node:path'
import { EmbeddedError } from './folder.ts'
import { type Account, runProgram } from './postgres-server.ts'

/** Folder with `bin/`, `lib/` and `share/` of PostgreSQL, usable by the account that is to run it. */
export type NativeFolder = string

/**
 * Finds the binaries that npm installed; where the account cannot execute them in place (a checkout under /root, a
 * write-protected node_modules without the libraries' links), copies them into `place`, once per version.
 *
 * @throws EmbeddedError `EMBEDDED_UNSUPPORTED`, `EMBEDDED_PACKAGE_MISSING`, `EMBEDDED_POSTGRES_FAILED`
 */
export async function usableBinaries(place: string, account: Account | null): Promise<NativeFolder> {
  const installed = findPackage()
  if (await link(installed)) {
    const probe = await runProgram(join(installed, 'bin/postgres'), ['--version'], account)
    if (probe.exitCode === 0) return installed
    if (probe.failure === 'ENOENT') throw unsupported('this system has another C library than glibc')
  }
  const copy = await copyBinaries(installed, place)
  const probe = await runProgram(join(copy, 'bin/postgres'), ['--version'], account)
  if (probe.exitCode === 0) return copy
  throw new EmbeddedError(
    'EMBEDDED_POSTGRES_FAILED',
    `The embedded PostgreSQL in ${copy} cannot be executed (${probe.failure ?? probe.output}): set DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL to use servers of your own.`,
  )
}

function unsupported(why: string): EmbeddedError {
  return new EmbeddedError(
    'EMBEDDED_UNSUPPORTED',
    `The embedded PostgreSQL needs Linux with glibc on x64 or arm64, and ${why}: set DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL to use servers of your own.`,
  )
}

function findPackage(): NativeFolder {
  const { platform, arch } = process
  if (platform !== 'linux' || !['x64', 'arm64'].includes(arch))
    throw unsupported(`this is ${platform} on ${arch}`)
  const name = `@embedded-postgres/${platform}-${arch}`
  try {
    return resolve(dirname(createRequire(import.meta.url).resolve(name)), '../native')
  } catch (cause) {
    throw new EmbeddedError(
      'EMBEDDED_PACKAGE_MISSING',
      `The package ${name} is not installed: run npm ci without --omit=optional.`,
      { cause },
    )
  }
}

/** Makes the libraries' links, which npm leaves to an install script that may be switched off. False: not permitted. */
async function link(native: NativeFolder): Promise<boolean> {
  const listed = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as {
    source: string
    target: string
  }[]
  for (const { source, target } of listed) {
    try {
      await symlink(basename(source), join(native, '..', target))
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') return false
      if (code !== 'EEXIST') throw error
    }
  }
  return true
}

async function copyBinaries(native: NativeFolder, place: string): Promise<NativeFolder> {
  const manifest = JSON.parse(await readFile(join(native, '../package.json'), 'utf8')) as { version: string }
  const copy = join(place, `native-${manifest.version}`)
  if (await stat(copy).catch(() => null)) return join(copy, 'native')
  const partial = await mkdtemp(`${copy}.`)
  const isNeeded = (path: string) => !path.endsWith('.a')
  await cp(native, join(partial, 'native'), { recursive: true, verbatimSymlinks: true, filter: isNeeded })
  await link(join(partial, 'native'))
  await openToAll(partial)
  await rm(copy, { recursive: true, force: true })
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
