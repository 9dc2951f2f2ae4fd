import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { storableText } from '../../lib/database.ts'
import { BusyError } from '../bounded-line.ts'
import { admitAttempt, forgiveAttempt } from './attempts.ts'
import { isSecure, localPath, readCookie, writeCookie } from './browser.ts'
import { keyPage, refusalPage, type SignIn, signedOutPage, signInPage } from './pages.ts'
import { isPassword } from './password.ts'
import { endSession } from './sessions.ts'
import { type SignInContext, sendPage, signIn } from './sign-in.ts'
import { useSignInKey } from './sign-in-key.ts'
import { comparableName, hasPasswordUsers, LOCAL } from './users.ts'
import { OPEN } from './viewer.ts'

/** Signing in with a password or a one-time key, and signing out. */

/** More than any of these forms needs. */
const bodyLimit = 16 * 1024
/** Retry-After when the password line is full: by then some of it has been worked off. */
const BUSY_SECONDS = 2

const text = z.string().optional().catch(undefined)
const Query = z.object({ to: text, key: text, 'signed-out': text })
const PasswordForm = z.object({
  name: z.string().max(200),
  password: z.string().max(1024),
  to: text,
})
const KeyForm = z.object({ key: z.string().max(100) })

export function signInRoutes(app: FastifyInstance, context: SignInContext): void {
  const { pool, provider } = context

  const show = (
    request: FastifyRequest,
    reply: FastifyReply,
    status: number,
    page: Omit<SignIn, 'hasOidc'>,
  ) => sendPage(reply, status, signInPage(context.taste(request), { ...page, hasOidc: provider !== null }))

  app.get('/sign-in', { config: OPEN }, async (request, reply) => {
    const query = Query.parse(request.query)
    const to = localPath(query.to)
    if (request.viewer && request.viewer.via !== 'token') return reply.redirect(to, 303)
    const page = { to, name: '', hasUsers: await hasPasswordUsers(pool) }
    const isOut = query['signed-out'] !== undefined
    return show(request, reply, 200, isOut ? { ...page, notice: 'auth.signed_out' } : page)
  })

  app.post('/sign-in', { bodyLimit, config: OPEN }, async (request, reply) => {
    const form = PasswordForm.safeParse(request.body)
    // Values beyond the limits of these fields cannot belong to any user.
    if (!form.success)
      return show(request, reply, 403, { to: '/', name: '', hasUsers: true, error: { key: 'auth.wrong' } })
    const name = storableText(comparableName(form.data.name))
    const page = { to: localPath(form.data.to), name, hasUsers: true }
    const attempt = { name, address: request.ip }

    const busy = (error: unknown) => {
      if (!(error instanceof BusyError)) throw error
      reply.header('retry-after', BUSY_SECONDS)
      return show(request, reply, 503, { ...page, error: { key: 'auth.busy' } })
    }

    let seconds: number
    try {
      seconds = await admitAttempt(pool, attempt)
    } catch (error) {
      return busy(error)
    }
    if (seconds > 0) {
      reply.header('retry-after', seconds)
      return show(request, reply, 429, { ...page, error: { key: 'auth.slowed', values: { seconds } } })
    }

    const { rows } = await pool.query<{ password_hash: string | null; disabled: boolean }>(
      'select password_hash, disabled_at is not null as disabled from dirsync.console_user where name = $1',
      [name],
    )
    const [user] = rows
    let isRight: boolean
    try {
      isRight = await isPassword(form.data.password, user?.password_hash ?? null)
    } catch (error) {
      await forgiveAttempt(pool, attempt, false)
      return busy(error)
    }

    if (isRight && user?.password_hash) {
      const session = { name, via: 'password', passwordHash: user.password_hash, to: page.to } as const
      if (await signIn(context, request, reply, session)) {
        await forgiveAttempt(pool, attempt, true)
        return reply
      }
    }
    const why = isRight && user?.disabled ? 'disabled' : 'password'
    await context.failures.add(user ? name : null, request.ip, why)
    // One message for an unknown name, a wrong password and a disabled user.
    return show(request, reply, 403, { ...page, error: { key: 'auth.wrong' } })
  })

  app.get('/sign-in/key', { config: OPEN }, async (request, reply) => {
    const { key } = Query.parse(request.query)
    return sendPage(reply, 200, keyPage(context.taste(request), key ?? ''))
  })

  app.post('/sign-in/key', { bodyLimit, config: OPEN }, async (request, reply) => {
    const form = KeyForm.safeParse(request.body)
    const isGood = form.success && (await useSignInKey(pool, form.data.key))
    if (isGood && (await signIn(context, request, reply, { name: LOCAL, via: 'key', to: '/' }))) return reply
    await context.failures.add(null, request.ip, 'key')
    const page = refusalPage(context.taste(request), 'auth.key.used', { command: 'dirsync users link' })
    return sendPage(reply, 403, page)
  })

  app.post('/sign-out', { bodyLimit, config: { access: 'viewer' } }, async (request, reply) => {
    const secure = isSecure(request, context.publicUrl)
    const secret = readCookie(request, 'session', secure)
    const { viewer } = request
    const idToken =
      viewer && viewer.via !== 'token' && secret ? await endSession(pool, secret, viewer, request.ip) : null
    writeCookie(reply, 'session', '', { secure, seconds: 0 })
    const url = idToken && provider ? await provider.signOutUrl(idToken) : null
    if (url === null) return reply.redirect('/sign-in?signed-out', 303)
    reply.header('refresh', `0; url=${url}`)
    return sendPage(reply, 200, signedOutPage(context.taste(request), url))
  })
}
