import type { AddressInfo, Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import fastify from 'fastify'
import type { Config } from '../config.ts'
import { createPool, type Pool } from '../lib/database.ts'
import { closeServer, type ListenTrouble, listeningUrl, listenTrouble } from '../lib/http-server.ts'
import type { Logger } from '../lib/logger.ts'
import { TokenBucket } from '../lib/token-bucket.ts'
import { MAX_FORM_BYTES, NOTIFICATION_PATH, verifyNotification } from '../platform/notification.ts'
import type { SignAlgorithm } from '../platform/request.ts'
import { CodedError } from '../texts/message.ts'
import { recordNotification } from './refund.ts'

const FORM_TYPE = /^application\/x-www-form-urlencoded(\s*;\s*charset="?utf-8"?)?\s*$/i
/** The one expectation of HTTP. */
const CONTINUE = /^100-continue$/i
const MAX_HEADER_BYTES = 8 * 1024
/** Far more than the refunds of an enterprise. The platform resends what is turned away. */
const LIMITS: ReceiverLimits = { burst: 100, perSecond: 20, timeoutMs: 10_000, connections: 250 }
/** A statement that takes longer counts as failed: the platform resends notifications without an answer. */
const STATEMENT_TIMEOUT_MS = 3000
/** How long requests in flight may take when the receiver closes. */
const CLOSE_GRACE_MS = 300

export interface ReceiverLimits {
  /** Notifications that are stored, and refusals that are logged: this many of each at once, … */
  burst: number
  /** … and this many per second in the long run. */
  perSecond: number
  /** How soon a request has to arrive, headers and body. */
  timeoutMs: number
  connections: number
}

interface Receiver {
  /** Where it listens, as a person would type it. */
  readonly url: string
  readonly pool: Pool
  /** Answers the requests in flight, closes every connection and stops. Idempotent. */
  close(): Promise<void>
}

/**
 * Starts the role `notifications`. It has database connections of its own, so that other work never keeps the platform waiting.
 * @param onOutcome called with a fixed word for every request
 * @throws ReceiverError when it cannot listen on NOTIFICATION_HOST and NOTIFICATION_PORT
 */
export async function startReceiver(
  config: Config,
  parent: Logger,
  onOutcome?: (outcome: string) => void,
): Promise<Receiver> {
  const { NOTIFICATION_HOST: host, NOTIFICATION_PORT: port } = config
  const logger = parent.child({ component: 'notifications' })
  const pool = createPool(config.DATABASE_URL, {
    max: 4,
    name: 'notifications',
    logger,
    timeoutMs: STATEMENT_TIMEOUT_MS,
  })
  const app = buildReceiver({
    pool,
    appId: config.PLATFORM_APP_ID,
    appSecret: config.PLATFORM_APP_SECRET,
    signAlgorithm: config.PLATFORM_SIGN_ALGORITHM,
    limits: LIMITS,
    clock: Date.now,
    onOutcome,
    logger,
  })
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= closeServer(app, CLOSE_GRACE_MS).finally(() => pool.end())
    return closing
  }
  try {
    await app.listen({ host, port })
  } catch (error) {
    await close()
    const found = listenTrouble('NOTIFICATION', { host, port }, error)
    throw found ? new ReceiverError(`NOTIFICATION_${found.trouble}`, found.what) : error
  }
  const url = listeningUrl(host, (app.server.address() as AddressInfo).port)
  logger.info({ url }, 'receiver of refund notifications listens')
  return { url, pool, close }
}

/** The receiver cannot listen; one sentence that names the setting. */
class ReceiverError extends CodedError<`NOTIFICATION_${ListenTrouble}`> {}

interface ReceiverOptions {
  pool: Pool
  appId: string
  appSecret: string
  signAlgorithm: SignAlgorithm
  limits: ReceiverLimits
  /** Milliseconds since 1970. */
  clock: () => number
  /** Called for every request: `stored`, `repeated`, or the fixed word for why it was refused. */
  onOutcome?: ((outcome: string) => void) | undefined
  logger: Logger
}

/**
 * Builds the receiver of refund notifications (section 6): `POST /notifications/refund` answers `success` once a notification
 * is stored, or was before, and `fail` to all else. It does not listen yet.
 *
 * The endpoint is open to the world. Junk costs a bounded read and one hash, and never reaches the database; however much of it
 * comes, signed notifications have a rate limit of their own.
 */
export function buildReceiver(options: ReceiverOptions): FastifyInstance {
  const { pool, limits, clock, logger } = options
  const notifications = new TokenBucket(limits)
  const admitRefusal = refusals(options)
  const refuse = (reply: FastifyReply, status: number, reason: string) =>
    reply.code(admitRefusal(status, reason)).send('fail')
  /** For a body that may not have been read: the connection is closed without reading on. */
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
      // Node.js would answer it by itself.
      requireHostHeader: false,
    },
    frameworkErrors: (_error, _request, reply) => hangUp(reply, 400, 'address'),
    clientErrorHandler: ({ code }, socket) => {
      // Called for each piece that still arrives.
      if (socket.writableEnded) return
      const status = code === 'ERR_HTTP_REQUEST_TIMEOUT' ? 408 : code === 'HPE_HEADER_OVERFLOW' ? 431 : 400
      admitRefusal(status, 'request')
      refuseRaw(socket, status)
    },
  })
  app.server.maxConnections = limits.connections
  // Node.js would answer it by itself.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))

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
    if (statusCode >= 500)
      logger.error({ error: { name, code } }, 'a request to the receiver of notifications failed')
    return hangUp(reply, statusCode, statusCode === 413 ? 'too_large' : 'request')
  })
  app.setNotFoundHandler((_request, reply) => hangUp(reply, 404, 'address'))

  app.get('/healthz', async () => 'ok')

  app.post(NOTIFICATION_PATH, async (request, reply) => {
    const verified = verifyNotification((request.body as Buffer | undefined) ?? '', {
      ...options,
      now: clock(),
    })
    if (!verified.ok) return refuse(reply, 400, verified.reason)
    if (!notifications.take(clock())) return refuse(reply, 429, 'rate')
    let outcome: Awaited<ReturnType<typeof recordNotification>>
    try {
      outcome = await recordNotification(pool, verified.notification)
    } catch (error) {
      // The code alone: a database message may quote values.
      logger.error(
        { error: { code: (error as { code?: string }).code } },
        'a refund notification could not be stored',
      )
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
  if (raw.headers.host === undefined && raw.httpVersion !== '1.0') return { status: 400, reason: 'request' }
  // What NOTIFICATION_URL has behind it is for the proxy before the receiver.
  if (raw.url?.split('?', 1)[0] !== NOTIFICATION_PATH) return { status: 404, reason: 'address' }
  if (method !== 'POST') return { status: 405, reason: 'method' }
  const types = raw.headersDistinct['content-type'] ?? []
  if (types.length !== 1 || !FORM_TYPE.test(types[0] as string) || raw.headers['content-encoding'])
    return { status: 415, reason: 'content_type' }
  if (!CONTINUE.test(raw.headers.expect ?? '100-continue')) return { status: 417, reason: 'request' }
  return null
}

/** Answers requests that are not HTTP, or came too slowly. */
function refuseRaw(socket: Socket, status: number): void {
  if (socket.writable)
    socket.write(`HTTP/1.1 ${status} Refused\r\nConnection: close\r\nContent-Length: 4\r\n\r\nfail`)
  socket.destroySoon()
}

/**
 * Logs refusals, without any received value. Beyond the rate they are only counted, so that they cannot flood the log.
 * @returns a function that takes the status and a fixed word for the reason, and gives the status to answer with: the same, or
 * 429 beyond the rate
 */
function refusals({ limits, clock, onOutcome, logger }: ReceiverOptions) {
  const logged = new TokenBucket(limits)
  let unlogged = 0
  return (status: number, reason: string): number => {
    onOutcome?.(reason)
    if (!logged.take(clock())) {
      unlogged += 1
      return 429
    }
    const more = unlogged > 0 ? { unlogged } : {}
    unlogged = 0
    logger.warn({ reason, status, ...more }, 'a request to the receiver of notifications was refused')
    return status
  }
}
