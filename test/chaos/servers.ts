import { execFile } from 'node:child_process'
import { mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Redis } from 'ioredis'
import { startEmbeddedPostgres } from '../../src/trial/postgres.ts'
import { launchRedis } from '../helpers/redis-server.ts'

/** What dirsync's processes need and may lose: a disk, PostgreSQL servers, Redis. */

const run = promisify(execFile)

/** Signals to a postmaster: `fast` and `immediate` as pg_ctl's modes, `killed` as by the kernel when memory runs out. */
const STOPS = { fast: 'SIGINT', immediate: 'SIGQUIT', killed: 'SIGKILL' } as const
export type PostgresStop = keyof typeof STOPS

/** How PostgreSQL names a process that serves a client: user, database, address. */
const CONNECTION = /^postgres: \S+ \S+ [\d.]+\(/

export class PostgresServer {
  readonly #folder: string
  readonly #embedded: Awaited<ReturnType<typeof startEmbeddedPostgres>>

  private constructor(folder: string, embedded: Awaited<ReturnType<typeof startEmbeddedPostgres>>) {
    this.#folder = folder
    this.#embedded = embedded
  }

  static async start(folder: string, databases: string[]): Promise<PostgresServer> {
    const embedded = await startEmbeddedPostgres({ dataDir: folder })
    for (const database of databases) await embedded.createDatabase(database)
    return new PostgresServer(folder, embedded)
  }

  url(database: string): string {
    return this.#embedded.url(database)
  }

  get logFile(): string {
    return join(this.#folder, 'data/server.log')
  }

  /** Ends the server; returns when its postmaster is gone. */
  async end(how: PostgresStop): Promise<void> {
    const recorded = await readFile(join(this.#folder, 'data/postmaster.pid'), 'utf8').catch(() => '')
    const pid = Number.parseInt(recorded, 10)
    if (!pid || !isAlive(pid)) return
    process.kill(pid, STOPS[how])
    while (isAlive(pid)) await sleep(50)
  }

  /** Kills a connection's process, as the kernel does when memory runs out: the server then ends all others and recovers. */
  async killBackend(pick: (pids: readonly number[]) => number): Promise<void> {
    const postmaster = Number.parseInt(await readFile(join(this.#folder, 'data/postmaster.pid'), 'utf8'), 10)
    const children = await readFile(`/proc/${postmaster}/task/${postmaster}/children`, 'utf8')
    const titles = await Promise.all(
      children
        .split(' ')
        .filter(Boolean)
        .map(async pid => [pid, await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')] as const),
    )
    const clients = titles.filter(([, title]) => CONNECTION.test(title)).map(([pid]) => Number(pid))
    process.kill(pick(clients), 'SIGKILL')
  }

  /** Starts it again, if it does not run. After a kill, its children take a moment to end. */
  async revive(): Promise<void> {
    for (let attempt = 1; ; attempt++)
      try {
        await this.#embedded.revive()
        return
      } catch (error) {
        if (attempt === 30) throw error
        await sleep(1000)
      }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#embedded.stop()
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

export type RedisUnderChaos = Awaited<ReturnType<typeof startRedis>>

export async function startRedis(runFolder: string) {
  const server = await launchRedis({ runFolder })
  const configure = async (setting: string, value: string) => {
    const client = new Redis(server.url, { maxRetriesPerRequest: 1 })
    client.on('error', () => {}) // the command fails, too
    try {
      await client.config('SET', setting, value)
    } finally {
      client.disconnect()
    }
  }
  return {
    ...server,
    /** Where its file was damaged, it begins without it, as an operator has it: the queue may be wiped at any moment. */
    async restart() {
      await server.restart().catch(async () => {
        await rm(server.folder, { recursive: true, force: true })
        await mkdir(server.folder)
        await server.restart()
      })
    },
    /** As if its memory were full, or had room again. */
    setFull: (isFull: boolean) => configure('maxmemory', isFull ? '1' : '0'),
  }
}

/** Enough for both servers, and for what they write in an hour. */
const DISK_MB = 1500
const FILLER = 'filler'

/** A file system of its own, which can be full; null where this user may not mount one. */
export class Disk implements AsyncDisposable {
  readonly path: string
  readonly #canBeFull: boolean

  private constructor(path: string, canBeFull: boolean) {
    this.path = path
    this.#canBeFull = canBeFull
  }

  /** @param runFolder whose `children` are ended with this process, however it ends */
  static async mount(runFolder: string): Promise<Disk> {
    const path = join(runFolder, 'disk')
    await mkdir(path)
    const canBeFull = await run('mount', [
      '-t',
      'tmpfs',
      '-o',
      `size=${DISK_MB}m,mode=0711`,
      'tmpfs',
      path,
    ]).then(
      () => true,
      () => false,
    )
    await symlink('../children', join(path, 'children'))
    return new Disk(path, canBeFull)
  }

  get canBeFull(): boolean {
    return this.#canBeFull
  }

  async fill(): Promise<void> {
    await writeFile(join(this.path, FILLER), '')
    // It ends with "no space left", as it should.
    await run('dd', ['if=/dev/zero', `of=${join(this.path, FILLER)}`, 'bs=64k']).catch(() => {})
  }

  async free(): Promise<void> {
    await rm(join(this.path, FILLER), { force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#canBeFull) await run('umount', ['-l', this.path])
  }
}
