import { execFile } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { describe, expect, inject, test } from 'vitest'
import { apiFieldsOf, operationsOf } from '../../src/console/api/operations.ts'
import { addToken } from '../../src/console/auth/tokens.ts'
import { ACCESS_ROLES } from '../../src/console/auth/viewer.ts'
import { PROBLEMS } from '../../src/console/problem.ts'
import { employeePath } from '../../src/console/ui/paths.ts'
import { fieldMeanings } from '../../src/texts/zh-CN/fields.ts'
import { filterMeanings } from '../../src/texts/zh-CN/filters.ts'
import { operationSummaries } from '../../src/texts/zh-CN/operations.ts'
import { expectEachInChinese } from '../texts/chinese.ts'
import { ConsoleUnderTest, openApp, recordLog, signInAs } from './console-under-test.ts'

/* What a program is answered, whatever it asks for. What each operation does is in the tests of its screen. */

const console = new ConsoleUnderTest()

/** A case, and the version of it that a decision is about. */
async function plantCase(key: string): Promise<{ id: number; version: number }> {
  const { rows } = await console.pool.query(
    `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state)
     values ('employee', $1, 'update-employee', 'duplicate_mobile', '[]', '[]', 'open') returning id, version`,
    [key],
  )
  return rows[0]
}

test('the Chinese console says in Chinese what each operation does, takes and answers', async () => {
  const described = operationsOf(console.app.swagger()).flatMap(({ summary, parameters, body, answer }) => [
    summary,
    ...[parameters, apiFieldsOf(body ?? {}), apiFieldsOf(answer ?? {})]
      .flat()
      .map(({ description }) => description),
  ])
  expectEachInChinese(described, { ...operationSummaries, ...fieldMeanings, ...filterMeanings })
  const read = async (url: string) =>
    (await console.browse('viewer', 'GET', url, undefined, { 'accept-language': 'zh-CN' })).body
  expect(await read('/api')).toContain('您是谁，以及您可以做什么')
  const page = await read('/api?operation=getRuns')
  for (const text of [
    '同步任务，最新的在前，可按种类、状态、发起者和时间筛选',
    '上一页响应中 <code>next</code> 的值；不给出则为第一页',
    '尚待发送的数量',
  ])
    expect(page).toContain(text)
})

test('the page of an operation lists the fields of what may be null, or of several kinds', async () => {
  for (const [operation, field] of [
    ['getDoctor', 'examination.findings[].check'],
    ['getMoney', 'items[].outer_refund_no'],
    ['getMoney', 'items[].external_code'],
  ])
    expect((await console.ask('viewer', 'GET', `/api?operation=${operation}`)).body).toContain(
      `<code>${field}</code>`,
    )
})

describe('a refused request', () => {
  test.each([
    ['without a token', 'GET', '/runs', undefined, 401, 'unauthorized'],
    ['of a lower role', 'POST', '/pause', { reason: 'r' }, 403, 'forbidden'],
    ['for what does not exist', 'GET', '/runs/999', undefined, 404, 'not_found'],
    ['for no route', 'GET', '/nothing', undefined, 404, 'not_found'],
    ['with another method', 'GET', '/pause', undefined, 405, 'no_such_method'],
    ['that is too large', 'POST', '/mapping/try', { key: 'x'.repeat(300_000) }, 413, 'too_large'],
    ['in another format', 'POST', '/mapping/try', '<key/>', 415, 'media_type'],
    ['with half a body', 'POST', '/mapping/try', '{"key":', 400, 'malformed'],
    ['with half a character', 'GET', '/%zz', undefined, 400, 'malformed'],
    ['with impossible values', 'GET', '/runs?limit=0', undefined, 422, 'invalid'],
  ] as const)('%s is answered with a problem', async (what, method, path, payload, status, code) => {
    const type = what === 'in another format' ? 'application/xml' : 'application/json'
    const headers = payload === undefined ? {} : { 'content-type': type }
    const url = `/api/v1${path}`
    const role = what === 'of a lower role' ? 'viewer' : 'operator'
    const answer =
      what === 'without a token'
        ? await console.app.inject({ method, url })
        : await console.ask(role, method, url, payload, headers)
    expect(answer.statusCode).toBe(status)
    expect(answer.headers['content-type']).toContain('application/problem+json')
    const problem = answer.json()
    expect(problem).toMatchObject({
      type: `/problems/${code}`,
      title: expect.any(String),
      status,
      detail: expect.stringMatching(/\w/),
      code,
      instance: `urn:uuid:${problem.reference}`,
    })
    const page = await console.app.inject({ url: problem.type, headers: { 'accept-language': 'zh-CN' } })
    expect(page.statusCode).toBe(200)
    expect(page.body).toContain('lang="zh-CN"')
  })

  test('names each wrong value by its place', async () => {
    const body = { starts: 'ten', time_zone: 'Asia/Shanghai', 'what/ever': 1 }
    const inBody = await console.ask('operator', 'POST', '/api/v1/alerts/quiet-hours', body)
    expect(inBody.json().errors).toEqual([
      { pointer: '#/starts', code: 'invalid_format', detail: expect.stringContaining('22:00') },
      { pointer: '#/ends', code: 'missing', detail: 'ends is missing' },
      { pointer: '#/what~1ever', code: 'unrecognized_keys', detail: 'there is no “what/ever” here' },
    ])
    const inQuery = await console.ask('viewer', 'GET', '/api/v1/runs?limit=many&cursor=x')
    expect(inQuery.json().errors).toEqual([
      { parameter: 'limit', code: 'invalid_type', detail: 'limit should be a number' },
    ])
    const later = await console.ask('viewer', 'GET', '/api/v1/runs?cursor=x')
    expect(later.json().errors).toMatchObject([{ parameter: 'cursor', code: 'refused' }])
    const inHeader = await console.ask('operator', 'POST', '/api/v1/resume', {}, { 'idempotency-key': '' })
    expect(inHeader.json().errors).toMatchObject([{ header: 'Idempotency-Key' }])
  })

  test.each([
    ['POST', '/runs', [], 'the body should be an object', '请求体 应为 object'],
    ['POST', '/runs', '"x"', 'the body should be an object', '请求体 应为 object'],
    ['POST', '/runs', {}, 'kind is missing', '缺少 kind', 'missing'],
    ['GET', '/runs?limit=0', undefined, 'limit should be at least 1', 'limit 不应小于 1', 'too_small'],
    ['GET', '/runs?limit=201', undefined, 'limit should be at most 200', 'limit 不应大于 200', 'too_big'],
    ['GET', '/runs?limit=1.5', undefined, 'limit should be a whole number', 'limit 应为整数'],
    ['GET', '/audit?run=0', undefined, 'run should be more than 0', 'run 应大于 0', 'too_small'],
    [
      'POST',
      '/alerts/quiet-hours',
      { starts: 'ten', ends: '07:00', time_zone: 'Asia/Shanghai' },
      'starts: Give a time such as 22:00.',
      'starts：请给出时间，例如 22:00。',
      'invalid_format',
    ],
    [
      'GET',
      `/runs?by=${'x'.repeat(201)}`,
      undefined,
      'by should have at most 200 characters',
      'by 不应超过 200 个字符',
      'too_big',
    ],
  ] as const)(
    '%s %s with %j says so in both languages',
    async (...[method, url, body, english, chinese, code]) => {
      for (const [language, detail] of [
        ['en', english],
        ['zh-CN', chinese],
      ] as const) {
        const headers = { 'accept-language': language, 'content-type': 'application/json' }
        const answer = await console.ask('admin', method, `/api/v1${url}`, body && [...[body]][0], headers)
        expect(answer.json().detail).toBe(detail)
        if (code !== undefined) expect(answer.json().errors).toMatchObject([{ code, detail }])
      }
    },
  )

  test('for what is not there speaks of no page', async () => {
    const told = async (path: string) => {
      const { title, detail } = (await console.ask('viewer', 'GET', `/api/v1${path}`)).json()
      return [title, detail]
    }
    expect(await told('/cases/nonsense')).toEqual(['Not found', expect.stringContaining('at this address')])
    expect(await told('/nothing')).toEqual(['Not found', 'There is no such route.'])
  })

  test('for another method is told which there are, on pages too', async () => {
    const answers = [
      await console.ask('viewer', 'POST', '/api/v1/runs/1/plan.csv'),
      await console.ask('viewer', 'GET', '/api/v1/cases/1/retry'),
      await console.app.inject({ method: 'DELETE', url: '/api/v1/runs', headers: { accept: 'text/html' } }),
      await console.app.inject({ method: 'GET', url: '/sign-out', headers: { accept: 'text/html' } }),
    ]
    expect(answers.map(({ statusCode, headers }) => [statusCode, headers.allow])).toEqual([
      [405, 'GET, HEAD'],
      [405, 'POST'],
      [405, 'GET, HEAD, POST'],
      [405, 'POST'],
    ])
  })

  test('is found in the log by its reference', async () => {
    const { logger, lines } = recordLog()
    await using logged = await openApp(console.url, { logger })
    const { reference } = (await logged.app.inject('/api/v1/runs')).json()
    expect(lines.filter(({ requestId }) => requestId === reference)).toMatchObject([
      { level: 30, method: 'GET', route: '/api/v1/runs', status: 401 },
    ])
  })
})

test.each(PROBLEMS)('the problem %s has a page of its own, in both languages', async kind => {
  const page = async (language: string) =>
    (await console.app.inject({ url: `/problems/${kind}`, headers: { 'accept-language': language } })).body
  const heading = /<h1>(.+?)<\/h1>\s*<p>(.{10,})<\/p>/
  expect(await page('en')).toMatch(heading)
  expect(heading.exec(await page('zh-CN'))?.[1]).toMatch(/\p{Script=Han}/u)
})

describe('what is begun or made is told where', () => {
  test('a run that was started', async () => {
    const answer = await console.ask('operator', 'POST', '/api/v1/runs', { kind: 'full' })
    const { run } = answer.json()
    expect([answer.statusCode, answer.headers.location]).toEqual([202, `/api/v1/runs/${run}`])
    expect((await console.ask('viewer', 'GET', String(answer.headers.location))).json().id).toBe(run)
  })

  test('a run of named employees: a list has a user id in each item, a text has them one after another', async () => {
    const keysOf = async (employees: string | string[]) => {
      const answer = await console.ask('operator', 'POST', '/api/v1/runs', { kind: 'employees', employees })
      return (await console.ask('viewer', 'GET', String(answer.headers.location))).json().keys
    }
    expect(await keysOf(['Li, Wei', ' e2 '])).toEqual(['Li, Wei', 'e2'])
    expect(await keysOf('e1, e2')).toEqual(['e1', 'e2'])
  })

  test('an action on many cases, previewed and then started', async () => {
    const { id } = await plantCase('many')
    const preview = await console.ask('reviewer', 'POST', '/api/v1/bulk', {
      ids: [id],
      action: 'comment',
      text: 't',
    })
    const place = `/api/v1/bulk/${preview.json().id}`
    expect([preview.statusCode, preview.headers.location]).toEqual([201, place])
    const start = await console.ask('reviewer', 'POST', `${place}/start`, {})
    expect([start.statusCode, start.headers.location]).toEqual([202, place])
  })
})

describe('an Idempotency-Key', () => {
  const key = { 'idempotency-key': 'k1' }

  test('gives the first answer again, with its status and Location, and does nothing twice', async () => {
    const { id, version } = await plantCase('twice')
    const ask = () => console.ask('reviewer', 'POST', `/api/v1/cases/${id}/retry`, { version }, key)
    const [first, second] = [await ask(), await ask()]
    expect(first.statusCode).toBe(202)
    for (const one of [first, second])
      expect([one.statusCode, one.headers.location, one.json()]).toEqual([
        202,
        `/api/v1/runs/${first.json().run}`,
        first.json(),
      ])
    const retries = (await console.commands()).filter(({ name }) => name === 'retry')
    expect(retries).toHaveLength(1)
  })

  test('is honoured by every action, or refused in words', async () => {
    const actions = console.routes.filter(
      ({ method, url }) => method === 'POST' && url.startsWith('/api/v1/'),
    )
    const refused: string[] = []
    for (const { url, schema } of actions) {
      const answer = await console.ask('admin', 'POST', url.replaceAll(/:\w+/g, '9'), {}, key)
      const isRefused = answer.statusCode === 422 && answer.json().code === 'key_refused'
      if (!Object(schema).hide) expect('headers' in Object(schema), url).toBe(!isRefused)
      if (isRefused) refused.push(url.slice('/api/v1'.length))
    }
    expect(refused.sort()).toEqual([
      '/access/tokens',
      '/access/users',
      '/access/users/:name/link',
      '/access/users/:name/password',
      '/account/password',
      '/doctor',
      '/employees/:key/explain',
      '/employees/:key/reveal',
      '/employees/by-name',
      '/mapping/try',
      '/platform/token',
      '/runs/:id/plan/ask',
    ])
  })
})

describe('bytes', () => {
  const described = (headers: Record<string, string> = {}) =>
    console.ask('viewer', 'GET', '/api/v1/openapi.json', undefined, headers)

  test('that the caller has are not sent again', async () => {
    const first = await described()
    const etag = String(first.headers.etag)
    const again = await described({ 'if-none-match': `"other", ${etag}` })
    expect([again.statusCode, again.body, again.headers.etag]).toEqual([304, '', etag])
    expect((await described({ 'if-none-match': '"other"' })).statusCode).toBe(200)
    const headers = { authorization: `Bearer ${console.tokenOf('viewer')}`, 'if-none-match': '*' }
    const head = await console.app.inject({ method: 'HEAD', url: '/api/v1/alerts', headers })
    expect(head.statusCode).toBe(304)
    expect(
      (await console.ask('operator', 'POST', '/api/v1/resume', {}, { 'if-none-match': '*' })).statusCode,
    ).toBe(200)
  })

  test('are kept by their caller alone, unless they may be personal', async () => {
    const kept = { etag: expect.any(String), 'cache-control': 'private, no-cache', vary: 'accept-encoding' }
    const first = await described()
    expect(first.headers).toMatchObject(kept)
    expect((await described({ 'if-none-match': String(first.headers.etag) })).headers).toMatchObject(kept)
    expect((await described({ 'accept-encoding': 'br' })).headers).toMatchObject(kept)
    expect((await console.ask('viewer', 'GET', '/api/v1/me')).headers).toMatchObject(kept)
    for (const [method, url] of [
      ['GET', '/runs'],
      ['GET', '/api/v1/search?q=13800000000'],
      ['GET', '/api/v1/employees?q=13800000000'],
      ['GET', '/api/v1/cases.csv'],
      ['GET', '/api/v1/runs/999'],
      ['POST', '/api/v1/employees/e1/reveal'],
    ] as const) {
      const { headers } = await console.ask('admin', method, url, method === 'POST' ? {} : undefined)
      expect([headers['cache-control'], headers.etag], url).toEqual(['no-store', undefined])
    }
  })

  test.each([
    ['br', brotliDecompressSync],
    ['gzip', gunzipSync],
  ] as const)('are fewer in %s', async (encoding, decompress) => {
    const plain = await described()
    const answer = await described({ 'accept-encoding': encoding })
    expect(answer.headers['content-encoding']).toBe(encoding)
    expect(answer.rawPayload.length).toBeLessThan(plain.rawPayload.length / 5)
    expect(decompress(answer.rawPayload).toString()).toBe(plain.body)
  })

  test('of a page are compressed for the console itself, and not for another site', async () => {
    await using open = await openApp(console.url)
    const cookie = await signInAs(open, 'viewer')
    const encodings: unknown[] = []
    for (const site of ['same-origin', 'none', 'cross-site', 'same-site']) {
      const headers = { cookie, 'sec-fetch-site': site, 'accept-encoding': 'gzip', accept: 'text/html' }
      encodings.push((await open.app.inject({ url: '/runs', headers })).headers['content-encoding'])
    }
    expect(encodings).toEqual(['gzip', 'gzip', undefined, undefined])
  })
})

test('each answer says what is left of the requests, and its own id', async () => {
  const expiresAt = new Date(Date.now() + 86_400_000)
  const token = await addToken(console.pool, 'test', { name: 'counted', role: 'viewer', expiresAt })
  const headers = { authorization: `Bearer ${token}` }
  const answers = await Promise.all(
    Array.from({ length: 2 }, () => console.app.inject({ url: '/api/v1/me', headers })),
  )
  for (const { headers } of answers) {
    // The first request finds all of them, and they come back while the second one is on its way.
    expect(headers.ratelimit).toMatch(/^"requests";r=149[89];t=1$/)
    expect(headers['ratelimit-policy']).toBe('"requests";q=1500;w=60')
    expect(headers['x-request-id']).toMatch(/^[\da-f-]{36}$/)
  }
})

describe('a key in an address', () => {
  test.each([
    ['', 'a/b'],
    ['', '/a//b'],
    ['', 'a~1b~0'],
    ['E1', 'u1'],
    ['E1', 'u/1'],
    ['E/2', 'u1'],
  ])(
    'of the enterprise "%s" and the user id "%s" needs no %%2F, and works with it',
    async (enterprise, userid) => {
      await console.pool.query(
        `insert into dirsync.employee (enterprise_code, userid, source_hash)
       values ($1, $2, gen_random_uuid()) on conflict do nothing`,
        [enterprise, userid],
      )
      const path = employeePath({ enterpriseCode: enterprise, userid })
      expect(path).not.toMatch(/%2f/i)
      const page = await console.ask('viewer', 'GET', `/employees?status=waiting&limit=200`)
      expect(page.body).toContain(`href="${path}"`)
      const name = userid.includes('~') ? [] : [`/employees/${encodeURIComponent(`${enterprise}/${userid}`)}`]
      for (const address of enterprise.includes('/') ? [path] : [path, ...name]) {
        const answer = await console.ask('viewer', 'GET', `/api/v1${address}?hr=no`)
        expect(answer.json(), address).toMatchObject({ enterprise_code: enterprise, userid, record: {} })
      }
    },
  )

  test('of money needs none either', async () => {
    await console.pool.query(
      `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at)
       values ('r/1', 'o', 1, 'unknown', 'ann', now())`,
    )
    const href = /href="(\/money\/refunds\/[^"]+)"/.exec(
      (await console.ask('viewer', 'GET', '/money')).body,
    )?.[1]
    expect(href).toBe('/money/refunds/r~11')
    for (const address of [href, '/money/refunds/r%2F1']) {
      const answer = await console.ask('viewer', 'GET', `/api/v1${address}`)
      expect(answer.json()).toMatchObject({ outer_refund_no: 'r/1' })
    }
  })
})

describe('the description', () => {
  const described = () => console.app.swagger() as unknown as Described
  const schemas = () => described().components.schemas
  const operations = () =>
    Object.entries(described().paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => ({
        key: `${method.toUpperCase()} ${path}`,
        ...operation,
      })),
    )

  test('has nothing that the recommended rules of redocly warn of', async () => {
    const file = join(inject('runFolder'), 'openapi.json')
    await writeFile(file, (await console.ask('viewer', 'GET', '/api/v1/openapi.json')).body)
    const redocly = fileURLToPath(new URL('../../node_modules/@redocly/cli/bin/cli.js', import.meta.url))
    const { stdout } = await promisify(execFile)(process.execPath, [redocly, 'lint', file, '--format=json'], {
      env: { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
    })
    expect(JSON.parse(stdout).problems).toEqual([])
  })

  test('names its schemas, and writes none of three fields twice', () => {
    expect(Object.keys(schemas())).toEqual(
      expect.arrayContaining([
        'Problem',
        'Case',
        'CasePage',
        'Run',
        'RunDetails',
        'Employee',
        'EmployeeDetails',
      ]),
    )
    const places = new Map<string, string[]>()
    const visit = (value: unknown, place: string): void => {
      if (typeof value !== 'object' || value === null) return
      const { type, properties = {} } = value as { type?: unknown; properties?: object }
      if (type === 'object' && Object.keys(properties).length > 2) {
        const text = JSON.stringify(value)
        places.set(text, [...(places.get(text) ?? []), place])
      }
      for (const [key, inner] of Object.entries(value)) visit(inner, `${place}/${key}`)
    }
    visit(described().paths, '')
    visit(schemas(), 'schemas')
    expect([...places.values()].filter(({ length }) => length > 1)).toEqual([])
  })

  test('says of every operation whom it takes, and how it refuses', () => {
    for (const { key, 'x-role': role, security, description, responses } of operations()) {
      expect(ACCESS_ROLES, key).toContain(role)
      expect(security, key).toEqual([{ token: [role] }])
      expect(description, key).toContain(role)
      expect(responses['4XX']?.content, key).toEqual({
        'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } },
      })
    }
  })

  test('says what answers have beside their bodies, once for all', async () => {
    const { components, paths } = described()
    const told = ['RateLimit', 'RateLimit-Policy', 'X-Request-Id']
    const headersOf = (path: string, method: string, status: string) => {
      const headers = Object.entries(paths[`/api/v1${path}`]?.[method]?.responses[status]?.headers ?? {})
      for (const [name, header] of headers) {
        expect(header).toEqual({ $ref: `#/components/headers/${name}` })
        expect(components.headers).toHaveProperty(name)
      }
      return headers.map(([name]) => name).sort()
    }
    expect(headersOf('/runs', 'get', '200')).toEqual(['ETag', ...told])
    expect(headersOf('/runs', 'get', '304')).toEqual(['ETag', ...told])
    expect(headersOf('/runs', 'get', '4XX')).toEqual([...told.slice(0, 2), 'Retry-After', 'X-Request-Id'])
    expect(headersOf('/runs', 'post', '202')).toEqual(['Location', ...told])
    expect(headersOf('/cases.csv', 'get', '200')).toEqual(told)
    expect(headersOf('/cases.csv', 'get', '304')).toEqual([])
    // A stream is a place of its user's own, and not one of the requests that are counted.
    for (const status of ['200', '4XX'])
      expect(headersOf('/events', 'get', status).filter(name => name.startsWith('RateLimit'))).toEqual([])
    const answer = await console.ask('viewer', 'GET', '/api/v1/runs')
    for (const name of headersOf('/runs', 'get', '200'))
      expect(answer.headers).toHaveProperty(name.toLowerCase())
  })

  test('gives every list the same shape, and counts in integers', () => {
    const answerOf = ({ responses }: Pick<Operation, 'responses'>) => {
      const schema = responses['200']?.content?.['application/json']?.schema
      return (schema?.$ref ? schemas()[schema.$ref.split('/').at(-1) ?? ''] : schema)?.properties ?? {}
    }
    // What holds one array and no other object is a list of its rows, whether it comes in pages or whole.
    const isList = ({ parameters = [], ...answered }: Operation) => {
      type Part = { type?: unknown; anyOf?: { format?: string }[] }
      const parts = Object.values(answerOf(answered)).map(part => {
        const { type, anyOf } = part as Part
        return type ?? anyOf?.find(({ format }) => format === 'date-time')
      })
      const isRows =
        parts.filter(type => type === 'array').length === 1 && parts.every(type => type !== undefined)
      return isRows || parameters.some(({ name }) => name === 'cursor')
    }
    // These are about one thing, of which the array is a part.
    const others = ['GET /api/v1/account', 'GET /api/v1/settings']
    const lists = operations().filter(
      ({ key, ...operation }) => key.startsWith('GET') && !others.includes(key) && isList(operation),
    )
    const paths = lists.map(({ key }) => key.slice('GET /api/v1'.length))
    expect(paths).toEqual(
      expect.arrayContaining([
        '/access',
        '/access/tokens',
        '/bulk',
        '/cases/groups',
        '/cases/views',
        '/mirrors',
        '/schedules',
        '/runs',
      ]),
    )
    for (const { key, ...operation } of lists)
      expect(answerOf(operation), key).toMatchObject({
        items: { type: 'array' },
        next: { type: ['string', 'null'] },
      })
    expect(schemas().Run?.properties?.id).toEqual({ type: 'integer', format: 'int64' })
    expect(schemas().CasePage?.properties?.count).toMatchObject({ type: 'integer' })
  })
})

interface Schema {
  $ref?: string
  properties?: Record<string, object>
}

interface Operation {
  'x-role': string
  description: string
  security: unknown
  parameters?: { name: string }[]
  responses: Record<string, { content?: Record<string, { schema: Schema }>; headers?: object }>
}

interface Described {
  components: { schemas: Record<string, Schema>; headers: object }
  paths: Record<string, Record<string, Operation>>
}
