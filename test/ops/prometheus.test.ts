// @module-tag prometheus

import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Company, createCompany, until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { type DirsyncProcess, spawnDirsync } from '../helpers/process.ts'
import { type Prometheus, startPrometheus } from './prometheus.ts'

/* A real Prometheus with the rules as they are shipped, and a deployment of two processes as docker-compose starts them. */

const EMPLOYEES = 120

const opened = new AsyncDisposableStack()
let company: Company
let scheduler: DirsyncProcess
let worker: DirsyncProcess
let prometheus: Prometheus

beforeAll(async () => {
  company = opened.use(await createCompany({ employees: EMPLOYEES }))
  const start = async (roles: string) => {
    const port = await freePort()
    const env = {
      ...company.settings,

      CONSOLE_PORT: String(port),
      LOG_LEVEL: 'info',
    }
    const started = opened.use(spawnDirsync(['start', '--roles', roles], { env }))
    const url = `http://127.0.0.1:${port}`
    await until(() =>
      fetch(`${url}/readyz`).then(
        answer => answer.ok,
        () => false,
      ),
    )
    return { started, url }
  }
  const [first, second] = await Promise.all([start('scheduler,console'), start('worker,console')])
  scheduler = first.started
  worker = second.started
  prometheus = opened.use(await startPrometheus([first.url, second.url]))
  expect((await company.run('full')).state).toBe('done')
})
afterAll(() => opened.disposeAsync())

/** What is raised or about to be raised. How long the database takes is left out: other tests keep it busy. */
async function raised(): Promise<string[]> {
  const alerts = await prometheus.alerts()
  return alerts
    .filter(({ labels }) => labels.alertname !== 'DirsyncDatabaseSlow')
    .map(({ labels, state }) => `${labels.alertname} ${state}`)
    .sort()
}

/** Waits until exactly this is raised. */
async function expectRaised(...names: string[]): Promise<void> {
  await expect.poll(raised, { timeout: 90_000, interval: 200 }).toEqual(names)
}

test('a deployment in good order raises nothing', async () => {
  await prometheus.judged()
  expect(await raised()).toEqual([])
  // Nothing is raised because everything is seen to be well, and not because nothing is seen.
  const scope = await prometheus.query('job:dirsync_employees_in_scope:sum')
  expect(scope).toEqual([
    { metric: { __name__: 'job:dirsync_employees_in_scope:sum', job: 'dirsync' }, value: EMPLOYEES },
  ])
  expect((await prometheus.query('job:dirsync_employees_in_sync:ratio')).map(({ value }) => value)).toEqual([
    1,
  ])
  expect(await prometheus.query('up == 1')).toHaveLength(2)
})

test('the platform refuses the application: a halt is raised once for both processes, until it is over', async () => {
  await company.control('POST', 'faults', [{ operation: '*', code: 1000210003 }])
  await company.db.query(`select dirsync.resync('full')`)
  await expectRaised('DirsyncHalt firing')
  const alert = (await prometheus.alerts()).find(({ labels }) => labels.alertname === 'DirsyncHalt')
  expect(alert?.labels).toMatchObject({ job: 'dirsync', category: 'credentials', severity: 'critical' })
  await company.control('DELETE', 'faults')
  await company.db.query(`select dirsync.probe_now('*')`)
  await expectRaised()
})

test('a column turns empty: a suspect source is raised, until a run finds HR right', async () => {
  await company.hr.query(
    'alter table person add column kept text; update person set kept = mobile, mobile = null',
  )
  expect((await company.run('changes')).state).toBe('source_suspect')
  await expectRaised('DirsyncSourceSuspect firing')
  await company.hr.query('update person set mobile = kept')
  expect((await company.run('changes')).state).toBe('done')
  await expectRaised()
})

test('more changes than a breaker allows: the held run is raised, until a person decides', async () => {
  await company.hr.query(`update person set email = 'new-' || email where userid < 'e0070'`)
  const { id, state } = await company.run('changes')
  expect(state).toBe('held')
  await expectRaised('DirsyncHeldRun firing')
  await company.db.query('select dirsync.approve($1)', [id])
  await expectRaised()
})

test('a pause is raised after hours only; a process killed, within a minute', async () => {
  await company.db.query(`select dirsync.pause('maintenance')`)
  await expectRaised('DirsyncPaused pending')
  await worker.kill('SIGKILL')
  await expectRaised(
    'DirsyncPaused pending',
    'DirsyncProcessDown pending',
    'DirsyncProcessLost pending',
    'DirsyncRoleMissing pending',
  )
  await scheduler.kill('SIGKILL')
  await expectRaised('DirsyncDown pending')
})
