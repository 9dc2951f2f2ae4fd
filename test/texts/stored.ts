import { messagesOf, PLATFORM_CODES } from '../../src/platform/codes.ts'
import { PlatformError } from '../../src/platform/errors.ts'
import {
  duplication,
  misassignment,
  missingEmployees,
  straying,
  suspicion,
} from '../../src/sync/runs/safety.ts'
import { inWords, message, type Said } from '../../src/texts/message.ts'

const LIMITS = { maxFewerRows: 20, maxEmptied: 20 }
const rows = (count: number, keyless = 0, empty: Record<string, number> = {}) => ({
  rows: count,
  keyless,
  empty,
  newest: null,
})

/** What the gate says, each of its ways. */
export const GATE = [
  suspicion(rows(0), null, [], LIMITS),
  suspicion(rows(4, 4), null, [], LIMITS),
  suspicion(rows(3), rows(5), [], LIMITS),
  suspicion(rows(4, 1), rows(5), [], LIMITS),
  suspicion(rows(5, 0, { name: 4, mobile: 4 }), rows(5, 0, { name: 0, mobile: 0 }), [], LIMITS),
  straying({ ...rows(3), stray: 3 }, null, { gate: LIMITS, breaker: { count: 1 } }),
  missingEmployees(1, rows(5), LIMITS),
  misassignment([{ code: 'E3', employees: 2 }]),
  misassignment([{ code: '', employees: 2 }]),
  duplication(['e1']),
  duplication(['e1', 'e2']),
].map(reason => message('said.suspect', { reason: reason ?? [] }))

const MOBILE = { key: 'field.mobile' } as const

/** Messages and remedies as they are stored, of every make. */
export const STORED: readonly Said[] = [
  ...GATE,
  [
    messagesOf(PLATFORM_CODES[1002218007], true).meaning,
    message('said.platform_says', { words: 'the mobile {name} exists. Ask: them' }),
  ],
  message('said.swap', {
    ...{ userid: 'a', what: MOBILE, holder: 'b' },
    others: [
      message('said.swap_member', { userid: 'b', holder: 'c' }),
      message('said.swap_member', { userid: 'c', holder: 'a' }),
    ],
  }),
  message('said.swap_remedy', { userid: 'a', what: MOBILE, value: '138****1234', case: 4 }),
  message('said.hr_unread_because', { reason: message('said.hr_silent', { reason: '57P01' }) }),
  message('said.broken_rules', {
    rules: [message('said.too_long', { field: 'name', limit: 50 }), message('said.card_check')],
  }),
  [
    message('said.employees_change', { changing: 51, total: 80, count: 50, percent: 10 }),
    [message('said.were_rejected', { count: 3, run: 4, name: 'anna (not so)' })],
    [],
    message('said.changed_row_since', { count: 1 }),
  ],
  message('said.reads_all_again', {
    runs: [message('said.reads_again', { run: 7, kind: 'orders' }), message('said.nothing_sent')],
  }),
  message('said.halted_because', {
    what: message('said.enterprise_halted', { code: 'E1' }),
    meaning: [[inWords('one.'), inWords('two.')]],
    remedy: inWords('three'),
  }),
  message('said.emptied', { columns: ['name', 'mobile', 'not a field'], percent: 20 }),
  [
    new PlatformError({ kind: 'timeout', operation: 'seller/v3/pay/syncRefund', outcomeKnown: false }).said,
    message('said.platform_said', { words: 'x' }),
  ],
  message('said.refund_is_known', { number: 'R1', money_state: 'accepted' }),
  message('said.payment_order', { trade: 'T1', status: 3, meaning: { key: 'payment_order_status.3' } }),
  message('said.see_case', { case: 7, category: 'duplicate_mobile' }),
  message('said.unknown_names', { names: [] }),
  { key: 'said.of_a_later_version' as 'said.words', values: { words: 'Words of a later version.' } },
  { key: 'said.of_a_later_version' as 'said.words' },
  inWords(''),
  [],
]
