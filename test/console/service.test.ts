import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { expect, test } from 'vitest'
import { addToken } from '../../src/console/auth/tokens.ts'
import { consoleIssuers, ROLES } from '../../src/sync/processes/process.ts'
import { createCompany, person } from '../helpers/company.ts'
import { parseExposition, seriesOf } from './exposition.ts'

test('the console role shows what its process did, and no personal data', async () => {
  await using company = await createCompany({
    employees: 3,
    settings: { CONSOLE_PORT: '0', NOTIFICATION_PORT: '0' },
  })
  const service = await company.start(ROLES)
  try {
    await company.hr.query(`update person set email = 'changed@example.com' where userid = 'e0001'`)
    expect((await company.run('full')).state).toBe('done')
    const ready = await fetch(`${service.consoleUrl}/readyz`)
    expect(await ready.json()).toEqual({ status: 'ready', missing: [], halts: [] })

    const text = await (await fetch(`${service.consoleUrl}/metrics`)).text()
    const all = parseExposition(text)
    expect(seriesOf(all, 'dirsync_jobs_total')).toEqual({
      'dirsync_jobs_total{operation="update-employee",outcome="in_sync"}': 2,
      'dirsync_jobs_total{operation="update-employee",outcome="updated"}': 1,
    })
    const calls = seriesOf(all, 'dirsync_platform_calls_total')
    expect(calls['dirsync_platform_calls_total{operation="employee/update",code="0"}']).toBe(1)
    expect(calls['dirsync_platform_calls_total{operation="token/create",code="0"}']).toBe(1)
    expect(all.series.get('dirsync_employees{status="in_sync"}')).toBe(3)
    expect(all.series.get('dirsync_runs{state="done"}')).toBe(1)
    for (const role of ROLES) expect(all.series.get(`dirsync_processes{role="${role}"}`)).toBe(1)

    const { userid, name, mobile, email } = person(1)
    for (const personal of [userid, name, mobile, email, 'changed@example.com'])
      expect(text).not.toContain(personal)
  } finally {
    await service.stop()
  }
  await expect(fetch(`${service.consoleUrl}/healthz`)).rejects.toThrow()
})

test('a console without a worker counts the calls that people make through it', async () => {
  await using company = await createCompany({ employees: 1, settings: { CONSOLE_PORT: '0' } })
  const service = await company.start(['console'])
  try {
    const expiresAt = new Date(Date.now() + 3_600_000)
    const token = await addToken(company.db, 'test', { name: 'metrics', role: 'operator', expiresAt })
    const asked = await fetch(`${service.consoleUrl}/api/v1/platform/token`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}` },
    })
    expect(asked.status).toBe(200)
    const all = parseExposition(await (await fetch(`${service.consoleUrl}/metrics`)).text())
    expect(seriesOf(all, 'dirsync_platform_calls_total')).toEqual({
      'dirsync_platform_calls_total{operation="token/create",code="0"}': 1,
      'dirsync_platform_calls_total{operation="token/getTokenInfo",code="0"}': 1,
    })
  } finally {
    await service.stop()
  }
})

test.each([
  ['with every role', ROLES, ['alerts', 'console', 'main', 'notifications']],
  ['without a worker', ['scheduler', 'console'], ['alerts', 'console', 'main']],
] as const)('a process %s shows the connections of all its pools', async (_, roles, pools) => {
  const settings = { CONSOLE_PORT: '0', NOTIFICATION_PORT: '0' }
  await using company = await createCompany({ employees: 1, settings })
  const service = await company.start(roles)
  try {
    const all = parseExposition(await (await fetch(`${service.consoleUrl}/metrics`)).text())
    const shown = Object.keys(seriesOf(all, 'dirsync_pool_connections'))
    expect(shown.sort()).toEqual(
      pools.flatMap(pool =>
        ['idle', 'used', 'waiting'].map(state => `dirsync_pool_connections{pool="${pool}",state="${state}"}`),
      ),
    )
  } finally {
    await service.stop()
  }
})

test('a process without the role has no console; from its start on, SQL says what this version says', async () => {
  await using company = await createCompany({ employees: 1 })
  await company.db.query(`update dirsync.text set text = 'of an older version', parts = null`)
  const service = await company.start(['worker'])
  expect(service.consoleUrl).toBeNull()
  await expect(company.db.query('select dirsync.approve(99)')).rejects.toThrow('there is no held run 99')
})

test('a process with the role says which identity provider lets people into its console', async () => {
  await using company = await createCompany({
    employees: 1,
    settings: {
      ...{ CONSOLE_PORT: '0', CONSOLE_URL: 'https://dirsync.example', OIDC_ISSUER: 'https://login.example' },
      ...{ OIDC_CLIENT_ID: 'dirsync', OIDC_CLIENT_SECRET: 'a-secret', OIDC_ROLES: 'groups:all=viewer' },
    },
  })
  for (const [role, issuers] of [
    ['worker', []],
    ['console', ['https://login.example']],
  ] as const) {
    const service = await company.start([role])
    expect(await consoleIssuers(company.db)).toEqual(issuers)
    await service.stop()
  }
})

test('a taken port ends the start, and leaves nothing behind', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as AddressInfo
  await using company = await createCompany({
    employees: 1,
    settings: { CONSOLE_PORT: String(port), NOTIFICATION_PORT: '0' },
  })
  await expect(company.start(ROLES)).rejects.toMatchObject({ code: 'CONSOLE_PORT_TAKEN' })
  const { rows } = await company.db.query('select from dirsync.process')
  expect(rows).toEqual([])
  other.close()
  await once(other, 'close')
})
