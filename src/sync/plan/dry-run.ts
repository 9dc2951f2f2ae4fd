import { setTimeout as sleep } from 'node:timers/promises'
import { MappingError } from '../../hr/source.ts'
import type { HrSources, NamedSource } from '../../hr/sources.ts'
import { lockTransaction, whileLocked } from '../../lib/advisory-lock.ts'
import { LOOK_MS, onlyRow, type Pool, type PoolClient, transaction } from '../../lib/database.ts'
import { inHand } from '../../lib/in-hand.ts'
import type { Logger } from '../../lib/logger.ts'
import { storable } from '../../lib/storable.ts'
import { rest } from '../../lib/waiting.ts'
import { message, toStore } from '../../texts/message.ts'
import { type Asker, actAs, CommandError, noteCommand } from '../runs/commands.ts'
import type { RunLimits } from '../runs/safety.ts'
import { readInChild } from './dry-run-child.ts'
import { type Mistake, mistakeOf, TRIED } from './dry-run-reading.ts'

/**
 * Dry runs: what another SELECT of employees would change. The SELECT is untrusted, so a separate process reads it with limited
 * memory; however that process ends, the dry run ends. Nothing is ever sent.
 */

export interface DryRunDeps {
  pool: Pool
  hr: HrSources
  limits: RunLimits
  /** Memory of the reading process, in MB. */
  memoryMb: number
  logger: Logger
}

/** The mapping under test. */
export interface TriedMapping {
  sql: string
  /** The source that it would belong to; empty where there is only one. */
  source: string
}

/** Longest time of a dry run in total. */
const TOTAL_MS = 45 * 60_000
/** How often to check whether it is a dry run's turn, and whether it was cancelled. */
const LOOK_EVERY_MS = 500
/** Most unfinished dry runs of one person: each may occupy its turn for a long time. */
const MOST_OF_ONE = 3
/** One whose process has ended this often, for whatever reason, is not started again. */
const MAX_STARTS = 3

// Asking for one

/**
 * Requests a dry run, which a scheduler carries out. Returns its number.
 * @throws MappingError when the text cannot be one SELECT
 * @throws CommandError when too many of the person's are unfinished
 */
export async function requestDryRun(
  { pool, hr }: Pick<DryRunDeps, 'pool' | 'hr'>,
  asker: Asker,
  mapping: TriedMapping,
): Promise<number> {
  sourceOf(hr, mapping.source).hr.selectOf({ file: TRIED, sql: mapping.sql })
  return insertDryRun(pool, asker, mapping, 'requested')
}

/** @throws MappingError when there is no such source */
function sourceOf(hr: HrSources, name: string): NamedSource {
  const source = hr.named(name)
  if (source) return source
  const names = hr.all.map(known => known.name).join(', ')
  throw new MappingError(
    'MAPPING_MISSING',
    TRIED,
    name === '' ? message('said.which_source', { names }) : message('said.no_such_source', { name }),
  )
}

function insertDryRun(
  db: Pool,
  asker: Asker,
  { sql, source }: TriedMapping,
  state: 'requested' | 'running',
): Promise<number> {
  return transaction(db, async client => {
    await actAs(client, asker)
    if (state === 'requested') await demandTurn(client)
    const { rows } = await client.query<{ id: number }>(
      `insert into dirsync.dry_run (mapping, address, state, hr_source, starts, started_at)
       values ($1, $2, $3, $4, case when $3 = 'running' then 1 else 0 end,
               case when $3 = 'running' then now() end)
       returning id::int`,
      [storable(sql), asker.address ?? null, state, source],
    )
    const { id } = onlyRow(rows)
    await noteCommand(client, 'dry_run', { dry_run: id })
    await client.query(`select pg_notify('dirsync', 'dry run')`)
    return id
  })
}

async function demandTurn(client: PoolClient): Promise<void> {
  await lockTransaction(client, 'dryRunRequest')
  const { rowCount } = await client.query(
    `select from dirsync.dry_run where state in ('requested', 'running') and requested_by = dirsync.actor()`,
  )
  if ((rowCount ?? 0) < MOST_OF_ONE) return
  throw new CommandError('COMMAND_INVALID', message('said.too_many_dry_runs', { limit: MOST_OF_ONE }))
}

/**
 * Requests a dry run and carries it out here, once no other one is in progress. Returns its number, and what was wrong.
 * @throws MappingError when the text cannot be one SELECT
 */
export async function dryRunNow(
  deps: DryRunDeps,
  asker: Asker,
  mapping: TriedMapping,
  options: { signal: AbortSignal; begun?: (id: number) => void },
): Promise<{ id: number; mistake: Mistake | null }> {
  sourceOf(deps.hr, mapping.source).hr.selectOf({ file: TRIED, sql: mapping.sql })
  for (;;) {
    const done = await whileLocked(deps.pool, 'dryRun', async () => {
      const id = await insertDryRun(deps.pool, asker, mapping, 'running')
      options.begun?.(id)
      // A person who stops it does not want a scheduler to read HR instead.
      const mistake = await carryOut(deps, { id, mapping }, options.signal, () =>
        fail(deps.pool, id, { message: STOPPED, place: null }),
      )
      return { id, mistake }
    })
    if (done !== null) return done
    await sleep(LOOK_EVERY_MS, undefined, { signal: options.signal })
  }
}

/** Carries out the next requested dry run. False without one, or while another process is at one. */
export async function runNextDryRun(deps: DryRunDeps, signal: AbortSignal): Promise<boolean> {
  const { rowCount } = await deps.pool.query({
    text: `select from dirsync.dry_run where state in ('requested', 'running') limit 1`,
    query_timeout: LOOK_MS,
  })
  if (rowCount === 0) return false
  const done = await whileLocked(deps.pool, 'dryRun', async () => {
    const next = await claimDryRun(deps.pool)
    // Another process takes it up.
    if (next) await carryOut(deps, next, signal, () => giveBack(deps.pool, next.id))
    return next !== null
  })
  return done ?? false
}

interface Claimed {
  id: number
  mapping: TriedMapping
}

/** The lock keeps others out: one that is still `running` has lost its process. */
async function claimDryRun(db: Pool): Promise<Claimed | null> {
  await db.query(
    `update dirsync.dry_run
     set state = 'failed', finished_at = now(), message = $1
     where state in ('requested', 'running') and starts >= ${MAX_STARTS}`,
    [toStore(message('said.dry_run_ended'))],
  )
  const { rows } = await db.query<TriedMapping & { id: number }>(
    `update dirsync.dry_run
     set state = 'running', starts = starts + 1, started_at = now(), rows_read = 0, phase = null
     where id = (select id from dirsync.dry_run where state in ('requested', 'running') order by id limit 1)
     returning id::int, mapping as sql, hr_source as source`,
  )
  return rows[0] ? { id: rows[0].id, mapping: rows[0] } : null
}

// Carrying it out

const TOO_LONG = message('said.dry_run_too_long', { minutes: TOTAL_MS / 60_000 })

const STOPPED = message('said.dry_run_stopped')

async function carryOut(
  deps: DryRunDeps,
  { id, mapping }: Claimed,
  stopping: AbortSignal,
  stopped: () => Promise<void>,
): Promise<Mistake | null> {
  const { pool, logger } = deps
  const log = logger.child({ dryRun: id })
  const timeout = AbortSignal.timeout(TOTAL_MS)
  await using cancelling = new Cancelling(pool, id)
  const mistake = await attempt(
    deps,
    { id, mapping },
    AbortSignal.any([stopping, timeout, cancelling.signal]),
  )
  if (cancelling.signal.aborted) log.info('dry run cancelled')
  else if (stopping.aborted) await stopped()
  else if (timeout.aborted) await fail(pool, id, { message: TOO_LONG, place: null })
  else if (mistake === null) log.info('dry run done')
  else {
    if (mistake.isOurs) log.error({ error: mistake.message }, 'dry run failed')
    await fail(pool, id, mistake)
    return mistake
  }
  return null
}

async function attempt(
  { pool, hr, limits, memoryMb }: DryRunDeps,
  { id, mapping }: Claimed,
  signal: AbortSignal,
): Promise<Mistake | null> {
  try {
    const { name, codes, hr: source } = sourceOf(hr, mapping.source)
    const task = {
      databaseUrl: String(pool.options.connectionString),
      id,
      sql: mapping.sql,
      source: { name, codes },
      hr: await source.settings(),
      limits,
    }
    return await inHand(`dry run ${id}`, () => readInChild(task, memoryMb, signal))
  } catch (error) {
    return mistakeOf(error)
  }
}

/** Watches for the cancellation of a dry run in progress. */
class Cancelling implements AsyncDisposable {
  readonly #cancelled = new AbortController()
  readonly #over = new AbortController()
  readonly #watching: Promise<void>

  constructor(db: Pool, id: number) {
    this.#watching = this.#watch(db, id)
  }

  get signal(): AbortSignal {
    return this.#cancelled.signal
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort()
    await this.#watching
  }

  async #watch(db: Pool, id: number): Promise<void> {
    const query = `select from dirsync.dry_run where id = $1 and state = 'cancelled'`
    while (await isStill(this.#over.signal)) {
      // While dirsync's own database is away, the dry run finds out by itself.
      const { rowCount } = await db.query(query, [id]).catch(() => ({ rowCount: 0 }))
      if (rowCount === 1) return this.#cancelled.abort()
    }
  }
}

async function isStill(over: AbortSignal): Promise<boolean> {
  await rest(LOOK_EVERY_MS, over)
  return !over.aborted
}

// What is written

/** Ends a dry run with what is wrong, and where in the SELECT. */
async function fail(db: Pool, id: number, { message: what, place }: Mistake): Promise<void> {
  await db.query(
    `update dirsync.dry_run
     set state = 'failed', finished_at = now(), message = $2, error_line = $3, error_column = $4
     where id = $1 and state = 'running'`,
    [id, toStore(what), place?.line ?? null, place?.column ?? null],
  )
}

/** Its start counts: a SELECT that ends one process after the other is not restarted for ever. */
async function giveBack(db: Pool, id: number): Promise<void> {
  await db.query(`update dirsync.dry_run set state = 'requested' where id = $1 and state = 'running'`, [id])
}
