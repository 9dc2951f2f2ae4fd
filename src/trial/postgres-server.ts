import { chown, mkdir, readFile, rename, rm, statfs, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { EmbeddedError, identify } from './folder.ts'
import { type ClusterPlace, runToEnd } from './postgres-place.ts'

/** The server programs: initdb, and pg_ctl to start and stop. `native` is the folder with the binaries. */

/** Name of the superuser of an embedded cluster. */
export const SUPERUSER = 'postgres'

const NEEDED_BYTES = 200 * 1024 * 1024
const PATIENCE_MS = 60_000

/** Creates the cluster, completely or not at all. */
export async function createCluster(native: string, place: ClusterPlace, password: string): Promise<void> {
  await assertRoom(place)
  const partial = join(place.root, 'data.new')
  const passwordFile = join(place.root, 'password.new')
  await rm(partial, { recursive: true, force: true })
  await rm(passwordFile, { force: true })
  await mkdir(partial, { mode: 0o700 })
  await writeFile(passwordFile, password, { mode: 0o600 })
  if (place.account)
    for (const path of [partial, passwordFile]) await chown(path, place.account.uid, place.account.gid)
  const result = await runToEnd(
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
 * The port of the server running on this cluster, ready for connections, whichever process started it; null without one.
 *
 * @throws EmbeddedError `EMBEDDED_POSTGRES_FAILED` when there is one that neither gets ready nor ends
 */
export async function findServer(place: ClusterPlace): Promise<number | null> {
  const giveUpAt = Date.now() + PATIENCE_MS
  for (;;) {
    const lines = (await readFile(pidFile(place), 'utf8').catch(() => '')).split('\n')
    const pid = Number(lines[0])
    if (!pid || (await identify(pid, place.data)) !== 'ours') return null
    if (lines[7]?.trim() === 'ready') return Number(lines[3])
    if (Date.now() > giveUpAt) throw failed('get ready', place, `process ${pid} is there and does not answer`)
    await delay(50) // the file is all there is to watch, and the server rewrites it in place
  }
}

/** Starts the server on 127.0.0.1 and waits until it accepts connections. */
export async function launchServer(
  native: string,
  place: ClusterPlace,
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
  const recorded = Number.parseInt(await readFile(pidFile(place), 'utf8').catch(() => ''), 10)
  // PostgreSQL clears a dead server's file itself, but takes a stranger with the same process id for a living server.
  if (recorded && (await identify(recorded, place.data)) === 'stranger') await rm(pidFile(place))
  const log = join(place.data, 'server.log')
  const result = await control(native, place, 'start', '-l', log, '-o', `-p ${port} ${options.join(' ')}`)
  if (result.exitCode === 0) return
  await assertRoom(place)
  const lastWords = (await readFile(log, 'utf8').catch(() => '')).trim().split('\n').slice(-3)
  throw failed('start', place, lastWords.join(' | '))
}

/** Stops the server. Clients are disconnected; committed data is kept. */
export async function haltServer(native: string, place: ClusterPlace): Promise<void> {
  const result = await control(native, place, 'stop', '--mode=fast')
  if (result.exitCode !== 0 && (await findServer(place))) throw failed('stop', place, result.output)
}

function control(native: string, { data, account }: ClusterPlace, action: string, ...args: string[]) {
  const patience = `--timeout=${PATIENCE_MS / 1000}`
  const command = [action, '--wait', '--silent', patience, '-D', data, ...args]
  return runToEnd(join(native, 'bin/pg_ctl'), command, account)
}

function pidFile({ data }: ClusterPlace): string {
  return join(data, 'postmaster.pid')
}

async function assertRoom({ root }: ClusterPlace): Promise<void> {
  const { bavail, bsize } = await statfs(root)
  if (bavail * bsize >= NEEDED_BYTES) return
  const megabytes = (bytes: number) => `${Math.floor(bytes / 1024 / 1024)} MB`
  throw new EmbeddedError(
    'EMBEDDED_DISK_FULL',
    `The embedded PostgreSQL needs ${megabytes(NEEDED_BYTES)} in ${root}, and ${megabytes(bavail * bsize)} are free: make room and start again.`,
  )
}

function failed(what: string, place: ClusterPlace, detail: string): EmbeddedError {
  return new EmbeddedError(
    'EMBEDDED_POSTGRES_FAILED',
    `The embedded PostgreSQL could not ${what} (${detail.replaceAll('\n', ' | ')}): see ${join(place.data, 'server.log')}.`,
  )
}
