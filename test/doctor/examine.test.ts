import { randomUUID } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { loadConfig } from '../../src/config.ts'
import { queueAddress, secretPrint } from '../../src/connections.ts'
import { examine } from '../../src/doctor/examine.ts'
import { CheckResult } from '../../src/doctor/finding.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { heartbeat, type Role } from '../../src/sync/processes/process.ts'
import { dirsync } from '../cli/dirsync.ts'
import { openApp, signInAs } from '../console/console-under-test.ts'
import { until } from '../helpers/company.ts'
import { createDeployment, type Deployment } from '../helpers/deployment.ts'
import { createMariadbDatabase, startMariadb } from '../helpers/mariadb.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const logger = createLogger({ level: 'silent', pretty: false })

async function findingsOf(settings: Record<string, string>): Promise<z.input<typeof CheckResult>[]> {
  const findings: z.input<typeof CheckResult>[] = []
  const examined = examine({ config: loadConfig(settings), env: settings, program: 'dirsync', logger })
  for await (const finding of examined) findings.push(z.encode(CheckResult, finding))
  return findings
}

test('a process that holds its settings examines itself, finding by finding', async () => {
  await using deployment = await createDeployment()
  const findings = await findingsOf({ ...deployment.settings, PLATFORM_RATE_LIMT: '5' })
  // Nothing was ever started, so the queue has no tables yet.
  expect(findings.filter(({ status }) => status === 'failed').map(({ check }) => check)).toEqual(['queue'])
  expect(findings[0]).toMatchObject({ check: 'settings', what: 'complete' })
  expect(findings).toContainEqual(
    expect.objectContaining({ status: 'warning', remedy: 'Did you mean PLATFORM_RATE_LIMIT?' }),
  )
  // The tests' own server has no other role.
  expect(findings).toContainEqual(expect.objectContaining({ status: 'warning', check: 'owner' }))
  expect(findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining(['schedules', 'database', 'queue', 'hr', 'mapping', 'platform', 'credentials']),
  )
})

test('the address that refunds name is told without its parameters, and whether a notification came', async () => {
  await using deployment = await createDeployment({ migrated: true })
  const told = async (NOTIFICATION_URL: string) =>
    (
      await findingsOf({
        ...deployment.settings,
        // Not asked: its name does not resolve.
        PLATFORM_BASE_URL: 'http://platform.invalid',
        NOTIFICATION_URL,
      })
    )
      .filter(({ check }) => check === 'notifications')
      .map(({ status, what, remedy }) => [status, what, remedy])
  const address = 'https://hr.example.com/notifications/refund'
  const never = `refunds name ${address}; no notification has come yet`
  expect(await told(`${address}?token=secret`)).toEqual([['ok', never, undefined]])
  expect(await told('http://localhost:1/x?token=secret')).toEqual([
    [
      'warning',
      expect.stringContaining('http://localhost:1/x;'),
      expect.stringMatching(/^Only this machine/),
    ],
    [
      'warning',
      expect.anything(),
      expect.stringMatching(/^The receiver takes \/notifications\/refund alone/),
    ],
  ])
  await deployment.own.pool.query(
    `insert into dirsync.refund
       (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at, settled_at)
     values ('r1', 'o1', 1, 'accepted', 'ann', now() - interval '25 hours', now() - interval '25 hours')`,
  )
  expect(await told(address)).toEqual([
    ['warning', never, expect.stringContaining('have none. If they were sent with this address, ')],
  ])
  await deployment.own.pool.query(`update dirsync.refund set state = 'notified', notified_at = now()`)
  const latest = expect.stringContaining('latest notification came')
  expect(await told(address)).toEqual([['ok', latest, undefined]])
  // None has come for those that were sent since.
  await deployment.own.pool.query(
    `update dirsync.refund set notified_at = now() - interval '3 days';
     insert into dirsync.refund
       (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at, settled_at)
     values ('r2', 'o2', 1, 'accepted', 'ann', now() - interval '2 days', now() - interval '2 days')`,
  )
  expect(await told(address)).toEqual([['warning', latest, expect.stringContaining('have none')]])
  await deployment.own.pool.query(`update dirsync.refund set sent_at = now() - interval '4 days'`)
  expect(await told(address)).toEqual([['ok', latest, undefined]])
})

test('a clock that the platform still tolerates is warned of, and one that it does not has failed', async () => {
  await using deployment = await createDeployment()
  const clockAt = async (offsetSeconds: number) => {
    await fetch(`${deployment.emulator.url}/_emulator/clock`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ offsetSeconds }),
    })
    return (await findingsOf(deployment.settings)).find(({ check }) => check === 'clock')
  }
  expect(await clockAt(10)).toMatchObject({ status: 'ok' })
  expect(await clockAt(40)).toMatchObject({ status: 'warning', remedy: expect.stringContaining('NTP') })
  expect(await clockAt(-290)).toMatchObject({ status: 'warning' })
  expect(await clockAt(320)).toMatchObject({ status: 'failed', remedy: expect.stringContaining('NTP') })
})

test('processes whose queues are in different places are named', async () => {
  await using deployment = await createDeployment({ migrated: true })
  const beat = (pid: number, role: Role, redisUrl: string | null) =>
    heartbeat(deployment.own.pool, {
      ...{ id: randomUUID(), host: 'host', pid, roles: [role], version: '1', pacer: null },
      queueAddress: queueAddress({ REDIS_URL: redisUrl }),
    })
  const told = async () =>
    (await findingsOf(deployment.settings))
      .filter(({ check }) => check === 'processes')
      .map(({ status, what }) => `${status} ${what}`)
  await beat(1, 'scheduler', 'redis://anna:s%40cret@cache:6379/2?family=0')
  await beat(2, 'worker', 'redis://CACHE/2')
  // The console asks no queue.
  await beat(3, 'console', null)
  expect(await told()).toEqual(['ok running: 1 scheduler; 1 worker; 1 console'])
  await beat(4, 'worker', null)
  expect(await told()).toEqual([
    'ok running: 1 scheduler; 2 worker; 1 console',
    'warning process host (4) has the queue in PostgreSQL, and others have it elsewhere',
    'warning process host (1), host (2) has the queue in Redis cache:6379/2, and others have it elsewhere',
  ])
})

test('that processes do not fit together is said alike by doctor, page and status', async () => {
  await using deployment = await createDeployment({ migrated: true })
  const { pool } = deployment.own
  const beat = (pid: number, version: string, redisUrl: string | null, owner: string) =>
    heartbeat(pool, {
      ...{ id: randomUUID(), host: 'host', pid, roles: ['worker', 'scheduler'], version, pacer: null },
      queueAddress: queueAddress({ REDIS_URL: redisUrl }),
      secretPrint: secretPrint({
        ...{ PLATFORM_APP_ID: 'app', PLATFORM_SIGN_ALGORITHM: 'sha256' as const },
        PLATFORM_APP_SECRET: `secret of ${version}`,
      }),
      hrOwners: { E1: owner },
    })
  await pool.query(`
    insert into dirsync.hr_source (name, position, kind, address, enterprise_codes)
    values ('new', 0, 'postgres', 'hr', '{E1}')`)
  await beat(1, '1.0.0', 'redis://cache/2', 'old')
  await beat(2, '1.1.0', null, 'new')
  const queues = 'and others have it elsewhere'
  const all = [
    'these processes have other HR sources than the process started last: host (1)',
    'processes of different versions are running: 1.0.0, 1.1.0',
    'process host (1) has another PLATFORM_APP_SECRET, or PLATFORM_SIGN_ALGORITHM, than others',
    'process host (2) has another PLATFORM_APP_SECRET, or PLATFORM_SIGN_ALGORITHM, than others',
    `process host (2) has the queue in PostgreSQL, ${queues}`,
    `process host (1) has the queue in Redis cache:6379/2, ${queues}`,
  ]
  const doctor = (await findingsOf(deployment.settings)).filter(({ check }) => check === 'processes')
  expect(doctor.slice(1).map(({ what }) => what)).toEqual(all)
  const { stdout } = await dirsync(['status'], deployment.settings)
  for (const what of all) expect(stdout.replaceAll(/\s+/g, ' ')).toContain(what.slice(1))
  await using console = await openApp(deployment.own.url)
  const cookie = await signInAs(console, 'viewer')
  const { body } = await console.app.inject({ url: '/halts', headers: { cookie } })
  for (const what of all) expect(body).toContain(what.slice(1))
})

test('of the times in HR, the newest against the clock, and those that tell nothing', async () => {
  await using deployment = await createDeployment()
  await deployment.hr.pool.query(`
    create table staff (id text primary key, name text, changed timestamptz);
    insert into staff values ('a', 'A', now() - interval '7 minutes'), ('b', 'B', now() - interval '9 hours'),
      ('c', 'C', '2099-01-01'), ('d', 'D', null), ('e', 'E', null)`)
  const mapping = join(await temporaryFolder(), 'employees.sql')
  await writeFile(mapping, 'select id as userid, name, changed as updated_at from staff')
  const settings = { ...deployment.settings, HR_EMPLOYEES_SQL: mapping, HR_DEPARTMENTS_SQL: '' }
  const about = async () =>
    (await findingsOf(settings))
      .filter(
        ({ check, what }) => check === 'mapping' && what.includes('updated_at') && !what.startsWith(mapping),
      )
      .map(({ status, what }) => `${status} ${what}`)
  expect(await about()).toEqual([
    'ok the newest updated_at is 7 min ago',
    'warning rows with an updated_at in the future: 1; every run reads them',
    'warning rows without updated_at: 2; every run reads them',
  ])
  await deployment.hr.pool.query(`update staff set changed = now() - interval '2 days'`)
  expect(await about()).toEqual(['ok no updated_at is of the last day'])
})

/** Sources that read one HR database, with nothing else to say of it than about its triggers. */
async function sharedHr(deployment: Deployment, schema: string, mappings: Record<string, string>) {
  const {
    HR_DATABASE_URL: address,
    HR_EMPLOYEES_SQL: _,
    HR_DEPARTMENTS_SQL: __,
    ...rest
  } = deployment.settings
  await deployment.hr.pool.query(schema)
  const folder = await temporaryFolder()
  const file = join(folder, 'sources.json')
  const sources = Object.keys(mappings).map(name => ({
    ...{ name, address, employees_sql: `${name}.sql`, enterprise_codes: [name] },
  }))
  await writeFile(file, JSON.stringify(sources))
  for (const [name, sql] of Object.entries(mappings)) await writeFile(join(folder, `${name}.sql`), sql)
  const settings = { ...rest, HR_SOURCES: file, PLATFORM_BASE_URL: 'http://platform.invalid' }
  const run = (command: string, source: string, ...more: string[]) =>
    dirsync(['hr', `${command}-trigger`, '--source', source, ...more], settings)
  return {
    folder,
    install: (source: string, ...more: string[]) => run('install', source, ...more),
    remove: (source: string, ...more: string[]) => run('remove', source, ...more),
    about: async () =>
      (await findingsOf(settings))
        .filter(({ check }) => check.startsWith('trigger'))
        .map(({ check, what }) => `${check}: ${what}`),
    /** Does what the first finding about the trigger advises. */
    follow: async () => {
      const { remedy = '' } =
        (await findingsOf(settings)).find(({ check }) => check.startsWith('trigger')) ?? {}
      const [, words = ''] = /^Install it again: `dirsync (.*)`$/.exec(remedy) ?? []
      return dirsync(words.split(' '), settings)
    },
    triggered: async () => {
      const { rows } = await deployment.hr.pool.query(
        `select distinct tgrelid::regclass::text as name from pg_trigger where tgname ~ '^dirsync' order by 1`,
      )
      return rows.map(({ name }) => name)
    },
  }
}

const keptOn = (...tables: string[]) =>
  `Kept on ${tables.map(table => `public.${table}`).join(', ')}, which other HR sources read, or may read. To remove it there too, name it with --table.`

test('of the triggers in a database of several sources, each only of its own tables', async () => {
  await using deployment = await createDeployment()
  const { install, remove, about } = await sharedHr(
    deployment,
    'create table sh (userid text, name text); create table bj as table sh',
    { sh: 'select userid, name from sh', bj: 'select userid, name from bj' },
  )
  const shanghai = 'trigger sh: public.sh: installed, but no process listens'
  expect(await install('sh')).toMatchObject({ code: 0 })
  expect(await about()).toEqual([shanghai, expect.stringMatching(/^trigger bj: not installed/)])
  expect(await install('bj')).toMatchObject({ code: 0 })
  expect(await about()).toEqual([shanghai, 'trigger bj: public.bj: installed, but no process listens'])
  expect(await remove('bj')).toMatchObject({ code: 0, stdout: `Removed from 1 table.\n${keptOn('sh')}\n` })
  expect(await remove('bj')).toMatchObject({ code: 0, stdout: `${keptOn('sh')}\n` })
  expect(await about()).toEqual([shanghai, expect.stringMatching(/^trigger bj: not installed/)])
})

test('a trigger on a table behind a view of another source is left alone, also where none is told of it', async () => {
  await using deployment = await createDeployment()
  const { folder, install, remove, about, triggered } = await sharedHr(
    deployment,
    `create table person (userid text, name text); create table bj as table person;
     create materialized view sh as table person`,
    { sh: 'select userid, name from sh', bj: 'select userid, name from bj' },
  )
  const none = expect.stringMatching(/^trigger bj: not installed/)
  expect(await install('sh', '--table', 'person')).toMatchObject({ code: 0 })
  expect(await about()).toEqual(['trigger sh: public.person: installed, but no process listens', none])
  expect(await install('bj')).toMatchObject({ code: 0 })
  expect(await triggered()).toEqual(['bj', 'person'])
  expect(await remove('bj')).toMatchObject({ stdout: `Removed from 1 table.\n${keptOn('person')}\n` })
  expect(await install('bj')).toMatchObject({ code: 0 })
  // Whoever cannot tell its tables may read any.
  await writeFile(join(folder, 'sh.sql'), 'select nope from sh')
  expect(await remove('bj')).toMatchObject({ stdout: `${keptOn('bj', 'person')}\n` })
  expect(await remove('bj', '--table', 'bj')).toMatchObject({ stdout: 'Removed from 1 table.\n' })
  expect((await about()).at(-1)).toEqual(none)
  expect(await remove('sh')).toMatchObject({ stdout: 'Removed from 1 table.\n' })
})

test('a trigger on a table that two sources read is removed where it is named, and else said to be kept', async () => {
  await using deployment = await createDeployment()
  const { folder, install, remove, triggered } = await sharedHr(
    deployment,
    'create table person (userid text, name text)',
    { sh: 'select userid, name from person', bj: 'select userid, name from person' },
  )
  await install('sh')
  await writeFile(join(folder, 'bj.sql'), 'select nope from person')
  expect((await remove('sh')).stdout).toBe(`${keptOn('person')}\n`)
  await writeFile(join(folder, 'bj.sql'), 'select userid, name from person')
  for (const source of ['sh', 'bj']) expect((await remove(source)).stdout).toBe(`${keptOn('person')}\n`)
  expect((await remove('sh', '--print')).stdout).toMatch(`-- ${keptOn('person')}\nbegin`)
  expect((await remove('sh', '--json')).json()).toMatchObject({ tables: [], kept: ['"public"."person"'] })
  expect(await remove('sh', '--table', 'persons')).toMatchObject({ code: 2 })
  expect(await triggered()).toEqual(['person'])
  expect((await remove('sh', '--table', 'person')).stdout).toBe('Removed from 1 table.\n')
  expect(await triggered()).toEqual([])
})

test('a table is named as the shell and --table take it', async () => {
  await using deployment = await createDeployment()
  const { install, remove, about } = await sharedHr(
    deployment,
    `create table "Staff's list" (userid text, name text); create table 人员 (userid text, name text)`,
    {
      sh: `select userid, name from "Staff's list"`,
      bj: `select userid, name from "Staff's list" union all select userid, name from 人员`,
    },
  )
  await install('bj')
  const staff = `'public."Staff'\\''s list"'`
  expect(await about()).toEqual([
    `trigger sh: ${staff}: installed, but no process listens`,
    `trigger bj: ${staff}, public.人员: installed, but no process listens`,
  ])
  expect((await remove('sh')).stdout).toMatch(`Kept on ${staff}, public.人员, which`)
  expect(await remove('sh', '--table', `public."Staff's list"`, 'public.人员')).toMatchObject({
    stdout: 'Removed from 2 tables.\n',
  })
})

test('installing for one source leaves what another one has named', async () => {
  await using deployment = await createDeployment()
  const { install, triggered } = await sharedHr(
    deployment,
    'create table feed (userid text, name text); create table sh as table feed; create table bj as table feed',
    { sh: 'select userid, name from sh', bj: 'select userid, name from bj' },
  )
  await install('sh', '--table', 'feed')
  await install('bj')
  expect(await triggered()).toEqual(['bj', 'feed'])
})

test('installing again removes a disabled trigger from a table that no source reads any more', async () => {
  await using deployment = await createDeployment()
  const { install, about, triggered } = await sharedHr(
    deployment,
    'create table sh (userid text, name text); create table bj as table sh',
    { sh: 'select userid, name from sh', bj: 'select userid, name from bj' },
  )
  await install('bj')
  await deployment.hr.pool.query(`
    alter table bj rename to bj_old; create table bj as table bj_old; alter table bj_old disable trigger all`)
  const disabled = 'public.bj_old: installed, but disabled in HR'
  expect(await about()).toEqual([`trigger sh: ${disabled}`, `trigger bj: ${disabled}`])
  expect(await install('sh')).toMatchObject({ code: 0 })
  expect(await triggered()).toEqual(['sh'])
})

test.each([
  { beside: { bj: 'select userid, name from other' }, named: 'bj' },
  { beside: {}, named: 'sh' },
])(
  'what the doctor advises mends a trigger on a table behind a view, also beside %j',
  async ({ beside, named }) => {
    await using deployment = await createDeployment()
    const { install, about, follow, triggered } = await sharedHr(
      deployment,
      `create table person (userid text, name text); create table feed as table person;
     create materialized view sh as table person; create materialized view other as table person`,
      { sh: 'select userid, name from sh', ...beside },
    )
    await install(named, '--table', 'person', 'feed')
    await deployment.hr.pool.query('alter table person disable trigger all')
    expect((await about())[0]).toBe('trigger sh: public.person: installed, but disabled in HR')
    expect(await follow()).toMatchObject({ code: 0 })
    expect((await about())[0]).toBe(
      'trigger sh: public.feed, public.person: installed, but no process listens',
    )
    expect(await triggered()).toEqual(['feed', 'person'])
  },
)

test('of HR in MySQL, what its sessions are, what its user may, and how changes are found', {
  tags: 'mariadb',
}, async () => {
  await using deployment = await createDeployment()
  await using server = await startMariadb(['--sql-mode=ANSI_QUOTES', '--default-time-zone=-05:00'])
  await using database = await createMariadbDatabase(server)
  await database.admin.query('create table person (id int, name text, changed datetime)')
  const mapping = join(await temporaryFolder(), 'employees.sql')
  await writeFile(mapping, 'select id as userid, `name` from person')
  const settings = { ...deployment.settings, HR_DATABASE_URL: database.url, HR_EMPLOYEES_SQL: mapping }
  const about = async (more: Record<string, string>) =>
    (await findingsOf({ ...settings, HR_DEPARTMENTS_SQL: '', ...more }))
      .filter(({ check }) => ['hr', 'mapping', 'trigger'].includes(check))
      .map(({ status, check, what }) => `${status} ${check}: ${what.replaceAll(mapping, 'employees.sql')}`)
  expect(await about({})).toEqual([
    expect.stringMatching(/^ok hr: (?:MariaDB|MySQL) \d+\.\d+\.\d+ answers; sessions are read-only \(on\)$/),
    "ok hr: sessions: time zone +08:00 (the server's own is -05:00), utf8mb4, no sql_mode",
    "warning hr: the HR server's sql_mode has ANSI_QUOTES, which mappings are read without",
    'warning hr: the HR user may write to tables (1), though dirsync never does',
    'ok mapping: employees.sql: userid, name',
    'ok mapping: HR_DEPARTMENTS_SQL is not set: no department is ever deleted',
    'ok trigger: HR is not in PostgreSQL, which alone can have one: cron jobs find what HR changes, and at once with HR_POLL_SECONDS',
  ])
  expect((await about({ HR_POLL_SECONDS: '2' })).slice(-2)).toEqual([
    'warning mapping: HR_POLL_SECONDS is set, but updated_at is not mapped: newer rows are not looked for',
    'ok trigger: HR is not in PostgreSQL, which alone can have one: newer rows are looked for every 2 s',
  ])
})

test('of HR in files, what was delivered, and why the present content is not complete', async () => {
  await using deployment = await createDeployment()
  const folder = await temporaryFolder()
  const mapping = join(await temporaryFolder(), 'employees.sql')
  await writeFile(mapping, 'select id as userid, name from staff')
  await writeFile(join(folder, 'staff.csv'), 'id,name\n1,A\n')
  await writeFile(join(folder, 'staff.xls'), 'old')
  const settings = {
    ...deployment.settings,
    HR_DATABASE_URL: `files:${folder}`,
    HR_EMPLOYEES_SQL: mapping,
    HR_DEPARTMENTS_SQL: '',
    HR_FILES_COMPLETE: '0s',
    HR_FILES_KEEP: await temporaryFolder(),
    HR_POLL_SECONDS: '2',
  }
  const about = async () =>
    (await findingsOf(settings))
      .filter(({ check }) => ['hr', 'mapping', 'trigger'].includes(check))
      .map(({ status, check, what }) => `${status} ${check}: ${what.replaceAll(mapping, 'employees.sql')}`)
  const whole = [
    expect.stringMatching(/^ok hr: DuckDB \d+\.\d+\.\d+ answers; sessions are read-only \(a kept copy\)$/),
    'ok hr: the last complete delivery: staff.csv (1 row, UTF-8)',
  ]
  const rest = [
    'ok hr: not data, and not read: staff.xls',
    'ok mapping: employees.sql: userid, name',
    'ok mapping: HR_DEPARTMENTS_SQL is not set: no department is ever deleted',
    'ok trigger: HR is in files: a new delivery is looked for every 2 s',
  ]
  expect(await about()).toEqual([...whole, ...rest])
  await writeFile(join(folder, 'staff.csv'), 'id,name\n1')
  expect(await about()).toEqual([
    ...whole,
    'warning hr: the folder does not hold a complete delivery: the file staff.csv ends in the middle of its last line: let the export end it, or deliver with a marker',
    ...rest,
  ])
})

test('a platform that asked to wait is not called away', async () => {
  await using deployment = await createDeployment({ migrated: true })
  await deployment.own.pool.query(
    `insert into dirsync.pacer (gate, next_at, paused_until) values ('platform', now(), now() + interval '1 hour')`,
  )
  const found = await findingsOf(deployment.settings)
  expect(found.filter(({ check }) => check === 'platform' || check === 'credentials')).toEqual([
    {
      check: 'platform',
      status: 'warning',
      what: expect.stringMatching(/^The platform asked to wait until .*, so the call was not made\.$/),
    },
    {
      check: 'credentials',
      status: 'warning',
      what: 'not checked, because the platform wants no calls at present',
    },
  ])
})

test('a consumer may stop early: nothing stays open', async () => {
  await using deployment = await createDeployment()
  const { settings, own } = deployment
  for await (const { check } of examine({
    config: loadConfig(settings),
    env: settings,
    program: 'x',
    logger,
  }))
    if (check === 'account') break
  // The server needs a moment to end the process of a connection that was closed.
  await until(async () => {
    const { rowCount } = await own.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'dirsync doctor'`,
    )
    return rowCount === 0
  })
})
