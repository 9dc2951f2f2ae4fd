import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { MailServer } from '../alerts/channels/mail-server.ts'
import { startReceiver } from '../alerts/channels/receiver.ts'
import { describeBackends } from '../helpers/backends.ts'
import { createCompany, until } from '../helpers/company.ts'
import { freePort } from '../helpers/free-port.ts'
import { startOtlpReceiver } from '../helpers/otlp-receiver.ts'
import { type DirsyncProcess, spawnDirsync } from '../helpers/process.ts'
import { startRedis } from '../helpers/redis.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import {
  aboutProcesses,
  databaseText,
  everyAnswer,
  everyPage,
  expectOnlyAllowed,
  mailChannel,
  mailText,
  monitor,
  redisText,
  signIn,
} from './places.ts'
import { findPlanted, plantedMoney, type Sort } from './planted.ts'

/*
 * The same for money and mirrors: what the platform tells of orders, accounts and taxpayers, and what people say with refunds and
 * top-ups, is one of a kind, and searched for.
 */

const APP = 'test-application'
const TIME = new Date(Date.now() + 8 * 3_600_000).toISOString().slice(0, 19).replace('T', ' ')

describeBackends('the queue in', { timeout: 300_000 }, ({ kind }) => {
  test('what money and mirrors know of people is found only where the table says', async () => {
    const redis = kind === 'redis' ? await startRedis() : null
    if (redis) onTestFinished(() => redis.stop())
    await using mail = await MailServer.start({ authOptional: true, disabledCommands: ['STARTTLS'] })
    await using collector = await startOtlpReceiver()
    await using chat = await startReceiver(() => [200, 'ok'])
    const [consolePort, port] = [await freePort(), await freePort()]
    const consoleUrl = `http://127.0.0.1:${consolePort}`
    const planted = plantedMoney()
    await using company = await createCompany({
      employees: 3,
      ...(redis ? { redisUrl: redis.url } : {}),
      settings: {
        ...mailChannel(mail),
        ...{
          MIRRORS: 'orders,accounts,taxpayers',
          TAXPAYER_IDENTIFIERS: planted.identifier,
          PAYMENT_ORDER_DAYS: '2',
        },
        ...{
          LOG_LEVEL: 'trace',
          CONSOLE_PORT: String(consolePort),
          OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
        },
        ...{
          NOTIFICATION_PORT: String(port),
          NOTIFICATION_URL: `http://127.0.0.1:${port}/notifications/refund`,
        },
        ...{ ALERT_CHANNEL_CHAT: `${chat.origin}/alerts`, ALERT_CHANNEL_CHAT_LEAST: 'info' },
        ...{ ALERT_CHANNEL_TICKETS: `${chat.origin}/events`, ALERT_CHANNEL_TICKETS_EVENTS: '*' },
      },
    })
    const { control, db } = company
    await control('POST', 'state', stateOf(planted))
    const monitored = redis ? await monitor(redis.url) : null
    const places: Record<string, string> = {}
    const processes: DirsyncProcess[] = []
    for (const roles of ['scheduler,worker', 'console,notifications']) {
      const started = spawnDirsync(['start', '--roles', roles], { env: company.settings })
      processes.push(started)
      onTestFinished(async () => void (await started.kill('SIGKILL')))
      await started.waitForLine(/Running/)
    }
    const shell = async (place: string, ...args: string[]) => {
      await using command = spawnDirsync(args, { env: company.settings })
      await command.exited
      places[place] = `${places[place] ?? ''}${command.stdout}${command.stderr}`
    }
    /** The platform refuses in the words that it was told. */
    const quoting = (operation: string, told: object, fault: object = {}) =>
      control('POST', 'faults', {
        operation,
        code: 1000220002,
        message: JSON.stringify(told),
        times: 1,
        ...fault,
      })

    // Mirrors: read, and refused with everything quoted.
    for (const [mirror, operation] of [
      ['orders', 'enterprise/consume/list'],
      ['accounts', 'assets/limit/enterprise/get'],
      ['taxpayers', 'taxpayer/findList'],
    ] as const) {
      expect((await company.run(mirror)).state).toBe('done')
      await quoting(operation, [planted.identifier], { times: 2 })
      await company.run(mirror)
      await control('DELETE', 'faults')
    }

    // Refunds and top-ups: accepted, refused, unknown, without an answer, and refused before they are sent.
    const folder = await temporaryFolder()
    const send = async (what: 'refund' | 'topup', number: number, change: object = {}) => {
      const file = join(folder, `${what}-${number}.json`)
      const request = what === 'refund' ? refundOf(planted, number) : topUpOf(planted, number)
      await writeFile(file, JSON.stringify({ ...request, ...change }))
      await shell('the shell', what, 'send', '--json', file, '--yes')
    }
    const faults = {
      refund: [
        {},
        { code: 7 },
        { loseAnswer: true, code: undefined },
        { httpStatus: 500, body: JSON.stringify(planted) },
      ],
      // Another one of the account waits for a person, once one is unknown.
      topup: [{}, { code: 7 }],
    }
    for (const what of ['refund', 'topup'] as const) {
      await send(what, 1)
      for (const [place, fault] of faults[what].entries()) {
        if (what === 'refund') await quoting('seller/v3/pay/syncRefund', refundOf(planted, 0), fault)
        else await quoting('enterprise/account/applyCharge', topUpOf(planted, 0), fault)
        await send(what, 2 + place)
      }
      await send(what, 6, { reason: planted.reason.repeat(30), remark: planted.note.repeat(30) })
    }
    // The first, and the one whose answer was lost.
    await until(
      async () => (await db.query(`select from dirsync.refund where state = 'notified'`)).rowCount === 2,
    )
    const counts = await db.query<{ states: string }>(
      `select string_agg(distinct state, ' ' order by state) as states from (select state from dirsync.refund union all select state from dirsync.topup) s`,
    )
    expect(counts.rows[0]?.states).toBe('accepted notified rejected unknown')
    for (const args of [
      ['refund', 'list'],
      ['refund', 'show', refundOf(planted, 2).outerRefundNo],
      ['topup', 'show', topUpOf(planted, 2).external_code],
      ['cases', 'export', '--csv'],
    ])
      await shell('the shell', ...args)
    for (const args of [['orders', 'show', 'T1'], ['accounts'], ['taxpayers', planted.identifier]])
      await shell('the shell, asking the platform', ...args)

    places['pages of a viewer'] = await everyPage(await signIn(db, consoleUrl, 'viewer'))
    places['pages of an operator'] = await everyPage(await signIn(db, consoleUrl, 'operator'))
    places['the API for a viewer'] = await everyAnswer(db, consoleUrl)
    places.metrics = await (await signIn(db, consoleUrl, 'admin'))('GET', '/metrics')
    places['arguments and environment'] = await aboutProcesses(processes)
    places.database = await databaseText(db)
    if (redis) places['Redis, at rest'] = await redisText(redis.url)
    await until(
      async () => mail.arrivals.length > 0 && chat.arrivals.some(({ url }) => url.pathname === '/alerts'),
    )
    for (const { kill } of processes) await kill()
    monitored?.client.disconnect()
    if (monitored) places['Redis, every command'] = monitored.lines.join('\n')
    places.log = processes.map(({ stdout, stderr }) => stdout + stderr).join('\n')
    places.webhooks = chat.arrivals
      .map(({ url, headers, body }) => `${url} ${JSON.stringify(headers)} ${body}`)
      .join('\n')
    places.mail = mailText(mail)
    places.traces = Buffer.concat(collector.bodies).toString('latin1')

    expectOnlyAllowed(places, ALLOWED)
    // It would be found if it were there.
    expect([...findPlanted(places['the shell, asking the platform'] ?? '').keys()]).toEqual(
      expect.arrayContaining(['payer', 'recipientPhone', 'taxpayer']),
    )
  })
})

/** docs/reliability.md has it in words. What TAXPAYER_IDENTIFIERS names is a key, like a user id. */
const KEYS: readonly Sort[] = ['identifier']
const KEPT: readonly Sort[] = [...KEYS, 'subject', 'account', 'accountName', 'subAccount', 'taxpayer']
const ALLOWED: Record<string, readonly Sort[]> = {
  ...{ log: KEYS, webhooks: KEYS, traces: KEYS, 'arguments and environment': KEYS },
  ...{
    database: KEPT,
    'pages of a viewer': KEPT,
    'pages of an operator': KEPT,
    'the API for a viewer': KEPT,
  },
  'the shell': [...KEYS, 'account'],
  'the shell, asking the platform': [
    ...KEPT,
    'payer',
    'buyer',
    'wish',
    'recipient',
    'recipientPhone',
    'address',
  ],
}

type Planted = ReturnType<typeof plantedMoney>

function stateOf({ payer, subject, buyer, wish, recipient, recipientPhone, address, ...planted }: Planted) {
  const paid = {
    total_amount: '20.00',
    status: 3,
    create_time: TIME,
    userid: 'e0000',
    payer_name: payer,
    subject,
  }
  return {
    orders: [
      {
        ...{ ...paid, trade_no: 'T1', out_trade_no: `${APP}-order-1` },
        commerce_order_detail: {
          ...{ buyer_name: buyer, remark: wish, cancel_order_reason_desc: wish },
          order_list: [{ delivery_name: recipient, delivery_phone: recipientPhone, address }],
        },
      },
      ...[2, 3, 4, 5, 6].map(n => ({ ...paid, trade_no: `T${n}`, out_trade_no: `${APP}-order-${n}` })),
    ],
    accounts: [
      {
        ...{ account_openid: planted.account, name: planted.accountName, balance: '5.00' },
        sub_limits: [{ id: 1, name: planted.subAccount }],
      },
    ],
    taxpayers: [1, 2].map(taxpayer_nature => ({
      ...{
        identifier: planted.identifier,
        taxpayer_name: `${planted.taxpayer} ${taxpayer_nature}`,
        taxpayer_nature,
      },
    })),
  }
}

function refundOf({ reason, recipient, recipientPhone, address, shopPhone }: Planted, number: number) {
  return {
    ...{
      outerTradeNo: `${APP}-order-${number}`,
      outerRefundNo: `${APP}-refund-${number}`,
      refundAmount: '1.00',
      reason,
    },
    tradeInfo: { recipientName: recipient, recipientPhone, recipientAddress: address, shopPhone },
  }
}

function topUpOf(planted: Planted, number: number) {
  const { account, taxpayer, identifier, applicant, applicantEmail, applicantMobile, note, invoiceNote } =
    planted
  return {
    ...{
      account_openid: account,
      amount: '1.00',
      service_provider: '1',
      external_code: `${APP}-topup-${number}`.padEnd(32, '0'),
    },
    ...{
      taxpayer: `${taxpayer} 2`,
      identifier,
      applicant_name: applicant,
      email: `${applicantEmail}@example.com`,
    },
    ...{
      mobile: applicantMobile,
      remark: note,
      invoice_remark: invoiceNote,
      invoice_extr_remark: invoiceNote,
    },
  }
}
