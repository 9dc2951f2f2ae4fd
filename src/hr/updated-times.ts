import { hash } from 'node:crypto'
import { keyText } from '../directory/employee.ts'
import { CHINA_MS } from '../lib/text.ts'
import { type EmployeeMapping, scanColumns } from './mapping.ts'
import type { HrReader } from './server.ts'

/** Facts about `updated_at`: its newest time against our clock, and rows that it does not cover. */
export interface UpdatedTimes {
  /** Newest time that is not in the future; null without one. */
  newest: Date | null
  inFuture: number
  missing: number
}

/** A finding about the times: the keys of its text and of the remedy. */
export type TimesFinding =
  | { key: 'doctor.newest'; remedy: null; ageMs: number }
  | { key: 'doctor.in_utc'; remedy: 'doctor.correct_times'; ageMs: number }
  | { key: 'doctor.in_future'; remedy: 'doctor.correct_times'; count: number }
  | { key: 'doctor.undated'; remedy: 'doctor.let_hr_date'; count: number }

/** Clocks differ a little. */
const TOLERANCE_MS = 60_000
/** An HR in use was changed within this time. */
const LATELY_MS = 15 * 60_000

/** A time as HR prints it; invalid without one. */
export function updatedAtOf(text: string | null | undefined): Date {
  return new Date(isMoment(text) ? `${text.replace(' ', 'T')}:00` : Number.NaN)
}

/** A time in HR's format; null for an invalid one. */
export function printedMoment(moment: Date): string | null {
  if (Number.isNaN(moment.getTime())) return null
  const inChina = new Date(moment.getTime() + CHINA_MS).toISOString()
  return `${inChina.slice(0, 23).replace('T', ' ')}+08`
}

/** Anything else would be guessed at: "infinity:00" as the year 2000. */
function isMoment(text: string | null | undefined): text is string {
  return text ? text >= '0' && text < ':' : false
}

/** Collects the times of rows, one by one. As HR prints them they sort as texts, which is far faster than parsing them. */
export class UpdatedTimesCollector {
  readonly #latest: string
  #newest = ''
  #inFuture = 0
  #missing = 0

  constructor(now: Date) {
    this.#latest = printedMoment(new Date(now.getTime() + TOLERANCE_MS)) ?? ''
  }

  add(text: string | null | undefined): void {
    if (!isMoment(text)) this.#missing += 1
    else if (text > this.#latest) this.#inFuture += 1
    else if (text > this.#newest) this.#newest = text
  }

  get result(): UpdatedTimes {
    const newest = this.#newest === '' ? null : updatedAtOf(this.#newest)
    return { newest, inFuture: this.#inFuture, missing: this.#missing }
  }
}

/** Findings about the times. UTC read as China's time is 8 hours behind, so the newest is little more than that. */
export function findingsOfTimes({ newest, inFuture, missing }: UpdatedTimes, now: Date): TimesFinding[] {
  const findings: TimesFinding[] = []
  if (newest) {
    const ageMs = Math.max(0, now.getTime() - newest.getTime())
    const isUtc = ageMs >= CHINA_MS - TOLERANCE_MS && ageMs <= CHINA_MS + LATELY_MS
    findings.push(
      isUtc
        ? { key: 'doctor.in_utc', remedy: 'doctor.correct_times', ageMs }
        : { key: 'doctor.newest', remedy: null, ageMs },
    )
  }
  if (inFuture > 0)
    findings.push({ key: 'doctor.in_future', remedy: 'doctor.correct_times', count: inFuture })
  if (missing > 0) findings.push({ key: 'doctor.undated', remedy: 'doctor.let_hr_date', count: missing })
  return findings
}

// Changed rows

/** More rows are not compared one by one. */
export const MOST_CHANGED = 20_000

/** A row of HR that was written recently. */
export interface ChangedRow {
  userid: string
  /** Enterprise and user id. */
  key: string
  /** Changes with every column of the row: clocks are too coarse to tell two changes within a second apart. */
  hash: string
  /** Invalid without a time. */
  updatedAt: Date
}

/**
 * The rows whose `updated_at` is at or after a time, and with `datedOnly` false those without one; more than `MOST_CHANGED`
 * means at least that many. Null where `updated_at` is not mapped.
 */
export async function readChangedRows(
  reader: HrReader,
  mapping: EmployeeMapping,
  defaultEnterprise: string,
  since: Date,
  datedOnly: boolean,
): Promise<ChangedRow[] | null> {
  if (!mapping.columns.has('updated_at')) return null
  const columns = scanColumns(mapping)
  const limit = MOST_CHANGED + 1
  const rows = await reader.rows({ mapping, columns, defaultEnterprise, since, datedOnly, limit })
  const updated = columns.indexOf('updated_at')
  return rows.flatMap(values => {
    const [enterpriseCode, userid] = values
    // A row without a user id belongs to no employee; a run that reads every row reports it.
    if (!userid) return []
    const key = keyText({ enterpriseCode: enterpriseCode ?? '', userid })
    const updatedAt = updatedAtOf(values[updated])
    return [{ userid, key, hash: hash('sha256', JSON.stringify(values), 'base64url'), updatedAt }]
  })
}
