import { describe, expect, test } from 'vitest'
import { decide, type Outlook, type RaisedAlert, type Told } from '../../src/alerts/decide.ts'
import { RULES, type RuleName } from '../../src/alerts/rule.ts'

const NOW = new Date('2026-11-22T10:00:00Z')
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const ago = (ms: number) => new Date(NOW.getTime() - ms)

const LIMITS = { repeatHours: 4, messagesPerHour: 3 }
const OPS = { name: 'ops', least: 'warning' } as const

let numbers = 0

/** An alert that fires; critical unless its rule says otherwise. */
function alert(differs: Partial<RaisedAlert> = {}): RaisedAlert {
  numbers += 1
  const rule: RuleName = differs.rule ?? 'halt'
  return {
    ...{ id: numbers, rule, subject: '', severity: RULES[rule].severity, state: 'firing' },
    ...{ facts: {}, since: ago(10 * MINUTE), goneAt: null, endedAt: null, returns: 0, acknowledged: null },
    ...differs,
  }
}

const ended = (differs: Partial<RaisedAlert> = {}) =>
  alert({ state: 'ended', goneAt: ago(2 * MINUTE), endedAt: ago(2 * MINUTE), ...differs })

/** What channel ops knows of an alert: it was told so long ago, unless something else is said. */
function told({ id }: RaisedAlert, ms: number | null, differs: Partial<Told> = {}): Told {
  const at = ms === null ? null : ago(ms)
  return {
    ...{ alertId: id, channel: 'ops', firstAt: at, lastAt: at },
    ...{ isAcknowledged: false, isRecovered: false, isWithheld: false, waiting: null },
    ...differs,
  }
}

const outlook = (differs: Partial<Outlook>): Outlook => ({
  ...{ now: NOW, watchedSince: ago(24 * HOUR), alerts: [], told: [], sent: [], busy: [], waiting: [] },
  ...{ mutes: [], isQuiet: false, stop: null },
  ...differs,
})

/** What channel ops is told: kind, and events by the rule of each alert. */
function toOps(differs: Partial<Outlook>, channel: Parameters<typeof decide>[1][number] = OPS) {
  const { drafts, withheld } = decide(outlook(differs), [channel], LIMITS)
  const [draft] = drafts
  return {
    kind: draft?.kind ?? null,
    events: draft?.events.map(({ alert: { rule, subject }, event }) => `${rule}${subject} ${event}`) ?? [],
    withheld: withheld.map(({ alertId }) => alertId),
  }
}

const SILENCE = { kind: null, events: [], withheld: [] }

describe('an alert', () => {
  test('is told once', () => {
    const halt = alert()
    expect(toOps({ alerts: [halt] }).events).toEqual(['halt raised'])
    expect(toOps({ alerts: [halt], told: [told(halt, MINUTE)] })).toEqual(SILENCE)
  })

  test('is told anew after the hours that the settings say, and then after as many again', () => {
    const halt = alert()
    expect(toOps({ alerts: [halt], told: [told(halt, 4 * HOUR - 1)] })).toEqual(SILENCE)
    expect(toOps({ alerts: [halt], told: [told(halt, 4 * HOUR)] }).events).toEqual(['halt repeated'])
    const twice = told(halt, 9 * HOUR, { lastAt: ago(HOUR) })
    expect(toOps({ alerts: [halt], told: [twice] })).toEqual(SILENCE)
    expect(toOps({ alerts: [halt], told: [{ ...twice, lastAt: ago(4 * HOUR) }] }).events).toEqual([
      'halt repeated',
    ])
  })

  test.each([
    // Hours since it was first told, and since it was last told.
    [3.9, 3.9, false],
    [4, 4, true],
    [5, 1, false],
    [23.9, 19.9, false],
    [24, 20, true],
    [30, 6, false],
    [500, 476, false],
    // Held back over both moments, by a mute say: once is enough.
    [30, 30, true],
  ])('a held run, told %d h and last %d h ago, is told again: %s', (first, last, isTold) => {
    const held = alert({ rule: 'held_run', subject: '7' })
    const known = told(held, first * HOUR, { lastAt: ago(last * HOUR) })
    expect(toOps({ alerts: [held], told: [known] }).events).toEqual(isTold ? ['held_run7 repeated'] : [])
  })

  test('is followed by its recovery, once', () => {
    const halt = ended()
    expect(toOps({ alerts: [halt], told: [told(halt, HOUR)] }).events).toEqual(['halt recovered'])
    expect(toOps({ alerts: [halt], told: [told(halt, HOUR, { isRecovered: true })] })).toEqual(SILENCE)
  })

  test('that has another cause by now is not told to be over', () => {
    const first = ended({ facts: { category: 'hr_unavailable' } })
    const second = alert({ facts: { category: 'credentials' } })
    const alerts = [first, second]
    expect(toOps({ alerts, told: [told(first, HOUR)] }).events).toEqual(['halt raised'])
    expect(toOps({ alerts, told: [told(first, HOUR), told(second, MINUTE)] })).toEqual(SILENCE)
    const other = alert({ subject: 'E900' })
    expect(toOps({ alerts: [first, other], told: [told(first, HOUR), told(other, HOUR)] }).events).toEqual([
      'halt recovered',
    ])
  })

  test('that came back is not told to be over, however it was told before', () => {
    const first = ended({ facts: { category: 'hr_unavailable' } })
    const second = ended({ facts: { category: 'credentials' } })
    const again = alert({ facts: { category: 'hr_unavailable' } })
    const alerts = [first, second, again]
    const known = [told(first, 2 * HOUR), told(second, HOUR)]
    expect(toOps({ alerts, told: known }).events).toEqual(['halt raised'])
    expect(toOps({ alerts, told: [...known, told(again, MINUTE)] })).toEqual(SILENCE)
    // Its recovery had to wait for the end of quiet hours.
    const [atNight, byDay] = [ended({ rule: 'clock', endedAt: ago(8 * HOUR) }), alert({ rule: 'clock' })]
    expect(toOps({ alerts: [atNight, byDay], told: [told(atNight, 10 * HOUR)] }).events).toEqual([
      'clock raised',
    ])
  })

  test('that ended before a channel was told of it is not told there', () => {
    expect(toOps({ alerts: [ended()] })).toEqual(SILENCE)
  })

  test('that may be over is not told until it is certain', () => {
    const halt = alert({ goneAt: ago(30_000) })
    expect(toOps({ alerts: [halt] })).toEqual(SILENCE)
    expect(toOps({ alerts: [halt], told: [told(halt, 5 * HOUR)] })).toEqual(SILENCE)
  })

  test('is not told if its severity is too low, and neither is its recovery', () => {
    const critical = { name: 'ops', least: 'critical' } as const
    expect(toOps({ alerts: [alert({ rule: 'paused' })] }, critical)).toEqual(SILENCE)
    expect(toOps({ alerts: [alert({ rule: 'paused' })] }).events).toEqual(['paused raised'])
    expect(toOps({ alerts: [ended({ rule: 'paused' })] }, critical)).toEqual(SILENCE)
  })

  test('about a dead channel is told on the others', () => {
    const dead = alert({ rule: 'dead_channel', subject: 'ops' })
    const { drafts } = decide(outlook({ alerts: [dead] }), [OPS, { name: 'mail', least: 'info' }], LIMITS)
    expect(drafts.map(({ channel }) => channel)).toEqual(['mail'])
  })
})

describe('one message', () => {
  test('says everything that there is to say, the worst first, recoveries last', () => {
    const over = ended({ rule: 'tokens' })
    const old = alert({ rule: 'held_run', subject: '3' })
    const alerts = [
      over,
      alert({ rule: 'clock', since: ago(MINUTE) }),
      alert({ rule: 'paused', since: ago(HOUR) }),
      old,
      alert({ rule: 'halt', subject: 'E1' }),
    ]
    const known = [told(over, HOUR), told(old, 5 * HOUR)]
    expect(toOps({ alerts, told: known }).events).toEqual([
      'haltE1 raised',
      'paused raised',
      'held_run3 repeated',
      'clock raised',
      'tokens recovered',
    ])
  })

  test('goes to each channel that has not heard of it', () => {
    const halt = alert()
    const channels = [OPS, { name: 'mail', least: 'info' } as const]
    const { drafts } = decide(outlook({ alerts: [halt], told: [told(halt, HOUR)] }), channels, LIMITS)
    expect(drafts.map(({ channel }) => channel)).toEqual(['mail'])
  })

  test('waits while another one is being sent', () => {
    expect(toOps({ alerts: [alert()], busy: ['ops'] })).toEqual(SILENCE)
  })
})

describe('an acknowledged alert', () => {
  const acknowledged = { by: 'console:test-operator', reason: null }

  test('is announced once to those who were told of it, and not again until it is over', () => {
    const halt = alert({ acknowledged })
    expect(toOps({ alerts: [halt], told: [told(halt, MINUTE)] }).events).toEqual(['halt acknowledged'])
    const known = told(halt, 5 * HOUR, { isAcknowledged: true })
    expect(toOps({ alerts: [halt], told: [known] })).toEqual(SILENCE)
    const over = ended({ acknowledged })
    const knowsIt = told(over, 5 * HOUR, { isAcknowledged: true })
    expect(toOps({ alerts: [over], told: [knowsIt] }).events).toEqual(['halt recovered'])
  })

  test('is not told to those who had not heard of it: somebody is dealing with it', () => {
    const tokens = alert({ rule: 'tokens', acknowledged })
    expect(toOps({ alerts: [tokens] })).toEqual(SILENCE)
    expect(toOps({ alerts: [tokens], told: [told(tokens, null, { isWithheld: true })] })).toEqual(SILENCE)
    expect(toOps({ alerts: [ended({ rule: 'tokens', acknowledged })] })).toEqual(SILENCE)
  })

  test('is held back like any other', () => {
    const tokens = alert({ rule: 'tokens', acknowledged })
    expect(toOps({ alerts: [tokens], told: [told(tokens, MINUTE)], isQuiet: true })).toEqual(SILENCE)
  })
})

describe('a message that was taken back', () => {
  const waiting = [{ id: 1, channel: 'ops' }]

  test('says the same again while nothing has changed', () => {
    const halt = alert()
    const known = told(halt, null, { waiting: 'raised' })
    expect(toOps({ alerts: [halt], told: [known], waiting }).events).toEqual(['halt raised'])
  })

  test('keeps an alert that may be over, and then says that it is', () => {
    const gone = alert({ goneAt: ago(30_000) })
    expect(
      toOps({ alerts: [gone], told: [told(gone, null, { waiting: 'raised' })], waiting }).events,
    ).toEqual(['halt raised'])
    const over = ended()
    for (const event of ['raised', 'recovered'] as const)
      expect(toOps({ alerts: [over], told: [told(over, null, { waiting: event })], waiting }).events).toEqual(
        ['halt recovered'],
      )
  })

  test('drops what is muted, or is over in quiet hours, meanwhile', () => {
    const over = ended({ rule: 'paused' })
    const known = [told(over, null, { waiting: 'raised' })]
    expect(toOps({ alerts: [over], told: known, waiting, isQuiet: true })).toEqual(SILENCE)
    const mutes = [{ rule: 'paused', subject: null, until: ago(-HOUR) }]
    expect(toOps({ alerts: [over], told: known, waiting, mutes })).toEqual(SILENCE)
  })
})

describe('inhibition', () => {
  test('consequences of a machine that was off or asleep have a quarter of an hour to clear by themselves', () => {
    const alerts = [alert({ rule: 'run_overdue' }), alert({ rule: 'work_stuck' }), alert({ rule: 'tokens' })]
    expect(toOps({ alerts, watchedSince: ago(15 * MINUTE - 1) }).events).toEqual(['tokens raised'])
    expect(toOps({ alerts, watchedSince: ago(15 * MINUTE) }).events).toEqual([
      'run_overdue raised',
      'work_stuck raised',
      'tokens raised',
    ])
  })

  const overdue = alert({ rule: 'run_overdue', subject: 'changes' })

  test('suppresses the consequences of a halt of everything', () => {
    const everything = alert({ subject: '*', facts: { scope: '*' } })
    expect(toOps({ alerts: [overdue, everything] }).events).toEqual(['halt* raised'])
    const old = told(overdue, 5 * HOUR)
    expect(toOps({ alerts: [overdue, everything], told: [old] }).events).toEqual(['halt* raised'])
  })

  const ofRuns = (rule: RuleName, kind: string, source?: string) =>
    alert({ rule, subject: source ? `${kind} ${source}` : kind, facts: { kind, ...(source && { source }) } })
  const follows = [
    ofRuns('run_overdue', 'changes', 'north'),
    alert({ rule: 'work_stuck' }),
    alert({ rule: 'out_of_sync' }),
  ]
  test.each<[string, RaisedAlert, string[]]>([
    ['an enterprise that is halted', alert({ subject: 'E1', facts: { scope: 'E1' } }), []],
    [
      'its HR that is away',
      alert({ subject: 'HR north', facts: { scope: 'E1', source: 'north' } }),
      ['run_overdue'],
    ],
    ['another HR that is away', alert({ subject: 'HR south', facts: { scope: 'E2', source: 'south' } }), []],
    ['a held run', ofRuns('held_run', 'changes', 'north'), []],
    ['HR that looks wrong to the same runs', ofRuns('source_suspect', 'changes', 'north'), ['run_overdue']],
    ['HR that looks wrong to other runs of it', ofRuns('source_suspect', 'full', 'north'), ['run_overdue']],
    ['departments that look wrong', ofRuns('source_suspect', 'departments', 'north'), []],
    ['another HR that looks wrong', ofRuns('source_suspect', 'changes', 'south'), []],
    ['a pause', alert({ rule: 'paused' }), []],
    ['no worker', alert({ rule: 'role_missing', subject: 'worker' }), ['run_overdue', 'work_stuck']],
    ['a halt of everything', alert({ facts: { scope: '*' } }), ['run_overdue', 'work_stuck', 'out_of_sync']],
  ])('%s suppresses its consequences, and nothing else', (_, cause, kept) => {
    const { drafts } = decide(outlook({ alerts: [cause, ...follows] }), [OPS], LIMITS)
    const toldOf = drafts[0]?.events.map(({ alert: { rule } }) => rule) ?? []
    expect(follows.map(({ rule }) => rule).filter(rule => !toldOf.includes(rule))).toEqual(kept)
  })

  test('by a warning never suppresses a critical alert', () => {
    for (const [name, { severity, inhibitedBy = [] }] of Object.entries(RULES))
      if (severity === 'critical')
        expect(
          inhibitedBy.map(cause => RULES[cause].severity),
          name,
        ).toEqual(inhibitedBy.map(() => 'critical'))
  })

  test('ends a quarter of an hour after its cause', () => {
    const cause = (ms: number) => ended({ endedAt: ago(ms) })
    expect(toOps({ alerts: [overdue, cause(14 * MINUTE)] })).toEqual(SILENCE)
    expect(toOps({ alerts: [overdue, cause(15 * MINUTE)] }).events).toEqual(['run_overduechanges raised'])
  })

  test('of problems that cannot clear by themselves ends with its cause', () => {
    const away = alert({ rule: 'queue_away' })
    expect(toOps({ alerts: [away, alert({ rule: 'database_away' })] }).events).toEqual([
      'database_away raised',
    ])
    expect(toOps({ alerts: [away, ended({ rule: 'database_away' })] }).events).toEqual(['queue_away raised'])
  })

  test('does not suppress the recovery of an alert that was told', () => {
    const over = ended({ rule: 'run_overdue' })
    expect(toOps({ alerts: [over, alert()], told: [told(over, HOUR)] }).events).toEqual([
      'halt raised',
      'run_overdue recovered',
    ])
  })

  test('has no other causes', () => {
    expect(toOps({ alerts: [overdue, alert({ rule: 'tokens' })] }).events).toHaveLength(2)
  })
})

describe('a mute', () => {
  const mutes = [{ rule: 'halt', subject: null, until: ago(-HOUR) }]

  test('of a subject suppresses its alerts, and no others of the rule', () => {
    const ofOne = [{ rule: 'halt', subject: 'E1', until: ago(-HOUR) }]
    const halt = alert({ subject: 'E1', facts: { scope: 'E1' } })
    expect(toOps({ alerts: [halt, alert({ subject: '*', facts: { scope: '*' } })], mutes: ofOne })).toEqual({
      kind: 'alerts',
      events: ['halt* raised'],
      withheld: [halt.id],
    })
  })

  test('keeps a rule from channels, and is noted once for each alert', () => {
    const halt = alert()
    expect(toOps({ alerts: [halt, alert({ rule: 'tokens' })], mutes })).toEqual({
      kind: 'alerts',
      events: ['tokens raised'],
      withheld: [halt.id],
    })
    expect(toOps({ alerts: [halt], mutes, told: [told(halt, null, { isWithheld: true })] })).toEqual(SILENCE)
  })

  test('when it ends, alerts that still hold are told, and those that are over are not', () => {
    const past = [{ rule: 'halt', subject: null, until: NOW }]
    const [halt, over] = [alert(), ended()]
    const withheld = [halt, over].map(one => told(one, null, { isWithheld: true }))
    expect(toOps({ alerts: [halt, over], told: withheld, mutes: past }).events).toEqual(['halt raised'])
  })

  test('sends no repetition, but the recovery of an alert that was told before it', () => {
    const [halt, over] = [alert(), ended({ subject: 'E1' })]
    const known = [told(halt, 5 * HOUR), told(over, HOUR)]
    expect(toOps({ alerts: [halt, over], told: known, mutes })).toEqual({
      kind: 'alerts',
      events: ['haltE1 recovered'],
      withheld: [],
    })
  })
})

describe('in quiet hours', () => {
  test('only critical alerts and their recoveries are sent', () => {
    const paused = alert({ rule: 'paused' })
    const over = ended({ subject: 'E1' })
    expect(toOps({ alerts: [paused, alert(), over], told: [told(over, HOUR)], isQuiet: true })).toEqual({
      kind: 'alerts',
      events: ['halt raised', 'haltE1 recovered'],
      withheld: [paused.id],
    })
  })

  test('the recovery of a lesser alert waits for their end', () => {
    const over = ended({ rule: 'paused' })
    const of = { alerts: [over], told: [told(over, 3 * HOUR)] }
    expect(toOps({ ...of, isQuiet: true })).toEqual(SILENCE)
    expect(toOps(of).events).toEqual(['paused recovered'])
  })

  test('an alert that came and went meanwhile is not told afterwards', () => {
    const over = ended({ rule: 'paused' })
    expect(toOps({ alerts: [over], told: [told(over, null, { isWithheld: true })] })).toEqual(SILENCE)
  })
})

describe('the bound of messages', () => {
  const BOTH = ['halt', 'tokens'].map(rule => ({ rule, subject: '' }))
  /** Messages that ops had so many minutes ago. */
  const had = (...minutes: number[]): Outlook['sent'] =>
    minutes.map(minute => ({ channel: 'ops', kind: 'alerts', at: ago(minute * MINUTE), about: BOTH }))
  const summary = (minutes: number): Outlook['sent'][number] => ({
    ...{ channel: 'ops', kind: 'summary', at: ago(minutes * MINUTE), about: [] },
  })
  const halt = () => ({ alerts: [alert(), alert({ rule: 'tokens' })] })

  test('permits a number of messages within an hour, then one summary, then none', () => {
    expect(toOps({ ...halt(), sent: had(50, 40) }).kind).toBe('alerts')
    expect(toOps({ ...halt(), sent: had(50, 40, 30) })).toMatchObject({
      kind: 'summary',
      events: ['halt raised', 'tokens raised'],
    })
    expect(toOps({ ...halt(), sent: [...had(50, 40, 30), summary(20)] }).kind).toBeNull()
  })

  test('says in the summary when there will be room again', () => {
    const { drafts } = decide(outlook({ ...halt(), sent: had(50, 40, 30) }), [OPS], LIMITS)
    expect(drafts[0]?.silentUntil).toEqual(ago(-10 * MINUTE))
    const lower = decide(outlook({ ...halt(), sent: had(50, 40, 30) }), [OPS], {
      ...LIMITS,
      messagesPerHour: 2,
    })
    expect(lower.drafts[0]?.silentUntil).toEqual(ago(-20 * MINUTE))
  })

  test('lets alerts that still hold through once the hour has room', () => {
    const over = ended()
    const of = { alerts: [alert({ rule: 'tokens' }), over], told: [told(over, 2 * HOUR)] }
    expect(toOps({ ...of, sent: [...had(59, 40, 30), summary(58)] })).toEqual(SILENCE)
    expect(toOps({ ...of, sent: [...had(60, 40, 30), summary(58)] })).toMatchObject({
      kind: 'alerts',
      events: ['tokens raised', 'halt recovered'],
    })
  })

  test('is one of each rule, and what is critical and new always passes', () => {
    const [other, same] = [alert({ rule: 'queue_away' }), alert({ subject: 'E1' })]
    const sent = had(50, 40, 30)
    expect(toOps({ alerts: [...halt().alerts, other, same], sent }).events).toEqual([
      'queue_away raised',
      'haltE1 raised',
    ])
    expect(
      toOps({ alerts: [alert({ rule: 'clock' }), alert({ rule: 'tokens', subject: 'x' })], sent }),
    ).toMatchObject({
      kind: 'alerts',
      events: ['clock raised'],
    })
  })

  test('holds for each channel by itself', () => {
    const sent = had(50, 40, 30).map(message => ({ ...message, channel: 'mail' }))
    expect(toOps({ ...halt(), sent }).kind).toBe('alerts')
  })

  test('sends nothing if there is nothing to say', () => {
    expect(toOps({ sent: had(50, 40, 30) })).toEqual(SILENCE)
  })
})
