import { fork } from 'node:child_process'
import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { migrate } from '../../src/lib/migrate.ts'
import { storeTexts } from '../../src/texts/store.ts'
import { startEmbeddedPostgres } from '../../src/trial/postgres.ts'
import { DEFECTS, SCENARIOS } from './defects.ts'
import { launchFolder } from './folder.ts'
import type { Found } from './worker.ts'

/**
 * Plays simulations by their seeds: `npm run simulate -- --seeds 100000`. A seed that breaks a law is shrunk and shown, and
 * `--seed N` plays it again. `--defect NAME` puts a defect back, `--defects` all of them, one after the other.
 * A seed plays employees, money and mirrors, every fourth one restores, too; `--only` one of them.
 */

const { values: given } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    only: { type: 'string' },
    server: { type: 'string' },
    workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
    defect: { type: 'string' },
    defects: { type: 'boolean', default: false },
    'keep-going': { type: 'boolean', default: false },
  },
})

interface Plan {
  first: number
  count: number
  /** One scenario; all without. */
  only: string | undefined
  /** Name of the one that is put back. */
  defect?: string
  /** Goes on after a seed that breaks a law. */
  keepGoing: boolean
}

interface Outcome {
  played: number
  found: Found[]
  seconds: number
}

/** A PostgreSQL with a database for each worker: one of its own, as fast as one gets, or the one at `--server`. */
async function openServer(given: string | undefined) {
  await using opened = new AsyncDisposableStack()
  const url = given ?? (await ownServer(opened))
  const at = (database: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href
  const admin = new pg.Client(at('postgres'))
  await admin.connect()
  opened.defer(() => admin.end())
  const made: string[] = []
  const create = async (name: string, template: string) => {
    const database = `simulation_${process.pid}_${name}`
    made.push(database)
    await admin.query(`create database ${database} template ${template} strategy file_copy`)
    return database
  }
  opened.defer(async () => {
    for (const database of made) await admin.query(`drop database if exists ${database} with (force)`)
  })
  const migrated = await create('migrated', 'template0')
  const pool = new pg.Pool({ connectionString: at(migrated) })
  await migrate(pool)
  await storeTexts(pool)
  await pool.end()
  const database = async () => at(await create(String(made.length), migrated))
  const all = opened.move()
  return { database, [Symbol.asyncDispose]: () => all.disposeAsync() }
}

async function ownServer(opened: AsyncDisposableStack): Promise<string> {
  const folder = opened.use(await launchFolder())
  const server = await startEmbeddedPostgres({ dataDir: `${folder.path}/postgres` })
  opened.defer(server.stop)
  const admin = new pg.Client(server.url('postgres'))
  await admin.connect()
  for (const setting of ['fsync', 'full_page_writes', 'synchronous_commit', 'autovacuum'])
    await admin.query(`alter system set ${setting} = off`)
  const { rows } = await admin.query<{ hba_file: string }>('show hba_file')
  // A password costs each connection some milliseconds, and plans open many.
  await writeFile(rows[0]?.hba_file ?? '', 'host all all 127.0.0.1/32 trust\n')
  await admin.query('select pg_reload_conf()')
  await admin.end()
  return server.url('postgres')
}

type Server = Awaited<ReturnType<typeof openServer>>

/** Deals seeds out to workers, until all are played or one breaks a law. */
async function playAll(server: Server, { first, count, only, defect, keepGoing }: Plan): Promise<Outcome> {
  const begun = performance.now()
  const found: Found[] = []
  let next = first
  let played = 0
  let isOver = false
  const work = async () => {
    const url = await server.database()
    const child = fork(new URL('worker.ts', import.meta.url), [url, only ?? '', defect ?? ''], {
      execArgv: ['--disable-warning=ExperimentalWarning'],
    })
    const deal = () => {
      if (isOver || next >= first + count) return child.send('end')
      child.send(next)
      next += 1
    }
    child.on('message', (message: Found | 'ready' | number) => {
      if (message !== 'ready') played += 1
      if (typeof message === 'object') {
        found.push(message)
        isOver ||= !keepGoing
        if (defect === undefined) show(message)
      }
      if (played % 100 === 0 && process.stderr.isTTY) process.stderr.write(`\r${played} of ${count}`)
      deal()
    })
    const [code] = await once(child, 'exit')
    if (code !== 0) throw new Error(`a worker ended with ${code}, after ${played} seeds`)
  }
  await Promise.all(Array.from({ length: Number(given.workers) }, work))
  return { played, found, seconds: (performance.now() - begun) / 1000 }
}

function show({ seed, breaches, happenings, order }: Found): void {
  print(`\nseed ${seed}\n  ${breaches.join('\n  ')}\n\nwhat happened:`)
  for (const happening of happenings) print(`  ${JSON.stringify(happening)}`)
  if (given.seed === undefined)
    print(`\nnpm run simulate -- --seed ${seed} shows the order of their statements as well`)
  else print(`\nin this order:\n${order}`)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** @returns whether everything is as it should be: no seed breaks a law, or each defect is found */
async function main(): Promise<boolean> {
  const first = Number(given.seed ?? given.from)
  const count = given.seed === undefined ? Number(given.seeds) : 1
  const { defect, only } = given
  const tried = given.defects ? DEFECTS : DEFECTS.filter(({ name }) => name === defect)
  if (defect !== undefined && tried.length === 0)
    throw new Error(`there is no defect "${defect}"; there are ${DEFECTS.map(({ name }) => name).join(', ')}`)
  if (only !== undefined && !SCENARIOS.some(each => each === only))
    throw new Error(`there is no scenario "${only}"; there are ${SCENARIOS.join(', ')}`)
  await using server = await openServer(given.server)
  if (tried.length === 0) {
    const { played, found, seconds } = await playAll(server, {
      first,
      count,
      only,
      keepGoing: given['keep-going'],
    })
    print(`${played} seeds from ${first} in ${seconds.toFixed(1)} s: ${found.length} broke a law`)
    return found.length === 0
  }
  let missed = 0
  for (const { name, what, of: only = 'employees' } of tried) {
    const { played, found, seconds } = await playAll(server, {
      first,
      count,
      only,
      defect: name,
      keepGoing: false,
    })
    const [by] = found
    // It tells of the defect only if it breaks no law without.
    const isFound =
      by !== undefined &&
      (await playAll(server, { first: by.seed, count: 1, only, keepGoing: false })).found.length === 0
    if (!isFound) missed += 1
    const verdict = isFound ? `seed ${by.seed}` : by ? `${by.seed} EITHER WAY` : 'NOT FOUND'
    print(`${name.padEnd(24)} ${verdict.padEnd(12)} ${played} played, ${seconds.toFixed(0)} s. ${what}`)
    if (by) print(`${' '.repeat(25)}${by.breaches[0]?.slice(0, 160)}`)
    if (by && tried.length === 1) for (const turn of by.happenings) print(`  ${JSON.stringify(turn)}`)
  }
  return missed === 0
}

process.exitCode = (await main()) ? 0 : 1
