import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdir, mkdtemp, readFile, statfs } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import type { TestProject } from 'vitest/node'
import { startEmbeddedPostgres } from '../../src/trial/postgres.ts'
import { dropDatabasesOf } from './postgres.ts'
import { install, leftOut, missingPrograms } from './programs.ts'
import { launchRedis } from './redis-server.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Folder of this run; all that tests leave on disk belongs in it (`temporaryFolder`). */
    runFolder: string
    /** Superuser connection string of the run's PostgreSQL, database `postgres` or the one of TEST_DATABASE_URL. */
    postgresUrl: string
    /** Starts the name of each database of this run. */
    databasePrefix: string
    /** The run's Redis; null: there is none on this machine. */
    redisUrl: string | null
  }
}

/** Brings up one PostgreSQL and one Redis for the whole run, and takes them down when it ends, however it ends. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const missing = missingPrograms()
  if (process.env.CI === 'true' && missing.length > 0)
    throw new Error(
      `With CI=true no test is left out, and this machine lacks ${missing.join(', ')}: ${install(missing)}`,
    )
  const runFolder = await mkdtemp(join(await roomyFolder(), 'dirsync-test-'))
  await chmod(runFolder, 0o711) // PostgreSQL runs as another user when this one is root
  await mkdir(join(runFolder, 'children'))
  const reaper = spawn('/bin/sh', [join(import.meta.dirname, 'reaper.sh'), runFolder], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  })
  const reap = async () => {
    reaper.stdin.end()
    await once(reaper, 'exit')
  }
  const giveUp = async (error: unknown): Promise<never> => {
    await reap()
    throw error
  }
  const databasePrefix = `dirsync_test_${process.pid}_${Date.now().toString(36)}_`
  const redis = await openRedis(runFolder).catch(giveUp)
  const postgres = await openPostgres(runFolder).catch(giveUp)

  project.provide('runFolder', runFolder)
  project.provide('databasePrefix', databasePrefix)
  project.provide('postgresUrl', postgres.url)
  project.provide('redisUrl', redis?.url ?? null)

  return async () => {
    await dropDatabasesOf(postgres.url, databasePrefix)
    await redis?.stop()
    await postgres.stop()
    await reap()
    process.stdout.write(leftOut(project.vitest.state.getTestModules(), project.config.root))
  }
}

/** More than a run leaves at any time: databases go with their tests. */
const NEEDED_BYTES = 4 * 1024 ** 3

/**
 * Where a run's folder goes: into memory where there is room and programs may run, unless TMPDIR says otherwise. A database is
 * 900 files, and where ext4 has just removed many, it searches for a place for each new one: making a database then costs
 * 30 times as much.
 */
async function roomyFolder(): Promise<string> {
  const memory = '/dev/shm'
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }))
  const mounts = await readFile('/proc/mounts', 'utf8').catch(() => '')
  const runsPrograms = /^\S+ \/dev\/shm tmpfs (?!\S*noexec)/m.test(mounts)
  return process.env.TMPDIR === undefined && runsPrograms && bavail * bsize >= NEEDED_BYTES
    ? memory
    : tmpdir()
}

async function openPostgres(runFolder: string): Promise<{ url: string; stop(): Promise<void> }> {
  const given = process.env.TEST_DATABASE_URL
  if (given) return { url: given, stop: async () => {} }
  const server = await startEmbeddedPostgres({ dataDir: join(runFolder, 'postgres') })
  await hurry(server.url('postgres'))
  return { url: server.url('postgres'), stop: server.stop }
}

/** Has a server be fast, at the price of what a power failure leaves of it. */
async function hurry(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  for (const setting of [
    'fsync = off',
    'full_page_writes = off',
    'synchronous_commit = off',
    `max_wal_size = '512MB'`,
  ])
    await client.query(`alter system set ${setting}`)
  await client.query('select pg_reload_conf()')
  await client.end()
}

async function openRedis(runFolder: string): Promise<{ url: string; stop(): Promise<void> } | null> {
  const given = process.env.TEST_REDIS_URL
  if (given) return { url: given, stop: async () => {} }
  if (missingPrograms().includes('redis')) return null
  return await launchRedis({ runFolder, databases: 1024 })
}
