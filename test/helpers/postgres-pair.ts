import { once } from 'node:events'
import { appendFile, chown, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import pg from 'pg'
import { type ClusterPlace, runToEnd, settlePlace, usableBinaries } from '../../src/trial/postgres-place.ts'
import { until } from './company.ts'
import { freePort } from './free-port.ts'
import { type Link, startLink } from './link.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** A PostgreSQL server and an asynchronous streaming replica of it, behind one address. */
export interface PostgresPair extends AsyncDisposable {
  /** Address of a database on the primary, which stays the same when the replica takes over. */
  url(database: string): string
  /** Address of a database on the replica itself. */
  standbyUrl(database: string): string
  /** Between the two: what the primary commits while it is silent, the replica lacks. */
  readonly replication: Link
  /** Waits until the replica has all that the primary has committed. */
  caughtUp(): Promise<void>
  /** Has the primary's commits wait for the replica, as `synchronous_standby_names` does. */
  beSynchronous(): Promise<void>
  /** The primary dies at once, and the replica takes its place. */
  failOver(): Promise<void>
}

const SETTINGS = `
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 200
max_locks_per_transaction = 256
wal_level = replica
wal_keep_size = 256MB
fsync = off
`

export async function startPostgresPair(): Promise<PostgresPair> {
  const [primary, standby] = [
    await settlePlace(await temporaryFolder()),
    await settlePlace(await temporaryFolder()),
  ]
  const native = await usableBinaries(primary)
  await mkdir(primary.data, { mode: 0o700 })
  if (primary.account) await chown(primary.data, primary.account.uid, primary.account.gid)
  const [primaryPort, standbyPort] = [await freePort(), await freePort()]
  await run(
    native,
    primary,
    'initdb',
    '-D',
    primary.data,
    '-U',
    'postgres',
    '--auth=trust',
    '--no-sync',
    '--encoding=UTF8',
    '--locale=C',
  )
  await appendFile(join(primary.data, 'postgresql.conf'), SETTINGS)
  await start(native, primary, primaryPort)
  const replication = await startLink(`postgres://127.0.0.1:${primaryPort}`)
  await copyCluster(primary, standby, urlAt(primaryPort))
  await appendFile(
    join(standby.data, 'postgresql.conf'),
    `primary_conninfo = 'host=127.0.0.1 port=${new URL(replication.url).port} user=postgres application_name=standby'\n`,
  )
  await own(standby, 'standby.signal', '')
  await start(native, standby, standbyPort)

  const address = await startAddress(primaryPort)
  const onPrimary = async (statement: string) => {
    const client = new pg.Client(urlAt(primaryPort))
    await client.connect()
    try {
      return (await client.query(statement)).rows
    } finally {
      await client.end()
    }
  }
  return {
    url: database => urlAt(address.port, database),
    standbyUrl: database => urlAt(standbyPort, database),
    replication,
    caughtUp: async () => {
      await until(async () => {
        const [row] = await onPrimary(
          `select pg_current_wal_lsn() <= replay_lsn as done from pg_stat_replication where application_name = 'standby'`,
        )
        return row?.done === true
      })
    },
    async beSynchronous() {
      await onPrimary(`alter system set synchronous_standby_names = 'standby'`)
      await onPrimary('select pg_reload_conf()')
    },
    async failOver() {
      await halt(native, primary)
      await run(native, standby, 'pg_ctl', 'promote', '--wait', '-D', standby.data)
      address.pointTo(standbyPort)
    },
    async [Symbol.asyncDispose]() {
      address.close()
      await replication[Symbol.asyncDispose]()
      for (const place of [primary, standby]) await halt(native, place)
    },
  }
}

const urlAt = (port: number, database = 'postgres') => `postgres://postgres@127.0.0.1:${port}/${database}`

async function run(
  native: string,
  { account }: ClusterPlace,
  program: string,
  ...args: string[]
): Promise<void> {
  const { exitCode, output, failure } = await runToEnd(join(native, 'bin', program), args, account)
  if (exitCode !== 0) throw new Error(`${program} ${args.join(' ')}: ${failure ?? output}`)
}

function start(native: string, place: ClusterPlace, port: number): Promise<void> {
  const log = join(place.data, 'server.log')
  return run(native, place, 'pg_ctl', 'start', '--wait', '-D', place.data, '-l', log, '-o', `-p ${port}`)
}

/** Ends the server at once, if it runs. */
async function halt(native: string, place: ClusterPlace): Promise<void> {
  if (await readFile(join(place.data, 'postmaster.pid'), 'utf8').catch(() => null))
    await run(native, place, 'pg_ctl', 'stop', '--wait', '--mode=immediate', '-D', place.data)
}

/** A base backup of a running server, as `pg_basebackup` makes it; that program does not come with the embedded ones. */
async function copyCluster(from: ClusterPlace, to: ClusterPlace, url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(`select pg_backup_start('replica', true)`)
  const copied = await runToEnd('/bin/cp', ['-a', from.data, to.data], null)
  if (copied.exitCode !== 0) throw new Error(copied.output)
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
  await client.end()
  await rm(join(to.data, 'postmaster.pid'), { force: true })
  await own(to, 'backup_label', rows[0]?.labelfile ?? '')
}

async function own({ data, account }: ClusterPlace, file: string, text: string): Promise<void> {
  await writeFile(join(data, file), text)
  if (account) await chown(join(data, file), account.uid, account.gid)
}

/** One address before servers that follow each other. */
async function startAddress(port: number) {
  let target = port
  const sockets = new Set<Socket>()
  const server = createServer(client => {
    const store = connect(target, '127.0.0.1')
    for (const [one, other] of [
      [client, store],
      [store, client],
    ] as const) {
      sockets.add(one)
      one
        .on('error', () => {})
        .on('close', () => {
          sockets.delete(one)
          other.destroy()
        })
      one.pipe(other)
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    pointTo(next: number) {
      target = next
      for (const socket of sockets) socket.destroy()
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}
