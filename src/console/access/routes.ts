import { z } from 'zod'
import { isMailAddress } from '../../alerts/channel-settings.ts'
import { noticeWay } from '../../alerts/notices.ts'
import { exampleLine } from '../../doctor/settings.ts'
import { momentOf, whyNoMoment } from '../../lib/time-text.ts'
import { recentRestore } from '../../sync/runs/restored.ts'
import { message } from '../../texts/message.ts'
import type { Ask } from '../ask.ts'
import { SCOPES } from '../auth/scope.ts'
import { listSessions, revokeSession } from '../auth/sessions.ts'
import { createUserLink, latestLink } from '../auth/sign-in-key.ts'
import { addToken, goodTokensOf, listTokens, revokeToken, TokenRow, tokenName } from '../auth/tokens.ts'
import {
  addUser,
  comparableName,
  disableUser,
  enableUser,
  findUser,
  listUsers,
  setNotices,
  setPassword,
  setRole,
  signOutUser,
  userName,
} from '../auth/users.ts'
import { RoleName } from '../auth/viewer.ts'
import { action, oneOrMore, read } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { pageOf } from '../ui/shown.ts'
import {
  EndedSession,
  ProviderResult,
  SessionInput,
  SessionList,
  TokenList,
  UserList,
  UserResult,
} from './query.ts'
import { tokenShown, tokensShown, tokenTable } from './tokens-view.ts'
import { addedShown, linkShown, providerShown, sessionsShown, userShown, usersShown } from './view.ts'

export const screen: Screen = {
  name: 'access',
  role: 'admin',
  endpoints: services => Object.values(access(services)),
}

/** What lets people sign in with their company accounts. */
const PROVIDER = ['CONSOLE_URL', 'OIDC_ISSUER', 'OIDC_CLIENT_ID', 'OIDC_CLIENT_SECRET', 'OIDC_ROLES'] as const

const ofAdmins = { tag: 'access', role: 'admin' } as const
const name = z.object({ name: z.string().max(400).transform(comparableName) })
const password = z.string().min(1).max(1024).describe('12 to 256 characters')

const expires = z
  .string()
  .max(40)
  .transform((text, context) => {
    const moment = momentOf(text)
    if (moment !== null && moment.getTime() > Date.now()) return moment
    const wanted = moment === null ? whyNoMoment(text) : message('said.wanted_future')
    context.addIssue(JSON.stringify(wanted))
    return z.NEVER
  })
  .describe('When it ends: a time such as 90d, or a moment (ISO 8601)')

/** Users, tokens and sessions. The shell has the same under `dirsync users` and `dirsync tokens`. */
export function access({ pool, config }: Pick<Services, 'pool' | 'config'>) {
  const toUser = (user: string) => `/access/users/${encodeURIComponent(user)}`
  /** Shell users can always let another administrator in, so they may disable the last one. */
  const guard = ({ viewer }: Ask) =>
    viewer.via === 'shell' ? {} : { guard: { asker: viewer.name, provider: config.OIDC_ISSUER } }

  return {
    users: read({
      ...ofAdmins,
      path: '/access',
      summary: 'Who may use the console: roles, how they sign in, their last sign-in',
      result: UserList,
      run: async () => ({
        items: await listUsers(pool, config.OIDC_ISSUER),
        next: null,
        restored_at: await recentRestore(pool),
      }),
      shown: (ask, result) => usersShown(ask, result),
    }),
    user: read({
      ...ofAdmins,
      path: '/access/users/:name',
      summary: 'One user',
      params: name,
      result: UserResult,
      run: async (_ask, { params }) => {
        const user = await findUser(pool, params.name, config.OIDC_ISSUER)
        const [link, tokens] = await Promise.all([latestLink(pool, user.name), goodTokensOf(pool, user.name)])
        return { ...user, link, tokens }
      },
      page: async (ask, user) => {
        const { items } = await listSessions(pool, user.name, { limit: 200 })
        return pageOf(ask, userShown(ask, user, items, tokenTable(ask, user.tokens)))
      },
    }),
    addUser: action({
      ...ofAdmins,
      path: '/access/users',
      summary: 'Add a user who signs in with this password, or first with a one-time link',
      body: z.object({
        name: z.string().min(1).max(200).describe('Letters, digits and . _ @ + -, at most 100'),
        role: RoleName,
        password: password.optional().describe('12 to 256 characters; absent: a one-time link'),
      }),
      result: z.object({
        user: z.string(),
        role: RoleName,
        url: z
          .string()
          .nullable()
          .describe('The one-time link, good for 72 hours; null: there is a password'),
      }),
      creates: ({ user }) => toUser(user),
      secret: true,
      async run(ask, { input: { name, role, password = null } }) {
        const user = userName(name)
        await addUser(pool, ask.asker, { name: user, role, password })
        return { user, role, url: password === null ? await linkOf(ask, user) : null }
      },
      page: (ask, result) => pageOf(ask, addedShown(ask, result)),
    }),
    role: action({
      ...ofAdmins,
      path: '/access/users/:name/role',
      summary: 'Give a user another role, which applies from their next request',
      params: name,
      body: z.object({ role: RoleName }),
      result: z.object({ user: z.string(), role: RoleName }),
      async run(ask, { params, input: { role } }) {
        await setRole(pool, ask.asker, params.name, role, config.OIDC_ISSUER, guard(ask))
        return { user: params.name, role }
      },
      next: (ask, { user, role }) => ({
        to: toUser(user),
        notice: { key: 'access.role_set', values: { name: user, role: ask.t(`role.${role}`) } },
      }),
    }),
    notices: action({
      ...ofAdmins,
      path: '/access/users/:name/notices',
      summary: 'Say where a user is told that a case is assigned to them or a comment names them',
      params: name,
      body: z.object({
        mail: z.string().trim().max(254).nullish().describe('Mail address; null: none'),
        mention: z
          .string()
          .trim()
          .max(100)
          .nullish()
          .describe('A channel for a chat and their id there, as `ops:zhang`; null: none'),
      }),
      result: z.object({ user: z.string(), mail: z.string().nullable(), mention: z.string().nullable() }),
      async run(ask, { params, input }) {
        const [mail, mention] = [input.mail || null, input.mention || null]
        if (mail !== null && !isMailAddress(mail))
          throw new Problem('invalid', message('said.wanted_mail_address'), { field: 'mail' })
        if (mention !== null && noticeWay({ mail: null, mention }, config.channels) === null)
          throw new Problem('invalid', ask.t('access.no_such_mention'), { field: 'mention' })
        await setNotices(pool, ask.asker, params.name, { mail, mention })
        return { user: params.name, mail, mention }
      },
      next: (_ask, { user, mail, mention }) => ({
        to: toUser(user),
        notice: {
          key: mail === null && mention === null ? 'access.notices_none' : 'access.notices_set',
          values: { name: user },
        },
      }),
    }),
    disable: action({
      ...ofAdmins,
      path: '/access/users/:name/disable',
      summary: 'Keep a user from signing in, and end their sessions; tokens that they added stay good',
      params: name,
      result: z.object({
        user: z.string(),
        disabled: z.literal(true),
        sessions_ended: z.int(),
        tokens: z.array(z.string()).describe('Names of good tokens that they added: these stay good'),
      }),
      async run(ask, { params }) {
        const sessions = await disableUser(pool, ask.asker, params.name, guard(ask))
        const tokens = (await goodTokensOf(pool, params.name)).map(({ name }) => name)
        return { user: params.name, disabled: true as const, sessions_ended: sessions, tokens }
      },
      next: (_ask, { user, sessions_ended: sessions, tokens: { length: tokens } }) => ({
        to: toUser(user),
        notice: { key: 'access.disabled', values: { name: user, sessions, tokens } },
      }),
    }),
    enable: action({
      ...ofAdmins,
      path: '/access/users/:name/enable',
      summary: 'Let a disabled user sign in again',
      params: name,
      result: z.object({ user: z.string(), disabled: z.literal(false) }),
      async run(ask, { params }) {
        await enableUser(pool, ask.asker, params.name)
        return { user: params.name, disabled: false as const }
      },
      next: (_ask, { user }) => ({
        to: toUser(user),
        notice: { key: 'access.enabled', values: { name: user } },
      }),
    }),
    password: action({
      ...ofAdmins,
      path: '/access/users/:name/password',
      summary: 'Give a user another password, and end their sessions',
      params: name,
      body: z.object({ password }),
      secret: true,
      result: z.object({ user: z.string(), sessions_ended: z.int() }),
      async run(ask, { params, input }) {
        const sessions = await setPassword(pool, ask.asker, params.name, input.password, config.OIDC_ISSUER)
        return { user: params.name, sessions_ended: sessions }
      },
      next: (_ask, { user, sessions_ended }) => ({
        to: toUser(user),
        notice: { key: 'access.password_set', values: { name: user, sessions: sessions_ended } },
      }),
    }),
    link: action({
      ...ofAdmins,
      path: '/access/users/:name/link',
      summary: 'Make a link that signs a user in once; it voids those before it',
      params: name,
      result: z.object({
        user: z.string(),
        url: z.string().describe('The one-time link, good for 72 hours'),
      }),
      secret: true,
      run: async (ask, { params }) => ({ user: params.name, url: await linkOf(ask, params.name) }),
      page: (ask, result) => pageOf(ask, linkShown(ask, result)),
    }),
    signOut: action({
      ...ofAdmins,
      path: '/access/users/:name/sign-out',
      summary: 'End all sessions of a user, and the unused one-time keys of `local`',
      params: name,
      result: z.object({ user: z.string(), sessions_ended: z.int() }),
      async run(ask, { params }) {
        return { user: params.name, sessions_ended: await signOutUser(pool, ask.asker, params.name) }
      },
      next: (_ask, { user, sessions_ended }) => ({
        to: toUser(user),
        notice: { key: 'access.signed_out', values: { name: user, sessions: sessions_ended } },
      }),
    }),
    tokens: read({
      ...ofAdmins,
      path: '/access/tokens',
      summary: 'Tokens of the API, the newest first: role, scopes, expiry, last use',
      result: TokenList,
      run: async () => ({
        items: await listTokens(pool),
        next: null,
        restored_at: await recentRestore(pool),
      }),
      shown: (ask, result) => tokensShown(ask, result),
    }),
    addToken: action({
      ...ofAdmins,
      path: '/access/tokens',
      summary: 'Add a token; only this answer holds it',
      body: z.object({
        name: z.string().min(1).max(200).describe('What it is for; letters, digits and . _ -, at most 64'),
        role: RoleName,
        expires,
        scopes: oneOrMore(z.enum(SCOPES))
          .optional()
          .describe('What it is limited to; absent: to nothing but its role'),
      }),
      result: TokenRow.pick({ name: true, role: true, scopes: true, expires_at: true }).extend({
        token: z.string(),
      }),
      creates: () => '/access/tokens',
      secret: true,
      async run(ask, { input: { name, role, expires: expiresAt, scopes } }) {
        const token = await addToken(pool, ask.asker, { name: tokenName(name), role, expiresAt, scopes })
        return { name, role, scopes: scopes ?? null, expires_at: expiresAt, token }
      },
      page: (ask, result) => pageOf(ask, tokenShown(ask, result)),
    }),
    revokeToken: action({
      ...ofAdmins,
      path: '/access/tokens/:name/revoke',
      summary: 'Make a token worthless at once',
      params: z.object({ name: z.string().max(400) }),
      result: z.object({ name: z.string(), revoked: z.literal(true) }),
      async run(ask, { params }) {
        await revokeToken(pool, ask.asker, params.name)
        return { name: params.name, revoked: true as const }
      },
      next: (_ask, { name }) => ({
        to: '/access/tokens',
        notice: { key: 'access.token_revoked', values: { name } },
      }),
    }),
    sessions: read({
      ...ofAdmins,
      path: '/access/sessions',
      summary: 'Who is signed in, since when, from where and with which browser; the latest first',
      query: SessionInput,
      result: SessionList,
      run: (_ask, { input: { user = null, cursor, limit } }) =>
        listSessions(pool, user, { after: cursor, limit }),
      shown: (ask, result, { input }) => sessionsShown(ask, result, input),
    }),
    endSession: action({
      ...ofAdmins,
      path: '/access/sessions/:id/end',
      summary: 'End a session',
      params: z.object({ id: z.hash('sha256') }),
      result: EndedSession,
      run: (ask, { params }) => revokeSession(pool, ask.asker, params.id, null),
      next: (_ask, { user, ended }) => ({
        to: '/access/sessions',
        notice: { key: ended ? 'access.session_ended' : 'access.session_was_over', values: { name: user } },
      }),
    }),
    provider: read({
      ...ofAdmins,
      path: '/access/provider',
      summary: 'Which value of which claim of the identity provider gives which role',
      result: ProviderResult,
      run: async () => {
        const { claim = null, roles = [] } = config.OIDC_ROLES ?? {}
        const pairs = [...roles]
        return {
          issuer: config.OIDC_ISSUER,
          claim,
          roles: pairs.map(([value, role]) => ({ value, role })),
          lines:
            claim === null
              ? PROVIDER.map(name => exampleLine(name))
              : [`OIDC_ROLES=${claim}:${pairs.map(([value, role]) => `${value}=${role}`).join()}`],
        }
      },
      shown: (ask, result) => providerShown(ask, result),
    }),
  }

  async function linkOf(ask: Ask, user: string): Promise<string> {
    return `${ask.origin}/sign-in/link?key=${await createUserLink(pool, ask.asker, user, config.OIDC_ISSUER)}`
  }
}
