import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import { loadSampleHr } from '../../src/trial/environment.ts'
import { APP_ID, APP_SECRET, PlatformUnderTest } from '../emulator/platform-under-test.ts'
import { until } from '../helpers/company.ts'
import { createDeployment, type Deployment } from '../helpers/deployment.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { startRedis } from '../helpers/redis.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { dirsync, wideLines } from './dirsync.ts'

let deployment: Deployment
let folder: string

beforeAll(async () => {
  ;[deployment, folder] = await Promise.all([createDeployment(), temporaryFolder()])
  await dirsync(['migrate'], deployment.settings)
})

// The platform is asked about its token once a second: no test waits for the one before it.
beforeEach(() => deployment.own.pool.query('delete from dirsync.pacer'))

afterAll(() => deployment[Symbol.asyncDispose]())

async function examine(settings: Record<string, string>) {
  const examined = await dirsync(['doctor', '--json'], { ...deployment.settings, ...settings })
  const { ok, findings } = examined.json() as {
    ok: boolean
    findings: { check: string; status: string; what: string; remedy?: string }[]
  }
  expect(ok).toBe(examined.code === 0)
  expect(examined.stderr).toBe('')
  const failed = findings.filter(({ status }) => status === 'failed')
  return { code: examined.code, findings, failed }
}

async function mapping(sql: string): Promise<string> {
  const file = join(folder, `${Math.random().toString(36).slice(2)}.sql`)
  await writeFile(file, sql)
  return file
}

test('when all is well, every check is a line and none fails', async () => {
  const examined = await dirsync(['doctor'], deployment.settings)
  expect(examined).toMatchObject({ code: 0, stderr: '' })
  for (const check of [
    'settings',
    'schedules',
    'database',
    'schema',
    'reviewer',
    'queue',
    'hr',
    'platform',
    'clock',
    'credentials',
    'rate',
  ])
    expect(examined.stdout).toMatch(new RegExp(`^ok {4}${check} `, 'm'))
  expect(examined.stdout).toMatch(/^ok +mapping +\S*employees\.sql:\s+enterprise_code,\s+userid/m)
  expect(examined.stdout).toMatch(/^warn +processes +no scheduler and no worker is running/m)
  expect(examined.stdout).toMatch(/^warn +console +no user can sign in/m)
  expect(examined.stdout).toMatch(/^ +→ Add the first user with .*dirsync users add NAME --role/m)
  expect(wideLines(examined.stdout)).toEqual([])
})

test('without settings and without a trial it says so, and makes none', async () => {
  const examined = await dirsync(['doctor'])
  expect(examined.code).toBe(1)
  expect(examined.stdout).toMatch(
    /^FAIL +dirsync +DATABASE_URL, HR_DATABASE_URL and PLATFORM_BASE_URL are\s+not set/m,
  )
  expect(existsSync('.dirsync')).toBe(false)
})

test('a rate that a person has lowered is told as such', async () => {
  await deployment.own.pool.query(`select dirsync.lower_rate(2, now() + interval '1 hour', 'a test')`)
  const { stdout } = await dirsync(['doctor'], deployment.settings)
  await deployment.own.pool.query('select dirsync.restore_rate()')
  expect(stdout).toMatch(/^ok +rate +2 calls per second: lowered by hand, from \d/m)
})

test.each([
  ['a wrong secret', { PLATFORM_APP_SECRET: 'wrong' }, 'credentials', /does not accept the application id/],
  [
    'the platform away',
    { PLATFORM_BASE_URL: 'http://127.0.0.1:1' },
    'platform',
    /gives no usable answer.*ECONNREFUSED/,
  ],
  ['HR away', { HR_DATABASE_URL: 'postgres://me@127.0.0.1:1/hr' }, 'hr', /HR database does not answer/],
  ['the database away', { DATABASE_URL: 'postgres://me@127.0.0.1:1/x' }, 'database', /ECONNREFUSED/],
  ['no mapping file', { HR_EMPLOYEES_SQL: '/nowhere.sql' }, 'mapping', /cannot be read/],
  ['Redis away', { REDIS_URL: 'redis://127.0.0.1:1' }, 'queue', /Redis does not answer/],
  ['a wrong schedule', { SCHEDULE_PRUNE: 'now' }, 'schedules', /SCHEDULE_PRUNE holds "now"/],
  ['a wrong rate', { PLATFORM_RATE_LIMIT: 'fast' }, 'settings', /PLATFORM_RATE_LIMIT holds "fast"/],
] as const)('%s is found, with its remedy', async (_, settings, check, what) => {
  const { code, failed } = await examine(settings)
  expect(code).toBe(1)
  const found = failed.find(finding => finding.check === check)
  expect(found?.what).toMatch(what)
})

test('a schema that this version cannot continue from is not called up to date', async () => {
  await using own = await createTestDatabase()
  const settings = { DATABASE_URL: own.url }
  await dirsync(['migrate'], { ...deployment.settings, ...settings })
  await own.pool.query(`insert into dirsync.migration values ('9999_newer.sql')`)
  const { findings } = await examine(settings)
  expect(findings.filter(({ check }) => check === 'schema')).toEqual([
    {
      check: 'schema',
      status: 'failed',
      what: 'a newer dirsync migrated this database (9999_newer.sql): upgrade this installation',
    },
  ])
})

test('a database that takes no writes is named, and the platform is not blamed for it', async () => {
  const url = `${deployment.own.url}?options=-cdefault_transaction_read_only%3Don`
  const remedy = 'Let DATABASE_URL name the primary, or switch default_transaction_read_only off.'
  const { failed, findings } = await examine({ DATABASE_URL: url })
  expect(failed.filter(({ check }) => check !== 'queue')).toEqual([
    {
      check: 'database',
      status: 'failed',
      what: expect.stringMatching(/^PostgreSQL \S+ is read-only, as a replica is$/),
      remedy,
    },
  ])
  expect(findings).toContainEqual(expect.objectContaining({ check: 'platform', status: 'warning' }))
  const settings = { ...deployment.settings, DATABASE_URL: url }
  for (const command of ['migrate', 'resync', 'start'])
    expect(await dirsync([command], settings)).toMatchObject({
      code: 1,
      stderr: `dirsync: PostgreSQL is read-only, as a replica is. ${remedy}\n`,
    })
  expect((await dirsync(['migrate'], { ...settings, DIRSYNC_LANG: 'zh-CN' })).stderr).toMatch(
    /只读状态.*主库/,
  )
})

test('status says of such a database as of when it shows it, and blames no process', async () => {
  await using own = await createTestDatabase({ migrated: true })
  const settings = { ...deployment.settings, DATABASE_URL: own.url }
  await dirsync(['migrate'], settings)
  await own.pool.query(`
    insert into dirsync.process (id, host, pid, roles, version, heartbeat_at)
    values (gen_random_uuid(), 'h', 1, '{scheduler,worker}', '1', now() - interval '10 minutes')`)
  const url = `${own.url}?options=-cdefault_transaction_read_only%3Don`
  const status = (args: string[] = [], env = {}) =>
    dirsync(['status', ...args], { ...settings, DATABASE_URL: url, ...env })
  const { stdout } = await status()
  const text = stdout.replaceAll(/\s+/g, ' ')
  expect(text).toMatch(
    /dirsync’s database is read-only, so processes cannot sign: what follows is as of \S.*? → Let DATABASE_URL name the primary/,
  )
  expect(text).not.toMatch(/No (?:worker|scheduler) is running|died|queue does not answer|start --roles/)
  expect((await status([], { DIRSYNC_LANG: 'zh-CN' })).stdout).toContain('dirsync 数据库为只读')
  const { rows } = await own.pool.query('select heartbeat_at from dirsync.process')
  expect((await status(['--json'])).json()).toMatchObject({
    read_only_since: rows[0].heartbeat_at.toISOString(),
    processes: [{ host: 'h' }],
  })
})

/** Lets a database's address name a user without any rights. */
async function withoutRights(url: string): Promise<string> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await deployment.own.pool.query(`create role ${name} login password 'secret'`)
  onTestFinished(async () => void (await deployment.own.pool.query(`drop role ${name}`)))
  return Object.assign(new URL(url), { username: name, password: 'secret' }).href
}

test('a user who may do nothing in dirsync’s database is told apart from one that is away, and the rest is checked', async () => {
  const settings = { DATABASE_URL: await withoutRights(deployment.own.url) }
  const { failed, findings } = await examine(settings)
  const what = "dirsync's own database permits its user too little: permission denied for schema dirsync"
  const remedy = 'Let DATABASE_URL name the user who owns the schema dirsync, or the database.'
  expect(failed.filter(({ check }) => check !== 'queue')).toEqual([
    { check: 'schema', status: 'failed', what, remedy },
  ])
  expect(findings).toContainEqual(expect.objectContaining({ check: 'mapping', status: 'ok' }))
  for (const command of ['status', 'migrate'])
    expect(await dirsync([command], { ...deployment.settings, ...settings })).toMatchObject({
      code: 1,
      stdout: '',
      stderr: `dirsync: ${what}. ${remedy}\n`,
    })
})

test('an HR user who lacks rights is helped to them', async () => {
  const { failed } = await examine({ HR_DATABASE_URL: await withoutRights(deployment.hr.url) })
  expect(failed).toEqual([
    {
      check: 'mapping',
      status: 'failed',
      what: expect.stringContaining('permission denied for schema hr (42501)'),
      remedy: 'Grant the HR user USAGE on the schema and SELECT on its tables.',
    },
  ])
})

test('a signature of another algorithm is found, with the one that the platform accepts', async () => {
  await using platform = await PlatformUnderTest.start({ signAlgorithm: 'sha512' })
  const settings = {
    PLATFORM_BASE_URL: platform.emulator.url,
    PLATFORM_APP_ID: APP_ID,
    PLATFORM_APP_SECRET: APP_SECRET,
  }
  const { code, failed } = await examine(settings)
  expect(code).toBe(1)
  expect(failed).toEqual([
    {
      check: 'credentials',
      status: 'failed',
      what: 'The platform does not accept signatures of sha256; it accepts sha512.',
      remedy: 'Set PLATFORM_SIGN_ALGORITHM to sha512.',
    },
  ])
  expect((await examine({ ...settings, PLATFORM_SIGN_ALGORITHM: 'sha512' })).code).toBe(0)
})

test('credentials that no algorithm helps cost two further tries, and the remedies have an order', async () => {
  await using platform = await PlatformUnderTest.start()
  const { failed } = await examine({ PLATFORM_BASE_URL: platform.emulator.url, PLATFORM_APP_ID: APP_ID })
  expect(failed).toEqual([
    {
      check: 'credentials',
      status: 'failed',
      what: expect.stringContaining('with sha256, sha1, sha512'),
      remedy: expect.stringMatching(/PLATFORM_SIGN_ALGORITHM.*PLATFORM_APP_ID.*PLATFORM_APP_SECRET.*clock/),
    },
  ])
  const { calls } = await platform.control('GET', 'calls')
  expect(calls.map(({ operation }: { operation: string }) => operation)).toEqual(
    Array(3).fill('token/create'),
  )
})

test('a mapping with an unknown column is found and named', async () => {
  const file = await mapping(
    'select staff_id as userid, given_name as first_name, given_name as name from hr.person',
  )
  const { failed } = await examine({ HR_EMPLOYEES_SQL: file, HR_DEPARTMENTS_SQL: '' })
  expect(failed).toMatchObject([
    { check: 'mapping', what: expect.stringContaining('unknown column "first_name"') },
  ])
})

test('a mapping of departments that HR refuses is found and named', async () => {
  const { failed } = await examine({
    HR_DEPARTMENTS_SQL: await mapping(
      "select gone as dept_code, null as parent_code, 't' as active from hr.person",
    ),
  })
  expect(failed).toMatchObject([
    { check: 'mapping', what: expect.stringContaining('column "gone" does not exist') },
  ])
})

test('a mapping that is not a single SELECT is found', async () => {
  const { failed } = await examine({ HR_EMPLOYEES_SQL: await mapping('delete from hr.person') })
  expect(failed).toMatchObject([{ check: 'mapping', remedy: expect.any(String) }])
})

test('missing settings are named', async () => {
  const examined = await dirsync(['doctor'], { DATABASE_URL: deployment.settings.DATABASE_URL as string })
  expect(examined.code).toBe(1)
  expect(examined.stdout).toMatch(/^FAIL +settings +missing settings: HR_DATABASE_URL, PLATFORM_BASE_URL/m)
})

test('a database without the schema is found', async () => {
  await using empty = await createTestDatabase()
  const { failed } = await examine({ DATABASE_URL: empty.url })
  expect(failed.find(({ check }) => check === 'schema')).toMatchObject({
    what: expect.stringContaining('0001_record.sql'),
    remedy: expect.stringContaining('dirsync migrate'),
  })
})

test('variables that look like settings are warned of, with what may be meant', async () => {
  const { code, findings } = await examine({
    PLATFORM_APPID: 'x',
    HR_TABLE: 'y',
    SCHEDULE_PRUEN: 'off',
    DATABSE_URL: 'z',
    DIRSYNC_ROLES: 'worker',
    // Of docker-compose.yml.
    DIRSYNC_WORKERS: '2',
    HOME: '/root',
  })
  // An unknown schedule is not only suspicious: no start accepts it.
  expect(code).toBe(1)
  const warned = findings.filter(({ check, status }) => check === 'settings' && status === 'warning')
  expect(warned).toMatchObject([
    { what: 'DATABSE_URL is not a setting of dirsync', remedy: 'Did you mean DATABASE_URL?' },
    { what: 'DIRSYNC_ROLES is not a setting of dirsync' },
    { what: 'HR_TABLE is not a setting of dirsync' },
    { what: 'PLATFORM_APPID is not a setting of dirsync', remedy: 'Did you mean PLATFORM_APP_ID?' },
    { what: 'SCHEDULE_PRUEN is not a setting of dirsync', remedy: 'Did you mean SCHEDULE_PRUNE?' },
  ])
})

test('a setting under its former name is warned of, with the name that it has now', async () => {
  const { findings } = await examine({
    SWEEP_INTERVAL_MINUTES: '30',
    TOO_FAST_CODES_FILE: '/run/secrets/codes',
    ALERT_OUT_OF_STEP: '90',
  })
  const warned = findings.filter(({ check, status }) => check === 'settings' && status === 'warning')
  expect(warned.map(({ what }) => what)).toEqual([
    'ALERT_OUT_OF_STEP has no effect: this setting is now called ALERT_OUT_OF_SYNC',
    'SWEEP_INTERVAL_MINUTES has no effect: this setting is now called HR_READ_ALL_MINUTES',
    'TOO_FAST_CODES_FILE has no effect: this setting is now called RATE_LIMITED_CODES',
  ])
})

test('an HR user that may write is warned of', async () => {
  const { findings } = await examine({})
  expect(findings).toContainEqual({
    check: 'hr',
    status: 'warning',
    what: expect.stringMatching(/may write to tables \(\d+\)/),
    remedy: expect.stringContaining('SELECT'),
  })
})

test('a Redis that may drop the queue is found', { tags: 'redis' }, async () => {
  await using redis = await startRedis()
  const { Redis } = await import('ioredis')
  const client = new Redis(redis.url)
  await client.config('SET', 'maxmemory-policy', 'allkeys-lru')
  client.disconnect()
  const { failed } = await examine({ REDIS_URL: redis.url })
  expect(failed).toMatchObject([{ check: 'queue', what: expect.stringContaining('allkeys-lru') }])

  await using own = await createTestDatabase({ migrated: true })
  const settings = { ...deployment.settings, DATABASE_URL: own.url, REDIS_URL: redis.url }
  const migrated = await dirsync(['migrate'], settings)
  expect(migrated).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(
      /^dirsync: Redis drops .*allkeys-lru.*\n {2}→ set maxmemory-policy noeviction\n$/,
    ),
  })
  expect(migrated.stdout).not.toContain('ready')
  await using service = spawnDirsync(['start', '--roles', 'worker'], { env: settings })
  await service.waitForLine(/Redis drops parts of the queue.*allkeys-lru/)
})

test('migrate calls no queue ready that Redis cannot add to', { tags: 'redis' }, async () => {
  await using redis = await startRedis()
  const { Redis } = await import('ioredis')
  const client = new Redis(redis.url)
  await client.config('SET', 'maxmemory', '1')
  client.disconnect()
  const migrated = await dirsync(['migrate'], { ...deployment.settings, REDIS_URL: redis.url })
  expect(migrated).toMatchObject({
    code: 0,
    stderr: expect.stringMatching(/^dirsync: Redis refuses writes: OOM.*\n {2}→ /),
  })
  expect(migrated.stdout).not.toContain('ready')
})

test('status says at its top that the queue does not answer, in the connection’s words', async () => {
  await using own = await createTestDatabase({ migrated: true })
  const { PLATFORM_BASE_URL: baseUrl = '', PLATFORM_APP_ID: appId = '' } = deployment.settings
  await claimDeployment(own.pool, { baseUrl, appId, enterpriseCode: '' })
  const settings = { ...deployment.settings, DATABASE_URL: own.url, REDIS_URL: 'redis://127.0.0.1:1' }
  const { stdout } = await dirsync(['status'], settings)
  const [top = ''] = stdout.split('In sync')
  expect(top).toContain('Redis does not answer: connect ECONNREFUSED 127.0.0.1:1')
})

test('a halt is found, with its remedy', async () => {
  await deployment.own.pool.query(
    `insert into dirsync.halt (scope, category, message, remedy) values ('*', 'credentials', '{"key": "said.words", "values": {"words": "Nothing works."}}', '{"key": "said.words", "values": {"words": "Mend it."}}')`,
  )
  const { failed } = await examine({})
  expect(failed).toEqual([
    { check: 'halt', status: 'failed', what: 'Everything is halted: Nothing works.', remedy: 'Mend it.' },
  ])
})

test('a pause is a warning, and the enterprise without a code is called so', async () => {
  const { pool } = deployment.own
  await pool.query(`select dirsync.pause('maintenance')`)
  const paused = await examine({})
  expect(paused.failed).toEqual([])
  expect(paused.findings).toContainEqual({
    check: 'halt',
    status: 'warning',
    what: expect.stringMatching(/^All calls are paused \(.*: maintenance\)$/),
    remedy: expect.stringContaining('dirsync resume'),
  })
  await pool.query(`
    delete from dirsync.halt;
    insert into dirsync.halt (scope, category, message, remedy)
      select '', 'enterprise_code', words, words from (select '{"key": "said.hr_away"}'::jsonb as words) x`)
  const { findings } = await examine({})
  expect(findings).toContainEqual(
    expect.objectContaining({
      check: 'halt',
      what: expect.stringMatching(/^The enterprise without a code is halted: /),
    }),
  )
  await pool.query('delete from dirsync.halt')
})

test('processes that read HR at different addresses are named, and those that read it at one are not', async () => {
  await using other = await createTestDatabase()
  await loadSampleHr(other.url)
  const { HR_DATABASE_URL: usual = '' } = deployment.settings
  await using stack = new AsyncDisposableStack()
  const start = (HR_DATABASE_URL: string) => {
    const env = { ...deployment.settings, HR_DATABASE_URL }
    return stack.use(spawnDirsync(['start', '--roles', 'worker'], { env })).pid
  }
  const alive = (count: number) =>
    until(async () => {
      const { rows } = await deployment.own.pool.query('select from dirsync.process')
      return rows.length === count
    })
  const told = async () =>
    (await examine({})).findings.filter(({ check, what }) => check === 'processes' && what.startsWith('HR'))
  start(usual)
  start(usual)
  await alive(2)
  expect(await told()).toEqual([])
  const pid = start(other.url)
  await alive(3)
  const { host, pathname } = new URL(other.url)
  expect((await told()).map(({ status, what }) => [status, what])).toEqual(
    expect.arrayContaining([
      ['warning', expect.stringMatching(`^HR is read at ${host}${pathname} by process .* \\(${pid}\\), `)],
      [
        'warning',
        expect.stringMatching(/^HR is read at .* by process .* \(\d+\), .* \(\d+\), and elsewhere/),
      ],
    ]),
  )
})

test('a look-up that reads all of HR is told with the index to make, here and by hr check', async () => {
  await using hr = await createTestDatabase()
  await hr.pool.query(`create table staff (id text, name text);
    insert into staff select n, 'n' from generate_series(1, 6000) n; analyze staff`)
  const settings = {
    HR_DATABASE_URL: hr.url,
    HR_EMPLOYEES_SQL: await mapping('select id as userid, name from staff'),
    HR_DEPARTMENTS_SQL: '',
  }
  const { findings } = await examine(settings)
  expect(findings).toContainEqual({
    check: 'mapping',
    status: 'warning',
    what: 'every look-up of an employee reads all of staff, about 6,000 rows',
    remedy: 'Have an index made in HR: create index on staff (id).',
  })
  const [english, chinese] = await Promise.all(
    ['en', 'zh_CN.UTF-8'].map(language => dirsync(['hr', 'check'], { ...settings, DIRSYNC_LANG: language })),
  )
  // Lines are broken where the terminal ends.
  const unbroken = (text = '') => text.replaceAll(/\s/g, '')
  expect(unbroken(english?.stdout)).toContain(
    unbroken('Look-ups every look-up of an employee reads all of staff, about 6,000 rows Have an index made'),
  )
  expect(unbroken(english?.stdout)).toContain('inHR:createindexonstaff(id).')
  expect(unbroken(chinese?.stdout)).toContain('查询单个员工每次查询一名员工都会读取staff的全部约6,000行')
  expect(unbroken(chinese?.stdout)).toContain('请在人事数据库中建立索引：createindexonstaff(id)。')
})
