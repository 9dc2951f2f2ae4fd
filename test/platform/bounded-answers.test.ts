import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect, onTestFinished, test } from 'vitest'
import { PlatformClient, type PlatformClientOptions } from '../../src/platform/client.ts'
import { OutcomeUnknownError } from '../../src/platform/errors.ts'
import { duringTest } from '../helpers/during.ts'
import { FakePlatform, ok, type Reply } from './fake-platform.ts'

const MB = 1024 * 1024
const APP = 'mall0001'

const platform = duringTest(FakePlatform.start)
const client = duringTest(() => connect())

const connect = (options: Partial<PlatformClientOptions> = {}) =>
  new PlatformClient({
    baseUrl: platform.url,
    appId: APP,
    appSecret: 'secret',
    ratePerSecond: 10_000,
    timeoutMs: 20_000,
    ...options,
  })

/** A good answer, between whose halves any amount of white space may stand: JSON like any other. */
const PARTS = ['{"code":0,"msg":"OK","data":{"userid":"u1"}', '}'] as const
const REFUNDED = ['{"code":0,"msg":"OK","data":"2026112100000001"', '}'] as const
const SPACE = Buffer.alloc(MB, ' ')

/** Answers with `megabytes` as fast as they are read, and tells how many bytes went out before the connection ended. */
function longAnswer(
  megabytes: number,
  headers: Record<string, string> = {},
  [begin, end]: readonly [string, string] = PARTS,
) {
  const ended = Promise.withResolvers<number>()
  const reply: Reply = async (response: ServerResponse) => {
    const { socket } = response
    response.on('close', () => ended.resolve(socket?.bytesWritten ?? 0))
    response.writeHead(200, headers)
    response.write(begin)
    for (let sent = 0; sent < megabytes && !response.destroyed; sent += 1)
      if (!response.write(SPACE)) await Promise.race([once(response, 'drain'), ended.promise])
    response.end(end)
  }
  return { reply, written: ended.promise }
}

test.each([
  ['of unknown length', {}],
  ['that says how long it is', { 'content-length': String(100 * MB + PARTS[0].length + PARTS[1].length) }],
])('of an answer of 100 MB %s little more than 8 MB is read', async (_, headers) => {
  const { reply, written } = longAnswer(100, headers)
  platform.plan('employee/get', reply)
  await expect(client.employees.get({ userid: 'u1' })).rejects.toMatchObject({
    code: 'PLATFORM_MALFORMED',
    outcomeKnown: false,
    disposition: 'retry',
    cause: { message: `the answer is longer than ${8 * MB} bytes` },
  })
  // What the kernel's buffers on both sides hold went out as well.
  expect(await written).toBeLessThan(40 * MB)
  platform.plan('employee/get', ok({ userid: 'u1' }))
  expect(await client.employees.get({ userid: 'u1' })).toMatchObject({ userid: 'u1' })
})

test('the bound is an option, and an answer within it is read', async () => {
  const short = connect({ maxAnswerBytes: MB })
  onTestFinished(() => short.close())
  platform.plan('employee/get', longAnswer(1).reply, ok({ userid: 'u1' }))
  await expect(short.employees.get({ userid: 'u1' })).rejects.toMatchObject({ code: 'PLATFORM_MALFORMED' })
  expect(await short.employees.get({ userid: 'u1' })).toMatchObject({ userid: 'u1' })

  platform.plan('employee/get', longAnswer(7).reply)
  expect(await client.employees.get({ userid: 'u1' })).toMatchObject({ userid: 'u1' })
})

test('after an answer that is too long the outcome of a refund is unknown, and it is not sent again', async () => {
  platform.plan('seller/v3/pay/syncRefund', longAnswer(100, {}, REFUNDED).reply)
  const refund = client.refunds.create({
    outerTradeNo: `${APP}T1`,
    outerRefundNo: `${APP}R1`,
    reason: 'x',
    refundAmount: '1.00',
  })
  await expect(refund).rejects.toThrow(OutcomeUnknownError)
  await expect(refund).rejects.toMatchObject({ kind: 'malformed', outcomeKnown: false })
  expect(platform.of('seller/v3/pay/syncRefund')).toHaveLength(1)
})

test('an answer that was compressed unasked is not unpacked', async () => {
  const packed = gzipSync(
    Buffer.concat([Buffer.from(PARTS[0]), Buffer.alloc(64 * MB, ' '), Buffer.from(PARTS[1])]),
  )
  platform.plan('employee/get', response => {
    response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed)
  })
  await expect(client.employees.get({ userid: 'u1' })).rejects.toMatchObject({ code: 'PLATFORM_MALFORMED' })
})

test.each([
  ['its body', 'HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n', ' '],
  ['its headers', 'HTTP/1.1 200 OK\r\n', 'x-more: 1\r\n'],
  ['informational answers', '', 'HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n'],
])(
  'an answer that drips %s for ever is given up in time, and its connection closed',
  async (_, begin, drop) => {
    const closed = Promise.withResolvers<void>()
    const server = createServer(socket => {
      socket.once('data', () => {
        socket.write(begin)
        const dripping = setInterval(() => socket.write(drop), 20)
        socket.on('close', () => {
          clearInterval(dripping)
          closed.resolve()
        })
        socket.on('error', () => undefined)
      })
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const address = server.address() as { port: number }
    const dripped = connect({ baseUrl: `http://127.0.0.1:${address.port}`, timeoutMs: 500 })
    onTestFinished(() => dripped.close())
    await expect(dripped.tokens.create()).rejects.toMatchObject({
      code: 'PLATFORM_TIMEOUT',
      outcomeKnown: false,
    })
    await closed.promise
  },
)
