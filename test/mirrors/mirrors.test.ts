import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { TaxpayerReader } from '../../src/mirrors/taxpayers.ts'
import { inEnglish } from '../../src/texts/message.ts'
import { dirsync } from '../cli/dirsync.ts'
import { type Company, createCompany, endOf, until } from '../helpers/company.ts'
import { casesOf, daysAgo, order, rowsOf } from './mirror-under-test.ts'

let company: Company
beforeAll(async () => {
  company = await createCompany({
    employees: 3,
    settings: { PAYMENT_ORDER_DAYS: '4', TAXPAYER_IDENTIFIERS: 'ID-1,ID-2' },
  })
  await company.start()
})
afterAll(() => company[Symbol.asyncDispose]())
beforeEach(() => company.control('DELETE', 'faults'))

const seed = (what: string, rows: object[]) => company.control('POST', what, rows)
const orders = async () => rowsOf(company, 'payment_order')

describe('payment orders', () => {
  test('of the whole window are read, page by page, each as the platform has it', async () => {
    await seed('orders', [
      ...Array.from({ length: 230 }, (_, i) => order(i, 0)),
      order(500, 3, { total_amount: '99999999.99', refund_amount: '0.10', asset_code: 'CASH' }),
      order(600, 4),
    ])
    const run = await company.run('orders')
    expect(run).toMatchObject({
      state: 'done',
      message: null,
      result: {
        outcomes: { updated: 2, in_sync: 2 },
        rows: { read: 231, changed: 231 },
        calls: { 'enterprise/consume/list': 6 },
      },
    })
    const rows = await orders()
    expect(rows).toHaveLength(231)
    expect(rows.at(-1)).toMatchObject({
      trade_no: 'T000000000000500',
      userid: 'e0000',
      total_amount: '99999999.99',
      refund_amount: '0.10',
      status: 3,
      asset_code: 'CASH',
      created_at: new Date(`${daysAgo(3)}T00:08:20+08:00`),
    })
    expect(JSON.stringify(rows)).not.toContain('Person 0')
    const { rows: progress } = await company.db.query(
      'select planned, plan from dirsync.sync_run where id = $1',
      [run.id],
    )
    expect(progress).toEqual([
      { planned: 4, plan: { reasons: { days: 4, older_orders: 0 }, sample: expect.any(Array) } },
    ])
  })

  test('that did not change are not written, and only today and yesterday are read again', async () => {
    const before = await orders()
    const calls = await company.spent(() => company.run('orders'))
    expect(calls).toEqual({ 'enterprise/consume/list': 4 })
    expect(await orders()).toEqual(before)
  })

  test('that changed are written, and they alone', async () => {
    const before = await orders()
    await seed('orders', [
      order(7, 0, { status: 6, refund_amount: '12.50', refund_time: `${daysAgo(0)} 01:00:00` }),
    ])
    expect((await company.run('orders')).result).toMatchObject({ rows: { read: 230, changed: 1 } })
    const after = await orders()
    const changed = after.filter((row, i) => row.xmin !== before[i]?.xmin)
    expect(changed).toMatchObject([{ trade_no: 'T000000000000007', status: 6, refund_amount: '12.50' }])
  })

  test('that move between pages while they are read are all found', async () => {
    await seed(
      'orders',
      Array.from({ length: 205 }, (_, i) => order(2000 + i, 2)),
    )
    await company.db.query('delete from dirsync.mirror_day')
    await company.control('POST', 'faults', [{ operation: 'enterprise/consume/list', latencyMs: 100 }])
    const { rows } = await company.db.query(`select dirsync.resync('orders') as id`)
    const pageOf = `select from dirsync.mirror_task where entity_key = $1 and next_page = 2`
    await until(async () => (await company.db.query(pageOf, [daysAgo(2)])).rowCount === 1)
    // The newest of the day goes, and everybody behind it moves up: one slips from the second page to the first.
    await seed('orders', [order(2204, 30)])
    expect(await endOf(company.db, rows[0].id)).toMatchObject({ state: 'done' })
    const numbers = (await orders()).map(row => Number(String(row.trade_no).slice(1)))
    expect(numbers.filter(number => number >= 2000 && number < 2204)).toHaveLength(204)
  })

  test('that come while the pages are read are found by reading them again', async () => {
    await company.db.query('delete from dirsync.mirror_day')
    await company.db.query('delete from dirsync.payment_order where listed_on = $1', [daysAgo(2)])
    await company.control('POST', 'faults', [{ operation: 'enterprise/consume/list', latencyMs: 100 }])
    const { rows } = await company.db.query(`select dirsync.resync('orders') as id`)
    const pageOf = `select from dirsync.mirror_task where entity_key = $1 and next_page = 2`
    await until(async () => (await company.db.query(pageOf, [daysAgo(2)])).rowCount === 1)
    // It goes before all others, onto the page that was read.
    await seed('orders', [order(2300, 2)])
    expect(await endOf(company.db, rows[0].id)).toMatchObject({ state: 'done' })
    expect((await orders()).map(row => row.trade_no)).toContain('T000000000002300')
  })

  test('are all read from a platform that returns fewer a page than requested, and read again', async () => {
    const day = daysAgo(2)
    const read = async (status: number) => {
      await company.control('DELETE', 'faults')
      const listed = Array.from({ length: 120 }, (_, i) => order(7000 + i, 2, { status }))
      const pages = [0, 1, 2].map(page => ({
        operation: 'enterprise/consume/list',
        match: { time_start: day, page_index: String(page + 1) },
        body: JSON.stringify({ total_count: 120, data_list: listed.slice(page * 50, page * 50 + 50) }),
      }))
      await company.control('POST', 'faults', pages)
      await company.db.query('delete from dirsync.mirror_day where day = $1', [day])
      await company.run('orders')
      const { rows } = await company.db.query(
        `select count(*)::int as n from dirsync.payment_order where listed_on = $1 and status = $2`,
        [day, status],
      )
      return rows[0].n
    }
    await company.db.query('delete from dirsync.payment_order where listed_on = $1', [day])
    expect(await read(3)).toBe(120)
    expect(await read(6)).toBe(120)
    await company.db.query('delete from dirsync.payment_order where listed_on = $1', [day])
  })

  test('of which the platform counts more than it lists are kept; the run says so, and their day is read as ever', async () => {
    const day = daysAgo(2)
    const { rows: stale } = await company.db.query(
      `insert into dirsync.payment_order (trade_no, listed_on, status) values ('STALE', $1, 3) returning trade_no`,
      [day],
    )
    expect(stale).toHaveLength(1)
    const listed = [
      ...Array.from({ length: 3 }, (_, i) => order(7200 + i, 2)),
      { ...order(0, 2), trade_no: null },
    ]
    const lists = (total_count: number) =>
      company.control(
        'POST',
        'faults',
        [listed, []].map((data_list, page) => ({
          operation: 'enterprise/consume/list',
          match: { time_start: day, page_index: String(page + 1) },
          body: JSON.stringify({ total_count, data_list }),
        })),
      )
    const read = async () => {
      await company.db.query(
        `update dirsync.mirror_day set read_at = read_at - interval '1 day' where day = $1`,
        [day],
      )
      const { id } = await company.run('orders')
      const { rows } = await company.db.query(
        `select (a.calls ->> 'enterprise/consume/list')::int as calls, r.state,
                dirsync.in_language('en', r.message) as message
         from dirsync.attempt a join dirsync.sync_run r on r.id = a.run_id where r.id = $1 and a.entity_key = $2`,
        [id, day],
      )
      return rows[0]
    }
    const unnumbered = (days: number) =>
      `Days with orders that have no number and are not mirrored: ${days}, such as ${day} (orders without one: 1).`
    const short = (counted: number) => ({
      state: 'done',
      message: `Lists of which the platform counts more rows than it returned: 1, such as ${day}, of which it counts ${counted} and returned 4. ${unnumbered(1)}`,
    })
    const days = async () =>
      (await company.db.query('select missing from dirsync.mirror_day where day = $1', [day])).rows
    await lists(5)
    expect(await read()).toEqual({ calls: 6, ...short(5) })
    expect(await days()).toEqual([{ missing: 1 }])
    expect((await orders()).map(row => row.trade_no)).toContain('T000000000007200')
    // It misses as many as before: so that is how the platform counts.
    expect(await read()).toEqual({ calls: 2, ...short(5) })
    await company.control('DELETE', 'faults')
    await lists(6)
    expect(await read()).toEqual({ calls: 6, ...short(6) })
    await company.control('DELETE', 'faults')
    // One without a number counts, too.
    await lists(4)
    expect(await read()).toEqual({ calls: 1, state: 'done', message: unnumbered(1) })
    expect(await days()).toEqual([{ missing: 0 }])
    const body = JSON.stringify({ total_count: 1, data_list: [{ ...order(0, 0), trade_no: null }] })
    await company.control('POST', 'faults', [
      { operation: 'enterprise/consume/list', match: { time_start: daysAgo(1) }, body },
    ])
    expect(await read()).toMatchObject({ message: unnumbered(2).replace(day, daysAgo(1)) })
    await company.control('DELETE', 'faults')
    await company.db.query('delete from dirsync.payment_order where listed_on = $1', [day])
  })

  test.each([
    ['said to be missing perhaps by null in place of a page', null, true],
    ['said to be missing perhaps by null without a count', { total_count: null, data_list: null }, true],
    ['none by null with a count of none', { total_count: 0, data_list: null }, false],
    ['none by an empty list, also without a count', { total_count: null, data_list: [] }, false],
  ])('are %s', async (_, data, isOdd) => {
    const day = daysAgo(2)
    const forget = () => company.db.query('delete from dirsync.mirror_day where day = $1', [day])
    await seed('orders', [order(7500, 2)])
    await forget()
    await company.run('orders')
    await forget()
    const match = { time_start: day }
    const body = JSON.stringify({ code: 0, data })
    await company.control('POST', 'faults', [{ operation: 'enterprise/consume/list', match, body }])
    expect(await company.run('orders')).toMatchObject({
      state: 'done',
      message: isOdd
        ? expect.stringMatching(`^Days with orders for which null came .*: 1, such as ${day}\\.$`)
        : null,
    })
    await company.control('DELETE', 'faults')
    const isReadAgain = async () => {
      const { id } = await company.run('orders')
      const read = 'select from dirsync.attempt where run_id = $1 and entity_key = $2'
      return (await company.db.query(read, [id, day])).rowCount !== 0
    }
    expect(await isReadAgain()).toBe(isOdd)
    expect(await isReadAgain()).toBe(false)
  })

  test('of a day are none by null where none are known', async () => {
    const day = daysAgo(2)
    await company.db.query('delete from dirsync.mirror_day where day = $1', [day])
    await company.db.query('delete from dirsync.payment_order where listed_on = $1', [day])
    const fault = { operation: 'enterprise/consume/list', match: { time_start: day } }
    await company.control('POST', 'faults', [{ ...fault, body: JSON.stringify({ code: 0, data: null }) }])
    expect(await company.run('orders')).toMatchObject({ state: 'done', message: null })
    const { rowCount } = await company.db.query('select from dirsync.mirror_day where day = $1', [day])
    expect(rowCount).toBe(1)
  })

  test('whose pages repeat without end are given up', async () => {
    const day = daysAgo(2)
    const many = Array.from({ length: 100 }, (_, i) => order(7300 + i, 2))
    await company.control('POST', 'faults', [
      {
        ...{ operation: 'enterprise/consume/list', match: { time_start: day } },
        body: JSON.stringify({ total_count: 1_000_000, data_list: many }),
      },
    ])
    await company.db.query('delete from dirsync.mirror_day where day = $1', [day])
    const { rows } = await company.db.query(`select dirsync.resync('orders')::int as id`)
    const last = `update dirsync.mirror_task set attempts = 4, not_before = now() where attempts > 0`
    await until(async () => (await company.db.query(last)).rowCount === 1)
    const run = await endOf(company.db, rows[0].id)
    expect(run.state).toBe('failed')
    expect(run.result?.calls?.['enterprise/consume/list']).toBeLessThan(12)
    await company.db.query('delete from dirsync.payment_order where listed_on = $1', [day])
    await company.db.query('delete from dirsync.dead_letter')
  })

  test('that left the window before they were final are asked for one by one, once a day, until they are', async () => {
    const late = { ...order(900, 20, { status: 4 }) }
    await seed('orders', [late])
    await company.db.query(
      `insert into dirsync.payment_order (trade_no, status, listed_on) values ($1, 4, $2), ('T000000000000901', 4, $3)`,
      [late.trade_no, daysAgo(20), daysAgo(181)],
    )
    expect(await company.spent(() => company.run('orders'))).toMatchObject({ 'enterprise/consume/get': 1 })
    expect(await company.spent(() => company.run('orders'))).not.toHaveProperty('enterprise/consume/get')

    await seed('orders', [{ ...late, status: 6 }])
    await company.db.query(`update dirsync.payment_order set asked_at = asked_at - interval '1 day'`)
    await company.run('orders')
    expect((await orders()).find(row => row.trade_no === late.trade_no)).toMatchObject({ status: 6 })
    await company.db.query(`update dirsync.payment_order set asked_at = asked_at - interval '1 day'`)
    expect(await company.spent(() => company.run('orders'))).not.toHaveProperty('enterprise/consume/get')
  })

  test('that left the window unpaid, or in a state that is not known, are left to the weekly reading of their day', async () => {
    const unpaid = order(905, 20, { status: 1, pay_amount: '0.00' })
    await seed('orders', [unpaid])
    await company.db.query(
      `insert into dirsync.payment_order (trade_no, status, listed_on)
       values ($1, 1, $2), ('T000000000000906', 8, $2), ('T000000000000907', null, $2)`,
      [unpaid.trade_no, daysAgo(20)],
    )
    expect(await company.spent(() => company.run('orders'))).not.toHaveProperty('enterprise/consume/get')
    await seed('orders', [{ ...unpaid, status: 3, pay_amount: '12.50' }])
    await company.db.query(
      `insert into dirsync.mirror_day (day, read_at) values ($1, now() - interval '8 days')`,
      [daysAgo(20)],
    )
    expect(await company.spent(() => company.run('orders'))).not.toHaveProperty('enterprise/consume/get')
    expect((await orders()).find(({ trade_no }) => trade_no === unpaid.trade_no)).toMatchObject({ status: 3 })
    await company.db.query(`delete from dirsync.payment_order where trade_no like 'T00000000000090_'`)
    await company.db.query('delete from dirsync.mirror_day where day <= $1', [daysAgo(4)])
  })

  test('that the platform no longer has are marked as gone and asked for no more, until it lists them again', async () => {
    const lost = { ...order(910, 20, { status: 5 }) }
    await company.db.query(
      `insert into dirsync.payment_order (trade_no, status, listed_on) values ($1, 5, $2)`,
      [lost.trade_no, daysAgo(20)],
    )
    const kept = async () => (await orders()).find(({ trade_no }) => trade_no === lost.trade_no)
    const nextDay = async () => {
      await company.db.query(`update dirsync.payment_order set asked_at = asked_at - interval '1 day'`)
      return company.spent(() => company.run('orders'))
    }
    expect(await nextDay()).toMatchObject({ 'enterprise/consume/get': 1 })
    expect(await kept()).toMatchObject({ status: 5, gone_at: expect.any(Date) })
    expect(await nextDay()).not.toHaveProperty('enterprise/consume/get')
    // Its day is read once a week.
    await seed('orders', [lost])
    await company.db.query(
      `insert into dirsync.mirror_day (day, read_at) values ($1, now() - interval '8 days')`,
      [daysAgo(20)],
    )
    await company.run('orders')
    expect(await kept()).toMatchObject({ status: 5, gone_at: null })
    expect(await nextDay()).toMatchObject({ 'enterprise/consume/get': 1 })
    await company.db.query('delete from dirsync.payment_order where trade_no = $1', [lost.trade_no])
    await company.db.query('delete from dirsync.mirror_day where day <= $1', [daysAgo(4)])
  })

  test('of an enterprise that is no longer asked for are left as they are, however many there are', async () => {
    const left = async () =>
      (
        await company.db.query(
          `select o.*, o.xmin from dirsync.payment_order o where enterprise_code = 'LEFT'`,
        )
      ).rows
    await company.db.query(
      `insert into dirsync.payment_order (enterprise_code, trade_no) values ('LEFT', 'T000000000000911')`,
    )
    const before = await left()
    await company.run('orders')
    expect(await left()).toEqual(before)
    await company.db.query(`delete from dirsync.payment_order where enterprise_code = 'LEFT'`)
  })

  test('of days that left the window without having been read to their end are read all the same', async () => {
    // The older one was read after its end, the other one while it lasted.
    await company.db.query(
      `insert into dirsync.mirror_day (day, read_at) values ($1, now()), ($2, $2::date + interval '10 hours')`,
      [daysAgo(8), daysAgo(7)],
    )
    await seed('orders', [order(801, 7), order(802, 5)])
    const run = await company.run('orders')
    const { rows } = await company.db.query(
      'select entity_key from dirsync.attempt where run_id = $1 order by id',
      [run.id],
    )
    expect(rows.map(row => row.entity_key)).toEqual([0, 1, 4, 5, 6, 7].map(daysAgo))
    expect((await orders()).map(row => row.trade_no)).toEqual(
      expect.arrayContaining(['T000000000000801', 'T000000000000802']),
    )
    expect(await company.spent(() => company.run('orders'))).toEqual({ 'enterprise/consume/list': 4 })
  })

  describe('whose day has left the window', () => {
    const DAY = daysAgo(40)
    const list = { 'enterprise/consume/list': 1 }
    /** Days of the window, and what is under way, that every run reads anyway. */
    let usual: Record<string, number>
    /** What a run costs beyond that. */
    const extra = async () => {
      const calls = await company.spent(() => company.run('orders'))
      return Object.fromEntries(
        Object.entries(calls)
          .map(([operation, n]) => [operation, n - (usual[operation] ?? 0)] as const)
          .filter(([, n]) => n !== 0),
      )
    }
    const readDaysAgo = (days: number) =>
      company.db.query(
        `insert into dirsync.mirror_day (day, read_at) values ($1, now() - $2 * interval '1 day')
         on conflict (enterprise_code, day) do update set read_at = excluded.read_at`,
        [DAY, days],
      )
    const mirrored = async (tradeNo: string) => (await orders()).find(({ trade_no }) => trade_no === tradeNo)
    const ORDER = 'T000000000000950'

    beforeAll(async () => {
      await company.db.query('delete from dirsync.payment_order; delete from dirsync.mirror_day')
      const days = Array.from({ length: 60 }, (_, age) => daysAgo(age))
      await company.db.query(
        'insert into dirsync.mirror_day (day, read_at) select unnest($1::date[]), now()',
        [days],
      )
      await seed('orders', [order(950, 40, { out_trade_no: 'test-application-950' })])
      await readDaysAgo(8)
      await company.db.query(
        `insert into dirsync.payment_order (trade_no, out_trade_no, status, total_amount, pay_amount, refund_amount, listed_on)
         values ($1, 'test-application-950', 3, 12.5, 12.5, 0, $2)`,
        [ORDER, DAY],
      )
      await company.run('orders')
      usual = await company.spent(() => company.run('orders'))
    })

    test('are read again once a week, in lists, as long as a refund is possible', async () => {
      await seed('orders', [
        order(950, 40, { out_trade_no: 'test-application-950', status: 3, refund_amount: '5.00' }),
      ])
      await readDaysAgo(6)
      expect(await extra()).toEqual({})
      await readDaysAgo(8)
      expect(await extra()).toEqual(list)
      expect(await mirrored(ORDER)).toMatchObject({ status: 3, refund_amount: '5.00' })
      expect(await extra()).toEqual({})
    })

    test('are final when they are refunded in full or reversed, and not before', async () => {
      for (const [differs, expected] of [
        [{ status: 6, refund_amount: '12.00' }, list],
        [{ status: 6, refund_amount: '12.50' }, {}],
        [{ status: 3, refund_amount: '0.00' }, list],
        [{ status: 7, refund_amount: '0.00' }, {}],
      ] as const) {
        await seed('orders', [order(950, 40, { out_trade_no: 'test-application-950', ...differs })])
        await company.db.query('update dirsync.payment_order set status = 3 where trade_no = $1', [ORDER])
        await readDaysAgo(8)
        expect(await extra()).toEqual(list)
        expect(await mirrored(ORDER)).toMatchObject(differs)
        await readDaysAgo(8)
        expect(await extra(), JSON.stringify(differs)).toEqual(expected)
      }
    })

    test('are asked for by themselves when dirsync has refunded them, or a notification tells of it', async () => {
      const get = { 'enterprise/consume/get': 1 }
      await readDaysAgo(1)
      await company.db.query(
        `update dirsync.payment_order set status = 3, asked_at = null where trade_no = $1`,
        [ORDER],
      )
      await seed('orders', [
        order(950, 40, { out_trade_no: 'test-application-950', status: 3, refund_amount: '6.00' }),
      ])
      await company.db.query(
        `insert into dirsync.refund
           (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at, settled_at)
         values ('R', 'test-application-950', 6, 'accepted', 'tester', now() - interval '50 minutes', now())`,
      )
      expect(await extra()).toEqual(get)
      expect(await mirrored(ORDER)).toMatchObject({ refund_amount: '6.00' })
      expect(await extra()).toEqual({})
      await company.db.query(`update dirsync.refund set state = 'notified', notified_at = now()`)
      expect(await extra()).toEqual(get)
      expect(await extra()).toEqual({})
    })

    test('are not asked for because of a refund of long ago, after what tells that it was read is gone', async () => {
      await company.db.query(
        `with refunded as (
           insert into dirsync.payment_order (trade_no, out_trade_no, status, listed_on)
           values ('OLD', 'old', 6, current_date - 410) returning out_trade_no, listed_on)
         insert into dirsync.refund
           (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at, settled_at)
         select 'OLD', out_trade_no, 1, 'accepted', 'tester', listed_on, listed_on from refunded`,
      )
      expect(await extra()).toEqual({})
      await company.db.query(`delete from dirsync.payment_order where trade_no = 'OLD'`)
    })

    test('are asked for once more if dirsync refunded them while they were asked for', async () => {
      await readDaysAgo(1)
      await company.db.query(
        `update dirsync.payment_order set status = 5, asked_at = null where trade_no = $1`,
        [ORDER],
      )
      await company.control('POST', 'faults', [{ operation: 'enterprise/consume/get', hold: true, times: 1 }])
      const { rows } = await company.db.query(`select dirsync.resync('orders') as id`)
      await until(async () => (await company.control<unknown[]>('GET', 'faults')).length === 0)
      await company.db.query(
        `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at)
         values ('R0', 'test-application-950', 1, 'accepted', 'tester', now())`,
      )
      await company.control('DELETE', 'faults')
      await endOf(company.db, Number(rows[0].id))
      expect(await extra()).toEqual({ 'enterprise/consume/get': 1 })
      expect(await extra()).toEqual({})
    })

    test('are asked for once more if dirsync refunded them while the pages of their day were read', async () => {
      const long = daysAgo(41)
      const many = Array.from({ length: 101 }, (_, i) => order(2000 + i, 41, { out_trade_no: `long-${i}` }))
      await seed('orders', many)
      await company.db.query('delete from dirsync.mirror_day where day = $1', [long])
      const secondPage = { time_start: long, page_index: '2' }
      await company.control('POST', 'faults', [
        { operation: 'enterprise/consume/list', match: secondPage, hold: true },
      ])
      const { rows } = await company.db.query(`select dirsync.resync('orders') as id`)
      // The first page has the latest ones.
      await until(async () => (await mirrored(`${many.at(-1)?.trade_no}`)) !== undefined)
      await company.db.query(
        `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at)
         values ('R2', 'long-100', 1, 'accepted', 'tester', now())`,
      )
      await company.control('DELETE', 'faults')
      await endOf(company.db, Number(rows[0].id))
      expect(await extra()).toEqual({ 'enterprise/consume/get': 1 })
      expect(await extra()).toEqual({})
      await company.db.query('delete from dirsync.payment_order where listed_on = $1', [long])
    })

    test('are read after the clock was put back, which had been ahead when they were last read', async () => {
      await readDaysAgo(-20)
      expect(await extra()).toEqual(list)
      expect(await extra()).toEqual({})
      // Their day is up to date again, and they were asked for later than now.
      const ahead = (status: number) =>
        company.db.query(
          `update dirsync.payment_order set status = $2, asked_at = now() + interval '20 days' where trade_no = $1`,
          [ORDER, status],
        )
      await ahead(5)
      expect(await extra()).toEqual({ 'enterprise/consume/get': 1 })
      await ahead(3)
      await company.db.query(`update dirsync.refund set notified_at = now() where outer_refund_no = 'R'`)
      expect(await extra()).toEqual({ 'enterprise/consume/get': 1 })
      expect(await extra()).toEqual({})
    })
  })

  test('of a payer who is not in HR are a finding, once HR has been read, until HR has them', async () => {
    await seed('orders', [order(300, 0, { userid: 'stranger' }), order(301, 0, { userid: 'stranger' })])
    await company.run('orders')
    expect(await casesOf(company, 'mirror-orders')).toEqual([])

    await company.run('changes')
    expect((await company.run('orders')).result?.deadLetters).toEqual({ unknown_payer: 1 })
    await company.run('orders')
    const [found, ...others] = await casesOf(company, 'mirror-orders')
    expect(others).toEqual([])
    expect(found).toMatchObject({
      entity: 'employee',
      entity_key: 'stranger',
      category: 'unknown_payer',
      state: 'open',
      occurrences: 1,
    })

    await company.db.query('select dirsync.retry($1)', [found.id])
    await expect
      .poll(async () => (await casesOf(company, 'mirror-orders'))[0])
      .toMatchObject({ state: 'open', occurrences: 2 })

    await company.db.query(`insert into dirsync.employee (userid) values ('stranger')`)
    await company.run('orders')
    expect(await casesOf(company, 'mirror-orders')).toEqual([])
  })

  test("are part of the employee's story, and a run of them can be waited for", async () => {
    const waited = await dirsync(['resync', '--orders', '--wait'], company.settings)
    expect(waited).toMatchObject({ code: 0 })
    expect(waited.stdout).toMatch(/^Run \d+: payment orders · done\n/)
    expect(waited.stdout).toMatch(/[Rr]ows\b.*232/)
    expect(waited.stderr).toMatch(/run \d+ +2\/2/)
    const story = await dirsync(['employee', 'e0000'], company.settings)
    expect(story.stdout).toMatch(/Payment orders\n.*\n.*T000000000000229 .*Lunch +3 +12\.50/)
    const document = (await dirsync(['employee', 'e0000', '--json'], company.settings)).json()
    expect(document.payment_orders).toHaveLength(10)
    expect(document.payment_orders[0]).toMatchObject({ pay_amount: '12.50', status: 3 })
  })

  test('that dirsync refunds within the window are read in the next run, although their day was read today', async () => {
    const [today, earlier] = [0, 3].map(age => ({
      ...order(820 + age, age),
      out_trade_no: `test-application-82${age}`,
    }))
    await seed(
      'orders',
      [today, earlier].map(each => ({ ...each, refund_amount: '0.00' })),
    )
    await company.db.query('delete from dirsync.mirror_day where day = $1', [daysAgo(3)])
    await company.run('orders')
    await seed(
      'orders',
      [today, earlier].map(each => ({ ...each, refund_amount: '2.00' })),
    )
    await company.db.query(
      `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at)
       select 'W' || trade, trade, 2, 'accepted', 'tester', now() from unnest($1::text[]) as trade`,
      [[today?.out_trade_no, earlier?.out_trade_no]],
    )
    // The day of the other one is read in every run.
    const get = { 'enterprise/consume/get': 1 }
    expect(await company.spent(() => company.run('orders'))).toMatchObject(get)
    const numbers = [today?.trade_no, earlier?.trade_no]
    expect(
      (await orders()).filter(row => numbers.includes(row.trade_no as string)).map(row => row.refund_amount),
    ).toEqual(['2.00', '2.00'])
    expect(await company.spent(() => company.run('orders'))).not.toHaveProperty('enterprise/consume/get')
  })

  test('that come while today is read are left to the next run, and are not missing', async () => {
    const today = daysAgo(0)
    const match = { time_start: today, page_index: '2' }
    await company.control('POST', 'faults', [{ operation: 'enterprise/consume/list', match, hold: true }])
    const { rows } = await company.db.query(`select dirsync.resync('orders')::int as id`)
    const atSecond = 'select from dirsync.mirror_task where entity_key = $1 and next_page = 2'
    await until(async () => (await company.db.query(atSecond, [today])).rowCount === 1)
    const late = [order(3000, 0), order(3001, 0)]
    await seed('orders', late)
    await company.control('DELETE', 'faults')
    expect(await endOf(company.db, rows[0].id)).toMatchObject({ state: 'done', message: null })
    const { rows: read } = await company.db.query(
      `select a.calls, d.missing from dirsync.attempt a join dirsync.mirror_day d on d.day = a.entity_key::date
       where run_id = $1 and entity_key = $2`,
      [rows[0].id, today],
    )
    expect(read).toEqual([{ calls: { 'enterprise/consume/list': 3 }, missing: 0 }])
    await company.run('orders')
    expect((await orders()).map(row => row.trade_no)).toEqual(
      expect.arrayContaining(late.map(({ trade_no }) => trade_no)),
    )
  })
})

describe('limit accounts', () => {
  const account = (id: string, differs: object = {}) => ({
    account_openid: id,
    name: `Account ${id}`,
    ...differs,
  })
  const kept = async () => [
    await rowsOf(company, 'limit_account'),
    await rowsOf(company, 'limit_sub_account'),
  ]

  test('are kept with their sub-accounts; what did not change is not written', async () => {
    await seed('accounts', [
      account('A1', {
        balance: '0.30',
        sub_limits: [
          { id: 1, name: 'One' },
          { id: 2, name: 'Two' },
        ],
      }),
      account('A2', { product_category: 107 }),
    ])
    expect((await company.run('accounts')).result).toMatchObject({ rows: { read: 4, changed: 4 } })
    const before = await kept()
    expect(before).toMatchObject([
      [
        { account_openid: 'A1', balance: '0.30', status: 1, gone_at: null },
        { account_openid: 'A2', product_category: 107 },
      ],
      [
        { account_openid: 'A1', id: '1', name: 'One' },
        { account_openid: 'A1', id: '2', name: 'Two' },
      ],
    ])
    expect(await company.run('accounts')).toMatchObject({
      state: 'done',
      result: { outcomes: { in_sync: 1 } },
    })
    expect(await kept()).toEqual(before)
  })

  test('that the platform no longer lists are marked as gone, until they are back', async () => {
    await seed('accounts', [account('A1', { balance: '0.30', sub_limits: [{ id: 2, name: 'Two' }] })])
    const gone = {
      operation: 'assets/limit/enterprise/get',
      times: 1,
      body: JSON.stringify({
        code: 0,
        msg: 'OK',
        data: [{ account_openid: 'A1', name: 'Account A1', product_category: 1, balance: 0.3, status: 1 }],
      }),
    }
    await company.control('POST', 'faults', [gone])
    await company.run('accounts')
    const [accounts = [], subs = []] = await kept()
    expect(accounts.map(row => row.gone_at !== null)).toEqual([false, true])
    expect(subs.map(row => row.gone_at !== null)).toEqual([true, true])
    await company.run('accounts')
    const [, back = []] = await kept()
    expect(back.map(row => row.gone_at !== null)).toEqual([true, false])
  })

  test('that are of an enterprise which is no longer asked for are marked as gone', async () => {
    await company.db.query(`
      insert into dirsync.limit_account (enterprise_code, account_openid) values ('LEFT', 'A9');
      insert into dirsync.limit_sub_account (enterprise_code, account_openid, id) values ('LEFT', 'A9', '1')`)
    await company.run('accounts')
    const [accounts = [], subs = []] = await kept()
    const left = [...accounts, ...subs].filter(row => row.account_openid === 'A9')
    expect(left.map(row => row.gone_at !== null)).toEqual([true, true])
    await company.db.query(`
      delete from dirsync.limit_account where account_openid = 'A9';
      delete from dirsync.limit_sub_account where account_openid = 'A9'`)
  })

  test.each([
    ['null in place of a list', null],
    [
      'a row without an id',
      [account('A1', { sub_limits: [{ id: 2 }] }), account('', { account_openid: null })],
    ],
    ['a sub-account without an id', [account('A1', { sub_limits: [{ id: null }] }), account('A2')]],
  ])('are not marked gone by %s; the run says so', async (_, data) => {
    const gone = async () =>
      (await kept()).flat().map(({ account_openid, id, gone_at }) => [account_openid, id, gone_at !== null])
    await company.run('accounts')
    const before = await gone()
    const answer = { operation: 'assets/limit/enterprise/get', times: 1 }
    await company.control('POST', 'faults', [{ ...answer, body: JSON.stringify({ code: 0, data }) }])
    expect(await company.run('accounts')).toMatchObject({
      state: 'done',
      message: expect.stringMatching(
        /nothing of them is marked gone: 1, such as assets\/limit\/enterprise\/get\.$/,
      ),
    })
    expect(await gone()).toEqual(before)
    expect(await company.run('accounts')).toMatchObject({ state: 'done', message: null })
  })

  test('are kept after an answer without a list, which is asked for again', async () => {
    const before = await kept()
    await company.control('POST', 'faults', [
      { operation: 'assets/limit/enterprise/get', times: 1, body: JSON.stringify({ code: 0, msg: 'OK' }) },
    ])
    expect(await company.run('accounts')).toMatchObject({
      state: 'done',
      result: { calls: { 'assets/limit/enterprise/get': 2 } },
    })
    expect(await kept()).toEqual(before)
  })
})

test('a retry that seems to be a month away, since the clock was put back, is made at once', async () => {
  const operation = 'assets/limit/enterprise/get'
  await company.control('POST', 'faults', [{ operation, httpStatus: 500, times: 2 }])
  const { rows } = await company.db.query(`select dirsync.resync('accounts') as id`)
  await until(async () => {
    const { rowCount } = await company.db.query(
      `update dirsync.mirror_task set not_before = now() + interval '30 days' where attempts > 0`,
    )
    return rowCount === 1
  })
  expect(await endOf(company.db, Number(rows[0].id))).toMatchObject({ state: 'done' })
})

test('taxpayers of both natures are kept, by number, and marked gone', async () => {
  const taxpayer = (identifier: string, differs: object = {}) => ({
    identifier,
    taxpayer_name: `Company ${identifier}`,
    ...differs,
  })
  await seed('taxpayers', [
    taxpayer('ID-1'),
    taxpayer('ID-2', { taxpayer_nature: 1, status: 2 }),
    taxpayer('ID-3'),
  ])
  const run = await company.run('taxpayers')
  expect(run.result).toMatchObject({ rows: { read: 2, changed: 2 }, calls: { 'taxpayer/findList': 4 } })
  const before = await rowsOf(company, 'taxpayer')
  expect(before).toMatchObject([
    { identifier: 'ID-1', taxpayer_nature: 2, taxpayer_name: 'Company ID-1', status: 1, gone_at: null },
    { identifier: 'ID-2', taxpayer_nature: 1, status: 2 },
  ])
  await company.run('taxpayers')
  expect(await rowsOf(company, 'taxpayer')).toEqual(before)

  const none = { code: 0, msg: 'OK', data: { total_count: 0, has_next: false, data_list: [] } }
  await company.control('POST', 'faults', [
    { operation: 'taxpayer/findList', match: { identifier: 'ID-1' }, body: JSON.stringify(none) },
  ])
  await company.run('taxpayers')
  expect((await rowsOf(company, 'taxpayer')).map(row => row.gone_at !== null)).toEqual([true, false])
})

test('taxpayers are not marked gone because the platform lists fewer than it counts', async () => {
  const listed = async (total_count: number, ...names: string[]) => {
    await company.control('DELETE', 'faults')
    const data_list = names.map(taxpayer_name => ({ identifier: 'ID-1', taxpayer_name, taxpayer_nature: 1 }))
    const body = JSON.stringify({ code: 0, msg: 'OK', data: { total_count, has_next: false, data_list } })
    const match = { identifier: 'ID-1', taxpayer_nature: '1' }
    await company.control('POST', 'faults', [{ operation: 'taxpayer/findList', match, body }])
    const { state, message } = await company.run('taxpayers')
    const rows = (await rowsOf(company, 'taxpayer')).filter(row =>
      String(row.taxpayer_name).startsWith('Short'),
    )
    return { state, message, gone: rows.map(row => row.gone_at !== null) }
  }
  const whole = { state: 'done', message: null }
  expect(await listed(3, 'Short 1', 'Short 2', 'Short 3')).toEqual({ ...whole, gone: [false, false, false] })
  expect(await listed(3, 'Short 1')).toEqual({
    state: 'done',
    message: expect.stringMatching(/: 1, such as ID-1 1, of which it counts 3 and returned 1\.$/),
    gone: [false, false, false],
  })
  expect(await listed(1, 'Short 1')).toEqual({ ...whole, gone: [false, true, true] })
  await company.db.query(`delete from dirsync.taxpayer where taxpayer_name like 'Short%'`)
})

test.each([
  ['not marked gone by null in place of a page; the run says so', null, false],
  [
    'not marked gone by null in place of the list; the run says so',
    { total_count: null, has_next: false, data_list: null },
    false,
  ],
  ['marked gone by an empty list, also without a count', { data_list: [] }, true],
])('taxpayers are %s', async (_, data, isGone) => {
  await seed('taxpayers', [{ identifier: 'ID-1', taxpayer_name: 'Null', taxpayer_nature: 1 }])
  await company.run('taxpayers')
  const match = { identifier: 'ID-1', taxpayer_nature: '1' }
  const body = JSON.stringify({ code: 0, data })
  await company.control('POST', 'faults', [{ operation: 'taxpayer/findList', match, body, times: 1 }])
  expect(await company.run('taxpayers')).toMatchObject({
    state: 'done',
    message: isGone ? null : expect.stringMatching(/nothing of them is marked gone: 1, such as ID-1 1\.$/),
    result: { calls: { 'taxpayer/findList': 4 } },
  })
  const kept = (await rowsOf(company, 'taxpayer')).filter(row => row.taxpayer_name === 'Null')
  expect(kept).toMatchObject([{ gone_at: isGone ? expect.any(Date) : null }])
})

test('taxpayers are not marked gone by an answer about another number, which is asked for again', async () => {
  await seed('taxpayers', [{ identifier: 'ID-1', taxpayer_name: 'Mixed', taxpayer_nature: 1 }])
  await company.run('taxpayers')
  const data_list = [{ identifier: 'ID-2', taxpayer_name: 'Company ID-2', taxpayer_nature: 1 }]
  const body = JSON.stringify({ code: 0, data: { total_count: 1, has_next: false, data_list } })
  const match = { identifier: 'ID-1', taxpayer_nature: '1' }
  await company.control('POST', 'faults', [{ operation: 'taxpayer/findList', match, body, times: 1 }])
  const run = await company.run('taxpayers')
  expect(run).toMatchObject({ state: 'done', result: { calls: { 'taxpayer/findList': 5 } } })
  const mixed = (await rowsOf(company, 'taxpayer')).filter(row => row.taxpayer_name === 'Mixed')
  expect(mixed).toMatchObject([{ gone_at: null }])
})

test('a taxpayer whose number the platform spells in other letters is marked gone, too', async () => {
  const listed = async (...identifiers: string[]) => {
    await company.control('DELETE', 'faults')
    const data = { total_count: identifiers.length, has_next: false, data_list: [] as object[] }
    data.data_list = identifiers.map(identifier => ({
      identifier,
      taxpayer_name: 'Spelt',
      taxpayer_nature: 1,
    }))
    const body = JSON.stringify({ code: 0, msg: 'OK', data })
    await company.control('POST', 'faults', [
      { operation: 'taxpayer/findList', match: { identifier: 'ID-1' }, body },
    ])
    await company.run('taxpayers')
    return (await rowsOf(company, 'taxpayer')).filter(row => row.taxpayer_name === 'Spelt')
  }
  expect(await listed('id-1')).toMatchObject([{ identifier: 'id-1', gone_at: null }])
  expect(await listed('ID-1')).toMatchObject([
    { identifier: 'ID-1', gone_at: null },
    { identifier: 'id-1', gone_at: expect.any(Date) },
  ])
  expect(await listed('id-1')).toMatchObject([
    { identifier: 'ID-1', gone_at: expect.any(Date) },
    { identifier: 'id-1', gone_at: null },
  ])
  expect(await listed()).toMatchObject([{ gone_at: expect.any(Date) }, { gone_at: expect.any(Date) }])
})

test('a taxpayer whose number is no longer asked for is marked gone', async () => {
  await company.db.query(
    `insert into dirsync.taxpayer (identifier, taxpayer_nature, taxpayer_name) values ('id-1', 3, 'As'), ('ID-9', 1, 'As')`,
  )
  await company.run('taxpayers')
  expect((await rowsOf(company, 'taxpayer')).filter(row => row.taxpayer_name === 'As')).toMatchObject([
    { identifier: 'ID-9', gone_at: expect.any(Date) },
    { identifier: 'id-1', gone_at: null },
  ])
})

test('a worker without TAXPAYER_IDENTIFIERS marks no taxpayer gone', async () => {
  await company.db.query(
    `insert into dirsync.taxpayer (identifier, taxpayer_nature, taxpayer_name) values ('ID-1', 3, 'Kept')`,
  )
  const before = await rowsOf(company, 'taxpayer')
  const db = await company.db.connect()
  try {
    const { tasks, nothing } = await new TaxpayerReader([]).plan(db, [''])
    expect(await rowsOf(company, 'taxpayer')).toEqual(before)
    expect([tasks, nothing && inEnglish([nothing])]).toEqual([
      [],
      expect.stringContaining('none is marked gone'),
    ])
  } finally {
    db.release()
  }
})

test('taxpayers with a name that PostgreSQL cannot hold are kept all the same', async () => {
  const odd = String.raw`odd\u0000\ud83d`
  const taxpayers = `{"total_count":1,"has_next":false,"data_list":[{"identifier":"ID-2","taxpayer_name":"${odd}"}]}`
  await company.control('POST', 'faults', [
    { operation: 'taxpayer/findList', match: { identifier: 'ID-2' }, body: `{"code":0,"data":${taxpayers}}` },
  ])
  expect(await company.run('taxpayers')).toMatchObject({ state: 'done' })
  expect(
    (await rowsOf(company, 'taxpayer')).filter(row => row.gone_at === null && row.identifier === 'ID-2'),
  ).toMatchObject([
    { taxpayer_nature: 1, taxpayer_name: 'odd\ufffd\ufffd' },
    { taxpayer_nature: 2, taxpayer_name: 'odd\ufffd\ufffd' },
  ])
})

test('a mirror that a worker reads without a scheduler is not said to wait for one', async () => {
  await using company = await createCompany({ employees: 1 })
  await company.start(['worker'])
  expect(await dirsync(['resync', '--orders'], company.settings)).toMatchObject({ code: 0, stderr: '' })
  const waited = await dirsync(['resync', '--orders', '--wait'], company.settings)
  expect(waited).toMatchObject({ code: 0 })
  expect(waited.stderr).not.toContain('No service is running')
  const other = await dirsync(['resync'], company.settings)
  expect(other.stderr).toMatch(/no scheduler is running/)
})
