import fc from 'fast-check'
import { addToken } from '../../src/console/auth/tokens.ts'
import { ACCESS_ROLES, type AccessRole, mayAs } from '../../src/console/auth/viewer.ts'
import { accessOf, keyOf, openApp, signInAs, type TestApp } from '../console/console-under-test.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { type Kind, must } from './kind.ts'
import { jsonValue, text } from './texts.ts'

/*
 * Every route that the console's application has, as a page and in the API, asked by every role and by those without one, with any
 * parameters, bodies and headers. The database is there; HR and the platform are not.
 */

interface Asked {
  /** Of all routes, by its remainder. */
  route: number
  role: AccessRole | null
  /** As a browser, or as a program. */
  isBrowser: boolean
  place: string
  query: [string, string][]
  body: { type: string; text: string }
  headers: [string, string][]
}

const NAMES = [
  ...[
    'reason',
    'note',
    'cursor',
    'limit',
    'q',
    'key',
    'id',
    'ids',
    'action',
    'category',
    'state',
    'kind',
    'until',
    'from',
    'to',
    'for',
  ],
  ...[
    'name',
    'role',
    'password',
    'assignee',
    'filter',
    'reason_kind',
    'entity',
    'field',
    'sort',
    'order',
    'enterprise',
    'part',
    'by',
  ],
  ...[
    'employees',
    'mapping',
    'version',
    'per_second',
    'expires',
    'scopes',
    'language',
    'theme',
    'zone',
    'hours',
    'users',
    'run',
    'job',
  ],
]
const LONGEST = 2000
const param = fc.oneof(
  fc.constantFrom(
    '1',
    '0',
    '-1',
    '9223372036854775807',
    '1e3',
    'true',
    'open',
    'retry',
    '2026-01-01',
    'admin',
    'anna',
    '%',
    'changes',
  ),
  text(LONGEST, true),
)
const payload = fc.oneof(
  fc.record({
    type: fc.constant('application/json'),
    text: fc
      .dictionary(fc.constantFrom(...NAMES), jsonValue(NAMES, LONGEST), { maxKeys: 6 })
      .map(body => JSON.stringify(body)),
  }),
  fc.record({
    type: fc.constant('application/x-www-form-urlencoded'),
    text: fc
      .array(fc.tuple(fc.constantFrom(...NAMES, 'a[b]', '__proto__'), param), { maxLength: 6 })
      .map(pairs =>
        pairs.map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`).join('&'),
      ),
  }),
  fc.record({
    type: fc.constantFrom(
      'application/json',
      'text/plain',
      'multipart/form-data; boundary=x',
      'application/json; charset=utf-16',
      '',
      '/',
    ),
    text: fc.oneof(text(LONGEST), fc.constant('['.repeat(50_000)), fc.constant('{"reason":'.repeat(5000))),
  }),
)
const header = fc.oneof(
  fc.constantFrom<[string, string]>(
    ['accept', 'application/json'],
    ['accept', '*/*;q=x'],
    ['accept-language', 'zh-CN,zh;q=0.9'],
    ['accept-language', '*;q=1e999'],
    ['accept-encoding', 'br;q=0, gzip;q=x'],
    ['idempotency-key', 'k'],
    ['idempotency-key', 'x'.repeat(5000)],
    ['if-match', '"x"'],
    ['if-none-match', '*'],
    ['range', 'bytes=0-1,5-'],
    ['hx-request', 'true'],
    ['hx-current-url', 'http://[::1'],
    ['referer', 'http://localhost/%zz'],
    ['referer', 'javascript:alert(1)'],
    ['origin', 'null'],
    ['x-forwarded-for', '::1, x'],
    ['host', 'localhost:99999'],
    ['x-dirsync-refused', 'x'],
    ['content-length', '0'],
    ['last-event-id', '-1'],
  ),
  fc.tuple(
    fc.constantFrom(
      'referer',
      'idempotency-key',
      'accept',
      'accept-language',
      'hx-target',
      'hx-current-url',
      'x-request-id',
      'cookie',
    ),
    // Other characters do not get over HTTP.
    text(300).map(value =>
      Buffer.from(value)
        .toString('latin1')
        .replaceAll(/[^\x20-\x7e\x80-\xff]/g, ''),
    ),
  ),
)

const inputs = fc.record<Asked>({
  route: fc.nat(100_000),
  role: fc.constantFrom(...ACCESS_ROLES, 'admin', null),
  isBrowser: fc.boolean(),
  // Of a path with a part that is . or .. every client makes another one.
  place: param.filter(place => !/^\.\.?$/.test(place)),
  query: fc.array(fc.tuple(fc.constantFrom(...NAMES), param), { maxLength: 4 }),
  body: payload,
  headers: fc.array(header, { maxLength: 2 }),
})

export const consoleRoutes: Kind<Asked> = {
  name: 'console-routes',
  what: 'every route of console and API, in every role, with any parameters, bodies and headers',
  share: 30,
  few: 250,
  inputs,
  open: () => Routes.open(),
}

/** These end the session, or the token, that all others use. */
const LEFT_OUT = /^GET \/events$|^POST \/sign-out$|^POST \/access\/|^POST \/account\//

/** Answers of these never end by themselves, or say themselves that something is away. */
const MAY_BE_AWAY = new Set([502, 503, 504])

class Routes {
  readonly #database: TestDatabase
  readonly #console: TestApp
  readonly #tokens: ReadonlyMap<AccessRole, string>
  readonly #routes: { method: string; url: string; access: AccessRole | 'open' }[]

  private constructor(database: TestDatabase, console: TestApp, tokens: ReadonlyMap<AccessRole, string>) {
    this.#database = database
    this.#console = console
    this.#tokens = tokens
    const access = accessOf(console)
    this.#routes = console.routes
      .flatMap(({ method, url }) =>
        [method].flat().map(name => ({ method: name, url, key: keyOf(name, url) })),
      )
      .filter(({ key }) => !LEFT_OUT.test(key))
      .map(({ key, ...route }) => ({ ...route, access: access.get(key) ?? 'admin' }))
  }

  static async open(): Promise<Routes> {
    const database = await createTestDatabase({ migrated: true })
    const console = await openApp(database.url, { timeoutMs: 20_000 })
    const expiresAt = new Date(Date.now() + 86_400_000)
    const tokens = new Map<AccessRole, string>()
    for (const role of ACCESS_ROLES)
      tokens.set(role, await addToken(database.pool, 'test', { name: role, role, expiresAt }))
    return new Routes(database, console, tokens)
  }

  async meet({ route: number, role, isBrowser, place, query, body, headers }: Asked): Promise<string> {
    const { method, url, access } = this.#routes[number % this.#routes.length] ?? {
      method: 'GET',
      url: '/',
      access: 'viewer',
    }
    const path = url.replaceAll(/:\w+|\*/g, () => encodeURIComponent(place.toWellFormed()))
    const asked = query
      .map(([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`)
      .join('&')
    const own = Object.fromEntries(headers.filter(([name]) => !(isBrowser && name === 'cookie')))
    const identity = isBrowser
      ? {
          'sec-fetch-site': 'same-origin',
          accept: 'text/html',
          ...(role && { cookie: await signInAs(this.#console, role) }),
        }
      : { ...(role && { authorization: `Bearer ${this.#tokens.get(role)}` }) }
    const answer = await this.#console.app.inject({
      method: method as 'GET',
      url: asked === '' ? path : `${path}?${asked}`,
      headers: {
        ...own,
        ...identity,
        ...(method === 'POST' && body.type !== '' && { 'content-type': body.type }),
      },
      ...(method === 'POST' && { payload: body.text }),
    })
    const { statusCode } = answer
    const seen = `${method} ${url} as ${role}: ${statusCode} ${answer.body.slice(0, 300)}`
    must(statusCode < 500 || MAY_BE_AWAY.has(statusCode), seen)
    must(!/node_modules|\bat \S+ \(.*\.ts:\d+/.test(answer.body), `a stack is shown: ${seen}`)
    // A route that is not there, an odd address or a host is refused before its role is.
    const isMayed = access === 'open' || (role !== null && mayAs(role, access))
    if (!isMayed)
      must(
        [303, 400, 401, 403, 404, 413, 414, 415, 421, 422].includes(statusCode),
        `it is shown to one who may not: ${seen}`,
      )
    return String(statusCode)
  }

  async after(): Promise<void> {
    const { statusCode } = await this.#console.app.inject({ url: '/healthz' })
    must(statusCode === 200, 'the console is gone')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#console[Symbol.asyncDispose]()
    await this.#database.close()
  }
}
