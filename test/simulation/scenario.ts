import fc from 'fast-check'
import { breachesAtRest, differing } from './at-rest.ts'
import type { Person } from './hr.ts'
import { CALLS, crowd, episodes, one, type Scenario, type Turn } from './play.ts'
import { type Activity, EMPLOYEES, type World } from './world.ts'

/** Something that happens: in HR, on the platform, to a process, by a person, or as time passes. */
export type Happening =
  | { what: 'cycle'; process: number }
  | { what: 'act'; process: number; activity: Activity; times: number }
  | { what: 'hr'; employee: number; change: HrChange; value: number; run: boolean }
  | { what: 'hr-many'; count: number }
  | { what: 'hr-away' }
  | { what: 'hr-swap'; run: boolean }
  | { what: 'platform'; employee: number }
  | { what: 'run'; kind: 'changes' | 'full' }
  | { what: 'named'; employee: number }
  | { what: 'approve' | 'reject' | 'cancel' | 'retry' | 'ignore' | 'snooze' | 'undo'; which: number }
  | { what: 'approve-part' | 'reject-part'; which: number; employee: number }
  | { what: 'pause' | 'resume' }
  | { what: 'fault'; fault: 'lost' | 'reset' | 'unavailable' | 'not_json' | 'wrong_secret' }
  | { what: 'kill' | 'drop-locks' | 'cut-off'; process: number }
  | { what: 'stand-still'; process: number; steps: number }
  | { what: 'slow'; steps: number }
  | { what: 'queue'; loss: 'wiped' | 'twice' | 'reversed' }
  | { what: 'time'; seconds: number }

type HrChange = 'edit' | 'revert' | 'delete' | 'leave' | 'mobile'

/** Compared between HR and the platform. */
const FIELDS = ['name', 'mobile', 'remark', 'dept_code'] as const

const processIndex = fc.nat(1)
const which = fc.nat(3)

type Kind = fc.Arbitrary<Happening>

/** Whom things happen to: more to some of them, or all to one. */
const SOME = fc.constantFrom(0, 0, 0, 1, 1, ...Array(EMPLOYEES).keys())
const FEW = fc.constantFrom(0, 0, 0, 0, 1)

type Change = Extract<Happening, { what: 'hr' }>
const changeOf = (employee: fc.Arbitrary<number>, run: fc.Arbitrary<boolean>): fc.Arbitrary<Change> =>
  fc.record({
    what: fc.constant('hr' as const),
    employee,
    change: one<Change['change']>(
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
    ),
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
const fault = (...faults: Extract<Happening, { what: 'fault' }>['fault'][]): Kind =>
  fc.record({ what: fc.constant('fault' as const), fault: one(...faults) })
const time = (...seconds: number[]): Kind =>
  fc.record({ what: fc.constant('time' as const), seconds: fc.constantFrom(...seconds) })
const loss = (...losses: Extract<Happening, { what: 'queue' }>['loss'][]): Kind =>
  fc.record({ what: fc.constant('queue' as const), loss: one(...losses) })

/** What gets in the way. */
const troubleOf = (employee: fc.Arbitrary<number>) => ({
  run: fc.record({ what: fc.constant('run' as const), kind: one('changes', 'changes', 'full') }),
  many: fc.record({ what: fc.constant('hr-many' as const), count: fc.integer({ min: 3, max: EMPLOYEES }) }),
  away: fc.record({ what: fc.constant('hr-away' as const) }),
  swap: fc.record({ what: fc.constant('hr-swap' as const), run: fc.boolean() }),
  changed: changeOf(employee, fc.constant(true)),
  unplanned: changeOf(employee, fc.constant(false)),
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
  cutOff: fc.record({ what: fc.constant('cut-off' as const), process: processIndex }),
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
})

type Trouble = keyof ReturnType<typeof troubleOf>

const TROUBLE = Object.keys(troubleOf(SOME)) as Trouble[]

/** What does harm together more than by itself, and meets too rarely where all else happens, too. */
const TOGETHER: Trouble[][] = [
  ['lost', 'cancelled'],
  ['killed', 'cancelled'],
  ['killed', 'refused', 'cancelled'],
  ['swap', 'retried', 'cancelled'],
  ['swap', 'unplanned', 'retried'],
  ['swap', 'lost', 'later'],
  ['swap', 'swap'],
  ['still', 'changed'],
  ['slow', 'changed'],
  ['slow', 'cancelled'],
  ['slow', 'swap', 'swap'],
  ['slow', 'still', 'changed'],
  ['slow', 'lost', 'changed', 'cancelled'],
  ['many', 'decided', 'run'],
  ['many', 'inPart', 'run'],
  ['cutOff', 'still'],
  ['cutOff', 'killed', 'lost'],
  ['cutOff', 'still', 'named', 'lost'],
  ['many', 'decided', 'cancelled'],
  ['many', 'cancelled'],
  ['many', 'inPart', 'named'],
  ['lost', 'clock'],
  ['refused', 'clock', 'later'],
]

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
  )
}

/** Every seed has kinds of trouble of its own. */
const HAPPENINGS: fc.Arbitrary<Turn<Happening>[]> = fc.oneof(
  fc
    .subarray(TROUBLE, { minLength: 3, maxLength: 12 })
    .chain(trouble => crowd(fc.oneof(...WORK, ...anyOf(trouble, SOME, 3)), 6, 30)),
  fc.constantFrom(...TOGETHER).chain(inEpisodes),
  fc.shuffledSubarray(TROUBLE, { minLength: 1, maxLength: 4 }).chain(inEpisodes),
)

/** What the model knows beside the database. */
interface Known {
  /** Rows of HR that each employee has had. */
  history: Map<string, Person[]>
  /** Employees whom a person has named: their present row may be sent, whatever a plan saw. */
  named: Set<string>
  /** Employees whom someone has changed on the platform, past dirsync. */
  touched: Set<string>
  /** The hash of the row that a person has rejected, until HR has another one. */
  rejected: Map<string, string>
  breaches: string[]
}

/** HR's rows, which dirsync brings to the platform. */
export const employees: Scenario<Happening> = {
  turns: HAPPENINGS,
  begin: async world => {
    const known: Known = {
      history: new Map([...world.hr.people].map(([userid, person]) => [userid, [person]])),
      named: new Set(),
      touched: new Set(),
      rejected: new Map(),
      breaches: [],
    }
    world.platform.onUpdate = (userid, sent) => expectPassed(world, known, userid, sent)
    return {
      isOnItsWay: call => world.platform.isCalled(call === CALLS[1]),
      happen: (next, acts) => happen(world, known, next, acts),
      wake: (process, acts) => happen(world, known, { what: 'cycle', process }, acts),
      expectTrue: () => expectTrue(world, known),
      rest: async () => {
        world.platform.faults.length = 0
        world.hr.outages = 0
        await expectTrue(world, known)
        await settleAll(world)
        await expectAtRest(world, known)
        return [...known.breaches, ...world.platform.breaches, ...world.errors]
      },
    }
  },
}

async function happen(world: World, known: Known, next: Happening, acts: Promise<void>[]): Promise<void> {
  switch (next.what) {
    case 'act': {
      const { activity, times } = next
      for (let time = 0; time < (activity === 'work' ? times : 1); time++) {
        const process = world.process(next.process)
        // What a dead process does never ends.
        acts.push(Promise.race([world.act(process, activity), process.died]))
      }
      return
    }
    case 'cycle': {
      const process = world.process(next.process)
      acts.push(Promise.race([world.cycle(process), process.died]))
      return
    }
    case 'hr':
      await changeHr(world, known, `e${next.employee}`, next.change, next.value)
      if (next.run) await world.requestRun('changes')
      return
    case 'hr-many':
      for (let i = 0; i < next.count; i++) await changeHr(world, known, `e${i}`, 'edit', 0)
      return
    case 'hr-swap': {
      const [first, second] = [world.hr.people.get('e0'), world.hr.people.get('e1')]
      if (!first || !second) return
      await writeHr(world, known, 'e0', { ...first, mobile: second.mobile })
      await writeHr(world, known, 'e1', { ...second, mobile: first.mobile })
      if (next.run) await world.requestRun('changes')
      return
    }
    case 'hr-away':
      world.hr.outages += 1
      return
    case 'platform': {
      const held = world.platform.employees.get(`e${next.employee}`)
      if (held) held.name = 'someone else'
      known.touched.add(`e${next.employee}`)
      return
    }
    case 'run':
      await world.requestRun(next.kind)
      return
    case 'named':
      known.named.add(`e${next.employee}`)
      await person(world, `select dirsync.resync('employees', $1)`, [`e${next.employee}`])
      return
    case 'approve':
    case 'reject':
    case 'approve-part':
    case 'reject-part': {
      const run = await pick(
        world,
        `select id from dirsync.sync_run where state = 'held' order by id`,
        next.which,
      )
      if (!run) return
      const filter = 'employee' in next ? JSON.stringify({ keys: [`e${next.employee}`] }) : null
      const decision = {
        approve: 'approve($1)',
        reject: "reject($1, 'why')",
        'approve-part': "approve_part($1, $2, 'why')",
        'reject-part': "reject_part($1, $2, 'why')",
      }
      const [undecided, were] = [await undecidedOf(world, run), new Map(known.rejected)]
      if (next.what.startsWith('reject'))
        for (const { userid, hash } of undecided)
          if (!('employee' in next) || userid === `e${next.employee}`) known.rejected.set(userid, hash)
      const isDecided = await person(
        world,
        `select dirsync.${decision[next.what]}`,
        filter === null ? [run] : [run, filter],
      )
      if (!isDecided) known.rejected = were
      return
    }
    case 'cancel': {
      const run = await pick(
        world,
        `select id from dirsync.sync_run where state in ('requested', 'planning', 'running') and cancelled_at is null order by id`,
        next.which,
      )
      if (run) await person(world, `select dirsync.cancel($1, 'why')`, [run])
      return
    }
    case 'retry':
    case 'ignore':
    case 'snooze':
    case 'undo': {
      const found = await pickRow(
        world,
        `select id, entity_key from dirsync.dead_letter where state not in ('resolved') order by id`,
        next.which,
      )
      if (!found) return
      if (next.what === 'retry') known.named.add(found.entity_key)
      const more = { retry: '', ignore: `, 'why'`, snooze: `, now() + interval '1 hour', 'why'`, undo: '' }
      await person(world, `select dirsync.${next.what}($1${more[next.what]})`, [found.id])
      return
    }
    case 'pause':
      await person(world, `select dirsync.pause('why')`)
      return
    case 'resume':
      await person(world, 'select dirsync.resume()')
      return
    case 'fault':
      world.platform.faults.push(next.fault)
      return
    case 'kill':
      return world.kill(world.inMidCall(next.process))
    case 'drop-locks':
      return world.dropLocks(world.inMidCall(next.process))
    case 'cut-off': {
      // Without its servers for a moment: they have ended what it held, and the queue gives its jobs to the other one.
      const process = world.inMidCall(next.process)
      await world.dropLocks(process)
      world.queue.jobs.unshift(...world.queue.given)
      const other = world.processes.find(each => each !== process) as typeof process
      acts.push(Promise.race([world.cycle(other), other.died]))
      return
    }
    case 'stand-still':
      return world.standStill(world.inMidCall(next.process), next.steps)
    case 'slow':
      return world.standStill(world.platform, next.steps)
    case 'queue': {
      const { jobs, given } = world.queue
      if (next.loss === 'wiped') jobs.length = 0
      // What it takes for lost with its worker.
      if (next.loss === 'twice') jobs.push(...given)
      if (next.loss === 'reversed') jobs.reverse()
      return
    }
    case 'time':
      await world.pass(next.seconds)
  }
}

async function changeHr(
  world: World,
  known: Known,
  userid: string,
  change: HrChange,
  value: number,
): Promise<void> {
  const history = known.history.get(userid) as Person[]
  const last = history.at(-1) as Person
  const fresh = world.newPerson(0)
  const row: Person | null =
    change === 'delete'
      ? null
      : change === 'revert'
        ? (history.at(value < 3 ? -2 : value) ?? last)
        : change === 'leave'
          ? { ...last, active: false }
          : change === 'mobile'
            ? { ...fresh, mobile: `1380000000${value}` }
            : { ...fresh, mobile: last.mobile, dept_code: `D${value % 3}` }
  await writeHr(world, known, userid, row)
}

async function writeHr(world: World, known: Known, userid: string, row: Person | null): Promise<void> {
  await world.writePerson(userid, row)
  known.rejected.delete(userid)
  if (row) known.history.get(userid)?.push(row)
}

/** The rows that wait for a decision about a held run, and have not passed before. */
async function undecidedOf(world: World, run: number): Promise<{ userid: string; hash: string }[]> {
  const { rows } = await world.observer.query<{ userid: string; hash: string }>(
    `select entity_key as userid, source_hash as hash from dirsync.planned_work w
     where run_id = $1 and decision_id is null and reason <> 'asked' and source_hash is not null
       and not exists (select from simulated.passed p where p.userid = w.entity_key and p.hash = w.source_hash)`,
    [run],
  )
  return rows
}

/** What a person does may be refused, because others were faster. @returns whether it was done */
async function person(world: World, statement: string, values: unknown[] = []): Promise<boolean> {
  try {
    await world.observer.query(statement, values)
    return true
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (!/^(DS|P0|22|55)/.test(code)) throw new Error(`${statement}: ${error}`, { cause: error })
    return false
  }
}

async function pick(world: World, statement: string, which: number): Promise<number | undefined> {
  return (await pickRow(world, statement, which))?.id
}

async function pickRow(
  world: World,
  statement: string,
  which: number,
): Promise<{ id: number; entity_key: string } | undefined> {
  const { rows } = await world.observer.query<{ id: number; entity_key: string }>(statement)
  return rows[which % Math.max(1, rows.length)]
}

// What must hold at any moment

/**
 * Law 11: nothing is sent unless a plan has passed it, or a person named the employee. What a person has rejected is not sent
 * before HR has another row.
 */
async function expectPassed(
  world: World,
  known: Known,
  userid: string,
  sent: Partial<Person>,
): Promise<void> {
  if (known.named.has(userid)) return
  const { rows } = await world.observer.query<{ hash: string }>(
    'select hash from simulated.passed where userid = $1',
    [userid],
  )
  const isOf = (hash: string) => {
    const row = world.rowOf(userid, hash)
    return row && Object.entries(sent).every(([field, value]) => row[field as keyof Person] === value)
  }
  const rejected = known.rejected.get(userid)
  if (!rows.some(({ hash }) => hash !== rejected && isOf(hash)))
    known.breaches.push(
      `${JSON.stringify(sent)} was sent for ${userid}, which no plan has passed, or a person has rejected`,
    )
}

interface Shown {
  userid: string
  status: string
  acknowledged_hash: string | null
}

/** Law 15: whoever is called in sync is so on the platform, and whoever waits has work that brings it there. */
async function expectTrue(world: World, known: Known): Promise<void> {
  const { rows: idle } = await world.observer.query<{ userid: string }>(
    // Whose work was taken back waits for the next plan: no row has that hash.
    `select userid from dirsync.employee e
     where status = 'waiting' and source_hash <> uuid '00000000-0000-0000-0000-000000000000'
       and not exists (select from dirsync.pending p
                       where p.operation = 'update-employee' and p.enterprise_code = e.enterprise_code
                         and p.entity_key = e.userid)`,
  )
  known.breaches.push(...idle.map(({ userid }) => `${userid} waits, and nothing is to be done about it`))
  const { rows: late } = await world.observer.query<{ entity_key: string; run: string }>(
    `select p.entity_key, r.id || ' is ' || r.state as run
     from dirsync.pending p join dirsync.sync_run r on r.id = p.run_id where r.finished_at is not null`,
  )
  known.breaches.push(...late.map(({ entity_key, run }) => `${entity_key} has work although its run ${run}`))
  const { rows } = await world.observer.query<Shown>(
    `select userid, status, acknowledged_hash from dirsync.employee e where status = 'in_sync'`,
  )
  for (const { userid, acknowledged_hash } of rows) {
    const row = world.rowOf(userid, acknowledged_hash)
    const held = world.platform.employees.get(userid)
    if (!row || known.touched.has(userid)) continue
    const differs = held === undefined ? 'everything' : differing<Person>(row, held, FIELDS)
    const breach = `${userid} is called in sync, and differs on the platform in ${differs}`
    if (differs && !known.breaches.includes(breach)) known.breaches.push(breach)
  }
}

// What must hold at rest

/** Rounds after which whatever is left stays for ever. */
const ROUNDS = 8

/** Ends all trouble, decides what is held, and lets dirsync do its work: a changes run is enough, without a full one. */
async function settleAll(world: World): Promise<void> {
  await person(world, 'select dirsync.resume()')
  await world.pass(4000)
  // What a cancelled run had in hand is taken back when it returns; the next plan has it.
  await world.rest(1)
  await world.requestRun('changes')
  for (let round = 0; round < ROUNDS; round++) {
    await world.rest(1)
    const { rows } = await world.observer.query<{ held: number[] | null; busy: boolean }>(
      `select (select array_agg(id order by id) from dirsync.sync_run where state = 'held') as held,
              exists (select from dirsync.pending) or exists (select from dirsync.sync_run where finished_at is null)
                or exists (select from dirsync.dead_letter where state = 'retrying') as busy`,
    )
    for (const id of rows[0]?.held ?? []) await person(world, 'select dirsync.approve($1)', [id])
    // Cases have had their slow probe by then.
    if (!rows[0]?.busy && round > 0) break
    // Work waits for an hour at most, also where a clock was put back.
    await world.pass(rows[0]?.busy ? 700 : 12 * 24 * 3600)
  }
}

async function expectAtRest(world: World, known: Known): Promise<void> {
  const { hr, platform, observer } = world
  const { touched } = known
  const found = await breachesAtRest<Person>(observer, {
    hr: hr.people,
    platform: platform.employees,
    fields: FIELDS,
    touched,
  })
  known.breaches.push(...found)
}
