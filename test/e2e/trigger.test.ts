import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, inject, test } from 'vitest'
import { dirsync } from '../cli/dirsync.ts'
import { createCompany, until } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { type DirsyncProcess, spawnDirsync } from '../helpers/process.ts'

const company = duringFile(() =>
  createCompany({
    employees: 40,
    // The cron job would find the changes too.
    settings: { SCHEDULE_SYNC_CHANGES: 'off', BREAKER_EMPLOYEES: '3', LOG_LEVEL: 'info' },
  }),
)
const services: DirsyncProcess[] = []

afterAll(async () => {
  await Promise.all(services.map(service => service.kill()))
})

const rename = (name: string, where: string) =>
  company.hr.query(`update person set name = $1 where ${where}`, [name])
const nameOf = async (userid: string) => (await company.onPlatform()).get(userid)?.name
/** Runs that the trigger asked for, once all of them have come to an end. */
const runs = (count: number) =>
  until(async () => {
    const { rows } = await company.db.query(
      `select keys, state from dirsync.sync_run where requested_by = 'trigger' order by id`,
    )
    return rows.length >= count && rows.every(run => run.state === 'done' || run.state === 'held') && rows
  })

test('the statements are printed, and nothing is changed', async () => {
  const { code, stdout } = await dirsync(['hr', 'install-trigger', '--print'], company.settings)
  expect(code).toBe(0)
  expect(stdout).toMatch(/^begin read write;\nset local lock_timeout = '5s';\n/)
  expect(stdout).toContain(`execute function "public".dirsync_hr_changed('userid');`)
  const { rowCount } = await company.hr.query(`select from pg_trigger where not tgisinternal`)
  expect(rowCount).toBe(0)
})

test('a server of another kind does not support it', async () => {
  const { code, stderr } = await dirsync(
    ['hr', 'install-trigger', '--url', 'mysql://owner@hr.example/hr'],
    company.settings,
  )
  expect(code).toBe(2)
  expect(stderr).toContain('only a PostgreSQL HR can have the trigger')
})

test.each([
  ['a login that is refused', (url: URL) => Object.assign(url, { username: 'no_such_role' }), 'no_such_role'],
  [
    'a database that is not there',
    (url: URL) => Object.assign(url, { pathname: '/no_such_db' }),
    'no_such_db',
  ],
  ['a server that is down', (url: URL) => Object.assign(url, { port: '1' }), 'ECONNREFUSED'],
])('%s is said of --url where that is given, and else of the setting', async (_what, wrong, named) => {
  const url = wrong(new URL(company.settings.HR_DATABASE_URL ?? '')).href
  const given = await dirsync(['hr', 'install-trigger', '--url', url], company.settings)
  expect(given).toMatchObject({ code: 1, stdout: '' })
  expect(given.stderr).toMatch(
    new RegExp(`^dirsync: cannot connect to the database of --url: .*${named}.*Check user, password, host`),
  )
  expect(given.stderr).not.toMatch(/HR_DATABASE_URL|HR_SOURCES/)
  const set = await dirsync(['hr', 'install-trigger'], { ...company.settings, HR_DATABASE_URL: url })
  expect(set.stderr).toContain('HR_DATABASE_URL')
})

test('what is committed in HR is sent at once, by one run however many processes hear it', async () => {
  const installed = await dirsync(['hr', 'install-trigger', '--json'], company.settings)
  expect(installed.json().tables).toEqual([{ table: '"public"."person"', names: 'userid' }])
  for (const _ of [1, 2])
    services.push(spawnDirsync(['start', '--roles', 'scheduler,worker'], { env: company.settings }))
  await Promise.all(services.map(service => service.waitForLine(/Running\./)))
  expect(await runs(1)).toEqual([{ keys: [], state: 'done' }])
  const before = await company.calls()
  await rename('Renamed', `userid = 'e0003'`)
  await until(async () => (await nameOf('e0003')) === 'Renamed')
  expect(await runs(2)).toEqual([
    { keys: [], state: 'done' },
    { keys: ['e0003'], state: 'done' },
  ])
  // Either process may ask about the token meanwhile.
  const { 'employee/get': gets = 0, 'token/getTokenInfo': _, ...others } = before
  const { 'token/getTokenInfo': __, ...after } = await company.calls()
  expect(after).toEqual({ ...others, 'employee/get': gets + 1, 'employee/update': 1 })
})

test('the doctor tells that it is installed and heard', async () => {
  const { findings } = (await dirsync(['doctor', '--json'], company.settings)).json()
  expect(findings).toContainEqual({
    check: 'trigger',
    status: 'ok',
    what: 'public.person: a scheduler listens',
  })
})

test('the doctor tells of one that is switched off', async () => {
  await company.hr.query('alter table person disable trigger all')
  const { findings } = (await dirsync(['doctor', '--json'], company.settings)).json()
  await company.hr.query('alter table person enable trigger all')
  expect(findings).toContainEqual({
    check: 'trigger',
    status: 'warning',
    what: 'public.person: installed, but disabled in HR',
    remedy: 'Install it again: `dirsync hr install-trigger`',
  })
})

test('beside HR_SOURCES the doctor tells what to do with the settings of its file', async () => {
  const { HR_DATABASE_URL, HR_EMPLOYEES_SQL, HR_DEPARTMENTS_SQL, ...settings } = company.settings
  const file = join(mkdtempSync(join(inject('runFolder'), 'trigger-')), 'sources.json')
  const north = {
    ...{ name: 'north', enterprise_codes: [''], address: HR_DATABASE_URL },
    ...{ employees_sql: HR_EMPLOYEES_SQL, departments_sql: HR_DEPARTMENTS_SQL },
  }
  writeFileSync(file, JSON.stringify([north]))
  const named = { ...settings, HR_SOURCES: file }
  await company.hr.query('alter table person disable trigger all')
  const { findings } = (await dirsync(['doctor', '--json'], named)).json()
  await company.hr.query('alter table person enable trigger all')
  const remedies = findings.map(({ remedy }: { remedy?: string }) => remedy)
  expect(remedies).toContain('Install it again: `dirsync hr install-trigger --source north`')
  expect(remedies).toContain('Give address a user that may only SELECT.')
})

test('the doctor tells of one on a table that was replaced', async () => {
  await company.hr.query(
    'begin; alter table person rename to person_old; create table person as table person_old; commit',
  )
  const { findings } = (await dirsync(['doctor', '--json'], company.settings)).json()
  await company.hr.query('begin; drop table person; alter table person_old rename to person; commit')
  expect(findings).toContainEqual({
    check: 'trigger',
    status: 'warning',
    what: 'installed on public.person_old, which the mapping does not read, and not on public.person, which it reads: was a table replaced by a new one?',
    remedy: 'Install it again: `dirsync hr install-trigger`',
  })
})

test('a write that changes nothing makes no call', async () => {
  const before = await company.calls()
  await rename('Renamed', `userid = 'e0003'`)
  expect((await runs(3)).at(-1)).toEqual({ keys: ['e0003'], state: 'done' })
  expect(await company.calls()).toEqual(before)
})

test('a process that listened and died is followed by another, which reads what was missed', async () => {
  const listener = services.find(one => `${one.stdout}${one.stderr}`.includes('trigger is heard'))
  const other = services.find(one => one !== listener)
  if (!listener || !other) throw new Error('No process said that it hears the trigger.')
  // The other process is stopped meanwhile, so the change is not heard.
  process.kill(other.pid, 'SIGSTOP')
  await listener.kill('SIGKILL')
  await rename('Meanwhile', `userid = 'e0004'`)
  process.kill(other.pid, 'SIGCONT')
  await until(async () => (await nameOf('e0004')) === 'Meanwhile')
  expect((await runs(4)).at(-1)).toEqual({ keys: [], state: 'done' })
})

test('many small changes are held like one large one', async () => {
  for (let i = 10; i < 20; i++) await rename('Somebody else', `userid = 'e00${i}'`)
  const held = await until(async () => (await runs(4)).find(run => run.state === 'held') ?? null)
  expect(held).toEqual({ keys: [], state: 'held' })
})

test('removed, it leaves nothing behind', async () => {
  const { code, stdout } = await dirsync(['hr', 'remove-trigger'], company.settings)
  expect({ code, stdout }).toEqual({ code: 0, stdout: 'Removed from 1 table.\n' })
  const { rows } = await company.hr.query(
    `select (select count(*) from pg_trigger where not tgisinternal)::int + (select count(*) from pg_proc where proname ~ 'dirsync')::int as left`,
  )
  expect(rows).toEqual([{ left: 0 }])
})
