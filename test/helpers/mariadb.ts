import { cp, mkdir, mkdtemp, readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Connection, type ConnectionOptions, createConnection } from 'mysql2/promise'
import { inject } from 'vitest'
import { freePort } from './free-port.ts'
import { installMariadb, launchMariadb, type MariadbServer, mariadbUrl, SEQUENCES } from './mariadb-server.ts'

/** A database that belongs to one test. */
export interface MariadbDatabase extends AsyncDisposable {
  readonly url: string
  readonly name: string
  /** As a user who may do everything. */
  readonly admin: Connection
  /** Drops the database. Idempotent. */
  close(): Promise<void>
}

/** A server for a test that stops it, or wants it with options of its own, such as `--net-write-timeout=1`. */
export async function startMariadb(settings: readonly string[] = []): Promise<MariadbServer> {
  const runFolder = inject('runFolder')
  const data = join(await mkdtemp(join(runFolder, 'mariadb-')), 'data')
  await cp(await installed(), data, { recursive: true })
  return launchMariadb({ runFolder, data, settings, port: await freePort() })
}

let created = 0

/**
 * Creates an empty database, on the server that all test files of a run share or on another one.
 * @param options of the connection of who made it
 */
export async function createMariadbDatabase(
  server?: MariadbServer,
  options: ConnectionOptions = {},
): Promise<MariadbDatabase> {
  const urlOf = server ? server.url : await sharedServer()
  created += 1
  const name = `dirsync_test_${process.pid}_${created}`
  const url = urlOf(name)
  const { hostname, port } = new URL(url)
  const admin = await createConnection({
    host: hostname,
    port: Number(port),
    user: 'root',
    multipleStatements: true,
    ...options,
  })
  admin.on('error', () => {}) // a server that is killed
  await admin.query(`create database ${name} character set utf8mb4; use ${name}; ${SEQUENCES}`)
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= admin
      .query(`drop database ${name}`)
      .catch(() => undefined) // gone with its server
      .then(() => admin.destroy())
    return closing
  }
  return { url, name, admin, close, [Symbol.asyncDispose]: close }
}

/** The run's MariaDB. The first file that wants it starts it; the run's reaper ends it. */
async function sharedServer(): Promise<(database: string) => string> {
  const runFolder = inject('runFolder')
  const port = await onceForTheRun(join(runFolder, 'mariadb-shared'), async folder => {
    const data = join(folder, 'data')
    await cp(await installed(), data, { recursive: true })
    const free = await freePort()
    const settings = ['--max-connections=500']
    await launchMariadb({ runFolder, data, settings, port: free, outlivesUs: true })
    return String(free)
  })
  return database => mariadbUrl(Number(port), database)
}

/** An empty data folder, made once per run and copied. */
function installed(): Promise<string> {
  return onceForTheRun(join(inject('runFolder'), 'mariadb-installed'), async folder => {
    const data = join(folder, 'data')
    await installMariadb(data)
    return data
  })
}

/** Does something once for all processes of a run, in a folder of its own, and answers what came of it. */
async function onceForTheRun(folder: string, make: (folder: string) => Promise<string>): Promise<string> {
  const answer = join(folder, 'answer')
  const isFirst = await mkdir(folder).then(
    () => true,
    () => false,
  )
  if (isFirst) {
    const made = await make(folder).catch(error => `failed: ${error.message}`)
    await writeFile(`${answer}.new`, made)
    await rename(`${answer}.new`, answer)
  }
  for (;;) {
    const made = await readFile(answer, 'utf8').catch(() => null)
    if (made?.startsWith('failed: ')) throw new Error(made.slice('failed: '.length))
    if (made !== null) return made
    await sleep(50)
  }
}
