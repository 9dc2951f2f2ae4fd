import { type RowProblem, toDesired } from '../directory/desired.ts'
import { smallHash } from '../directory/hash.ts'
import { hideValue } from '../directory/masking.ts'
import type { EmployeeMapping, HrEmployeeRow } from '../hr/source.ts'
import { trimText } from '../lib/text.ts'

/** What the columns of a mapping hold, row by row: lengths, different values, and the rules that they break. */

/** One column of the mapping. */
export interface ColumnFigures {
  /** Its canonical name: a field of the platform, or enterprise_code, userid, active, updated_at. */
  name: string
  /** Its name in the SELECT, and the server's own name for its type. */
  source: string
  type: string
  /** Rows in which it is empty, or nothing but blanks. */
  empty: number
  /** Characters of its shortest and its longest value; null where every row is empty. */
  shortest: number | null
  longest: number | null
  distinct: Distinct
}

/** How many different values there are. */
export interface Distinct {
  count: number
  /** False: it is an estimate, that is off by about 1 %. */
  isExact: boolean
}

/** A rule that values of active employees break: each of them becomes a case of category `invalid_hr_row`. */
export interface BrokenRule {
  field: RowProblem['field']
  rule: string
  /** One sentence about the rule. */
  message: string
  rows: number
  /** Some of the rows; a value that breaks a rule may be anything, so it is hidden. */
  samples: { enterpriseCode: string; userid: string; value: string | null }[]
}

/** Rows that are shown of anything. */
export const SAMPLES = 3

/** Different values that are kept of a column at a time. */
const KEPT = 16_384

/**
 * Counts different values in little memory: exactly up to 16,384, and by a sample of them beyond. Of the values' hashes
 * only those are kept that end with some zero bits, one more whenever there are too many of them.
 */
export class DistinctCounter {
  readonly #seed: number
  readonly #kept = new Set<number>()
  /** A hash is kept if it is a multiple of this. */
  #divisor = 1

  constructor(seed: number) {
    this.#seed = seed
  }

  add(value: string): void {
    const hash = smallHash(value, this.#seed)
    if (hash % this.#divisor !== 0) return
    this.#kept.add(hash)
    if (this.#kept.size <= KEPT) return
    this.#divisor *= 2
    for (const kept of this.#kept) if (kept % this.#divisor !== 0) this.#kept.delete(kept)
  }

  get result(): Distinct {
    return { count: this.#kept.size * this.#divisor, isExact: this.#divisor === 1 }
  }
}

/** Collects the figures of every mapped column. */
export class ColumnCollector {
  readonly #columns: { name: string; source: string; type: string; figures: ColumnCounter }[]
  readonly #fields: string[]
  readonly #broken = new Map<string, BrokenRule>()

  /** @param columns of the scan @param seed of this process */
  constructor(mapping: EmployeeMapping, columns: readonly string[], seed: number) {
    this.#fields = [...columns]
    this.#columns = columns.flatMap(name => {
      const mapped = mapping.columns.get(name)
      return mapped ? [{ name, ...mapped, figures: new ColumnCounter(seed) }] : []
    })
  }

  add(row: HrEmployeeRow, isActive: boolean): void {
    for (const { name, figures } of this.#columns) figures.add(row[name] ?? '')
    if (isActive) this.#validate(row)
  }

  get columns(): ColumnFigures[] {
    return this.#columns.map(({ figures, ...column }) => ({ ...column, ...figures.result }))
  }

  /** The rules that most rows break come first. */
  get broken(): BrokenRule[] {
    return [...this.#broken.values()].sort((a, b) => b.rows - a.rows)
  }

  /** As planning and workers do. A row without a user id is nobody's, and counted as such. */
  #validate(row: HrEmployeeRow): void {
    const validated = toDesired(row, this.#fields)
    if (validated.ok || !row.userid) return
    for (const { field, rule, message } of validated.problems) {
      const key = `${field} ${message}`
      const broken = this.#broken.get(key) ?? { field, rule, message, rows: 0, samples: [] }
      this.#broken.set(key, broken)
      broken.rows += 1
      if (broken.samples.length < SAMPLES)
        broken.samples.push({
          enterpriseCode: row.enterprise_code ?? '',
          userid: row.userid,
          value: hideValue(row[field] ?? null),
        })
    }
  }
}

class ColumnCounter {
  readonly #distinct: DistinctCounter
  #empty = 0
  #shortest = Number.POSITIVE_INFINITY
  #longest = 0

  constructor(seed: number) {
    this.#distinct = new DistinctCounter(seed)
  }

  add(value: string): void {
    if (trimText(value) === '') {
      this.#empty += 1
      return
    }
    const length = lengthOf(value)
    if (length < this.#shortest) this.#shortest = length
    if (length > this.#longest) this.#longest = length
    this.#distinct.add(value)
  }

  get result() {
    const isEmpty = this.#longest === 0
    return {
      empty: this.#empty,
      shortest: isEmpty ? null : this.#shortest,
      longest: isEmpty ? null : this.#longest,
      distinct: this.#distinct.result,
    }
  }
}

/** Characters, as the platform counts them. */
function lengthOf(text: string): number {
  let pairs = 0
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code >= 0xd800 && code <= 0xdbff) pairs += 1
  }
  return text.length - pairs
}
