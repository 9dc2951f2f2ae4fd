import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/output.ts'
import { dirsync } from '../cli/dirsync.ts'
import { atTerminal } from '../cli/terminal.ts'
import { createCompany, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

test('--once also sends what HR changes while it runs, after a plan has passed it', async () => {
  await using company = await createCompany({ employees: 60, settings: { PLATFORM_RATE_LIMIT: '40' } })
  const once = dirsync(['start', '--once', '--json'], company.settings)
  await until(async () => {
    const { rows } = await company.db.query('select count(*)::int as n from dirsync.attempt')
    return rows[0].n >= 5
  })
  await company.hr.query(`update person set name = 'Late' where userid >= 'e0050'`)
  const { code, json } = await once
  expect(code).toBe(0)
  expect(json().employees).toMatchObject({ in_scope: 60, waiting: 0 })
  const late = [...(await company.onPlatform()).values()].filter(({ name }) => name === 'Late')
  expect(late).toHaveLength(10)
})

test('--once fails while a run is held, also when the rest of its plan passes that by', async () => {
  const settings = { BREAKER_EMPLOYEES: '3', BREAKER_EMPLOYEES_PERCENT: '10' }
  await using company = await createCompany({ employees: 30, settings })
  const once = () => dirsync(['start', '--once', '--json'], company.settings)
  expect(await once()).toMatchObject({ code: 0 })
  await company.hr.query(`update person set name = 'Changed' where userid < 'e0012'`)
  const first = await once()
  expect(first).toMatchObject({ code: 1 })
  const [run] = first.json().runs.full
  expect(first.json().messages).toMatchObject([
    { run },
    { message: expect.stringContaining(`Run ${run} was held`) },
  ])
  await company.db.query('select dirsync.approve_part($1, $2)', [run, { key: 'e000' }])
  const second = await once()
  expect(second).toMatchObject({ code: 1 })
  expect(second.json()).toMatchObject({
    ok: false,
    employees: { updated: 10, held: 2 },
    messages: expect.arrayContaining([
      { run, message: expect.stringContaining('12 of 30 employees would change') },
    ]),
  })
  const read = await dirsync(['start', '--once'], company.settings)
  expect(read).toMatchObject({ code: 1 })
  expect(read.stdout).toMatch(new RegExp(`Run ${run}: held\n.*12 of 30 employees.*\n.*dirsync plan ${run}`))
})

test('--once tells of an employee in review what it has sent itself, not what could ever be sent', async () => {
  await using company = await createCompany({ employees: 5 })
  const once = async () => (await dirsync(['start', '--once'], company.settings)).stdout
  await once()
  await company.hr.query(`
    update person set name = 'Changed', mobile = (select mobile from person where userid = 'e0002')
    where userid = 'e0001'`)
  expect(await once()).toMatch(/partly updated +1 {2}all but the fields in review\n/)
  const again = await once()
  expect(again).toMatch(/dead lettered +1 {2}in review; nothing was sent this time\n/)
  expect(again).not.toContain('could be sent')
})

test('--once that was stopped by a suspect source claims of nobody that the platform was compared', async () => {
  await using company = await createCompany({ employees: 5 })
  const once = () => dirsync(['start', '--once'], company.settings)
  await once()
  await company.hr.query('delete from person')
  const { code, stdout } = await once()
  expect(code).toBe(1)
  expect(stdout).toMatch(/source suspect\n/)
  expect(stdout).toMatch(/in sync +5 {2}last confirmed, perhaps by an earlier sync\n/)
})

test('--once that a halt of an enterprise keeps from the platform neither calls itself done nor says what the platform had', async () => {
  await using company = await createCompany({ employees: 5 })
  const once = (...options: string[]) => dirsync(['start', '--once', ...options], company.settings)
  expect(await once()).toMatchObject({ code: 0 })
  await company.control('POST', 'faults', { operation: 'employee/get', code: 1_000_240_002 })
  const { code, stdout } = await once()
  expect(stdout).toMatch(/^The sync did not reach its end/m)
  expect(stdout).toMatch(/in sync +5 {2}last confirmed, perhaps by an earlier sync\n/)
  expect(code).toBe(1)
  const again = await once('--json')
  expect(again).toMatchObject({ code: 1 })
  expect(again.json()).toMatchObject({ ok: false, halts: [{ category: 'enterprise_code' }] })
})

test('--once that is not done because of a halt that is over by its end says so', async () => {
  await using company = await createCompany({ employees: 5 })
  const once = (...options: string[]) => dirsync(['start', '--once', ...options], company.settings)
  expect(await once()).toMatchObject({ code: 0 })
  await company.control('POST', 'faults', { operation: 'employee/get', code: 1_000_240_002 })
  // Over once the full run is done, with what it set aside still to be sent.
  await company.db.query(`
    create function end_halts() returns trigger language plpgsql as $$begin
      update dirsync.pending set not_before = now() + interval '1 hour';
      delete from dirsync.halt;
      return null;
    end$$;
    create trigger end_halts after insert on dirsync.sync_run
      for each row when (new.kind = 'departments') execute function end_halts()`)
  const { code, stdout } = await once()
  expect(stdout).toMatch(/^The sync did not reach its end.*\n\n {2}A halt that is over [^→]+\n {2}→ /m)
  expect(code).toBe(1)
  expect((await once('--json')).json()).toMatchObject({
    ok: false,
    halts: [],
    messages: [{ message: expect.stringContaining('A halt that is over'), remedy: expect.any(String) }],
  })
})

test('a trial whose output goes to a file logs no key to sign in with, and says with its summary in which zone times are', async () => {
  const cwd = await temporaryFolder()
  const env = { DIRSYNC_LANG: 'en' }
  await using trial = spawnDirsync(['start'], { cwd, env })
  await trial.waitForLine(/^Times are in/)
  const [line] = await trial.waitForLine(/"msg":"Console: .*/)
  expect(line).toContain('dirsync users link')
  expect(trial.stderr + trial.stdout).not.toContain('key=')
  await trial.kill('SIGTERM')
})

test('a resync that does its work itself in a trial says, when stopped, what the run waits for', async () => {
  const options = { cwd: await temporaryFolder(), env: { DIRSYNC_LANG: 'en' } }
  await using trial = spawnDirsync(['start', '--once'], options)
  expect(await trial.exited).toMatchObject({ code: 0 })
  await using resync = spawnDirsync(['resync', '--full', '--wait'], options)
  await resync.waitForLine(/run \d+ +\d+\/\d+/)
  expect(await resync.kill('SIGINT')).toMatchObject({ code: 1 })
  expect(resync.stderr).toMatch(/run \d+ waits, because no scheduler and no worker is running/)
  expect(resync.stderr).not.toContain('goes on without this command')
})

test('variables that look like settings are warned of, as doctor does', async () => {
  await using company = await createCompany({ employees: 5 })
  const env = { ...company.settings, HR_POL_SECONDS: '1', DIRSYNC_ROLES: 'worker' }
  const once = await dirsync(['start', '--once', '--json'], env)
  expect(once).toMatchObject({ code: 0 })
  const warned = once.stderr.split('\n').filter(line => line.includes('not a setting'))
  expect(warned.map(line => JSON.parse(line))).toMatchObject([
    {
      level: 40,
      msg: 'DIRSYNC_ROLES is not a setting of dirsync',
      remedy: 'Remove it, or correct its name.',
    },
    { level: 40, msg: 'HR_POL_SECONDS is not a setting of dirsync', remedy: 'Did you mean HR_POLL_SECONDS?' },
  ])
})

test('the summary is aligned in Chinese too', async () => {
  await using company = await createCompany({ employees: 5 })
  const env = { ...company.settings, DIRSYNC_LANG: 'zh-CN' }
  const { stdout } = await dirsync(['start', '--once'], env)
  const untilCount = [...stdout.matchAll(/^ *\p{Script=Han}+ +\d+(?= {2})/gmu)].map(([text]) => widthOf(text))
  expect(untilCount.length).toBeGreaterThan(4)
  expect(new Set(untilCount).size).toBe(1)
})

describe('after an outage that is over, --once', () => {
  const once = (settings: Record<string, string>) => dirsync(['start', '--once', '--json'], settings)

  test('reads HR again, and syncs', async () => {
    await using company = await createCompany({ employees: 5 })
    const away = await once({ ...company.settings, HR_DATABASE_URL: 'postgres://me@127.0.0.1:1/hr' })
    expect(away).toMatchObject({ code: 1 })
    expect(away.json().halts).toMatchObject([{ scope: '*', category: 'hr_unavailable' }])
    const back = await once(company.settings)
    expect(back).toMatchObject({ code: 0, stderr: '' })
    expect(back.json()).toMatchObject({ ok: true, halts: [], messages: [], employees: { in_scope: 5 } })
    const { rows } = await company.db.query(
      `select from dirsync.sync_run where state in ('requested', 'planning', 'running')`,
    )
    expect(rows).toEqual([])
  })

  test('asks the platform again, and syncs', async () => {
    await using company = await createCompany({ employees: 5 })
    const refused = { ...company.settings, PLATFORM_APP_SECRET: 'mistyped' }
    for (const settings of [refused, refused])
      expect((await once(settings)).json()).toMatchObject({
        ok: false,
        halts: [{ scope: '*', category: 'credentials', raised_by: 'dirsync', may_probe: true }],
      })
    const { rows } = await company.db.query(`select from dirsync.sync_run where state = 'planning'`)
    expect(rows).toEqual([])
    const back = await once(company.settings)
    expect(back).toMatchObject({ code: 0, stderr: '' })
    expect(back.json()).toMatchObject({ ok: true, halts: [], messages: [], employees: { in_scope: 5 } })
  })
})

test('under a pause --once says once that everything waits, and ends', async () => {
  await using company = await createCompany({ employees: 5 })
  await company.db.query(`select dirsync.pause('maintenance'), dirsync.resync('changes')`)
  const once = await dirsync(['start', '--once', '--json'], company.settings)
  expect(once).toMatchObject({ code: 1 })
  const { ok, messages } = once.json()
  expect(ok).toBe(false)
  expect(messages).toMatchObject([{ message: expect.stringContaining('maintenance') }])
  const { stdout } = await dirsync(['start', '--once'], company.settings)
  expect(stdout.match(/^ *All calls are paused \(.*: maintenance\)/gm)).toHaveLength(1)
  // Where the plan was through, employees have the status of that name.
  expect(stdout).not.toContain('halted since')
})

describe('a halt', () => {
  const refused = () => createCompany({ employees: 5, settings: { PLATFORM_APP_SECRET: 'wrong' } })
  const SENTENCE =
    /ERROR: halted: The platform does not accept .+ \(scope \*, .+\)\r?\n {2}→ Run `npx dirsync doctor`/

  test('is told by --once in words where people read along, and to programs as JSON', async () => {
    await using company = await refused()
    const read = spawnDirsync(['start', '--once'], { env: company.settings })
    expect(await read.exited).toMatchObject({ code: 1 })
    expect(read.stderr).toMatch(SENTENCE)
    expect(read.stderr).not.toMatch(/[{}]/)
    expect(read.stdout).toMatch(
      /Run 1: \w+\n {2}The platform does not accept [^→]+\n {2}→ Run `npx dirsync doctor`/,
    )
    expect(read.stderr).toBe(stripVTControlCharacters(read.stderr))
    await company.db.query('delete from dirsync.halt')
    const program = spawnDirsync(['start', '--once', '--json'], { env: company.settings })
    expect(await program.exited).toMatchObject({ code: 1 })
    const lines = program.stderr.trim().split('\n')
    expect(lines.map(line => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ category: 'credentials', remedy: expect.stringContaining('dirsync doctor') }),
    )
  })

  test('is told in words at a terminal', { tags: 'script' }, async () => {
    await using company = await refused()
    const service = atTerminal(['start', '--roles', 'scheduler,worker'], company.settings)
    await service.shows(/Running/)
    service.type('\x03')
    const { screen } = await service.ended
    expect(screen).toMatch(SENTENCE)
    expect(screen).not.toMatch(/[{}]/)
  })
})
