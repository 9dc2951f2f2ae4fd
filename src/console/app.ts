import { createHash, randomUUID, timingSafeEqual } from 'node:crypto'
import compress from '@fastify/compress'
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import type { SafeHtml } from '@remix-run/html-template'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import fp from 'fastify-plugin'
import { Registry } from 'prom-client'
import { isThisMachine } from '../lib/http-server.ts'
import type { Logger } from '../lib/logger.ts'
import { shortened } from '../lib/text.ts'
import type { Role } from '../sync/processes/process.ts'
import { message } from '../texts/message.ts'
import { isTextKey, type Translate } from '../texts/texts.ts'
import { explainProblems, problemDocument, problemTexts } from './api/problems.ts'
import { apiReference, describeApi } from './api/routes.ts'
import { askOf, type Refused, tasteOf } from './ask.ts'
import { cameFrom } from './auth/browser.ts'
import type { OidcSettings } from './auth/oidc.ts'
import { authPlugin } from './auth/plugin.ts'
import { permits, scopesFor } from './auth/scope.ts'
import { goodCredentials } from './auth/sessions.ts'
import { mayAs, OPEN, type Viewer } from './auth/viewer.ts'
import { isApi, type Kit, type Notice, type Page } from './endpoint.ts'
import { EventStreams } from './events/stream.ts'
import { entryOf, plainFrame, readFrame } from './frame.ts'
import { IdempotencyKeys } from './idempotency.ts'
import type { Live } from './live.ts'
import { Marks } from './marks.ts'
import { PageNames } from './names.ts'
import { preferences } from './preferences.ts'
import { Problem, problemOf } from './problem.ts'
import type { Readiness } from './readiness.ts'
import { endpoints } from './screens.ts'
import type { Services } from './services.ts'
import { Shares } from './shares.ts'
import { assetOf } from './ui/assets.ts'
import { bare, type Frame, layout, problemBody } from './ui/layout.ts'
import { pageOf } from './ui/shown.ts'

/** More than any form needs but that of a mapping, which has a limit of its own: anyone may send as much, also without signing in. */
const MAX_BODY_BYTES = 256 * 1024
/** How long a request may take to arrive: its headers, and all of it. Checked each second. */
const HEADERS_TIMEOUT_MS = 5_000
const REQUEST_TIMEOUT_MS = 10_000
const LOOK_FOR_SLOW_MS = 1_000
/** How long a caller may leave unread what was sent to it. Event streams are written to more often. */
const UNREAD_TIMEOUT_MS = 30_000
/** Concurrent connections, including the event streams of open pages. */
const MAX_CONNECTIONS = 2_000
/** A user id may be long, and more so once it is encoded. */
const MAX_PARAM_LENGTH = 600

export interface AppOptions {
  version: string
  /** Roles of this process. */
  roles: readonly Role[]
  /** The token that /metrics requires; null for none. */
  token: string | null
  /** CONSOLE_URL: where people reach the console; null to take the host of each request. */
  publicUrl: string | null
  /** CONSOLE_READ_ONLY: every change is refused. */
  readOnly: boolean
  /** CONSOLE_PROXIES: reverse proxies that are trusted to name the client's address. */
  proxies: readonly string[]
  oidc: OidcSettings | null
  readiness: Readiness
  /** Sources of /metrics, in Prometheus' text format, concatenated in the response. */
  metrics: readonly { text(): Promise<string> }[]
  services: Services
  live: Live
  logger: Logger
}

/** Builds the console: health, metrics, pages and /api/v1. It does not listen yet. */
export function buildApp(options: AppOptions): FastifyInstance {
  const { logger, publicUrl } = options
  const isTls = publicUrl?.startsWith('https:') ?? false
  const headers = securityHeaders(isTls, options.oidc?.issuer)
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    connectionTimeout: UNREAD_TIMEOUT_MS,
    http: { headersTimeout: HEADERS_TIMEOUT_MS, connectionsCheckingInterval: LOOK_FOR_SLOW_MS },
    forceCloseConnections: 'idle',
    // Sent to the caller of a failed request, and unique across processes.
    genReqId: () => randomUUID(),
    routerOptions: { maxParamLength: MAX_PARAM_LENGTH },
    ...(options.proxies.length > 0 ? { trustProxy: [...options.proxies] } : {}),
    frameworkErrors: (error, request, reply) => tell(request, reply.headers(headers), error, options),
  })
  app.server.maxConnections = MAX_CONNECTIONS
  app.addHook('onRequest', async (request, reply) => {
    // Called as well while the answer is still being made, which may take longer.
    reply.raw.on('timeout', socket => {
      if (socket.writableLength > 0) socket.destroy()
    })
    reply.headers(headers).header('x-request-id', request.id)
  })
  app.addHook('onResponse', async (request, reply) => {
    // The route, not the address: query strings and keys stay out of the log.
    const route = request.routeOptions.url ?? null
    const durationMs = Math.round(reply.elapsedTime)
    const { id: requestId, method } = request
    // Programs are told the id of what is refused, so that it can be found here.
    const level = isApi(request) && reply.statusCode >= 400 ? 'info' : 'debug'
    logger[level]({ requestId, method, route, status: reply.statusCode, durationMs }, 'request')
  })
  // Set before anything is registered, because a plugin's routes keep the handler that was current when they were
  // added.
  app.setErrorHandler((error, request, reply) => tell(request, reply, error, options))
  demandAccess(app)
  const methods = new Methods(app)
  app.register(compress, { encodings: ['br', 'gzip'] })
  app.addHook('onRequest', async (request, reply) => {
    if (!isChange(request)) reply.header('vary', 'accept-encoding')
    if (!mayCompress(request)) request.headers['x-no-compression'] = ''
  })
  app.addHook('onSend', async (request, reply, payload) => revalidated(request, reply, payload))
  app.register(cookie, { parseOptions: { secure: isTls } })
  app.register(formbody)
  app.register(authPlugin, {
    pool: options.services.pool,
    logger,
    publicUrl,
    oidc: options.oidc,
    taste: tasteOf,
  })
  app.register(fp(async root => guard(root, options, methods)))
  return app
}

/** Everything that runs once the caller is identified. */
async function guard(app: FastifyInstance, options: AppOptions, methods: Methods): Promise<void> {
  const { services, publicUrl, readOnly, readiness, live } = options
  const shares = new Shares()
  const closing = new AbortController()
  const events = new EventStreams(services.pool)
  app.addHook('preClose', async () => {
    closing.abort()
    events.close()
  })
  const names = services.config.CONSOLE_NAMES ? new PageNames(services.people) : null
  const kit: Kit = {
    askOf(request) {
      if (!request.viewer) throw new Error('a public route asked for the signed-in user')
      const refused = refusals.get(String(request.headers[REFUSED]))
      const from = isChange(request) ? cameFrom(request, publicUrl) : null
      // Also one that reads pages.
      const isProgram = isApi(request) || request.viewer.via === 'token'
      // What answers a form can only be sent again, not looked at.
      const isPage = from !== null && methods.of(from).includes('GET')
      return askOf(request, request.viewer, {
        ...{ pool: services.pool, readOnly, publicUrl, refused },
        from: isPage ? from : null,
        // Programs are given keys alone.
        findsNames: names !== null && services.people.haveNames,
        marks: new Marks(names === null || isProgram ? null : keys => names.look(keys)),
      })
    },
    pageOf,
    async send(request, reply, ask, page, current) {
      const notice = takeNotice(request, reply, ask.t)
      const [frame, body] = await Promise.all([
        readFrame(services, ask, {
          ...{ notice, version: options.version },
          current: page.isEverywhere ? null : current,
        }),
        names?.put(ask, page.body, current) ?? page.body,
      ])
      return reply.type('text/html; charset=utf-8').send(String(layout(ask, { ...page, body }, frame)))
    },
    notify: leaveNotice,
    async aside(ask, reply, wait) {
      await shares.aside(ask.viewer.name, reply, closing.signal, wait)
      // Afterwards: nobody is told what happened since their access ended.
      const credential = reply.request.credential ?? ''
      if (!(await goodCredentials(services.pool, [credential])).has(credential))
        throw new Problem('unauthorized')
    },
    look: (ask, reply) => shares.look(ask.viewer.name, reply),
    keys: new IdempotencyKeys(services.pool),
  }

  app.addHook('onRequest', async (request, reply) => {
    const { url, config } = request.routeOptions
    if (!isForUs(request, publicUrl))
      throw new Problem('misdirected', '', { values: { host: shortened(request.host, 100) } })
    // An unknown address gets the same answer whether the caller is signed in or not.
    if (url === undefined) return undefined
    const isWithin = refusals.has(String(request.headers[REFUSED]))
    // What never ends is no page whose form can be shown again.
    if (config.streams && isWithin) throw new Problem('not_found')
    const { access = 'admin', tag } = config
    if (isChange(request) && !isOurs(request, publicUrl)) throw new Problem('cross_site')
    if (access !== 'open' && !request.viewer) return signInFirst(request, reply, options)
    if (access !== 'open' && request.viewer && !mayAs(request.viewer.role, access)) {
      const { t } = tasteOf(request)
      throw new Problem('forbidden', '', { values: { role: t(`role.${access}`) } })
    }
    if (access !== 'open' && !permits(request.viewer?.scopes, tag, !isChange(request)))
      throw new Problem('out_of_scope', '', {
        values: { scopes: scopesFor(tag ?? '', !isChange(request)).join(', ') },
      })
    if (readOnly && isChange(request) && !ALWAYS.has(url)) throw new Problem('read_only')
    // The request that was refused has a place already, and gives it back only after this one.
    if (access !== 'open' && request.viewer && !config.streams && !isWithin)
      await shares.admit(request.viewer.name, reply)
    return undefined
  })
  app.setNotFoundHandler((request, reply) => {
    const allowed = methods.of(request.url)
    if (allowed.length > 0) {
      reply.header('allow', allowed.join(', '))
      const values = { method: request.method, methods: allowed.join(', ') }
      return tell(request, reply, new Problem('no_such_method', '', { values }), options)
    }
    if (isApi(request))
      return tell(request, reply, new Problem('not_found', message('said.no_route')), options)
    if (wantsHtml(request)) return tell(request, reply, new Problem('not_found'), options)
    return answer(reply, 404, 'NOT_FOUND', 'There is no such page.')
  })

  app.get('/healthz', { config: OPEN }, () => ({
    status: 'alive',
    version: options.version,
    roles: options.roles,
    uptime_seconds: Math.floor(process.uptime()),
  }))
  app.get('/readyz', { config: OPEN }, async (_request, reply) => {
    const report = await readiness.check()
    return reply.code(report.status === 'ready' ? 200 : 503).send(report)
  })
  app.get('/metrics', { config: OPEN, onRequest: tokenGuard(options.token) }, async (_request, reply) => {
    const texts = await Promise.all(options.metrics.map(metrics => metrics.text()))
    return reply.type(Registry.PROMETHEUS_CONTENT_TYPE).send(texts.join(''))
  })
  app.get<{ Params: { '*': string }; Querystring: { v?: unknown } }>(
    '/assets/*',
    { config: OPEN },
    async (request, reply) => {
      const asset = assetOf(request.params['*'])
      if (!asset) throw new Problem('not_found')
      // During a rolling update, a page from a newer process may ask an older one. That answer must not be cached.
      if (request.query.v === asset.version)
        reply.header('cache-control', 'public, max-age=31536000, immutable')
      return reply.type(asset.type).send(asset.content)
    },
  )
  app.get('/', { schema: { hide: true }, config: { access: 'viewer' } }, (_request, reply) =>
    reply.redirect('/overview', 303),
  )
  preferences(app)
  live.register(app)
  describeApi(app, options.version, publicUrl)
  apiReference(app, kit)
  explainProblems(app)
  app.register(async described => {
    for (const endpoint of endpoints(services)) endpoint.register(described, kit)
    events.register(described)
  })
}

// Access

/** Routes that a read-only console still accepts: people sign in with them, or change nothing but what they see. */
const ALWAYS = new Set([
  ...['/sign-in', '/sign-in/key', '/sign-in/first', '/sign-in/link'],
  ...['/sign-out', '/preferences'],
])

/** Refuses to start with a route that does not say who may call it. */
function demandAccess(app: FastifyInstance): void {
  app.addHook('onRoute', ({ method, url, config }) => {
    if (config?.access === undefined)
      throw new Error(`the route ${method} ${url} does not say who may call it`)
  })
}

/** The methods of every address, for requests with another one. */
class Methods {
  readonly #routes = new Map<string, Set<string>>()

  constructor(app: FastifyInstance) {
    app.addHook('onRoute', ({ method, url }) => {
      const known = this.#routes.get(url) ?? new Set()
      for (const name of [method].flat()) known.add(name)
      this.#routes.set(url, known)
    })
  }

  /** Empty if there is no such address. */
  of(address: string): string[] {
    const parts = address.split('?', 1)[0]?.split('/') ?? []
    const isMeant = (url: string) => {
      const wanted = url.split('/')
      return (
        wanted.length === parts.length && wanted.every((part, i) => part.startsWith(':') || part === parts[i])
      )
    }
    return [...new Set([...this.#routes].flatMap(([url, names]) => (isMeant(url) ? [...names] : [])))]
  }
}

function isChange({ method }: FastifyRequest): boolean {
  return method !== 'GET' && method !== 'HEAD'
}

/** Routes that probes and proxies may call under any host name. */
const BY_ANY_NAME = new Set(['/healthz', '/readyz', '/metrics'])

/**
 * Whether the request is meant for this console. Without CONSOLE_URL, only the names of this machine are accepted:
 * any other name that resolves to here may belong to an attacker's page (DNS rebinding). A request with a token is
 * always accepted.
 */
function isForUs(request: FastifyRequest, publicUrl: string | null): boolean {
  if (publicUrl !== null || isThisMachine(request.hostname)) return true
  return request.viewer?.via === 'token' || BY_ANY_NAME.has(request.routeOptions.url ?? '')
}

/**
 * Whether a change was requested by the console itself. Browsers send the origin of a request, and another site
 * cannot forge it. A token is not a cookie: another site cannot make a browser send it.
 */
function isOurs(request: FastifyRequest, publicUrl: string | null): boolean {
  if (request.viewer?.via === 'token') return true
  const { 'sec-fetch-site': site, origin } = request.headers
  if (site !== undefined) return site === 'same-origin'
  if (origin === undefined) return false
  return origin === (publicUrl === null ? `${request.protocol}://${request.host}` : new URL(publicUrl).origin)
}

function signInFirst(
  request: FastifyRequest,
  reply: FastifyReply,
  { publicUrl, token }: AppOptions,
): FastifyReply {
  // For a request that refreshes part of a page, the page itself shows the error and keeps its content.
  if (wantsHtml(request) && request.headers['hx-request'] === undefined) {
    const to = isChange(request) ? cameFrom(request, publicUrl) : request.url
    return reply.redirect(`/sign-in${to === null ? '' : `?to=${encodeURIComponent(to)}`}`, 303)
  }
  reply.header('www-authenticate', 'Bearer realm="dirsync"')
  // Whoever has the token learns nothing by this: /metrics takes it.
  const isOfMetrics = token !== null && hasBearerToken(request.headers.authorization, token)
  throw new Problem('unauthorized', isOfMetrics ? message('said.token_of_metrics') : '')
}

function wantsHtml(request: FastifyRequest): boolean {
  return !isApi(request) && (request.headers.accept ?? '').includes('text/html')
}

function securityHeaders(isTls: boolean, issuer: string | undefined): Record<string, string> {
  // Signing out redirects to the provider, and browsers apply form-action to redirects as well.
  const forms = issuer ? `'self' ${new URL(issuer).origin}` : "'self'"
  return {
    'cache-control': 'no-store',
    'content-security-policy': [
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self'",
      "connect-src 'self'",
      `form-action ${forms}`,
      "base-uri 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'permissions-policy': 'camera=(), geolocation=(), microphone=()',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    ...(isTls ? { 'strict-transport-security': 'max-age=31536000' } : {}),
  }
}

// Bytes saved

/**
 * Whether an answer may be compressed. Its length tells something about its content to those who can choose a part of it
 * (BREACH), so what another site has asked for is not, nor are answers to changes, which alone show secrets.
 */
function mayCompress(request: FastifyRequest): boolean {
  const { 'sec-fetch-site': site = 'none' } = request.headers
  return !isChange(request) && (site === 'same-origin' || site === 'none')
}

/** Gives an answer of the API an ETag, and leaves out a body that the caller has. Pages tell how long ago things were. */
function revalidated(request: FastifyRequest, reply: FastifyReply, payload: unknown): unknown {
  if (!isApi(request) || isChange(request) || reply.statusCode !== 200 || typeof payload !== 'string')
    return payload
  // What is searched for may be a name or a number, and the address is stored with the answer.
  if (Object(request.query).q !== undefined) return payload
  const etag = `W/"${digest(payload).toString('base64url')}"`
  // Without `no-store`: the caller is meant to keep it, and to ask each time whether it still holds.
  reply.header('etag', etag).header('cache-control', 'private, no-cache')
  const known = (request.headers['if-none-match'] ?? '').split(',').map(tag => tag.trim())
  if (!known.includes(etag) && !known.includes('*')) return payload
  reply.code(304).removeHeader('content-type').removeHeader('content-length')
  // Fastify looks into the body that it leaves out.
  return request.method === 'HEAD' ? '' : null
}

// The notice that the next page shows about the action just taken

const NOTICE = 'dirsync_notice'

function leaveNotice(reply: FastifyReply, notice: Notice): void {
  const text = Buffer.from(JSON.stringify(notice)).toString('base64url')
  reply.setCookie(NOTICE, text, { path: '/', httpOnly: true, sameSite: 'lax', maxAge: 60 })
}

/**
 * Reads the notice from its cookie. It is a key of the catalogue with plain values, so a forged cookie cannot show
 * anything else.
 */
function takeNotice(request: FastifyRequest, reply: FastifyReply, t: Translate): Frame['notice'] {
  const text = request.cookies[NOTICE]
  if (text === undefined) return null
  // A request that refreshes part of a page leaves the notice for the next full page.
  if (request.headers['hx-request']) return null
  reply.clearCookie(NOTICE, { path: '/' })
  try {
    const { key, values } = JSON.parse(Buffer.from(text, 'base64url').toString('utf8'))
    if (typeof key !== 'string' || !isTextKey(key)) return null
    return t(key, Object(values))
  } catch {
    return null
  }
}

// Errors

/** Reports an error to a person as a page, or to a program as JSON. */
async function tell(
  request: FastifyRequest,
  reply: FastifyReply,
  error: unknown,
  options: AppOptions,
): Promise<FastifyReply> {
  const problem = problemOf(error)
  if (problem.kind === 'internal') report(request, error, options.logger)
  if (problem.retryAfter !== undefined) reply.header('retry-after', String(problem.retryAfter))
  reply.code(problem.status)
  if (isApi(request) || problem.kind === 'unauthorized')
    return reply.type('application/problem+json').send(JSON.stringify(problemDocument(problem, request)))
  const taste = tasteOf(request)
  const texts = problemTexts(problem, taste, request.id, request.viewer !== null)
  if (!wantsHtml(request)) return answer(reply, problem.status, codeOf(problem), `${texts.title}.`)
  const again = problem.kind === 'invalid' && (await formAgain(request, problem, options))
  if (again) return reply.type('text/html; charset=utf-8').send(again)
  const back = isChange(request) ? cameFrom(request, options.publicUrl) : null
  const body = problemBody(taste.t, {
    ...texts,
    back,
    ...(problem.kind === 'internal' ? { reference: request.id } : {}),
  })
  const { title } = texts
  const page = request.viewer
    ? await framed(request, request.viewer, { title, body }, problem, options)
    : bare(taste, { title, body })
  return reply.type('text/html; charset=utf-8').send(String(page))
}

/** Kinds of problems about which the database is not asked. */
const WITHOUT_FIGURES: ReadonlySet<Problem['kind']> = new Set(['database', 'too_many'])

/** An error page within the frame, so that the reader can go on from there. */
async function framed(
  request: FastifyRequest,
  viewer: Viewer,
  page: Page,
  { kind }: Problem,
  { services, version, readOnly, publicUrl }: AppOptions,
): Promise<SafeHtml> {
  const ask = askOf(request, viewer, { pool: services.pool, readOnly, publicUrl })
  const own = { notice: null, version, current: entryOf(request.url) }
  const plain = () => plainFrame(ask, own)
  const frame = WITHOUT_FIGURES.has(kind) ? plain() : await readFrame(services, ask, own).catch(plain)
  return layout(ask, page, frame)
}

// Refused input: the page of its form is made again, within this process, and the form shows what was typed and what is wrong

const REFUSED = 'x-dirsync-refused'
/** By a number that nobody can guess. */
const refusals = new Map<string, Refused>()

/** The page with the form whose input was refused; undefined if it is not known or cannot be shown. */
async function formAgain(
  request: FastifyRequest,
  { errors }: Problem,
  { publicUrl }: AppOptions,
): Promise<string | undefined> {
  const { headers, server, socket } = request
  const isFilter = !isChange(request)
  const page = isFilter ? withoutErrors(request, errors) : cameFrom(request, publicUrl)
  if (page === null || isApi({ url: page }) || !request.viewer || headers[REFUSED] !== undefined)
    return undefined
  const id = randomUUID()
  const [to = ''] = request.url.split('?')
  refusals.set(id, { isFilter, to, values: Object(isFilter ? request.query : request.body), errors })
  try {
    const passed = Object.entries(headers).filter(
      ([name]) => !/^(content|transfer|hx|if)-|^accept-encoding$/.test(name),
    )
    const answer = await server.inject({
      url: page,
      ...(socket.remoteAddress ? { remoteAddress: socket.remoteAddress } : {}),
      headers: { ...Object.fromEntries(passed), [REFUSED]: id },
    })
    const isPage = answer.headers['content-type']?.toString().startsWith('text/html')
    return answer.statusCode === 200 && isPage ? answer.body : undefined
  } finally {
    refusals.delete(id)
  }
}

/** The address without the values that are wrong; null if there are none in it. */
function withoutErrors({ url }: FastifyRequest, errors: Problem['errors']): string | null {
  const { pathname, searchParams } = new URL(url, 'http://console')
  const wrong = errors.map(({ path }) => String(path[0])).filter(name => searchParams.has(name))
  for (const name of wrong) searchParams.delete(name)
  return wrong.length === 0 ? null : `${pathname}?${searchParams}`
}

function report(request: FastifyRequest, error: unknown, logger: Logger): void {
  const route = request.routeOptions.url ?? null
  logger.error({ requestId: request.id, route, error }, 'a request to the console failed')
}

function codeOf({ kind, status }: Problem): string {
  const isUnreadable = [400, 413, 415].includes(status)
  return isUnreadable || kind === 'invalid' ? 'BAD_REQUEST' : kind.toUpperCase()
}

function answer(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply.code(status).send({ error: { code, message } })
}

function tokenGuard(token: string | null) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (token === null || hasBearerToken(request.headers.authorization, token)) return
    reply.header('www-authenticate', 'Bearer realm="dirsync"')
    return answer(reply, 401, 'UNAUTHORIZED', 'Send the header "Authorization: Bearer" with CONSOLE_TOKEN.')
  }
}

/**
 * Whether an Authorization header carries the token, compared in constant time.
 * @param header as received; undefined if there was none
 */
function hasBearerToken(header: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? ''
  return timingSafeEqual(digest(given), digest(token))
}

/** Hashes a text, because the comparison needs inputs of the same length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
