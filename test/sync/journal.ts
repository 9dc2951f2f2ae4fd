import pg from 'pg'
import { onTestFinished } from 'vitest'
import { tryLockSession } from '../../src/lib/advisory-lock.ts'
import { orderLock, writeRefund } from '../../src/money/refund.ts'
import { topUpLock, writeTopUp } from '../../src/money/top-up.ts'
import type { StoreUnderTest } from './store-under-test.ts'

/** A refund of order T1 that was written down just now. */
export const REFUND = {
  outer_refund_no: 'app-R1',
  outer_trade_no: 'app-T1',
  enterprise_code: '',
  refund_amount: '5.00',
  refunded_before: '0.00' as string | null,
}

export const TOP_UP = {
  external_code: 'app-topup-000000000000000000001',
  account_openid: 'points',
  enterprise_code: '',
  amount: '1000.00',
  although_open: [] as string[],
}

/** Records a refund without sending it. */
export async function writeDown(store: StoreUnderTest, over: Partial<typeof REFUND> = {}): Promise<string> {
  const refund = { ...REFUND, ...over }
  const client = await store.pool.connect()
  try {
    if (!(await writeRefund(client, refund, 'cli:tester'))) throw new Error('refused by the journal')
  } finally {
    client.release()
  }
  return refund.outer_refund_no
}

export async function writeTopUpDown(
  store: StoreUnderTest,
  over: Partial<typeof TOP_UP> = {},
): Promise<boolean> {
  const client = await store.pool.connect()
  try {
    return await writeTopUp(client, { ...TOP_UP, ...over }, 'cli:tester')
  } finally {
    client.release()
  }
}

type Sent = { order: string } | { topUp: string }

/** Another process that is sending a refund of the order, or the top-up, until the test or this process ends. */
export async function sender(store: StoreUnderTest, of: Sent) {
  const end = await senderAt(store.url, of)
  return {
    /** It dies; the server frees its locks when it has noticed. */
    async dies() {
      await end()
      await store.unlocked()
    },
  }
}

/** @returns ends it */
export async function senderAt(databaseUrl: string, of: Sent): Promise<() => Promise<void>> {
  const client = new pg.Client(databaseUrl)
  let ended: Promise<void> | undefined
  const end = () => {
    ended ??= client.end()
    return ended
  }
  onTestFinished(end)
  await client.connect()
  await tryLockSession(client, 'order' in of ? orderLock(of.order) : topUpLock(of.topUp))
  return end
}
