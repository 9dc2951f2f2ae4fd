import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../helpers/company.ts'
import { type DirsyncProcess, spawnScript } from '../helpers/process.ts'
import { StoreUnderTest, WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'
import { hangs, Inbox, said, takes } from './inbox.ts'

const store = new StoreUnderTest()

/** Only halts are looked for: what else stands on this server is none of this test's business. */
const RULES_OFF = [
  ...['PAUSED', 'HELD_RUN', 'SOURCE_SUSPECT', 'RUN_OVERDUE', 'CASES_JUMP', 'OUT_OF_SYNC', 'WORK_STUCK'],
  ...['MONEY_UNKNOWN', 'CALLS_REJECTED', 'ROLE_MISSING', 'NOTIFICATION_MISFIT', 'CLOCK', 'TOKENS'],
  ...['DATABASE_FULL', 'DATABASE_SLOW', 'DATABASE_AWAY', 'DEAD_CHANNEL', 'PROCESS_LOST'],
]

/** Starts a real process with a channel that leads there. */
function startProcess(channelUrl: string): DirsyncProcess {
  const settings = {
    ...Object.fromEntries(RULES_OFF.map(rule => [`ALERT_${rule}`, 'off'])),
    DATABASE_URL: store.url,
    HR_DATABASE_URL: store.url,
    HR_EMPLOYEES_SQL: 'none.sql',
    PLATFORM_BASE_URL: 'http://127.0.0.1:9',
    PLATFORM_APP_ID: 'test',
    PLATFORM_APP_SECRET: 'test',
    ALERT_CHANNEL_OPS: channelUrl,
  }
  const started = spawnScript(join(import.meta.dirname, 'fixtures/alert-process.ts'), [
    JSON.stringify(settings),
  ])
  onTestFinished(async () => {
    await started.kill('SIGKILL')
  })
  return started
}

const raiseHalt = () =>
  store.pool.query(
    `insert into dirsync.halt (scope, category, message, remedy)
     values ('*', 'credentials', '{"key": "said.words", "values": {"words": "The platform knows no such application."}}', '{"key": "said.words", "values": {"words": "Correct the settings."}}')`,
  )

const messages = () =>
  store.rows<{ state: string; attempts: number }>(
    'select state, attempts from dirsync.alert_message order by id',
  )
const isSent = async () => (await messages()).some(({ state }) => state === 'sent')
/** Lets the lease of a process that is gone run out. */
const leaseEnds = () => store.pool.query('update dirsync.alert_message set leased_until = now()')

test('killed while evaluating, a process leaves nothing behind, and another one takes over at once', async () => {
  await raiseHalt()
  const inbox = await Inbox.open()
  const holder = await store.pool.connect()
  try {
    // It gets as far as its channels, when its findings are written and not committed.
    await holder.query('begin; lock table dirsync.alert_channel')
    const judge = startProcess(inbox.url)
    await until(async () => (await store.rows(WAITING_FOR_A_LOCK)).length === 1)
    await judge.kill('SIGKILL')
  } finally {
    await holder.query('rollback')
    holder.release()
  }
  expect(await store.rows('select * from dirsync.alert')).toEqual([])
  startProcess(inbox.url)
  expect(said(await inbox.arrival(1))).toBe('halt raised')
})

test('killed between decision and sending, it loses nothing', async () => {
  await raiseHalt()
  const silent = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void silent.close())
  await once(silent, 'listening')
  const connected = once(silent, 'connection')
  const doomed = startProcess(`http://127.0.0.1:${(silent.address() as AddressInfo).port}/`)
  await connected
  await doomed.kill('SIGKILL')
  expect(await messages()).toEqual([{ state: 'waiting', attempts: 1 }])

  const inbox = await Inbox.open()
  await leaseEnds()
  startProcess(inbox.url)
  expect(said(await inbox.arrival(1))).toBe('halt raised')
  await until(isSent)
  expect(inbox.arrivals).toHaveLength(1)
})

test('killed between sending and recording it, the message is repeated once', async () => {
  await raiseHalt()
  const inbox = await Inbox.open()
  inbox.answer = hangs
  const doomed = startProcess(inbox.url)
  const { key } = await inbox.arrival(1)
  await doomed.kill('SIGKILL')
  expect(await messages()).toEqual([{ state: 'waiting', attempts: 1 }])

  inbox.answer = takes
  await leaseEnds()
  const next = startProcess(inbox.url)
  // Receivers can tell that it is the same one.
  expect(await inbox.arrival(2)).toMatchObject({ key })
  await until(isSent)
  await next.kill('SIGKILL')
  // A later process knows that it was told.
  await store.pool.query(`update dirsync.alert_check set checked_at = now() - interval '1 minute'`)
  startProcess(inbox.url)
  await until(
    async () =>
      (await store.value(`select checked_at > now() - interval '30 seconds' from dirsync.alert_check`)) ===
      true,
  )
  expect(await messages()).toEqual([{ state: 'sent', attempts: 2 }])
  expect(inbox.arrivals).toHaveLength(2)
})
