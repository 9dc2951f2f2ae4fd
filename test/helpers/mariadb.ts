import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { access, constants, cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { type Connection, createConnection } from 'mysql2/promise'
import { inject } from 'vitest'
import { registerChild } from './children.ts'
import { freePort } from './free-port.ts'

/** A MariaDB of its own process, on 127.0.0.1; its user `root` has no password. */
export interface MariadbServer extends AsyncDisposable {
  /** Of a database on it. */
  url(database: string): string
  /** Kills the process (`kill -9`) and starts it again on the same port with what it had on disk. */
  restart(): Promise<void>
  /** Kills the process. Idempotent. */
  stop(): Promise<void>
}

/** A database that belongs to one test. */
export interface MariadbDatabase extends AsyncDisposable {
  readonly url: string
  readonly name: string
  /** As a user who may do everything. */
  readonly admin: Connection
  /** Drops the database. Idempotent. */
  close(): Promise<void>
}

const PROGRAMS = ['/usr/sbin/mariadbd', '/usr/local/sbin/mariadbd', '/usr/libexec/mariadbd']
const INSTALLERS = ['/usr/bin/mariadb-install-db', '/usr/local/bin/mariadb-install-db']

/** @param settings options of mariadbd, such as `--net-write-timeout=1` */
export async function startMariadb(settings: string[] = []): Promise<MariadbServer> {
  const folder = await mkdtemp(join(inject('runFolder'), 'mariadb-'))
  await cp(await installed(), join(folder, 'data'), { recursive: true })
  return launch(folder, settings, await freePort(), { outlivesFile: false })
}

let created = 0

/** Creates an empty database on the MariaDB that all test files of a run share, or on another one. */
export async function createMariadbDatabase(server?: MariadbServer): Promise<MariadbDatabase> {
  const urlOf = server ? server.url : await sharedServer()
  created += 1
  const name = `dirsync_test_${process.pid}_${created}`
  const url = urlOf(name)
  const { host, port } = addressOf(urlOf('mysql'))
  const admin = await createConnection({
    host,
    port,
    user: 'root',
    database: 'mysql',
    multipleStatements: true,
  })
  await admin.query(`create database ${name} character set utf8mb4; use ${name}`)
  admin.on('error', () => {}) // a server that is killed
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

function addressOf(url: string): { host: string; port: number } {
  const { hostname, port } = new URL(url)
  return { host: hostname, port: Number(port) }
}

/** Starts the run's MariaDB, which the run's reaper ends; the first file that wants it does. */
async function sharedServer(): Promise<(database: string) => string> {
  const port = await onceForTheRun(join(inject('runFolder'), 'mariadb-shared'), async folder => {
    await cp(await installed(), join(folder, 'data'), { recursive: true })
    const free = await freePort()
    await launch(folder, ['--max-connections=500', '--userstat=1'], free, { outlivesFile: true })
    return String(free)
  })
  return database => urlOn(Number(port), database)
}

/** An empty data folder, made once per run. */
function installed(): Promise<string> {
  return onceForTheRun(join(inject('runFolder'), 'mariadb-installed'), async folder => {
    const [installer] = await existing(INSTALLERS)
    if (installer === undefined) throw new Error(MISSING)
    const data = join(folder, 'data')
    await promisify(execFile)(installer, [
      '--no-defaults',
      `--datadir=${data}`,
      '--auth-root-authentication-method=normal',
      '--skip-test-db',
      '--innodb-log-file-size=8M',
      ...AS_ROOT,
    ])
    return data
  })
}

const MISSING = 'There is no MariaDB on this machine: install it, Debian: apt-get install mariadb-server'

/** mariadbd refuses to run as root unless it is told to. */
const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : []

async function launch(
  folder: string,
  settings: string[],
  port: number,
  { outlivesFile }: { outlivesFile: boolean },
): Promise<MariadbServer> {
  const [program] = await existing(PROGRAMS)
  if (program === undefined) throw new Error(MISSING)
  // The path of a socket has 107 characters at most.
  const sockets = await mkdtemp(join(tmpdir(), 'mdb-'))
  const start = async () => {
    const child = spawn(
      program,
      [
        '--no-defaults',
        ...AS_ROOT,
        `--datadir=${join(folder, 'data')}`,
        ...['--bind-address=127.0.0.1', `--port=${port}`, `--socket=${join(sockets, 's')}`],
        ...['--innodb-log-file-size=8M', '--innodb-flush-log-at-trx-commit=2', '--skip-name-resolve'],
        ...settings,
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], detached: outlivesFile },
    )
    registerChild(inject('runFolder'), child)
    let output = ''
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', chunk => {
        output += chunk
        if (output.includes('ready for connections')) resolve()
      })
      child.once('exit', code => reject(new Error(`mariadbd ended with ${code}: ${output}`)))
    })
    child.unref()
    const { stderr } = child as unknown as { stderr: { unref(): void } }
    stderr.unref()
    return child
  }
  let child = await start()
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.ref()
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
    await rm(sockets, { recursive: true, force: true })
  }
  return {
    url: database => urlOn(port, database),
    async restart() {
      await stop()
      await mkdir(sockets, { recursive: true })
      child = await start()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

function urlOn(port: number, database: string): string {
  return `mysql://root@127.0.0.1:${port}/${database}`
}

async function existing(paths: string[]): Promise<string[]> {
  const found = await Promise.all(
    paths.map(path =>
      access(path, constants.X_OK).then(
        () => [path],
        () => [],
      ),
    ),
  )
  return found.flat()
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
