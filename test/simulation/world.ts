import { setTimeout } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { qualified } from '../../src/directory/employee.ts'
import { rowHash } from '../../src/directory/hash.ts'
import type { HrSource } from '../../src/hr/source.ts'
import { parseJobKey } from '../../src/queue/job.ts'
import { endLostRetries } from '../../src/sync/cases/cases.ts'
import { requestDueRetries } from '../../src/sync/cases/retries.ts'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import { foldTally } from '../../src/sync/health/figures.ts'
import { detachHalted } from '../../src/sync/outbox/outbox.ts'
import { claimSources } from '../../src/sync/plan/claim-sources.ts'
import { noticeRestore } from '../../src/sync/runs/restored.ts'
import { requestDoubted, requestReplan, requestScheduledRun } from '../../src/sync/runs/run-requests.ts'
import { sourcesFor } from '../../src/sync/runs/sources.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { clocks } from './clocks.ts'
import { type Department, DepartmentWatch, TREE } from './departments.ts'
import { type Person, SimulatedHr } from './hr.ts'
import { type Held, SimulatedPlatform } from './platform.ts'
import { type Activity, knownSources, OLDER, PRESENT, Process, SILENT, sourceOf } from './process.ts'
import { SimulatedQueue } from './queue.ts'
import {
  as,
  backendsOf,
  interceptPostgres,
  type Schedule,
  type SimulatedProcess,
  type StandsStill,
} from './schedule.ts'
import { enterpriseOf, keyOf, nameIn, type Stage, stageOf } from './stage.ts'

/** SQLSTATE of a lock that another transaction has. */
const LOCK_NOT_AVAILABLE = '55P03'

/** How the statement begins that writes outcomes down. */
const SETTLEMENT = 'with s as materialized ( select * from json_to_recordset'

/** After so many, what they have left in the tables slows the next ones down. */
const SEEDS_PER_VACUUM = 50

declare global {
  /** What `src/sync/outbox/job-size.ts` reads in place of its own constant. */
  var fewestJobs: number
}

/** A state to which simulations return. */
interface Base {
  /** Statements that bring back what every table of dirsync holds. */
  tables: string[]
  hr: [string, Person][]
  platform: [string, Held][]
}

/** A backup of dirsync's database: statements that bring it back. */
export interface Backup {
  statements: string[]
  /** The seconds that had passed by then. */
  passed: number
}

/** @param url of an empty migrated database */
export async function openWorld(url: string): Promise<World> {
  const world = new World(url)
  interceptPostgres(seconds => world.pass(seconds))
  clocks.intercept()
  await world.prepare()
  return world
}

/** What a process may meet, whatever it does. */
type Mishap =
  | { what: 'kill' | 'drop-connections' | 'drop-locks'; process: number }
  | { what: 'lose-answer'; process: number; of: string }
  | { what: 'stand-still'; process: number; steps: number }

/** Everything around the engine, and what is known to have happened. */
export class World {
  readonly url: string
  /** Looks at dirsync's database from outside; its statements are never scheduled. */
  readonly observer: pg.Pool
  readonly platform: SimulatedPlatform
  readonly queue = new SimulatedQueue()
  readonly processes: Process[] = []
  /** Rows that HR has had, by hash. */
  readonly #rows = new Map<string, Partial<Person>>()
  readonly hr: SimulatedHr
  readonly departments: DepartmentWatch
  /** One for each mapping. */
  readonly #watchers: readonly HrSource[]
  #versions = 0
  #started = 0
  #resets = 0
  /** How many processes plan and feed. */
  #planning = 0
  #schedule: Schedule | undefined
  #tables: string[] = []
  #empty: Base | undefined
  /** After the first sync of each stage that has been played. */
  readonly #bases = new Map<Stage, Base>()
  stage: Stage = stageOf(1)
  /** What HR_SOURCES says now; a process has what it said at its start. */
  sources: Stage['sources'] = this.stage.sources
  /** Called when all that goes on waits for time to pass. */
  onIdle: () => Promise<void> = async () => {}
  /** dirsync's database is an older one since some moment. */
  isRestored = false
  /** Seconds that have passed since the reset. */
  #passed = 0
  /** What an activity failed with although its process lives, and its connections hold. */
  readonly errors: string[] = []

  constructor(url: string) {
    this.url = url
    this.observer = new pg.Pool({ connectionString: url, max: 2 })
    this.platform = new SimulatedPlatform(async (process, label) => {
      await this.turn(process, label)
      while (this.platform.still) await this.platform.still
    })
    this.hr = new SimulatedHr(this.turn)
    this.#watchers = [PRESENT, OLDER].map(({ employeesSql }) =>
      sourceOf(this.hr.watched(), employeesSql, false),
    )
    this.departments = new DepartmentWatch(
      { tree: TREE, hr: this.hr, platform: this.platform },
      PRESENT.limits.departmentGraceMs,
    )
    this.platform.onEffect = () => this.departments.look()
  }

  /** Resolves when it is a process's turn. */
  readonly turn = async (process: SimulatedProcess, label: string): Promise<void> => {
    await this.#schedule?.step(process, label, async () => {})
  }

  /** Looks into dirsync's database while nothing else goes on. */
  async look<Row extends pg.QueryResultRow>(statement: string, values: unknown[] = []): Promise<Row[]> {
    const look = () => this.observer.query<Row>(statement, values)
    return (await (this.#schedule?.track(null, look) ?? look())).rows
  }

  /** What the model adds to the tables, and processes. */
  async prepare(): Promise<void> {
    const { rows } = await this.observer.query<{ name: string }>(
      `select tablename as name from pg_tables
       where schemaname = 'dirsync' and tablename not in ('migration', 'text') order by 1`,
    )
    this.#tables = rows.map(({ name }) => `dirsync.${name}`)
    await claimDeployment(this.observer, { baseUrl: 'http://platform', appId: 'a', enterpriseCode: '' })
    // Wherever a clock is put, it has had this account.
    await this.observer.query(`update dirsync.deployment set since = '-infinity'`)
    await this.observer.query(`
      create schema simulated;
      create table simulated.passed (name text, hash uuid, primary key (name, hash));
      create function simulated.pass() returns trigger language plpgsql as $$
      begin
        insert into simulated.passed values (${nameIn('new', 'userid')}, new.source_hash) on conflict do nothing;
        return null;
      end $$;
      create trigger passed after insert or update of source_hash on dirsync.employee
      for each row when (new.source_hash is not null) execute function simulated.pass();
      create function simulated.pass_time(passed interval) returns void language plpgsql
      set session_replication_role = replica as $$
      begin
        -- All or none: nothing of dirsync's takes them all, so waiting for some while it has others would be a deadlock.
        lock table ${this.#tables.join(', ')} in exclusive mode nowait;
        ${await this.#shifts()};
      end $$`)
    this.processes.push(new Process('p1', this, 0), new Process('p2', this, 1))
    this.#started = 2
    this.#empty = await this.#present()
  }

  async #present(): Promise<Base> {
    const tables: string[] = []
    for (const table of [...this.#tables, 'simulated.passed'])
      tables.push(await insertOf(this.observer, table))
    return { tables, hr: copyOf(this.hr.people), platform: copyOf(this.platform.employees) }
  }

  /** What `pg_dump` would write now. */
  async backup(): Promise<Backup> {
    const client = await this.observer.connect()
    try {
      await client.query('begin isolation level repeatable read read only')
      const statements: string[] = []
      for (const table of this.#tables) statements.push(await insertOf(client, table))
      const { rows } = await client.query<{ statement: string }>(
        `select format('select setval(%L, %s, %L)', schemaname || '.' || sequencename, coalesce(last_value, start_value),
                       last_value is not null) as statement
         from pg_sequences where schemaname = 'dirsync'`,
      )
      await client.query('commit')
      return {
        statements: [...statements.filter(Boolean), ...rows.map(row => row.statement)],
        passed: this.#passed,
      }
    } finally {
      client.release()
    }
  }

  /**
   * An older state of dirsync's database takes the place of the present one; HR, the platform and the queue have moved on.
   * @param failsOver a replica that lacks what came last has taken over, and processes live on; otherwise all are started anew
   */
  async restore({ statements, passed }: Backup, failsOver: boolean): Promise<void> {
    this.isRestored = true
    for (const process of [...this.processes])
      await (failsOver ? this.dropConnections(process) : this.kill(process))
    for (;;) {
      const client = await this.observer.connect()
      try {
        await client.query(
          [
            'begin',
            `lock table ${this.#tables.join(', ')} in access exclusive mode nowait`,
            'set local session_replication_role = replica',
            ...this.#tables.map(table => `delete from ${table}`),
            ...statements,
            // Of another database.
            `update dirsync.deployment set incarnation = 'before'`,
            `select simulated.pass_time('${this.#passed - passed} seconds')`,
            'commit',
          ].join(';\n'),
        )
        break
      } catch (error) {
        await client.query('rollback')
        if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
      } finally {
        client.release()
      }
      // A statement that was under way goes on for a moment after its connection.
      for (const process of this.processes) await this.dropConnections(process)
    }
    const known = await this.observer.query<{ name: string }>(
      `select ${nameIn('e', 'userid')} as name from dirsync.employee e`,
    )
    // Where the others are can only be known once they have been planned again.
    for (const name of this.platform.employees.keys())
      if (!known.rows.some(row => row.name === name)) this.departments.unplanned.add(name)
  }

  /** Whether the database is an older one, and no process has noticed yet. */
  async isForgetful(): Promise<boolean> {
    if (!this.isRestored) return false
    const { rows } = await this.observer.query<{ so: boolean }>('select dirsync.was_restored() as so')
    return rows[0]?.so ?? false
  }

  /** The first sync of a stage. */
  async #begin(stage: Stage): Promise<Base> {
    await this.#restore(this.#empty as Base)
    for (const [i, name] of stage.employees.entries()) {
      const dept_code = stage.departmentsOf.length > 0 ? `D${i % 3}` : 'D0'
      await this.writePerson(name, { ...this.newPerson(i), dept_code })
    }
    this.platform.reset(this.hr.people)
    await claimSources(this.observer, knownSources(stage.sources))
    for (const kind of kindsOf(stage)) {
      // Who has an open id is up to what happens.
      if (kind === 'openids') continue
      await this.requestRun(kind)
      await this.rest(3)
    }
    return this.#present()
  }

  /** Statements that move every moment of dirsync's tables by `passed` into the past. */
  async #shifts(): Promise<string> {
    const { rows } = await this.observer.query<{ statement: string }>(
      `select format('update dirsync.%I set %s', c.relname,
                string_agg(format('%1$I = case when isfinite(%1$I) then %1$I - passed else %1$I end', a.attname), ', ')) as statement
       from pg_class c join pg_attribute a on a.attrelid = c.oid
       where c.relnamespace = 'dirsync'::regnamespace and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped
         and a.attgenerated = '' and a.atttypid = 'timestamptz'::regtype
         and c.relname not in ('migration', 'text', 'command', 'call_minute', 'tally')
       group by c.relname order by 1`,
    )
    return rows.map(({ statement }) => statement).join(';\n')
  }

  newPerson(mobile: number): Person {
    this.#versions += 1
    return {
      // Whoever comes back by another name is taken for somebody else.
      name: 'n',
      mobile: `1380000000${mobile}`,
      remark: `v${this.#versions}`,
      dept_code: 'D0',
      active: true,
    }
  }

  /** HR's row from now on; null: it is gone. */
  async writePerson(name: string, person: Person | null): Promise<void> {
    if (person === null) this.hr.people.delete(name)
    else this.hr.people.set(name, person)
    this.departments.look()
    if (person === null) return
    const key = { enterpriseCode: enterpriseOf(name), userid: keyOf(name) }
    for (const watcher of this.#watchers) {
      const row = (await watcher.lookup([key])).values().next().value
      if (!row || row === 'duplicate') continue
      const mapped = Object.entries(person).filter(([field]) => field in row)
      this.#rows.set(`${name} ${rowHash(Object.keys(row), row)}`, Object.fromEntries(mapped))
    }
  }

  writeDepartment(name: string, department: Department | null): void {
    if (department === null) this.hr.departments.delete(name)
    else this.hr.departments.set(name, department)
    this.departments.look()
  }

  /** The row of HR that a hash stands for, as far as its mapping has it. */
  rowOf(name: string, hash: string | null): Partial<Person> | undefined {
    return hash === null ? undefined : this.#rows.get(`${name} ${hash}`)
  }

  /** Back to the state after the first sync of a stage. */
  async reset(stage: Stage): Promise<void> {
    this.stage = stage
    globalThis.fewestJobs = stage.jobs ?? stage.employees.length
    this.#versions = 0
    const base = this.#bases.get(stage) ?? (await this.#begin(stage))
    this.#bases.set(stage, base)
    await this.#restore(base)
    this.#versions = stage.employees.length
    this.#resets += 1
    // Nobody else does: autovacuum would take its time from one seed or another.
    if (this.#resets % SEEDS_PER_VACUUM === 0) await this.observer.query(`vacuum ${this.#tables.join(', ')}`)
  }

  async #restore({ tables, hr, platform }: Base): Promise<void> {
    this.queue.reset()
    this.sources = this.stage.sources
    this.#planning = 0
    this.isRestored = false
    this.#passed = 0
    this.errors.length = 0
    for (const process of this.processes) process.restart()
    await this.observer.query(
      ['set session_replication_role = replica']
        .concat([...this.#tables, 'simulated.passed'].map(table => `delete from ${table}`))
        .concat(tables.filter(Boolean))
        .concat('reset session_replication_role')
        .join(';\n'),
    )
    this.hr.reset(hr, this.stage)
    this.platform.reset(platform)
    this.departments.reset()
  }

  /** Those backends of dirsync's database that wait for a lock. */
  readonly waiting = async (backends: number[]): Promise<number[]> => {
    const { rows } = await this.observer.query<{ pid: number }>(
      'select pid from unnest($1::int[]) as b (pid) where cardinality(pg_blocking_pids(pid)) > 0',
      [backends],
    )
    return rows.map(({ pid }) => pid)
  }

  schedule(schedule: Schedule | undefined): void {
    this.#schedule = schedule
    if (schedule) schedule.onIdle = () => this.onIdle()
  }

  process(index: number): Process {
    return this.processes[index % this.processes.length] as Process
  }

  /** Whether a process has an outcome to write down. @param statement how the one begins that does so */
  isSettling(process: Process, statement = SETTLEMENT): boolean {
    return this.#schedule?.isDueOf(process, statement) ?? false
  }

  /**
   * A process that has an outcome to write down or a call on its way: much depends on what becomes of that one. Without any, the
   * one with this number.
   */
  inTheMiddle(index: number): Process {
    const { processes, platform } = this
    return (
      processes.find(process => this.isSettling(process)) ??
      processes.find(process => platform.isCalledBy(process)) ??
      this.process(index)
    )
  }

  /** A process, or the platform: it answers nothing, and whatever is asked of it waits. */
  standStill(who: StandsStill, steps: number): void {
    this.#schedule?.standStill(who, steps)
  }

  /** An activity of a process; nothing where it is at it already. */
  act(process: Process, activity: Activity): Promise<void> {
    if (process.dead || (activity !== 'work' && process.busy.has(activity))) return Promise.resolve()
    process.busy.add(activity)
    return as(process, async () => {
      try {
        // Where settings never change, what a start writes is there already.
        if (this.stage.changesTo || this.isRestored) await process.start()
        await this.#do(process, activity)
      } catch (error) {
        if (!process.dead && !isConnection(error)) this.errors.push(`${activity}: ${(error as Error).stack}`)
      } finally {
        process.busy.delete(activity)
      }
    })
  }

  /**
   * What a process does when it wakes up: it plans and feeds, and meanwhile executes jobs, two at a time. Its workers wait for
   * more while any process plans.
   */
  async cycle(process: Process): Promise<void> {
    this.queue.handOutAgain()
    const worker = async () => {
      for (;;) {
        while (this.queue.jobs.length > 0 && !process.dead) await this.act(process, 'work')
        if (process.dead || this.#planning === 0) return
        await this.queue.more
      }
    }
    const planner = async () => {
      await this.act(process, 'plan')
      await this.act(process, 'feed')
    }
    this.#planning += 1
    const planned = Promise.race([planner(), process.died]).then(() => {
      this.#planning -= 1
      this.queue.wake()
    })
    await Promise.all([planned, worker(), worker()])
    await this.act(process, 'finish')
  }

  async #do(process: Process, activity: Activity): Promise<void> {
    const { pool } = process
    switch (activity) {
      case 'plan':
        await plan(process, this.departments)
        return
      case 'feed':
        await process.engine.feeder.feed()
        await finishRuns(pool)
        for (const source of await sourcesFor(pool, 'changes')) {
          await requestReplan(pool, source)
          if (this.isRestored) await requestDoubted(pool, source)
        }
        return
      case 'finish':
        await finishRuns(pool)
        return
      case 'sweep':
        this.queue.handOutAgain()
        await process.engine.feeder.sweep()
        return
      case 'retry':
        await endLostRetries(pool)
        await requestDueRetries(pool)
        return
      case 'tidy':
        await detachHalted(pool)
        await foldTally(pool)
        return
      case 'notice':
        await noticeRestore(pool, SILENT)
        return
      case 'work': {
        const job = this.queue.take(process)
        if (!job) return
        for (const { enterpriseCode, entityKey } of job.keys.map(parseJobKey)) {
          const name = qualified(enterpriseCode, entityKey)
          this.departments.begins(process.name, name, process.sourceOf(enterpriseCode))
        }
        try {
          await (await process.engine.processor.process(job, new AbortController().signal)).ended
          this.queue.done(job)
        } catch (error) {
          // BullMQ hands a job out again whose worker failed, a while later.
          if (!process.dead) this.queue.fail(job)
          throw error
        }
      }
    }
  }

  async befall(next: Mishap, process = this.process(next.process)): Promise<void> {
    switch (next.what) {
      case 'kill':
        return this.kill(process)
      case 'drop-connections':
        return this.dropConnections(process)
      case 'drop-locks':
        return this.dropLocks(process)
      case 'lose-answer':
        process.losesAnswerOf = next.of
        return
      case 'stand-still':
        this.standStill(process, next.steps)
    }
  }

  /** `kill -9`: nothing of it goes on, and the server frees what it held. Another takes its place. */
  async kill(process: Process): Promise<void> {
    process.die()
    this.platform.forget(process)
    this.queue.forget(process)
    this.#started += 1
    const place = this.processes.indexOf(process)
    this.processes[place] = new Process(`p${this.#started}`, this, place)
    await this.#cut(backendsOf(process))
  }

  /** HR_SOURCES says something else. Processes go on as they are until they are started again. */
  changeSources(sources: Stage['sources']): void {
    this.sources = sources
    this.hr.assign(sources)
  }

  /** Nobody goes on with earlier sources, as a process has told: HR delivers each row from one source alone. */
  async tidyHr({ sources }: Process): Promise<void> {
    const inForce = await this.look(
      'select name, enterprise_codes as codes from dirsync.hr_source order by position',
    )
    const isSo = isDeepStrictEqual(
      inForce,
      sources.filter(({ codes }) => codes !== null),
    )
    if (isSo && sources === this.sources) this.hr.tidy()
  }

  /** The connection that holds a process's locks drops; the process lives on. */
  async dropLocks(process: Process): Promise<void> {
    await this.#cut(backendsOf(process, 'dirsync locks'))
  }

  async dropConnections(process: Process): Promise<void> {
    await this.#cut(backendsOf(process))
  }

  async #cut(backends: number[]): Promise<void> {
    await this.observer.query('select pg_terminate_backend(pid) from unnest($1::int[]) as b (pid)', [
      backends,
    ])
    for (;;) {
      const { rowCount } = await this.observer.query('select from pg_stat_activity where pid = any ($1)', [
        backends,
      ])
      if (rowCount === 0) return
    }
  }

  /** Lets time pass for everything that dirsync has written down, between its transactions. */
  async pass(seconds: number): Promise<void> {
    for (;;)
      try {
        await this.observer.query('select simulated.pass_time($1)', [`${seconds} seconds`])
        this.#passed += seconds
        this.departments.look(seconds)
        this.#schedule?.pass(seconds)
        return
      } catch (error) {
        if ((error as { code?: string }).code !== LOCK_NOT_AVAILABLE) throw error
        await setTimeout(1)
      }
  }

  /** What all processes together do in quiet: plan, feed, work, retry, until nothing is left. */
  async rest(rounds: number): Promise<void> {
    const [process] = this.processes as [Process]
    for (let round = 0; round < rounds; round++) {
      while (await as(process, () => plan(process, this.departments)));
      for (const activity of ['retry', 'sweep', 'feed'] as const) await this.act(process, activity)
      while (this.queue.jobs.length > 0) await this.act(process, 'work')
      for (const activity of ['tidy', 'finish'] as const) await this.act(process, activity)
    }
  }

  /** As a cron job does: of each source. */
  requestRun(kind: RunOfAll | 'full'): Promise<number[]> {
    return requestScheduledRun(this.observer, kind, 'cron', SILENT)
  }

  /** As a trigger in HR does: of the employee's source. */
  async noticeChange(name: string): Promise<void> {
    if (this.stage.sources.length === 1) await this.requestRun('changes')
    else
      await this.observer.query(
        `select dirsync.resync('changes', source =>
           (select name from dirsync.hr_source where $1 = any (enterprise_codes)))`,
        [enterpriseOf(name)],
      )
  }

  async close(): Promise<void> {
    for (const process of this.processes) await process.close()
    for (const watcher of this.#watchers) await watcher.close()
    await this.observer.end()
  }
}

/** One run of each source; one that fails holds up no other. @returns whether there was any */
async function plan({ engine: { planners }, seen }: Process, departments: DepartmentWatch): Promise<boolean> {
  const planned = await Promise.allSettled(
    planners.map(planner => planner.planNext(new AbortController().signal)),
  )
  for (const one of planned) if (one.status === 'rejected') throw one.reason
  departments.plans(seen.splice(0))
  return planned.some(one => one.status === 'fulfilled' && one.value)
}

export type RunOfAll = 'changes' | 'departments' | 'openids'

/** Of the runs that bring a stage in sync, in their order. */
export function kindsOf({ departmentsOf, merchants }: Stage): [RunOfAll, ...RunOfAll[]] {
  return [
    'changes',
    ...(departmentsOf.length > 0 ? (['departments'] as const) : []),
    ...(merchants ? (['openids'] as const) : []),
  ]
}

/** The statement that puts the rows of a table back; empty where it has none. */
async function insertOf(db: pg.Pool | pg.PoolClient, table: string): Promise<string> {
  const { rows } = await db.query<{ names: string; content: string | null }>(
    `select (select string_agg(quote_ident(attname), ', ') from pg_attribute
             where attrelid = '${table}'::regclass and attnum > 0 and not attisdropped and attgenerated = '') as names,
            (select json_agg(t)::text from ${table} t) as content`,
  )
  const { names, content } = rows[0] ?? { names: '', content: null }
  return content === null
    ? ''
    : `insert into ${table} (${names}) overriding system value
       select ${names} from json_populate_recordset(null::${table}, ${pg.escapeLiteral(content)})`
}

function copyOf<Row extends object>(rows: Iterable<[string, Row]>): [string, Row][] {
  return [...rows].map(([key, row]) => [key, { ...row }])
}

/** What a process says whose connection has been cut. */
export function isConnection(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string }
  return (
    code === '57P01' ||
    /Connection terminated|terminating connection|is not queryable|ECONNRESET/.test(message ?? '')
  )
}
