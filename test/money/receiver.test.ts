import pg from 'pg'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import {
  APP_ID,
  APP_SECRET,
  encode,
  escapeLetters,
  type Fields,
  flipped,
  NAMES,
  signed,
  without,
} from '../helpers/notification.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'
import { expectStillWorks, failed, openReceiver, SUCCESS } from './receiver-under-test.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))
const receiver = duringFile(() => openReceiver(database))
afterEach(() => expectStillWorks(receiver))

/** What is refused leaves the refund as it is. */
async function expectRefused(body: string | Buffer, fields: Fields, status = 400): Promise<void> {
  expect(await receiver.post(body)).toEqual(failed(status))
  expect(await receiver.stateOf(fields)).toBe('requested')
}

test('a notification is stored, then answered; a repeat is answered without effect', async () => {
  const fields = await receiver.refund()
  expect(await receiver.notify(fields)).toEqual(SUCCESS)
  const row = async () =>
    (await database.pool.query('select * from dirsync.refund where state = $1', ['notified'])).rows
  const stored = await row()
  expect(stored.at(-1)).toMatchObject({ trade_no: fields.trade_no, notified_at: expect.any(Date) })
  receiver.clock.now += 1000
  expect(
    await receiver.notify({ ...fields, timestamp: String(Math.floor(receiver.clock.now / 1000)) }),
  ).toEqual(SUCCESS)
  expect(await row()).toEqual(stored)
})

test('the copy of a notification is a repeat for 5 minutes, and refused from then on', async () => {
  const fields = await receiver.refund()
  const form = encode(signed(fields))
  const sentAt = Number(fields.timestamp) * 1000
  for (const [seconds, answer] of [
    [0, SUCCESS],
    [299, SUCCESS],
    [300, SUCCESS],
    [301, failed(400)],
    [86_400, failed(400)],
  ] as const) {
    receiver.clock.now = sentAt + seconds * 1000
    expect(await receiver.post(form)).toEqual(answer)
  }
  receiver.clock.now = sentAt
})

test.each([-301, -300, -299, 299, 300, 301])('a timestamp that is off by %i s', async seconds => {
  const fields = await receiver.refund()
  const timestamp = String(Number(fields.timestamp) + seconds)
  const sentAt = receiver.clock.now
  receiver.clock.now = Number(fields.timestamp) * 1000
  expect(await receiver.notify({ ...fields, timestamp })).toEqual(
    Math.abs(seconds) > 300 ? failed(400) : SUCCESS,
  )
  expect(await receiver.stateOf(fields)).toBe(Math.abs(seconds) > 300 ? 'requested' : 'notified')
  receiver.clock.now = sentAt
})

test('of all forms that differ in one bit, those alone pass that say the same', async () => {
  const fields = await receiver.refund()
  const form = encode(signed(fields))
  const answers = { success: 0, fail: 0 }
  const pending = flipped(form)
  const sendAll = async () => {
    for (const body of pending) answers[(await receiver.post(body)).body as keyof typeof answers] += 1
  }
  await Promise.all([sendAll(), sendAll(), sendAll(), sendAll()])
  const same = escapeLetters(form)
  expect(answers).toEqual({ success: same, fail: form.length * 8 - same })
})

describe.each(NAMES)('the field %s', name => {
  test('is refused when missing, empty, repeated or altered', async () => {
    const fields = await receiver.refund()
    const form = signed(fields)
    const value = form[name] as string
    await expectRefused(encode(without(form, name)), fields)
    await expectRefused(encode(without(signed(without(fields, name)), name)), fields)
    await expectRefused(encode({ ...form, [name]: '' }), fields)
    await expectRefused(encode({ ...form, [name]: ` ${value}` }), fields)
    await expectRefused(encode({ ...form, [name]: `${value}0` }), fields)
    await expectRefused(encode({ ...form, [name]: value.slice(1) }), fields)
    await expectRefused(encode({ ...form, [name]: 'x'.repeat(5000) }), fields)
    for (const again of [name, name.toUpperCase()])
      for (const other of [value, 'other', '']) {
        await expectRefused(`${encode(form)}&${again}=${encodeURIComponent(other)}`, fields)
        await expectRefused(`${again}=${encodeURIComponent(other)}&${encode(form)}`, fields)
      }
  })
})

test('a signature of another secret, algorithm or application is refused', async () => {
  const fields = await receiver.refund()
  await expectRefused(encode(signed(fields, { secret: 'another' })), fields)
  await expectRefused(encode(signed(fields, { algorithm: 'sha1' })), fields)
  await expectRefused(encode(signed(fields, { algorithm: 'sha512' })), fields)
  await expectRefused(encode(signed({ ...fields, appid: 'test0002' })), fields)
})

test('further fields pass when signed, and only then', async () => {
  const fields = await receiver.refund()
  const form = encode(signed(fields))
  for (const name of ['note', '__proto__', 'constructor', 'toString', 'appsecret', '_body'])
    await expectRefused(`${form}&${name}=x`, fields)
  for (const addition of ['note', '', '=', '%', '%ff', '%00=x', 'note=%c3%28', 'note=\xff'])
    await expectRefused(Buffer.from(`${form}&${addition}`, 'latin1'), fields)
  await expectRefused(`${form}${'&a=b'.repeat(1000)}`, fields)
  expect(await receiver.notify({ ...fields, note: 'signed', empty: '' })).toEqual(SUCCESS)
})

test('a refund that dirsync did not send is refused', async () => {
  const fields = await receiver.refund()
  expect(await receiver.notify({ ...fields, outer_refund_no: `${APP_ID}-somebody-elses` })).toEqual(
    failed(404),
  )
  for (const number of ["'; drop table dirsync.refund; --", '../../etc/passwd', '%s%n', '__proto__'])
    expect(await receiver.notify({ ...fields, outer_refund_no: number })).toEqual(failed(404))
  expect(await receiver.stateOf(fields)).toBe('requested')
})

test('a notification that contradicts the journal is refused', async () => {
  const fields = await receiver.refund()
  const other = await receiver.refund()
  for (const contradiction of [
    { refund_amount: '12.51' },
    { refund_amount: '12.5001' },
    { refund_amount: '0.00' },
    { outer_trade_no: other.outer_trade_no as string },
  ])
    expect(await receiver.notify({ ...fields, ...contradiction })).toEqual(failed(409))
  expect(await receiver.stateOf(fields)).toBe('requested')
  expect(await receiver.notify({ ...fields, refund_amount: '12.5' })).toEqual(SUCCESS)
})

test('no answer comes before the notification is committed', async () => {
  const fields = await receiver.refund()
  const { pool } = database
  await pool.query(`
    create function wait_for_test() returns trigger language plpgsql as
      $$ begin perform pg_advisory_xact_lock(7); return null; end $$;
    create constraint trigger at_commit after update on dirsync.refund deferrable initially deferred
      for each row execute function wait_for_test()`)
  const holder = await pool.connect()
  try {
    await holder.query('select pg_advisory_lock(7)')
    let answered = false
    const answer = receiver.notify(fields).finally(() => {
      answered = true
    })
    await expect
      .poll(async () => {
        const { rows } = await pool.query(`${WAITING_FOR_A_LOCK} and wait_event = 'advisory'`)
        return rows.length
      })
      .toBe(1)
    expect(await receiver.stateOf(fields)).toBe('requested')
    expect(answered).toBe(false)
    await holder.query('select pg_advisory_unlock(7)')
    expect(await answer).toEqual(SUCCESS)
    expect(await receiver.stateOf(fields)).toBe('notified')
  } finally {
    holder.release()
    await pool.query('drop trigger at_commit on dirsync.refund')
  }
})

test('while the database is away nothing succeeds, and afterwards it does', async () => {
  const fields = await receiver.refund()
  const admin = new pg.Client({ connectionString: inject('postgresUrl') })
  await admin.connect()
  try {
    await admin.query(`alter database ${database.name} allow_connections false`)
    await admin.query(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = $1 and application_name = 'dirsync notifications'`,
      [database.name],
    )
    expect(await receiver.notify(fields)).toEqual(failed(503))
    expect(await receiver.notify(fields)).toEqual(failed(503))
  } finally {
    await admin.query(`alter database ${database.name} allow_connections true`)
    await admin.end()
  }
  expect(await receiver.stateOf(fields)).toBe('requested')
  expect(await receiver.notify(fields)).toEqual(SUCCESS)
})

test('the log names reasons and outcomes, and nothing of what was received', () => {
  const reasons = new Set(receiver.log.map(line => line.reason ?? line.outcome).filter(Boolean))
  expect([...reasons].sort()).toEqual([
    'database',
    'malformed',
    'mismatch',
    'repeated',
    'stored',
    'unknown_refund',
    'wrong_application',
    'wrong_signature',
    'wrong_timestamp',
  ])
  const log = receiver.log.map(({ time: _, ...line }) => JSON.stringify(line)).join('\n')
  const values = receiver.sent.flatMap(Object.values<string>).filter(Boolean)
  expect(values.length).toBeGreaterThan(100)
  const leaked = [...values, APP_ID, APP_SECRET, 'other', 'drop table'].filter(value => log.includes(value))
  expect(leaked).toEqual([])
})
