import formbody from '@fastify/formbody'
import type { FastifyPluginAsync, FastifyRequest } from 'fastify'
import type { Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BareTaste } from '../ui/layout.ts'
import { FailureRecord } from './attempts.ts'
import { bearerToken, isSecure, readCookie } from './browser.ts'
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
  /** CONSOLE_URL, where the console is known to browsers; null: as each request says. */
  publicUrl: string | null
  /** The identity provider, which needs `publicUrl`; null: none. */
  oidc: OidcSettings | null
  /** How whoever asks wants to see the pages. */
  taste(request: FastifyRequest): BareTaste
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who asks; null for somebody who is not signed in. Whether they may is decided elsewhere. */
    viewer: Viewer | null
    /** Names the session without giving it away; null without one. */
    sessionId: string | null
  }
}

/** Routes that everybody may call and that say nothing about anybody: they work while the database is away. */
const FOR_ANYBODY = new Set(['/healthz', '/readyz', '/metrics', '/assets/*'])
const ONE_YEAR_S = 31_536_000

/**
 * Says who asks, from a session's cookie or a bearer token, and has the pages for signing in and out. A request with an
 * Authorization header is judged by that alone: a wrong token is not made good by a cookie.
 */
const plugin: FastifyPluginAsync<AuthOptions> = async (app, options) => {
  const { pool, publicUrl, oidc } = options
  const logger = options.logger.child({ component: 'sign-in' })

  app.decorateRequest('viewer', null)
  app.decorateRequest('sessionId', null)
  app.addHook('onRequest', async (request, reply) => {
    const secure = isSecure(request, publicUrl)
    if (secure) reply.header('strict-transport-security', `max-age=${ONE_YEAR_S}`)
    if (FOR_ANYBODY.has(request.routeOptions.url ?? '')) return
    const token = bearerToken(request)
    if (token !== undefined) {
      request.viewer = token === null ? null : await viewerOfToken(pool, token)
      return
    }
    const secret = readCookie(request, 'session', secure)
    if (secret === null) return
    request.viewer = await viewerOfSession(pool, secret)
    if (request.viewer) request.sessionId = hashOf(secret).toString('hex')
  })

  const provider = oidc && publicUrl !== null ? new IdentityProvider(pool, oidc, publicUrl, logger) : null
  const context = { ...options, logger, provider, failures: new FailureRecord(pool, logger) }
  // Forms are read by these routes alone, unless the whole console reads them.
  await app.register(async routes => {
    if (!routes.hasContentTypeParser('application/x-www-form-urlencoded')) await routes.register(formbody)
    signInRoutes(routes, context)
    if (provider) oidcRoutes(routes, context, provider)
  })
}

/** Hooks and decorators are those of whoever registers this. */
export const auth = Object.assign(plugin, { [Symbol.for('skip-override')]: true })
