import { once } from 'node:events'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, describe, expect, test } from 'vitest'
import { duringFile } from '../helpers/during.ts'
import { PlatformUnderTest } from './platform-under-test.ts'

const platform = duringFile(() =>
  PlatformUnderTest.start({ seed: { employees: [{ userid: 'u1', name: 'Ana' }] } }),
)

afterAll(async () => {
  // Whatever was thrown at it, it still works.
  expect((await platform.get({ userid: 'u1' })).data.name).toBe('Ana')
})

const FORM = 'application/x-www-form-urlencoded'

function post(
  body: string | Uint8Array<ArrayBuffer>,
  contentType: string | undefined = FORM,
  path = '/employee/get',
) {
  return platform.request(path, { method: 'POST', headers: { 'content-type': contentType }, body })
}

test('only POST is taken', async () => {
  for (const method of ['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS']) {
    const answer = await platform.request('/employee/get?userid=u1', { method })
    expect(answer.status).toBe(405)
    expect(answer.headers.get('allow')).toBe('POST')
    expect(answer.headers.get('x-trace-id')).toMatch(/^[0-9a-f]+$/)
    expect(Date.parse(answer.headers.get('date') ?? '')).not.toBeNaN()
  }
})

test('a path that is no operation gets 404', async () => {
  for (const path of [
    '/',
    '/employee',
    '/employee/get/',
    '/Employee/get',
    '//employee/get',
    '/__proto__',
    '/_emulator',
  ]) {
    expect((await post('', FORM, path)).status).toBe(404)
  }
})

test('only form encoding is taken, in UTF-8', async () => {
  const body = 'userid=u1'
  for (const type of [
    'application/json',
    'text/plain',
    'multipart/form-data; boundary=x',
    `${FORM}; charset=gbk`,
  ]) {
    expect((await post(body, type)).status).toBe(415)
  }
  const bare = await platform.request('/employee/get', { method: 'POST', body: new Uint8Array([65]) })
  expect(bare.status).toBe(415)
  for (const type of [FORM, `${FORM};charset=UTF-8`, `${FORM}; charset="utf-8"`, FORM.toUpperCase()]) {
    expect(await post(body, type)).toMatchObject({ status: 200, code: 1000210003 })
  }
})

test.each(['userid=%', 'userid=%zz', 'userid=%e7%8e', '%ff=1', 'userid=%00', 'userid=%ed%a0%80', '%c0%80=x'])(
  'the malformed body %s gets 400',
  async body => {
    expect((await post(body)).status).toBe(400)
    expect((await post('', FORM, `/employee/get?${body}`)).status).toBe(400)
  },
)

test('bytes that are no UTF-8 get 400', async () => {
  expect((await post(new Uint8Array([0x61, 0x3d, 0xff]))).status).toBe(400)
})

test('a body of 5 MB gets 413, of any encoding, and the next call works', async () => {
  const large = 'a'.repeat(5 * 1024 * 1024)
  for (const body of [large, `userid=${large}`, `{"a":"${large}"}`]) {
    const answer = await post(body)
    expect(answer.status).toBe(413)
    expect(answer.headers.get('x-trace-id')).toMatch(/^[0-9a-f]+$/)
  }
  expect((await platform.get({ userid: 'u1' })).code).toBe(0)
})

test('a large value within the bound gets its business code', async () => {
  expect((await platform.get({ userid: 'x'.repeat(1_000_000) })).code).toBe(1000220002)
  const attributes = `${'['.repeat(50_000)}`
  expect((await platform.update('u1', { employee_attribute: attributes })).code).toBe(1000220002)
})

test('thousands of parameters get 400', async () => {
  const answer = await post(Array.from({ length: 100_000 }, (_, index) => `p${index}=1`).join('&'))
  expect(answer.status).toBe(400)
})

describe('names that every object has', () => {
  test('are ordinary unknown values', async () => {
    for (const userid of ['__proto__', 'constructor', 'hasOwnProperty']) {
      expect((await platform.get({ userid })).code).toBe(1000220096)
    }
    expect((await platform.get({ userid: 'u1', enterprise_code: '__proto__' })).code).toBe(1000240002)
  })

  test('do no harm in attributes, seeds and faults', async () => {
    const employee_attribute = '[{"attributeCode":"__proto__","attributeValue":"x","__proto__":{"a":1}}]'
    expect((await platform.update('u1', { employee_attribute })).code).toBe(1000220002)
    for (const [path, body] of [
      ['employees', '[{"userid":"u9","__proto__":{"name":"x"}}]'],
      ['faults', '[{"operation":"__proto__","code":1}]'],
    ]) {
      const answer = await platform.request(`/_emulator/${path}`, { method: 'POST', body: body as string })
      expect(answer.status).toBe(400)
    }
    expect(({} as Record<string, unknown>).name).toBeUndefined()
  })

  test('stand in the log as they came', async () => {
    await platform.send('employee/get', {}, '__proto__=1&constructor=2')
    const { calls } = await platform.control('GET', 'calls')
    expect(Object.entries(calls.at(-1).params)).toEqual([
      ['__proto__', '1'],
      ['constructor', '2'],
    ])
  })
})

test('text that looks like SQL is text', async () => {
  expect((await platform.get({ userid: "' or 1=1 --" })).code).toBe(1000220096)
  expect((await platform.update('u1', { remark: "'; drop table employees; --" })).code).toBe(0)
  expect((await platform.employee('u1')).remark).toBe("'; drop table employees; --")
})

test('what is no HTTP gets 400, and a caller who leaves in the middle does no harm', async () => {
  const { port } = platform.emulator
  const nonsense = connect(port, '127.0.0.1')
  nonsense.end('this is no HTTP\r\n\r\n')
  expect(await text(nonsense)).toContain('400 Bad Request')

  const leaver = connect(port, '127.0.0.1')
  leaver.write(
    `POST /employee/get HTTP/1.1\r\nhost: x\r\ncontent-type: ${FORM}\r\ncontent-length: 100\r\n\r\nuserid=`,
  )
  await once(leaver, 'connect')
  leaver.destroy()
  await once(leaver, 'close')
  expect((await platform.get({ userid: 'u1' })).code).toBe(0)
})
