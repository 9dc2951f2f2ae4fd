import { randomInt } from 'node:crypto'
import { addAbortListener } from 'node:events'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { soundFields, WRITE_ONLY_FIELDS } from '../directory/desired.ts'
import {
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeKey,
  keyText,
  qualified,
} from '../directory/employee.ts'
import { parseActive } from '../directory/field-rules.ts'
import { hideValue, maskKey, maskValue } from '../directory/masking.ts'
import { HrDataError } from '../hr/errors.ts'
import { ScanRows } from '../hr/scan.ts'
import type { HrDelivery, HrKind, TableReadWhole } from '../hr/server.ts'
import type { HrSnapshot } from '../hr/snapshot.ts'
import {
  type EmployeeMapping,
  type HrEmployeeRow,
  type HrScan,
  type HrSource,
  MappingError,
  orMistake,
} from '../hr/source.ts'
import type { MappingFile } from '../hr/statement.ts'
import { type UpdatedTimes, UpdatedTimesCollector } from '../hr/updated-times.ts'
import { message } from '../texts/message.ts'
import {
  type BrokenRule,
  ColumnCollector,
  type ColumnFigures,
  DOUBT_HINTS,
  type Doubt,
  DoubtCollector,
} from './columns.ts'
import { DEPARTMENT_HINTS, DepartmentCollector, type DepartmentFigures } from './departments.ts'
import {
  type Likeness,
  LikenessCollector,
  SharedHashes,
  UNIQUE_COLUMNS,
  type UniqueColumn,
} from './likeness.ts'

/**
 * Reads all of HR once, in one snapshot, and reports its contents: per column, per department, and between employees. Memory
 * hardly grows with the number of rows. Values leave HR only masked, and nothing is written anywhere.
 */

/** The contents of HR, as a mapping reads it. */
export interface HrCheck {
  source: { kind: HrKind; product: string; mapping: string; departments: string | null }
  /** For HR in files: what was read, and why the folder's current contents were not; null for a live HR. */
  delivery: HrDelivery | null
  rows: number
  active: number
  /** Rows that say that the employee has left. */
  leavers: number
  /** Rows without a usable key. */
  keyless: number
  /** Rows of enterprises outside the source, and some of their codes. */
  stray: { rows: number; codes: string[] }
  columns: ColumnFigures[]
  broken: BrokenRule[]
  alike: LikenessFound[]
  doubts: Doubt[]
  /** Null where `updated_at` is not mapped. */
  times: UpdatedTimes | null
  /** Null without a mapping of departments; what is wrong with it, which concerns departments alone. */
  departments: DepartmentFigures | MappingError | null
  /** Mapped, and never shown by the platform. */
  writeOnly: EmployeeField[]
  /** Not mapped: never read, compared or sent. */
  unmanaged: EmployeeField[]
  /** Big tables that every look-up of one employee scans in full. */
  readWhole: TableReadWhole[]
  /** Whether no row would end as a dead letter, and HR looks right. */
  isClean: boolean
}

/** Values that should be unique to an employee, with some of the employees who share them. */
export interface LikenessFound {
  column: UniqueColumn
  same: { groups: number; samples: Sample[][] }
  alike: { groups: number; samples: Sample[][] }
}

interface Sample extends EmployeeKey {
  /** Masked; null for a user id, which is shown anyway, and where HR has the employee more than once. */
  value: string | null
}

/** The platform takes each of these together with the other, so that it is managed too. */
const GOES_WITH: Partial<Record<EmployeeField, EmployeeField>> = {
  mobile: 'mobile_area',
  card_no: 'card_type',
}

/** Most codes of foreign enterprises that are shown. */
const CODES = 5

/** Longest time for one statement of HR's server. */
const STATEMENT_MS = 60 * 60_000

interface CheckOptions {
  /** Enterprises of the source; null: any that it delivers. */
  codes: readonly string[] | null
  /** Whether too many of all rows have left. */
  leaversAbound: (left: number, total: number) => boolean
  signal: AbortSignal
  /** Called with the number of rows read so far. */
  read: (rows: number) => void
}

/**
 * Checks HR through freshly read mappings.
 * @throws MappingError, HrUnavailableError, HrDataError
 */
export async function checkHr(hr: HrSource, options: CheckOptions): Promise<HrCheck> {
  const { signal } = options
  const { product } = await hr.facts()
  const files = await hr.mappingFiles()
  await using snapshot = await hr.snapshot(STATEMENT_MS, 'dirsync hr check')
  // Whatever HR's server is doing: it notices within seconds that the client is gone.
  using _listening = addAbortListener(signal, () => void snapshot[Symbol.asyncDispose]())
  const mapping = await snapshot.inspect(files.employees)
  const departments = files.departments && (await orMistake(snapshot.departments(files.departments, mapping)))
  const delivery = (await hr.delivery()) ?? null
  const readWhole = await hr.lookupReadsWhole()
  const collected = await readThrough(snapshot, mapping, departments, hr.kind, options).catch(async error => {
    throw await blamed(error, hr, files.employees, signal)
  })
  const found = { delivery, ...collected }
  return {
    source: {
      kind: hr.kind,
      product,
      mapping: files.employees.file,
      departments: files.departments?.file ?? null,
    },
    ...found,
    writeOnly: mapping.fields.filter(field => WRITE_ONLY_FIELDS.has(field)),
    unmanaged: EMPLOYEE_FIELDS.filter(
      field => !mapping.fields.some(mapped => GOES_WITH[mapped] === field || mapped === field),
    ),
    readWhole,
    isClean: isClean(found),
  }
}

/** Reads all rows, and those that share values once more. */
async function readThrough(
  snapshot: HrSnapshot,
  mapping: EmployeeMapping,
  departments: Awaited<ReturnType<HrSnapshot['departments']>> | MappingError | null,
  kind: HrKind,
  { codes, leaversAbound, signal, read }: CheckOptions,
) {
  const scan = await snapshot.scan(mapping, signal)
  // Different in each process, so that the hashes of one are useless in another.
  const seed = randomInt(2 ** 32)
  const columns = new ColumnCollector(mapping, scan.columns, seed)
  const unique = UNIQUE_COLUMNS.filter(column => mapping.columns.has(column))
  const shared = new SharedHashes(unique, seed)
  const doubts = new DoubtCollector(scan.columns, kind)
  const times = mapping.columns.has('updated_at') ? new UpdatedTimesCollector(new Date()) : null
  const departmentCollector =
    departments === null || departments instanceof MappingError
      ? null
      : new DepartmentCollector(departments, mapping, seed)
  const counts = { rows: 0, active: 0, leavers: 0, keyless: 0 }
  const stray = { rows: 0, codes: new Set<string>() }
  const collect = (row: HrEmployeeRow) => {
    // An unclear one counts as active, and as a broken rule.
    const isActive = parseActive(row.active) !== false
    counts.rows += 1
    counts[isActive ? 'active' : 'leavers'] += 1
    if (!row.userid) counts.keyless += 1
    else if (codes?.includes(row.enterprise_code ?? '') === false) {
      stray.rows += 1
      if (stray.codes.size < CODES) stray.codes.add(row.enterprise_code ?? '')
    }
    columns.add(row, isActive)
    doubts.add(row, isActive)
    times?.add(row.updated_at)
    if (row.userid) shared.add(row, isActive)
    departmentCollector?.add(row, isActive)
  }
  const readAll = async (pass: HrScan, take: (row: HrEmployeeRow) => void) => {
    try {
      await pipeline(
        pass.stream,
        rowsInto(pass.columns, take, () => read(counts.rows)),
        { signal },
      )
    } finally {
      await pass.close()
    }
  }
  await readAll(scan, collect)
  using likeness = new LikenessCollector(unique, seed)
  // Usually few rows share a value, and reading twice costs far less than storing every value.
  if (shared.seal())
    await readAll(await snapshot.scan(mapping, signal), row => {
      const isActive = parseActive(row.active) !== false
      if (row.userid && shared.has(row, isActive)) likeness.add(row, isActive)
    })
  return {
    ...counts,
    stray: { rows: stray.rows, codes: [...stray.codes] },
    broken: columns.broken,
    alike: await withValues(snapshot, mapping, likeness.result()),
    doubts: doubts.result(leaversAbound),
    times: times?.result ?? null,
    departments: departments instanceof MappingError ? departments : (departmentCollector?.result ?? null),
    columns: columns.columns,
  }
}

/** The value that made a scan fail, if a value did. */
async function blamed(
  error: unknown,
  hr: HrSource,
  file: MappingFile,
  signal: AbortSignal,
): Promise<unknown> {
  if (!(error instanceof HrDataError)) return error
  await using snapshot = await hr.snapshot(STATEMENT_MS, 'dirsync hr check')
  using _listening = addAbortListener(signal, () => void snapshot[Symbol.asyncDispose]())
  const culprit = await snapshot.culprit(await snapshot.inspect(file))
  if (culprit === null) return error
  const { column, key } = culprit
  const employee = key && qualified(key.enterpriseCode, maskKey(key.userid))
  const { reason, place } = error
  return new HrDataError(
    error.file,
    employee
      ? message('said.culprit_of', { reason, column, userid: employee })
      : message('said.culprit', { reason, column }),
    place,
  )
}

/** The sink of a scan: takes each row, and yields to other work after each batch. */
function rowsInto(
  columns: readonly string[],
  take: (row: HrEmployeeRow) => void,
  taken: () => void,
): Writable {
  const rows = new ScanRows(columns)
  return new Writable({
    write(chunk: Buffer, _encoding, done) {
      try {
        for (const row of rows.push(chunk)) take(row)
      } catch (error) {
        return done(error as Error)
      }
      taken()
      // Thousands of rows arrive in one turn of the event loop; a signal gets its turn in between.
      setImmediate(done)
    },
  })
}

function isClean({
  delivery,
  rows,
  keyless,
  stray,
  broken,
  alike,
  doubts,
  times,
  departments,
}: Pick<
  HrCheck,
  'delivery' | 'rows' | 'keyless' | 'stray' | 'broken' | 'alike' | 'doubts' | 'times' | 'departments'
>): boolean {
  const hasDepartmentTrouble =
    departments instanceof MappingError ||
    (departments?.findings.some(({ kind }) => !DEPARTMENT_HINTS.has(kind)) ?? false)
  const isDoubtful = doubts.some(({ kind }) => !DOUBT_HINTS.has(kind)) || (times?.inFuture ?? 0) > 0
  if (isDoubtful || (delivery && delivery.problem !== null)) return false
  return rows > 0 && keyless + stray.rows === 0 && broken.length + alike.length === 0 && !hasDepartmentTrouble
}

/** Reads the few values that are shown again, in the same snapshot of HR: none had to be kept. */
async function withValues(
  snapshot: HrSnapshot,
  mapping: EmployeeMapping,
  found: Likeness[],
): Promise<LikenessFound[]> {
  const shown = found.filter(({ column }) => column !== 'userid')
  const keys = shown.flatMap(({ same, alike }) => [...same.samples, ...alike.samples].flat())
  const rows = await snapshot.lookup(mapping, [...new Map(keys.map(key => [keyText(key), key])).values()])
  return found.map(({ column, same, alike }) => {
    const sampled = ({ groups, samples }: Likeness['same']) => ({
      groups,
      samples: samples.map(group =>
        group.map(key => ({ ...key, value: maskedValue(column, rows.get(keyText(key))) })),
      ),
    })
    return { column, same: sampled(same), alike: sampled(alike) }
  })
}

function maskedValue(column: UniqueColumn, row: HrEmployeeRow | 'duplicate' | undefined): string | null {
  if (column === 'userid' || row === undefined || row === 'duplicate') return null
  // As HR writes it, which may be all that tells two values apart. One that breaks a rule may be anything.
  const value = row[column] ?? null
  return column in soundFields(row, [column]) ? maskValue(column, value) : hideValue(value)
}
