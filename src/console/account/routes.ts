import { z } from 'zod'
import { message } from '../../texts/message.ts'
import { EndedSession } from '../access/query.ts'
import type { Ask } from '../ask.ts'
import { FailureRecord } from '../auth/attempts.ts'
import { changeOwnPassword } from '../auth/own-password.ts'
import { listSessions, revokeOthers, revokeSession } from '../auth/sessions.ts'
import { findUser } from '../auth/users.ts'
import { action, type Endpoint, read } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Services } from '../services.ts'
import { AccountResult } from './query.ts'
import { accountShown } from './view.ts'

const own = { tag: 'account', role: 'viewer' } as const
const typed = z.string().max(1024)

/** What everyone who is signed in can change about themselves. A token has no account. */
export function account({ pool, logger, config }: Services): Endpoint[] {
  const failures = new FailureRecord(pool, logger)
  const readAccount = async (ask: Ask): Promise<AccountResult> => {
    const session = sessionOf(ask)
    const { name, role, source } = await findUser(pool, ask.viewer.name, config.OIDC_ISSUER)
    const { items } = await listSessions(pool, name, { limit: 200 })
    return { name, role, source, session, sessions: items }
  }
  return [
    read({
      ...own,
      path: '/account',
      summary: 'Your user, and where you are signed in',
      result: AccountResult,
      run: readAccount,
      shown: (ask, result) => accountShown(ask, result),
    }),
    action({
      ...own,
      path: '/account/password',
      summary: 'Change your password; it ends your other sessions',
      body: z.object({
        current: typed.optional().describe('Your present password; not needed after signing in with a link'),
        password: typed.min(1).describe('12 to 256 characters'),
        again: typed.optional().describe('The same once more'),
      }),
      result: z.object({ sessions_ended: z.int() }),
      secret: true,
      async run(ask, { input: { current = null, password, again = password } }) {
        const session = sessionOf(ask)
        if (again !== password)
          throw new Problem('invalid', message('said.passwords_differ'), { field: 'again' })
        const { viewer } = ask
        const ended = await changeOwnPassword(
          pool,
          failures,
          ask.asker,
          { viewer, session, current },
          password,
        )
        return { sessions_ended: ended }
      },
      next: (_ask, { sessions_ended }) => ({
        to: '/account',
        notice: { key: 'account.password_set', values: { sessions: sessions_ended } },
      }),
    }),
    action({
      ...own,
      path: '/account/sessions/:id/end',
      summary: 'End one of your sessions',
      params: z.object({ id: z.hash('sha256') }),
      result: EndedSession,
      async run(ask, { params }) {
        sessionOf(ask)
        return revokeSession(pool, ask.asker, params.id, ask.viewer.name)
      },
      next: (_ask, { ended }) => ({
        to: '/account',
        notice: { key: ended ? 'account.session_ended' : 'account.session_was_over' },
      }),
    }),
    action({
      ...own,
      path: '/account/sessions/end',
      summary: 'End all your sessions but this one',
      result: z.object({ sessions_ended: z.int() }),
      run: async ask => ({
        sessions_ended: await revokeOthers(pool, ask.asker, ask.viewer.name, sessionOf(ask)),
      }),
      next: (_ask, { sessions_ended }) => ({
        to: '/account',
        notice: { key: 'account.others_ended', values: { sessions: sessions_ended } },
      }),
    }),
  ]
}

/** @throws Problem for a token */
function sessionOf({ session }: Ask): string {
  if (session === null) throw new Problem('invalid', message('said.no_account'))
  return session
}
