import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import { Registry } from 'prom-client'
import type { Logger } from '../lib/logger.ts'
import type { Role } from '../sync/process.ts'
import type { Readiness } from './readiness.ts'

/** More than anybody has to send. */
const MAX_BODY_BYTES = 64 * 1024
const REQUEST_TIMEOUT_MS = 10_000

const SECURITY_HEADERS = {
  'cache-control': 'no-store',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

interface AppOptions {
  version: string
  /** Roles of this process. */
  roles: readonly Role[]
  /** The token that /metrics asks for; null: none. */
  token: string | null
  readiness: Readiness
  /** Sources of /metrics, in Prometheus' text format; the answer holds one after the other. */
  metrics: readonly { text(): Promise<string> }[]
  logger: Logger
}

/** Builds the console: `/healthz`, `/readyz` and `/metrics`. It does not listen yet. */
export function buildApp(options: AppOptions): FastifyInstance {
  const { logger, readiness } = options
  const app = fastify({
    logger: false,
    bodyLimit: MAX_BODY_BYTES,
    requestTimeout: REQUEST_TIMEOUT_MS,
    forceCloseConnections: 'idle',
    frameworkErrors: (error, _request, reply) => refuse(reply.headers(SECURITY_HEADERS), error, logger),
  })

  app.addHook('onRequest', async (_request, reply) => {
    reply.headers(SECURITY_HEADERS)
  })
  app.addHook('onResponse', async (request, reply) => {
    // The route, not the address: queries and keys stay out of the log.
    const route = request.routeOptions.url ?? null
    const durationMs = Math.round(reply.elapsedTime)
    logger.debug({ method: request.method, route, status: reply.statusCode, durationMs }, 'request')
  })
  app.setNotFoundHandler((_request, reply) => answer(reply, 404, 'NOT_FOUND', 'There is no such page.'))
  app.setErrorHandler((error, _request, reply) => refuse(reply, error, logger))

  app.get('/healthz', () => ({
    status: 'alive',
    version: options.version,
    roles: options.roles,
    uptime_seconds: Math.floor(process.uptime()),
  }))

  app.get('/readyz', async (_request, reply) => {
    const report = await readiness.check()
    return reply.code(report.status === 'ready' ? 200 : 503).send(report)
  })

  app.get('/metrics', { onRequest: tokenGuard(options.token) }, async (_request, reply) => {
    const texts = await Promise.all(options.metrics.map(metrics => metrics.text()))
    return reply.type(Registry.PROMETHEUS_CONTENT_TYPE).send(texts.join(''))
  })

  return app
}

function tokenGuard(token: string | null) {
  return async (request: FastifyRequest, reply: FastifyReply) => {
    if (token === null || hasBearerToken(request.headers.authorization, token)) return
    reply.header('www-authenticate', 'Bearer realm="dirsync"')
    return answer(reply, 401, 'UNAUTHORIZED', 'Send the header "Authorization: Bearer" with CONSOLE_TOKEN.')
  }
}

/** Tells the caller in general words what is wrong with the request. What went wrong on our side is for the log alone. */
function refuse(reply: FastifyReply, error: unknown, logger: Logger): FastifyReply {
  const { statusCode = 500, code, message, stack } = error as Error & { statusCode?: number; code?: string }
  if (statusCode >= 400 && statusCode < 500)
    return answer(reply, statusCode, 'BAD_REQUEST', 'The console does not understand this request.')
  logger.error({ error: { code, message, stack } }, 'a request to the console failed')
  return answer(reply, 500, 'INTERNAL', 'The request failed inside dirsync; its log says why.')
}

function answer(reply: FastifyReply, status: number, code: string, message: string): FastifyReply {
  return reply.code(status).send({ error: { code, message } })
}

/**
 * Tells whether an Authorization header carries the token. The time that this takes says nothing about either.
 * @param header as received; undefined when there was none
 */
function hasBearerToken(header: string | undefined, token: string): boolean {
  const given = /^Bearer +(\S+) *$/i.exec(header ?? '')?.[1] ?? ''
  return timingSafeEqual(digest(given), digest(token))
}

/** The comparison needs two texts of the same length. */
function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
