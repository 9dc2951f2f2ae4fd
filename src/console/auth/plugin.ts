import formbody from '@fastify/formbody'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BareTaste } from '../ui/layout.ts'
import { FailureRecord } from './attempts.ts'
import { bearerToken, dropForwardedPorts, isSecure, readCookie } from './browser.ts'
import { IdentityProvider, type OidcSettings } from './oidc.ts'
import { oidcRoutes } from './oidc-routes.ts'
import { signInRoutes } from './routes.ts'
import { hashOf } from './secret.ts'
import { viewerOfSession } from './sessions.ts'
import { viewerOfToken } from './tokens.ts'
import type { Viewer } from './viewer.ts'

export interface AuthOptions {
  pool: Pool
  logger: Logger
  /** CONSOLE_URL, the address that browsers use; null to take the host of each request. */
  publicUrl: string | null
  /** The identity provider, which needs `publicUrl`; null for none. */
  oidc: OidcSettings | null
  /** Display preferences of the visitor. */
  taste(request: FastifyRequest): BareTaste
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in user, or null. Whether they may call the route is decided elsewhere. */
    viewer: Viewer | null
    /** Identifies the session without revealing its secret; null without a session. */
    sessionId: string | null
    /** The hash of the session's or token's secret, in hexadecimal; null without a viewer. */
    credential: string | null
  }
}

/** Public routes that reveal nothing about anyone, and work while the database is down. */
const PUBLIC_ROUTES = new Set(['/healthz', '/readyz', '/metrics', '/assets/*'])
const ONE_YEAR_S = 31_536_000

/**
 * Identifies the caller by a session cookie or a bearer token, and serves the pages for signing in and out. A request
 * with a bearer token is judged by that alone: a valid cookie does not make up for a wrong one.
 */
const plugin: FastifyPluginAsync<AuthOptions> = async (app, options) => {
  const { pool, publicUrl, oidc } = options
  const logger = options.logger.child({ component: 'sign-in' })

  app.decorateRequest('viewer', null)
  app.decorateRequest('sessionId', null)
  app.decorateRequest('credential', null)
  app.addHook('onRequest', async (request, reply) => {
    dropForwardedPorts(request)
    const secure = isSecure(request, publicUrl)
    if (secure) reply.header('strict-transport-security', `max-age=${ONE_YEAR_S}`)
    if (PUBLIC_ROUTES.has(request.routeOptions.url ?? '')) return
    const token = bearerToken(request)
    if (token !== undefined) {
      request.viewer = token === null ? null : await viewerOfToken(pool, token)
      if (token !== null && request.viewer) request.credential = hashOf(token).toString('hex')
      return
    }
    const secret = readCookie(request, 'session', secure)
    if (secret === null) return
    request.viewer = await viewerOfSession(pool, secret)
    if (request.viewer) request.sessionId = request.credential = hashOf(secret).toString('hex')
  })

  const provider = oidc && publicUrl !== null ? new IdentityProvider(pool, oidc, publicUrl, logger) : null
  const failures = new FailureRecord(pool, logger)
  app.addHook('onClose', () => failures.flush())
  const context = { ...options, logger, provider, failures }
  // Only these routes parse forms, unless the whole console does.
  await app.register(async routes => {
    if (!routes.hasContentTypeParser('application/x-www-form-urlencoded')) await routes.register(formbody)
    signInRoutes(routes, context)
    if (provider) oidcRoutes(routes, context, provider)
  })
}

/** Hooks and decorators apply to the app that registers this plugin, not only inside it. */
export const authPlugin = Object.assign(plugin, { [Symbol.for('skip-override')]: true })
