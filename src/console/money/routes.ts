import { z } from 'zod'
import { capitalised } from '../../lib/text.ts'
import { type Entry, IS_OPEN, isOpen, type Journal, JournalError } from '../../money/journal.ts'
import { adoptMoney } from '../../money/open.ts'
import { isUnshown, recordMayTell, refundJournal } from '../../money/refund.ts'
import { settleNow } from '../../money/settle.ts'
import { topUpJournal } from '../../money/top-up.ts'
import { isPaused } from '../../sync/outbox/halts.ts'
import { actorText } from '../../texts/actor.ts'
import { inLanguage } from '../../texts/failures.ts'
import { worded } from '../../texts/message.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { action, download, plainText, read, today } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { timeText } from '../ui/parts.ts'
import {
  everyEntry,
  FIELDS_OF,
  MoneyFilter,
  MoneyInput,
  MoneyList,
  RefundDetails,
  readMoney,
  refundDetails,
  TopUpDetails,
  topUpDetails,
} from './query.ts'
import { entryShown, moneyShown, pathOf } from './view.ts'

const refundParams = z.object({ number: plainText(200) })
const topUpParams = z.object({ code: plainText(200) })
const Resolution = z
  .object({
    as: z.enum(['accepted', 'rejected']).describe('accepted: it was carried out; rejected: it was not'),
    reason: plainText(500)
      .refine(text => text !== '', worded('said.say_how'))
      .describe('How you know; kept in the audit'),
  })
  .meta({ id: 'Resolution' })

export const screen: Screen = {
  name: 'money',
  topics: {
    money: `
      select concat_ws(' ',
        (select max(sent_at) from dirsync.refund), (select max(sent_at) from dirsync.topup),
        (select max(settled_at) from dirsync.refund), (select max(settled_at) from dirsync.topup),
        (select max(notified_at) from dirsync.refund), (select max(contradicted_at) from dirsync.refund),
        (select max(shown_at) from dirsync.refund where sent_at > now() - interval '7 days'),
        (select max(last_at) from dirsync.refused_notification),
        (select string_agg(concat_ws('|', outer_refund_no, state, settle_attempts, left_to_person_at), ','
                           order by outer_refund_no)
         from (select * from dirsync.refund where ${IS_OPEN} limit 200) open),
        (select string_agg(concat_ws('|', external_code, state), ',' order by external_code)
         from (select * from dirsync.topup where ${IS_OPEN} limit 200) open))`,
  },
  endpoints: services => Object.values(money(services)),
}

type Needs = Pick<Services, 'pool' | 'config' | 'logger'> & {
  platform(): ReturnType<Services['platform']> | Promise<ReturnType<Services['platform']>>
}

export function money(services: Needs) {
  const { pool, config, logger } = services
  return {
    list: read({
      path: '/money',
      role: 'viewer',
      summary: 'Refunds or top-ups, those whose outcome is open first, and how many are in each state',
      query: MoneyInput,
      result: MoneyList,
      run: (ask, { input }) => readMoney(services, ask, input),
      shown: (ask, result, { input }) => moneyShown(ask, result, input),
    }),
    csv: download({
      path: '/money.csv',
      tag: 'money',
      role: 'viewer',
      summary:
        'All refunds or top-ups that match the filters, as CSV; messages in the language of the caller',
      query: MoneyFilter,
      fileName: ({ input }) => `${input.kind}-${today()}.csv`,
      columns: ({ input }) => FIELDS_OF[input.kind],
      async *rows(ask, { input }) {
        for await (const entry of everyEntry(services, ask, input)) {
          const { message } = entry
          yield { ...entry, message: message && inLanguage(ask.language, message) }
        }
      },
    }),
    refund: read({
      path: '/money/refunds/:number',
      role: 'viewer',
      summary:
        'One refund: what was sent, what is known about its outcome, what happened and what comes next',
      params: refundParams,
      result: RefundDetails,
      run: async (ask, { params: { number } }) =>
        refundDetails(pool, await entryOf(ask, refundJournal, number)),
      shown: entryShown,
    }),
    topUp: read({
      path: '/money/topups/:code',
      role: 'viewer',
      summary:
        'One top-up: what was sent, what is known about its outcome, what happened and what comes next',
      params: topUpParams,
      result: TopUpDetails,
      run: async (ask, { params: { code } }) => topUpDetails(await entryOf(ask, topUpJournal, code)),
      shown: entryShown,
    }),
    settle: action({
      path: '/money/refunds/:number/settle',
      role: 'admin',
      summary: 'Look up the outcome of a refund in its order record now; read-only, nothing is sent again',
      params: refundParams,
      result: RefundDetails,
      async run(ask, { params: { number } }) {
        const refund = await entryOf(ask, refundJournal, number)
        if (!isOpen(refund) && !recordMayTell(refund)) throw decidedAlready(ask, number, refund)
        if (await isPaused(pool)) throw new Problem('paused', { key: 'circumstance.paused.meaning' })
        await ask.commands.note('settle_refund', { outer_refund_no: number })
        const notCarriedOutAfterMs = config.REFUND_LOST_AFTER_HOURS * 3_600_000
        const deps = { pool, logger, client: await services.platform(), notCarriedOutAfterMs }
        return refundDetails(pool, await settleNow(deps, number))
      },
      next: (_ask, refund) => ({
        to: pathOf(refund),
        notice: {
          key: isOpen(refund)
            ? 'money.still_open'
            : isUnshown(refund)
              ? 'money.still_unshown'
              : recordMayTell(refund)
                ? 'money.still_doubted'
                : 'money.settled',
        },
      }),
    }),
    resolveRefund: action({
      path: '/money/refunds/:number/resolve',
      role: 'admin',
      summary:
        'Record the outcome of a refund whose outcome is unknown, or that nothing shows a day after it was accepted; nothing is sent',
      params: refundParams,
      body: Resolution,
      result: RefundDetails,
      run: async (ask, { params, input }) =>
        refundDetails(pool, await resolved(ask, refundJournal, params.number, input)),
      next: (_ask, refund) => ({ to: pathOf(refund), notice: { key: 'money.resolved' } }),
    }),
    resolveTopUp: action({
      path: '/money/topups/:code/resolve',
      role: 'admin',
      summary: 'Record the outcome of a top-up whose outcome is unknown; nothing is sent',
      params: topUpParams,
      body: Resolution,
      result: TopUpDetails,
      run: async (ask, { params, input }) =>
        topUpDetails(await resolved(ask, topUpJournal, params.code, input)),
      next: (_ask, topUp) => ({ to: pathOf(topUp), notice: { key: 'money.resolved' } }),
    }),
  }

  /** @throws Problem 'changed' that says what happened to it meanwhile */
  async function resolved<Row extends Entry>(
    ask: Ask,
    journal: Journal<Row>,
    number: string,
    { as, reason }: z.infer<typeof Resolution>,
  ): Promise<Row> {
    try {
      return await journal.resolve(pool, number, as, reason, ask.asker)
    } catch (error) {
      if (!(error instanceof JournalError)) throw error
      if (error.code === 'MAY_STILL_COME')
        throw new Problem('changed', capitalised(inLanguage(ask.language, error.said)), { cause: error })
      throw decidedAlready(ask, number, await entryOf(ask, journal, number), error)
    }
  }

  /** @throws Problem if there is no such entry */
  async function entryOf<Row extends Entry>(ask: Ask, journal: Journal<Row>, number: string): Promise<Row> {
    await adoptMoney(services)
    const row = await journal.read(pool, number)
    if (row) return row
    const { language } = ask
    throw new Problem('not_found', capitalised(inLanguage(language, journal.noSuch(number))))
  }
}

/** Another person or the platform was quicker: who, with what result, and when. */
function decidedAlready(
  ask: Ask,
  number: string,
  row: Entry & { notified_at?: Date | null },
  cause?: unknown,
): Problem {
  const { t, language } = ask
  const state = textOr(language, `money_state.${row.state}`, row.state)
  // Its notification tells, whatever a person has said before.
  const { notified_at: notified = null } = row
  const when = timeText(ask, notified ?? row.settled_at ?? row.sent_at)
  const text =
    row.state === 'requested'
      ? t('money.being_sent', { number })
      : row.resolved_by === null || notified !== null
        ? t('money.known', { number, state, when })
        : t('money.known_by', { number, state, when, who: actorText(ask, row.resolved_by) })
  return new Problem('changed', text, { cause })
}
