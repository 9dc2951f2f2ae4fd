import { expect, test } from 'vitest'
import { addToken } from '../../src/console/auth/tokens.ts'
import { ROLES } from '../../src/sync/processes/process.ts'
import { createCompany, until } from '../helpers/company.ts'

/** What stands in the addresses of the description, as the company below has it. */
const PLACES: Record<string, string> = {
  'users/{name}': 'anna',
  'bulk/{id}': '1',
  'dry-runs/{id}': '1',
  'refunds/{number}': 'r1',
  'topups/{code}': 't1',
  'rules/{rule}': 'held_run',
  'employees/{key}': 'e0001',
}

test('every read answers in a deployment that has run, with rates and ages that are fractions', async () => {
  await using company = await createCompany({
    employees: 8,
    settings: { CONSOLE_PORT: '0', NOTIFICATION_PORT: '0', BREAKER_EMPLOYEES: '2', MIRRORS: 'accounts' },
  })
  const { db, hr } = company
  const service = await company.start(ROLES)
  const expiresAt = new Date(Date.now() + 3_600_000)
  const token = await addToken(db, 'test', { name: 'reads', role: 'admin', expiresAt })
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const api = (path: string, body?: object) =>
    fetch(`${service.consoleUrl}${path}`, {
      headers,
      ...(body && { method: 'POST', body: JSON.stringify(body) }),
    })

  await hr.query(`update person set mobile = '19900000002' where userid = 'e0001'`)
  await hr.query(`update person set email = 'changed@example.com' where userid = 'e0003'`)
  expect((await company.run('full')).state).toBe('done')
  await hr.query(`update person set name = name || ' B'`)
  const held = await company.run('changes')
  expect(held.state).toBe('held')
  const { rows: aged } = await db.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, requested_by, max_age)
     values ('full', 'test', interval '90.5 s') returning id`,
  )
  await db.query(`
    insert into dirsync.console_user (name, source, role) values ('anna', 'key', 'viewer');
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at)
      values ('r1', 'o1', 1.5, 'unknown', 'ann', now());
    insert into dirsync.topup (external_code, account_openid, amount, state, requested_by)
      values ('t1', 'a1', 10.25, 'unknown', 'ann');
    insert into dirsync.dry_run (mapping, state, finished_at) values ('select 1', 'cancelled', now());
    insert into dirsync.job_schedule (job, expression, next_due_at) values ('changes', '*/5 * * * *', now());
    insert into dirsync.payment_order (trade_no, userid, status, pay_amount, created_at)
      values ('o1', 'e0001', 3, 12.5, now())`)
  const { rows: cases } = await db.query<{ id: number }>('select id from dirsync.dead_letter order by id')
  expect(cases).not.toEqual([])
  await api('/api/v1/bulk', { ids: cases.map(({ id }) => id), action: 'retry' })
  await api('/api/v1/doctor', {})
  const cap = await api('/api/v1/platform/rate', { per_second: 2.5, for: '1h', reason: 'test' })
  expect(cap.status).toBe(200)
  const permits = `select from dirsync.process where (pacer ->> 'ratePerSecond')::float8 >= 2.5`
  await until(async () => (await db.query(permits)).rowCount === 1)

  const { paths } = (await (await api('/api/v1/openapi.json')).json()) as { paths: Record<string, object> }
  const places: Record<string, string> = { ...PLACES, 'cases/{id}': `${cases[0]?.id}` }
  const addresses = Object.entries(paths)
    .filter(([path, methods]) => 'get' in methods && !path.endsWith('/events'))
    .flatMap(([path]) => {
      const runs = path.includes('/runs/{id}') ? ['1', `${held.id}`, `${aged[0]?.id}`] : ['']
      return runs.map(run =>
        path.replace(/([\w-]+)\/\{\w+\}/, (place, folder) => `${folder}/${run || places[place]}`),
      )
    })
  expect(addresses.length).toBeGreaterThan(45)
  const failed: string[] = []
  // A token has no account, and not every run a plan.
  const mayLack = /\/account$|\/runs\/\d+\/plan/
  for (const address of addresses) {
    const { status } = await api(address)
    if (status !== 200 && !(status < 500 && mayLack.test(address))) failed.push(`${status} ${address}`)
  }
  expect(failed).toEqual([])
  expect(await (await api('/api/v1/platform')).json()).toMatchObject({
    pace: { permitted_per_second: 2.5 },
  })
})
