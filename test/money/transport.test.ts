import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { encode, signed } from '../helpers/notification.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import {
  expectStillWorks,
  FORM_TYPE,
  failed,
  openReceiver,
  requestText,
  SUCCESS,
  type TestReceiver,
} from './receiver-under-test.ts'

const database = duringFile(() => createTestDatabase({ migrated: true }))

/** What comes back for bytes on a connection of their own, until the server closes it. */
async function exchange(receiver: TestReceiver, text: string): Promise<string> {
  const { socket, closed } = await receiver.open()
  socket.write(text, 'latin1')
  return closed
}

describe('what is not the one request that the platform sends', () => {
  let receiver: TestReceiver
  beforeAll(async () => {
    receiver = await openReceiver(database)
  })
  afterAll(async () => {
    await expectStillWorks(receiver)
    await receiver[Symbol.asyncDispose]()
  })
  const validForm = async () => encode(signed(await receiver.refund()))

  test.each([
    'text/plain',
    'application/json',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded, text/plain',
    'application/x-www-form-urlencoded; charset=latin1',
    'application/x-www-form-urlencoded; charset=utf-8; charset=utf-16',
    'application/x-www-form-urlencodedx',
    'x application/x-www-form-urlencoded',
    '',
  ])('the content type %j is refused', async type => {
    const headers: Record<string, string> = type === '' ? {} : { 'content-type': type }
    expect(await receiver.post(await validForm(), { headers })).toEqual(failed(415))
  })

  test.each([
    FORM_TYPE,
    `${FORM_TYPE}; charset=utf-8`,
    `${FORM_TYPE};charset=UTF-8`,
    'Application/X-WWW-Form-Urlencoded; charset="utf-8"',
  ])('the content type %j is that of a form', async type => {
    expect(await receiver.post(await validForm(), { headers: { 'content-type': type } })).toEqual(SUCCESS)
  })

  test('a repeated content type and an encoded body are refused', async () => {
    const form = await validForm()
    for (const header of [`Content-Type: ${FORM_TYPE}`, 'Content-Type: text/plain', 'Content-Encoding: gzip'])
      expect(await exchange(receiver, requestText(form, [header]))).toMatch(/^HTTP\/1.1 415 .*\r\n\r\nfail$/s)
  })

  test.each(['GET', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY', 'PROPFIND'])(
    '%s is refused',
    async method => {
      const line = `${method} /notifications/refund HTTP/1.1`
      const answer = await exchange(receiver, requestText(await validForm(), [], line))
      expect(answer).toMatch(/^HTTP\/1.1 405 .*\r\n\r\nfail$/s)
      expect(answer.toLowerCase()).toContain('\r\nallow: post\r\n')
    },
  )

  test.each(['HEAD', 'CONNECT', 'TRACE', 'NONSENSE', 'post'])('%s does not succeed', async method => {
    const line = `${method} /notifications/refund HTTP/1.1`
    const answer = await exchange(receiver, requestText(await validForm(), [], line))
    expect(answer).not.toMatch(/ 200 |success/)
  })

  test.each([
    '/',
    '/notifications',
    '/notifications/refund/',
    '/Notifications/refund',
    '/notifications/%72efund',
    '/notifications/refund/?x=1',
    '/notifications/../notifications/refund',
    '//notifications/refund',
    '/notifications/refund#x',
    '/notifications/refund;x',
    '/%zz',
    '/__proto__',
    'http://elsewhere/notifications/refund',
  ])('the address %s is refused', async path => {
    const answer = await exchange(receiver, requestText(await validForm(), [], `POST ${path} HTTP/1.1`))
    expect(answer).toMatch(/^HTTP\/1.1 4\d\d .*\r\n\r\nfail$/s)
  })

  test('the parameters of the address, which are for a proxy, do not matter', async () => {
    const line = 'POST /notifications/refund?token=a/b HTTP/1.1'
    const answer = await exchange(receiver, requestText(await validForm(), [], line))
    expect(answer).toMatch(/^HTTP\/1.1 200 .*\r\n\r\nsuccess$/s)
  })

  test('/healthz tells that it lives, and no more', async () => {
    const answer = await fetch(`http://127.0.0.1:${receiver.port}/healthz`)
    expect([answer.status, await answer.text()]).toEqual([200, 'ok'])
    expect(await receiver.post('', { path: '/healthz' })).toEqual(failed(404))
  })

  test.each([
    ['no HTTP', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
    ['an address of 5000 characters', requestText('a=b', [], `POST /${'x'.repeat(5000)} HTTP/1.1`)],
    ['another protocol', 'EHLO somebody\r\n\r\n'],
    ['two lengths', requestText('a=b', ['Content-Length: 5'])],
    ['a length and chunks', requestText('a=b', ['Transfer-Encoding: chunked'])],
    ['a negative length', requestText('').replace('Length: 0', 'Length: -1')],
    ['a length that is no number', requestText('').replace('Length: 0', 'Length: 1e3')],
    [
      'chunks that are none',
      requestText('zz\r\n').replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked'),
    ],
    ['a header without a name', requestText('a=b', [': x'])],
    ['a folded header', requestText('a=b', ['X: a\r\n b'])],
    [
      'thousands of headers',
      requestText(
        'a=b',
        Array.from({ length: 3000 }, (_, i) => `X-${i}: x`),
      ),
    ],
  ])('%s is refused', async (_what, text) => {
    expect(await exchange(receiver, text)).toMatch(/^(HTTP\/1.1 4\d\d .*fail)?$/s)
  })

  test('headers of more than 8 KiB are refused, whatever the form says', async () => {
    const form = await validForm()
    const answer = await exchange(receiver, requestText(form, [`X: ${'x'.repeat(9_000)}`]))
    expect(answer).toMatch(/^HTTP\/1.1 431 .*\r\n\r\nfail$/s)
  })

  test('a body of 1 MB is refused before it is read', async () => {
    const { socket, closed } = await receiver.open()
    socket.write(requestText('').replace('Length: 0', 'Length: 1000000'))
    expect(await closed).toMatch(/^HTTP\/1.1 413 .*\r\n\r\nfail$/s)
  })

  test('a body of 1 MB that comes all the same, by length or in chunks, is not taken', async () => {
    const form = await validForm()
    const padded = `${form}&note=${'x'.repeat(1_000_000)}`
    const chunked = requestText(`${padded.length.toString(16)}\r\n${padded}\r\n0\r\n\r\n`).replace(
      /Content-Length: \d+/,
      'Transfer-Encoding: chunked',
    )
    for (const text of [requestText(padded), chunked])
      expect(await exchange(receiver, text)).toMatch(/^(HTTP\/1.1 413 .*\r\n\r\nfail)?$/s)
    await expect(receiver.post(padded))
      .resolves.toEqual(failed(413))
      .catch(error => {
        expect(error.code).toMatch(/UND_ERR_SOCKET|ECONNRESET|EPIPE/)
      })
  })

  test('a small body in chunks is read like any other', async () => {
    const form = await validForm()
    const pieces = form.match(/.{1,7}/g)?.map(piece => `${piece.length.toString(16)}\r\n${piece}\r\n`) ?? []
    const text = requestText(`${pieces.join('')}0\r\n\r\n`, ['Connection: close'])
    expect(
      await exchange(receiver, text.replace(/Content-Length: \d+/, 'Transfer-Encoding: chunked')),
    ).toMatch(/^HTTP\/1.1 200 .*\r\n\r\nsuccess$/s)
  })

  test('a body that is shorter than announced is never taken for whole', async () => {
    const form = await validForm()
    const { socket, closed } = await receiver.open()
    socket.end(requestText(form).replace(/Length: \d+/, `Length: ${form.length + 1}`))
    expect(await closed).not.toContain('success')
  })

  test('pipelined requests are answered in their order', async () => {
    const wanted: string[] = []
    let text = ''
    for (let i = 0; i < 40; i++) {
      const form = await validForm()
      text += requestText(i % 2 === 0 ? form : `${form}0`, i === 39 ? ['Connection: close'] : [])
      wanted.push(i % 2 === 0 ? 'success' : 'fail')
    }
    const answers = await exchange(receiver, text)
    expect(answers.match(/success|fail/g)).toEqual(wanted)
  })

  test('what is no HTTP is refused once, however much of it comes', async () => {
    receiver.log.splice(0)
    const { socket, closed } = await receiver.open()
    socket.write(`no HTTP${'x'.repeat(4_000_000)}`)
    await closed
    expect(receiver.log).toMatchObject([{ reason: 'request', status: 400 }])
  })

  test('an expectation that nobody knows is refused like all else', async () => {
    receiver.log.splice(0)
    const answer = await exchange(receiver, requestText(await validForm(), ['Expect: more']))
    expect(answer).toMatch(/^HTTP\/1.1 417 .*\r\n\r\nfail$/s)
    expect(receiver.log).toMatchObject([{ reason: 'request', status: 417 }])
  })

  test('a request to no host is refused like all else', async () => {
    receiver.log.splice(0)
    const answer = await exchange(receiver, requestText(await validForm()).replace('Host: test\r\n', ''))
    expect(answer).toMatch(/^HTTP\/1.1 400 .*\r\n\r\nfail$/s)
    expect(receiver.log).toMatchObject([{ reason: 'request', status: 400 }])
  })

  test('an upgrade and an expectation change nothing', async () => {
    const form = await validForm()
    const upgrade = requestText(form, ['Connection: Upgrade, close', 'Upgrade: websocket'])
    expect(await exchange(receiver, upgrade)).toMatch(/^HTTP\/1.1 200 .*\r\n\r\nsuccess$/s)
    const { socket, closed } = await receiver.open()
    socket.write(requestText('', ['Expect: 100-continue']).replace('Length: 0', 'Length: 1000000'))
    expect(await closed).not.toContain(' 200 ')
  })
})

describe('a slow sender', () => {
  // Long enough for the genuine one who comes after them, on a busy machine, too.
  const limits = { timeoutMs: 2000, connections: 3 }
  const half = requestText('').replace('Length: 0', 'Length: 1000')

  test.each([
    ['nothing', '', ''],
    ['the beginning of a line', 'POST /noti', ''],
    ['one header after the other', 'POST /notifications/refund HTTP/1.1\r\n', 'X: x\r\n'],
    ['one byte of the body after the other', half, 'x'],
  ])('%s loses the connection, and gets no success', async (_what, beginning, drip) => {
    await using receiver = await openReceiver(database, limits)
    const { socket, closed } = await receiver.open()
    const from = performance.now()
    if (beginning) socket.write(beginning)
    const dripping = setInterval(() => drip && socket.writable && socket.write(drip), 20)
    const answer = await closed
    clearInterval(dripping)
    // Node.js by itself would give them a minute and more.
    expect(performance.now() - from).toBeLessThan(30_000)
    expect(answer).toMatch(/^(HTTP\/1.1 408 .*\r\n\r\nfail)?$/s)
    await expectStillWorks(receiver)
  })

  test('as many at a time as connections are borne do not last', async () => {
    await using receiver = await openReceiver(database, limits)
    const slow = await Promise.all([receiver.open(), receiver.open(), receiver.open()])
    for (const { socket } of slow) socket.write(half)
    await expect.poll(() => receiver.post('').catch(() => 'dropped')).toBe('dropped')
    await Promise.all(slow.map(({ closed }) => closed))
    await expectStillWorks(receiver)
  })

  test('a client that keeps asking and never reads an answer loses the connection', async () => {
    await using receiver = await openReceiver(database, limits)
    const { socket } = await receiver.open()
    socket.pause()
    const many = 'GET /healthz HTTP/1.1\r\nHost: test\r\n\r\n'.repeat(1000)
    const asking = setInterval(() => socket.writableLength < 1e6 && socket.write(many), 1)
    await expect.poll(() => receiver.connections()).toBe(0)
    clearInterval(asking)
    socket.destroy()
    await expectStillWorks(receiver)
  })

  test('an idle connection between two requests is closed as well', async () => {
    await using receiver = await openReceiver(database, limits)
    const { socket, closed } = await receiver.open()
    socket.write(requestText('a=b'))
    await once(socket, 'data')
    expect(await closed).toMatch(/\r\n\r\nfail$/)
  })
})

describe('a flood', () => {
  const limits = { burst: 20, perSecond: 10 }

  test('of junk is answered 429 and hardly logged, and holds nothing genuine back', async () => {
    await using receiver = await openReceiver(database, limits)
    const answers = await Promise.all(Array.from({ length: 500 }, () => receiver.post('junk=x')))
    const count = (status: number) => answers.filter(answer => answer.status === status).length
    expect([count(400), count(429)]).toEqual([20, 480])
    expect(answers.every(({ body }) => body === 'fail')).toBe(true)
    expect(receiver.log).toHaveLength(20)
    await expectStillWorks(receiver)

    receiver.clock.now += 1000
    expect(await receiver.post('junk=x')).toEqual(failed(400))
    expect(receiver.log.at(-1)).toMatchObject({ reason: 'malformed', status: 400, unlogged: 480 })
  })

  test('of genuine ones is answered 429 beyond the rate, and all pass when sent again later', async () => {
    await using receiver = await openReceiver(database, limits)
    const notifications = await refunds(receiver, 30)
    const send = () => Promise.all(notifications.map(fields => receiver.notify(fields)))
    const statuses = (await send()).map(({ status }) => status).sort()
    expect(statuses).toEqual([...Array(20).fill(200), ...Array(10).fill(429)])
    receiver.clock.now += 60_000
    const waiting = notifications.length
    const again: boolean[] = []
    for (const fields of notifications) {
      again.push((await receiver.notify(fields)).body === 'success')
      receiver.clock.now += 100
    }
    expect(again).toEqual(Array(waiting).fill(true))
    await expectStillWorks(receiver)
  })
})

async function refunds(receiver: TestReceiver, count: number) {
  const all = []
  for (let i = 0; i < count; i++) all.push(await receiver.refund())
  return all
}
