import { describe, expect, test } from 'vitest'
import type { Facts } from '../../src/alerts/facts.ts'
import { alertText } from '../../src/alerts/message.ts'
import {
  type Finding,
  findings,
  inhibitorOf,
  RULE_NAMES,
  RULES,
  type RuleName,
} from '../../src/alerts/rule.ts'
import { HrDeliveryError } from '../../src/hr/errors.ts'
import { duplication } from '../../src/sync/runs/safety.ts'
import { inWords, message } from '../../src/texts/message.ts'
import { LANGUAGES } from '../../src/texts/texts.ts'
import {
  ago,
  BORDERS,
  database,
  HOUR,
  MINUTE,
  MONEY,
  NOW,
  open,
  SCHEDULE,
  STOP,
  status,
  WORK,
} from './borders.ts'
import { alertLimits, healthyFacts, NO_MONEY } from './facts-under-test.ts'

const find = (differs: Partial<Facts>, settings: Record<string, string> = {}) =>
  findings(healthyFacts(differs), alertLimits(settings), NOW)

test('when all is well, nothing is found, even at the strictest settings', () => {
  expect(find({})).toEqual([])
  const strict = {
    ALERT_CASES_JUMP: '0',
    ALERT_CASES_JUMP_PERCENT: '0',
    ALERT_RUN_OVERDUE: '1',
    ALERT_CLOCK: '1',
  }
  expect(find({}, strict)).toEqual([])
})

test('an empty deployment with running processes has no findings', () => {
  const empty = {
    ...{ deadLetters: [], runs: [], lastSuccesses: [], employees: [], sourceChecks: [], schedules: [] },
    ...{ tokenCreations: 0, clockOffset: null, channels: [], leastCases: null, firstSync: 'never' as const },
    recentCalls: { calls: 0, rejected: 0 },
  }
  expect(find(empty)).toEqual([])
})

describe.each(BORDERS)('$rule: $name', ({ rule, beyond, at, found }) => {
  test('is found, and nothing besides', () => {
    expect(find(beyond)).toEqual([expect.objectContaining({ rule, ...found })])
  })

  test('is not found just below its threshold', () => {
    expect(find(at)).toEqual([])
  })

  test('is not found where the rule is off', () => {
    expect(find(beyond, { [`ALERT_${rule.toUpperCase()}`]: 'off' })).toEqual([])
  })

  test.each(LANGUAGES)('is said in %s with all its figures', language => {
    const [finding] = find(beyond)
    for (const text of Object.values(alertText(language, finding as Finding)))
      expect(text).not.toMatch(/[{}]|undefined|null|NaN/)
  })
})

test('every rule that evaluates facts has its threshold tested here', () => {
  const missing = RULE_NAMES.filter(name => !BORDERS.some(({ rule }) => rule === name))
  expect(missing).toEqual(['database_away']) // told from memory by the process that evaluated last
})

test('employees that a pause keeps out of sync are not found', () => {
  const behind = { employees: status(950) }
  const paused = { ...STOP, category: 'paused' }
  const rules = (stops: Facts['stops']) => find({ ...behind, stops }).map(({ rule }) => rule)
  expect(rules([])).toEqual(['out_of_sync'])
  expect(rules([{ ...paused, scope: '*' }])).toEqual(['paused'])
})

test('each rule is held back by those that it names, as they are found of its source', () => {
  const ofNorth = (differs: Partial<Facts>): Partial<Facts> =>
    Object.fromEntries(
      Object.entries(differs).map(([name, value]) => [
        name,
        Array.isArray(value)
          ? value.map(row => (typeof row === 'object' && 'source' in row ? { ...row, source: 'north' } : row))
          : value,
      ]),
    )
  const factsOf = (name: RuleName): Finding['facts'] => {
    if (name === 'halt') return { scope: '*' }
    if (name === 'database_away') return {}
    const beyond = BORDERS.find(({ rule }) => rule === name)?.beyond ?? {}
    return (find(ofNorth(beyond))[0] as Finding).facts
  }
  for (const rule of RULE_NAMES)
    for (const cause of RULES[rule].inhibitedBy ?? []) {
      const causes = [{ rule: cause, facts: factsOf(cause), endedAt: null }]
      expect(inhibitorOf({ rule, facts: factsOf(rule) }, causes, NOW), `${rule} by ${cause}`).toBe(cause)
    }
})

describe('settings change the thresholds', () => {
  test.each<[RuleName, Record<string, string>, Partial<Facts>, Partial<Finding>]>([
    ['halt', { ALERT_HALT: '5' }, { stops: [{ ...STOP, scope: '*' }] }, { forMs: 5 * MINUTE }],
    [
      'paused',
      { ALERT_PAUSED: '0.5' },
      { stops: [{ ...STOP, scope: '*', category: 'paused' }] },
      { forMs: HOUR / 2 },
    ],
    [
      'held_run',
      { ALERT_HELD_RUN: '15' },
      { heldRuns: [{ run: 1, kind: 'full', source: '', planned: 1, since: NOW }] },
      { forMs: 15 * MINUTE },
    ],
    [
      'source_suspect',
      { ALERT_SOURCE_SUSPECT: '2' },
      { suspects: [{ run: 1, kind: 'full', source: '', message: inWords(''), since: NOW }] },
      { forMs: 2 * MINUTE },
    ],
    ['run_overdue', { ALERT_RUN_OVERDUE: '1' }, { schedules: [{ ...SCHEDULE, unsuccessful: 301 }] }, {}],
    [
      'cases_jump',
      { ALERT_CASES_JUMP: '3', ALERT_CASES_JUMP_PERCENT: '0' },
      { deadLetters: open(14) },
      { facts: { category: 'duplicate_mobile', count: 14, rise: 4 } },
    ],
    ['out_of_sync', { ALERT_OUT_OF_SYNC: '100' }, { employees: status(999) }, {}],
    ['work_stuck', { ALERT_WORK_STUCK: '1' }, { work: [{ ...WORK, age: 61 }] }, {}],
    [
      'money_unknown',
      { ALERT_MONEY_UNKNOWN: '30' },
      { money: { refund: MONEY, topup: NO_MONEY } },
      { forMs: 30 * MINUTE },
    ],
    ['calls_rejected', { ALERT_CALLS_REJECTED: '0' }, { recentCalls: { calls: 10_000, rejected: 5 } }, {}],
    [
      'role_missing',
      { ALERT_ROLE_MISSING: '5' },
      { processes: [{ role: 'worker', count: 1 }] },
      { forMs: 5 * MINUTE },
    ],
    ['clock', { ALERT_CLOCK: '1' }, { clockOffset: 1.1 }, {}],
    ['tokens', { ALERT_TOKENS: '1' }, { tokenCreations: 2 }, {}],
    ['queue_away', { ALERT_QUEUE_AWAY: '5' }, { queueAwayForAll: 1 }, { forMs: 5 * MINUTE }],
    [
      'hr_sources_differ',
      { ALERT_HR_SOURCES_DIFFER: '5' },
      { outdatedProcesses: ['a'] },
      { forMs: 5 * MINUTE },
    ],
    [
      'process_aside',
      { ALERT_PROCESS_ASIDE: '5' },
      { asideProcesses: [{ process: 'a', reason: 'secret' }] },
      { forMs: 5 * MINUTE },
    ],
    ['database_full', { ALERT_DATABASE_GB: '2.5' }, {}, { subject: 'size' }],
    ['database_slow', { ALERT_DATABASE_SLOW: '10' }, { took: 0.011 }, {}],
    [
      'dead_channel',
      { ALERT_DEAD_CHANNEL: '1' },
      { failingChannels: [{ channel: 'a', since: ago(61_000), answer: null }] },
      {},
    ],
  ])('%s', (rule, settings, facts, found) => {
    expect(find(facts, settings)).toEqual([expect.objectContaining({ rule, ...found })])
  })

  test('more misfits than one may be permitted', () => {
    const twice = { ALERT_NOTIFICATION_MISFIT: '2' }
    expect(find({ notificationsRefused: { count: 1, latest: 'R-1' } }, twice)).toEqual([])
    expect(find({ notificationsRefused: { count: 2, latest: 'R-1' } }, twice)).toHaveLength(1)
  })
})

describe('cases that jump', () => {
  const jump = { deadLetters: open(500) }

  test('stay an alert for as long as the hour before knows fewer, and no longer', () => {
    expect(find({ ...jump, leastCases: { duplicate_mobile: 449 } })).toHaveLength(1)
    expect(find({ ...jump, leastCases: { duplicate_mobile: 450 } })).toEqual([])
    expect(find({ ...jump, leastCases: { duplicate_mobile: 600 } })).toEqual([])
  })

  test('are one finding per category', () => {
    const deadLetters = [...open(500), ...open(300, 'invalid_hr_row'), ...open(12, 'left_hr')]
    expect(find({ deadLetters }).map(({ subject }) => subject)).toEqual([
      'duplicate_mobile',
      'invalid_hr_row',
    ])
  })

  test('ten thousand of a category are one finding', () => {
    expect(find({ deadLetters: open(10_000) })).toHaveLength(1)
  })

  test('are not found during the first sync and the hour after it, nor while the hour before is unknown', () => {
    expect(find({ ...jump, firstSync: 'never' })).toEqual([])
    expect(find({ ...jump, firstSync: 'lately' })).toEqual([])
    expect(find({ ...jump, leastCases: null })).toEqual([])
  })
})

describe('employees out of sync', () => {
  test('are not found during the first sync, but after it', () => {
    expect(find({ employees: status(0), firstSync: 'never' })).toEqual([])
    expect(find({ employees: status(0), firstSync: 'lately' })).toHaveLength(1)
  })

  test('who have left or vanished do not count', () => {
    expect(
      find({
        employees: [
          { status: 'left', count: 10 },
          { status: 'vanished', count: 10 },
        ],
      }),
    ).toEqual([])
  })

  test('of a company that awaits activation are out of sync', () => {
    const employees = [{ status: 'awaiting_activation' as const, count: 3 }]
    expect(find({ employees })).toMatchObject([{ facts: { share: 0, in_sync: 0, in_scope: 3 } }])
  })
})

test('a kind that never had a good run is overdue all the same, without a time', () => {
  const [finding] = find({ schedules: [{ ...SCHEDULE, lastGood: null }] })
  expect(finding).toMatchObject({ rule: 'run_overdue', facts: { age_seconds: null } })
  expect(finding).not.toHaveProperty('since')
})

test('several things at once are all found, each once', () => {
  const found = find({
    stops: [
      { ...STOP, scope: '*', category: 'paused' },
      { ...STOP, scope: 'E1' },
      { ...STOP, scope: 'E2' },
    ],
    processes: [],
    clockOffset: 100,
    ...database({ bytes: 60e9, connections: 100 }),
  })
  expect(found.map(({ rule, subject }) => `${rule} ${subject}`)).toEqual([
    'halt E1',
    'halt E2',
    'paused ',
    'role_missing scheduler',
    'role_missing worker',
    'clock ',
    'database_full size',
    'database_full connections',
  ])
})

test('an inhibited rule is inhibited by others than itself', () => {
  for (const rule of RULE_NAMES) expect(RULES[rule].inhibitedBy ?? []).not.toContain(rule)
})

test('a delivery of files has a quarter of an hour before it is an alert, or as long as is set', () => {
  const { said } = new HrDeliveryError('/srv/hr', message('said.file_empty', { file: 'a.csv' }))
  const reason = message('said.of_source', { name: 'beijing', reason: said })
  const suspects = [
    { run: 8, kind: 'full', source: 'beijing', message: message('said.suspect', { reason }), since: NOW },
  ]
  const waits = (settings: Record<string, string>) => find({ suspects }, settings).map(({ forMs }) => forMs)
  expect(waits({})).toEqual([15 * MINUTE])
  expect(waits({ ALERT_SOURCE_SUSPECT: '30' })).toEqual([30 * MINUTE])
  expect(waits({ ALERT_SOURCE_SUSPECT: 'off' })).toEqual([])
})

test.each(LANGUAGES)('user ids that HR delivers twice stay in dirsync: %s', language => {
  for (const keys of [['13800138000'], ['zhangsan', 'li): make', 'wang\n)']]) {
    const suspect = message('said.suspect', { reason: duplication(keys) ?? [] })
    const [found] = find({ suspects: [{ run: 1, kind: 'full', source: '', message: suspect, since: NOW }] })
    const { what } = alertText(language, found as Finding)
    expect(what).toMatch(language === 'en' ? /more than once \(…\): make the mapping/ : /（…）|\(…\)/)
    for (const key of keys) expect(JSON.stringify([found, what])).not.toContain(key.slice(0, 4))
  }
})

describe.each<
  [RuleName, why: string, differs: Partial<Facts>, untrue: RegExp, settings?: Record<string, string>]
>([
  ['work_stuck', 'a pause', { work: [] }, /is done|已处理完毕/],
  [
    'money_unknown',
    'the answer to one of two kinds',
    { money: { refund: NO_MONEY, topup: MONEY } },
    /Every|所有/,
  ],
  ['calls_rejected', 'a pause', { recentCalls: { calls: 0, rejected: 0 } }, /come through|恢复正常/],
  ['clock', 'the end of its process', { clockOffset: null }, /agree|一致/],
  ['tokens', 'a pause', { tokenCreations: 0 }, /as they should|恢复正常/],
  ['queue_away', 'the end of its processes', { queueAway: [] }, /again|队列已恢复/],
  ['dead_channel', 'its removal from the settings', { failingChannels: [] }, /again\.$|恢复接收消息。/],
  ['source_suspect', 'the removal of its source', { suspects: [] }, /right\.$|正常。/],
  [
    'money_contradicted',
    'fewer of them',
    { outcomesContradicted: [{ kind: 'refund', count: 1, latest: 'R1', of: 'T1', how: 'carried_out' }] },
    /None|未再/,
    { ALERT_MONEY_CONTRADICTED: '2' },
  ],
  [
    'notification_misfit',
    'fewer of them',
    { notificationsRefused: { count: 2, latest: 'R1' } },
    /None|未再/,
    { ALERT_NOTIFICATION_MISFIT: '3' },
  ],
])('the end of an alert %s that comes with %s', (rule, _why, differs, untrue, settings = {}) => {
  test('is not said to be another', () => {
    const { subject = '', facts = {} } = BORDERS.find(border => border.rule === rule)?.found ?? {}
    const found = find(differs, settings).filter(one => one.rule === rule && one.subject === subject)
    expect(found).toEqual([])
    for (const language of LANGUAGES)
      expect(alertText(language, { rule, subject, facts }).over).not.toMatch(untrue)
  })
})

describe('where HR has several sources', () => {
  test('a problem of one is reported for it, and does not suppress that of another', () => {
    const found = find({
      stops: [{ ...STOP, scope: 'E2', source: 'beijing', category: 'hr_unavailable' }],
      heldRuns: [{ run: 7, kind: 'changes', source: 'shanghai', planned: 300, since: ago(MINUTE) }],
      suspects: [
        {
          run: 8,
          kind: 'full',
          source: 'beijing',
          message: inWords('HR delivered no rows at all'),
          since: NOW,
        },
      ],
      schedules: [{ ...SCHEDULE, source: 'beijing' }],
    })
    expect(found.map(({ rule, subject }) => [rule, subject])).toEqual([
      ['halt', 'HR beijing'],
      ['held_run', '7'],
      ['source_suspect', 'full beijing'],
      ['run_overdue', 'changes beijing'],
    ])
    expect(found.map(one => alertText('en', one).title)).toEqual([
      'HR source beijing cannot be read',
      'Run 7 (changes, shanghai) is waiting for a decision',
      'HR’s data looks wrong (full, beijing)',
      'No good run for too long (changes, beijing)',
    ])
    const overdue = (source: string) => ({ rule: 'run_overdue' as const, facts: { kind: 'full', source } })
    const suspect = found
      .filter(({ rule }) => rule === 'source_suspect')
      .map(one => ({ ...one, endedAt: null }))
    expect(inhibitorOf(overdue('shanghai'), suspect, NOW)).toBeUndefined()
    expect(inhibitorOf(overdue('beijing'), suspect, NOW)).toBe('source_suspect')
    const everything = [{ rule: 'role_missing', facts: { role: 'worker' }, endedAt: null }]
    expect(inhibitorOf(overdue('beijing'), everything, NOW)).toBe('role_missing')
  })
})
