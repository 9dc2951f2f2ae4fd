import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import type { AccessRole } from '../../src/console/auth/viewer.ts'
import { MailServer } from '../alerts/channels/mail-server.ts'
import { startReceiver } from '../alerts/channels/receiver.ts'
import { describeBackends } from '../helpers/backends.ts'
import { type Company, createCompany, person, until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { startOtlpReceiver } from '../helpers/otlp-receiver.ts'
import { type DirsyncProcess, spawnDirsync } from '../helpers/process.ts'
import { startRedis } from '../helpers/redis.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  aboutProcesses,
  databaseText,
  everyAnswer,
  everyPage,
  expectOnlyAllowed,
  mailChannel,
  mailText,
  monitor,
  redisText,
  signIn,
} from './places.ts'
import { findPlanted, markOf, plantedRow, type Row, SHOWN, type Sort } from './planted.ts'

/*
 * Every value of every employee is one of a kind. dirsync runs with them, meets all kinds of trouble, and then each place that it
 * writes to is searched for them. What may be found where is the table in docs/reliability.md.
 */

const EMPLOYEES = 40
const key = (i: number) => person(i).userid

/** Rows that break a rule, with a mark in what is refused. */
const REFUSED: Partial<Record<Sort, () => string>> = {
  mobile: () => `none ${markOf('mobile')}`,
  name: () => `${markOf('name')} ${'x'.repeat(50)}`,
  email: () => `${markOf('email')} at example.com`,
  birth_day: () => markOf('birth_day'),
  entry_day: () => markOf('entry_day'),
  card_no: () => `11010519491231${markOf('card_no')}`,
  employee_attribute: () => `[{"attributeCode":"${markOf('employee_attribute')}"`,
  level: () => `${markOf('level')} ${'x'.repeat(50)}`,
  corp_code: () => `${markOf('corp_code')}!`,
  category: () => `["${markOf('category')}`,
  remark: () => `${markOf('remark')} ${'x'.repeat(254)}`,
  gender: () => markOf('gender'),
  dept_code: () => `${markOf('dept_code')} ${'x'.repeat(50)}`,
}

const REFUSED_FIELDS = Object.keys(REFUSED) as Sort[]

const MAPPING = `
  select userid, name, corp_code, gender, card_type, card_no, email, mobile_area, mobile, remark, dept_code, level, category, birth_day,
    entry_day, cost_center_id::int as cost_center_id, employee_attribute, active
  from staff`

describeBackends('the queue in', { timeout: 400_000 }, ({ kind }) => {
  test('personal data is found only where the table says', async () => {
    const redis = kind === 'redis' ? await startRedis() : null
    if (redis) onTestFinished(() => redis.stop())
    await using collector = await startOtlpReceiver()
    await using chat = await startReceiver(() => [200, 'ok'])
    await using mail = await MailServer.start({ authOptional: true, disabledCommands: ['STARTTLS'] })
    const mapping = join(await temporaryFolder(), 'staff.sql')
    await writeFile(mapping, MAPPING)
    const consoleUrl = `http://127.0.0.1:${await freePort()}`
    await using company = await createCompany({
      employees: 5,
      ...(redis ? { redisUrl: redis.url } : {}),
      settings: {
        ...{
          HR_EMPLOYEES_SQL: mapping,
          LOG_LEVEL: 'trace',
          PLATFORM_RATE_LIMIT: '60',
          WORKER_CONCURRENCY: '4',
        },
        ...{ BREAKER_EMPLOYEES: '2', BREAKER_EMPLOYEES_PERCENT: '1', HR_POLL_SECONDS: '1' },
        ...{ ALERT_CHANNEL_CHAT: `${chat.origin}/alerts`, ALERT_CHANNEL_CHAT_LEAST: 'info' },
        ...{ ALERT_CHANNEL_TICKETS: `${chat.origin}/events`, ALERT_CHANNEL_TICKETS_EVENTS: '*' },
        ...mailChannel(mail),
        ...{ CONSOLE_PORT: new URL(consoleUrl).port, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url },
      },
    })
    const rows = await plant(company)
    const monitored = redis ? await monitor(redis.url) : null
    const places: Record<string, string> = {}
    const processes: DirsyncProcess[] = []
    const start = async (roles: string) => {
      const started = spawnDirsync(['start', '--roles', roles], { env: company.settings })
      processes.push(started)
      onTestFinished(async () => void (await started.kill('SIGKILL')))
      await started.waitForLine(/Running/)
      return started
    }
    const shell = async (...args: string[]) => {
      await using command = spawnDirsync(args, { env: company.settings })
      await command.exited
      places['the shell'] = `${places['the shell'] ?? ''}${command.stdout}${command.stderr}`
      return command.stdout
    }

    const [worker] = await Promise.all([
      start('worker'),
      start('worker'),
      start('scheduler'),
      start('console'),
    ])
    const { rows: asked } = await company.db.query<{ id: number }>(`select dirsync.resync('full') as id`)
    const attempts = () => count(company.db, 'dirsync.attempt')
    await until(async () => (await attempts()) > 5)
    places['arguments and environment'] = await aboutProcesses(processes)
    places['the queue in use'] = await databaseText(company.db)
    await worker.kill('SIGKILL')
    await start('worker')
    const full = await company.run('employees', key(0)).then(() => ended(company.db, asked[0]?.id ?? 0))
    expect(full.state).toBe('done')

    // HR's server quotes what it cannot cast: to a run, and to a worker.
    await company.hr.query('update staff set cost_center_id = $1 where userid = $2', [
      `${markOf('unread')}`,
      key(1),
    ])
    expect((await company.run('changes')).state).toBe('failed')
    await company.db.query(`select dirsync.retry_category('invalid_hr_row')`)
    await until(async () => (await attempts()) > 0 && processes.some(({ stderr }) => /22P02/.test(stderr)))
    await company.hr.query(`update staff set cost_center_id = '100' where userid = $1`, [key(1)])

    // A plan that is held.
    for (const i of [2, 3, 4, 5, 6])
      await company.hr.query('update staff set name = $1, mobile = $2 where userid = $3', [
        plantedRow().name,
        plantedRow().mobile,
        key(i),
      ])
    const held = await company.run('changes')
    expect(held.state).toBe('held')

    await shell('plan', '--employee', key(2))
    await shell('plan', '--full')
    await shell('plan', String(held.id), '--csv')
    await writeFile(`${mapping}.new.sql`, MAPPING.replace(' name,', ' remark as name,'))
    await shell('plan', '--mapping', `${mapping}.new.sql`)
    await shell('employee', key(2))
    await shell('cases', 'list')
    await shell('cases', 'export', '--csv')
    await shell('runs', String(held.id))
    await shell('status')
    await shell('hr', 'check')

    const browser = (role: AccessRole) => signIn(company.db, consoleUrl, role)
    places['pages of a viewer'] = await everyPage(await browser('viewer'))
    places['pages of an operator'] = await everyPage(await browser('operator'))
    places['the API for a viewer'] = await everyAnswer(company.db, consoleUrl)
    const admin = await browser('admin')
    const revealed = await admin('POST', `/employees/${key(7)}/reveal`, { field: 'all', reason: 'to see' })
    expect([...findPlanted(revealed).keys()]).toEqual(
      expect.arrayContaining(['name', 'mobile', 'card_no', 'remark']),
    )
    const operator = await browser('operator')
    const { name, mobile } = rows[7] as Row
    await operator('POST', '/employees/by-name', { name })
    for (const q of [name, mobile]) await operator('GET', `/search?q=${q}`)
    await operator('POST', '/mapping/try', { key: key(7) })
    await operator('POST', `/employees/${key(7)}/explain`, {})

    await until(
      async () => mail.arrivals.length > 0 && chat.arrivals.some(({ url }) => url.pathname === '/alerts'),
    )
    places.metrics = await operator('GET', '/metrics')
    places.database = await databaseText(company.db)
    if (redis) places['Redis, at rest'] = await redisText(redis.url)
    for (const { kill } of processes) await kill()
    monitored?.client.disconnect()
    if (monitored) places['Redis, every command'] = monitored.lines.join('\n')
    places.log = processes.map(({ stdout, stderr }) => stdout + stderr).join('\n')
    places.webhooks = chat.arrivals
      .map(({ url, headers, body }) => `${url} ${JSON.stringify(headers)} ${body}`)
      .join('\n')
    places.mail = mailText(mail)
    places.traces = Buffer.concat(collector.bodies).toString('latin1')

    expectOnlyAllowed(places, ALLOWED)
    // It would be found if it were there.
    expect([...findPlanted(places['pages of an operator']).keys()]).toContain('name')
    expect([...findPlanted(places.database).keys()]).toContain('level')
  })
})

/** docs/reliability.md has it in words. */
const ALLOWED: Record<string, readonly Sort[]> = {
  database: SHOWN,
  'the shell': SHOWN,
  'pages of a viewer': SHOWN,
  'the API for a viewer': SHOWN,
  'pages of an operator': [...SHOWN, 'name'],
}
/**
 * What the platform has as HR does: otherwise the row would be another person's, and nothing would be sent. Of most it is the document
 * number, so that names are sent, and told apart from what the platform says by itself.
 */
function samePerson({ name, card_no }: Row, i: number): Partial<Row> {
  if (i === 8) return {}
  return (i < 20 && i % 2 === 0) || REFUSED_FIELDS[i - 10] === 'card_no' ? { name } : { card_no }
}

/** HR and the platform with employees whose every value is another one, and all kinds of trouble. @returns what HR has */
async function plant({ hr, control }: Company): Promise<Row[]> {
  const rows = Array.from({ length: EMPLOYEES }, plantedRow)
  const held = Array.from({ length: EMPLOYEES }, plantedRow)
  const columns = Object.keys(rows[0] ?? {})
  await hr.query(
    `create table staff (userid text primary key, ${columns.map(name => `${name} text`).join()}, active boolean default true)`,
  )
  for (const [i, field] of REFUSED_FIELDS.entries())
    Object.assign(rows[10 + i] ?? {}, { [field]: REFUSED[field]?.() })
  const at = (i: number) => rows[i] as Row
  at(30).mobile = (held[31] as Row).mobile
  at(32).email = (held[33] as Row).email
  at(34).corp_code = (held[35] as Row).corp_code
  at(36).dept_code = 'NOWHERE'
  for (const [i, row] of rows.entries())
    await hr.query(`insert into staff select * from jsonb_populate_record(null::staff, $1)`, [
      JSON.stringify({ userid: key(i), ...row, active: i !== 37 }),
    ])
  await control('POST', 'reset')
  await control('POST', 'departments', [{ dept_code: 'D1', dept_name: 'One' }])
  await control(
    'POST',
    'employees',
    // One is not on the platform.
    held
      .slice(0, -1)
      .map(
        (
          { unread, employee_attribute, category, gender, card_type, mobile_area, cost_center_id, ...row },
          i,
        ) => ({
          ...row,
          ...samePerson(at(i), i),
          ...{
            userid: key(i),
            gender: 1,
            card_type: 1,
            mobile_area: 86,
            category: [category],
            cost_center_id: Number(cost_center_id),
          },
        }),
      ),
  )
  const said = ({ name, mobile, email, card_no, remark }: Row) =>
    `${name} (${mobile}, ${email}, ${card_no}): ${remark}`
  const update = (i: number, fault: object) => ({
    operation: 'employee/update',
    match: { userid: key(i) },
    ...fault,
  })
  await control('POST', 'faults', [
    update(23, { code: 7, message: said(at(23)), times: 3 }),
    update(24, { code: 1002218007, message: said(at(24)) }),
    update(25, { httpStatus: 500, body: `<html>${said(at(25))}</html>`, times: 3 }),
    update(26, { body: `{"code":0,"msg":"${said(at(26))}","data":`, times: 3 }),
    update(27, { body: JSON.stringify({ code: said(at(27)), msg: said(at(27)), data: at(27) }), times: 3 }),
    update(28, { loseAnswer: true, times: 1 }),
    // It sees what it is told in this call, and no more: which field it is, dirsync finds out by calls with one each.
    update(29, { code: 1000220002, message: `${at(29).mobile} or ${at(29).email}` }),
    {
      ...{ operation: 'employee/get', match: { userid: key(38) }, times: 3 },
      body: JSON.stringify({
        code: 0,
        msg: '',
        data: { ...at(38), category: at(38).name, mobile: [at(38).mobile] },
      }),
    },
  ])
  return rows
}

async function count(db: pg.Pool, table: string): Promise<number> {
  return (await db.query<{ n: number }>(`select count(*)::int as n from ${table}`)).rows[0]?.n ?? 0
}

const ended = (db: pg.Pool, id: number) =>
  until(async () => {
    const { rows } = await db.query<{ state: string }>(
      'select state from dirsync.sync_run where id = $1 and finished_at is not null',
      [id],
    )
    return rows[0] ?? null
  })
