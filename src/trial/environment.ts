import { hash } from 'node:crypto'
import { readFile, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import pg from 'pg'
import type { Logger } from '../lib/logger.ts'
import { message } from '../texts/message.ts'
import {
  type EmulatorProcess,
  SIGN_ALGORITHM,
  startEmulatorProcess,
  stopEmulatorProcess,
} from './emulator-process.ts'
import { EmbeddedError, enterFolder, openFolder, usersOf, withFolderLock } from './folder.ts'
import { diskFull, type EmbeddedPostgres, removeEmbeddedPostgres, startEmbeddedPostgres } from './postgres.ts'

/** The embedded parts, held open for this process. */
interface EmbeddedEnvironment {
  readonly settings: EmbeddedSettings
  /** Signs this process off; the last process to do so stops everything. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts what `npm start` needs without settings: PostgreSQL with a database for dirsync and a sample HR database,
 * and the emulator with a matching platform. All processes that open the same directory share them, and a part that
 * dies while it is in use is restarted within seconds.
 * @param options.directory where everything is kept, usually `.dirsync`
 * @param options.fresh deletes the existing data first
 * @throws EmbeddedError
 */
export async function openEmbedded(options: {
  directory: string
  fresh: boolean
  logger: Logger
}): Promise<EmbeddedEnvironment> {
  const { fresh, logger } = options
  const directory = resolve(options.directory)
  await openFolder(directory)
  const opening = withFolderLock(directory, async () => {
    if (fresh) await clear(directory)
    const leave = await enterFolder(directory)
    let postgres: EmbeddedPostgres | undefined
    try {
      postgres = await startEmbeddedPostgres({ dataDir: join(directory, 'postgres') })
      await postgres.createDatabase('dirsync')
      await postgres.createDatabase('hr')
      if (await loadSampleHr(postgres.url('hr'))) logger.info({ directory }, 'sample HR database loaded')
      const hr = await letRead(postgres.url('hr'))
      const emulator = await startEmulatorProcess(join(directory, 'emulator'), SAMPLE.platform)
      return hold(directory, { postgres, hr, emulator }, leave, logger)
    } catch (error) {
      await postgres?.stop()
      await leave()
      throw error
    }
  })
  // Every process writes a little here, also where PostgreSQL runs already.
  return await opening.catch(async error => {
    throw error.code === 'ENOSPC' ? await diskFull(directory, { cause: error }) : error
  })
}

async function clear(directory: string): Promise<void> {
  const users = await usersOf(directory)
  if (users.length > 0)
    throw new EmbeddedError(
      'EMBEDDED_IN_USE',
      message('said.embedded_busy', { folder: directory, processes: users.map(String) }),
    )
  await stopEmulatorProcess(join(directory, 'emulator'))
  await rm(join(directory, 'emulator'), { recursive: true, force: true })
  await removeEmbeddedPostgres(join(directory, 'postgres'))
}

interface Parts {
  postgres: EmbeddedPostgres
  /** Connection string of the sample HR, for a read-only user. */
  hr: string
  emulator: EmulatorProcess
}

function hold(
  directory: string,
  parts: Parts,
  leave: () => Promise<void>,
  logger: Logger,
): EmbeddedEnvironment {
  const { postgres, emulator } = parts
  const stopWatching = watch(directory, postgres, emulator, logger)
  const close = async () => {
    await stopWatching()
    await withFolderLock(directory, async () => {
      await leave()
      if ((await usersOf(directory)).length === 0) await emulator.stop()
      await postgres.stop()
    })
  }
  let closing: Promise<void> | undefined
  return {
    settings: settingsOf(parts),
    close() {
      closing ??= close()
      return closing
    },
  }
}

/** Settings that point the service at the embedded parts, as if set in the environment. */
export type EmbeddedSettings = ReturnType<typeof settingsOf>

function settingsOf({ postgres, hr, emulator }: Parts) {
  return {
    DATABASE_URL: postgres.url('dirsync'),
    HR_DATABASE_URL: hr,
    HR_EMPLOYEES_SQL: SAMPLE.employeesSql,
    HR_DEPARTMENTS_SQL: SAMPLE.departmentsSql,
    PLATFORM_BASE_URL: emulator.url,
    PLATFORM_APP_ID: emulator.appId,
    PLATFORM_APP_SECRET: emulator.appSecret,
    PLATFORM_SIGN_ALGORITHM: SIGN_ALGORITHM,
    SELLER_APPIDS: 'mall0001,mall0002',
    PLATFORM_RATE_LIMIT: '200',
    // 8080, or the next free port: one machine may run several.
    CONSOLE_PORT: '0',
  }
}

const WATCH_MS = 1_000
const REVIVED = 'an embedded part had died and was started again'

/** Restarts the parts as needed until the returned function is called, which waits for a restart in progress. */
function watch(
  directory: string,
  postgres: EmbeddedPostgres,
  emulator: EmulatorProcess,
  logger: Logger,
): () => Promise<void> {
  let isFailing = false
  const look = async () => {
    try {
      if (await postgres.revive()) logger.warn({ part: 'postgres' }, REVIVED)
      if (!(await emulator.isRunning())) {
        await withFolderLock(directory, () => emulator.revive())
        logger.warn({ part: 'emulator' }, REVIVED)
      }
      isFailing = false
    } catch (error) {
      if (!isFailing) logger.error({ error }, 'an embedded part died and does not start; trying on')
      isFailing = true
    }
  }
  let looking: Promise<void> | undefined
  const timer = setInterval(() => {
    looking ??= look().finally(() => {
      looking = undefined
    })
  }, WATCH_MS).unref()
  return async () => {
    clearInterval(timer)
    await looking
  }
}

const FOLDER = join(import.meta.dirname, '../../examples/hr')

/** Files of the sample: two mappings, and the emulator's initial state. */
export const SAMPLE = {
  employeesSql: join(FOLDER, 'employees.sql'),
  departmentsSql: join(FOLDER, 'departments.sql'),
  platform: join(FOLDER, 'platform.json'),
}

/** Loads the sample HR system into an empty database, in one transaction; true if the database was empty. */
export async function loadSampleHr(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const { rowCount } = await client.query(`select from pg_namespace where nspname = 'hr'`)
    if (rowCount) return false
    const schema = await readFile(join(FOLDER, 'schema.sql'), 'utf8')
    const data = await readFile(join(FOLDER, 'data.sql'), 'utf8')
    await client.query(`begin; ${schema}; ${data}; commit; analyze`)
    return true
  } finally {
    await client.end()
  }
}

/** The user that dirsync reads the sample with, so that a mapping under test can only read HR. */
const HR_READER = 'hr_reader'

/** Reviewers, whom the schema gives their rights, may connect to the database that HR's user may not. */
const REVIEWER = 'dirsync_reviewer'

/**
 * Grants that user read access to everything in HR, later objects included.
 * @param url of HR as superuser
 * @returns the address for that user; its password is derived from the superuser's
 */
async function letRead(url: string): Promise<string> {
  const reader = new URL(url)
  const password = hash('sha256', `${HR_READER} ${reader.password}`)
  Object.assign(reader, { username: HR_READER, password })
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const exists = async (role: string) =>
      (await client.query('select from pg_roles where rolname = $1', [role])).rowCount === 1
    if (!(await exists(REVIEWER))) await client.query(`create role ${REVIEWER} nologin`)
    await client.query(`
      ${(await exists(HR_READER)) ? 'alter' : 'create'} role ${HR_READER} login password '${password}';
      alter role ${HR_READER} set default_transaction_read_only = on;
      revoke connect on database dirsync from public;
      grant connect on database dirsync to ${REVIEWER};
      grant usage on schema hr to ${HR_READER};
      grant select on all tables in schema hr to ${HR_READER};
      alter default privileges grant select on tables to ${HR_READER}`)
    return reader.href
  } finally {
    await client.end()
  }
}
