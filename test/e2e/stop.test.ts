import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createCompany, until } from '../helpers/company.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'

test.concurrent('SIGTERM ends the service within 10 s although HR hangs', { timeout: 60_000 }, async () => {
  await using company = await createCompany({ employees: 20 })
  await using service = spawnDirsync(['start', '--roles', 'scheduler,worker'], { env: company.settings })
  await service.waitForLine(/Running/)
  const locker = await company.hr.connect()
  try {
    await locker.query('begin; lock table department')
    await company.db.query(`select dirsync.resync('departments')`)
    await until(async () => {
      const { rows } = await company.db.query(`select state from dirsync.sync_run order by id desc limit 1`)
      return rows[0].state === 'planning'
    })
    const stopping = performance.now()
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(performance.now() - stopping).toBeLessThan(10_000)
  } finally {
    locker.release(true)
  }
})

/** Takes connections, and never answers. */
async function startSilentServer() {
  const silent = createServer(socket => socket.on('error', () => undefined)).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  return {
    silent,
    url: `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`,
    [Symbol.dispose]: () => void silent.close(),
  }
}

test.concurrent('SIGTERM ends the service within 10 s although everything hangs', {
  timeout: 60_000,
}, async () => {
  await using company = await createCompany({ employees: 20 })
  using server = await startSilentServer()
  const { url } = server
  const { DATABASE_URL = '', HR_DATABASE_URL = '' } = company.settings
  await using database = await startTcpProxy(DATABASE_URL)
  await using hr = await startTcpProxy(HR_DATABASE_URL)
  await using service = spawnDirsync(['start', '--roles', 'scheduler,worker,console,notifications'], {
    env: {
      ...company.settings,
      ...{ DATABASE_URL: database.url, HR_DATABASE_URL: hr.url, CONSOLE_PORT: '0', NOTIFICATION_PORT: '0' },
      ...{ ALERT_CHANNEL_OPS: url, HEARTBEAT_URL: url, OTEL_EXPORTER_OTLP_ENDPOINT: url },
    },
  })
  await service.waitForLine(/Running/)
  database.hang()
  hr.hang()
  // Statements are under way by now, of heartbeats among others.
  await delay(6000)
  const stopping = performance.now()
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(performance.now() - stopping).toBeLessThan(10_000)
})

test.concurrent('SIGTERM ends the service within 10 s although a receiver of alerts and the monitor hang', {
  timeout: 60_000,
}, async () => {
  await using company = await createCompany({ employees: 20 })
  await company.db.query(
    `insert into dirsync.halt (scope, category, message, remedy) values ('E9', 'enterprise_code', '[]', '[]')`,
  )
  await company.db.query(
    `insert into dirsync.sync_run (kind, state, finished_at) values ('changes', 'done', now())`,
  )
  using server = await startSilentServer()
  const { url, silent } = server
  const called = new Promise<void>(resolve => {
    let calls = 0
    silent.on('connection', () => {
      calls += 1
      if (calls === 2) resolve()
    })
  })
  await using service = spawnDirsync(['start', '--roles', 'scheduler,worker'], {
    env: { ...company.settings, ALERT_CHANNEL_OPS: url, HEARTBEAT_URL: url },
  })
  await Promise.all([called, service.waitForLine(/Running/)])
  const stopping = performance.now()
  expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
  expect(performance.now() - stopping).toBeLessThan(10_000)
})

test.concurrent.for(['HR_DATABASE_URL', 'DATABASE_URL'] as const)(
  'SIGTERM ends a start within 10 s although %s hangs',
  { timeout: 60_000 },
  async which => {
    await using company = await createCompany({ employees: 1 })
    using server = await startSilentServer()
    const address = new URL(company.settings[which] ?? '')
    address.host = new URL(server.url).host
    const connected = once(server.silent, 'connection')
    await using service = spawnDirsync(['start', '--roles', 'scheduler,worker'], {
      env: { ...company.settings, [which]: address.href },
    })
    await connected
    const stopping = performance.now()
    expect(await service.kill('SIGTERM')).toEqual({ code: 0, signal: null })
    expect(performance.now() - stopping).toBeLessThan(10_000)
  },
)

test.concurrent('SIGTERM is heard while the program is still being loaded', async () => {
  await using company = await createCompany({ employees: 1 })
  const hook = `import { registerHooks } from 'node:module'
    registerHooks({ resolve(name, context, next) {
      if (name.endsWith('/start.ts')) process.kill(process.pid, 'SIGTERM')
      return next(name, context)
    } })`
  await using service = spawnDirsync(['start', '--roles', 'worker'], {
    env: {
      ...company.settings,
      NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(hook)}`,
    },
  })
  expect(await service.exited).toEqual({ code: 0, signal: null })
})
