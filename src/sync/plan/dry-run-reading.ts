import { addAbortListener } from 'node:events'
import { toDesired } from '../../directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeField, keyText } from '../../directory/employee.ts'
import { emptyShare } from '../../directory/hash.ts'
import { hideValue, maskOfRow } from '../../directory/masking.ts'
import type { Place } from '../../hr/errors.ts'
import type { EmployeeMapping } from '../../hr/mapping.ts'
import type { HrSnapshot } from '../../hr/snapshot.ts'
import { HrDataError, type HrEmployeeRow, isOfHr, MappingError } from '../../hr/source.ts'
import type { NamedSource } from '../../hr/sources.ts'
import { type Pool, type PoolClient, rolledBack, transaction } from '../../lib/database.ts'
import { storableJson } from '../../lib/storable.ts'
import { message, type Said, saidBy } from '../../texts/message.ts'
import { lastFullReading } from '../runs/earlier-runs.ts'
import type { RunLimits } from '../runs/safety.ts'
import {
  compareSides,
  type DifferenceFigures,
  type DifferingEmployee,
  someDifferences,
  stageSide,
} from './dry-run-tables.ts'
import { type EmployeePlan, planEmployees } from './plan-employees.ts'

/**
 * The reading half of a dry run, in the process of dry-run-child.ts. It reads HR in one snapshot with both mappings, makes the
 * plan that a run would make and rolls it back, and writes only its findings.
 */

/** The result of a dry run. */
export interface DryRunSummary extends DifferenceFigures {
  /** Rows that the SELECT returns, and those of them without a usable user id. */
  rows: number
  keyless: number
  /** Active employees among them. */
  inScope: number
  /** The outcome of a run with this SELECT. */
  verdict: 'running' | 'held' | 'source_suspect'
  verdictMessage: Said | null
  /**
   * Employees that it would plan, by reason. A SELECT with other columns changes every row's hash, so that all of them are
   * checked once; `compared` says what then differs.
   */
  planned: Record<string, number>
  /** Empty values per column, as a share of the rows. */
  empty: Record<string, number>
  addedColumns: string[]
  removedColumns: string[]
  /** Employees stored with their differences, at most 10,000. */
  stored: number
}

/** The name of the tested text in messages. */
export const TRIED = 'SELECT'
/** Longest time for one statement in HR. */
const STATEMENT_MS = 15 * 60_000
/** Most employees stored with their differences. */
const STORED = 10_000
const PAGE = 1000
const PROGRESS_MS = 500

/** What is wrong, and where in the SELECT. */
export interface Mistake {
  message: Said
  place: Place | null
  /** Neither HR nor the SELECT is to blame, as far as is known. */
  isOurs?: true
  isOutOfMemory?: true
  /** The SELECT itself is to blame, not what it reads. */
  isOfMapping?: true
}

/**
 * Carries out a dry run, and stores its findings.
 * @returns what was wrong; null without a mistake
 */
export async function carryOutDryRun(
  deps: { pool: Pool; source: NamedSource; limits: RunLimits },
  { id, sql }: { id: number; sql: string },
  stop: AbortSignal,
): Promise<Mistake | null> {
  const { pool } = deps
  const progress = new Progress(pool, id)
  try {
    const found = await find(deps, sql, progress, AbortSignal.any([stop, progress.tooMany]))
    await progress.end()
    await store(pool, id, found)
    return null
  } catch (error) {
    await progress.end()
    return progress.tooMany.aborted ? progress.tooManyRows() : mistakeOf(error)
  }
}

const mostRows = (employees: number) => Math.max(LEAST_LIMIT, MOST_TIMES * employees)

/** More rows than this many times those of the last reading, or of the mapping in use, and a hundred thousand, indicate a join without its condition. */
const MOST_TIMES = 10
const LEAST_LIMIT = 100_000

interface Found {
  summary: DryRunSummary
  entities: DryRunFinding[]
}

/** An employee for whom the mappings differ; values are masked. */
interface DryRunFinding extends Omit<DifferingEmployee, 'fields'> {
  changed: { field: string; from: string | null; to: string | null }[]
}

async function find(
  { pool, source, limits }: { pool: Pool; source: NamedSource; limits: RunLimits },
  sql: string,
  progress: Progress,
  signal: AbortSignal,
): Promise<Found> {
  const { hr, codes } = source
  const { employees: file } = await hr.mappingFiles()
  await using snapshot = await hr.snapshot(STATEMENT_MS)
  // Whatever HR's server is doing: it notices within seconds that the client is gone.
  using _listening = addAbortListener(signal, () => void snapshot[Symbol.asyncDispose]())
  const now = await snapshot.inspect({ file: TRIED, sql })
  const today = await snapshot.inspect(file)
  // Runs read employees also where departments lack the column. Where they have it, a SELECT that takes it away is wrong.
  if (today.columns.has('dept_code')) snapshot.assertDepartments(now)
  return await rolledBack(pool, async db => {
    const last = await lastFullReading(db, source)
    progress.most = last === null ? Number.POSITIVE_INFINITY : mostRows(last.statistics.rows)
    progress.phase('today')
    await stageSide(db, 'today_row', await snapshot.scan(today, signal, progress.read), codes, signal)
    progress.most = mostRows(progress.rowsOfPhase)
    progress.phase('plan')
    const plan = await planWith(db, source, snapshot, now, limits, progress, signal)
    progress.phase('new')
    await stageSide(db, 'new_row', await snapshot.scan(now, signal, progress.read), codes, signal)
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
      employees: { file, columns: [...mapping.columns.keys()], fields },
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
  const shares = Object.keys(source.empty).map(column => [column, emptyShare(source, column)])
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

/** Reads the values of both sides, in the same snapshot of HR. */
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
  return field => (isField(field) ? maskOfRow(field, row, fields) : hideValue(row[field] ?? null))
}

function isField(name: string): name is EmployeeField {
  return EMPLOYEE_FIELDS.some(field => field === name)
}

const NEWLINE = 0x0a

/** Reports the progress of a dry run periodically. */
class Progress {
  readonly #db: Pool
  readonly #id: number
  readonly #timer: NodeJS.Timeout
  #phase: string | null = null
  #rows = 0
  /** Of the current reading. */
  rowsOfPhase = 0
  readonly #tooMany = new AbortController()
  /** Most rows of one reading. */
  most = Number.POSITIVE_INFINITY
  #told = ''
  #telling: Promise<unknown> = Promise.resolve()

  constructor(db: Pool, id: number) {
    this.#db = db
    this.#id = id
    this.#timer = setInterval(() => this.#tell(), PROGRESS_MS)
  }

  phase(phase: 'today' | 'plan' | 'new' | 'compare'): void {
    this.#phase = phase
    this.rowsOfPhase = 0
    this.#tell()
  }

  /** Aborts as soon as a reading exceeds its limit. */
  get tooMany(): AbortSignal {
    return this.#tooMany.signal
  }

  tooManyRows(): Mistake {
    const reason = message('said.too_many_rows', { limit: this.most.toLocaleString('en') })
    const isOfToday = this.#phase === 'today'
    return { message: isOfToday ? message('said.select_in_use', { reason }) : reason, place: null }
  }

  /** Counts the rows of a chunk. */
  read = (chunk: Buffer): void => {
    for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) {
      this.#rows++
      this.rowsOfPhase++
    }
    if (this.rowsOfPhase > this.most) this.#tooMany.abort()
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
    const { rowCount } = await client.query(
      `update dirsync.dry_run set state = 'done', finished_at = now(), phase = null, summary = $2
       where id = $1 and state = 'running'`,
      [id, summary],
    )
    if (rowCount === 0) return // it was cancelled
    await client.query('delete from dirsync.dry_run_entity where dry_run_id = $1', [id])
    await client.query(
      `insert into dirsync.dry_run_entity (dry_run_id, enterprise_code, entity_key, reason, department, changed)
       select $1, "enterpriseCode", "entityKey", reason, department, changed
       from jsonb_to_recordset($2) as e ("enterpriseCode" text, "entityKey" text, reason text, department text,
                                         changed jsonb)`,
      [id, storableJson(JSON.stringify(entities))],
    )
  })
}

/** A place refers to the SELECT under test; today's file may be the wrong one. */
export function mistakeOf(error: unknown): Mistake {
  if ((error instanceof MappingError || error instanceof HrDataError) && error.file === TRIED)
    return {
      ...{ message: error.reason, place: error.place },
      ...(error instanceof MappingError && { isOfMapping: true }),
    }
  if (error instanceof MappingError)
    return { message: message('said.select_in_use', { reason: error.said }), place: null }
  const mistake = { message: saidBy(error), place: null }
  if (isOfHr(error)) return mistake
  // The words are Node's, or PostgreSQL's.
  const isOutOfMemory = /allocation failed|out of memory/i.test(String(error))
  return { ...mistake, isOurs: true, ...(isOutOfMemory && { isOutOfMemory }) }
}
