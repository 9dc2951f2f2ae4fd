import { addAbortListener } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { toDesired } from '../directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeField, keyText } from '../directory/employee.ts'
import { hideValue, maskValue } from '../directory/masking.ts'
import type { Place } from '../hr/errors.ts'
import { type EmployeeMapping, scanColumns } from '../hr/mapping.ts'
import type { HrSnapshot } from '../hr/snapshot.ts'
import { type HrEmployeeRow, isOfHr, MappingError } from '../hr/source.ts'
import type { HrSources, NamedSource } from '../hr/sources.ts'
import {
  onlyRow,
  type Pool,
  type PoolClient,
  rolledBack,
  storable,
  transaction,
  withConnection,
} from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import {
  compareSides,
  type DifferenceFigures,
  type DifferingEmployee,
  someDifferences,
  stageSide,
} from './dry-run-tables.ts'
import { type EmployeePlan, planEmployees } from './plan-employees.ts'
import type { RunLimits } from './safety.ts'

/**
 * Dry runs: what another SELECT of employees would change. HR is read at one moment with both mappings, the plan that a run
 * would make is made and rolled back, and nothing is written but what was found. Nothing is ever sent.
 */

/** What came of a dry run. */
export interface DryRunSummary extends DifferenceFigures {
  /** Rows that the SELECT returns, and those of them without a usable user id. */
  rows: number
  keyless: number
  /** Active employees among them. */
  inScope: number
  /** What a run with this SELECT would come to. */
  verdict: 'running' | 'held' | 'source_suspect'
  verdictMessage: string | null
  /**
   * Employees that it would plan, by reason. A SELECT with other columns makes every row another one, so that all of them
   * are looked at once; what then differs is what `compared` says.
   */
  planned: Record<string, number>
  /** Empty values per column, as a share of the rows. */
  empty: Record<string, number>
  addedColumns: string[]
  removedColumns: string[]
  /** Employees kept with their differences, at most 10,000. */
  stored: number
}

/** Who asks. */
export interface Asker {
  /** Beside the database user: `cli:` and the shell user, or the console's user. */
  actor: string
  address?: string | null
}

interface DryRunDeps {
  pool: Pool
  hr: HrSources
  limits: RunLimits
  logger: Logger
}

/** What is tried out. */
export interface TriedMapping {
  sql: string
  /** The source whose mapping it would be; empty where there is only one. */
  source: string
}

/** What people call the text in messages. */
const FILE = 'SELECT'
/** Longest time for one statement in HR, and for all of it. */
const STATEMENT_MS = 15 * 60_000
const TOTAL_MS = 45 * 60_000
/** Employees that are kept with their differences. */
const STORED = 10_000
const PAGE = 1000
const PROGRESS_MS = 500
/** One dry run at a time, of all processes: each reads HR three times. */
const LOCK = 0x64727972 // 'dryr'
/** A SELECT that ends its process so often is not tried again. */
const MAX_STARTS = 2

// Asking for one

/**
 * Asks for a dry run, which a scheduler carries out. Returns its number.
 * @throws MappingError when the text cannot be one SELECT
 */
export async function requestDryRun(
  { pool, hr }: Pick<DryRunDeps, 'pool' | 'hr'>,
  asker: Asker,
  mapping: TriedMapping,
): Promise<number> {
  sourceOf(hr, mapping.source).hr.assertSelect({ file: FILE, sql: mapping.sql })
  return insertDryRun(pool, asker, mapping, 'requested')
}

/** @throws MappingError when there is no such source */
function sourceOf(hr: HrSources, name: string): NamedSource {
  const source = hr.named(name)
  if (source) return source
  const names = hr.all.map(known => known.name).join(', ')
  throw new MappingError(
    'MAPPING_MISSING',
    FILE,
    name === '' ? `which HR source is it for? There are ${names}` : `there is no HR source ${name}`,
  )
}

function insertDryRun(
  db: Pool,
  asker: Asker,
  { sql, source }: TriedMapping,
  state: 'requested' | 'running',
): Promise<number> {
  return transaction(db, async client => {
    await client.query(
      `select set_config('dirsync.actor', $1, true), set_config('dirsync.address', $2, true)`,
      [asker.actor, asker.address ?? ''],
    )
    const { rows } = await client.query<{ id: number }>(
      `insert into dirsync.dry_run (mapping, address, state, hr_source, starts, started_at)
       values ($1, $2, $3, $4, case when $3 = 'running' then 1 else 0 end,
               case when $3 = 'running' then now() end)
       returning id::int`,
      [storable(sql), asker.address ?? null, state, source],
    )
    const { id } = onlyRow(rows)
    await client.query(`select dirsync.note_command('dry_run', null, $1)`, [{ dry_run: id }])
    await client.query(`select pg_notify('dirsync', 'dry run')`)
    return id
  })
}

/**
 * Asks for a dry run and carries it out here, once no other one is under way. Returns its number.
 * @throws MappingError when the text cannot be one SELECT
 */
export async function dryRunNow(
  deps: DryRunDeps,
  asker: Asker,
  mapping: TriedMapping,
  options: { signal: AbortSignal; begun?: (id: number) => void },
): Promise<number> {
  sourceOf(deps.hr, mapping.source).hr.assertSelect({ file: FILE, sql: mapping.sql })
  for (;;) {
    const done = await alone(deps.pool, async () => {
      const id = await insertDryRun(deps.pool, asker, mapping, 'running')
      options.begun?.(id)
      // Whoever stops it wants no scheduler to read HR for it instead.
      await carryOut(deps, { id, mapping }, options.signal, () => fail(deps.pool, id, new Error(STOPPED)))
      return id
    })
    if (done !== null) return done
    await sleep(PROGRESS_MS, undefined, { signal: options.signal })
  }
}

/** Carries out the next requested dry run. False when there is none, or another process is at one. */
export async function runNextDryRun(deps: DryRunDeps, signal: AbortSignal): Promise<boolean> {
  const { rowCount } = await deps.pool.query(
    `select from dirsync.dry_run where state in ('requested', 'running') limit 1`,
  )
  if (rowCount === 0) return false
  const done = await alone(deps.pool, async () => {
    const next = await claimDryRun(deps.pool)
    // Another process takes it up.
    if (next) await carryOut(deps, next, signal, () => giveBack(deps.pool, next.id))
    return next !== null
  })
  return done ?? false
}

async function alone<T>(pool: Pool, work: () => Promise<T>): Promise<T | null> {
  return withConnection(pool, async client => {
    const { rows } = await client.query<{ mine: boolean }>('select pg_try_advisory_lock($1) as mine', [LOCK])
    if (!onlyRow(rows).mine) return null
    try {
      return await work()
    } finally {
      // The lock goes with the connection, if that is gone.
      await client.query('select pg_advisory_unlock($1)', [LOCK]).catch(() => undefined)
    }
  })
}

interface Claimed {
  id: number
  mapping: TriedMapping
}

/** Under the lock nobody else is at work: one that is still `running` has lost its process. */
async function claimDryRun(db: Pool): Promise<Claimed | null> {
  await db.query(
    `update dirsync.dry_run
     set state = 'failed', finished_at = now(), message = 'The process that carried it out ended before it was done.'
     where state = 'running' and starts >= ${MAX_STARTS}`,
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

async function carryOut(
  deps: DryRunDeps,
  { id, mapping }: Claimed,
  stopping: AbortSignal,
  stopped: () => Promise<void>,
): Promise<void> {
  const { pool, logger } = deps
  const log = logger.child({ dryRun: id })
  const timeout = AbortSignal.timeout(TOTAL_MS)
  const progress = new Progress(pool, id)
  try {
    progress.most = await mostRows(pool)
    const signal = AbortSignal.any([stopping, timeout, progress.tooMany])
    const found = await find(deps, mapping, progress, signal)
    await progress.end()
    await store(pool, id, found)
    log.info({ compared: found.summary.compared }, 'dry run done')
  } catch (error) {
    await progress.end()
    if (stopping.aborted) return await stopped()
    const isStopped = timeout.aborted || progress.tooMany.aborted
    if (!isOfHr(error) && !isStopped) log.error({ err: String(error) }, 'dry run failed')
    if (progress.tooMany.aborted) await fail(pool, id, new Error(tooManyText(progress.most)))
    else await fail(pool, id, timeout.aborted ? new Error(TOO_LONG) : error)
  }
}

async function mostRows(pool: Pool): Promise<number> {
  const { rows } = await pool.query<{ known: number }>(
    `select coalesce(sum(n), 0)::int as known from dirsync.tally where source = 'employee'`,
  )
  return Math.max(LEAST_LIMIT, MOST_TIMES * onlyRow(rows).known)
}

function tooManyText(most: number): string {
  return `It gives more than ${most.toLocaleString('en')} rows, far more than HR has employees, and was stopped: does a join lack its condition?`
}

/** More rows than this many times today's employees, and a hundred thousand, are a join without its condition. */
const MOST_TIMES = 10
const LEAST_LIMIT = 100_000

const TOO_LONG = `It took more than ${TOTAL_MS / 60_000} minutes, and was stopped.`

const STOPPED = 'It was stopped before it was done.'

interface Found {
  summary: DryRunSummary
  entities: DryRunFinding[]
}

/** One employee for whom the mappings differ; values are masked. */
interface DryRunFinding extends Omit<DifferingEmployee, 'fields'> {
  changed: { field: string; from: string | null; to: string | null }[]
}

async function find(
  deps: DryRunDeps,
  mapping: TriedMapping,
  progress: Progress,
  signal: AbortSignal,
): Promise<Found> {
  const { pool, limits } = deps
  const source = sourceOf(deps.hr, mapping.source)
  const { hr, codes } = source
  const { employees: file } = await hr.texts()
  await using snapshot = await hr.snapshot(STATEMENT_MS)
  // Whatever HR's server is busy with: it notices within seconds that nobody waits any more.
  using _listening = addAbortListener(signal, () => void snapshot[Symbol.asyncDispose]())
  const now = await snapshot.inspect({ file: FILE, sql: mapping.sql })
  const today = await snapshot.inspect(file)
  return await rolledBack(pool, async db => {
    progress.phase('plan')
    const plan = await planWith(db, source, snapshot, now, limits, progress, signal)
    progress.phase('new')
    await stageSide(db, 'new_row', await snapshot.scan(now, signal, progress.read), codes, signal)
    progress.phase('today')
    await stageSide(db, 'today_row', await snapshot.scan(today, signal, progress.read), codes, signal)
    progress.phase('compare')
    const figures = await compareSides(db)
    const entities = await withValues(snapshot, now, today, await someDifferences(db, STORED), signal)
    return { summary: summaryOf(plan, figures, now, today, entities.length), entities }
  })
}

/** The plan that a run would make of the SELECT, gate and breaker included. It reads every row. */
function planWith(
  db: PoolClient,
  source: NamedSource,
  snapshot: HrSnapshot,
  mapping: EmployeeMapping,
  limits: RunLimits,
  progress: Progress,
  signal: AbortSignal,
): Promise<EmployeePlan> {
  const { file, fields, fingerprint } = mapping
  const reader = {
    inspect: async () => ({
      employees: { file, columns: scanColumns(mapping), fields },
      departments: null,
      fingerprint,
    }),
    scan: () => snapshot.scan(mapping, signal, progress.read),
  }
  return planEmployees(db, reader, { kind: 'changes', state: 'held', maxAgeMs: null }, limits, signal, source)
}

function summaryOf(
  plan: EmployeePlan,
  figures: DifferenceFigures,
  now: EmployeeMapping,
  today: EmployeeMapping,
  stored: number,
): DryRunSummary {
  const { source, difference } = plan
  const shares = Object.entries(source.empty).map(([column, n]) => [
    column,
    source.rows === 0 ? 0 : n / source.rows,
  ])
  const missing = (from: EmployeeMapping, than: EmployeeMapping) =>
    [...than.columns.keys()].filter(column => !from.columns.has(column))
  return {
    ...figures,
    rows: source.rows,
    keyless: source.keyless,
    inScope: difference.inScope,
    verdict: plan.state,
    verdictMessage: plan.message ?? null,
    planned: difference.reasons,
    empty: Object.fromEntries(shares),
    addedColumns: missing(today, now),
    removedColumns: missing(now, today),
    stored,
  }
}

/** Reads the values of both sides, at the same moment of HR. */
async function withValues(
  snapshot: HrSnapshot,
  now: EmployeeMapping,
  today: EmployeeMapping,
  employees: DifferingEmployee[],
  signal: AbortSignal,
): Promise<DryRunFinding[]> {
  const findings: DryRunFinding[] = []
  for (let from = 0; from < employees.length; from += PAGE) {
    signal.throwIfAborted()
    const page = employees.slice(from, from + PAGE)
    const keys = page
      .filter(({ fields }) => fields.length > 0)
      .map(({ enterpriseCode, entityKey }) => ({ enterpriseCode, userid: entityKey }))
    const [to, before] = [await snapshot.lookup(now, keys), await snapshot.lookup(today, keys)]
    for (const { fields, ...employee } of page) {
      const key = keyText({ enterpriseCode: employee.enterpriseCode, userid: employee.entityKey })
      const [newValue, oldValue] = [maskedValues(to.get(key)), maskedValues(before.get(key))]
      const changed = [...new Set(fields)].map(field => ({
        field,
        from: oldValue(field),
        to: newValue(field),
      }))
      findings.push({ ...employee, changed })
    }
  }
  return findings
}

/** A row's values by field, masked; those of a row that breaks rules are hidden, since they may be anything. */
function maskedValues(row: HrEmployeeRow | 'duplicate' | undefined): (field: string) => string | null {
  if (row === undefined || row === 'duplicate') return () => null
  const validated = toDesired(row, Object.keys(row))
  if (!validated.ok) return field => hideValue(row[field] ?? null)
  const { fields } = validated.desired
  return field => (isField(field) ? maskValue(field, fields[field] ?? null) : hideValue(row[field] ?? null))
}

function isField(name: string): name is EmployeeField {
  return EMPLOYEE_FIELDS.some(field => field === name)
}

// What is written

const NEWLINE = 0x0a

/** Tells how far a dry run has come, every now and then. */
class Progress {
  readonly #db: Pool
  readonly #id: number
  readonly #timer: NodeJS.Timeout
  #phase: string | null = null
  #rows = 0
  /** Of the reading under way. */
  #rowsOfPhase = 0
  readonly #tooMany = new AbortController()
  /** One reading gives no more rows than this. */
  most = Number.POSITIVE_INFINITY
  #told = ''
  #telling: Promise<unknown> = Promise.resolve()

  constructor(db: Pool, id: number) {
    this.#db = db
    this.#id = id
    this.#timer = setInterval(() => this.#tell(), PROGRESS_MS)
  }

  phase(phase: 'plan' | 'new' | 'today' | 'compare'): void {
    this.#phase = phase
    this.#rowsOfPhase = 0
    this.#tell()
  }

  /** Aborts as soon as a reading gives more rows than it may. */
  get tooMany(): AbortSignal {
    return this.#tooMany.signal
  }

  /** Counts the rows of a chunk. */
  read = (chunk: Buffer): void => {
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) {
      this.#rows++
      this.#rowsOfPhase++
    }
    if (this.#rowsOfPhase > this.most) this.#tooMany.abort()
  }

  async end(): Promise<void> {
    clearInterval(this.#timer)
    this.#tell()
    await this.#telling
  }

  #tell(): void {
    const told = `${this.#phase} ${this.#rows}`
    if (told === this.#told) return
    this.#told = told
    const values = [this.#id, this.#phase, this.#rows]
    this.#telling = this.#telling.then(() =>
      this.#db
        .query('update dirsync.dry_run set phase = $2, rows_read = $3 where id = $1', values)
        .catch(() => undefined),
    ) // the end of the dry run will meet the same trouble
  }
}

async function store(pool: Pool, id: number, { summary, entities }: Found): Promise<void> {
  await transaction(pool, async client => {
    await client.query('delete from dirsync.dry_run_entity where dry_run_id = $1', [id])
    await client.query(
      `insert into dirsync.dry_run_entity (dry_run_id, enterprise_code, entity_key, reason, department, changed)
       select $1, "enterpriseCode", "entityKey", reason, department, changed
       from jsonb_to_recordset($2) as e ("enterpriseCode" text, "entityKey" text, reason text, department text,
                                         changed jsonb)`,
      [id, JSON.stringify(storable(entities))],
    )
    await client.query(
      `update dirsync.dry_run set state = 'done', finished_at = now(), phase = null, summary = $2 where id = $1`,
      [id, summary],
    )
  })
}

/** A place is one in the SELECT that is tried out; today's file may be the one that is wrong. */
function mistakeOf(error: unknown): { message: string; place: Place | null } {
  if (error instanceof MappingError && error.file === FILE)
    return { message: error.reason, place: error.place }
  if (error instanceof MappingError)
    return { message: `the SELECT in use is wrong: ${error.message}`, place: null }
  const words = error instanceof Error ? error.message : String(error)
  const [prefix = '', line, column] = AT_PLACE.exec(words) ?? []
  const place = line === undefined ? null : { line: Number(line), column: Number(column) }
  return { message: words.slice(prefix.length), place }
}

const AT_PLACE = new RegExp(`^${FILE}(?::(\\d+):(\\d+))?: `)

/** The message of a person's mistake says what is wrong; of anything else, that it is dirsync's own. */
async function fail(db: Pool, id: number, error: unknown): Promise<void> {
  const { message, place } = mistakeOf(error)
  await db.query(
    `update dirsync.dry_run
     set state = 'failed', finished_at = now(), message = $2, error_line = $3, error_column = $4
     where id = $1`,
    [id, message, place?.line ?? null, place?.column ?? null],
  )
}

async function giveBack(db: Pool, id: number): Promise<void> {
  await db.query(
    `update dirsync.dry_run set state = 'requested', starts = starts - 1 where id = $1 and state = 'running'`,
    [id],
  )
}
