import type { SafeHtml } from '@remix-run/html-template'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BareTaste } from '../ui/layout.ts'
import type { FailureRecord } from './attempts.ts'
import { isSecure, readCookie, writeCookie } from './browser.ts'
import type { IdentityProvider } from './oidc.ts'
import { openSession, SESSION_SECONDS } from './sessions.ts'

/** Shared by the routes for signing in and out. */
export interface SignInContext {
  pool: Pool
  logger: Logger
  publicUrl: string | null
  /** Null if people sign in with passwords only. */
  provider: IdentityProvider | null
  failures: FailureRecord
  /** Display preferences of the visitor. */
  taste(request: FastifyRequest): BareTaste
}

/**
 * Signs in a user whose identity has been verified: opens a session, sets its cookie and redirects to the page that
 * they wanted.
 * @returns false if what let them in holds no longer, or the user is disabled or deleted
 */
export async function signIn(
  { pool, publicUrl }: SignInContext,
  request: FastifyRequest,
  reply: FastifyReply,
  user: Parameters<typeof openSession>[1] & { to: string },
): Promise<boolean> {
  const secure = isSecure(request, publicUrl)
  const secret = await openSession(pool, user, {
    address: request.ip,
    userAgent: request.headers['user-agent'] ?? '',
    former: readCookie(request, 'session', secure),
  })
  if (secret === null) return false
  writeCookie(reply, 'session', secret, { secure, seconds: SESSION_SECONDS[user.via] })
  reply.redirect(user.to, 303)
  return true
}

export function sendPage(reply: FastifyReply, status: number, page: SafeHtml): FastifyReply {
  return reply.code(status).type('text/html; charset=utf-8').send(String(page))
}
