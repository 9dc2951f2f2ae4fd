import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readFile, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { EmbeddedError, enterFolder, openFolder, usersOf, withFolderLock } from './folder.ts'
import { type ClusterPlace, removePlace, settlePlace, usableBinaries } from './postgres-place.ts'
import { createCluster, findServer, haltServer, launchServer, SUPERUSER } from './postgres-server.ts'

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
          await launchServer(native, place, port, SETTINGS)
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
        `${folder} is in use by process ${users.join(', ')}: stop it first.`,
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
      throw new EmbeddedError(
        'EMBEDDED_NOT_YOURS',
        `${file} cannot be read: run dirsync as the user it belongs to.`,
        { cause },
      )
  }
  if (!isNew)
    throw new EmbeddedError(
      'EMBEDDED_POSTGRES_FAILED',
      `${file} is gone, and with it the way into the embedded PostgreSQL: start over with --fresh.`,
    )
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
      await launchServer(native, place, port, SETTINGS)
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
