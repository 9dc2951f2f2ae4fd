import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import type { FastifyInstance, InjectOptions, RouteOptions } from 'fastify'
import { type Logger, pino } from 'pino'
import { beforeAll, inject } from 'vitest'
import { type Config, loadConfig } from '../../src/config.ts'
import { connectHr, connectPlatform } from '../../src/connections.ts'
import { type AppOptions, buildApp } from '../../src/console/app.ts'
import { hashPassword } from '../../src/console/auth/password.ts'
import { openSession } from '../../src/console/auth/sessions.ts'
import { addToken } from '../../src/console/auth/tokens.ts'
import { ACCESS_ROLES, type AccessRole } from '../../src/console/auth/viewer.ts'
import { DatabaseMetrics } from '../../src/console/database-metrics.ts'
import { Live } from '../../src/console/live.ts'
import { People } from '../../src/console/people.ts'
import { ProcessMetrics } from '../../src/console/process-metrics.ts'
import { Readiness } from '../../src/console/readiness.ts'
import { TOPICS } from '../../src/console/screens.ts'
import { createPool, type Pool } from '../../src/lib/database.ts'
import { SERIALIZERS } from '../../src/lib/logger.ts'
import { FITS, type Misfit } from '../../src/sync/processes/process.ts'
import { SAMPLE } from '../../src/trial/environment.ts'
import { duringFile } from '../helpers/during.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'

export const silent = pino({ level: 'silent' })

/** The console's application on a database, as the server builds it, for requests by `inject`. */
export interface TestApp extends AsyncDisposable {
  app: FastifyInstance
  pool: Pool
  readiness: Readiness
  metrics: ProcessMetrics
  /** As they were registered. */
  routes: RouteOptions[]
}

/** Settings of a deployment whose HR and platform are never asked. */
export function consoleConfig(databaseUrl: string, settings: Record<string, string> = {}): Config {
  return loadConfig({
    DATABASE_URL: databaseUrl,
    HR_DATABASE_URL: databaseUrl,
    HR_EMPLOYEES_SQL: SAMPLE.employeesSql,
    PLATFORM_BASE_URL: 'http://127.0.0.1:9',
    PLATFORM_APP_ID: 'test-application',
    PLATFORM_APP_SECRET: 'test-secret',
    CONSOLE_PORT: '0',
    ...settings,
  })
}

/** HR in the console's own database, with these SELECTs as its mappings. */
export function hrWith(databaseUrl: string, employees: string, departments?: string): Record<string, string> {
  const folder = mkdtempSync(join(inject('runFolder'), 'mappings-'))
  const fileOf = (name: string, sql: string) => {
    const file = join(folder, name)
    writeFileSync(file, sql)
    return file
  }
  return {
    HR_DATABASE_URL: databaseUrl,
    HR_EMPLOYEES_SQL: fileOf('employees.sql', employees),
    ...(departments ? { HR_DEPARTMENTS_SQL: fileOf('departments.sql', departments) } : {}),
  }
}

export async function openApp(
  databaseUrl: string,
  options: {
    token?: string
    checkQueue?: () => Promise<unknown>
    misfit?: Partial<Misfit>
    logger?: Logger
    settings?: Record<string, string>
    metrics?: AppOptions['metrics']
    /** Of the database, after which a request is answered that it is away. */
    timeoutMs?: number
  } & Partial<Pick<AppOptions, 'readOnly' | 'publicUrl' | 'oidc'>> = {},
): Promise<TestApp> {
  const logger = options.logger ?? silent
  const { timeoutMs = 3000 } = options
  const pool = createPool(databaseUrl, { max: 2, name: 'console', logger, timeoutMs })
  const readiness = new Readiness({
    pool,
    checkQueue: options.checkQueue ?? null,
    misfit: () => ({ ...FITS, ...options.misfit }),
    logger,
  })
  readiness.phase = 'running'
  const metrics = new ProcessMetrics({ version: '1.2.3', platformCodes: ['1000210003'] })
  const config = consoleConfig(databaseUrl, options.settings)
  const hr = await connectHr(config, silent)
  const live = new Live(pool, TOPICS)
  const app = buildApp({
    version: '1.2.3',
    roles: ['worker', 'console'],
    token: options.token ?? null,
    publicUrl: options.publicUrl ?? null,
    readOnly: options.readOnly ?? false,
    proxies: [],
    oidc: options.oidc ?? null,
    readiness,
    metrics: options.metrics ?? [metrics, new DatabaseMetrics({ pool, onTrouble: () => {} })],
    services: {
      config,
      pool,
      hr,
      people: new People(hr, logger),
      platform: () => connectPlatform(config, pool, silent),
      env: options.settings ?? {},
      program: 'dirsync',
      logger,
    },
    live,
    logger,
  })
  const routes: RouteOptions[] = []
  app.addHook('onRoute', route => {
    routes.push(route)
  })
  await app.ready()
  return {
    app,
    pool,
    readiness,
    metrics,
    routes,
    async [Symbol.asyncDispose]() {
      await live.close()
      await app.close()
      await hr.close()
      await pool.end()
    },
  }
}

/** A console for all tests of a file, on a database of its own, with a program for each role. */
export class ConsoleUnderTest {
  readonly #database = duringFile(() => createTestDatabase({ migrated: true }))
  readonly #console: TestApp
  readonly #tokens = new Map<AccessRole, string>()

  constructor(settings: (databaseUrl: string) => Record<string, string> = () => ({})) {
    this.#console = duringFile(() => openApp(this.url, { settings: settings(this.url) }))
    beforeAll(async () => {
      const expiresAt = new Date(Date.now() + 86_400_000)
      for (const role of ACCESS_ROLES)
        this.#tokens.set(role, await addToken(this.pool, 'test', { name: role, role, expiresAt }))
    })
  }

  get url(): string {
    return this.#database.url
  }

  get pool(): TestDatabase['pool'] {
    return this.#database.pool
  }

  get app(): FastifyInstance {
    return this.#console.app
  }

  get routes(): RouteOptions[] {
    return this.#console.routes
  }

  tokenOf(role: AccessRole): string {
    return this.#tokens.get(role) ?? ''
  }

  /** Asks as the program of a role. Below /api/v1 it is answered with data, elsewhere with the page. */
  ask(
    role: AccessRole,
    method: 'GET' | 'POST',
    url: string,
    payload?: InjectOptions['payload'],
    headers: Record<string, string> = {},
  ) {
    return this.app.inject({
      method,
      url,
      headers: { authorization: `Bearer ${this.#tokens.get(role)}`, ...headers },
      ...(payload === undefined ? {} : { payload }),
    })
  }

  /** Asks as the browser of a user who has signed in, with the text of a form. */
  async browse(
    role: AccessRole,
    method: 'GET' | 'POST',
    url: string,
    form?: string,
    headers: Record<string, string> = {},
  ) {
    return this.app.inject({
      method,
      url,
      headers: {
        cookie: await signInAs(this.#console, role),
        'sec-fetch-site': 'same-origin',
        accept: 'text/html',
        'accept-language': 'en',
        ...(form === undefined ? {} : { 'content-type': 'application/x-www-form-urlencoded' }),
        ...headers,
      },
      ...(form === undefined ? {} : { payload: form }),
    })
  }

  /** What was asked for so far, in its order. */
  async commands(): Promise<{ name: string; arguments: unknown }[]> {
    const { rows } = await this.pool.query('select name, arguments from dirsync.command order by id')
    return rows
  }
}

/** `GET /cases`, and who may call it: a page and its twin under /api/v1 are one, as are GET and HEAD. */
export function accessOf({ routes }: Pick<TestApp, 'routes'>): Map<string, AccessRole | 'open'> {
  return new Map(
    routes.flatMap(({ method, url, config }) =>
      [method].flat().map(name => [keyOf(name, url), config?.access ?? 'admin'] as const),
    ),
  )
}

export function keyOf(method: string, url: string): string {
  return `${method === 'HEAD' ? 'GET' : method} ${url.replace(/^\/api\/v1(?=\/)/, '')}`
}

export interface LogLine extends Record<string, unknown> {
  level: number
  msg: string
}

/** A logger whose lines the test reads. */
export function recordLog(): { logger: Logger; lines: LogLine[] } {
  const lines: LogLine[] = []
  const stream = new Writable({
    write(line: Buffer, _encoding, done) {
      lines.push(JSON.parse(String(line)))
      done()
    },
  })
  return { logger: pino({ level: 'debug', serializers: SERIALIZERS }, stream), lines }
}

const cookies = new WeakMap<TestApp, Map<AccessRole, string>>()

/** The cookie of a user with that role, who has signed in: once per console and role. */
export async function signInAs(console: TestApp, role: AccessRole): Promise<string> {
  const known = cookies.get(console) ?? new Map<AccessRole, string>()
  cookies.set(console, known)
  const cookie = known.get(role) ?? (await newCookie(console, role))
  known.set(role, cookie)
  return cookie
}

async function newCookie({ pool }: TestApp, role: AccessRole): Promise<string> {
  const name = `somebody-${role}`
  await plantUser(pool, name, role)
  // What the form does once it has found the password right, as test/console/auth/password.test.ts shows.
  const origin = { address: '127.0.0.1', userAgent: 'test', former: null }
  const secret = await openSession(pool, { name, via: 'password' }, origin)
  if (secret === null) throw new Error(`${name} may not sign in`)
  return `dirsync=${secret}`
}

/** Of every user that is planted. */
export const PASSWORD = 'correct horse battery staple'
let hash: Promise<string> | undefined

/** A user as `addUser` adds them, but for the record; PASSWORD is hashed once for all, as that takes a sixth of a second. */
export async function plantUser(pool: Pool, name: string, role: AccessRole): Promise<void> {
  hash ??= hashPassword(PASSWORD)
  await pool.query(
    `insert into dirsync.console_user (name, source, role, password_hash) values ($1, 'password', $2, $3)
     on conflict do nothing`,
    [name, role, await hash],
  )
}
