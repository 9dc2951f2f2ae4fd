import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, readFile, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { type EmbeddedSettings, openEmbedded } from '../../src/trial/environment.ts'
import { openFolder } from '../../src/trial/folder.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { spawnDirsync, spawnScript } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const HOLDER = join(import.meta.dirname, 'fixtures/hold-environment.ts')

/** Opens the embedded default from a process of its own. */
async function hold(directory: string, ...args: string[]) {
  const holder = spawnScript(HOLDER, [directory, ...args])
  const [, settings = ''] = await holder.waitForLine(/^open (.+)$/)
  return { holder, settings: JSON.parse(settings) as EmbeddedSettings }
}

async function count(url: string, text: string): Promise<number> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (
      (await client.query<{ n: number }>(`select count(*)::int as n from (${text}) as rows`)).rows[0]?.n ?? 0
    )
  } finally {
    await client.end()
  }
}

interface PlatformState {
  employees: { userid: string }[]
}

const platformState = ({ PLATFORM_BASE_URL }: EmbeddedSettings) =>
  controlOf(PLATFORM_BASE_URL)<PlatformState>('GET', 'state')

const answers = (url: string) =>
  fetch(`${url}/_emulator/stats`).then(
    response => response.ok,
    () => false,
  )

const emulatorPid = async (directory: string) =>
  Number.parseInt(await readFile(join(directory, 'emulator/pid'), 'utf8'), 10)

test('it brings up the sample HR database, an empty one, and a platform that knows the employees', async () => {
  const directory = await temporaryFolder()
  const { holder, settings } = await hold(directory)
  const employees = await readFile(settings.HR_EMPLOYEES_SQL, 'utf8')
  const departments = await readFile(settings.HR_DEPARTMENTS_SQL, 'utf8')
  expect(await count(settings.HR_DATABASE_URL, employees.replace(/;\s*$/, ''))).toBeGreaterThan(300)
  expect(await count(settings.HR_DATABASE_URL, departments.replace(/;\s*$/, ''))).toBeGreaterThan(25)
  expect(await count(settings.DATABASE_URL, `select from pg_namespace where nspname = 'hr'`)).toBe(0)
  expect((await platformState(settings)).employees.length).toBeGreaterThan(300)

  const may = async (what: string) => count(settings.HR_DATABASE_URL, `select where ${what}`)
  expect(await may("current_setting('is_superuser') = 'on'")).toBe(0)
  expect(await may("has_database_privilege('dirsync', 'connect')")).toBe(0)
  expect(
    await may(
      "has_any_column_privilege('hr.person', 'insert, update') or has_table_privilege('hr.person', 'delete')",
    ),
  ).toBe(0)
  const writing = 'with new as (insert into hr.person default values returning *) select from new'
  const reader = new pg.Client({ connectionString: settings.HR_DATABASE_URL })
  await reader.connect()
  await reader.query('set default_transaction_read_only = off')
  await expect(reader.query(writing)).rejects.toMatchObject({ code: '42501' })
  await expect(reader.query("copy (select 1) to program 'true'")).rejects.toMatchObject({ code: '42501' })
  await reader.end()

  const owner = new pg.Client({ connectionString: settings.DATABASE_URL })
  await owner.connect()
  await owner.query(`create role reviewer_li login password 'li' in role dirsync_reviewer`)
  await owner.end()
  const reviewer = Object.assign(new URL(settings.DATABASE_URL), { username: 'reviewer_li', password: 'li' })
  expect(await count(reviewer.href, 'select')).toBe(1)

  expect(settings.PLATFORM_APP_ID).toBe('demo-application')
  expect(settings.SELLER_APPIDS).toMatch(/^\w{8},\w{8}$/)
  expect((await stat(join(directory, 'emulator/secret'))).mode & 0o777).toBe(0o600)
  expect((await holder.kill()).code).toBe(0)
  expect(await answers(settings.PLATFORM_BASE_URL)).toBe(false)
})

test('a command of which only the first line is read takes everything down as well', async () => {
  const cwd = await temporaryFolder()
  const launcher = join(import.meta.dirname, '../../bin/dirsync')
  const env = { PATH: process.env.PATH }
  const { stdout } = await promisify(execFile)('sh', ['-c', `${launcher} hr check | head -1`], { cwd, env })
  expect(stdout).toMatch(/^HR in PostgreSQL .*\n$/)
  const port = await readFile(join(cwd, '.dirsync/emulator/port'), 'utf8')
  expect(await answers(`http://127.0.0.1:${port.trim()}`)).toBe(false)
  expect(existsSync(join(cwd, '.dirsync/postgres/data/postmaster.pid'))).toBe(false)
})

test('the application and the algorithm of another platform in the shell do not disturb it', async () => {
  const secret = join(await temporaryFolder(), 'secret')
  await writeFile(secret, 'of-another-platform')
  const env = {
    PLATFORM_APP_ID: 'another',
    PLATFORM_APP_SECRET_FILE: secret,
    PLATFORM_SIGN_ALGORITHM: 'sha1',
  }
  const once = spawnDirsync(['start', '--once', '--json'], { cwd: await temporaryFolder(), env })
  expect(await once.exited).toMatchObject({ code: 0 })
  expect(JSON.parse(once.stdout)).toMatchObject({ ok: true })
})

test('state and settings survive a restart, and a fresh start forgets them', async () => {
  const directory = await temporaryFolder()
  const first = await hold(directory)
  await seedEmployee(first.settings)
  const client = new pg.Client({ connectionString: first.settings.DATABASE_URL })
  await client.connect()
  await client.query('create table kept ()')
  await client.end()
  await first.holder.kill()

  const second = await hold(directory)
  expect(second.settings).toEqual(first.settings)
  expect((await platformState(second.settings)).employees.map(({ userid }) => userid)).toContain('marked')
  expect(await count(second.settings.DATABASE_URL, 'select from kept')).toBe(0)

  const refused = spawnScript(HOLDER, [directory, 'fresh'])
  expect((await refused.exited).code).toBe(1)
  expect(refused.stderr).toContain('EMBEDDED_IN_USE')
  expect(refused.stderr).toContain(String(second.holder.pid))
  await second.holder.kill()

  const third = await hold(directory, 'fresh')
  expect(third.settings.PLATFORM_APP_SECRET).not.toBe(first.settings.PLATFORM_APP_SECRET)
  expect((await platformState(third.settings)).employees.map(({ userid }) => userid)).not.toContain('marked')
  await expect(count(third.settings.DATABASE_URL, 'select from kept')).rejects.toMatchObject({
    code: '42P01',
  })
  await third.holder.kill()
})

test('a second process shares what the first brought up, and keeps it when the first is killed', async () => {
  const directory = await temporaryFolder()
  const [first, second] = await Promise.all([hold(directory), hold(directory)])
  expect(second.settings).toEqual(first.settings)

  await first.holder.kill('SIGKILL')
  expect(await answers(second.settings.PLATFORM_BASE_URL)).toBe(true)
  await second.holder.kill()
  expect(await answers(second.settings.PLATFORM_BASE_URL)).toBe(false)
})

test('everything left behind by kill -9 is adopted, then taken down', async () => {
  const directory = await temporaryFolder()
  const first = await hold(directory)
  const pid = await emulatorPid(directory)
  await first.holder.kill('SIGKILL')
  expect(await answers(first.settings.PLATFORM_BASE_URL)).toBe(true)

  const second = await hold(directory)
  expect(second.settings).toEqual(first.settings)
  expect(await emulatorPid(directory)).toBe(pid)
  await second.holder.kill()
  expect(await answers(first.settings.PLATFORM_BASE_URL)).toBe(false)
})

test('everything left behind by kill -9 is adopted where its folder is now', async () => {
  const folder = await temporaryFolder()
  await chmod(folder, 0o711)
  const [before, after] = [join(folder, 'before'), join(folder, 'after')]
  const first = await hold(before)
  const pid = await emulatorPid(before)
  await first.holder.kill('SIGKILL')
  await rename(before, after)

  const second = await hold(after)
  expect(second.settings).toEqual(first.settings)
  expect(await emulatorPid(after)).toBe(pid)
  await second.holder.kill()
  expect(await answers(first.settings.PLATFORM_BASE_URL)).toBe(false)
})

test('a file where the folder should be is named as such', async () => {
  const file = join(await temporaryFolder(), '.dirsync')
  await writeFile(file, '')
  const message = `${file} cannot be used as a folder (EEXIST)`
  await expect(openFolder(file)).rejects.toMatchObject({ code: 'EMBEDDED_NO_FOLDER', message })
})

test.runIf(process.getuid?.() === 0)('a full disk is named with its folder, and what to do', async () => {
  const directory = await temporaryFolder()
  const run = promisify(execFile)
  await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'none', directory])
  try {
    await run('sh', ['-c', 'mkdir "$0/users"; cat /dev/zero >"$0/filler" 2>/dev/null || true', directory])
    const message = `The embedded PostgreSQL needs 200 MB in ${directory}, and 0 MB are free: make room and start again.`
    const opening = openEmbedded({ directory, fresh: false, logger: pino({ level: 'silent' }) })
    await expect(opening).rejects.toMatchObject({ code: 'EMBEDDED_DISK_FULL', message })
  } finally {
    await run('umount', [directory])
  }
})

test('parts that are killed while they are in use come back where they were', async () => {
  const directory = await temporaryFolder()
  const { holder, settings } = await hold(directory)
  process.kill(await emulatorPid(directory), 'SIGKILL')
  process.kill(
    Number.parseInt(await readFile(join(directory, 'postgres/data/postmaster.pid'), 'utf8'), 10),
    'SIGKILL',
  )

  await holder.waitForLine(/"part":"emulator"/)
  await holder.waitForLine(/"part":"postgres"/)
  expect((await platformState(settings)).employees.length).toBeGreaterThan(300)
  expect(await count(settings.HR_DATABASE_URL, 'select from hr.person')).toBeGreaterThan(300)
  await holder.kill()
})

async function seedEmployee({ PLATFORM_BASE_URL }: EmbeddedSettings): Promise<void> {
  await controlOf(PLATFORM_BASE_URL)('POST', 'employees', [{ userid: 'marked', name: 'Marked' }])
}
