import { execFile, spawn } from 'node:child_process'
import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { killChild, untilReady } from './children.ts'
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

/** A MySQL server program that takes MariaDB's place in all tests: `TEST_MYSQLD=/usr/sbin/mysqld npx vitest run --tags-filter=mariadb`. */
const MYSQLD = process.env.TEST_MYSQLD
export const isMysql = MYSQLD !== undefined

/** The servers refuse to run as root unless they are told to. */
const AS_ROOT = process.getuid?.() === 0 ? ['--user=root'] : []
const OWN_SETTINGS = isMysql
  ? ['--mysqlx=OFF', '--skip-log-bin', '--secure-file-priv=', '--innodb-redo-log-capacity=16M']
  : ['--innodb-log-file-size=8M', '--performance-schema=1', '--skip-name-resolve']

/**
 * SQL for a new database. MariaDB has a table `seq_1_to_N` of numbers for every N; on MySQL, views stand for those that tests read.
 */
export const SEQUENCES = isMysql
  ? `create view digit as ${Array.from({ length: 10 }, (_, d) => `select ${d} as d`).join(' union all ')};${[
      20_000, 300_000, 600_000, 3_000_000,
    ]
      .map(count => {
        const places = Array.from({ length: String(count).length }, (_, place) => `p${place}`)
        const number = places.map((place, i) => `${place}.d * ${10 ** i}`).join(' + ')
        return `create view seq_1_to_${count} as select 1 + ${number} as seq
          from ${places.map(place => `digit ${place}`).join(', ')} where ${number} < ${count};`
      })
      .join('')}`
  : ''

/** The state of a connection that waits until its client reads on. */
export const HELD_BACK = /^(?:Writing to net|Sending to client)$/

/** SQL: how many rows of a table were read since `FORGET_ROWS_READ`. */
export const rowsRead = (database: string, table: string) =>
  `select count_read as count_read from performance_schema.table_io_waits_summary_by_table
   where object_schema = '${database}' and object_name = '${table}'`
export const FORGET_ROWS_READ = 'truncate table performance_schema.table_io_waits_summary_by_table'

/** A server that starts deletes all temporary tables in its folder for them, also those of other servers. */
const temporary = (folder: string) => `--tmpdir=${folder}`

/** Makes an empty data folder. */
export async function installMariadb(data: string): Promise<void> {
  const common = ['--no-defaults', `--datadir=${data}`, ...OWN_SETTINGS, ...AS_ROOT, temporary(dirname(data))]
  if (MYSQLD) await promisify(execFile)(MYSQLD, [...common, '--initialize-insecure'])
  else
    await promisify(execFile)(program('mariadb', 'mariadb-install-db'), [
      ...common,
      ...['--auth-root-authentication-method=normal', '--skip-test-db'],
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
  const own = await mkdtemp(join(runFolder, 'mariadb-'))
  const start = async () => {
    const child = spawn(
      MYSQLD ?? program('mariadb'),
      [
        ...['--no-defaults', ...AS_ROOT, `--datadir=${data}`, ...OWN_SETTINGS],
        ...['--bind-address=127.0.0.1', `--port=${port}`, `--socket=${join(own, 's')}`, temporary(own)],
        ...['--innodb-flush-log-at-trx-commit=2', ...settings],
      ],
      { stdio: ['ignore', 'ignore', 'pipe'], detached: outlivesUs },
    )
    await untilReady(runFolder, child, 'ready for connections')
    if (outlivesUs) {
      child.stderr.destroy()
      child.unref()
    }
    return child
  }
  let child = await start()
  const stop = async () => {
    await killChild(child)
    await rm(own, { recursive: true, force: true })
  }
  return {
    url: database => mariadbUrl(port, database),
    async restart() {
      await stop()
      await mkdir(own, { recursive: true })
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
