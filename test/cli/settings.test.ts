import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createDeployment } from '../helpers/deployment.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { dirsync } from './dirsync.ts'

const NOBODY = 'postgres://postgres@127.0.0.1:1/none'

const deployment = duringFile(() => createDeployment({ migrated: false }))

test.concurrent.each([['start', '--once'], ['status'], ['platform', 'token/getTokenInfo']])(
  'with some settings and others missing, `%s` names the missing ones',
  async (...args) => {
    const refused = await dirsync(args, { DATABASE_URL: NOBODY, PLATFORM_APP_ID: 'a' })
    expect(refused.code).toBe(2)
    expect(refused.stderr).toMatch(
      /^dirsync: missing settings: HR_DATABASE_URL, PLATFORM_BASE_URL, HR_EMPLOYEES_SQL, PLATFORM_APP_SECRET/,
    )
  },
)

test.concurrent('every wrong setting is a line that names it, and secrets are not shown', async () => {
  const refused = await dirsync(['start'], {
    ...deployment.settings,
    LOG_LEVEL: 'loud',
    PLATFORM_RATE_LIMIT: 'fast',
    DATABASE_URL: 'mysql://me:hidden@db/x',
  })
  expect(refused.code).toBe(2)
  const lines = refused.stderr.trim().split('\n')
  expect(lines).toHaveLength(3)
  for (const line of lines) expect(line).toMatch(/^dirsync: [A-Z_]+ holds .* but should be/)
  expect(refused.stderr).not.toContain('hidden')
})

test.concurrent('a wrong setting of the embedded default is refused before anything is brought up', async () => {
  const refused = await dirsync(['start', '--once'], { LOG_LEVEL: 'loud' })
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/^dirsync: LOG_LEVEL holds "loud" but should be one of trace/)
})

test.concurrent('a setting of the embedded default in a file counts like any other', async () => {
  const refused = await dirsync(['start', '--once'], { PLATFORM_APP_ID_FILE: '/nowhere/id' })
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toMatch(/^dirsync: PLATFORM_APP_ID_FILE holds "\/nowhere\/id"/)
})

test.concurrent('a wrong schedule stops the start', async () => {
  const refused = await dirsync(['start'], { ...deployment.settings, SCHEDULE_SYNC_CHANGES: 'sometimes' })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(/SCHEDULE_SYNC_CHANGES holds "sometimes" but should be a cron expression/)
})

test.concurrent.each([
  ['a wrong schedule', { SCHEDULE_SYNC_CHANGES: 'garbage' }, /SCHEDULE_SYNC_CHANGES holds "garbage"/],
  ['a mapping that is not there', { HR_EMPLOYEES_SQL: '/nowhere' }, /HR_EMPLOYEES_SQL holds "\/nowhere"/],
])('%s stops the start also while the database is away', async (_, wrong, named) => {
  const refused = await dirsync(['start'], { ...deployment.settings, DATABASE_URL: NOBODY, ...wrong })
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringMatching(named) })
})

test.concurrent('--fresh never touches a database of yours', async () => {
  const refused = await dirsync(['start', '--fresh'], deployment.settings)
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(/--fresh works only with the embedded default/)
})

test.concurrent('a mapping file that is not there is refused', async () => {
  const refused = await dirsync(['start', '--once'], {
    ...deployment.settings,
    HR_EMPLOYEES_SQL: '/nowhere/employees.sql',
  })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(
    /HR_EMPLOYEES_SQL holds "\/nowhere\/employees.sql" but that file cannot be read/,
  )
})

test.concurrent('a mapping with an unknown column stops the start and names it', async () => {
  const file = join(await temporaryFolder(), 'employees.sql')
  await writeFile(
    file,
    'select staff_id as userid, given_name as firstname, given_name as name from hr.person',
  )
  const refused = await dirsync(['start', '--once'], {
    ...deployment.settings,
    HR_EMPLOYEES_SQL: file,
    HR_DEPARTMENTS_SQL: '',
  })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(/unknown column "firstname"/)
})

test.concurrent('a mapping of departments that is broken stops the start and is named', async () => {
  const file = join(await temporaryFolder(), 'departments.sql')
  await writeFile(file, "select gone as dept_code, null as parent_code, 't' as active from hr.person")
  const refused = await dirsync(['start', '--once'], { ...deployment.settings, HR_DEPARTMENTS_SQL: file })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(/departments\.sql:1:8: column "gone" does not exist/)
})

test.concurrent.each([['start', '--once'], ['status'], ['resync', '--wait'], ['migrate']])(
  'with the database away, `%s` says so and fails',
  async (...args) => {
    const failed = await dirsync(args, { ...deployment.settings, DATABASE_URL: NOBODY })
    expect(failed).toMatchObject({ code: 1, stdout: '' })
    expect(failed.stderr).toMatch(
      /^dirsync: dirsync's own database does not answer: .*ECONNREFUSED.*\. Start the server, or correct DATABASE_URL\.\n$/m,
    )
  },
)

test('a database that is missing and a login that is refused are told apart from a server that is away', async () => {
  const missing = new URL(deployment.own.url)
  missing.pathname = '/nowhere'
  const stranger = new URL(deployment.own.url)
  stranger.username = 'stranger'
  const told = async (url: URL, language: string) =>
    (await dirsync(['status'], { ...deployment.settings, DATABASE_URL: url.href, DIRSYNC_LANG: language }))
      .stderr
  expect(await told(missing, 'en')).toBe(
    `dirsync: dirsync's own database is missing: database "nowhere" does not exist. Create the database, or correct its name in DATABASE_URL.\n`,
  )
  expect(await told(missing, 'zh-CN')).toMatch(/自身的数据库不存在：.*nowhere.*。请创建该数据库/)
  expect(await told(stranger, 'en')).toMatch(
    /^dirsync: dirsync's own database refuses the login: .*"stranger".*\. Correct user and password in DATABASE_URL/,
  )
  const examined = await dirsync(['doctor', '--json'], { ...deployment.settings, DATABASE_URL: missing.href })
  expect(examined.json().findings).toContainEqual({
    check: 'database',
    status: 'failed',
    what: `dirsync's own database is missing: database "nowhere" does not exist`,
    remedy: 'Create the database, or correct its name in DATABASE_URL.',
  })
  expect(await told(stranger, 'zh-CN')).toMatch(
    /自身的数据库拒绝登录：.*stranger.*。请更正 DATABASE_URL 中的用户和密码/,
  )
})

test('a port that is taken is named, with what to do', async () => {
  const { port } = deployment.emulator
  const failed = await dirsync(['emulator', '--secret', 's', '--port', String(port)])
  expect(failed.code).toBe(1)
  expect(failed.stderr).toMatch(new RegExp(`port ${port} on 127.0.0.1 is taken`))
})

test('migrate needs the databases alone, and says what a start would miss', async () => {
  await using empty = await createTestDatabase()
  const folder = await temporaryFolder()
  await writeFile(join(folder, 'database_url'), empty.url)
  await writeFile(join(folder, 'platform_app_secret'), '')
  const run = await dirsync(['migrate'], {
    DATABASE_URL_FILE: join(folder, 'database_url'),
    PLATFORM_APP_SECRET_FILE: join(folder, 'platform_app_secret'),
  })
  expect(run.code).toBe(0)
  expect(run.stdout).toMatch(/^applied 0001_record.sql$/m)
  expect(run.stderr).toBe(
    `dirsync: a start needs more: missing settings: HR_DATABASE_URL, PLATFORM_BASE_URL, HR_EMPLOYEES_SQL, PLATFORM_APP_ID, PLATFORM_APP_SECRET (${folder}/platform_app_secret is empty)\n`,
  )
})

test('without its own database migrate is refused', async () => {
  const refused = await dirsync(['migrate'], { PLATFORM_BASE_URL: 'http://127.0.0.1:1' })
  expect(refused.code).toBe(2)
  expect(refused.stderr).toMatch(/^dirsync: missing settings: DATABASE_URL/)
})

test('without the schema commands say how to bring it up; migrate does, twice', async () => {
  const { settings } = deployment
  const failed = await dirsync(['status'], settings)
  expect(failed.code).toBe(1)
  expect(failed.stderr).toMatch(
    /^dirsync: the schema of the database is not up to date \(migrations that it lacks: \d+\): run npx dirsync migrate\n$/,
  )

  const first = await dirsync(['migrate', '--json'], settings)
  expect(first.code).toBe(0)
  expect(first.json()).toMatchObject({ reviewer_statements: [], queue: 'postgres' })
  expect(first.json().applied[0]).toBe('0001_record.sql')

  const second = await dirsync(['migrate'], settings)
  expect(second.code).toBe(0)
  expect(second.stdout).toMatch(/^The schema is up to date\.\nThe queue is in PostgreSQL and ready\./)
})

test('without settings commands say that they are about the trial; where there is none, they name the settings', {
  timeout: 120_000,
}, async () => {
  const cwd = await temporaryFolder()
  const run = async (...args: string[]) => {
    const child = spawnDirsync(args, { cwd })
    const { code } = await child.exited
    return { code, stdout: child.stdout, stderr: child.stderr.replace(/\s+/g, ' ') }
  }
  for (const args of [['status'], ['pause', '--reason', 'x']])
    expect(await run(...args)).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringMatching(
        /^dirsync: DATABASE_URL, .* are not set, .* run npx dirsync start for a trial/,
      ),
    })
  expect(existsSync(join(cwd, '.dirsync'))).toBe(false)

  const isTrial = 'No settings found: this is the trial in .dirsync/ '
  expect(await run('migrate')).toMatchObject({ code: 0, stderr: isTrial })
  const paused = await run('pause', '--reason', 'x')
  expect(paused).toMatchObject({ code: 0, stderr: isTrial })
  expect(paused.stdout).toMatch(/^All calls to the platform are paused/)
})
