import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../src/trial/postgres.ts'
import { registerChild } from '../test/helpers/children.ts'
import { freePort } from '../test/helpers/free-port.ts'
import { installMariadb, launchMariadb, type MariadbServer } from '../test/helpers/mariadb-server.ts'
import { launchRedis } from '../test/helpers/redis-server.ts'

const APP_ID = 'bench'
const APP_SECRET = 'bench-secret'

/** How to reach an emulator. */
export interface PlatformAccess {
  baseUrl: string
  appId: string
  appSecret: string
}

/**
 * The real parts that benchmarks use, each started on first use. Everything is in one folder and ends with it: by
 * `close`, or by a watcher process if the benchmark is killed.
 */
export class Workshop {
  readonly folder: string
  readonly #endWatcher: () => Promise<void>
  #postgres: Promise<EmbeddedPostgres> | undefined
  #redis: Promise<{ url: string }> | undefined
  #mariadb: Promise<MariadbServer> | undefined
  #databases = 0
  #seeds = 0
  #closing: Promise<void> | undefined

  private constructor(folder: string, endWatcher: () => Promise<void>) {
    this.folder = folder
    this.#endWatcher = endWatcher
  }

  static async open(): Promise<Workshop> {
    const folder = await mkdtemp(join(tmpdir(), 'dirsync-bench-'))
    await chmod(folder, 0o711) // PostgreSQL runs as another user when this one is root
    await mkdir(join(folder, 'children'))
    const reaper = spawn('/bin/sh', [join(import.meta.dirname, '../test/helpers/reaper.sh'), folder], {
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    })
    return new Workshop(folder, async () => {
      reaper.stdin.end()
      await once(reaper, 'exit')
    })
  }

  /** Connection string of a new, empty database on an embedded PostgreSQL with its durable settings. */
  async database(): Promise<string> {
    this.#postgres ??= startEmbeddedPostgres({ dataDir: join(this.folder, 'postgres') })
    const server = await this.#postgres
    this.#databases += 1
    const name = `bench_${this.#databases}`
    await server.createDatabase(name)
    return server.url(name)
  }

  /** Address of a database on a MariaDB whose buffers hold a table of a million employees. It need not exist. */
  async mariadb(name: string): Promise<string> {
    this.#mariadb ??= this.#startMariadb()
    return (await this.#mariadb).url(name)
  }

  async #startMariadb(): Promise<MariadbServer> {
    const data = join(this.folder, 'mariadb')
    await installMariadb(data)
    const settings = ['--innodb-buffer-pool-size=1G', '--innodb-log-file-size=512M']
    return launchMariadb({ runFolder: this.folder, data, settings, port: await freePort() })
  }

  /** URL of a redis-server of its own, with append-only file and without eviction. */
  async redis(): Promise<string> {
    this.#redis ??= launchRedis({ runFolder: this.folder })
    return (await this.#redis).url
  }

  /** URL of another redis-server, for processes that must not hear what others publish. */
  async ownRedis(): Promise<string> {
    return (await launchRedis({ runFolder: this.folder })).url
  }

  /** Writes a file. Returns its path. */
  async file(name: string, text: string): Promise<string> {
    const path = join(this.folder, name)
    await writeFile(path, text)
    return path
  }

  /** Starts an emulator in a process of its own. */
  async emulator(seed: object): Promise<PlatformAccess> {
    this.#seeds += 1
    const file = join(this.folder, `seed-${this.#seeds}.json`)
    await writeFile(file, JSON.stringify(seed))
    const options = ['--port', '0', '--appid', APP_ID, '--secret', APP_SECRET, '--seed', file]
    const url = await this.#listening('../src/cli/main.ts', ['emulator', ...options])
    return { baseUrl: url, appId: APP_ID, appSecret: APP_SECRET }
  }

  /** Starts a program of this folder that serves HTTP and prints its URL; resolves with that. */
  server(file: string): Promise<string> {
    return this.#listening(file, [])
  }

  /** Ends everything and removes the folder. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    const postgres = await this.#postgres?.catch(() => undefined)
    await postgres?.stop()
    await this.#endWatcher()
  }

  async #listening(file: string, args: string[]): Promise<string> {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, file), ...args],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    registerChild(this.folder, child)
    return await new Promise<string>((resolve, reject) => {
      let printed = ''
      child.stdout.on('data', chunk => {
        printed += chunk
        const [url] = /http:\/\/\S+/.exec(printed) ?? []
        if (url !== undefined) resolve(url)
      })
      child.once('error', reject)
      child.once('exit', code => reject(new Error(`${file} ended with ${code} before it listened`)))
    })
  }
}
