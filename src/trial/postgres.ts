import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { chown, mkdir, readFile, rename, rm, stat, statfs, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { message } from '../texts/message.ts'
import { EmbeddedError, enterFolder, identify, openFolder, usersOf, withFolderLock } from './folder.ts'
import { type ClusterPlace, removePlace, runToEnd, settlePlace, usableBinaries } from './postgres-place.ts'

/** A running PostgreSQL, shared by all processes that opened the same folder. */
export interface EmbeddedPostgres {
  readonly port: number
  /** Connection string of a database, as superuser. */
  url(database: string): string
  /** Creates the database unless it exists; true when it did not. */
  createDatabase(name: string): Promise<boolean>
  /** Restarts the server on the same port if it died; true when it had. */
  revive(): Promise<boolean>
  /** Signs this process off; the last user stops the server. Idempotent. */
  stop(): Promise<void>
}

const SETTINGS = {
  ...{ wal_level: 'minimal', max_wal_senders: '0', max_connections: '300' },
  // The queue takes an advisory lock for each of up to 1,000 jobs at once, from several processes.
  max_locks_per_transaction: '256',
}

/**
 * Starts PostgreSQL 18 on 127.0.0.1 with its cluster in `dataDir`, which is created when missing, or joins the server that runs
 * there already, started by another process or left behind by a killed one. It gets the same port as last time, or another one
 * if that is taken.
 *
 * As root the server runs as user `postgres` or `nobody`, see `settlePlace`.
 *
 * @throws EmbeddedError
 */
export async function startEmbeddedPostgres({ dataDir }: { dataDir: string }): Promise<EmbeddedPostgres> {
  const folder = resolve(dataDir)
  await openFolder(folder)
  return await withFolderLock(folder, async () => {
    const place = await settlePlace(folder)
    const native = await usableBinaries(place)
    const isNew = !(await stat(join(place.data, 'PG_VERSION')).catch(() => null))
    const password = await readPassword(folder, isNew)
    if (isNew) await createCluster(native, place, password)
    const port = (await findServer(place)) ?? (await launch(native, place, folder))
    const leave = await enterFolder(folder)

    const url = (database: string) =>
      `postgresql://${SUPERUSER}:${password}@127.0.0.1:${port}/${encodeURI(database)}`
    const stop = () =>
      withFolderLock(folder, async () => {
        await leave()
        if ((await usersOf(folder)).length > 0) return
        if (await findServer(place)) await haltServer(native, place)
      })
    let stopping: Promise<void> | undefined
    return {
      port,
      url,
      createDatabase: name => createDatabase(url('postgres'), name),
      async revive() {
        if (stopping || (await findServer(place))) return false
        return await withFolderLock(folder, async () => {
          if (await findServer(place)) return false
          await launchServer(native, place, port)
          return true
        })
      },
      stop() {
        stopping ??= stop()
        return stopping
      },
    }
  })
}

/**
 * Removes the cluster of `dataDir` with everything in the folder. A server left behind is stopped first.
 *
 * @throws EmbeddedError `EMBEDDED_IN_USE` when a living process uses it
 */
export async function removeEmbeddedPostgres(dataDir: string): Promise<void> {
  const folder = resolve(dataDir)
  await openFolder(folder)
  await withFolderLock(folder, async () => {
    const users = await usersOf(folder)
    if (users.length > 0)
      throw new EmbeddedError(
        'EMBEDDED_IN_USE',
        message('said.embedded_in_use', { folder, processes: users.map(String) }),
      )
    const place = await settlePlace(folder)
    if (await findServer(place)) await haltServer(await usableBinaries(place), place)
    await removePlace(folder)
  })
}

async function readPassword(folder: string, isNew: boolean): Promise<string> {
  const file = join(folder, 'password')
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'ENOENT')
      throw new EmbeddedError('EMBEDDED_NOT_YOURS', message('said.embedded_unreadable', { file }), { cause })
  }
  if (!isNew) throw new EmbeddedError('EMBEDDED_POSTGRES_FAILED', message('said.embedded_gone', { file }))
  const password = randomBytes(24).toString('hex')
  await writeFile(file, password, { mode: 0o600 })
  return password
}

const LAUNCH_ATTEMPTS = 3

async function launch(native: string, place: ClusterPlace, folder: string): Promise<number> {
  const file = join(folder, 'port')
  const last = Number(await readFile(file, 'utf8').catch(() => ''))
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort(last)
    try {
      await launchServer(native, place, port)
      await writeFile(file, String(port))
      return port
    } catch (error) {
      if (attempt === LAUNCH_ATTEMPTS) throw error
      // The port may have been taken meanwhile, or the children of a killed server are not gone yet.
      await delay(1_000)
    }
  }
}

async function createDatabase(adminUrl: string, name: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  try {
    const found = await client.query('select from pg_database where datname = $1', [name])
    if (found.rowCount) return false
    await client.query(`create database ${pg.escapeIdentifier(name)}`)
    return true
  } catch (error) {
    const { code } = error as { code?: string }
    if (code === '42P04' || code === '23505') return false // another process was faster
    throw error
  } finally {
    await client.end()
  }
}

/** `wanted` when nothing listens there on 127.0.0.1, else another free port. */
export async function freePort(wanted = 0): Promise<number> {
  const server = createServer()
  server.listen({ port: wanted, host: '127.0.0.1', exclusive: true })
  try {
    await once(server, 'listening')
  } catch {
    return await freePort() // taken, or not permitted
  }
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

// The server programs: initdb, and pg_ctl to start and stop. `native` is the folder with the binaries

/** Name of the superuser of an embedded cluster. */
const SUPERUSER = 'postgres'

const NEEDED_BYTES = 200 * 1024 * 1024
const PATIENCE_MS = 60_000

/** Creates the cluster, completely or not at all. */
async function createCluster(native: string, place: ClusterPlace, password: string): Promise<void> {
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
async function findServer(place: ClusterPlace): Promise<number | null> {
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
async function launchServer(native: string, place: ClusterPlace, port: number): Promise<void> {
  await assertRoom(place)
  const all = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    log_checkpoints: 'off',
    ...SETTINGS,
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
async function haltServer(native: string, place: ClusterPlace): Promise<void> {
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
  if (bavail * bsize < NEEDED_BYTES) throw await diskFull(root)
}

/** For a disk that is full, or too small. */
export async function diskFull(folder: string, options: ErrorOptions = {}): Promise<EmbeddedError> {
  const { bavail, bsize } = await statfs(folder)
  const megabytes = (bytes: number) => Math.floor(bytes / 1024 / 1024)
  const [needed, free] = [megabytes(NEEDED_BYTES), megabytes(bavail * bsize)]
  return new EmbeddedError(
    'EMBEDDED_DISK_FULL',
    message('said.embedded_room', { folder, needed, free }),
    options,
  )
}

function failed(what: string, place: ClusterPlace, detail: string): EmbeddedError {
  return new EmbeddedError(
    'EMBEDDED_POSTGRES_FAILED',
    message('said.embedded_start_failed', {
      what,
      words: detail.replaceAll('\n', ' | '),
      file: join(place.data, 'server.log'),
    }),
  )
}
