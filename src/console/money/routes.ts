import { z } from 'zod'
import { type Entry, type EntryState, type Journal, JournalError } from '../../money/journal.ts'
import { refundJournal } from '../../money/refund.ts'
import { settleNow } from '../../money/settle.ts'
import { topUpJournal } from '../../money/top-up.ts'
import { asAsker } from '../../sync/commands.ts'
import { SaidText } from '../../texts/failures.ts'
import { textOr } from '../../texts/texts.ts'
import type { Ask } from '../ask.ts'
import { action, type Endpoint, plainText, read } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { timeText } from '../ui/parts.ts'
import { MoneyInput, MoneyList, RefundDetails, readMoney, TopUpDetails } from './query.ts'
import { readRefund, readTopUp } from './read.ts'
import { moneyBody, refundBody, topUpBody } from './view.ts'

const refundParams = z.object({ number: plainText(200) })
const topUpParams = z.object({ code: plainText(200) })
const Resolution = z.object({
  as: z.enum(['accepted', 'rejected']).describe('accepted: it was carried out; rejected: it was not'),
  reason: plainText(500)
    .refine(text => text !== '')
    .describe('How you know; kept in the audit'),
})
const Settled = z.object({ number: z.string(), state: z.string(), message: SaidText.nullable() })

export const screen: Screen = {
  name: 'money',
  topics: {
    money: `
      select concat_ws(' ',
        (select max(sent_at) from dirsync.refund), (select max(sent_at) from dirsync.topup),
        (select string_agg(concat_ws('|', outer_refund_no, state, settle_attempts, left_to_person_at), ','
                           order by outer_refund_no)
         from (select * from dirsync.refund where state in ('requested', 'unknown') limit 200) open),
        (select string_agg(concat_ws('|', external_code, state), ',' order by external_code)
         from (select * from dirsync.topup where state in ('requested', 'unknown') limit 200) open))`,
  },
  endpoints: money,
}

function money(services: Services): Endpoint[] {
  const { pool, config, logger } = services
  return [
    read({
      path: '/money',
      tag: 'money',
      role: 'viewer',
      summary: 'Refunds or top-ups, those whose outcome is open first, and how many are in each state',
      query: MoneyInput,
      result: MoneyList,
      run: (ask, { input }) => readMoney(pool, ask, input),
      page: (ask, result, { input }) => ({
        title: ask.t('money.title'),
        body: moneyBody(ask, result, input),
      }),
    }),
    read({
      path: '/money/refunds/:number',
      tag: 'money',
      role: 'viewer',
      summary:
        'One refund: what was sent, what is known about its outcome, what happened and what comes next',
      params: refundParams,
      result: RefundDetails,
      run: async (_ask, { params }) => found(await readRefund(pool, params.number)),
      page: (ask, result) => ({
        title: ask.t('money.refund', { number: result.entry.outer_refund_no }),
        body: refundBody(ask, result),
      }),
    }),
    read({
      path: '/money/topups/:code',
      tag: 'money',
      role: 'viewer',
      summary:
        'One top-up: what was sent, what is known about its outcome, what happened and what comes next',
      params: topUpParams,
      result: TopUpDetails,
      run: async (_ask, { params }) => found(await readTopUp(pool, params.code)),
      page: (ask, result) => ({
        title: ask.t('money.topup', { number: result.entry.external_code }),
        body: topUpBody(ask, result),
      }),
    }),
    action({
      path: '/money/refunds/:number/settle',
      tag: 'money',
      role: 'admin',
      summary: 'Look up the outcome of a refund in its order record now; read-only, nothing is sent again',
      params: refundParams,
      result: Settled,
      async run(ask, { params: { number } }) {
        const refund = found(await refundJournal.read(pool, number))
        if (!isOpen(refund.state)) throw decidedAlready(ask, number, refund)
        await asAsker(pool, ask.asker, client =>
          client.query(`select dirsync.note_command('settle_refund', null, $1)`, [
            { outer_refund_no: number },
          ]),
        )
        const notCarriedOutAfterMs = config.REFUND_LOST_AFTER_HOURS * 3_600_000
        const deps = { pool, logger, client: services.platform(), notCarriedOutAfterMs }
        const { state, message } = await settleNow(deps, number)
        return { number, state, message }
      },
      next: (_ask, { number, state }) => ({
        to: refundHref(number),
        notice: { key: isOpen(state) ? 'money.still_open' : 'money.settled' },
      }),
    }),
    action({
      path: '/money/refunds/:number/resolve',
      tag: 'money',
      role: 'admin',
      summary: 'Record the outcome of a refund whose outcome is unknown; nothing is sent',
      params: refundParams,
      body: Resolution,
      result: Settled,
      run: (ask, { params, input }) => resolve(ask, refundJournal, params.number, input),
      next: (_ask, { number }) => ({ to: refundHref(number), notice: { key: 'money.resolved' } }),
    }),
    action({
      path: '/money/topups/:code/resolve',
      tag: 'money',
      role: 'admin',
      summary: 'Record the outcome of a top-up whose outcome is unknown; nothing is sent',
      params: topUpParams,
      body: Resolution,
      result: Settled,
      run: (ask, { params, input }) => resolve(ask, topUpJournal, params.code, input),
      next: (_ask, { number }) => ({
        to: `/money/topups/${encodeURIComponent(number)}`,
        notice: { key: 'money.resolved' },
      }),
    }),
  ]

  /** @throws Problem 'changed' that says what happened to it meanwhile */
  async function resolve<Row extends Entry>(
    ask: Ask,
    journal: Journal<Row>,
    number: string,
    said: z.infer<typeof Resolution>,
  ): Promise<z.infer<typeof Settled>> {
    try {
      const { state, message } = await journal.resolve(pool, number, said.as, said.reason, ask.asker)
      return { number, state, message }
    } catch (error) {
      if (!(error instanceof JournalError)) throw error
      throw decidedAlready(ask, number, found(await journal.read(pool, number)), error)
    }
  }
}

function found<Row>(row: Row | null): Row {
  if (row === null) throw new Problem('not_found')
  return row
}

function isOpen(state: string): boolean {
  return state === 'unknown' || state === 'requested'
}

function refundHref(number: string): string {
  return `/money/refunds/${encodeURIComponent(number)}`
}

/** Another person or the platform was quicker: who, with what result, and when. */
function decidedAlready(
  ask: Ask,
  number: string,
  row: { state: EntryState; resolved_by: string | null; settled_at: Date | null; sent_at: Date },
  cause?: unknown,
): Problem {
  const { t, language } = ask
  const state = textOr(language, `money_state.${row.state}`, row.state)
  const when = timeText(ask, row.settled_at ?? row.sent_at)
  const text =
    row.state === 'requested'
      ? t('money.being_sent', { number })
      : row.resolved_by === null
        ? t('money.known', { number, state, when })
        : t('money.known_by', { number, state, when, who: row.resolved_by })
  return new Problem('changed', text, { cause })
}
