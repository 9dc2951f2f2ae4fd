import { execFile } from 'node:child_process'
import { accessSync, appendFileSync, constants } from 'node:fs'
import { copyFile, mkdir, rm, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs, promisify } from 'node:util'
import pg from 'pg'
import { launchFolder } from '../simulation/folder.ts'
import { Company, MAPPINGS } from './company.ts'
import { GRACE_S } from './departments.ts'
import { Dice } from './dice.ts'
import { type Chaos, DISTURBANCES, type Disturbance, StaysDisturbed } from './disturbances.ts'
import { comeToRest, explain, judge, type Rest, type Verdict } from './judge.ts'
import { type Continued, Kills } from './kills.ts'
import { MIRROR_SETTINGS, Mirrored } from './mirrors.ts'
import { Money } from './money.ts'
import { startPlatform } from './platform.ts'
import { LAUNCHER, type Process, startProcess } from './processes.ts'
import { Disk, PostgresServer, startRedis } from './servers.ts'
import { breachesOfStops, repeatedUpdates, type Stop, stopOften, unrecordedCalls } from './stops.ts'

/**
 * Real processes of dirsync under everything that goes wrong: `npm run chaos -- --minutes 15 --seed 1 --backend redis`. The seed
 * chooses what happens and when; how the processes take it, the machine does. In the end dirsync must be as it should be.
 * `npm run chaos -- --stops 200` only stops processes, politely, and then also wants no answered call to be repeated.
 * `npm run chaos -- --only process,postgres,approve` does nothing else, and these all the more. Held runs want somebody who approves.
 * `npm run chaos -- --beside FOLDER` has two of the processes run an older version, from its checkout, on a schema that was its own.
 */

const { values: given } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    /** So many processes are told to stop, instead of everything that goes wrong. */
    stops: { type: 'string', default: '0' },
    seed: { type: 'string', default: '1' },
    backend: { type: 'string', default: 'redis' },
    employees: { type: 'string', default: '300' },
    /** What is disturbed, or what happens, `process,postgres,approve`; default: all. */
    only: { type: 'string' },
    /** A checkout of an older version, with its packages. */
    beside: { type: 'string' },
    json: { type: 'boolean', default: false },
    /** Where Debian's libfaketime is; without it, clocks are right. */
    faketime: { type: 'string', default: '/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1' },
  },
})
const seed = Number(given.seed)
const minutes = Number(given.minutes)
const stopCount = Number(given.stops)
const backend = given.backend as 'redis' | 'postgres'
const folder = join(
  import.meta.dirname,
  `../../.dirsync/${stopCount > 0 ? 'stops' : 'chaos'}-${seed}-${backend}`,
)

const SETTINGS = {
  PLATFORM_RATE_LIMIT: '25',
  WORKER_CONCURRENCY: '4',
  SCHEDULE_SYNC_CHANGES: '*/5 * * * * *',
  SCHEDULE_FULL_RESYNC: '*/30 * * * * *',
  SCHEDULE_DEPARTMENTS: '*/5 * * * * *',
  SCHEDULE_OPENIDS: '*/15 * * * * *',
  DEPARTMENT_GRACE_HOURS: String(GRACE_S / 3600),
  BREAKER_EMPLOYEES: '80',
  LOG_LEVEL: 'info',
  CONSOLE_PORT: '0',
  NOTIFICATION_PORT: '0',
  ...MIRROR_SETTINGS,
}
const NAMES = [
  ['worker-1', 'worker'],
  ['worker-2', 'worker'],
  ['worker-3', 'worker'],
  ['scheduler-1', 'scheduler'],
  ['scheduler-2', 'scheduler'],
] as const
/** Beside them where processes are only stopped. */
const WEB = ['console-1', 'console,notifications'] as const
/** Those whose clocks can be set. */
const WITH_CLOCKS = ['worker-3', 'scheduler-2']
/** Those of the older version, which were there before the upgrade. */
const OLDER = ['worker-1', 'scheduler-1']
const only = given.only?.split(',') ?? []
const isMeant = ({ of, name }: Disturbance, word: string) => word === of || word === name
const WANTED = DISTURBANCES.filter(each => only.length === 0 || only.some(word => isMeant(each, word)))
for (const word of only)
  if (!WANTED.some(each => isMeant(each, word))) throw new Error(`--only: nothing is called ${word}`)
const older = given.beside && join(resolve(given.beside), 'bin/dirsync')

/** Of people and processes, and of all together, so many disturbances at a time. */
const MOST_AT_ONCE = 4

/** After everything has stood still, it goes on for so long at least. */
const PEACE_S = [5, 20] as const

interface Figures {
  command: string
  minutes: number
  disturbances: Record<string, number>
  leftOut: string[]
  faults: Record<string, number>
  calls: number
  /** By operation: how many, and of how many the platform says that it carried them out. */
  operations: Record<string, { calls: number; accepted: number }>
  edits: number
  editsOfMirrored: number
  refunds: number
  runs: number
  endedByThemselves: string[]
  refusedToStart: number
  lost: number
  doubled: number
  wrong: number
  rest: Rest
  killToContinued: Record<
    'all' | 'calm',
    { count: number; p50: number | null; p99: number | null; max: number | null }
  >
  neverContinued: number
  stops?: {
    count: number
    withEmployeesInHand: number
    beforeAtWork: number
    p50: number | null
    p99: number | null
    longest: number | null
    /** Before Node.js had run a line of dirsync. */
    endedByTheSignal: number
    notWithCode0: number
    repeatedUpdates: number
    unrecordedCalls: number
  }
}

function say(line: string): void {
  const stream = given.json ? process.stderr : process.stdout
  stream.write(`${line}\n`)
}

function note(line: string): void {
  appendFileSync(join(folder, 'disturbances.log'), `${new Date().toISOString()} ${line}\n`)
}

/** Everything that runs, in step and at work. */
async function deploy(opened: AsyncDisposableStack, over: AbortSignal, isElseCalm: () => boolean) {
  const runFolder = opened.use(await launchFolder()).path
  const disk = opened.use(await Disk.mount(runFolder))
  const postgres = opened.use(await PostgresServer.start(join(disk.path, 'postgres'), ['dirsync']))
  opened.defer(() => copyFile(postgres.logFile, join(folder, 'postgres.log')).catch(() => {}))
  const hrServer = opened.use(await PostgresServer.start(join(runFolder, 'hr'), ['hr']))
  const redis = backend === 'redis' ? await startRedis(disk.path) : null
  if (redis) opened.defer(() => redis.stop())
  const company = new Company(hrServer.url('hr'), Number(given.employees))
  opened.defer(() => company.close())
  await company.seed()
  const platform = opened.use(await startPlatform({ seed: company.platformSeed(), folder, runFolder }))
  const settings: Record<string, string> = { ...SETTINGS, ...platform.settings }
  for (const [setting, sql] of Object.entries(MAPPINGS)) {
    settings[setting] = join(runFolder, `${setting}.sql`)
    await writeFile(settings[setting], sql)
  }
  const servers = { postgres: postgres.url('dirsync'), hr: hrServer.url('hr'), redis: redis?.url }
  const direct = {
    ...settings,
    DATABASE_URL: servers.postgres,
    HR_DATABASE_URL: servers.hr,
    ...(servers.redis && { REDIS_URL: servers.redis }),
  }
  const migrate = (program: string) =>
    promisify(execFile)(program, ['migrate'], { env: { PATH: process.env.PATH, ...direct } })
  await migrate(older ?? LAUNCHER)
  const db = new pg.Pool({
    connectionString: servers.postgres,
    max: 8,
    connectionTimeoutMillis: 3000,
    query_timeout: 10_000,
  })
  db.on('error', () => {})
  opened.defer(() => db.end())
  const processes: Process[] = []
  const names = stopCount > 0 ? [...NAMES, WEB] : NAMES
  const start = async (name: string, role: Process['role']) => {
    const isOlder = older !== undefined && OLDER.includes(name)
    const clock = WITH_CLOCKS.includes(name) && isThere(given.faketime) ? given.faketime : null
    const options = { name, role, servers, settings, folder, runFolder, clock }
    const started = await startProcess({ ...options, older: isOlder ? older : undefined })
    opened.defer(() => started.end())
    processes.push(started)
  }
  if (older) {
    // They are at work when the schema changes.
    for (const [name, role] of names) if (OLDER.includes(name)) await start(name, role)
    await db.query(`select dirsync.resync('changes')`)
    await atWork(db, processes.length)
    await migrate(LAUNCHER)
  }
  const money = new Money(platform, direct, { folder, runFolder })
  await money.seed()
  const mirrored = new Mirrored(
    platform,
    company.people.map(({ userid }) => userid),
  )
  await mirrored.seed(new Dice(seed))
  for (const [name, role] of names) if (!older || !OLDER.includes(name)) await start(name, role)
  const kills = new Kills(db, () => company.people.map(({ userid }) => userid), isElseCalm)
  opened.defer(() => kills.close())
  return { processes, postgres, hrServer, redis, disk, platform, company, money, mirrored, kills, db, over }
}

function isThere(file: string): boolean {
  try {
    accessSync(file, constants.R_OK)
    return true
  } catch {
    return false
  }
}

async function atWork(db: pg.Pool, processes: number): Promise<void> {
  for (;;) {
    const { rows } = await db.query<{ ready: boolean }>(
      `select (select count(*) from dirsync.process) >= $1
              and exists (select from dirsync.sync_run where state = 'done') as ready`,
      [processes],
    )
    if (rows[0]?.ready) return
    await sleep(200)
  }
}

/** Disturbances one after the other and side by side, as the seed has them, until the time is over. */
async function disturb(chaos: Chaos, active: Set<Disturbance>, counts: Map<string, number>): Promise<void> {
  const possible = WANTED.filter(({ isPossible }) => isPossible?.(chaos) ?? true)
  const bag = possible.flatMap(each => Array.from({ length: each.weight }, () => each))
  const dice = new Dice(seed)
  const running: Promise<void>[] = []
  const failures: unknown[] = []
  let stopsAllAgainAt = 0
  while (!chaos.over.aborted) {
    const [next, own, gap] = [dice.pick(bag), new Dice(dice.between(0, 2 ** 31)), 200 + dice.roll() * 1400]
    const isTaken = [...active].some(
      each =>
        each === next ||
        (each.of === next.of && next.of !== 'process' && next.of !== 'person') ||
        (each.stopsAll && next.stopsAll),
    )
    const isTooSoon = next.stopsAll && performance.now() < stopsAllAgainAt
    if (!isTaken && !isTooSoon && active.size < MOST_AT_ONCE) {
      active.add(next)
      note(`${next.name} begins`)
      running.push(
        next
          .happen(chaos, own)
          .then(
            told => {
              note(`${next.name} is over${typeof told === 'string' ? `: ${told}` : ''}`)
              counts.set(next.name, (counts.get(next.name) ?? 0) + 1)
            },
            error => {
              note(`${next.name} failed: ${(error as Error).message}`)
              // Most meet a server that another one has taken away.
              if (error instanceof StaysDisturbed) failures.push(error)
            },
          )
          .finally(() => {
            active.delete(next)
            if (next.stopsAll) stopsAllAgainAt = performance.now() + own.between(...PEACE_S) * 1000
          }),
      )
    }
    await sleep(gap, undefined, { signal: chaos.over }).catch(() => {})
  }
  await Promise.all(running)
  if (failures.length > 0) throw new AggregateError(failures, 'a disturbance could not be carried out')
}

function quantile(values: readonly number[], share: number): number | null {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)] ?? null
}

function waits(continued: readonly Continued[]) {
  const seconds = continued.map(each => each.seconds)
  return {
    count: seconds.length,
    p50: quantile(seconds, 0.5),
    p99: quantile(seconds, 0.99),
    max: quantile(seconds, 1),
  }
}

async function figuresOf(
  chaos: Chaos,
  counts: Map<string, number>,
  rest: Rest,
  verdict: Verdict,
): Promise<Figures> {
  const { platform, kills, processes, company, money, mirrored, db } = chaos
  const { operations } = await platform.statistics()
  const sum = (count: (each: (typeof operations)[string]) => number) =>
    Object.values(operations).reduce((total, each) => total + count(each), 0)
  const status = (first: string) =>
    sum(({ byHttpStatus }) =>
      Object.entries(byHttpStatus).reduce((total, [code, n]) => total + (code.startsWith(first) ? n : 0), 0),
    )
  const { rows } = await db.query<{ runs: number }>('select count(*)::int as runs from dirsync.sync_run')
  return {
    command: `npm run chaos -- ${stopCount > 0 ? `--stops ${stopCount}` : `--minutes ${minutes}`} --seed ${seed} --backend ${backend}${given.only ? ` --only ${given.only}` : ''}${given.beside ? ` --beside ${given.beside}` : ''}`,
    minutes,
    disturbances: Object.fromEntries([...counts].toSorted(([a], [b]) => a.localeCompare(b))),
    leftOut: WANTED.filter(({ isPossible }) => !(isPossible?.(chaos) ?? true)).map(({ name }) => name),
    faults: {
      'answers lost': sum(({ answersLost }) => answersLost),
      'connections reset': sum(({ reset }) => reset),
      'HTTP 5xx': status('5'),
      'no JSON': platform.calls.filter(({ code, httpStatus }) => code === null && httpStatus === 200).length,
      'rate limited': sum(({ rateLimited }) => rateLimited),
      'given up by dirsync': sum(({ abandoned }) => abandoned),
    },
    calls: platform.calls.length,
    operations: Object.fromEntries(
      Object.entries(operations).map(([name, { calls, byCode }]) => [
        name,
        { calls, accepted: byCode[0] ?? 0 },
      ]),
    ),
    edits: company.edits,
    editsOfMirrored: mirrored.edits,
    refunds: money.count,
    runs: rows[0]?.runs ?? 0,
    endedByThemselves: processes.flatMap(({ deaths }) => deaths),
    refusedToStart: processes.reduce((sum, { refusals }) => sum + refusals(), 0),
    lost: verdict.lost.length,
    doubled: verdict.doubled.length,
    wrong: verdict.wrong.length,
    rest,
    killToContinued: {
      all: waits(kills.continued),
      calm: waits(kills.continued.filter(({ isCalm }) => isCalm)),
    },
    neverContinued: kills.waiting.length,
  }
}

function figuresOfStops(stops: readonly Stop[], calls: { repeated: number; unrecorded: number }) {
  const seconds = stops.map(each => each.seconds)
  return {
    count: stops.length,
    withEmployeesInHand: stops.filter(({ held }) => held > 0).length,
    beforeAtWork: stops.filter(({ wasAtWork }) => !wasAtWork).length,
    p50: quantile(seconds, 0.5),
    p99: quantile(seconds, 0.99),
    longest: quantile(seconds, 1),
    endedByTheSignal: stops.filter(({ signal, wasConnected }) => signal !== null && !wasConnected).length,
    notWithCode0: stops.filter(({ code, wasConnected }) => code !== 0 && wasConnected).length,
    repeatedUpdates: calls.repeated,
    unrecordedCalls: calls.unrecorded,
  }
}

function show(figures: Figures): void {
  const line = (name: string, value: unknown) => say(`  ${name.padEnd(26)} ${value}`)
  const group = (title: string, counts: Record<string, number | string | null>) => {
    say(title)
    for (const [name, count] of Object.entries(counts)) line(name, count)
  }
  say(`\n${figures.command}`)
  group('disturbances', figures.disturbances)
  if (figures.stops) group('stops', figures.stops)
  group('faults of the platform', figures.faults)
  const told = ({ calls, accepted }: Figures['operations'][string]) => `${calls}, accepted ${accepted}`
  group(
    'calls',
    Object.fromEntries(Object.entries(figures.operations).map(([name, each]) => [name, told(each)])),
  )
  say('in all')
  for (const name of [
    'minutes',
    'calls',
    'edits',
    'editsOfMirrored',
    'runs',
    'refunds',
    'lost',
    'doubled',
    'wrong',
  ] as const)
    line(name, figures[name])
  line('ended by themselves', figures.endedByThemselves.join(', ') || 'none')
  line('starts refused', figures.refusedToStart)
  line(
    'at rest after',
    `${figures.rest.seconds.toFixed(1)} s, with ${figures.rest.retriedCases} cases retried by a person`,
  )
  const seconds = (value: number | null) => (value === null ? '-' : `${value.toFixed(1)} s`)
  for (const [name, { count, p50, p99, max }] of Object.entries(figures.killToContinued))
    line(
      `kill to continued, ${name}`,
      `${count} employees, p50 ${seconds(p50)}, p99 ${seconds(p99)}, longest ${seconds(max)}`,
    )
  line('never continued', figures.neverContinued)
  if (figures.leftOut.length > 0) say(`not possible here: ${figures.leftOut.join(', ')}`)
}

/** @returns whether every law held */
async function main(): Promise<boolean> {
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  await using opened = new AsyncDisposableStack()
  const over = new AbortController()
  const active = new Set<Disturbance>()
  const isElseCalm = () => [...active].every(({ stopsAll }) => !stopsAll)
  const chaos: Chaos = await deploy(opened, over.signal, isElseCalm)
  say(`deployed: ${NAMES.length} processes, queue in ${backend}, seed ${seed}`)
  await chaos.db.query(`select dirsync.resync('changes')`)
  await atWork(chaos.db, chaos.processes.length)
  say(
    `in step: ${chaos.company.people.length} employees; ${stopCount > 0 ? `${stopCount} stops` : `chaos for ${minutes} minutes`}`,
  )
  chaos.company.startEditing(new Dice(seed + 1))
  const counts = new Map<string, number>()
  let stops: Stop[] = []
  if (stopCount > 0) {
    stops = await stopOften(chaos, stopCount, new Dice(seed))
    counts.set('SIGTERM', stops.length)
  } else {
    const timer = setTimeout(() => over.abort(), minutes * 60_000)
    await disturb(chaos, active, counts).finally(() => clearTimeout(timer))
  }
  say(`${[...counts.values()].reduce((sum, n) => sum + n, 0)} disturbances are over; HR is set right`)
  const rest = await comeToRest(chaos)
  say(rest.isReached ? `at rest after ${rest.seconds.toFixed(1)} s` : 'it does not come to rest')
  const verdict = await judge(chaos, rest)
  const figures = await figuresOf(chaos, counts, rest, verdict)
  if (stopCount > 0) {
    const [repeated, unrecorded] = [repeatedUpdates(chaos.platform.calls), await unrecordedCalls(chaos)]
    verdict.wrong.push(...breachesOfStops(stops), ...repeated, ...unrecorded)
    figures.wrong = verdict.wrong.length
    figures.stops = figuresOfStops(stops, { repeated: repeated.length, unrecorded: unrecorded.length })
    await writeFile(join(folder, 'stops.json'), JSON.stringify(stops, null, 1))
  }
  await writeFile(join(folder, 'continued.json'), JSON.stringify(chaos.kills.continued, null, 1))
  await writeFile(join(folder, 'figures.json'), `${JSON.stringify(figures, null, 2)}\n`)
  if (given.json) process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`)
  else show(figures)
  const breaches = [...verdict.lost, ...verdict.doubled, ...verdict.wrong]
  if (breaches.length === 0 && rest.isReached) return true
  const file = await explain(chaos, verdict, folder)
  say(`\n${breaches.length} breaches, explained in ${file}:`)
  for (const breach of breaches.slice(0, 20)) say(`  ${breach}`)
  return false
}

process.exitCode = (await main()) ? 0 : 1
