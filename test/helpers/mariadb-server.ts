import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { registerChild } from './children.ts'
import { program } from './programs.ts'

/** A MariaDB of its own process, on 127.0.0.1; its user `root` has no password. */
export interface MariadbServer extends AsyncDisposable {
  /** Of a database on it. */
  url(database: string): string
  /** Kills the process (`kill -9`) and starts it again on the same port with what it had on disk. */
  restart(): Promise<void>
  /** Kills the process. Idempotent. */
  stop(): Promise<void>
}

/** mariadbd refuses to run as root unless it is told to. */
const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : []
const LOG_FILE_SIZE = '--innodb-log-file-size=8M'

/** Makes an empty data folder. */
export async function installMariadb(data: string): Promise<void> {
  await promisify(execFile)(program('mariadb', 'mariadb-install-db'), [
    '--no-defaults',
    `--datadir=${data}`,
    '--auth-root-authentication-method=normal',
    '--skip-test-db',
    LOG_FILE_SIZE,
    ...AS_ROOT,
  ])
}

/**
 * Starts mariadbd.
 * @param data a folder that `installMariadb` made
 * @param settings its options, such as `--net-write-timeout=1`
 * @param outlivesUs it goes on when this process ends, until the run's reaper ends it
 */
export async function launchMariadb(options: {
  runFolder: string
  data: string
  port: number
  settings?: readonly string[]
  outlivesUs?: boolean
}): Promise<MariadbServer> {
  const { runFolder, data, port, settings = [], outlivesUs = false } = options
  // The path of a socket has 107 characters at most.
  const sockets = await mkdtemp(join(runFolder, 'socket-'))
  const start = async () => {
    const child = spawn(
      program('mariadb'),
      [
        ...['--no-defaults', ...AS_ROOT, `--datadir=${data}`, LOG_FILE_SIZE, '--skip-name-resolve'],
        ...['--bind-address=127.0.0.1', `--port=${port}`, `--socket=${join(sockets, 's')}`],
        ...['--innodb-flush-log-at-trx-commit=2', ...settings],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], detached: outlivesUs },
    )
    registerChild(runFolder, child)
    let output = ''
    await new Promise<void>((resolve, reject) => {
      child.stderr.on('data', chunk => {
        output += chunk
        if (output.includes('ready for connections')) resolve()
      })
      child.once('exit', code => reject(new Error(`mariadbd ended with ${code}: ${output}`)))
    })
    if (outlivesUs) {
      child.stderr.destroy()
      child.unref()
    }
    return child
  }
  let child = await start()
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit')
      child.kill('SIGKILL')
      await exited
    }
    await rm(sockets, { recursive: true, force: true })
  }
  return {
    url: database => mariadbUrl(port, database),
    async restart() {
      await stop()
      await mkdir(sockets, { recursive: true })
      child = await start()
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

/** Address of its user `root`. */
export function mariadbUrl(port: number, database: string): string {
  return `mysql://root@127.0.0.1:${port}/${database}`
}
