import { isSingle, type RowProblem, soundFields, toDesired } from '../directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../directory/employee.ts'
import {
  FIELD_RULES,
  type PersonalKind,
  parseActive,
  personalKind,
  RuleBreak,
} from '../directory/field-rules.ts'
import { smallHash } from '../directory/hash.ts'
import { hideValue, maskOfRow } from '../directory/masking.ts'
import { DAYS } from '../hr/canonical.ts'
import type { HrKind } from '../hr/server.ts'
import type { EmployeeMapping, HrEmployeeRow } from '../hr/source.ts'
import { normaliseDate, trimText } from '../lib/text.ts'
import type { Message } from '../texts/message.ts'
import { NO_DAYS } from './first-select.ts'

/** The contents of a mapping's columns, collected row by row: lengths, distinct values, and broken rules. */

/** One column of the mapping. */
export interface ColumnFigures {
  /** Its canonical name: a field of the platform, or enterprise_code, userid, active, updated_at. */
  name: string
  /** Its name in the SELECT, and the server's own name for its type. */
  source: string
  type: string
  /** Rows in which it is empty or blank. */
  empty: number
  /** Characters of its shortest and its longest value; null where every row is empty. */
  shortest: number | null
  longest: number | null
  distinct: Distinct
}

/** The number of distinct values. */
export interface Distinct {
  count: number
  /** False: an estimate, accurate to about 1 %. */
  isExact: boolean
}

/** A rule that values of active employees break: each such employee becomes a case of category `invalid_hr_row`. */
export interface BrokenRule {
  field: RowProblem['field']
  rule: string
  message: Message
  rows: number
  /** Some of the rows; a value that breaks a rule may be anything, so it is hidden. */
  samples: { enterpriseCode: string; userid: string; value: string | null }[]
}

/** Most rows that are shown as samples. */
export const SAMPLES = 3

/** Distinct values kept per column at a time, and slots for them: a power of two. */
const KEPT = 16_384
const PLACES = 2 * KEPT

/**
 * Counts distinct values in little memory: exactly up to 16,384, and by sampling beyond. It keeps only hashes that end with
 * some zero bits, one bit more whenever there are too many.
 */
export class DistinctCounter {
  readonly #seed: number
  /** Open addressing, several times faster than a Set of this size; 0 is a free slot. */
  #kept = new Float64Array(PLACES)
  #count = 0
  /** A hash is kept if it has none of these bits. */
  #mask = 0

  constructor(seed: number) {
    this.#seed = seed
  }

  /** @returns whether the value is known to have been added before */
  add(value: string): boolean {
    const hash = smallHash(value, this.#seed)
    if ((hash & this.#mask) !== 0) return false
    if (!this.#keep(hash)) return true
    if (this.#count > KEPT) {
      this.#mask = this.#mask * 2 + 1
      const before = this.#kept
      this.#kept = new Float64Array(PLACES)
      this.#count = 0
      for (const kept of before) if (kept !== 0 && (kept & this.#mask) === 0) this.#keep(kept)
    }
    return false
  }

  get result(): Distinct {
    return { count: this.#count * (this.#mask + 1), isExact: this.#mask === 0 }
  }

  /** @returns whether it was not kept yet */
  #keep(hash: number): boolean {
    const kept = this.#kept
    // The upper bits: the lower ones are those of the mask.
    let place = (hash / 2 ** 32) & (PLACES - 1)
    for (let other = kept[place]; other !== 0; other = kept[place]) {
      if (other === hash) return false
      place = (place + 1) & (PLACES - 1)
    }
    kept[place] = hash
    this.#count += 1
    return true
  }
}

export class ColumnCollector {
  readonly #columns: { name: string; source: string; type: string; figures: ColumnCounter }[]
  readonly #fields: string[]
  /** Fields without a rule for a single value: documents and mobile numbers, which come in pairs. */
  readonly #pairs: string[]
  readonly #broken = new Map<string, BrokenRule>()

  /** @param columns of the scan @param seed of this process */
  constructor(mapping: EmployeeMapping, columns: readonly string[], seed: number) {
    this.#fields = [...columns]
    this.#pairs = columns.filter(name => !isSingle(name))
    this.#columns = columns.flatMap(name => {
      const mapped = mapping.columns.get(name)
      return mapped ? [{ name, ...mapped, figures: new ColumnCounter(name, seed) }] : []
    })
  }

  add(row: HrEmployeeRow, isActive: boolean): void {
    let isSound = true
    for (const { name, figures } of this.#columns) if (!figures.add(row[name] ?? '')) isSound = false
    if (isActive) this.#validate(row, isSound)
  }

  get columns(): ColumnFigures[] {
    return this.#columns.map(({ figures, ...column }) => ({ ...column, ...figures.result }))
  }

  /** The most frequently broken rules come first. */
  get broken(): BrokenRule[] {
    return [...this.#broken.values()].sort((a, b) => b.rows - a.rows)
  }

  /**
   * As planning and workers do. A row without a user id has no employee, and is counted as such.
   * @param isSound whether each value is valid on its own, and need not be checked again
   */
  #validate(row: HrEmployeeRow, isSound: boolean): void {
    const validated = toDesired(row, isSound ? this.#pairs : this.#fields)
    if (validated.ok || !row.userid) return
    for (const problem of validated.problems) {
      const { field } = problem
      const key = `${field} ${problem.message.key}`
      const broken = this.#broken.get(key) ?? { ...problem, rows: 0, samples: [] }
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
  readonly #rule: (value: string) => unknown
  /** Whether no value so far breaks the rule, so that a repeated one need not be checked again. */
  #isSound = true
  #empty = 0
  #shortest = Number.POSITIVE_INFINITY
  #longest = 0

  constructor(column: string, seed: number) {
    this.#distinct = new DistinctCounter(seed)
    this.#rule = isSingle(column) ? FIELD_RULES[column] : () => null
  }

  /** @returns whether the value on its own breaks no rule */
  add(value: string): boolean {
    if (trimText(value) === '') {
      this.#empty += 1
      return true
    }
    if (this.#distinct.add(value) && this.#isSound) return true
    const length = lengthOf(value)
    if (length < this.#shortest) this.#shortest = length
    if (length > this.#longest) this.#longest = length
    const isSound = !(this.#rule(value) instanceof RuleBreak)
    this.#isSound &&= isSound
    return isSound
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

/** The first half of a surrogate pair. */
const SURROGATE = /[\ud800-\udbff]/

/** Characters, as the platform counts them. */
function lengthOf(text: string): number {
  if (!SURROGATE.test(text)) return text.length
  let pairs = 0
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i)
    if (code >= 0xd800 && code <= 0xdbff) pairs += 1
  }
  return text.length - pairs
}

/**
 * Data that breaks no rule but is probably unintended: most have left, one value or none for all employees, personal user ids.
 */

export interface Doubt {
  kind:
    | 'leavers'
    | 'same'
    | 'empty'
    | 'zeros'
    | 'rewritten'
    | 'guarded'
    | 'nulls'
    | 'no_days'
    | 'latin1'
    | `${PersonalKind}_userid`
  /** The column of the mapping. */
  field: string
  rows: number
  of: number
  /** For leavers and uniform columns: the values, masked, with their numbers of rows. */
  values: { value: string | null; rows: number }[]
}

/**
 * Findings that are often fine: an e-mail address can be the user id that the platform knows, numbers may have grown by a
 * digit, a code may end in .0, someone may be called NULL.
 */
export const DOUBT_HINTS: ReadonlySet<Doubt['kind']> = new Set([
  'email_userid',
  'zeros',
  'rewritten',
  'nulls',
])

/** Fewer active employees may well share a value. */
const MANY = 10
/** Columns in which all employees may share a value, or have none. */
const OFTEN_SAME = new Set(['category', 'cost_center_id', 'card_type', 'mobile_area'])
const OFTEN_EMPTY = new Set(['card_type', 'mobile_area'])
/** Columns that may hold numbers with leading zeros. */
const NUMBERED = ['userid', 'corp_code', 'dept_code']
/** How programs write ids that they take for numbers. */
const WRITTEN = [
  /** 1001.0, 4.4052419880101E+17 */
  ['rewritten', /^\d+\.0+$|^\d(?:\.\d+)?E\+\d+$/i],
  /** ="00001" and '00001, so that a spreadsheet keeps the zeros. */
  ['guarded', /^="[^"]*"$|^'[^']+$/],
] as const
/** What exports write for no value. */
const NULLS = ['NULL', '\\N', '(null)']
/** The characters that MySQL's latin1, which is Windows-1252, has for bytes from 128 on. */
const HIGH = /[\u0080-\u00ff€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]/g
/** Most distinct values of `active` that are counted. */
const STATES = 12

export class DoubtCollector {
  /** Columns in which every active row so far has the same value; undefined: none yet. */
  #uniform: { field: EmployeeField; value: string | undefined }[]
  readonly #states = new Map<string, number>()
  readonly #personal = new Map<PersonalKind, number>()
  /** For numbers of employees in files, by column: rows by length, or null once one is not a number or begins with a zero. */
  readonly #lengths: Map<string, Map<number, number> | null>
  /** Of the same columns. */
  readonly #written = WRITTEN.map(([kind, form]) => ({ kind, form, rows: new Map<string, number>() }))
  /** Of names in MySQL: how many there are, and how many may be Chinese whose bytes were read as latin1. */
  readonly #names: { all: number; latin1: number } | null
  readonly #columns: readonly string[]
  /** By column, rows by the text that stands for no value. */
  readonly #nulls: CountsByColumn = new Map()
  /** By column, rows of active employees by the year that stands for no day. */
  readonly #noDays: CountsByColumn = new Map()
  #rows = 0
  #active = 0

  /** @param columns that are mapped @param kind where HR is: spreadsheets cut zeros, databases do not */
  constructor(columns: readonly string[], kind: HrKind) {
    this.#names = kind === 'mysql' ? { all: 0, latin1: 0 } : null
    this.#columns = columns
    const numbered = kind === 'files' ? NUMBERED.filter(column => columns.includes(column)) : []
    this.#lengths = new Map(numbered.map(column => [column, new Map()]))
    this.#uniform = EMPLOYEE_FIELDS.filter(field => columns.includes(field)).map(field => ({
      field,
      value: undefined,
    }))
  }

  add(row: HrEmployeeRow, isActive: boolean): void {
    this.#rows += 1
    const state = trimText(row.active ?? '')
    if (this.#states.size < STATES || this.#states.has(state)) count(this.#states, state)
    const personal = personalKind(row.userid ?? '')
    if (personal !== null) count(this.#personal, personal)
    for (const [column, lengths] of this.#lengths) {
      this.#addLength(column, lengths, row[column] ?? '')
      for (const { form, rows } of this.#written) if (form.test(row[column] ?? '')) count(rows, column)
    }
    for (const column of this.#columns) {
      const value = row[column] ?? ''
      if (value.length <= 6 && NULLS.includes(value)) countIn(this.#nulls, column, value)
    }
    if (this.#names && row.name) {
      this.#names.all += 1
      if (isLatin1(row.name)) this.#names.latin1 += 1
    }
    if (!isActive) return
    this.#active += 1
    for (const column of DAYS) {
      const value = row[column] ?? ''
      const year = value.slice(0, 4)
      if (NO_DAYS.includes(year) && normaliseDate(value) !== null) countIn(this.#noDays, column, year)
    }
    let varies = false
    for (const column of this.#uniform) {
      const value = row[column.field] ?? ''
      column.value ??= value
      varies ||= column.value !== value
    }
    if (varies) this.#uniform = this.#uniform.filter(({ field, value }) => value === (row[field] ?? ''))
  }

  #addLength(column: string, lengths: Map<number, number> | null, value: string): void {
    if (lengths === null || value === '') return
    if (/^[1-9]\d*$/.test(value)) count(lengths, value.length)
    else this.#lengths.set(column, null)
  }

  /** @param abound whether too many of all rows have left */
  result(abound: (left: number, total: number) => boolean): Doubt[] {
    const of = this.#rows
    const left = of - this.#active
    const doubts: Doubt[] = []
    if (abound(left, of)) {
      const values = [...this.#states].sort(([, a], [, b]) => b - a)
      doubts.push({
        ...{ kind: 'leavers', field: 'active', rows: left, of },
        values: values.map(([value, rows]) => ({
          value: parseActive(value) === undefined ? hideValue(value) : value,
          rows,
        })),
      })
    }
    // An identity number is never one by chance.
    for (const [kind, rows] of this.#personal)
      if (kind === 'identity' || rows > of / 2)
        doubts.push({ kind: `${kind}_userid`, field: 'userid', rows, of, values: [] })
    for (const [field, lengths] of this.#lengths) {
      const [[, most] = [0, 0], ...others] = [...(lengths ?? [])].sort(([a], [b]) => b - a)
      const rows = others.reduce((sum, [, shorter]) => sum + shorter, 0)
      if (rows > 0) doubts.push({ kind: 'zeros', field, rows, of: rows + most, values: [] })
    }
    for (const { kind, rows: found } of this.#written)
      for (const [field, rows] of found) doubts.push({ kind, field, rows, of, values: [] })
    doubts.push(...withValues('nulls', this.#nulls, of), ...withValues('no_days', this.#noDays, this.#active))
    const { all, latin1 } = this.#names ?? { all: 0, latin1: 0 }
    if (latin1 > all / 2) doubts.push({ kind: 'latin1', field: 'name', rows: latin1, of: all, values: [] })
    if (this.#active < MANY) return doubts
    for (const { field, value = '' } of this.#uniform) {
      const isEmpty = trimText(value) === ''
      if ((isEmpty ? OFTEN_EMPTY : OFTEN_SAME).has(field)) continue
      const rows = this.#active
      doubts.push({
        ...{ kind: isEmpty ? 'empty' : 'same', field, rows, of: rows },
        values: isEmpty ? [] : [{ value: masked(field, value), rows }],
      })
    }
    return doubts
  }
}

/** In GBK, the second of a character's two bytes may be one of ASCII. Hardly a name in Latin letters has half of them accented. */
function isLatin1(name: string): boolean {
  return 2 * (name.match(HIGH)?.length ?? 0) >= name.length
}

type CountsByColumn = Map<string, Map<string, number>>

function withValues(kind: 'nulls' | 'no_days', columns: CountsByColumn, of: number): Doubt[] {
  return [...columns].map(([field, found]) => {
    const values = [...found].map(([value, rows]) => ({ value, rows }))
    return { kind, field, rows: values.reduce((sum, { rows }) => sum + rows, 0), of, values }
  })
}

function countIn(columns: CountsByColumn, column: string, value: string): void {
  const found = columns.get(column) ?? new Map<string, number>()
  columns.set(column, found)
  count(found, value)
}

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

function masked(field: EmployeeField, value: string): string | null {
  const row = { userid: 'any', [field]: value }
  return maskOfRow(field, row, soundFields(row, [field]))
}
