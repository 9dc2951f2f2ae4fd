import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import { pino } from 'pino'
import { rowHash } from '../../src/directory/hash.ts'
import type { HrServer } from '../../src/hr/server.ts'
import { HrSource } from '../../src/hr/source.ts'
import { HrSources } from '../../src/hr/sources.ts'
import { createPool } from '../../src/lib/database.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import type { QueuedJob } from '../../src/queue/job.ts'
import { endLostRetries } from '../../src/sync/cases.ts'
import { Feeder } from '../../src/sync/feeder.ts'
import { foldTally } from '../../src/sync/figures.ts'
import { JobProcessor } from '../../src/sync/job-processor.ts'
import { detachHalted } from '../../src/sync/outbox.ts'
import { Planner } from '../../src/sync/planner.ts'
import { requestDueRetries } from '../../src/sync/retries.ts'
import { finishRuns } from '../../src/sync/run.ts'
import { requestReplan, requestScheduledRun } from '../../src/sync/run-requests.ts'
import type { RunLimits } from '../../src/sync/safety.ts'
import { clocks } from './clocks.ts'
import { type Person, SimulatedHr } from './hr.ts'
import { type Held, SimulatedPlatform } from './platform.ts'
import {
  as,
  backendsOf,
  interceptPostgres,
  type Schedule,
  type SimulatedProcess,
  type StandsStill,
} from './schedule.ts'

/** SQLSTATE of a lock that another transaction has. */
const LOCK_NOT_AVAILABLE = '55P03'

const SILENT = pino({ level: 'silent' })

/** Few rows trip a breaker. */
const LIMITS: RunLimits = {
  gate: { maxFewerRows: 60, maxEmptied: 60 },
  breaker: { count: 2, percent: 10 },
  maxLeavers: 50,
  departments: { count: 1, percent: 10 },
  departmentGraceMs: 3_600_000,
  readAllEveryMs: 3_600_000,
}

/** Few, so that much happens to each. */
export const EMPLOYEES = 4

/** After so many, what they have left in the tables slows the next ones down. */
const SEEDS_PER_VACUUM = 50

const EMPLOYEES_SQL = 'select userid, name, mobile, remark, dept_code, active from person'

/** What a process can be told to do once; its loops do all of it again and again. */
export type Activity = 'plan' | 'feed' | 'sweep' | 'work' | 'finish' | 'retry' | 'tidy'

/** A process of dirsync: its connections, and what runs in it. */
export class Process implements SimulatedProcess {
  readonly name: string
  dead = false
  losesAnswerOf: string | null = null
  still: Promise<void> | null = null
  readonly #death = Promise.withResolvers<void>()
  readonly died = this.#death.promise
  readonly pool: pg.Pool
  readonly locks: SessionLocks
  /** What it is doing: of each of these but work one at a time. */
  readonly busy = new Set<Activity>()
  readonly #world: World
  engine: Engine

  constructor(name: string, world: World) {
    this.name = name
    this.#world = world
    this.pool = createPool(world.url, { max: 6, name, logger: SILENT })
    this.pool.on('error', () => {})
    this.locks = new SessionLocks(world.url, SILENT)
    this.engine = engineOf(this, world)
  }

  /** Forgets all that it had in memory. */
  restart(): void {
    this.engine = engineOf(this, this.#world)
  }

  die(): void {
    this.dead = true
    this.#death.resolve()
  }

  async close(): Promise<void> {
    await this.locks.close()
    await this.pool.end()
  }
}

type Engine = ReturnType<typeof engineOf>

function engineOf(process: Process, { hr: people, platform, queue }: World) {
  const { pool, locks } = process
  const hr = HrSources.one(sourceOf(people.as(process)))
  const common = { pool, hr, logger: SILENT, limits: LIMITS }
  return {
    processor: new JobProcessor({ ...common, client: platform.client(process), locks, concurrentCalls: 4 }),
    planner: new Planner({ ...common, source: '', sellerAppids: [], ownEnterprise: '' }),
    feeder: new Feeder({ pool, queue, highWater: 100, logger: SILENT }),
  }
}

/** A queue that keeps nothing for sure: it may be wiped, and hand a job out twice or late. */
class SimulatedQueue {
  readonly jobs: QueuedJob[] = []
  readonly failed: QueuedJob[] = []
  /** The latest that workers were given. */
  given: QueuedJob[] = []
  readonly #inHand = new Map<QueuedJob, Process>()

  take(process: Process): QueuedJob | undefined {
    const job = this.jobs.shift()
    if (job) this.given = [job, ...this.given].slice(0, 3)
    if (job) this.#inHand.set(job, process)
    return job
  }

  done(job: QueuedJob): void {
    this.#inHand.delete(job)
  }

  /** What a process had in hand when it died is handed out again, a while later. */
  forget(process: Process): void {
    for (const [job, holder] of this.#inHand) if (holder === process) this.fail(job)
  }

  fail(job: QueuedJob): void {
    this.#inHand.delete(job)
    this.failed.push(job)
  }

  handOutAgain(): void {
    this.jobs.push(...this.failed.splice(0))
  }

  reset(): void {
    this.jobs.length = 0
    this.failed.length = 0
    this.given = []
    this.#inHand.clear()
  }

  async add(jobs: QueuedJob[]): Promise<void> {
    for (const job of jobs) if (!this.jobs.some(({ id }) => id === job.id)) this.jobs.push(job)
  }

  async counts(): Promise<{ total: number }> {
    return { total: this.jobs.length }
  }
}

/** @param url of an empty migrated database */
export async function openWorld(url: string): Promise<World> {
  interceptPostgres()
  clocks.intercept()
  const world = new World(url)
  await world.prepare()
  return world
}

/** Everything around the engine, and what is known to have happened. */
export class World {
  readonly url: string
  /** Looks at dirsync's database from outside; its statements are never scheduled. */
  readonly observer: pg.Pool
  readonly platform: SimulatedPlatform
  readonly queue = new SimulatedQueue()
  readonly processes: Process[] = []
  /** Rows that HR has had, by hash. */
  readonly #rows = new Map<string, Person>()
  readonly hr: SimulatedHr
  readonly #watcher: HrSource
  #versions = 0
  #started = 0
  #resets = 0
  #schedule: Schedule | undefined
  #tables: string[] = []
  /** Statements that bring back what every table holds after the first sync. */
  readonly #snapshot: string[] = []
  #baseHr: [string, Person][] = []
  #basePlatform: [string, Held][] = []
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
    this.#watcher = sourceOf(this.hr.as(null))
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

  /** Tables, and a first sync of a few employees, to which each simulation returns. */
  async prepare(): Promise<void> {
    const { rows } = await this.observer.query<{ name: string }>(
      `select tablename as name from pg_tables
       where schemaname = 'dirsync' and tablename not in ('migration', 'text') order by 1`,
    )
    this.#tables = rows.map(({ name }) => `dirsync.${name}`)
    await this.observer.query(`
      create schema simulated;
      create table simulated.passed (userid text, hash uuid, primary key (userid, hash));
      create function simulated.pass() returns trigger language plpgsql as $$
      begin
        insert into simulated.passed values (new.userid, new.source_hash) on conflict do nothing;
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
    await this.#hireAll()
    this.platform.reset(this.hr.people)
    this.processes.push(new Process('p1', this), new Process('p2', this))
    this.#started = 2
    await this.observer.query(`select dirsync.resync('changes')`)
    await this.rest(3)
    for (const table of [...this.#tables, 'simulated.passed'])
      this.#snapshot.push(await insertOf(this.observer, table))
    this.#baseHr = copyOf(this.hr.people)
    this.#basePlatform = copyOf(this.platform.employees)
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

  async #hireAll(): Promise<void> {
    for (let i = 0; i < EMPLOYEES; i++)
      await this.writePerson(`e${i}`, { ...this.newPerson(i), active: true })
  }

  newPerson(mobile: number): Person {
    this.#versions += 1
    return {
      name: `n${this.#versions}`,
      mobile: `1380000000${mobile}`,
      remark: `v${this.#versions}`,
      dept_code: 'D0',
      active: true,
    }
  }

  /** HR's row from now on; null: it is gone. */
  async writePerson(userid: string, person: Person | null): Promise<void> {
    if (person === null) {
      this.hr.people.delete(userid)
      return
    }
    this.hr.people.set(userid, person)
    const row = (await this.#watcher.lookup([{ enterpriseCode: '', userid }])).values().next().value
    if (row && row !== 'duplicate') this.#rows.set(`${userid} ${rowHash(Object.keys(row), row)}`, person)
  }

  /** The row of HR that a hash stands for. */
  rowOf(userid: string, hash: string | null): Person | undefined {
    return hash === null ? undefined : this.#rows.get(`${userid} ${hash}`)
  }

  /** Back to the state after the first sync. */
  async reset(): Promise<void> {
    this.queue.reset()
    this.errors.length = 0
    this.#versions = EMPLOYEES
    for (const process of this.processes) process.restart()
    await this.observer.query(
      ['set session_replication_role = replica']
        .concat([...this.#tables, 'simulated.passed'].map(table => `delete from ${table}`))
        .concat(this.#snapshot.filter(Boolean))
        .concat('reset session_replication_role')
        .join(';\n'),
    )
    this.hr.reset(this.#baseHr)
    this.platform.reset(this.#basePlatform)
    this.#resets += 1
    // Nobody else does: autovacuum would take its time from one seed or another.
    if (this.#resets % SEEDS_PER_VACUUM === 0) await this.observer.query(`vacuum ${this.#tables.join(', ')}`)
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
  }

  process(index: number): Process {
    return this.processes[index % this.processes.length] as Process
  }

  /** A process whose call is on its way: much depends on what becomes of that one. Without any, the one with this number. */
  inMidCall(index: number): Process {
    return this.processes.find(process => this.platform.isCalledBy(process)) ?? this.process(index)
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
        await this.#do(process, activity)
      } catch (error) {
        if (!process.dead && !isConnection(error)) this.errors.push(`${activity}: ${(error as Error).stack}`)
      } finally {
        process.busy.delete(activity)
      }
    })
  }

  /** What a process does when it wakes up: it plans and feeds, and meanwhile executes jobs, two at a time. */
  async cycle(process: Process): Promise<void> {
    this.queue.handOutAgain()
    const worker = async () => {
      while (this.queue.jobs.length > 0 && !process.dead) await this.act(process, 'work')
    }
    const planner = async () => {
      await this.act(process, 'plan')
      await this.act(process, 'feed')
      await worker()
    }
    await Promise.all([worker(), planner()])
    await this.act(process, 'finish')
  }

  async #do(process: Process, activity: Activity): Promise<void> {
    const { pool } = process
    switch (activity) {
      case 'plan':
        await process.engine.planner.planNext(new AbortController().signal)
        return
      case 'feed':
        await process.engine.feeder.feed()
        await finishRuns(pool)
        await requestReplan(pool)
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
      case 'work': {
        const job = this.queue.take(process)
        if (!job) return
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

  /** `kill -9`: nothing of it goes on, and the server frees what it held. Another takes its place. */
  async kill(process: Process): Promise<void> {
    process.die()
    this.platform.forget(process)
    this.queue.forget(process)
    this.#started += 1
    this.processes[this.processes.indexOf(process)] = new Process(`p${this.#started}`, this)
    await this.#cut(backendsOf(process))
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
      for (let more = true; more; )
        more = await as(process, () => process.engine.planner.planNext(new AbortController().signal))
      for (const activity of ['retry', 'sweep', 'feed'] as const) await this.act(process, activity)
      while (this.queue.jobs.length > 0) await this.act(process, 'work')
      for (const activity of ['tidy', 'finish'] as const) await this.act(process, activity)
    }
  }

  requestRun(kind: 'changes' | 'full'): Promise<number[]> {
    return requestScheduledRun(this.observer, kind, 'cron', SILENT)
  }

  async close(): Promise<void> {
    for (const process of this.processes) await process.close()
    await this.#watcher.close()
    await this.observer.end()
  }
}

function sourceOf(server: HrServer): HrSource {
  return new HrSource({
    server,
    employeesSql: { file: 'employees.sql', sql: EMPLOYEES_SQL },
    departmentsSql: null,
    logger: SILENT,
  })
}

/** The statement that puts the rows of a table back; empty where it has none. */
async function insertOf(db: pg.Pool, table: string): Promise<string> {
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
    /Connection terminated|terminating connection|connection error and is not queryable/.test(message ?? '')
  )
}
