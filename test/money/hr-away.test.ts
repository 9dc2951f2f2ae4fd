import { expect, test } from 'vitest'
import { createCompany, until } from '../helpers/company.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'

const APP_ID = 'test-application'
const ORDER = `${APP_ID}-T1`

test.each([
  ['before the service starts', true],
  ['while the service runs', false],
])('a refund of unknown outcome is settled while HR is away, which went %s', async (_, early) => {
  await using company = await createCompany({ employees: 1 })
  await using proxy = await startTcpProxy(company.settings.HR_DATABASE_URL as string)
  company.settings.HR_DATABASE_URL = proxy.url
  await company.control('POST', 'orders', [
    { trade_no: '0000000000000001', out_trade_no: ORDER, total_amount: '10.00', refund_amount: '4.00' },
  ])
  if (early) await proxy.refuse()
  await company.start()
  await proxy.refuse()
  await company.db.query(
    `insert into dirsync.pending (operation, entity_key, priority) values ('update-employee', 'e0000', 1)`,
  )
  await until(async () => {
    const { rows } = await company.db.query('select category from dirsync.halt')
    return rows[0]?.category === 'hr_unavailable'
  })
  await company.db.query(
    `insert into dirsync.refund
       (outer_refund_no, outer_trade_no, refund_amount, refunded_before, state, requested_by, next_settle_at)
     values ($1, $2, 4, 0, 'unknown', 'tester', now())`,
    [`${APP_ID}-R1`, ORDER],
  )

  await until(async () => {
    const { rows } = await company.db.query('select state from dirsync.refund')
    return rows[0].state === 'accepted'
  })
  const { rows: halts } = await company.db.query('select category from dirsync.halt')
  expect(halts).toEqual([{ category: 'hr_unavailable' }])
})
