import { describe, expect, test } from 'vitest'
import { STEP_TEXTS, type Step, stepsNow, stepsOf } from '../../../src/console/employees/steps.ts'
import type { EmployeeStory } from '../../../src/console/employees/story.ts'
import { inLanguage } from '../../../src/texts/failures.ts'
import { inWords, isSaid, message } from '../../../src/texts/message.ts'
import { isTextKey, type TextValues, translator } from '../../../src/texts/texts.ts'

const AT = new Date('2026-11-22T04:00:00Z')

type Attempt = EmployeeStory['attempts'][number]
type Case = EmployeeStory['dead_letters'][number]

const RECORD: NonNullable<EmployeeStory['record']> = {
  active: true,
  in_sync: false,
  platform_state: 'in_service',
  dept_code: 'D1',
  withheld: [],
  status: 'waiting',
  held: null,
  doubted: false,
  vanished_at: null,
  acknowledged_at: null,
  queried_at: null,
}

const heldBy = (
  status: 'held' | 'rejected' | 'left' | 'vanished',
  gone: 'left' | 'vanished' | null = null,
) => ({
  ...RECORD,
  status,
  held: {
    ...{ run: 7, decided_by: null, decided_at: null, approved: false, reason: null, has_source: true, gone },
    rejected: status !== 'held',
  },
})

function story(differs: Partial<EmployeeStory>): EmployeeStory {
  return {
    record: RECORD,
    has_source: true,
    pending: [],
    attempts: [],
    dead_letters: [],
    bindings: [],
    payment_orders: [],
    halts: [],
    retries_stopped: false,
    ...differs,
  }
}

function attempt(outcome: string, differs: Partial<Attempt> = {}): Attempt {
  return {
    started_at: AT,
    run_id: 7,
    operation: 'update-employee',
    detail: '',
    outcome,
    duration_ms: 250,
    calls: {},
    fields: [],
    platform_code: null,
    trace_id: null,
    error: null,
    ...differs,
  }
}

function deadLetter(category: string, differs: Partial<Case> = {}): Case {
  return {
    id: 12,
    entity: 'employee',
    operation: 'update-employee',
    field: '',
    category,
    state: 'open',
    message: inWords('It failed.'),
    remedy: inWords('Mend it.'),
    blocked_by: null,
    occurrences: 1,
    last_failed_at: AT,
    next_retry_at: null,
    holder_has_changed: false,
    ...differs,
  }
}

const GET = { 'employee/get': 1 }
const BOTH = { 'employee/get': 1, 'employee/update': 1 }
const HALT = { scope: '*', message: inWords('The platform is away.'), remedy: inWords('Wait for it.') }
const WORK: EmployeeStory['pending'][number] = {
  operation: 'update-employee',
  detail: '',
  run_id: 7,
  attempts: 0,
  not_before: AT,
  replan_at: null,
  enqueued_at: null,
  created_at: AT,
  halt: null,
  named: false,
}

/** `state text` of each step. */
function told(steps: Step[]): string[] {
  return steps.map(({ state, text }) => `${state} ${text}`)
}

const READ = 'done read_row'
const SCOPE = 'done in_scope_yes'
const CHECKED = 'done checked_passed'
const FOUND = 'done asked_in_service'
const NOTHING = 'skipped sent_nothing'
const NOT_REACHED = 'skipped not_reached'
const LATER = 'waiting not_reached'

/** Each outcome of an attempt, in each way in which it comes about. */
const OUTCOMES: [name: string, EmployeeStory, string[]][] = [
  [
    'in_sync',
    story({ attempts: [attempt('in_sync', { calls: GET })] }),
    [READ, SCOPE, CHECKED, FOUND, NOTHING],
  ],
  [
    'updated',
    story({ attempts: [attempt('updated', { calls: BOTH, fields: ['email'] })] }),
    [READ, SCOPE, CHECKED, FOUND, 'done sent_fields'],
  ],
  [
    'partly_updated',
    story({
      attempts: [attempt('partly_updated', { calls: BOTH, fields: ['email'], error: inWords('It failed.') })],
      dead_letters: [deadLetter('duplicate_mobile', { field: 'mobile' })],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'failed sent_partly'],
  ],
  [
    'deleted',
    story({ attempts: [attempt('deleted')] }),
    [READ, SCOPE, CHECKED, 'skipped asked_not_needed', 'done sent_deleted'],
  ],
  [
    'bound',
    story({ attempts: [attempt('bound', { operation: 'bind-openid', detail: 'mall0001' })] }),
    [READ, SCOPE, CHECKED, 'skipped asked_not_needed', 'done sent_bound'],
  ],
  [
    'awaiting_activation',
    story({
      attempts: [attempt('awaiting_activation', { calls: GET, error: inWords('not there') })],
      dead_letters: [deadLetter('not_on_platform', { state: 'awaiting_activation', next_retry_at: AT })],
    }),
    [READ, SCOPE, CHECKED, 'waiting asked_absent', LATER],
  ],
  [
    'left',
    story({ record: { ...RECORD, active: false }, attempts: [attempt('left', { calls: GET })] }),
    [READ, 'skipped scope_left', 'done checked_left', 'done asked_absent', NOTHING],
  ],
  [
    'left, gone from HR',
    story({
      record: { ...RECORD, active: false, vanished_at: AT },
      attempts: [attempt('left', { calls: GET })],
    }),
    [READ, 'skipped scope_vanished', 'done checked_left', 'done asked_absent', NOTHING],
  ],
  [
    'parked, in service after leaving',
    story({
      attempts: [attempt('parked', { calls: GET, error: inWords('It failed.') })],
      dead_letters: [deadLetter('left_hr')],
    }),
    [READ, 'failed scope_left_in_service', 'done checked_left', FOUND, NOTHING],
  ],
  [
    'parked, rules broken',
    story({
      attempts: [attempt('parked', { error: inWords('It failed.') })],
      dead_letters: [deadLetter('invalid_hr_row', { field: 'mobile' })],
    }),
    [READ, SCOPE, 'failed checked_rules_broken', NOT_REACHED, NOT_REACHED],
  ],
  [
    'parked, refused as a whole when asked',
    story({
      attempts: [attempt('parked', { calls: GET, error: inWords('It failed.'), platform_code: 1002200106 })],
      dead_letters: [deadLetter('no_permission')],
    }),
    [READ, SCOPE, CHECKED, 'failed asked_refused', NOT_REACHED],
  ],
  [
    'parked, a field refused',
    story({
      attempts: [attempt('parked', { calls: BOTH, error: inWords('It failed.') })],
      dead_letters: [deadLetter('duplicate_mobile', { field: 'mobile' })],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'failed sent_held_back'],
  ],
  [
    'parked, a field held back without a call',
    story({
      attempts: [attempt('parked', { calls: GET })],
      dead_letters: [deadLetter('duplicate_mobile', { field: 'mobile' })],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'failed sent_held_back'],
  ],
  [
    'parked, another person on the platform',
    story({ attempts: [attempt('parked', { calls: GET })], dead_letters: [deadLetter('another_person')] }),
    [READ, SCOPE, CHECKED, 'failed asked_another_person', NOT_REACHED],
  ],
  [
    'parked, a field withheld from everybody',
    story({ record: { ...RECORD, withheld: ['level'] }, attempts: [attempt('parked', { calls: GET })] }),
    [READ, SCOPE, CHECKED, FOUND, 'failed sent_held_back'],
  ],
  [
    'parked, its workers died',
    story({ attempts: [attempt('parked')], dead_letters: [deadLetter('unclassified')] }),
    [READ, SCOPE, 'failed checked_gave_up', NOT_REACHED, NOT_REACHED],
  ],
  [
    'parked, never read as it was planned',
    story({
      attempts: [attempt('parked', { error: inWords('It failed.') })],
      dead_letters: [deadLetter('unsettled_hr_row')],
    }),
    [READ, SCOPE, 'failed checked_unsettled', NOT_REACHED, NOT_REACHED],
  ],
  [
    'parked, not storable',
    story({
      attempts: [attempt('parked', { calls: BOTH, error: inWords('It failed.') })],
      dead_letters: [deadLetter('internal_error')],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'failed sent_not_stored'],
  ],
  [
    'parked, an open id refused',
    story({
      attempts: [
        attempt('parked', {
          operation: 'bind-openid',
          detail: 'mall0001',
          calls: { 'employee/openid': 1 },
          error: inWords('It failed.'),
        }),
      ],
      dead_letters: [deadLetter('no_permission', { operation: 'bind-openid', field: 'mall0001' })],
    }),
    [READ, SCOPE, CHECKED, 'skipped asked_not_needed', 'failed sent_held_back'],
  ],
  [
    'retry, of the question',
    story({ pending: [WORK], attempts: [attempt('retry', { calls: GET, error: inWords('HTTP 502') })] }),
    [READ, SCOPE, CHECKED, 'waiting asked_again', LATER],
  ],
  [
    'retry, of the update',
    story({ pending: [WORK], attempts: [attempt('retry', { calls: BOTH, error: inWords('HTTP 502') })] }),
    [READ, SCOPE, CHECKED, FOUND, 'waiting sent_again'],
  ],
  [
    'retry, of the question, with an answer',
    story({
      pending: [WORK],
      attempts: [attempt('retry', { calls: GET, error: inWords('It failed.'), platform_code: 1000219999 })],
    }),
    [READ, SCOPE, CHECKED, 'waiting put_off', LATER],
  ],
  [
    'retry, of the update, with an answer that may come after the effect',
    story({
      pending: [WORK],
      attempts: [attempt('retry', { calls: BOTH, error: inWords('It failed.'), platform_code: 1000219999 })],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'waiting sent_again'],
  ],
  [
    'wait, of the question',
    story({ pending: [WORK], attempts: [attempt('wait', { calls: GET, error: inWords('HTTP 429') })] }),
    [READ, SCOPE, CHECKED, 'waiting put_off', LATER],
  ],
  [
    'wait, of the update',
    story({ pending: [WORK], attempts: [attempt('wait', { calls: BOTH, error: inWords('HTTP 429') })] }),
    [READ, SCOPE, CHECKED, FOUND, 'waiting put_off'],
  ],
  [
    'wait, as the update was given up on the way',
    story({
      pending: [WORK],
      attempts: [attempt('wait', { calls: BOTH, error: { key: 'circumstance.aborted.meaning' } })],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'waiting sent_again'],
  ],
  [
    'retry, as it was asked for anew before it was sent',
    story({ pending: [WORK], attempts: [attempt('retry', { calls: GET })] }),
    [READ, SCOPE, CHECKED, FOUND, 'waiting asked_queued'],
  ],
  [
    'retry, and taken back',
    story({ attempts: [attempt('retry', { calls: GET })] }),
    [READ, SCOPE, CHECKED, 'skipped taken_back', NOT_REACHED],
  ],
  [
    'retry of the update, and taken back',
    story({ attempts: [attempt('retry', { calls: BOTH, error: inWords('HTTP 502') })] }),
    [READ, SCOPE, CHECKED, FOUND, 'skipped taken_back'],
  ],
  [
    'halted before anything',
    story({ pending: [WORK], attempts: [attempt('halted')], halts: [HALT] }),
    [LATER, LATER, LATER, 'waiting asked_halted', LATER],
  ],
  [
    'halted before anything, and the halt is over',
    story({ pending: [WORK], attempts: [attempt('halted')] }),
    [READ, SCOPE, CHECKED, 'waiting asked_queued', LATER],
  ],
  [
    'halted by the refusal of its update',
    story({
      pending: [WORK],
      attempts: [attempt('halted', { calls: BOTH, error: inWords('It failed.'), platform_code: 1000210003 })],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'waiting put_off'],
  ],
  [
    'halted by its own call',
    story({
      pending: [WORK],
      attempts: [attempt('halted', { calls: GET, error: inWords('HTTP 503') })],
      halts: [HALT],
    }),
    [READ, SCOPE, CHECKED, 'waiting asked_halted', LATER],
  ],
  [
    'halted, HR away',
    story({
      pending: [WORK],
      attempts: [attempt('halted', { error: inWords('the HR database does not answer') })],
      halts: [HALT],
    }),
    ['waiting read_hr_away', LATER, LATER, LATER, LATER],
  ],
  [
    'obsolete',
    story({
      record: { ...RECORD, active: false },
      attempts: [attempt('obsolete', { operation: 'bind-openid' })],
    }),
    [READ, 'skipped scope_left', NOT_REACHED, NOT_REACHED, NOT_REACHED],
  ],
  [
    'obsolete, as no HR source has the enterprise',
    story({ attempts: [attempt('obsolete', { error: inWords('no HR source has enterprise E2') })] }),
    ['failed read_hr_away', NOT_REACHED, NOT_REACHED, NOT_REACHED, NOT_REACHED],
  ],
  [
    'wait, for a worker that has the mapping',
    story({ pending: [WORK], attempts: [attempt('wait', { error: message('said.other_mapping') })] }),
    [READ, SCOPE, 'waiting checked_unsettled', LATER, LATER],
  ],
  [
    'wait, for the end of a pause, before any call',
    story({
      pending: [WORK],
      attempts: [attempt('wait', { error: { key: 'circumstance.paused.meaning' } })],
    }),
    [READ, SCOPE, CHECKED, 'waiting put_off', LATER],
  ],
  [
    'wait, as its worker was stopped before any call',
    story({
      pending: [WORK],
      attempts: [attempt('wait', { error: { key: 'circumstance.aborted.meaning' } })],
    }),
    [READ, SCOPE, CHECKED, 'waiting put_off', LATER],
  ],
  [
    'replan',
    story({ attempts: [attempt('replan')] }),
    [READ, SCOPE, 'waiting checked_row_changed', LATER, LATER],
  ],
]

const NO_SOURCE = { ...RECORD, status: 'no_source' as const }
const UNREAD = ['skipped read_no_source', NOT_REACHED, NOT_REACHED, NOT_REACHED, NOT_REACHED]

/** Employees of whom no attempt is kept. */
const WITHOUT: [name: string, EmployeeStory, string[]][] = [
  [
    'that no run has read',
    story({ record: null }),
    ['waiting read_not_yet', 'waiting scope_unknown', LATER, LATER, LATER],
  ],
  ['waiting for a worker', story({ pending: [WORK] }), [READ, SCOPE, CHECKED, 'waiting asked_queued', LATER]],
  [
    'waiting behind a halt',
    story({ pending: [WORK], halts: [HALT] }),
    [READ, SCOPE, CHECKED, 'waiting asked_halted', LATER],
  ],
  [
    'waiting for a plan',
    story({ pending: [{ ...WORK, replan_at: AT }] }),
    [READ, SCOPE, 'waiting checked_row_changed', LATER, LATER],
  ],
  [
    'in sync for long',
    story({ record: { ...RECORD, in_sync: true, acknowledged_at: AT } }),
    [READ, SCOPE, CHECKED, FOUND, NOTHING],
  ],
  [
    'left for long',
    story({ record: { ...RECORD, active: false } }),
    [READ, 'skipped scope_left', NOT_REACHED, NOT_REACHED, NOT_REACHED],
  ],
  [
    'with an old case',
    story({
      record: { ...RECORD, status: 'dead_lettered' },
      dead_letters: [deadLetter('duplicate_email', { field: 'email' })],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'failed sent_held_back'],
  ],
  ['not in any plan yet', story({}), [READ, SCOPE, 'waiting checked_not_yet', LATER, LATER]],
  [
    'of whom the platform is to be asked since the database was restored',
    story({ record: { ...RECORD, doubted: true } }),
    [READ, SCOPE, CHECKED, 'waiting asked_doubted', LATER],
  ],
  ['without an HR source', story({ record: NO_SOURCE }), UNREAD],
  [
    'in a plan that is held',
    story({ record: heldBy('held'), attempts: [attempt('in_sync', { calls: GET })] }),
    [READ, SCOPE, 'waiting checked_held', LATER, LATER],
  ],
  [
    'in a held plan that is approved',
    story({ record: { ...heldBy('held'), held: { ...heldBy('held').held, approved: true } } }),
    [READ, SCOPE, 'waiting checked_approved', LATER, LATER],
  ],
  [
    'in a plan that is held, by which they have left',
    story({ record: heldBy('held', 'left'), attempts: [attempt('in_sync', { calls: GET })] }),
    [READ, 'skipped scope_left', 'waiting checked_held', LATER, LATER],
  ],
  [
    'in a plan that is held, by which HR lacks them',
    story({ record: heldBy('held', 'vanished') }),
    [READ, 'skipped scope_vanished', 'waiting checked_held', LATER, LATER],
  ],
  [
    'in a plan that was rejected, by which they have left',
    story({ record: heldBy('left') }),
    [READ, 'skipped scope_left', 'skipped checked_rejected', NOT_REACHED, NOT_REACHED],
  ],
  [
    'in a plan that was rejected, by which HR lacks them',
    story({ record: heldBy('vanished') }),
    [READ, 'skipped scope_vanished', 'skipped checked_rejected', NOT_REACHED, NOT_REACHED],
  ],
  [
    'in a plan that was rejected',
    story({ record: heldBy('rejected'), attempts: [attempt('in_sync', { calls: GET })] }),
    [READ, SCOPE, 'skipped checked_rejected', NOT_REACHED, NOT_REACHED],
  ],
  [
    'in a plan that is held, with work that a plan let pass',
    story({ record: heldBy('held'), pending: [WORK] }),
    [READ, SCOPE, 'waiting checked_held', LATER, LATER],
  ],
  [
    'in a plan that is held, whom a person has named',
    story({ record: heldBy('held'), pending: [{ ...WORK, named: true }] }),
    [READ, SCOPE, 'skipped checked_named', 'waiting asked_queued', LATER],
  ],
  [
    'in a plan that was rejected, whom a person has named, behind a halt',
    story({ record: heldBy('rejected'), pending: [{ ...WORK, named: true }], halts: [HALT] }),
    [READ, SCOPE, 'skipped checked_named', 'waiting asked_halted', LATER],
  ],
]

const SINCE = { ...WORK, created_at: new Date(AT.getTime() + 60_000) }
const IN_SYNC = { ...RECORD, in_sync: true, status: 'in_sync' as const }
const TURN = [READ, SCOPE, CHECKED, 'waiting asked_queued', LATER]
const NOT_YET = [READ, SCOPE, 'waiting checked_not_yet', LATER, LATER]

/** Employees whose latest attempt is about another row than the one that waits. */
const SINCE_ATTEMPT: [name: string, EmployeeStory, string[]][] = [
  [
    'in sync before, waiting behind a halt',
    story({ pending: [SINCE], attempts: [attempt('in_sync', { calls: GET })], halts: [HALT] }),
    [READ, SCOPE, CHECKED, 'waiting asked_halted', LATER],
  ],
  [
    'asked for anew while it was sent',
    story({ record: IN_SYNC, pending: [WORK], attempts: [attempt('updated', { calls: BOTH })] }),
    TURN,
  ],
  [
    'in sync before, whose run was cancelled',
    story({ attempts: [attempt('in_sync', { calls: GET })] }),
    NOT_YET,
  ],
  [
    'updated before, with a case, whose run was cancelled',
    story({
      attempts: [attempt('updated', { calls: BOTH, fields: ['email'] })],
      dead_letters: [deadLetter('duplicate_mobile', { field: 'mobile' })],
    }),
    NOT_YET,
  ],
  ...['in_sync', 'updated', 'retry', 'bound', 'obsolete'].map((outcome): (typeof SINCE_ATTEMPT)[number] => [
    `without an HR source, after ${outcome}`,
    story({
      record: NO_SOURCE,
      attempts: [
        attempt(outcome, { operation: outcome === 'bound' ? 'bind-openid' : 'update-employee', calls: GET }),
      ],
      dead_letters: [deadLetter('duplicate_mobile', { field: 'mobile' })],
    }),
    UNREAD,
  ]),
  [
    'without an HR source, still to be tried',
    story({ record: NO_SOURCE, pending: [SINCE], attempts: [attempt('in_sync', { calls: GET })] }),
    TURN,
  ],
  [
    'tried for a run that was cancelled',
    story({ attempts: [attempt('retry', { calls: GET })] }),
    [READ, SCOPE, CHECKED, 'skipped taken_back', NOT_REACHED],
  ],
  [
    'tried for a run that was cancelled, after the database was restored',
    story({ record: { ...RECORD, doubted: true }, attempts: [attempt('retry', { calls: GET })] }),
    [READ, SCOPE, CHECKED, 'waiting asked_doubted', LATER],
  ],
  [
    'tried for a run that was cancelled, and planned again',
    story({ pending: [SINCE], attempts: [attempt('retry', { calls: GET, error: inWords('HTTP 502') })] }),
    TURN,
  ],
  [
    'still to be tried again',
    story({ pending: [WORK], attempts: [attempt('retry', { calls: GET, error: inWords('HTTP 502') })] }),
    [READ, SCOPE, CHECKED, 'waiting asked_again', LATER],
  ],
  [
    'whose row HR changed back after a failure',
    story({ record: IN_SYNC, attempts: [attempt('retry', { calls: GET, error: inWords('HTTP 502') })] }),
    [READ, SCOPE, CHECKED, FOUND, NOTHING],
  ],
  [
    'gone since',
    story({
      record: { ...RECORD, active: false, status: 'left' },
      pending: [SINCE],
      attempts: [attempt('updated', { calls: BOTH })],
    }),
    [READ, 'skipped scope_left', 'done checked_left', 'waiting asked_queued', LATER],
  ],
  [
    'with an open id and no attempt of their own',
    story({ pending: [WORK], attempts: [attempt('bound', { operation: 'bind-openid' })] }),
    TURN,
  ],
  [
    'in review',
    story({
      record: { ...RECORD, status: 'dead_lettered' },
      attempts: [attempt('parked', { calls: BOTH, error: inWords('It failed.') })],
      dead_letters: [deadLetter('duplicate_mobile', { field: 'mobile' })],
    }),
    [READ, SCOPE, CHECKED, FOUND, 'failed sent_held_back'],
  ],
]

describe('the five steps', () => {
  test.each(SINCE_ATTEMPT)('of an employee %s', (_, given, expected) => {
    expect(told(stepsNow(given))).toEqual(expected)
  })

  test.each(OUTCOMES)('of an attempt that ended as %s', (_, given, expected) => {
    expect(told(stepsOf(given))).toEqual(expected)
  })

  test.each(WITHOUT)('of an employee %s', (_, given, expected) => {
    expect(told(stepsOf(given))).toEqual(expected)
  })

  test('cover every outcome that the table of attempts knows, and every text is used', () => {
    const outcomes = new Set(OUTCOMES.map(([name]) => name.split(',')[0]?.split(' ')[0]))
    expect([...outcomes].sort()).toEqual(
      'awaiting_activation bound deleted halted in_sync left obsolete parked partly_updated replan retry updated wait'.split(
        ' ',
      ),
    )
    const used = new Set(
      [...OUTCOMES, ...WITHOUT].flatMap(([, , steps]) => steps.map(step => step.split(' ')[1])),
    )
    expect([...used].sort()).toEqual([...STEP_TEXTS].sort())
  })

  test('are told in both languages, with all their values', () => {
    for (const [, given] of [...OUTCOMES, ...WITHOUT])
      for (const { text, values: told } of stepsOf(given)) {
        expect(told.message).not.toBe('')
        for (const language of ['en', 'zh-CN'] as const) {
          const key = `step.${text}`
          if (!isTextKey(key)) throw new Error(`there is no text ${key}`)
          const { message = '', ...values } = told
          const given = { ...values, message: isSaid(message) ? inLanguage(language, message) : message }
          expect(translator(language)(key, given as TextValues)).not.toMatch(/^$|[{}]/)
        }
      }
  })

  test('a failed step tells the remedy and the case, and the fields that stay back', () => {
    const [, , , , sent] = stepsOf(
      story({
        record: { ...RECORD, withheld: ['level'] },
        attempts: [
          attempt('partly_updated', { calls: BOTH, fields: ['email', 'name'], error: inWords('It failed.') }),
        ],
        dead_letters: [
          deadLetter('duplicate_mobile', { id: 11, field: 'mobile', state: 'resolved' }),
          deadLetter('duplicate_mobile', { field: 'mobile' }),
        ],
      }),
    )
    expect(sent).toMatchObject({
      remedy: inWords('Mend it.'),
      case_id: 12,
      at: new Date(AT.getTime() + 250),
      values: { fields: 'email, name', count: 2, held: 'mobile, level' },
    })
  })

  test('the attempt of an employee goes before that of an open id, even an older one', () => {
    const steps = stepsOf(
      story({
        attempts: [
          attempt('bound', { operation: 'bind-openid', detail: 'mall0001' }),
          attempt('updated', { calls: BOTH, fields: ['email'] }),
        ],
      }),
    )
    expect(steps.at(-1)?.text).toBe('sent_fields')
  })
})
