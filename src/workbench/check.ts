import { randomInt } from 'node:crypto'
import { addAbortListener } from 'node:events'
import { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { toDesired, WRITE_ONLY_FIELDS } from '../directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeField, type EmployeeKey, keyText } from '../directory/employee.ts'
import { parseActive } from '../directory/field-rules.ts'
import { hideValue, maskValue } from '../directory/masking.ts'
import { ScanRows } from '../hr/lines.ts'
import type { HrKind } from '../hr/server.ts'
import type { HrSnapshot } from '../hr/snapshot.ts'
import type { EmployeeMapping, HrEmployeeRow, HrSource } from '../hr/source.ts'
import { type BrokenRule, ColumnCollector, type ColumnFigures } from './columns.ts'
import { DEPARTMENT_HINTS, DepartmentCollector, type DepartmentFigures } from './departments.ts'
import { type Likeness, LikenessCollector, UNIQUE_COLUMNS, type UniqueColumn } from './likeness.ts'

/**
 * Reads all of HR once, as it is at one moment, and tells what is in it: per column, per department, and between employees.
 * Memory hardly grows with the number of rows. No value leaves HR but masked, and nothing is written anywhere.
 */

/** What HR holds, as a mapping reads it. */
export interface HrCheck {
  source: { kind: HrKind; product: string; mapping: string; departments: string | null }
  rows: number
  active: number
  /** Rows that say that the employee has left. */
  leavers: number
  /** Rows that are nobody's. */
  keyless: number
  /** Rows of enterprises that are not those of the source, and codes of some. */
  stray: { rows: number; codes: string[] }
  columns: ColumnFigures[]
  broken: BrokenRule[]
  alike: LikenessFound[]
  /** Null without a mapping of departments. */
  departments: DepartmentFigures | null
  /** Mapped, and never shown by the platform. */
  writeOnly: EmployeeField[]
  /** Not mapped: never read, compared or sent. */
  unmanaged: EmployeeField[]
  /** Whether nothing would end as a dead letter, and HR looks right. */
  isClean: boolean
}

/** Values that should be one employee's own, with some of the employees who share them. */
export interface LikenessFound {
  column: UniqueColumn
  same: { groups: number; samples: Sample[][] }
  alike: { groups: number; samples: Sample[][] }
}

interface Sample extends EmployeeKey {
  /** Masked; null of a user id, which stands beside it, and where HR has the employee more than once. */
  value: string | null
}

/** The platform takes each of these together with the other, so that it is managed too. */
const GOES_WITH: Partial<Record<EmployeeField, EmployeeField>> = {
  mobile: 'mobile_area',
  card_no: 'card_type',
}

/** Codes that are shown of enterprises that are not those of the source. */
const CODES = 5

/** Longest time for one statement of HR's server. */
const STATEMENT_MS = 60 * 60_000

/**
 * Checks HR as its mappings, read anew, see it.
 * @param options.codes enterprises of the source; null: whatever it delivers
 * @param options.read is told how many rows have been read
 * @throws MappingError, HrUnavailableError, HrDataError
 */
export async function checkHr(
  hr: HrSource,
  {
    codes,
    signal,
    read,
  }: { codes: readonly string[] | null; signal: AbortSignal; read: (rows: number) => void },
): Promise<HrCheck> {
  const { product } = await hr.facts()
  const files = await hr.texts()
  await using snapshot = await hr.snapshot(STATEMENT_MS, 'dirsync hr check')
  // Whatever HR's server is busy with: it notices within seconds that nobody waits any more.
  using _listening = addAbortListener(signal, () => void snapshot[Symbol.asyncDispose]())
  const mapping = await snapshot.inspect(files.employees)
  const departments = files.departments && (await snapshot.departments(files.departments))
  const scan = await snapshot.scan(mapping, signal)

  // Another one in each process, so that the hashes of one tell nothing in another.
  const seed = randomInt(2 ** 32)
  const columns = new ColumnCollector(mapping, scan.columns, seed)
  using likeness = new LikenessCollector(
    UNIQUE_COLUMNS.filter(column => mapping.columns.has(column)),
    seed,
  )
  const departmentCollector = departments && new DepartmentCollector(departments, seed)
  const counts = { rows: 0, active: 0, leavers: 0, keyless: 0 }
  const stray = { rows: 0, codes: new Set<string>() }
  const rows = new ScanRows(scan.columns)
  const collect = (row: HrEmployeeRow) => {
    // A doubtful one counts as active, and as a broken rule.
    const isActive = parseActive(row.active) !== false
    counts.rows += 1
    counts[isActive ? 'active' : 'leavers'] += 1
    if (!row.userid) counts.keyless += 1
    else if (codes?.includes(row.enterprise_code ?? '') === false) {
      stray.rows += 1
      if (stray.codes.size < CODES) stray.codes.add(row.enterprise_code ?? '')
    }
    columns.add(row, isActive)
    if (row.userid) likeness.add(row, isActive)
    departmentCollector?.add(row, isActive)
  }
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      try {
        for (const row of rows.push(chunk)) collect(row)
      } catch (error) {
        return done(error as Error)
      }
      read(counts.rows)
      // Rows come by the thousand in one turn of the event loop; a signal has its turn in between.
      setImmediate(done)
    },
  })
  try {
    await pipeline(scan.stream, sink, { signal })
  } finally {
    await scan.close()
  }
  const found = {
    ...counts,
    stray: { rows: stray.rows, codes: [...stray.codes] },
    broken: columns.broken,
    alike: await withValues(snapshot, mapping, likeness.result()),
    departments: departmentCollector?.result ?? null,
  }
  return {
    source: {
      kind: hr.kind,
      product,
      mapping: files.employees.file,
      departments: files.departments?.file ?? null,
    },
    ...found,
    columns: columns.columns,
    writeOnly: mapping.fields.filter(field => WRITE_ONLY_FIELDS.has(field)),
    unmanaged: EMPLOYEE_FIELDS.filter(
      field => !mapping.fields.some(mapped => GOES_WITH[mapped] === field || mapped === field),
    ),
    isClean: isClean(found),
  }
}

function isClean({
  rows,
  keyless,
  stray,
  broken,
  alike,
  departments,
}: Pick<HrCheck, 'rows' | 'keyless' | 'stray' | 'broken' | 'alike' | 'departments'>): boolean {
  const hasDepartmentTrouble = departments?.findings.some(({ kind }) => !DEPARTMENT_HINTS.has(kind)) ?? false
  return rows > 0 && keyless + stray.rows === 0 && broken.length + alike.length === 0 && !hasDepartmentTrouble
}

/** The few values that are shown are read again, at the same moment of HR: none had to be kept. */
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
  // What breaks a rule may be anything.
  const isSound = toDesired(row, [column]).ok
  return isSound ? maskValue(column, row[column] ?? null) : hideValue(row[column] ?? null)
}
