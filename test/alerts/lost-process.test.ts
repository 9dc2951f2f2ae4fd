import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { expect, onTestFinished, test } from 'vitest'
import { Alerter } from '../../src/alerts/alerter.ts'
import { openChannel } from '../../src/alerts/channels/index.ts'
import { readAlertFacts } from '../../src/alerts/facts.ts'
import { findings } from '../../src/alerts/rule.ts'
import { loadConfig } from '../../src/config.ts'
import { type Company, createCompany, until } from '../helpers/company.ts'
import { type DirsyncProcess, spawnDirsync } from '../helpers/process.ts'
import { SILENT } from '../sync/store-under-test.ts'
import { Inbox, said } from './inbox.ts'

/** A deployment of real processes, which tell of lost ones at once. It is judged often, and not each half minute. */
async function deployment() {
  const inbox = await Inbox.open()
  const company = await createCompany({
    employees: 5,
    settings: {
      ...{ ALERT_CHANNEL_OPS: inbox.url, ALERT_PROCESS_LOST: '0' },
      // The tests' own server is busy with other tests, too.
      ...{ ALERT_DATABASE_SLOW: 'off', ALERT_DATABASE_FULL: 'off' },
    },
  })
  onTestFinished(() => company[Symbol.asyncDispose]())
  const start = async (role: string) => {
    const started = spawnDirsync(['start', '--roles', role], { env: company.settings })
    onTestFinished(async () => void (await started.kill('SIGKILL')))
    await started.waitForLine(/Running/)
    return started
  }
  const config = loadConfig(company.settings)
  const channels = config.channels.map(openChannel)
  const alerter = new Alerter({
    ...{ pool: company.db, deployment: { id: 'd-1', name: null }, processId: randomUUID(), channels },
    find: async now => findings(await readAlertFacts(company.db), config, now),
    limits: { repeatHours: 4, messagesPerHour: 20 },
    ...{ databaseAwayMs: null, language: 'en', consoleUrl: null, intervalMs: 200, logger: SILENT },
  })
  alerter.start()
  onTestFinished(async () => {
    await alerter.stop()
    await Promise.all(channels.map(channel => channel.close()))
  })
  const [, ...workers] = await Promise.all([start('scheduler'), start('worker'), start('worker')])
  return { company, inbox, start, workers: workers as [DirsyncProcess, DirsyncProcess] }
}

/** Of these a sign of life is known that is newer than every start: none of the others began in their place. */
async function alive({ db }: Company, ...living: DirsyncProcess[]): Promise<void> {
  await until(async () => {
    const { rows } = await db.query<{ all: boolean }>(
      `select bool_and(heartbeat_at > (select max(started_at) from dirsync.process)
                       and heartbeat_at > now() - interval '15 seconds') as all
       from dirsync.process where pid = any ($1)`,
      [living.map(({ pid }) => pid)],
    )
    return rows[0]?.all ?? false
  })
}

/** Half a minute passes, in which these processes give no sign of life. */
async function silence({ db }: Company, ...silent: DirsyncProcess[]): Promise<void> {
  await db.query(
    `update dirsync.process
     set started_at = started_at - interval '30 seconds',
         heartbeat_at = heartbeat_at - case when pid = any ($1) then interval '30 seconds' else '0' end`,
    [silent.map(({ pid }) => pid)],
  )
}

/** Resolves when everything of this moment has been judged. */
async function judged({ db }: Company): Promise<void> {
  const { rows } = await db.query<{ now: Date }>('select now()')
  await until(async () => {
    const { rowCount } = await db.query('select from dirsync.alert_check where checked_at > $1', [
      rows[0]?.now,
    ])
    return rowCount === 1
  })
}

/** A minute passes once it is found that nothing is wrong any more. */
async function over({ db }: Company): Promise<void> {
  await until(async () => {
    const { rowCount } = await db.query(
      `update dirsync.alert set gone_at = gone_at - interval '1 minute' where gone_at is not null`,
    )
    return rowCount === 1
  })
}

const nameOf = ({ pid }: DirsyncProcess) => `${hostname()} (${pid})`

test('a frozen worker is reported while another one works, and so is its recovery', async () => {
  const { company, inbox, workers } = await deployment()
  const [frozen] = workers
  await alive(company, frozen)
  process.kill(frozen.pid, 'SIGSTOP')
  await silence(company, frozen)
  const told = await inbox.arrival(1)
  expect(said(told)).toBe('process_lost raised')
  expect(told.title).toContain(nameOf(frozen))

  process.kill(frozen.pid, 'SIGCONT')
  await alive(company, frozen)
  await over(company)
  expect(said(await inbox.arrival(2))).toBe('process_lost recovered')
})

test('a killed worker is reported until it is replaced; one that was stopped or replaced in an orderly way is not', async () => {
  const { company, inbox, start, workers } = await deployment()
  const [stopped, killed] = workers
  const other = await start('worker')
  await alive(company, stopped, killed)
  expect(await stopped.kill('SIGTERM')).toMatchObject({ code: 0 })
  await killed.kill('SIGKILL')
  await silence(company, stopped, killed)
  const told = await inbox.arrival(1)
  expect(said(told)).toBe('process_lost raised')
  expect(told.title).toContain(nameOf(killed))

  await start('worker')
  await over(company)
  expect(said(await inbox.arrival(2))).toBe('process_lost recovered')
  await start('worker')
  expect(await other.kill('SIGTERM')).toMatchObject({ code: 0 })
  await silence(company, other)
  await judged(company)
  const { rows } = await company.db.query(`select rule, subject, state from dirsync.alert`)
  expect(rows).toEqual([{ rule: 'process_lost', subject: nameOf(killed), state: 'ended' }])
})
