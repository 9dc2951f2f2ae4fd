import { html } from '@remix-run/html-template'
import { z } from 'zod'
import { worded } from '../../texts/message.ts'
import type { Ask } from '../ask.ts'
import { action, type Endpoint, type Page, read, reason } from '../endpoint.ts'
import { readHistory } from '../overview/history.ts'
import { spanOf } from '../overview/query.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { drawBlocks, pageOf } from '../ui/shown.ts'
import { Until, untilOf } from '../until.ts'
import { PlatformResult, PlatformSpan, readPlatformPage, versionOf } from './query.ts'
import { askTokenState, TokenState } from './token-state.ts'
import { platformCurves, platformShown, tokenVerdict } from './view.ts'

const LowerRate = Until.extend({
  per_second: z.coerce
    .number({ error: worded('said.give_rate') })
    .min(0.01)
    .max(100_000)
    .describe('Calls per second, of all processes together'),
  reason,
  version: z.string().max(100).optional().describe('Of the lower rate that the caller saw; for forms'),
})

export const screen: Screen = {
  name: 'platform',
  topics: {
    platform: `
      select concat_ws(' ', date_trunc('minute', now()),
        (select sum(calls) from dirsync.call_minute where minute >= date_trunc('minute', now())),
        (select concat_ws('|', per_second, until, set_by) from dirsync.rate_cap where until > now()),
        (select string_agg(concat_ws('|', gate, paused_until), ',' order by gate)
         from dirsync.pacer where paused_until > now()))`,
  },
  endpoints: platform,
}

/** The platform, and how fast it is called. */
function platform(services: Services): Endpoint[] {
  const { pool } = services
  const pageWith = async (
    ask: Ask,
    result: PlatformResult,
    token: TokenState | null,
    input: z.output<typeof PlatformSpan> = {},
  ): Promise<Page> => {
    const history = await readHistory(pool, spanOf(ask, { span: '24h', ...input }))
    // Refreshes of page parts use the page's own address, even when the page answers a form.
    const page = pageOf({ ...ask, url: '/platform' }, platformShown(ask, result))
    const verdict = token === null ? '' : drawBlocks(ask, [tokenVerdict(ask, token)])
    return { ...page, body: html`${verdict}${page.body}${platformCurves(ask, input, history)}` }
  }
  return [
    read({
      path: '/platform',
      role: 'viewer',
      summary: 'How fast the platform is called, whether it accepts that, and the access token',
      query: PlatformSpan,
      result: PlatformResult,
      run: () => readPlatformPage(pool),
      page: (ask, result, { input }) => pageWith(ask, result, null, input),
    }),
    action({
      path: '/platform/rate',
      role: 'operator',
      summary: 'Lower the rate of all calls until a given time; then it returns by itself',
      body: LowerRate,
      result: z.object({ per_second: z.number(), until: z.date() }),
      async run(ask, { input }) {
        const until = untilOf(ask, input)
        if (input.version !== undefined) {
          const { pace } = await readPlatformPage(pool)
          if (versionOf(pace.cap) !== input.version)
            throw new Problem('changed', ask.t('platform.rate_changed'))
        }
        const per_second = await ask.commands.lowerRate(input.per_second, until, input.reason)
        return { per_second, until }
      },
      next: (_ask, { per_second }) => ({
        to: '/platform',
        notice: { key: 'platform.lowered', values: { rate: per_second } },
      }),
    }),
    action({
      path: '/platform/rate/clear',
      role: 'operator',
      summary: 'End a lower rate before its time',
      result: z.object({ restored: z.boolean().describe('false: the rate was not lowered') }),
      run: async ask => ({ restored: await ask.commands.restoreRate() }),
      next: (_ask, { restored }) => ({
        to: '/platform',
        notice: { key: restored ? 'platform.restored' : 'platform.not_lowered' },
      }),
    }),
    action({
      path: '/platform/token',
      role: 'operator',
      summary: 'Ask the platform whether it accepts the access token, by one call',
      looks: 'ask_token',
      result: TokenState,
      run: () => askTokenState(pool, services.platform()),
      // Page parts refresh from the page's own address.
      page: async (ask, token) => pageWith(ask, await readPlatformPage(pool), token),
    }),
  ]
}
