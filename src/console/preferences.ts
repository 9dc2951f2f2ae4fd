import type { FastifyInstance } from 'fastify'
import { z } from 'zod'
import { message } from '../texts/message.ts'
import { LANGUAGES } from '../texts/texts.ts'
import { COOKIES, THEMES } from './ask.ts'
import { OPEN } from './auth/viewer.ts'
import { Problem } from './problem.ts'

const Preferences = z.object({
  language: z.enum(LANGUAGES).optional(),
  theme: z.enum(THEMES).optional(),
})
const KEPT_FOR_S = 31_536_000

/** Keeps language and theme in cookies, also for visitors who are not signed in. */
export function preferences(app: FastifyInstance): void {
  app.post('/preferences', { schema: { hide: true }, config: OPEN }, async (request, reply) => {
    const { success, data } = Preferences.safeParse(request.body)
    if (!success) throw new Problem('invalid', message('said.no_preference'))
    const { language, theme } = data
    const options = { path: '/', sameSite: 'lax', maxAge: KEPT_FOR_S } as const
    if (language) reply.setCookie(COOKIES.language, language, options)
    if (theme) reply.setCookie(COOKIES.theme, theme, options)
    return reply.redirect(pageBefore(request.headers.referer), 303)
  })
}

/** The page that held the form. Only the path is used, so it is always a page of ours. */
function pageBefore(referer: string | undefined): string {
  if (!referer || !URL.canParse(referer)) return '/'
  const { pathname, search } = new URL(referer)
  return pathname.startsWith('//') ? '/' : pathname + search
}
