import type { AddressInfo } from 'node:net'
import fastify, { type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { tasteOf } from '../../../src/console/ask.ts'
import type { OidcSettings } from '../../../src/console/auth/oidc.ts'
import { authPlugin } from '../../../src/console/auth/plugin.ts'
import type { AccessRole } from '../../../src/console/auth/viewer.ts'
import { createPool, type Pool } from '../../../src/lib/database.ts'
import { createTestDatabase } from '../../helpers/postgres.ts'
import { PASSWORD, plantUser } from '../console-under-test.ts'

export { PASSWORD }

const silent = pino({ level: 'silent' })

/** A console with only the sign-in and two pages: one for signed-in users, one public. */
export interface AuthUnderTest extends AsyncDisposable {
  url: string
  app: FastifyInstance
  pool: Pool
  /** Lines of the log. */
  log: string[]
  user(name: string, role?: AccessRole): Promise<void>
  /** What was recorded under one of these names, the oldest first. */
  recorded(
    ...names: string[]
  ): Promise<{ name: string; arguments: Record<string, unknown>; requested_by: string }[]>
}

export async function openAuth(
  options: {
    publicUrl?: string | null
    trustProxy?: boolean | string[]
    oidc?: (url: string) => OidcSettings
    port?: number
  } = {},
): Promise<AuthUnderTest> {
  await using opened = new AsyncDisposableStack()
  const database = opened.use(await createTestDatabase({ migrated: true }))
  const pool = opened.adopt(createPool(database.url, { max: 4, name: 'auth test', logger: silent }), pool =>
    pool.end(),
  )
  const log: string[] = []
  const app = opened.adopt(
    fastify({ logger: false, trustProxy: options.trustProxy ?? false, forceCloseConnections: true }),
    app => app.close(),
  )
  const url = `http://127.0.0.1:${options.port ?? 0}`
  await app.register(authPlugin, {
    pool,
    logger: pino({ level: 'debug' }, { write: line => void log.push(line) }),
    publicUrl: options.oidc ? url : (options.publicUrl ?? null),
    oidc: options.oidc?.(url) ?? null,
    taste: tasteOf,
  })
  app.get('/guarded', async (request, reply) => {
    if (!request.viewer) return reply.code(401).send({ viewer: null })
    return { viewer: request.viewer, session: request.sessionId }
  })
  app.get('/healthz', () => ({ status: 'alive' }))
  await app.listen({ host: '127.0.0.1', port: options.port ?? 0 })
  const stack = opened.move()
  return {
    url: `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`,
    app,
    pool,
    log,
    user: (name, role = 'viewer') => plantUser(pool, name, role),
    async recorded(...names) {
      const { rows } = await pool.query<{
        name: string
        arguments: Record<string, unknown>
        requested_by: string
      }>('select name, arguments, requested_by from dirsync.command where name = any ($1) order by id', [
        names,
      ])
      return rows
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

/** What a page answered. */
export interface Page {
  status: number
  headers: Headers
  text: string
  /** Where it leads, absolute; null: nowhere. */
  location: string | null
}

/** A browser: it keeps cookies by host, and follows nothing by itself. */
export class Browser {
  readonly cookies = new Map<string, Map<string, string>>()
  readonly #headers: Record<string, string>

  constructor(headers: Record<string, string> = {}) {
    this.#headers = headers
  }

  get(url: string): Promise<Page> {
    return this.#send(url, { method: 'GET' })
  }

  post(url: string, form: Record<string, string>): Promise<Page> {
    return this.#send(url, { method: 'POST', body: new URLSearchParams(form) })
  }

  /** The cookies for a host, as they are sent. */
  jar(url: string): Map<string, string> {
    const { host } = new URL(url)
    const jar = this.cookies.get(host) ?? new Map<string, string>()
    this.cookies.set(host, jar)
    return jar
  }

  async #send(url: string, init: RequestInit): Promise<Page> {
    const jar = this.jar(url)
    const cookie = [...jar].map(([name, value]) => `${name}=${value}`).join('; ')
    const response = await fetch(url, {
      ...init,
      redirect: 'manual',
      headers: { ...this.#headers, ...(cookie ? { cookie } : {}) },
    })
    for (const line of response.headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ')
      const name = pair.slice(0, pair.indexOf('='))
      const isOver = attributes.some(text => /^max-age=0$|^expires=Thu, 01 Jan 1970/i.test(text))
      if (isOver) jar.delete(name)
      else jar.set(name, pair.slice(name.length + 1))
    }
    const location = response.headers.get('location')
    return {
      status: response.status,
      headers: response.headers,
      text: await response.text(),
      location: location === null ? null : new URL(location, url).href,
    }
  }
}

export async function signedIn(auth: AuthUnderTest, name: string): Promise<Browser> {
  const browser = new Browser()
  const page = await browser.post(`${auth.url}/sign-in`, { name, password: PASSWORD })
  if (page.status !== 303) throw new Error(`${name} could not sign in: ${page.status}\n${page.text}`)
  return browser
}
