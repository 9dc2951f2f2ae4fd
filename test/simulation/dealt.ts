import fc from 'fast-check'
import type { Fault } from './platform.ts'
import { CALLS, crowd, episodes, one, type Turn } from './play.ts'
import type { Activity } from './process.ts'
import type { Stage } from './stage.ts'

/** How a seed is dealt: what it lets happen, and after what. */

/** Something that happens: in HR, on the platform, to a process, by a person, or as time passes. */
export type Happening =
  | { what: 'cycle'; process: number }
  | { what: 'act'; process: number; activity: Activity; times: number }
  | { what: 'hr'; employee: number; change: HrChange; value: number; run: boolean }
  | { what: 'hr-many'; count: number }
  | { what: 'hr-away'; source: number }
  | { what: 'hr-move'; employee: number; joins: boolean }
  | { what: 'hr-swap'; run: boolean }
  | { what: 'sources'; to: number; process: number; tidies: boolean }
  | { what: 'platform'; employee: number }
  | { what: 'run'; kind: 'changes' | 'full' | 'openids' }
  | { what: 'department'; department: number; change: DepartmentChange; empties: boolean; run: boolean }
  | { what: 'departments-due' }
  | { what: 'newcomer'; department: number; isBroken: boolean; run: boolean }
  | { what: 'run-of-one'; kind: 'changes' | 'full'; source: number }
  | { what: 'named'; employee: number }
  | { what: 'approve' | 'reject' | 'cancel' | 'retry' | 'ignore' | 'snooze' | 'undo'; which: number }
  | { what: 'approve-part' | 'reject-part'; which: number; employee: number }
  | { what: 'pause' | 'resume' }
  | { what: 'fault'; fault: Fault }
  | { what: 'kill' | 'drop-locks'; process: number }
  | { what: 'stand-still'; process: number; steps: number }
  | { what: 'cut-off'; process: number; steps: number }
  | { what: 'slow'; steps: number }
  | { what: 'queue'; loss: 'wiped' | 'twice' | 'reversed' }
  | { what: 'time'; seconds: number }
  | { what: 'backup' }
  | { what: 'restore'; failsOver: boolean }

type DepartmentChange = 'close' | 'vanish' | 'open' | 'join'

export type HrChange = 'edit' | 'revert' | 'delete' | 'leave' | 'mobile'

const processIndex = fc.nat(1)
const which = fc.nat(3)

type Kind = fc.Arbitrary<Happening>

/** As many of a stage's employees. */
const EMPLOYEES = 4

/** Whom things happen to: more to some of them, or all to one. */
const SOME = fc.constantFrom(0, 0, 0, 1, 1, ...Array(EMPLOYEES).keys())
const FEW = fc.constantFrom(0, 0, 0, 0, 1)
const DEPARTMENT = fc.constantFrom(1, 1, 1, 2, 3, 3, 5, 6, 7, 0)

const ANY_CHANGE = one<HrChange>(
  'edit',
  'edit',
  'edit',
  'revert',
  'revert',
  'revert',
  'delete',
  'leave',
  'mobile',
  'mobile',
)

type Change = Extract<Happening, { what: 'hr' }>
const changeOf = (
  employee: fc.Arbitrary<number>,
  run: fc.Arbitrary<boolean>,
  change: fc.Arbitrary<HrChange> = ANY_CHANGE,
): fc.Arbitrary<Change> =>
  fc.record({
    what: fc.constant('hr' as const),
    employee,
    change,
    value: fc.nat(EMPLOYEES),
    run,
  })

/** Without these nothing goes on. */
const WORK: fc.WeightedArbitrary<Happening>[] = [
  { weight: 10, arbitrary: changeOf(SOME, fc.constantFrom(true, true, true, false)) },
  {
    weight: 3,
    arbitrary: fc.record({
      what: fc.constant('run' as const),
      kind: one('changes', 'changes', 'changes', 'full'),
    }),
  },
  { weight: 4, arbitrary: fc.record({ what: fc.constant('cycle' as const), process: processIndex }) },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('act' as const),
      process: processIndex,
      activity: one<Activity>('plan', 'feed', 'work', 'work', 'sweep', 'retry', 'tidy', 'finish'),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
]

const decision = (
  ...whats: ('approve' | 'reject' | 'cancel' | 'retry' | 'ignore' | 'snooze' | 'undo')[]
): Kind => fc.record({ what: one(...whats), which })
const fault = (...faults: Fault[]): Kind =>
  fc.record({ what: fc.constant('fault' as const), fault: one(...faults) })
const time = (...seconds: number[]): Kind =>
  fc.record({ what: fc.constant('time' as const), seconds: fc.constantFrom(...seconds) })
const loss = (...losses: Extract<Happening, { what: 'queue' }>['loss'][]): Kind =>
  fc.record({ what: fc.constant('queue' as const), loss: one(...losses) })

/** What gets in the way. */
const troubleOf = (employee: fc.Arbitrary<number>) => ({
  run: fc.record({ what: fc.constant('run' as const), kind: one('changes', 'changes', 'full') }),
  many: fc.record({ what: fc.constant('hr-many' as const), count: fc.integer({ min: 3, max: EMPLOYEES }) }),
  away: fc.record({ what: fc.constant('hr-away' as const), source: fc.constant(0) }),
  swap: fc.record({ what: fc.constant('hr-swap' as const), run: fc.boolean() }),
  changed: changeOf(employee, fc.constant(true)),
  unplanned: changeOf(employee, fc.constant(false)),
  takenBack: changeOf(employee, fc.constant(true), one('revert')),
  duplicate: changeOf(employee, fc.constant(true), one('mobile')),
  touched: fc.record({ what: fc.constant('platform' as const), employee }),
  named: fc.record({ what: fc.constant('named' as const), employee }),
  decided: decision('approve', 'reject'),
  cancelled: decision('cancel'),
  retried: decision('retry'),
  setAside: decision('ignore', 'snooze', 'undo'),
  inPart: fc.record({ what: one('approve-part', 'reject-part'), which, employee }),
  paused: fc.record({ what: one('pause', 'resume') }),
  lost: fault('lost'),
  refused: fault('reset', 'unavailable', 'not_json', 'wrong_secret'),
  killed: fc.record({ what: fc.constant('kill' as const), process: processIndex }),
  unlocked: fc.record({ what: fc.constant('drop-locks' as const), process: processIndex }),
  cutOff: fc.record({
    what: fc.constant('cut-off' as const),
    process: processIndex,
    steps: fc.constantFrom(0, 0, 100, 300),
  }),
  still: fc.record({
    what: fc.constant('stand-still' as const),
    process: processIndex,
    steps: fc.constantFrom(20, 100, 300),
  }),
  slow: fc.record({ what: fc.constant('slow' as const), steps: fc.constantFrom(40, 120, 300) }),
  wiped: loss('wiped'),
  repeated: loss('twice', 'twice', 'reversed'),
  later: time(2, 15, 70),
  clock: time(4000, -3600, -24 * 3600),
  bound: fc.record({ what: fc.constant('run' as const), kind: fc.constant('openids' as const) }),
  otherAway: fc.record({ what: fc.constant('hr-away' as const), source: fc.constant(1) }),
  ofOne: fc.record({
    what: fc.constant('run-of-one' as const),
    kind: one('changes', 'changes', 'full'),
    source: fc.nat(1),
  }),
  moved: fc.record({ what: fc.constant('hr-move' as const), employee, joins: fc.boolean() }),
  regrouped: fc.record({
    what: fc.constant('sources' as const),
    to: fc.nat(3),
    process: processIndex,
    tidies: fc.boolean(),
  }),
  closed: fc.record({
    what: fc.constant('department' as const),
    department: DEPARTMENT,
    change: one<DepartmentChange>('close', 'close', 'close', 'vanish', 'open'),
    empties: fc.constantFrom(true, true, false),
    run: fc.constantFrom(true, true, false),
  }),
  returned: fc.record({
    what: fc.constant('department' as const),
    department: DEPARTMENT,
    change: one<DepartmentChange>('open', 'join'),
    empties: fc.constant(false),
    run: fc.boolean(),
  }),
  due: fc.record({ what: fc.constant('departments-due' as const) }),
  hired: fc.record({
    what: fc.constant('newcomer' as const),
    department: DEPARTMENT,
    isBroken: fc.boolean(),
    run: fc.constantFrom(true, true, false),
  }),
  saved: fc.record({ what: fc.constant('backup' as const) }),
  restored: fc.record({ what: fc.constant('restore' as const), failsOver: fc.boolean() }),
})

type Trouble = keyof ReturnType<typeof troubleOf>

/** Where HR has several sources alone, or departments. */
const OF_GROUP: Trouble[] = ['otherAway', 'ofOne', 'moved']
const OF_SETTINGS: Trouble[] = ['regrouped']
const CLOSING: Trouble[] = ['hired', 'closed', 'due']
const OF_DEPARTMENTS: Trouble[] = [...CLOSING, 'returned']
const OF_OPENIDS: Trouble[] = ['bound']
const OF_RESTORES: Trouble[] = ['saved', 'restored']
const OF_ALL = (Object.keys(troubleOf(SOME)) as Trouble[]).filter(
  kind => ![...OF_GROUP, ...OF_SETTINGS, ...OF_DEPARTMENTS, ...OF_OPENIDS, ...OF_RESTORES].includes(kind),
)

/** What does harm together more than by itself, and meets too rarely where all else happens, too. */
const TOGETHER: Trouble[][] = [
  ['lost', 'cancelled'],
  ['lost', 'cancelled', 'takenBack'],
  ['killed', 'cancelled', 'takenBack'],
  ['slow', 'cancelled', 'takenBack'],
  ['duplicate', 'retried', 'cancelled'],
  ['duplicate', 'later', 'cancelled'],
  ['killed', 'cancelled'],
  ['killed', 'refused', 'cancelled'],
  ['swap', 'retried', 'cancelled'],
  ['swap', 'unplanned', 'retried'],
  ['swap', 'lost', 'later'],
  ['swap'],
  ['swap', 'swap'],
  ['still', 'changed'],
  ['slow', 'changed'],
  ['slow', 'repeated'],
  ['still', 'repeated'],
  ['slow', 'cancelled'],
  ['slow', 'swap', 'swap'],
  ['slow', 'still', 'changed'],
  ['slow', 'lost', 'changed', 'cancelled'],
  ['many', 'decided', 'run'],
  ['many', 'inPart', 'run'],
  ['cutOff', 'still'],
  ['cutOff', 'killed', 'lost'],
  ['cutOff', 'changed'],
  ['cutOff', 'changed', 'changed'],
  ['cutOff', 'still', 'named', 'lost'],
  ['many', 'decided', 'cancelled'],
  ['many', 'cancelled'],
  ['many', 'inPart', 'named'],
  ['lost', 'clock'],
  ['refused', 'clock', 'later'],
]

const TOGETHER_IN_GROUP: Trouble[][] = [
  ['otherAway', 'changed'],
  ['away', 'ofOne', 'later'],
  ['many', 'ofOne', 'decided'],
  ['many', 'moved', 'inPart'],
  ['moved', 'moved', 'lost'],
  ['moved', 'cancelled', 'ofOne'],
  ['ofOne', 'killed', 'cancelled'],
]

/** Processes with other sources start, one after the other. */
const TOGETHER_IN_CHANGE: Trouble[][] = [
  ['regrouped'],
  ['regrouped', 'killed'],
  ['regrouped', 'changed', 'regrouped'],
  ['many', 'regrouped', 'decided'],
  ['many', 'regrouped', 'inPart', 'regrouped'],
  ['regrouped', 'otherAway', 'regrouped'],
  ['lost', 'regrouped', 'ofOne'],
  ['unplanned', 'regrouped', 'cancelled'],
]

/** After a department has been closed, and its time has come. */
const TOGETHER_IN_DEPARTMENTS: Trouble[][] = [
  ['returned'],
  ['slow', 'returned'],
  ['returned', 'closed'],
  ['changed'],
  ['unplanned', 'changed'],
  ['closed', 'due', 'decided'],
  ['closed', 'due', 'inPart', 'due'],
  ['killed', 'changed'],
  ['lost', 'refused'],
  ['slow', 'changed'],
  ['cancelled', 'retried'],
  ['hired', 'refused', 'closed', 'due'],
]

const TOGETHER_WITH_OPENIDS: Trouble[][] = [
  ['bound'],
  ['bound', 'slow', 'changed'],
  ['bound', 'killed', 'still'],
  ['bound', 'cancelled', 'named'],
  ['bound', 'refused', 'later'],
  ['bound', 'repeated', 'wiped'],
]

/** The database is an older one, with all that follows from what was sent since. */
const TOGETHER_WITH_RESTORES: Trouble[][] = [
  ['restored'],
  ['takenBack', 'restored'],
  ['slow', 'restored'],
  ['lost', 'restored', 'changed'],
  ['saved', 'changed', 'restored'],
  ['saved', 'still', 'restored', 'takenBack'],
  ['many', 'saved', 'decided', 'restored'],
  ['saved', 'swap', 'restored'],
  ['saved', 'cancelled', 'restored', 'named'],
  ['repeated', 'restored', 'restored'],
  ['saved', 'clock', 'restored'],
]

const MOMENTS = [...CALLS, 'an outcome', 'an outcome'] as const

const anyOf = (trouble: Trouble[], employee: fc.Arbitrary<number>, weight: number) => {
  const kinds = troubleOf(employee)
  return trouble.map(kind => ({ weight, arbitrary: kinds[kind] }))
}

/** Again and again an employee's change is under way, and then, as a rule, one trouble comes after the other. */
const inEpisodes = (trouble: Trouble[]): fc.Arbitrary<Turn<Happening>[]> => {
  const kinds = troubleOf(FEW)
  return episodes<Happening>(
    changeOf(FEW, fc.constant(true)),
    trouble.map(kind => kinds[kind]),
    changeOf(FEW, fc.boolean()),
    MOMENTS,
  )
}

/** Every seed has kinds of trouble of its own. */
export function happeningsOf(
  { sources, changesTo, departmentsOf, merchants }: Stage,
  restores: boolean,
): fc.Arbitrary<Turn<Happening>[]> {
  const isGroup = sources.length > 1
  const group = isGroup ? [...OF_GROUP, ...(changesTo ? OF_SETTINGS : [])] : []
  const departments = departmentsOf.length > 0 ? OF_DEPARTMENTS : []
  const openids = merchants ? OF_OPENIDS : []
  const restoring = restores ? OF_RESTORES : []
  const together = [
    ...(restores ? TOGETHER_WITH_RESTORES : TOGETHER),
    ...(isGroup ? TOGETHER_IN_GROUP : []),
    ...(changesTo ? TOGETHER_IN_CHANGE : []),
    ...(departments.length > 0 ? TOGETHER_IN_DEPARTMENTS : []),
    ...(merchants ? TOGETHER_WITH_OPENIDS : []),
  ]
  // In each episode someone is hired, a department is closed, and its time comes.
  const after = (trouble: Trouble[]) =>
    inEpisodes([...CLOSING.filter(kind => departments.includes(kind)), ...trouble])
  return fc.oneof(
    fc
      .subarray(OF_ALL, { minLength: 3, maxLength: 12 })
      .chain(trouble =>
        crowd(
          fc.oneof(
            ...WORK,
            ...anyOf([...trouble, ...group, ...departments, ...openids, ...restoring], SOME, 3),
          ),
          6,
          30,
          MOMENTS,
        ),
      ),
    fc.constantFrom(...together).chain(after),
    fc
      .shuffledSubarray([...OF_ALL, ...group, ...departments, ...openids], { minLength: 1, maxLength: 4 })
      .chain(trouble => after([...trouble, ...restoring])),
  )
}
