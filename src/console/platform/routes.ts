import { z } from 'zod'
import { readHistory } from '../../report/history.ts'
import { askTokenState, TokenState } from '../../report/platform.ts'
import type { Ask } from '../ask.ts'
import { action, type Endpoint, type Page, read } from '../endpoint.ts'
import { momentOf, tomorrowAt } from '../moment.ts'
import { Problem } from '../problem.ts'
import { commandsOf, type Services } from '../services.ts'
import { PlatformResult, readPlatformPage, versionOf } from './query.ts'
import { PERIODS, platformBody } from './view.ts'

const DAY_MS = 86_400_000

const LowerRate = z.object({
  per_second: z.coerce
    .number({ error: 'Give a number of calls per second.' })
    .min(0.01)
    .max(100_000)
    .describe('Calls per second, of all processes together'),
  for: z.enum(PERIODS).optional().describe('How long, unless `until` says it'),
  until: z
    .string()
    .max(40)
    .optional()
    .describe('A moment (ISO 8601), within 30 days; without an offset in the time zone `zone`'),
  zone: z
    .string()
    .max(60)
    .refine(isZone, 'There is no such time zone.')
    .optional()
    .describe('Time zone of `until` where it has no offset, such as Asia/Shanghai'),
  reason: z.string().trim().min(1).max(500).describe('Why; it is kept in the audit'),
  version: z.string().max(100).optional().describe('Of the lower rate that the caller saw; for forms'),
})

/** The platform, and how fast it is called. */
export function platform(services: Services): Endpoint[] {
  const { pool } = services
  const pageOf = async (ask: Ask, result: PlatformResult, token: TokenState | null): Promise<Page> => {
    const history = await readHistory(pool, { from: new Date(ask.now.getTime() - DAY_MS), to: ask.now })
    // What asks for its parts anew asks the page, also where the answer to a form is shown.
    const shown = { ...ask, url: '/platform' }
    return {
      title: ask.t('platform.title'),
      nav: 'platform',
      body: platformBody(shown, result, history, token),
    }
  }
  return [
    read({
      path: '/platform',
      tag: 'platform',
      summary: 'How fast the platform is called, whether it accepts that, and the access token',
      result: PlatformResult,
      run: () => readPlatformPage(pool),
      page: (ask, result) => pageOf(ask, result, null),
    }),
    action({
      path: '/platform/rate',
      tag: 'platform',
      summary: 'Lower the rate of all calls until a time; then it comes back by itself',
      body: LowerRate,
      result: z.object({ per_second: z.number(), until: z.date() }),
      async run(ask, { input }) {
        const until = untilOf(ask, input)
        if (input.version !== undefined) {
          const { pace } = await readPlatformPage(pool)
          if (versionOf(pace.cap) !== input.version)
            throw new Problem('changed', ask.t('platform.rate_changed'))
        }
        const per_second = await commandsOf(services, ask).lowerRate(input.per_second, until, input.reason)
        return { per_second, until }
      },
      next: (_ask, { per_second }) => ({
        to: '/platform',
        notice: { key: 'platform.lowered', values: { rate: per_second } },
      }),
    }),
    action({
      path: '/platform/rate/clear',
      tag: 'platform',
      summary: 'End a lower rate before its time',
      result: z.object({ restored: z.boolean().describe('false: the rate was not lowered') }),
      run: async ask => ({ restored: await commandsOf(services, ask).restoreRate() }),
      next: (_ask, { restored }) => ({
        to: '/platform',
        notice: { key: restored ? 'platform.restored' : 'platform.not_lowered' },
      }),
    }),
    action({
      path: '/platform/token',
      tag: 'platform',
      summary: 'Ask the platform whether it accepts the access token, by one call',
      result: TokenState,
      run: () => askTokenState(services.platform()),
      // Its parts are asked for anew where the page itself is.
      page: async (ask, token) => pageOf({ ...ask, url: '/platform' }, await readPlatformPage(pool), token),
    }),
  ]
}

function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null
  } catch {
    return false
  }
}

/** @throws Problem where no time is given, or one that is over */
function untilOf({ now, t, ...ask }: Ask, given: z.output<typeof LowerRate>): Date {
  // The form says for which zone it was shown: the browser may have told another one since.
  const zone = given.zone ?? ask.zone
  const until =
    given.until !== undefined
      ? momentOf(zone, given.until)
      : given.for === 'tomorrow'
        ? tomorrowAt(zone, 8, now)
        : given.for === '1h'
          ? new Date(now.getTime() + DAY_MS / 24)
          : given.for === '4h'
            ? new Date(now.getTime() + DAY_MS / 6)
            : null
  if (until === null || !(until.getTime() > now.getTime()) || until.getTime() > now.getTime() + 30 * DAY_MS)
    throw new Problem('invalid', t('platform.needs_time'))
  return until
}
