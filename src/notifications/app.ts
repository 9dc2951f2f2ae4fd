import type { Socket } from 'node:net'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { Pool } from 'pg'
import { TokenBucket } from '../core/token-bucket.ts'
import type { Logger } from '../logger.ts'
import { MAX_FORM_BYTES, verifyNotification } from '../platform/notification.ts'
import type { SignAlgorithm } from '../platform/signing.ts'
import { recordNotification } from '../store/refund.ts'
import { Refusals } from './refusals.ts'

/** Where the platform sends its notifications. */
const PATH = '/notifications/refund'
const FORM_TYPE = /^application\/x-www-form-urlencoded(\s*;\s*charset="?utf-8"?)?\s*$/i
const MAX_HEADER_BYTES = 8 * 1024

/** What the receiver bears. */
export interface ReceiverLimits {
  /** Notifications that are stored, and refusals that are logged: each so many at once, … */
  burst: number
  /** … and so many in the long run. */
  perSecond: number
  /** A request, headers and body, arrives within this. */
  timeoutMs: number
  connections: number
}

export interface ReceiverOptions {
  pool: Pool
  appId: string
  appSecret: string
  signAlgorithm: SignAlgorithm
  limits: ReceiverLimits
  /** Milliseconds since 1970. */
  clock: () => number
  /** Told of everything that came: `stored`, `repeated`, or the fixed word for why it was refused. */
  onOutcome?: ((outcome: string) => void) | undefined
  logger: Logger
}

/**
 * Builds the receiver of refund notifications (section 6): `POST /notifications/refund` answers `success` once a
 * notification is stored, or was before, and `fail` to all else. It does not listen yet.
 *
 * Anybody may knock here. Junk costs a bounded read and one hash, and never reaches the database; however much of it
 * comes, notifications that are signed have a rate of their own.
 */
export function buildReceiver(options: ReceiverOptions): FastifyInstance {
  const { pool, limits, clock, logger } = options
  const stored = new TokenBucket(limits)
  const refusals = new Refusals(options)
  const refuse = (reply: FastifyReply, status: number, reason: string) =>
    reply.code(refusals.admit(status, reason)).send('fail')
  /** The body may not have been read: nothing more is taken from this connection. */
  const hangUp = (reply: FastifyReply, status: number, reason: string) =>
    refuse(reply.header('connection', 'close'), status, reason)

  const app = fastify({
    logger: false,
    bodyLimit: MAX_FORM_BYTES,
    requestTimeout: limits.timeoutMs,
    connectionTimeout: limits.timeoutMs,
    keepAliveTimeout: limits.timeoutMs,
    exposeHeadRoutes: false,
    forceCloseConnections: 'idle',
    http: {
      headersTimeout: limits.timeoutMs,
      connectionsCheckingInterval: limits.timeoutMs / 10,
      maxHeaderSize: MAX_HEADER_BYTES,
    },
    frameworkErrors: (_error, _request, reply) => hangUp(reply, 400, 'address'),
    clientErrorHandler: (error, socket) => refuseRaw(socket, error.code, refusals),
  })
  app.server.maxConnections = limits.connections

  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'cache-control': 'no-store', 'content-type': 'text/plain; charset=utf-8' })
    const flaw = flawOfRequest(request)
    if (flaw?.status === 405) reply.header('allow', 'POST')
    if (flaw) return hangUp(reply, flaw.status, flaw.reason)
  })
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  app.setErrorHandler((error, _request, reply) => {
    const { statusCode = 500, code, name } = error as { statusCode?: number; code?: string; name?: string }
    if (statusCode >= 500) logger.error({ code, name }, 'a request to the receiver of notifications failed')
    return hangUp(reply, statusCode, statusCode === 413 ? 'too_large' : 'request')
  })
  app.setNotFoundHandler((_request, reply) => hangUp(reply, 404, 'address'))

  app.get('/healthz', async () => 'ok')

  app.post(PATH, async (request, reply) => {
    const verified = verifyNotification((request.body as Buffer | undefined) ?? '', {
      ...options,
      now: clock(),
    })
    if (!verified.ok) return refuse(reply, 400, verified.reason)
    if (!stored.take(clock())) return refuse(reply, 429, 'rate')
    let outcome: Awaited<ReturnType<typeof recordNotification>>
    try {
      outcome = await recordNotification(pool, verified.notification)
    } catch (error) {
      // The code alone: a message of the database may quote what it was given.
      logger.error({ code: (error as { code?: string }).code }, 'a refund notification could not be stored')
      return refuse(reply, 503, 'database')
    }
    if (outcome === 'unknown') return refuse(reply, 404, 'unknown_refund')
    if (outcome === 'mismatch') return refuse(reply, 409, 'mismatch')
    options.onOutcome?.(outcome)
    logger.info({ outcome }, 'refund notification')
    return 'success'
  })

  return app
}

/** What is wrong with a request before its body is read. */
function flawOfRequest({ method, raw }: FastifyRequest): { status: number; reason: string } | null {
  if (raw.url === '/healthz' && method === 'GET') return null
  if (raw.url !== PATH) return { status: 404, reason: 'address' }
  if (method !== 'POST') return { status: 405, reason: 'method' }
  const types = raw.headersDistinct['content-type'] ?? []
  if (types.length !== 1 || !FORM_TYPE.test(types[0] as string) || raw.headers['content-encoding'])
    return { status: 415, reason: 'content_type' }
  return null
}

/** Answers what is no HTTP, or came too slowly. */
function refuseRaw(socket: Socket, code: string, refusals: Refusals): void {
  const status = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
  refusals.admit(status, 'request')
  if (socket.writable)
    socket.write(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfail`)
  socket.destroySoon()
}
