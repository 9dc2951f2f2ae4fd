import { duplication, misassignment, missingEmployees, straying, suspicion } from '../../src/sync/safety.ts'

const LIMITS = { maxFewerRows: 20, maxEmptied: 20 }
const rows = (count: number, keyless = 0, empty: Record<string, number> = {}) => ({
  rows: count,
  keyless,
  empty,
  newest: null,
})

/** What the gate says, each of its ways. */
const GATE = [
  suspicion(rows(0), null, [], LIMITS),
  suspicion(rows(4, 4), null, [], LIMITS),
  suspicion(rows(3), rows(5), [], LIMITS),
  suspicion(rows(4, 1), rows(5), [], LIMITS),
  suspicion(rows(5, 0, { name: 4, mobile: 4 }), rows(5, 0, { name: 0, mobile: 0 }), [], LIMITS),
  straying({ ...rows(3), stray: 3 }, null, { gate: LIMITS, breaker: { count: 1 } }),
  missingEmployees(1, rows(5), LIMITS),
  misassignment([{ code: 'E3', employees: 2 }]),
  duplication(['e1']),
  duplication(['e1', 'e2']),
].map(reason => `${reason}. Nothing was enqueued.`)

/** Messages and remedies as they are stored, of every make. */
export const STORED: readonly string[] = [
  ...GATE,
  'No department is deleted before a run has read all employees and passed: look at the latest run of kind changes.',
  'Another employee of the enterprise has this mobile number. The platform says: the mobile exists. Ask: them',
  'A swap: a wants the mobile number of b, b that of c, c that of a. None of them can go first.',
  'A swap: a wants the e-mail address of b, b that of a. None of them can go first.',
  'On the platform, change the mobile number of a (138****1234) to a temporary one, then retry dead letter 4: the others follow by themselves.',
  'On the platform, change the e-mail address of a to a temporary one, then retry dead letter 4: the others follow by themselves.',
  'HR cannot be read: the HR database does not answer (57P01); check HR_DATABASE_URL or HR_SOURCES, and that the server is up',
  'name must have at most 50 characters; card_no must end with the right check digit',
  'employee_attribute must be a JSON array of {attributeCode, attributeValue} or a JSON object of code: value',
  '51 of 80 employees would change, more than 50 and 10 %: look at the plan, then approve or reject the run. Since then HR has changed 1 row: approval sends the plan as it was stored and leaves them to the next one.',
  'HR says that 30 of 30 employees have left, more than 50 %: check how the mapping tells who is active, then approve or reject the run.',
  '51 of 80 employees would change, more than 50 and 10 %: look at the plan, then approve or reject the run. 3 of them were rejected before, with run 4 by anna (not so).',
  'run 7 reads orders again, run 8 reads accounts again',
  'the order record shows 0.00 refunded, 0.00 before this refund of 5.00: it was not carried out, and cannot be any more',
  'seller/v3/pay/syncRefund failed (timeout): It was sent, and whether the platform carried it out is unknown. It is not sent again. The platform said: x',
  'All calls are paused by cli:anna: until 18:00. Then: go',
  'dead letter 7: duplicate_mobile',
  'Words of an earlier version. Nothing was enqueued.',
  'The platform does not accept the form of a parameter. And more',
  '',
]
