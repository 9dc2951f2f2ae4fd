import type { SafeHtml } from '@remix-run/html-template'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import type { BareTaste } from '../ui/layout.ts'
import type { FailureRecord } from './attempts.ts'
import { isSecure, readCookie, writeCookie } from './browser.ts'
import type { IdentityProvider } from './oidc.ts'
import { openSession, SESSION_SECONDS } from './sessions.ts'

/** What the routes for signing in and out share. */
export interface SignInContext {
  pool: Pool
  logger: Logger
  publicUrl: string | null
  /** Null where people sign in with passwords alone. */
  provider: IdentityProvider | null
  failures: FailureRecord
  /** How whoever asks wants to see the pages. */
  taste(request: FastifyRequest): BareTaste
}

/**
 * Signs somebody in who has shown who they are: a new session, its cookie, and on to the page that they wanted.
 * @returns false where they may not after all: disabled, gone, or with another password since
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
