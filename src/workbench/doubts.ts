import { toDesired } from '../directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../directory/employee.ts'
import { type PersonalKind, parseActive, personalKind } from '../directory/field-rules.ts'
import { hideValue, maskValue } from '../directory/masking.ts'
import type { HrKind } from '../hr/server.ts'
import type { HrEmployeeRow } from '../hr/source.ts'
import { trimText } from '../lib/text.ts'

/**
 * Data that breaks no rule but is probably unintended: most have left, one value or none for all employees, personal user ids.
 */

export interface Doubt {
  kind: 'leavers' | 'same' | 'empty' | 'zeros' | `${PersonalKind}_userid`
  /** The column of the mapping. */
  field: string
  rows: number
  of: number
  /** For leavers and uniform columns: the values, masked, with their numbers of rows. */
  values: { value: string | null; rows: number }[]
}

/**
 * Findings that are often fine: an e-mail address can be the user id that the platform knows, numbers may have grown by a
 * digit.
 */
export const DOUBT_HINTS: ReadonlySet<Doubt['kind']> = new Set(['email_userid', 'zeros'])

/** Fewer active employees may well share a value. */
const MANY = 10
/** Columns in which all employees may share a value, or have none. */
const OFTEN_SAME = new Set(['category', 'cost_center_id', 'card_type', 'mobile_area'])
const OFTEN_EMPTY = new Set(['card_type', 'mobile_area'])
/** Columns that may hold numbers with leading zeros. */
const NUMBERED = ['userid', 'corp_code', 'dept_code']
/** Most distinct values of `active` that are counted. */
const STATES = 12

export class DoubtCollector {
  /** Columns in which every active row so far has the same value; undefined: none yet. */
  #uniform: { field: EmployeeField; value: string | undefined }[]
  readonly #states = new Map<string, number>()
  readonly #personal = new Map<PersonalKind, number>()
  /** For numbers of employees in files, by column: rows by length, or null once one is not a number or begins with a zero. */
  readonly #lengths: Map<string, Map<number, number> | null>
  #rows = 0
  #active = 0

  /** @param columns that are mapped @param kind where HR is: spreadsheets cut zeros, databases do not */
  constructor(columns: readonly string[], kind: HrKind) {
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
    for (const [column, lengths] of this.#lengths) this.#addLength(column, lengths, row[column] ?? '')
    if (!isActive) return
    this.#active += 1
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

function count<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** A value that breaks a rule may be anything. */
function masked(field: EmployeeField, value: string): string | null {
  const isSound = toDesired({ userid: 'any', [field]: value }, [field]).ok
  return isSound ? maskValue(field, value) : hideValue(value)
}
