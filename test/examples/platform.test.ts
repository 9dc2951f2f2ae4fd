import { execFile } from 'node:child_process'
import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises'
import { connect } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CallRecord } from '../../emulator/call-log.ts'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import { OPERATIONS } from '../../src/platform/operations/index.ts'
import { sign } from '../../src/platform/request.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { spawnScript } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const run = promisify(execFile)
const ROOT = join(import.meta.dirname, '../..')
const EXAMPLES = join(ROOT, 'examples/platform')
const BIN = join(ROOT, 'node_modules/.bin')
const APP = { appId: 'demo-application', appSecret: 's3cret' }
const ORDER = `${APP.appId}-0001`
const TRADE_NO = '2026112100000001'
const UNTOLD = `${APP.appId}-0002`

/** Every operation of the specification, the example that shows it, and what it prints. */
const CASES: Record<string, { example: string; args?: string[]; prints: RegExp }> = {
  'token/create': { example: 'token-create.ts', prints: /^\{ expires_in: 7200 \}$/ },
  'token/getTokenInfo': { example: 'token-info.ts', prints: /^\{ expires_in: 7\d{3} \}$/ },
  'employee/get': {
    example: 'employee-get.ts',
    args: ['u1'],
    prints: /^\{ userid: 'u1', dept_code: 'D1', level: 'P4' \}$/,
  },
  'employee/update': { example: 'employee-update.ts', args: ['u1'], prints: /^W1\n1000220010 park$/ },
  'employee/openid': { example: 'employee-openid.ts', args: ['u1'], prints: /^\S{8,}$/ },
  'department/delete': { example: 'department-delete.ts', args: ['D2'], prints: /^D2$/ },
  'enterprise/consume/list': {
    example: 'payment-orders-list.ts',
    args: ['2026-11-20', '2026-11-21'],
    prints: /^2026112100000001 100\.00 2026-11-20T16:30:00\.000Z$/,
  },
  'enterprise/consume/get': {
    example: 'payment-orders-get.ts',
    args: [TRADE_NO],
    prints: /^100\.00\nTea, 250 g 2 50\.00$/,
  },
  'assets/limit/enterprise/get': { example: 'limit-accounts-list.ts', prints: /^Staff lunch 1234\.50 1$/ },
  'seller/pay/record': {
    example: 'orders-record.ts',
    args: [ORDER],
    prints: /^\[ '100\.00', '0\.00' \]$/,
  },
  'seller/v3/pay/syncRefund': {
    example: 'refunds-create.ts',
    args: [ORDER, `${APP.appId}-R1`],
    prints: new RegExp(`^${TRADE_NO}$`),
  },
  'enterprise/account/applyCharge': {
    example: 'topups-apply.ts',
    args: ['account-1', `${APP.appId}-topup-00000001`, '91310000EXAMPLE001'],
    prints: /^\S{8,}$/,
  },
  'taxpayer/findList': {
    example: 'taxpayers-list.ts',
    args: ['91310000EXAMPLE001'],
    prints: /^Example Trading 1$/,
  },
}

let emulator: Emulator
beforeAll(async () => {
  await run(join(BIN, 'tsc'), ['--project', 'tsconfig.library.json'], { cwd: ROOT })
  emulator = await startEmulator({ ...APP, strict: true, seed: SEED })
})
afterAll(() => emulator.close())

function spawnExample(example: string, args: string[] = [], env: Record<string, string> = {}) {
  const platform = { PLATFORM_BASE_URL: emulator.url, PLATFORM_ENTERPRISE_CODE: 'E100' }
  return spawnScript(join(EXAMPLES, example), args, { env: { ...platform, ...env } })
}

describe('the examples of examples/platform', () => {
  test('are one per operation, and one for the notification', async () => {
    expect(Object.keys(CASES).sort()).toEqual(Object.keys(OPERATIONS).sort())
    const files = (await readdir(EXAMPLES)).filter(file => file !== 'connect.ts')
    const shown = [...Object.values(CASES).map(({ example }) => example), 'notification.ts']
    expect(files.sort()).toEqual(shown.sort())
  })

  test.each(Object.entries(CASES))('%s', async (_operation, { example, args, prints }) => {
    await using script = spawnExample(example, args)
    expect(await script.exited, script.stderr).toEqual({ code: 0, signal: null })
    expect(script.stdout.trim()).toMatch(prints)
  })

  test('leave a refund unknown whose order record did not say what was refunded before, and name the enterprise', async () => {
    const body = JSON.stringify({ code: 0, data: { outer_trade_no: UNTOLD, refund_amount: null, status: 2 } })
    const faults = [
      { operation: 'seller/pay/record', body, times: 1 },
      { operation: 'seller/v3/pay/syncRefund', loseAnswer: true, times: 1 },
    ]
    const control = controlOf(emulator.url)
    await control('POST', 'faults', faults)
    await using script = spawnExample('refunds-create.ts', [UNTOLD, `${APP.appId}-R2`])
    expect(await script.exited, script.stderr).toEqual({ code: 0, signal: null })
    expect(script.stdout.trim()).toBe('unknown')
    const { calls } = await control<{ calls: CallRecord[] }>('GET', 'calls?operation=seller/pay/record')
    expect(new Set(calls.map(({ params }) => params.enterprise_code))).toEqual(new Set(['E100']))
  })

  test('notification', async () => {
    await using script = spawnExample('notification.ts', [], { PORT: '0' })
    const [, url = ''] = await script.waitForLine(/listening on (\S+)/)
    const fields: Record<string, string> = {
      appid: APP.appId,
      outer_trade_no: ORDER,
      outer_refund_no: `${APP.appId}-R1`,
      refund_amount: '1.00',
      trade_no: TRADE_NO,
      timestamp: String(Math.floor(Date.now() / 1000)),
    }
    const send = async (form: Record<string, string>) =>
      (await fetch(url, { method: 'POST', body: new URLSearchParams(form) })).text()
    const signed = { ...fields, sign: sign(fields, APP.appSecret, 'sha256') }

    // One that breaks off, and one without end: neither is answered, and neither ends it.
    const { hostname, port } = new URL(url)
    const begin = (headers: string) => {
      const socket = connect(Number(port), hostname).on('error', () => {})
      socket.write(`POST / HTTP/1.1\r\nHost: x\r\n${headers}\r\n\r\n`)
      return { socket, closed: new Promise(resolve => socket.on('close', resolve)) }
    }
    const brokenOff = begin('Content-Length: 500')
    brokenOff.socket.write('appid=demo', () => brokenOff.socket.resetAndDestroy())
    await brokenOff.closed
    const endless = begin('Transfer-Encoding: chunked')
    const piece = `10000\r\n${'x'.repeat(0x10000)}\r\n`
    const pour = () => {
      while (endless.socket.writable && endless.socket.write(piece));
    }
    endless.socket.on('drain', pour)
    pour()
    await endless.closed

    expect(await send(signed)).toBe('success')
    expect(await send({ ...signed, refund_amount: '2.00' })).toBe('fail')
    await script.waitForLine(new RegExp(`^${APP.appId}-R1 1\\.00$`))
  })
})

test('the packed package works in plain JavaScript, with its types, and without the rest', async () => {
  const folder = await temporaryFolder()
  const packing = ['pack', '--json', '--ignore-scripts', '--pack-destination', folder]
  const { stdout } = await run('npm', packing, { cwd: ROOT })
  const [{ filename }] = JSON.parse(stdout)
  const home = join(folder, 'node_modules/dirsync')
  await mkdir(home, { recursive: true })
  await run('tar', ['-xzf', join(folder, filename), '--strip-components=1', '-C', home])
  // Of its dependencies, what the client needs, and nothing of databases and queues.
  const needed = ['undici', 'zod', 'pino', '@types/node', 'undici-types']
  for (const name of needed) {
    const place = join(folder, 'node_modules', name)
    await mkdir(join(place, '..'), { recursive: true })
    await symlink(join(ROOT, 'node_modules', name), place)
  }
  const program = (shown: string) => `
    import { LocalPacer, MemoryTokenStore, PlatformClient } from 'dirsync/platform'
    const client = new PlatformClient({ baseUrl: '${emulator.url}', appId: '${APP.appId}', appSecret: '${APP.appSecret}',
      tokenStore: new MemoryTokenStore(), pacer: new LocalPacer(50) })
    const { name } = await client.employees.get({ userid: 'u1', enterprise_code: 'E100' })
    console.log(${shown})
    await client.close()`
  await writeFile(join(folder, 'main.mjs'), program('name'))
  expect((await run(process.execPath, ['main.mjs'], { cwd: folder })).stdout).toBe('Shuo Fenfen\n')
  const strict = ['--strict', '--noEmit', '--module', 'nodenext', '--target', 'es2024', '--types', 'node']
  const right = program('name satisfies string | null | undefined')
  // Where this were no error, the compiler would complain of the comment.
  const wrong = '// @ts-expect-error\nvoid (name satisfies number)'
  await writeFile(join(folder, 'main.mts'), `${right}\n${wrong}\n`)
  await run(join(BIN, 'tsc'), [...strict, 'main.mts'], { cwd: folder })
})

const SEED = {
  departments: [
    { enterprise_code: 'E100', dept_code: 'D1', dept_name: 'Supply' },
    { enterprise_code: 'E100', dept_code: 'D2', dept_name: 'Closed' },
  ],
  employees: [
    {
      enterprise_code: 'E100',
      userid: 'u1',
      corp_code: 'W1',
      name: 'Shuo Fenfen',
      dept_code: 'D1',
      level: 'P4',
    },
  ],
  orders: [
    {
      enterprise_code: 'E100',
      trade_no: TRADE_NO,
      out_trade_no: ORDER,
      userid: 'u1',
      total_amount: '100.00',
      create_time: '2026-11-21 00:30:00',
      commerce_order_detail: {
        shop_order_code: 'S1',
        order_list: [
          { product_list: [{ product_title: 'Tea, 250 g', purchase_num: 2, deal_price: '50.00' }] },
        ],
      },
    },
    {
      enterprise_code: 'E100',
      trade_no: '2026112100000002',
      out_trade_no: UNTOLD,
      userid: 'u1',
      total_amount: '100.00',
      create_time: '2026-11-22 00:30:00',
    },
  ],
  accounts: [
    {
      enterprise_code: 'E100',
      account_openid: 'account-1',
      name: 'Staff lunch',
      product_category: 2,
      balance: '1234.50',
      sub_limits: [{ id: 1, name: 'Canteen' }],
    },
  ],
  taxpayers: [
    { enterprise_code: 'E100', identifier: '91310000EXAMPLE001', taxpayer_name: 'Example Trading' },
  ],
}
