// @module-tag mariadb

import { readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { dirsync } from '../cli/dirsync.ts'
import { startSilently, until } from '../helpers/company.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { freePort } from '../helpers/free-port.ts'
import { createGroup, EACH } from '../helpers/group.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'

test('one source is away: the other one goes on, with its own halt alone, until it is back', async () => {
  await using group = await createGroup({ ownServer: true })
  const { own, shanghai, beijing, server, settings } = group
  const once = await dirsync(['start', '--once', '--json'], settings)
  expect(once).toMatchObject({ code: 0 })
  expect(once.json()).toMatchObject({
    ok: true,
    employees: { in_scope: 2 * EACH, updated: 2 * EACH },
  })
  expect(new Set((await group.names()).values())).toEqual(
    new Set(Array.from({ length: EACH }, (_, i) => `Person ${i}`)),
  )

  await beijing.admin.query(`update person set name = 'Late' where userid = 'b1'`)
  const service = await startSilently(settings, ['scheduler', 'worker'])
  await using stack = new AsyncDisposableStack()
  stack.defer(() => service.stop())
  const halts = async () =>
    (
      await own.pool.query(
        `select scope, category, dirsync.in_language('en', message) as message from dirsync.halt order by scope`,
      )
    ).rows
  const resync = async () => (await own.pool.query('select dirsync.resync()')).rowCount

  // It goes away between the plan and the work: what waits for it is halted, and nothing else.
  await own.pool.query(`select dirsync.pause('until it is away')`)
  await resync()
  await until(async () => (await own.pool.query('select from dirsync.pending')).rowCount === 1)
  await server?.stop()
  await own.pool.query('select dirsync.resume()')
  const raised = await until(async () => {
    const rows = await halts()
    return rows.length > 0 && rows
  })
  expect(raised).toEqual([
    {
      scope: 'E2',
      category: 'hr_unavailable',
      message: expect.stringMatching(/^HR source beijing cannot be read: /),
    },
  ])
  await shanghai.pool.query(`update person set name = 'Changed' where userid = 's1'`)
  await resync()
  await until(async () => (await group.names()).get('E1/s1') === 'Changed')
  expect(await halts()).toHaveLength(1)
  const { rows: runs } = await own.pool.query(
    `select hr_source, state from dirsync.sync_run where kind = 'changes' order by id desc limit 2`,
  )
  await until(async () => {
    const { rows } = await own.pool.query(
      `select from dirsync.sync_run where hr_source = 'beijing' and state = 'failed'`,
    )
    return rows.length === 1
  })
  expect(runs.map(run => run.hr_source)).toEqual(['beijing', 'shanghai'])

  await server?.restart()
  await own.pool.query(`select dirsync.probe_now('E2')`)
  await until(async () => (await group.names()).get('E2/b1') === 'Late')
  await until(async () => (await halts()).length === 0)
})

test('what HR changes is sent at once from each, by a trigger here and by looking for newer rows there', async () => {
  await using group = await createGroup()
  const { shanghai, beijing, settings } = group
  const timed = 'alter table person add column updated_at timestamp not null default current_timestamp'
  await shanghai.pool.query(timed)
  await beijing.admin.query(`${timed} on update current_timestamp`)
  const folder = dirname(settings.HR_SOURCES ?? '')
  await writeFile(join(folder, 'employees.sql'), 'select userid, name, active, updated_at from person')
  const install = ['hr', 'install-trigger', '--source', 'shanghai']
  expect(await dirsync(install, settings)).toMatchObject({ code: 0 })
  const service = await startSilently(
    { ...settings, HR_POLL_SECONDS: '0.2', SCHEDULE_SYNC_CHANGES: 'off' },
    ['scheduler', 'worker'],
    true,
  )
  await using stack = new AsyncDisposableStack()
  stack.defer(() => service.stop())
  // Each begins with a plan of everything.
  await until(async () => (await group.names()).get('E1/s1') === 'Person 1')
  await until(async () => (await group.names()).get('E2/b1') === 'Person 1')
  await shanghai.pool.query(`update person set name = 'Heard' where userid = 's2'`)
  await beijing.admin.query(`update person set name = 'Seen' where userid = 'b2'`)
  await until(async () => (await group.names()).get('E1/s2') === 'Heard')
  await until(async () => (await group.names()).get('E2/b2') === 'Seen')
  const { rows } = await group.own.pool.query(
    `select distinct hr_source, requested_by as by from dirsync.sync_run
     where requested_by = case hr_source when 'shanghai' then 'trigger' else 'poller' end order by 1`,
  )
  expect(rows).toEqual([
    { hr_source: 'beijing', by: 'poller' },
    { hr_source: 'shanghai', by: 'trigger' },
  ])
})

test('one source takes connections and never answers: plans and work of the other one go on', async () => {
  await using group = await createGroup()
  const { own, shanghai, beijing, settings } = group
  await using proxy = await startTcpProxy(shanghai.url)
  const file = settings.HR_SOURCES ?? ''
  await writeFile(file, (await readFile(file, 'utf8')).replace(shanghai.url, proxy.url))
  await using stack = new AsyncDisposableStack()
  const service = await startSilently(settings, ['scheduler', 'worker'])
  stack.defer(() => service.stop())
  await own.pool.query('select dirsync.resync()')
  await until(async () => (await group.names()).get('E1/s1') === 'Person 1')
  await until(async () => (await group.names()).get('E2/b1') === 'Person 1')
  proxy.hang()
  await beijing.admin.query(`update person set name = 'Changed' where userid = 'b1'`)
  const { rows } = await own.pool.query('select dirsync.resync() as id')
  await until(async () => (await group.names()).get('E2/b1') === 'Changed')
  const { rows: hanging } = await own.pool.query(
    'select hr_source, state from dirsync.sync_run where id = $1',
    [rows[0].id],
  )
  expect(hanging).toEqual([{ hr_source: 'shanghai', state: 'planning' }])
  await proxy.refuse()
})

test('--once does what can be done, and ends with 1 where a source is away', async () => {
  await using group = await createGroup({ ownServer: true })
  await group.server?.stop()
  const once = await dirsync(['start', '--once', '--json'], group.settings)
  expect(once).toMatchObject({ code: 1 })
  const { ok, runs, employees, messages } = once.json()
  expect({ ok, full: runs.full.length }).toEqual({ ok: false, full: 2 })
  expect(employees).toMatchObject({ in_scope: EACH, updated: EACH })
  expect(messages[0]).toMatchObject({ message: expect.stringContaining('does not answer') })
  const names = await group.names()
  expect([names.get('E1/s1'), names.get('E2/b1')]).toEqual(['Person 1', 'Old'])
  // An employee who is unknown in the sources that answer may be in the other one.
  const looking = await dirsync(['employee', 'b9'], group.settings)
  expect(looking).toMatchObject({ code: 1 })
  expect(looking.stderr).toBe(
    'dirsync: dirsync knows no employee b9, and HR source beijing cannot be asked\n',
  )
})

test('--once tells what is wrong with each source', async () => {
  await using group = await createGroup()
  await group.beijing.admin.query('delete from person')
  await group.shanghai.pool.query('delete from person')
  const once = await dirsync(['start', '--once'], group.settings)
  expect(once).toMatchObject({ code: 1 })
  for (const [run, source] of ['shanghai', 'beijing'].entries())
    expect(once.stdout).toMatch(
      new RegExp(`HR source ${source} · Run ${run + 1}: source suspect\\n +HR delivered no rows at all`),
    )
})

test('a run whose source goes away in the middle of its work is no success', async () => {
  await using group = await createGroup()
  const { own, settings } = group
  await using proxy = await startTcpProxy(group.beijing.url)
  await writeFile(join(dirname(settings.HR_SOURCES ?? ''), 'beijing.url'), proxy.url)
  await using stack = new AsyncDisposableStack()
  const service = await startSilently(
    // One job after the other, and slowly.
    { ...settings, PLATFORM_RATE_LIMIT: '5', WORKER_CONCURRENCY: '1' },
    ['scheduler', 'worker'],
  )
  stack.defer(() => service.stop())
  const waiting = dirsync(['resync', '--source', 'beijing', '--wait'], settings)
  await until(async () => (await own.pool.query('select from dirsync.attempt')).rowCount === 1)
  await proxy.refuse()
  expect(await waiting).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/HR source beijing cannot be read: [\s\S]*Halted +[1-5]\n[\s\S]*→ /),
  })
  // What the platform keeps of another enterprise waits for no source of HR.
  await controlOf(group.emulator.url)('POST', 'faults', { operation: 'employee/get', code: 1000240002 })
  const other = await dirsync(['resync', '--employee', 'E1/s1', '--wait'], settings)
  expect(other).toMatchObject({ code: 0, stdout: expect.stringMatching(/Halted +1\n/) })
  expect(other.stdout).not.toContain('beijing')
})

test('--once fails where a halted enterprise of several has employees who were in sync before', async () => {
  await using group = await createGroup()
  const once = () => dirsync(['start', '--once'], group.settings)
  const code = 1_000_240_002
  const fault = { operation: 'employee/get', match: { enterprise_code: 'E2' }, code }
  expect(await once()).toMatchObject({ code: 0 })
  await controlOf(group.emulator.url)('POST', 'faults', fault)
  expect(await once()).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/did not reach its end[\s\S]+in sync +12 {2}last confirmed/),
  })
})

test('while the processes that run have other sources than the file, plan and resync say that they are to be restarted', async () => {
  await using group = await createGroup()
  const { settings } = group
  const file = settings.HR_SOURCES ?? ''
  await using stack = new AsyncDisposableStack()
  const service = await startSilently(settings, ['scheduler', 'worker'])
  stack.defer(() => service.stop())
  const sources: { name: string }[] = JSON.parse(await readFile(file, 'utf8'))
  const renamed = sources.map(one => (one.name === 'beijing' ? { ...one, name: 'guangzhou' } : one))
  await writeFile(file, JSON.stringify(renamed))
  const restart = /processes that run have other HR sources than this command/
  for (const name of ['guangzhou', 'beijing'])
    expect(await dirsync(['resync', '--source', name], settings)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(restart),
    })
  expect((await dirsync(['plan'], settings)).stderr).toMatch(restart)
  await writeFile(file, JSON.stringify(sources))
  expect((await dirsync(['plan'], settings)).stderr).not.toMatch(restart)
})

test('only processes that plan or send have to have the sources of the file', async () => {
  await using group = await createGroup()
  const settings: typeof group.settings = { ...group.settings, CONSOLE_PORT: '0' }
  const file = settings.HR_SOURCES ?? ''
  await (await startSilently(settings, ['scheduler', 'worker'])).stop()
  await using stack = new AsyncDisposableStack()
  const service = await startSilently(settings, ['console'])
  stack.defer(() => service.stop())
  const sources: { name: string }[] = JSON.parse(await readFile(file, 'utf8'))
  const renamed = sources.map(one => (one.name === 'beijing' ? { ...one, name: 'guangzhou' } : one))
  await writeFile(file, JSON.stringify(renamed))
  // It waits for one that is started.
  expect((await dirsync(['resync', '--source', 'shanghai'], settings)).code).toBe(0)
})

test('a wrong SELECT of one of several sources ends plan as a wrong setting', async () => {
  await using group = await createGroup()
  const { settings } = group
  const folder = dirname(settings.HR_SOURCES ?? '')
  const sources: object[] = JSON.parse(await readFile(settings.HR_SOURCES ?? '', 'utf8'))
  await writeFile(join(folder, 'wrong.sql'), 'select nope as userid from person')
  const wrong = sources.map(one => ('address_file' in one ? { ...one, employees_sql: 'wrong.sql' } : one))
  await writeFile(settings.HR_SOURCES ?? '', JSON.stringify(wrong))
  const planned = await dirsync(['plan'], settings)
  expect(planned).toMatchObject({ code: 2, stderr: '' })
  expect(planned.stdout).toMatch(/wrong\.sql[\s\S]*nope/)
  expect(await dirsync(['plan', '--source', 'beijing', '--json'], settings)).toMatchObject({ code: 2 })
  expect(await dirsync(['plan', '--source', 'shanghai'], settings)).toMatchObject({ code: 0 })
})

test('a mapping tried on one source is adopted by a run of that one, and who else has its file is told', async () => {
  await using group = await createGroup()
  const { settings } = group
  const file = join(dirname(settings.HR_SOURCES ?? ''), 'new.sql')
  await writeFile(file, "select userid, concat(name, '!') as name, active from person")
  const { stdout } = await dirsync(['plan', '--mapping', file, '--source', 'beijing'], settings)
  const words = stdout.replaceAll(/\s+/g, ' ')
  expect(words).toMatch(/put it into \S+employees\.sql\..* This file is the mapping of shanghai too, /)
  expect(stdout).toMatch(/ resync --source beijing\n/)
})

test('beside a process that still has the single HR, no one vanishes, and that process reports that it stands by', async () => {
  await using group = await createGroup()
  const { own, shanghai, settings } = group
  const { HR_SOURCES: file = '', ...platform } = settings
  const port = await freePort()
  const before = {
    ...platform,
    ...{ HR_DATABASE_URL: shanghai.url, HR_EMPLOYEES_SQL: join(dirname(file), 'employees.sql') },
    ...{
      PLATFORM_ENTERPRISE_CODE: 'E1',
      CONSOLE_PORT: String(port),
      CONSOLE_TOKEN: 'a-token-of-the-test-alone',
    },
    // It would plan all the time.
    ...{ SCHEDULE_SYNC_CHANGES: '* * * * * *', LOG_LEVEL: 'info' },
  }
  await using older = spawnDirsync(['start', '--roles', 'scheduler,worker,console'], { env: before })
  await until(async () => (await group.names()).get('E1/s1') === 'Person 1')
  await using newer = spawnDirsync(['start', '--roles', 'scheduler,worker'], {
    env: { ...settings, SCHEDULE_SYNC_CHANGES: '* * * * * *' },
  })
  await until(async () => (await group.names()).get('E2/b1') === 'Person 1')
  await older.waitForLine(/another process was started later with other HR sources/)
  await shanghai.pool.query(`update person set name = 'Changed' where userid = 's1'`)
  await until(async () => (await group.names()).get('E1/s1') === 'Changed')
  expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(503)
  const { processes } = (await dirsync(['status', '--json'], settings)).json()
  expect(processes).toMatchObject([
    { pid: older.pid, is_outdated: true },
    { pid: newer.pid, is_outdated: false },
  ])
  const { rows } = await own.pool.query(
    `select (select count(*)::int from dirsync.employee where vanished_at is not null) as vanished,
            (select count(*)::int from dirsync.sync_run where state = 'failed') as failed`,
  )
  expect(rows).toEqual([{ vanished: 0, failed: 0 }])
})
