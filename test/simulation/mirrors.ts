import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { UNTRACED } from '../../src/lib/tracing.ts'
import { mirrorSteps } from '../../src/mirrors/mirror-runner.ts'
import { endLostRetries } from '../../src/sync/cases/cases.ts'
import { Standing } from '../../src/sync/processes/standing.ts'
import { MIRRORS, type Mirror } from '../../src/sync/runs/mirror-kind.ts'
import { requestScheduledRun } from '../../src/sync/runs/run-requests.ts'
import { decideCase, person } from './happen.ts'
import { hasSub, IDENTIFIER, type MirrorFault, MirrorsPlatform, type Shown } from './mirrors-platform.ts'
import { crowd, episodes, type OnItsWay, one, PASSING_TROUBLE, type Scenario, type Turn } from './play.ts'
import { type Process, SILENT } from './process.ts'
import { as } from './schedule.ts'
import { enterpriseOf, stageOf } from './stage.ts'
import { isConnection, type World } from './world.ts'

/** The mirrors: requested, read by two processes, retried, cancelled, while the platform's rows change and calls fail. */

export type Happening =
  | { what: 'request'; mirror: Mirror; by: 'cron' | 'person' }
  | { what: 'row'; mirror: Mirror; change: 'add' | 'change' | 'remove'; which: number }
  /** The first row of a list is removed, so that others move to the page before. */
  | { what: 'move-up'; mirror: Mirror }
  | { what: 'fault'; mirror: Mirror; fault: MirrorFault }
  | { what: 'deny' | 'permit'; mirror: Mirror; of: number }
  | { what: 'cancel' | 'retry' | 'ignore' | 'snooze'; which: number }
  | { what: 'pause' | 'resume' }
  | { what: 'kill' | 'drop-connections' | 'drop-locks'; process: number }
  | { what: 'stop'; process: number }
  | { what: 'lose-answer'; process: number; of: string }
  | { what: 'stand-still'; process: number; steps: number }
  | { what: 'cut-off'; process: number; steps: number }
  | { what: 'slow'; steps: number }
  | { what: 'time'; seconds: number }

const process = fc.nat(1)
const which = fc.nat(3)

/** What gets in the way. @param mirror to which it happens */
function troubleOf(mirror: fc.Arbitrary<Mirror>) {
  const request = fc.record({ what: fc.constant('request' as const), mirror, by: one('cron', 'person') })
  const row = fc.record({
    what: fc.constant('row' as const),
    mirror,
    change: one('add', 'change', 'change', 'remove'),
    which: fc.nat(9),
  })
  const fault = (...faults: MirrorFault[]) =>
    fc.record({ what: fc.constant('fault' as const), mirror, fault: one(...faults) })
  const ofCase = <What extends 'cancel' | 'retry' | 'ignore' | 'snooze'>(what: What) =>
    fc.record({ what: fc.constant(what), which })
  const ofProcess = <What extends 'kill' | 'drop-connections' | 'drop-locks' | 'stop'>(what: What) =>
    fc.record({ what: fc.constant(what), process })
  const permission = <What extends 'deny' | 'permit'>(what: What) =>
    fc.record({ what: fc.constant(what), mirror, of: fc.nat(1) })
  return {
    changed: row,
    moved: fc.record({ what: fc.constant('move-up' as const), mirror }),
    again: request,
    unanswered: fault('lost', 'reset', 'unavailable', 'busy'),
    refused: fault('refused', 'refused', 'not_json', 'unfit'),
    odd: fault('no_list', 'counts_more'),
    halted: fault('wrong_secret', 'enterprise_refused'),
    denied: permission('deny'),
    permitted: permission('permit'),
    cancelled: ofCase('cancel'),
    retried: ofCase('retry'),
    ignored: ofCase('ignore'),
    snoozed: ofCase('snooze'),
    paused: fc.record({ what: fc.constant('pause' as const) }),
    resumed: fc.record({ what: fc.constant('resume' as const) }),
    killed: ofProcess('kill'),
    dropped: ofProcess('drop-connections'),
    unlocked: ofProcess('drop-locks'),
    stopped: ofProcess('stop'),
    ...PASSING_TROUBLE,
    cutOff: fc.record({ what: fc.constant('cut-off' as const), process, steps: fc.constantFrom(100, 300) }),
    later: fc.record({
      what: fc.constant('time' as const),
      seconds: fc.constantFrom(7, 40, 700, 4000, 90_000),
    }),
  } satisfies Record<string, fc.Arbitrary<Happening>>
}

type Trouble = keyof ReturnType<typeof troubleOf>

/** What does harm together more than by itself, and meets too rarely where all else happens, too. */
const TOGETHER: Trouble[][] = [
  ['again', 'cutOff', 'changed'],
  ['moved', 'changed', 'moved'],
  ['odd', 'changed', 'again'],
  ['unanswered', 'cancelled', 'again'],
  ['refused', 'retried', 'cancelled', 'again'],
]
const MOMENTS = ['a call', 'an outcome'] as const

function turnsOf(mirror: fc.Arbitrary<Mirror>): fc.Arbitrary<Turn<Happening>[]> {
  const trouble: Record<Trouble, fc.Arbitrary<Happening>> = troubleOf(mirror)
  const { again: request, changed: row } = trouble
  const kinds = Object.keys(trouble) as Trouble[]
  const arbitraries = (chosen: Trouble[]) => chosen.map(kind => trouble[kind])
  return fc.oneof(
    fc
      .subarray(kinds, { minLength: 3, maxLength: 10 })
      .chain(chosen => crowd(fc.oneof(request, row, ...arbitraries(chosen)), 4, 16, MOMENTS)),
    fc
      .constantFrom(...TOGETHER)
      .chain(chosen => episodes(fc.oneof(request, row), arbitraries(chosen), row, MOMENTS)),
    fc
      .shuffledSubarray(kinds, { minLength: 2, maxLength: 5 })
      .chain(chosen => episodes(request, arbitraries(chosen), row, MOMENTS)),
  )
}

/** All to one mirror, so that much happens to it, or to all. */
const TURNS = fc.oneof(...MIRRORS.map(mirror => turnsOf(fc.constant(mirror))), turnsOf(one(...MIRRORS)))

export function mirrorsOf(seed: number): Scenario<Happening> {
  const stage = stageOf(seed % 2)
  const enterprises = [...new Set(stage.employees.map(enterpriseOf))].slice(0, 2)
  return {
    stage,
    turns: TURNS,
    // In every third seed one process has no TAXPAYER_IDENTIFIERS.
    begin: world => Archive.open(world, enterprises, seed % 3 === 0),
  }
}

/** Days of orders that are read, today included. */
const WINDOW = 3
/** An order this old is asked for by its number. */
const OLD = 9
/** So often time passes while everybody waits for it; then the processes are stopped. */
const NAPS = 20
const NAP_SECONDS = 30

const nameOf = ({ mirror: of, enterprise, id }: Pick<Shown, 'mirror' | 'enterprise' | 'id'>) =>
  [of, enterprise, id].filter(Boolean).join(' ')

interface Stored {
  mirror: Mirror
  enterprise: string
  id: string
  version: number
  isGone: boolean
}

const STORED = `
  select 'orders' as mirror, enterprise_code as enterprise, trade_no as id, substr(subject, 2)::int as version,
         gone_at is not null as "isGone"
  from dirsync.payment_order
  union all
  select 'accounts', enterprise_code, account_openid, substr(name, 2)::int, gone_at is not null from dirsync.limit_account
  union all
  select 'taxpayers', enterprise_code, taxpayer_name, status, gone_at is not null from dirsync.taxpayer`

/** Notes a row that is stored over a later one: nobody may look between the two. */
const NOTE_EARLIER = `
  create table if not exists simulated.earlier (row text);
  delete from simulated.earlier;
  create or replace function simulated.note_earlier() returns trigger language plpgsql as $$
  declare
    was int := substr(to_jsonb(old) ->> tg_argv[0], tg_argv[1]::int)::int;
    is_now int := substr(to_jsonb(new) ->> tg_argv[0], tg_argv[1]::int)::int;
  begin
    if is_now < was then
      insert into simulated.earlier values (format('%s v%s over v%s', tg_table_name, is_now, was));
    end if;
    return null;
  end $$;
  ${[
    ['payment_order', 'subject', 2],
    ['limit_account', 'name', 2],
    ['taxpayer', 'status', 1],
  ]
    .map(
      ([table, column, from]) =>
        `create or replace trigger note_earlier after update on dirsync.${table}
         for each row execute function simulated.note_earlier('${column}', '${from}')`,
    )
    .join(';\n')}`

interface Run {
  id: number
  kind: Mirror
  state: string
  isOver: boolean
  isCancelled: boolean
  message: unknown
  planned: number | null
  result: { outcomes?: Record<string, number> } | null
  attempts: number
}

const RUNS = `
  select id::int, kind, state, finished_at is not null as "isOver", cancelled_at is not null as "isCancelled", message, planned, result,
         (select count(*)::int from dirsync.attempt where run_id = r.id) as attempts
  from dirsync.sync_run r where kind = any ($1) order by id`

/** How the first statement begins that stores an answer. */
const STORING = 'select from dirsync.sync_run where id = $1 and state'

/** The unresolved cases of parts of mirrors. */
const CASES = `
  select id::int, operation, enterprise_code, field, state from dirsync.dead_letter
  where entity = 'mirror' and state <> 'resolved' order by id`

interface Case {
  id: number
  operation: string
  state: string
}

class Archive {
  readonly #world: World
  readonly #platform: MirrorsPlatform
  readonly #enterprises: string[]
  readonly #hasBare: boolean
  readonly #breaches = new Set<string>()
  readonly #stops = new Map<Process, AbortController>()
  readonly #standings = new Map<Process, Standing>()
  /** Since when each run was known, by the platform's counts, and how it was once it was over. */
  readonly #runs = new Map<number, { changes: number; nulls: number; over: string | null }>()
  /** The platform's counts when it was looked last. */
  #before = { changes: 0, nulls: 0 }
  #naps = 0

  private constructor(world: World, enterprises: string[], hasBare: boolean) {
    this.#world = world
    this.#platform = new MirrorsPlatform(world.turn)
    this.#enterprises = enterprises
    this.#hasBare = hasBare
    world.onIdle = () => this.#nap()
  }

  static async open(world: World, enterprises: string[], hasBare: boolean): Promise<Archive> {
    const archive = new Archive(world, enterprises, hasBare)
    await world.look(NOTE_EARLIER)
    for (const enterprise of enterprises) {
      for (const age of [0, 0, 0, 0, 0, 1, WINDOW - 1, OLD])
        archive.#platform.add({ mirror: 'orders', enterprise, age })
      for (const age of [0, 0, 0, 0, 1]) archive.#platform.add({ mirror: 'taxpayers', enterprise, age })
      for (const age of [0, 0]) archive.#platform.add({ mirror: 'accounts', enterprise, age })
    }
    archive.#before.changes = archive.#platform.changes
    // As an earlier run has read them: refunding.
    for (const { enterprise, id } of archive.#platform.rows.filter(({ age }) => age === OLD))
      await world.look(
        `insert into dirsync.payment_order (enterprise_code, trade_no, subject, status, listed_on)
         values ($1, $2, 'v1', 5, current_date - $3::int)`,
        [enterprise, id, OLD],
      )
    return archive
  }

  isOnItsWay = (what: OnItsWay) =>
    what === 'an outcome'
      ? this.#world.processes.some(each => this.#isStoring(each))
      : this.#platform.isCalled

  #isStoring(process: Process): boolean {
    return this.#world.isSettling(process, STORING)
  }

  async happen(next: Happening, acts: Promise<void>[]): Promise<void> {
    const world = this.#world
    switch (next.what) {
      case 'request':
        return this.#request(next.mirror, next.by)
      case 'row': {
        const rows = this.#platform.rows.filter(each => each.mirror === next.mirror)
        const chosen = rows[next.which % rows.length]
        if (!chosen) return
        if (next.change === 'add') this.#platform.add({ ...chosen, age: chosen.age % WINDOW })
        else this.#platform.change(chosen, next.change === 'remove')
        return
      }
      case 'move-up': {
        const listed = this.#platform.rows.filter(
          each => each.mirror === next.mirror && each.age === 0 && !each.isGone,
        )
        const first = listed.at(next.mirror === 'orders' ? -1 : 0)
        if (first) this.#platform.change(first, true)
        return
      }
      case 'fault':
        this.#platform.faults[next.mirror].push(next.fault)
        return
      case 'deny':
      case 'permit': {
        const label = `${next.mirror} ${this.#enterprises[next.of % this.#enterprises.length]}`.trim()
        if (next.what === 'deny') this.#platform.denied.add(label)
        else this.#platform.denied.delete(label)
        return
      }
      case 'cancel': {
        const runs = (await this.#allRuns()).filter(({ isOver }) => !isOver)
        const run = runs[next.which % Math.max(1, runs.length)]
        if (run) await person(world, `select dirsync.cancel($1, 'why')`, [run.id])
        return
      }
      case 'retry':
      case 'ignore':
      case 'snooze': {
        const cases = await this.#cases()
        const chosen = cases[next.which % Math.max(1, cases.length)]
        if (chosen) await decideCase(world, next.what, chosen.id)
        return
      }
      case 'pause':
        await person(world, `select dirsync.pause('why')`)
        return
      case 'resume':
        await person(world, 'select dirsync.resume()')
        return
      case 'kill':
      case 'drop-connections':
      case 'drop-locks':
      case 'lose-answer':
      case 'stand-still':
        return world.befall(next)
      case 'cut-off': {
        // Its lock is gone with its connection while it stands still, perhaps with an answer to store; another one takes over,
        // to whom the platform shows other rows.
        const storing = world.processes.find(each => this.#isStoring(each))
        const process = storing ?? world.process(next.process)
        world.standStill(process, next.steps)
        await world.dropLocks(process)
        for (const row of this.#platform.rows) this.#platform.change(row, row.isGone)
        return this.wake(world.processes.indexOf(process) + 1, acts)
      }
      case 'stop':
        this.#stop(world.process(next.process))
        return
      case 'slow':
        return world.standStill(this.#platform, next.steps)
      case 'time':
        return world.pass(next.seconds)
    }
  }

  async wake(index: number, acts: Promise<void>[]): Promise<void> {
    const process = this.#world.process(index)
    acts.push(Promise.race([this.#cycle(process), process.died]))
  }

  /** What a process does when it wakes up: it retries what is due, plans, and reads what is wanted. */
  async #cycle(process: Process): Promise<void> {
    await this.#world.act(process, 'retry')
    await this.#world.act(process, 'plan')
    await this.#read(process)
    await this.#world.act(process, 'finish')
  }

  #read(process: Process): Promise<void> {
    if (process.dead) return Promise.resolve()
    return as(process, async () => {
      const stop = this.#stops.get(process) ?? new AbortController()
      this.#stops.set(process, stop)
      await Promise.all(
        this.#steps(process).map(async ({ mirror: of, step }) => {
          try {
            await step(stop.signal)
          } catch (error) {
            if (process.dead || stop.signal.aborted || isConnection(error)) return
            // The lock was lost, with the call that was under way.
            const { message, code = '' } = error as Error & { code?: string }
            if (/PLATFORM_ABORTED|ECONNRESET/.test(code)) return
            if (/lock was lost|another process has gone on/.test(message)) return
            this.#breaches.add(`${of}: ${(error as Error).stack}`)
          }
        }),
      )
    })
  }

  #steps(process: Process) {
    const { pool, locks } = process
    const standing = this.#standings.get(process) ?? new Standing(pool, { id: randomUUID(), secretPrint: '' })
    this.#standings.set(process, standing)
    const isBare = this.#hasBare && this.#world.processes.indexOf(process) === 1
    return mirrorSteps({
      ...{ pool, locks, standing, client: this.#platform.client(process), logger: SILENT, tracing: UNTRACED },
      ...{ ownEnterprise: '', orderDays: WINDOW, taxpayerIdentifiers: isBare ? [] : [IDENTIFIER] },
    })
  }

  /** `SIGTERM`: it leaves what it reads to the next one. */
  #stop(process: Process): void {
    this.#stops.get(process)?.abort(new Error('stopped'))
    this.#stops.delete(process)
  }

  /** Everybody waits for time to pass: after a while they are stopped, since a pause has no end. */
  async #nap(): Promise<void> {
    this.#naps += 1
    if (this.#naps < NAPS) return this.#world.pass(NAP_SECONDS)
    for (const each of [...this.#stops.keys()]) this.#stop(each)
  }

  async #request(of: Mirror, by: 'cron' | 'person'): Promise<void> {
    if (by === 'cron') await requestScheduledRun(this.#world.observer, of, 'cron', SILENT)
    else await person(this.#world, 'select dirsync.resync($1)', [of])
  }

  #stored(): Promise<Stored[]> {
    return this.#world.look<Stored>(STORED)
  }

  #allRuns(): Promise<Run[]> {
    return this.#world.look<Run>(RUNS, [MIRRORS])
  }

  #cases(): Promise<Case[]> {
    return this.#world.look<Case>(CASES)
  }

  // What must hold at any moment

  async expectTrue(): Promise<void> {
    const stored = await this.#stored()
    const byName = new Map(stored.map(each => [nameOf(each), each]))
    for (const { row } of await this.#world.look<{ row: string }>('select row from simulated.earlier'))
      this.#breaches.add(`an earlier row is stored: ${row}`)
    for (const row of this.#platform.rows) {
      const mine = byName.get(nameOf(row))
      if (mine?.isGone && !row.isGone && mine.version === row.version)
        this.#breaches.add(`${nameOf(row)} is called gone`)
    }
    await this.#expectSubs(stored)
    const runs = await this.#allRuns()
    const cases = await this.#cases()
    for (const run of runs) {
      const known = this.#runs.get(run.id) ?? { ...this.#before, over: null }
      this.#runs.set(run.id, known)
      if (!run.isOver) continue
      const now = JSON.stringify([run.state, run.message, run.result, run.attempts])
      if (known.over === now) continue
      if (known.over !== null) this.#breaches.add(`run ${run.id} was over as ${known.over}, and is ${now}`)
      known.over = now
      this.#expectOutcomes(run)
      if (run.state !== 'done') continue
      const isTold = run.kind !== 'orders' || known.nulls === this.#platform.nulls
      if (run.message === null && isTold) this.#expectRead(run, known.changes, byName)
      if (runs.some(({ id, kind }) => kind === run.kind && id > run.id)) continue
      const left = cases.filter(
        ({ operation, state }) => operation === `mirror-${run.kind}` && state !== 'ignored',
      )
      if (left.length > 0) this.#breaches.add(`run ${run.id} is done, and left is ${JSON.stringify(left)}`)
    }
    const { changes, nulls } = this.#platform
    this.#before = { changes, nulls }
  }

  /** A run that is done, and says of nothing that it was left out, has read all that has not changed since. */
  #expectRead({ id, kind }: Run, asOf: number, stored: Map<string, Stored>): void {
    for (const row of this.#platform.rows) {
      if (row.mirror !== kind || row.since > asOf) continue
      // Older days are read once a day, and an order that is gone is on no list.
      if (kind === 'orders' && (row.age > 1 || row.isGone)) continue
      const why = differs(row, stored.get(nameOf(row)))
      if (why) this.#breaches.add(`run ${id} is done, and ${nameOf(row)} is ${why}`)
    }
  }

  #expectOutcomes({ id, planned, result, isCancelled }: Run): void {
    if (isCancelled) return
    const outcomes = Object.values(result?.outcomes ?? {}).reduce((sum, n) => sum + n, 0)
    if (outcomes !== (planned ?? 0))
      this.#breaches.add(`run ${id} has planned ${planned}, and its outcomes are ${JSON.stringify(result)}`)
  }

  /** A sub-account is stored with its account. */
  async #expectSubs(stored: Stored[]): Promise<void> {
    const subs = await this.#world.look<{ enterprise: string; account: string; name: string }>(
      `select enterprise_code as enterprise, account_openid as account, name from dirsync.limit_sub_account where gone_at is null`,
    )
    for (const account of stored.filter(each => each.mirror === 'accounts')) {
      const mine = subs.filter(sub => sub.enterprise === account.enterprise && sub.account === account.id)
      const wanted = !account.isGone && hasSub(account.version) ? `v${account.version}` : ''
      if (mine.map(({ name }) => name).join() !== wanted)
        this.#breaches.add(`${nameOf(account)} is v${account.version}, and has ${JSON.stringify(mine)}`)
    }
  }

  // What must hold at rest

  async rest(): Promise<string[]> {
    for (const ahead of Object.values(this.#platform.faults)) ahead.length = 0
    this.#platform.denied.clear()
    for (const process of this.#world.processes) process.losesAnswerOf = null
    await this.expectTrue()
    await person(this.#world, 'select dirsync.resume()')
    // Probes are due then, and older days and orders, and nobody with another setting is left.
    await this.#world.pass(26 * 3600)
    const [process] = this.#world.processes as [Process]
    for (const asked of [false, true]) {
      if (asked)
        for (const { id } of await this.#cases()) await person(this.#world, 'select dirsync.retry($1)', [id])
      for (const of of MIRRORS) await this.#request(of, asked ? 'person' : 'cron')
      // One run each, and those that wait behind it.
      for (let round = 0; round < 4; round++) await this.#cycle(process)
      await this.expectTrue()
    }
    await endLostRetries(this.#world.observer)
    for (const each of await this.#cases())
      this.#breaches.add(`at rest: a case is left: ${JSON.stringify(each)}`)
    for (const run of await this.#allRuns())
      if (!run.isOver) this.#breaches.add(`at rest: a run never ends: ${JSON.stringify(run)}`)
    const tasks = await this.#world.look('select run_id, entity_key from dirsync.mirror_task')
    if (tasks.length > 0) this.#breaches.add(`at rest: tasks are left: ${JSON.stringify(tasks)}`)
    const halts = await this.#world.look('select scope, category from dirsync.halt')
    if (halts.length > 0) this.#breaches.add(`at rest: it is halted: ${JSON.stringify(halts)}`)
    await this.#expectEqual()
    return [...this.#breaches, ...this.#world.errors]
  }

  async #expectEqual(): Promise<void> {
    const stored = new Map((await this.#stored()).map(each => [nameOf(each), each]))
    for (const row of this.#platform.rows) {
      // Nobody asks for an order again that was on no list any more, or was settled when it was asked for last.
      if (row.mirror === 'orders' && (row.isGone || row.age === OLD)) continue
      const why = differs(row, stored.get(nameOf(row)))
      if (why) this.#breaches.add(`at rest: ${nameOf(row)} is ${why}`)
    }
  }
}

/** How what is stored differs from what the platform shows; null: it does not. */
function differs(row: Shown, stored: Stored | undefined): string | null {
  if (row.isGone) return !stored || stored.isGone ? null : 'stored, and gone'
  if (!stored || stored.isGone) return `v${row.version}, and ${stored ? 'stored as gone' : 'not stored'}`
  return stored.version === row.version ? null : `v${row.version}, and stored as v${stored.version}`
}
