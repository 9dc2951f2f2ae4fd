import { setTimeout as sleep } from 'node:timers/promises'
import type pg from 'pg'
import type { Link } from '../helpers/link.ts'
import { accountOf, type Company } from './company.ts'
import { downFrom, upFrom } from './departments.ts'
import type { Dice } from './dice.ts'
import type { Kills } from './kills.ts'
import type { Mirrored } from './mirrors.ts'
import type { Money } from './money.ts'
import { type Fault, LIMIT, type Platform } from './platform.ts'
import type { Process } from './processes.ts'
import type { Disk, PostgresServer, PostgresStop, RedisUnderChaos } from './servers.ts'

/** Everything that chaos does to a deployment: what can go wrong, and what people do meanwhile. */

export interface Chaos {
  processes: readonly Process[]
  postgres: PostgresServer
  hrServer: PostgresServer
  redis: RedisUnderChaos | null
  disk: Disk
  platform: Platform
  company: Company
  money: Money
  mirrored: Mirrored
  kills: Kills
  /** dirsync's database, past all links. */
  db: pg.Pool
  /** Aborts when disturbances are to stop. */
  over: AbortSignal
}

export interface Disturbance {
  /** What is disturbed. Of each, one disturbance at a time; of processes and people several. */
  of:
    | 'process'
    | 'postgres'
    | 'redis'
    | 'network'
    | 'disk'
    | 'clock'
    | 'hr'
    | 'department'
    | 'platform'
    | 'person'
  name: string
  /** How often it comes, against others. */
  weight: number
  /** Nothing goes on meanwhile, in no process. Between two of these, dirsync has time to work. */
  stopsAll?: true
  /** Whether it is possible here; default: always. */
  isPossible?: (chaos: Chaos) => boolean
  /** Does it, waits as long as it lasts, and undoes it. @returns a text: what there is to say about it */
  happen(chaos: Chaos, dice: Dice): Promise<unknown>
}

/** Otherwise what someone else edits meanwhile would be lost. */
const WHOLE_TABLE = 'lock table person in share row exclusive mode'

export const DISTURBANCES: readonly Disturbance[] = [
  {
    of: 'process',
    name: 'kill -9',
    weight: 90,
    async happen({ processes, kills }, dice) {
      const present = processes.filter(({ isOlder }) => !isOlder)
      const workers = present.filter(({ role }) => role === 'worker')
      const process = dice.pick([...present, ...workers, ...workers])
      const held = await kills.kill(process)
      return `${process.name}, ${held === null ? 'unseen' : `${held} in hand`}`
    },
  },
  {
    of: 'process',
    name: 'stopped',
    weight: 7,
    async happen(chaos, dice) {
      const process = dice.pick(chaos.processes)
      const seconds = dice.between(5, 60)
      process.stop()
      await lasting(chaos, seconds)
      process.go()
      return `${process.name} for ${seconds} s`
    },
  },
  {
    of: 'clock',
    name: 'clock off',
    weight: 3,
    isPossible: ({ processes }) => processes.some(({ hasOwnClock }) => hasOwnClock),
    async happen(chaos, dice) {
      const process = dice.pick(chaos.processes.filter(({ hasOwnClock }) => hasOwnClock))
      const offset = dice.pick(['+3h', '-5h', '+26h', '-26h', '+400d'])
      await process.setClock(offset)
      await lasting(chaos, dice.between(10, 50))
      await process.setClock('+0')
      return `${process.name} by ${offset}`
    },
  },
  ...(['fast', 'immediate', 'killed'] as const).map(
    (how): Disturbance => ({
      of: 'postgres',
      stopsAll: true,
      name: `PostgreSQL ${how}`,
      weight: 5,
      happen: (chaos, dice) => awayFor(chaos, chaos.postgres, how, dice.between(0, 8)),
    }),
  ),
  {
    of: 'postgres',
    stopsAll: true,
    name: 'PostgreSQL lost a backend',
    weight: 25,
    async happen({ postgres }, dice) {
      await postgres.killBackend(pids => dice.pick(pids))
    },
  },
  {
    of: 'redis',
    name: 'Redis flushed',
    weight: 5,
    isPossible: ({ redis }) => redis !== null,
    happen: async ({ redis }) => redis?.flush(),
  },
  {
    of: 'redis',
    name: 'Redis killed',
    stopsAll: true,
    weight: 7,
    isPossible: ({ redis }) => redis !== null,
    async happen(chaos, dice) {
      const seconds = dice.between(0, 10)
      await chaos.redis?.stop()
      await lasting(chaos, seconds)
      await insist(async () => chaos.redis?.restart())
      return `for ${seconds} s`
    },
  },
  {
    of: 'redis',
    name: 'Redis out of memory',
    stopsAll: true,
    weight: 4,
    isPossible: ({ redis }) => redis !== null,
    async happen(chaos, dice) {
      await chaos.redis?.setFull(true)
      await lasting(chaos, dice.between(5, 30))
      await insist(async () => chaos.redis?.setFull(false))
    },
  },
  {
    of: 'network',
    name: 'silent link',
    weight: 4,
    async happen(chaos, dice) {
      const [name, link] = aLink(chaos, dice)
      const seconds = dice.between(3, 40)
      link.silence()
      await lasting(chaos, seconds)
      link.pass()
      return `${name} for ${seconds} s`
    },
  },
  {
    of: 'network',
    name: 'slow link',
    weight: 2,
    async happen(chaos, dice) {
      const [name, link] = aLink(chaos, dice)
      link.delay(dice.between(50, 1000))
      await lasting(chaos, dice.between(5, 30))
      link.pass()
      return name
    },
  },
  {
    of: 'network',
    name: 'connections cut',
    weight: 5,
    async happen(chaos, dice) {
      const [name, link] = aLink(chaos, dice)
      for (let times = dice.between(1, 4); times > 0; times--) {
        link.cut()
        await lasting(chaos, dice.roll() * 3)
      }
      return name
    },
  },
  {
    of: 'network',
    name: 'platform out of one’s reach',
    weight: 10,
    async happen(chaos, dice) {
      const process = dice.pick(chaos.processes.filter(({ role }) => role === 'worker'))
      const seconds = dice.between(5, 60)
      await process.setReach(false)
      await lasting(chaos, seconds)
      await process.setReach(true)
      return `${process.name} for ${seconds} s`
    },
  },
  {
    of: 'disk',
    stopsAll: true,
    name: 'disk full',
    weight: 4,
    isPossible: ({ disk }) => disk.canBeFull,
    async happen(chaos, dice) {
      const seconds = dice.between(3, 20)
      await chaos.disk.fill()
      await lasting(chaos, seconds)
      await chaos.disk.free()
      // Its server may have given up.
      await insist(() => chaos.postgres.revive())
      return `for ${seconds} s`
    },
  },
  ...whatHappensToHr(),
  ...whatHappensToDepartments(),
  ...whatThePlatformDoes(),
  ...whatPeopleDo(),
]

function whatHappensToHr(): Disturbance[] {
  /** Statements, and those that undo them. */
  const altered = (name: string, [there, back]: [string, string]): Disturbance => ({
    of: 'hr',
    name,
    weight: 1,
    stopsAll: true,
    async happen(chaos, dice) {
      await chaos.company.change(there)
      await lasting(chaos, dice.between(4, 25))
      await insist(() => chaos.company.change(back))
    },
  })
  return [
    altered('HR emptied', [
      `${WHOLE_TABLE}; create table kept as select * from person; delete from person`,
      'insert into person select * from kept; drop table kept',
    ]),
    altered('HR doubled', [
      `${WHOLE_TABLE}; insert into person select * from person`,
      'delete from person p using person q where p.userid = q.userid and p.ctid > q.ctid',
    ]),
    altered('HR renamed', ['alter table person rename to people', 'alter table people rename to person']),
    altered('HR column renamed', [
      'alter table person rename email to e_mail',
      'alter table person rename e_mail to email',
    ]),
    altered('HR column added', [
      "alter table person add column remark text default 'new'",
      'alter table person drop column remark',
    ]),
    altered('HR column retyped', [
      'alter table person alter entry_day type text',
      'alter table person alter entry_day type date using entry_day::date',
    ]),
    {
      of: 'hr',
      name: 'people hired',
      weight: 3,
      async happen(chaos, dice) {
        const { company, platform } = chaos
        const hired = await company.hire(dice.between(3, 15))
        // Until then the platform does not know them.
        await lasting(chaos, dice.between(0, 10))
        await insist(() => platform.control('POST', 'employees', hired.map(accountOf)))
        company.people.push(...hired)
        return `${hired.length}`
      },
    },
    {
      of: 'hr',
      name: 'HR edited in bulk',
      weight: 3,
      happen: ({ company }, dice) => company.editMany(dice, dice.between(10, 90)),
    },
    {
      of: 'hr',
      name: 'HR server away',
      stopsAll: true,
      weight: 2,
      happen: (chaos, dice) =>
        awayFor(chaos, chaos.hrServer, dice.pick(['fast', 'immediate', 'killed']), dice.between(0, 20)),
    },
  ]
}

function whatHappensToDepartments(): Disturbance[] {
  return [
    {
      of: 'department',
      name: 'HR departments emptied',
      weight: 2,
      async happen(chaos, dice) {
        await chaos.company.change(
          'alter table department rename to kept_department; create table department (like kept_department)',
        )
        await lasting(chaos, dice.between(4, 25))
        await insist(() =>
          chaos.company.change('drop table department; alter table kept_department rename to department'),
        )
      },
    },
    {
      of: 'department',
      name: 'department closed',
      weight: 14,
      async happen(chaos, dice) {
        const { company } = chaos
        const noticed = await openByDirsync(chaos)
        const open = company.openDepartments.filter(code => noticed.has(code))
        if (open.length === 0) return 'none is open'
        const lowest = open.filter(each => downFrom(each).length === 1)
        const code = dice.pick(dice.roll() < 0.3 || lowest.length === 0 ? open : lowest)
        const isGone = dice.roll() < 0.3
        const emptied = dice.pick(['first', 'first', 'first', 'later', 'never'])
        if (emptied === 'first') await company.emptyDepartments(downFrom(code), dice)
        await company.closeDepartment(code, isGone)
        if (emptied === 'later') {
          await lasting(chaos, dice.between(0, 15))
          await insist(() => company.emptyDepartments(downFrom(code), dice))
        }
        return `${code}${isGone ? ', gone' : ''}, emptied ${emptied}`
      },
    },
    {
      of: 'department',
      name: 'department opened again',
      weight: 4,
      async happen({ company, platform }, dice) {
        const closed = company.closedDepartments
        if (closed.length === 0) return 'none is closed'
        const code = dice.pick(closed)
        await company.openDepartment(code)
        await insist(() => platform.putBackDepartments(upFrom(code)))
        return code
      },
    },
  ]
}

/** Departments that dirsync knows to be open: one that is closed before anyone has seen it open again counts as deleted. */
async function openByDirsync({ db }: Chaos): Promise<Set<string>> {
  const { rows } = await db.query<{ code: string }>(
    `select dept_code as code from dirsync.department
     where active and first_missing_at is null and deleted_at is null`,
  )
  return new Set(rows.map(({ code }) => code))
}

function whatThePlatformDoes(): Disturbance[] {
  const faulty = (
    name: string,
    weight: number,
    rule: (dice: Dice) => Fault,
    more: Pick<Disturbance, 'stopsAll'> = {},
  ): Disturbance => ({
    of: 'platform',
    name,
    weight,
    ...more,
    async happen(chaos, dice) {
      const seconds = dice.between(4, 30)
      await chaos.platform.plant(name, [rule(dice)])
      await lasting(chaos, seconds)
      await chaos.platform.lift(name)
      return `for ${seconds} s`
    },
  })
  return [
    faulty('answers lost', 4, () => ({ operation: '*', errorRate: 0.4, loseAnswer: true })),
    faulty('connections reset', 2, () => ({ operation: '*', errorRate: 0.5, reset: true })),
    faulty('platform away', 2, () => ({ operation: '*', httpStatus: 503 }), { stopsAll: true }),
    faulty('HTML for answers', 2, dice => ({
      operation: '*',
      errorRate: 0.6,
      httpStatus: dice.pick([200, 502]),
      body: '<html><body>Maintenance</body></html>',
    })),
    faulty('slow platform', 3, dice => ({
      operation: '*',
      latencyMs: dice.between(300, 3000),
      jitterMs: 2000,
    })),
    faulty('silent platform', 1, () => ({ operation: '*', hold: true }), { stopsAll: true }),
    faulty('calls limited', 2, () => ({
      operation: '*',
      rateLimit: { kind: 'sliding-log', limit: LIMIT / 2, windowMs: 1000, scope: 'all' },
    })),
    faulty('secret refused', 1, () => ({ operation: '*', code: 1000210003 }), { stopsAll: true }),
    {
      of: 'platform',
      name: 'tokens expired',
      weight: 2,
      happen: ({ platform }) => platform.control('POST', 'token/expire'),
    },
  ]
}

function whatPeopleDo(): Disturbance[] {
  /** A statement for each of the rows that another one finds, or for one of them. */
  const decides = (name: string, weight: number, which: string, what: string): Disturbance => ({
    of: 'person',
    name,
    weight,
    async happen({ db }, dice) {
      const { rows } = await db.query<{ id: string }>(which)
      if (rows.length === 0) return 'nothing there'
      const { id } = dice.pick(rows)
      await db.query(`select dirsync.${what}`, [id])
      return id
    },
  })
  const held = `select id from dirsync.sync_run where state = 'held' order by id`
  const unfinished = `select id from dirsync.sync_run where state in ('requested', 'planning', 'running') and cancelled_at is null order by id`
  const cases = `select id from dirsync.dead_letter where state <> 'resolved' order by id`
  return [
    decides('approve', 20, held, 'approve($1)'),
    decides('reject', 1, held, `reject($1, 'chaos')`),
    decides('cancel', 3, unfinished, `cancel($1, 'chaos')`),
    decides('retry', 4, cases, 'retry($1)'),
    decides('ignore', 1, cases, `ignore($1, 'chaos')`),
    decides('snooze', 1, cases, `snooze($1, now() + interval '20 seconds', 'chaos')`),
    {
      of: 'person',
      name: 'pause and resume',
      stopsAll: true,
      weight: 2,
      async happen(chaos, dice) {
        await chaos.db.query(`select dirsync.pause('chaos')`)
        await lasting(chaos, dice.between(2, 15))
        await insist(() => chaos.db.query('select dirsync.resume()'))
      },
    },
    {
      of: 'person',
      name: 'resync of all',
      weight: 2,
      happen: ({ db }) => db.query(`select dirsync.resync('full')`),
    },
    {
      of: 'person',
      name: 'resync of one',
      weight: 3,
      async happen({ db, company }, dice) {
        const { userid } = dice.pick(company.people)
        await db.query(`select dirsync.resync('employees', $1)`, [userid])
        return userid
      },
    },
    { of: 'person', name: 'refund', weight: 4, happen: ({ money }, dice) => money.refund(dice) },
    {
      of: 'person',
      name: 'orders, accounts, taxpayers',
      weight: 10,
      happen: ({ mirrored }, dice) => mirrored.change(dice),
    },
  ]
}

/** Waits, but not beyond the end of disturbances. */
async function lasting({ over }: Chaos, seconds: number): Promise<void> {
  await sleep(seconds * 1000, undefined, { signal: over }).catch(() => {})
}

const INSIST_EVERY_MS = 500
const INSIST_FOR_MS = 90_000

/** Something stays disturbed: nothing can be said about what comes after. */
export class StaysDisturbed extends Error {}

/** Undoes something although what it needs is away just now. */
export async function insist(act: () => Promise<unknown>): Promise<void> {
  const until = performance.now() + INSIST_FOR_MS
  for (;;)
    try {
      await act()
      return
    } catch (error) {
      if (performance.now() > until) throw new StaysDisturbed('what was disturbed stays so', { cause: error })
      await sleep(INSIST_EVERY_MS)
    }
}

async function awayFor(
  chaos: Chaos,
  server: PostgresServer,
  how: PostgresStop,
  seconds: number,
): Promise<string> {
  await server.end(how)
  await lasting(chaos, seconds)
  await insist(() => server.revive())
  return `${how}, for ${seconds} s`
}

function aLink({ processes }: Chaos, dice: Dice): [string, Link] {
  const { name, links } = dice.pick(processes)
  const [server, link] = dice.pick(Object.entries(links))
  return [`${name} to ${server}`, link]
}
