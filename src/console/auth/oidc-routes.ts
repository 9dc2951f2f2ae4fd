import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { isSecure, localPath, readCookie, writeCookie } from './browser.ts'
import { FLOW_SECONDS, type IdentityProvider, OidcError, refusalReason } from './oidc.ts'
import { admitPerson, type OidcAdmission } from './oidc-users.ts'
import { refusalPage } from './pages.ts'
import { type SignInContext, sendPage, signIn } from './sign-in.ts'
import { OPEN } from './viewer.ts'

/** Sign-in at the identity provider: the redirect there and the callback. */
export function oidcRoutes(app: FastifyInstance, context: SignInContext, provider: IdentityProvider): void {
  const { pool, publicUrl, logger } = context
  const flowCookie = (request: FastifyRequest, reply: FastifyReply, secret: string | null) =>
    writeCookie(reply, 'flow', secret ?? '', {
      secure: isSecure(request, publicUrl),
      seconds: secret === null ? 0 : FLOW_SECONDS,
    })

  app.get<{ Querystring: { to?: unknown } }>('/sign-in/oidc', { config: OPEN }, async (request, reply) => {
    try {
      const { url, secret } = await provider.begin(localPath(request.query.to))
      flowCookie(request, reply, secret)
      return reply.redirect(url, 303)
    } catch (error) {
      return refuse(request, reply, error)
    }
  })

  app.get('/sign-in/oidc/callback', { config: OPEN }, async (request, reply) => {
    const secret = readCookie(request, 'flow', isSecure(request, publicUrl))
    flowCookie(request, reply, null)
    try {
      const { person, returnTo } = await provider.finish(request.url, secret)
      const admission = await admitPerson(pool, person)
      if ('refused' in admission) return turnAway(request, reply, admission)
      const { name } = admission
      const session = { name, via: 'oidc', person, to: returnTo } as const
      if (await signIn(context, request, reply, session)) return reply
      return turnAway(request, reply, { refused: 'disabled', name, user: name })
    } catch (error) {
      return refuse(request, reply, error)
    }
  })

  async function turnAway(
    request: FastifyRequest,
    reply: FastifyReply,
    { refused, name, user }: Extract<OidcAdmission, { refused: string }>,
  ): Promise<FastifyReply> {
    // Nothing slows these sign-ins: they take no room from those of passwords, nor strangers from them.
    await context.failures.add(user, request.ip, refused, 'provider')
    const page = refusalPage(context.taste(request), `auth.oidc.${refused}`, { values: { name } })
    return sendPage(reply, 403, page)
  }

  async function refuse(request: FastifyRequest, reply: FastifyReply, error: unknown): Promise<FastifyReply> {
    if (!(error instanceof OidcError)) throw error
    const reason = refusalReason(error)
    if (error.code === 'refused') {
      logger.warn({ reason }, 'a sign-in at the identity provider did not work')
      await context.failures.add(null, request.ip, 'oidc')
    }
    const page = refusalPage(context.taste(request), `auth.oidc.${error.code}`, { values: { reason } })
    return sendPage(reply, { away: 503, refused: 403, expired: 400 }[error.code], page)
  }
}
