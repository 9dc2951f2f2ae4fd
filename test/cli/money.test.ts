import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import type { CallRecord } from '../../emulator/call-log.ts'
import { createDeployment } from '../helpers/deployment.ts'
import { duringFile } from '../helpers/during.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { listening } from '../helpers/listening.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { dirsync as run, wideLines } from './dirsync.ts'
import { atTerminal } from './terminal.ts'

const APP = 'test-application'
const ACCOUNT = 'a'.repeat(32)

/** A platform with merchant orders. No process of dirsync is running, so nothing is settled by itself. */
const deployment = duringFile(createDeployment)

const dirsync = (...args: string[]) => run(args, deployment.settings)
const plant = (path: string, body: unknown) => controlOf(deployment.emulator.url)('POST', path, body)

beforeAll(async () => {
  await plant('orders', [...Array(13).keys(), 14, 16, 17, 18, 19].map(orderOf))
  await plant('accounts', [{ account_openid: ACCOUNT, name: 'Points', balance: '100.00' }])
  await plant('taxpayers', [{ identifier: 'T1', taxpayer_name: 'Example Ltd.' }])
})

const order = (number: number) => `${APP}-${String(number).padStart(4, '0')}`
const orderOf = (number: number) => ({
  trade_no: String(7_000_000_000_000_000 + number),
  out_trade_no: order(number),
  total_amount: '100.00',
  reason: 'lunch',
})

/** A refund of an order of its own, in the order of the arguments that a person would give. */
const refund = (number: number, ...more: string[]) => [
  'refund',
  'send',
  ...['--order', order(number), '--amount', '12.50', '--reason', 'damaged'],
  ...more,
]
const journal = async (table: 'refund' | 'topup', number: number | string) =>
  (
    await deployment.own.pool.query(
      table === 'refund'
        ? 'select * from dirsync.refund where outer_trade_no = $1 order by sent_at'
        : 'select * from dirsync.topup where external_code = $1',
      [typeof number === 'number' ? order(number) : number],
    )
  ).rows
/** The platform, but for refunds, which are received, and passed on once they are released. */
async function holdRefunds(platform: string) {
  const held = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const server = await listening(async (incoming, outgoing) => {
    const body = await text(incoming)
    if (incoming.url?.includes('/syncRefund')) {
      held.resolve()
      await released.promise
    }
    const headers = { 'content-type': incoming.headers['content-type'] ?? '' }
    const answer = await fetch(platform + incoming.url, { method: 'POST', headers, body })
    outgoing.end(await answer.text())
  })
  return { ...server, held: held.promise, release: released.resolve }
}

/** How often the platform was asked to refund this order. */
const sent = async (outerTradeNo: string) => {
  const control = controlOf(deployment.emulator.url)
  const { calls } = await control('GET', 'calls?operation=seller/v3/pay/syncRefund')
  return calls.filter((call: CallRecord) => JSON.stringify(call.params).includes(outerTradeNo)).length
}

test.concurrent('a refund is sent with --yes, and its number is never sent again', async () => {
  const number = `${APP}R-once`
  const accepted = await dirsync(...refund(0, '--number', number, '--yes'))
  expect(accepted).toMatchObject({ code: 0, stderr: '' })
  expect(accepted.stdout).toMatch(
    /^Refund test-applicationR-once is accepted\.\n +order +test-app.*\n +amount +12\.50$/m,
  )
  const again = await dirsync(...refund(0, '--number', number, '--yes'))
  expect(again.code).toBe(1)
  expect(again.stderr).toMatch(/was sent before \(12\.50 of order .*never sent twice/)
  expect(await sent(number)).toBe(1)
  const shown = await dirsync('refund', 'show', number)
  expect(shown.stdout).toMatch(
    /^Refund \S+ · accepted · not shown as completed yet\n[\s\S]+Sent .* \w+ \(shell\)\n/,
  )
})

test.concurrent('a refund gets a number of its own, and one JSON document as its answer', async () => {
  const accepted = await dirsync(...refund(1, '--yes', '--json'))
  expect(accepted.code).toBe(0)
  const document = accepted.json()
  expect(document).toMatchObject({
    outer_trade_no: order(1),
    refund_amount: '12.50',
    state: 'accepted',
    record_asked: true,
    restored_at: null,
  })
  expect(document.outer_refund_no).toMatch(/^test-applicationR\d{14}[0-9A-Z]{8}$/)
  expect(await journal('refund', 1)).toMatchObject([{ outer_refund_no: document.outer_refund_no }])
})

test.concurrent('a body comes from a file, amounts digit for digit, and flags override it', async () => {
  const file = join(inject('runFolder'), 'refund-body.json')
  const tradeInfo = { shopName: 'Canteen', isThirdOrders: 2, goodsDetail: [{ skuCode: 's1', price: 12.1 }] }
  const body = {
    outerTradeNo: order(2),
    outerRefundNo: `${APP}R-file`,
    reason: 'r',
    refundAmount: 99,
    tradeInfo,
  }
  await writeFile(file, JSON.stringify(body))
  const operation = ['platform', 'seller/v3/pay/syncRefund', '--json', file, '--refundAmount', '12.10']
  expect((await dirsync(...operation)).code).toBe(2)
  const accepted = await dirsync(...operation, '--yes', '--json')
  expect(accepted.json()).toMatchObject({ state: 'accepted', refund_amount: '12.10' })
  expect(await journal('refund', 2)).toMatchObject([{ refund_amount: '12.10', state: 'accepted' }])
})

test.concurrent('a rule that is broken is named before anything is sent', async () => {
  const wrong = await dirsync(
    'refund',
    'send',
    '--order',
    'other-1',
    '--amount',
    '1.001',
    '--reason',
    'x',
    '--yes',
  )
  expect(wrong).toMatchObject({ code: 2, stdout: '' })
  expect(wrong.stderr).toMatch(/^dirsync: --amount must be a decimal .* at most 2 places$/m)
  const foreign = await dirsync(
    'refund',
    'send',
    '--order',
    'other-1',
    '--amount',
    '1',
    '--reason',
    'x',
    '--yes',
  )
  expect(foreign.stderr).toMatch(/^dirsync: --order must begin with the application id/m)
})

test.concurrent('a refusal by the platform is reported with its code, and the number is free for another try', async () => {
  await plant('faults', {
    operation: 'seller/v3/pay/syncRefund',
    match: { outerTradeNo: order(3) },
    times: 1,
    code: 1000220002,
  })
  const refused = await dirsync(...refund(3, '--yes'))
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(/^dirsync: refund \S+ is rejected\n[\s\S]*code +1000220002/)
  expect(await dirsync(...refund(3, '--yes'))).toMatchObject({ code: 0 })
  const missing = await dirsync(...refund(404, '--yes', '--json'))
  expect(missing.code).toBe(1)
  expect(missing.json()).toMatchObject({ error: { operation: 'seller/pay/record', code: 1000220064 } })
  expect(missing.stderr).toMatch(
    /^dirsync: seller\/pay\/record failed, so seller\/v3\/pay\/syncRefund was not carried out$/m,
  )
})

test.concurrent('a refund that the platform did not look at is said not to be carried out', async () => {
  await plant('faults', {
    operation: 'seller/v3/pay/syncRefund',
    match: { outerTradeNo: order(11) },
    times: 1,
    httpStatus: 429,
    retryAfter: 0,
  })
  const refused = await dirsync(...refund(11, '--number', `${APP}R-early`, '--yes'))
  expect(refused.code).toBe(1)
  expect(refused.stderr).toMatch(/^dirsync: the refund was not carried out: you can send it again$/m)
  expect(refused.stderr).toMatch(/remedy +Try again later/)
  expect(await dirsync(...refund(11, '--number', `${APP}R-early`, '--yes'))).toMatchObject({ code: 0 })
})

test.concurrent('more than is left of an order is not sent, and its number stays free', async () => {
  const number = `${APP}R-most`
  const more = await dirsync(...refund(14, '--amount', '100.01', '--number', number, '--yes'))
  expect(more.code).toBe(1)
  expect(more.stderr).toMatch(/^dirsync: nothing was sent: 100\.01 is more than is left of order/)
  expect(await journal('refund', 14)).toEqual([])
  expect(await sent(number)).toBe(0)
  expect(await dirsync(...refund(14, '--number', number, '--yes'))).toMatchObject({ code: 0 })
})

test.concurrent('another refund of an order says what dirsync has sent of it, whatever the order record shows', async () => {
  expect(await dirsync(...refund(16, '--number', `${APP}R-first`, '--yes'))).toMatchObject({ code: 0 })
  // The record is behind, as while the platform is refunding.
  await plant('orders', [{ ...orderOf(16), refund_amount: '0.00' }])
  const { stdout } = await dirsync(...refund(16, '--yes'))
  expect(stdout).toMatch(/^ +refunded before +0; dirsync knows of at least 12\.50$/m)
  expect(stdout).toMatch(/^ +earlier refund +test-applicationR-first: 12\.50, accepted, sent \S+$/m)
  await plant('orders', [{ ...orderOf(16), refund_amount: '0.00' }])
  expect((await dirsync(...refund(16, '--yes', '--json'))).json()).toMatchObject({
    refunded_before: '0.00',
    refunded_at_least: '25.00',
    earlier_refunds: [
      { state: 'accepted' },
      { outer_refund_no: `${APP}R-first`, refund_amount: '12.50', state: 'accepted', may_still_come: false },
    ],
  })
})

test.concurrent('a code that is not listed as a refusal of refunds is reported as unknown', async () => {
  await plant('faults', {
    operation: 'seller/v3/pay/syncRefund',
    match: { outerTradeNo: order(9) },
    times: 1,
    code: 1000229002,
  })
  const unknown = await dirsync(...refund(9, '--number', `${APP}R-over`, '--yes'))
  expect(unknown.code).toBe(1)
  expect(unknown.stderr).toMatch(/unknown whether refund \S+ was carried out[\s\S]*code +1000229002/)
  expect(unknown.stderr.replaceAll(/\s+/g, ' ')).toMatch(
    /→ code 1000229002 does not tell whether money moved, and the order record tells only if it shows the refund/,
  )
  expect(await journal('refund', 9)).toMatchObject([{ state: 'unknown', platform_code: '1000229002' }])
})

test.concurrent('an unknown outcome is reported, shown, and settled by hand', async () => {
  await plant('faults', {
    operation: 'seller/v3/pay/syncRefund',
    match: { outerTradeNo: order(4) },
    loseAnswer: true,
  })
  const unknown = await dirsync(...refund(4, '--number', `${APP}R-lost`, '--yes'))
  expect(unknown.code).toBe(1)
  expect(unknown.stderr).toMatch(/unknown whether refund test-applicationR-lost was carried out: do not send/)
  expect(unknown.stderr).toMatch(/^ +\S.*dirsync refund settle test-applicationR-lost$/m)
  // It was sent, and nobody settles it by itself.
  expect(unknown.stderr).not.toMatch(/[Yy]our request waits/)
  expect(unknown.stderr).toMatch(/→ no worker is running, which would find it out/)
  const second = await dirsync(...refund(4, '--yes'))
  expect(second).toMatchObject({ code: 1 })
  expect(second.stderr).toMatch(/outcome of refund test-applicationR-lost of the same order is open/)

  const list = await dirsync('refund', 'list', '--state', 'unknown')
  expect(list.stdout).toMatch(
    /NUMBER .*AMOUNT +STATE +SENT\n[\s\S]*test-applicationR-lost .* 12\.50 +unknown/,
  )
  expect(wideLines(list.stdout)).toEqual([])
  const status = await dirsync('status')
  expect(status.stdout).toMatch(/^Outcome unknown\n +\d+ refunds? since .*\n(.*\n)*.*dirsync refund list$/m)
  await deployment.own.pool.query(
    `update dirsync.refund set left_to_person_at = now() where outer_refund_no = $1`,
    [`${APP}R-lost`],
  )
  expect((await dirsync('status')).stdout).toMatch(
    /^ +\d+ refunds? since .*, of which \d+ waiting for a decision/m,
  )
  expect((await dirsync('status', '--json')).json().open_refunds.for_person).toBeGreaterThan(0)
  expect((await dirsync('refund', 'show', `${APP}R-lost`)).stdout).toMatch(/refund resolve/)

  const settled = await dirsync('refund', 'settle', `${APP}R-lost`, '--json')
  expect(settled.code).toBe(0)
  expect(settled.json()).toMatchObject({ state: 'accepted' })
})

test.concurrent('settling an accepted refund fails where its order record could not be read', async () => {
  const number = `${APP}R-unread`
  expect(await dirsync(...refund(18, '--number', number, '--yes'))).toMatchObject({ code: 0 })
  await plant('faults', {
    operation: 'seller/pay/record',
    match: { outer_trade_no: order(18) },
    times: 1,
    httpStatus: 500,
  })
  const unread = await dirsync('refund', 'settle', number)
  expect(unread).toMatchObject({ code: 1, stderr: '' })
  expect(unread.stdout).toMatch(/the\s+order\s+record\s+could\s+not\s+be\s+read/i)
  expect(await dirsync('refund', 'settle', number)).toMatchObject({ code: 0 })
})

test.concurrent('an unknown outcome that the order record can never tell is not said to be settled by it', async () => {
  // The order record takes shorter numbers than a refund does.
  const long = `${APP}-${'0'.repeat(20)}`
  await plant('orders', [{ ...orderOf(13), out_trade_no: long }])
  await plant('faults', {
    operation: 'seller/v3/pay/syncRefund',
    match: { outerTradeNo: long },
    loseAnswer: true,
  })
  const number = `${APP}R-long`
  const sending = ['--order', long, '--amount', '12.50', '--reason', 'damaged', '--number', number, '--yes']
  const { code, stderr } = await dirsync('refund', 'send', ...sending)
  expect(code).toBe(1)
  expect(stderr).toMatch(/→ the order record cannot tell: ask the platform/)
  expect(stderr).toMatch(new RegExp(`dirsync refund resolve ${number} --as accepted`))
})

test.concurrent('a refund of an order whose record cannot be asked says that its amount is not checked', async () => {
  const long = `${APP}-${'1'.repeat(20)}`
  await plant('orders', [{ ...orderOf(15), out_trade_no: long }])
  const send = (...more: string[]) =>
    dirsync('refund', 'send', '--order', long, '--amount', '1.00', '--reason', 'r', '--yes', ...more)
  const sent = await send()
  expect(sent).toMatchObject({ code: 0, stderr: '' })
  expect(sent.stdout).toMatch(/^ +refunded before +not asked, so the amount is not checked:/m)
  expect((await send('--json')).json()).toMatchObject({ record_asked: false })
})

test.concurrent('a database that fails once the refund is sent hides neither its outcome nor its amount', async () => {
  await using platform = await holdRefunds(deployment.emulator.url)
  // Another address, and so the memory of another database.
  await using own = await createTestDatabase({ migrated: true })
  await using database = await startTcpProxy(own.url)
  const settings = { ...deployment.settings, DATABASE_URL: database.url, PLATFORM_BASE_URL: platform.origin }
  const refunding = run(refund(10, '--number', `${APP}R-away`, '--yes'), settings)
  await platform.held
  await database.refuse()
  platform.release()
  const { code, stderr } = await refunding
  expect(code).toBe(1)
  expect(stderr).toMatch(/unknown whether refund test-applicationR-away was carried out: do not send/)
  expect(stderr).toMatch(/^ +amount +12\.50$/m)
  expect(stderr).toMatch(/the platform's answer \(accepted\) could not be\s+stored/)
  expect(stderr).toMatch(/dirsync refund settle test-applicationR-away$/m)
})

describe('a top-up', () => {
  const topUp = (...more: string[]) => [
    'topup',
    'send',
    ...['--account', ACCOUNT, '--amount', '5000.00', '--taxpayer', 'Example Ltd.', '--yes', '--json'],
    ...more,
  ]

  test.concurrent('is sent once', async () => {
    const accepted = await dirsync(...topUp())
    expect(accepted).toMatchObject({ code: 0, stderr: '' })
    const { external_code, apply_charge_openid } = accepted.json()
    expect(external_code).toMatch(/^test-applicationT\d{14}[0-9A-Z]{8}$/)
    expect(await journal('topup', external_code)).toMatchObject([{ state: 'accepted', apply_charge_openid }])
    expect((await dirsync(...topUp('--number', external_code))).stderr).toMatch(/was sent before/)
    expect((await dirsync('topup', 'list')).stdout).toMatch(/ +CN¥5,000\.00 +accepted/)
  })

  test.concurrent('of unknown outcome waits for a person', async () => {
    const number = `${APP}T${'0'.repeat(20)}`
    await plant('faults', {
      operation: 'enterprise/account/applyCharge',
      match: { external_code: number },
      loseAnswer: true,
    })
    const account = 'b'.repeat(32)
    await plant('accounts', [{ account_openid: account, name: 'Other points', balance: '100.00' }])
    const toAccount = (...more: string[]) => topUp('--account', account, ...more)
    const unknown = await dirsync(...toAccount('--number', number))
    expect(unknown.code).toBe(1)
    const second = await dirsync(...toAccount())
    expect(second.code).toBe(1)
    expect(second.json()).toMatchObject({ error: { code: 'ACCOUNT_BUSY' } })
    expect(second.stderr).toContain(`--although-open ${number}`)
    expect((await dirsync(...toAccount('--although-open', number))).json()).toMatchObject({
      state: 'accepted',
    })
    expect(unknown.json()).toMatchObject({ external_code: number, state: 'unknown' })
    expect((await dirsync('topup', 'show', number)).stdout).toMatch(/its\s+support[\s\S]+topup resolve/)
    const resolved = await dirsync(
      'topup',
      'resolve',
      number,
      '--as',
      'accepted',
      '--reason',
      'seen',
      '--json',
    )
    expect(resolved.json()).toMatchObject({ state: 'accepted', resolution: 'seen' })
    const again = await dirsync('topup', 'resolve', number, '--as', 'rejected', '--reason', 'no')
    expect(again).toMatchObject({ code: 1, stdout: '' })
    const shown = (await dirsync('topup', 'show', number)).stdout
    expect(shown).toMatch(/^Top-up \S+ · accepted\n/)
    expect(shown).not.toMatch(/is unknown/)
  })

  test.concurrent('needs a taxpayer', async () => {
    const args = ['topup', 'send', '--account', ACCOUNT, '--amount', '1.00', '--yes']
    const wrong = await dirsync(...args)
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/needs at least one of taxpayer, identifier/)
  })
})

describe('at a terminal', { tags: 'script' }, () => {
  test.concurrent('a summary and a question come first, and no sends nothing', async () => {
    const terminal = atTerminal(refund(5), deployment.settings)
    await terminal.shows(/Send this refund\? \[y\/N\]/)
    terminal.type('n\r')
    const { code, screen } = await terminal.ended
    expect(code).toBe(1)
    expect(screen).toMatch(
      /order +test-application-0005\r\n +paid +100\r\n +refunded before +0\r\n +this refund +12\.50/,
    )
    expect(screen).toContain(deployment.settings.PLATFORM_BASE_URL)
    expect(screen).toContain('dirsync: nothing was sent')
    expect(await journal('refund', 5)).toEqual([])
  })

  test.concurrent('nobody is asked about more than is left of the order', async () => {
    const { code, screen } = await atTerminal(refund(5, '--amount', '150'), deployment.settings).ended
    expect(code).toBe(1)
    expect(screen).not.toMatch(/Send this refund\?/)
    expect(screen).toMatch(/nothing was sent: 150 is more than is left/)
  })

  test.concurrent('the summary says that an order whose record cannot be asked is not checked', async () => {
    const long = ['--order', `${APP}-${'2'.repeat(20)}`, '--amount', '1.00', '--reason', 'r']
    const terminal = atTerminal(['refund', 'send', ...long], deployment.settings)
    await terminal.shows(/Send this refund\?/)
    terminal.type('n\r')
    const { screen } = await terminal.ended
    expect(screen).toMatch(/order +\S+2\r\n +refunded before +not asked, so the amount is not checked:/)
  })

  test.concurrent('the summary says what dirsync has refunded, whatever the order record shows', async () => {
    const number = `${APP}R-behind`
    expect(await dirsync(...refund(17, '--number', number, '--yes'))).toMatchObject({ code: 0 })
    await plant('orders', [{ ...orderOf(17), refund_amount: '0.00' }])
    const terminal = atTerminal(refund(17), deployment.settings)
    await terminal.shows(/Send this refund\?/)
    terminal.type('n\r')
    const { screen } = await terminal.ended
    expect(screen).toMatch(/ refunded before +0; dirsync knows of at least 12\.50\r\n/)
    expect(screen).toMatch(new RegExp(` earlier refund +${number}: 12\\.50, accepted, sent `))
  })

  test.concurrent('yes sends it', async () => {
    const terminal = atTerminal(refund(6), deployment.settings)
    await terminal.shows(/Send this refund\?/)
    terminal.type('y\r')
    const { code, screen } = await terminal.ended
    expect(code).toBe(0)
    expect(screen).toMatch(/Refund \S+ is accepted/)
    expect(await journal('refund', 6)).toMatchObject([{ state: 'accepted' }])
  })

  test.concurrent('yes sends nothing when the order was refunded while the question stood', async () => {
    const terminal = atTerminal(refund(12), deployment.settings)
    await terminal.shows(/Send this refund\?/)
    expect(await dirsync(...refund(12, '--yes'))).toMatchObject({ code: 0 })
    terminal.type('y\r')
    const { code, screen } = await terminal.ended
    expect(code).toBe(1)
    expect(screen.replaceAll(/\s+/g, ' ')).toContain(
      'dirsync: nothing was sent: what is refunded of order test-application-0012 has changed since you were asked',
    )
    expect(await journal('refund', 12)).toMatchObject([{ state: 'accepted' }])
  })

  test.concurrent('yes sends no top-up when the account got another while the question stood', async () => {
    const [account, number] = ['b'.repeat(32), `${APP}-asked-${'0'.repeat(12)}`]
    await plant('accounts', [{ account_openid: account, name: 'Points' }])
    const topUp = ['topup', 'send', '--account', account, '--amount', '50', '--taxpayer', 'Example Ltd.']
    const terminal = atTerminal([...topUp, '--number', number], deployment.settings)
    await terminal.shows(/Send this top-up\?/)
    expect(await dirsync(...topUp, '--yes')).toMatchObject({ code: 0 })
    terminal.type('y\r')
    const { code, screen } = await terminal.ended
    expect(code).toBe(1)
    expect(screen.replaceAll(/\s+/g, ' ')).toMatch(
      /dirsync: nothing was sent: top-up test-applicationT\S+ \(50\.00\) of the same account was accepted since you were asked/,
    )
    expect(await journal('topup', number)).toEqual([])
  })

  test.concurrent('nobody is asked about a top-up while another one of the account is open', async () => {
    const [account, number] = ['c'.repeat(32), `${APP}-open-${'0'.repeat(12)}`]
    await plant('accounts', [{ account_openid: account, name: 'Points' }])
    await plant('faults', {
      operation: 'enterprise/account/applyCharge',
      match: { external_code: number },
      loseAnswer: true,
    })
    const topUp = ['topup', 'send', '--account', account, '--amount', '50', '--taxpayer', 'Example Ltd.']
    expect(await dirsync(...topUp, '--number', number, '--yes')).toMatchObject({ code: 1 })
    const { code, screen } = await atTerminal(topUp, deployment.settings).ended
    expect(code).toBe(1)
    expect(screen).not.toMatch(/Send this top-up\?/)
    expect(screen.replaceAll(/\s+/g, ' ')).toContain(`--although-open ${number}`)
  })

  test.concurrent.each<[string, string[]]>([
    ['refund', refund(19)],
    ['top-up', ['topup', 'send', '--account', ACCOUNT, '--amount', '1', '--taxpayer', 'Example Ltd.']],
  ])(
    'what a restored database may lack is said by the question about a %s, and beside the result',
    async (what, args) => {
      await using own = await createTestDatabase({ migrated: true })
      const settings = { ...deployment.settings, DATABASE_URL: own.url }
      await own.pool.query(
        `insert into dirsync.deployment (base_url, app_id, enterprise_code, restored_at) values ($1, $2, '', now())`,
        [deployment.emulator.url, APP],
      )
      const lack = 'sent between the backup and then may be missing here.'
      const terminal = atTerminal(args, settings)
      await terminal.shows(new RegExp(`Send this ${what}\\?`))
      terminal.type('n\r')
      const { screen } = await terminal.ended
      expect(screen.replaceAll(/\s+/g, ' ')).toContain(lack)

      const sent = await run([...args, '--yes', '--json'], settings)
      expect(sent.stderr.replaceAll(/\s+/g, ' ')).toContain(lack)
      const { rows } = await own.pool.query('select restored_at from dirsync.deployment')
      expect(sent.json()).toMatchObject({ state: 'accepted', restored_at: rows[0].restored_at.toISOString() })
    },
  )

  test.concurrent('Ctrl-C at the question sends nothing', async () => {
    const terminal = atTerminal(refund(7), deployment.settings)
    await terminal.shows(/Send this refund\?/)
    terminal.type('\x03')
    expect(await terminal.ended).toMatchObject({
      code: 1,
      screen: expect.stringContaining('nothing was sent'),
    })
    expect(await journal('refund', 7)).toEqual([])
  })

  test.concurrent('Ctrl-C in flight reports that the outcome is unknown', async () => {
    await using platform = await holdRefunds(deployment.emulator.url)
    // Another address, and so the memory of another database.
    await using own = await createTestDatabase({ migrated: true })
    const settings = { ...deployment.settings, DATABASE_URL: own.url, PLATFORM_BASE_URL: platform.origin }
    const terminal = atTerminal(refund(8, '--yes'), settings)
    await platform.held
    terminal.type('\x03')
    const { code, screen } = await terminal.ended
    expect(code).toBe(1)
    expect(screen).toMatch(/unknown whether refund \S+ was carried out: do not send it again/)
    expect(screen).toMatch(/refund settle/)
    const { rows } = await own.pool.query('select outer_refund_no, state from dirsync.refund')
    expect(rows).toMatchObject([{ state: 'unknown' }])
    // It may still arrive, for all that the order record says.
    const settled = await run(['refund', 'settle', rows[0].outer_refund_no], settings)
    expect(settled).toMatchObject({ code: 1, stderr: '' })
    expect(settled.stdout).toMatch(
      / · unknown\n[\s\S]+outcome is unknown[\s\S]+worker\s+checks\s+the\s+order\s+record/,
    )
    await own.pool.query(`select dirsync.pause('maintenance')`)
    const paused = await run(['refund', 'settle', rows[0].outer_refund_no], settings)
    expect(paused).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('All calls of this deployment are paused'),
    })
  })
})
