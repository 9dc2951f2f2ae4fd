import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { refundJournal } from '../../src/money/refund.ts'
import { type Company, createCompany, until } from '../helpers/company.ts'
import { spawnScript } from '../helpers/process.ts'
import { worded } from '../texts/worded.ts'

const SENDER = join(import.meta.dirname, 'fixtures/send-refund.ts')
const REFUND_CALL = 'seller/v3/pay/syncRefund'

const order = (i: number) => `test-application-T${i}`
const number = (i: number) => `test-application-R${i}`
const requestOf = (i: number) => ({
  outerTradeNo: order(i),
  outerRefundNo: number(i),
  reason: 'returned',
  refundAmount: '4.00',
  costAmount: '3.00',
})

/** A company whose merchant has paid orders 1 and 2. */
async function companyWithOrders(): Promise<Company> {
  const company = await createCompany({ employees: 1 })
  onTestFinished(() => company[Symbol.asyncDispose]())
  await company.control(
    'POST',
    'orders',
    [1, 2].map(i => ({ trade_no: `000000000000000${i}`, out_trade_no: order(i), total_amount: '10.00' })),
  )
  return company
}

const sender = (company: Company, i: number) =>
  spawnScript(SENDER, [JSON.stringify(company.settings), JSON.stringify(requestOf(i))])

/** Refund numbers that the platform was asked for, in the order of the calls' ends. */
async function sent(company: Company): Promise<string[]> {
  const { calls } = await company.control<{ calls: { params: { outerRefundNo: string } }[] }>(
    'GET',
    `calls?operation=${REFUND_CALL}`,
  )
  return calls.map(({ params }) => params.outerRefundNo)
}

test('a refund whose sender is killed before it has the answer, or before it has stored it, is settled by the service', async () => {
  const company = await companyWithOrders()
  const stateOf = async (i: number) => (await refundJournal.read(company.db, number(i)))?.state

  // One dies while the platform works on its call.
  await company.control('POST', 'faults', { operation: REFUND_CALL, latencyMs: 3000, times: 1 })
  const first = sender(company, 1)
  await until(async () => (await company.control<unknown[]>('GET', 'faults')).length === 0)
  await first.kill('SIGKILL')
  expect(await stateOf(1)).toBe('requested')

  // The other one dies with the answer in hand: the row that it wants to write is locked.
  await company.control('POST', 'faults', { operation: REFUND_CALL, latencyMs: 3000, times: 1 })
  const second = sender(company, 2)
  await until(async () => (await company.control<unknown[]>('GET', 'faults')).length === 0)
  const blocker = await company.db.connect()
  try {
    await blocker.query('begin')
    await blocker.query('select from dirsync.refund where outer_refund_no = $1 for update', [number(2)])
    await until(async () => {
      const { rowCount } = await company.db.query(
        `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like 'update dirsync.refund%'`,
      )
      return rowCount === 1
    })
    await second.kill('SIGKILL')
    await blocker.query('rollback')
  } finally {
    blocker.release(true)
  }
  expect(await sent(company)).toEqual([number(1), number(2)])

  const service = await company.start(['worker'])
  await until(async () => (await stateOf(1)) === 'accepted' && (await stateOf(2)) === 'accepted')
  await service.stop()

  // A second try is refused, and the platform hears nothing of it.
  const again = sender(company, 1)
  expect((await again.exited).code).toBe(1)
  expect(again.stderr).toMatch(
    /refund test-application-R1 was sent before \(4.00 of order test-application-T1, now accepted\)/,
  )
  expect(await sent(company)).toEqual([number(1), number(2)])
})

test('a refund that the platform never carried out, and whose sender is killed, is settled as rejected', async () => {
  const company = await companyWithOrders()
  await company.control('POST', 'faults', { operation: REFUND_CALL, latencyMs: 3000, reset: true, times: 1 })
  const killed = sender(company, 1)
  await until(async () => (await company.control<unknown[]>('GET', 'faults')).length === 0)
  await killed.kill('SIGKILL')
  await company.db.query(
    `insert into dirsync.payment_order (trade_no, out_trade_no, status) values ('0000000000000001', $1, 3)`,
    [order(1)],
  )
  // As if the service came up when the platform's records cannot be behind any more.
  await company.db.query(`update dirsync.refund set sent_at = sent_at - interval '25 hours'`)

  const service = await company.start(['worker'])
  const refund = await until(async () => {
    const read = await refundJournal.read(company.db, number(1))
    return read?.state === 'rejected' && read
  })
  await service.stop()
  expect(worded(refund.message)).toMatch(/it was not carried out$/)
  const platform = await company.control<{ refunds: unknown[] }>('GET', 'state')
  expect(platform.refunds).toEqual([])
})
