import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { storableText } from '../../lib/storable.ts'
import { message, type Said } from '../../texts/message.ts'
import { BusyError } from '../bounded-line.ts'
import { admitAttempt, forgiveAttempt } from './attempts.ts'
import { isSecure, localPath, readCookie, writeCookie } from './browser.ts'
import { AccessError } from './failure.ts'
import { keyPage, linkPage, refusalPage, type SignIn, signedOutPage, signInPage } from './pages.ts'
import { isPassword } from './password.ts'
import { endSession } from './sessions.ts'
import { type SignInContext, sendPage, signIn } from './sign-in.ts'
import { hasNoUsers, holderOfLink, makeFirstAdmin, useSignInKey } from './sign-in-key.ts'
import { comparableName, hasPasswordUsers, LOCAL } from './users.ts'
import { OPEN } from './viewer.ts'

/** Signing in with a password, a one-time key or a one-time link, and signing out. */

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
/** What `?signed-out=` says of a sign-out that the identity provider does not offer, or has not answered. */
const HERE_ALONE = 'here'

/** The key in an address that a person has copied as a whole; else the text itself. */
function keyIn(text: string): string {
  return /[?&]key=([\w-]+)/.exec(text)?.[1] ?? text.trim()
}

const FirstForm = z.object({
  key: z.string().max(100),
  name: z.string().max(200),
  password: z.string().max(1024),
  again: z.string().max(1024),
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
    // Where passwords are the only way, those who have none yet are users, too.
    const hasUsers = provider ? await hasPasswordUsers(pool) : !(await hasNoUsers(pool))
    const page = { to, name: '', hasUsers }
    const out = query['signed-out']
    if (out === undefined) return show(request, reply, 200, page)
    const notice = out === HERE_ALONE ? 'auth.oidc.signed_out' : 'auth.signed_out'
    return show(request, reply, 200, { ...page, notice })
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
    const { key = '' } = Query.parse(request.query)
    const first = (await hasNoUsers(pool)) ? { name: '' } : null
    return sendPage(reply, 200, keyPage(context.taste(request), keyIn(key), first))
  })

  app.post('/sign-in/key', { bodyLimit, config: OPEN }, async (request, reply) => {
    const form = KeyForm.safeParse(request.body)
    const isGood = form.success && (await useSignInKey(pool, form.data.key, request.ip))
    if (isGood && (await signIn(context, request, reply, { name: LOCAL, via: 'key', to: '/' }))) return reply
    await context.failures.add(null, request.ip, 'key')
    const page = refusalPage(context.taste(request), 'auth.key.used', { command: 'dirsync users link' })
    return sendPage(reply, 403, page)
  })

  app.post('/sign-in/first', { bodyLimit, config: OPEN }, async (request, reply) => {
    const form = FirstForm.safeParse(request.body)
    const typed = form.success ? form.data : { key: '', name: '', password: '', again: '' }
    const again = (error: Said, status = 422) =>
      sendPage(reply, status, keyPage(context.taste(request), typed.key, { name: typed.name, error }))
    if (typed.password !== typed.again) return again(message('said.passwords_differ'))
    let name: string | null
    try {
      name = form.success ? await makeFirstAdmin(pool, typed.key, { ...typed, address: request.ip }) : null
    } catch (error) {
      if (error instanceof AccessError) return again(error.said)
      if (!(error instanceof BusyError)) throw error
      reply.header('retry-after', BUSY_SECONDS)
      return again(message('said.busy'), 503)
    }
    if (name !== null && (await signIn(context, request, reply, { name, via: 'password', to: '/' })))
      return reply
    await context.failures.add(null, request.ip, 'key')
    const key = (await hasNoUsers(pool)) ? 'auth.key.used' : 'auth.first.late'
    const page = refusalPage(context.taste(request), key, { command: 'dirsync users link' })
    return sendPage(reply, 403, page)
  })

  app.get('/sign-in/link', { config: OPEN }, async (request, reply) => {
    const { key = '' } = Query.parse(request.query)
    const holder = await holderOfLink(pool, key)
    if (holder === null) return sendPage(reply, 403, refusalPage(context.taste(request), 'auth.link.used'))
    return sendPage(reply, 200, linkPage(context.taste(request), key, holder))
  })

  app.post('/sign-in/link', { bodyLimit, config: OPEN }, async (request, reply) => {
    const form = KeyForm.safeParse(request.body)
    const link = form.success ? form.data.key : ''
    const name = (await holderOfLink(pool, link))?.name ?? null
    // Whoever has no password yet chooses one there.
    if (name !== null && (await signIn(context, request, reply, { name, via: 'key', link, to: '/account' })))
      return reply
    await context.failures.add(name, request.ip, 'link')
    return sendPage(reply, 403, refusalPage(context.taste(request), 'auth.link.used'))
  })

  app.post('/sign-out', { bodyLimit, config: { access: 'viewer' } }, async (request, reply) => {
    const secure = isSecure(request, context.publicUrl)
    const secret = readCookie(request, 'session', secure)
    const { viewer } = request
    const idToken =
      viewer && viewer.via !== 'token' && secret ? await endSession(pool, secret, viewer, request.ip) : null
    writeCookie(reply, 'session', '', { secure, seconds: 0 })
    const url = idToken && provider ? await provider.signOutUrl(idToken) : null
    if (url === null)
      return reply.redirect(`/sign-in?signed-out${idToken === null ? '' : `=${HERE_ALONE}`}`, 303)
    reply.header('refresh', `0; url=${url}`)
    return sendPage(reply, 200, signedOutPage(context.taste(request), url))
  })
}
