import { fits, normaliseDate, trimText } from '../lib/text.ts'
import { type Message, message } from '../texts/message.ts'
import {
  type DesiredEmployee,
  EMPLOYEE_FIELDS,
  type EmployeeField,
  type EmployeeFields,
  type EmployeeKey,
} from './employee.ts'
import {
  FIELD_RULES,
  joinCategories,
  normaliseCard,
  normaliseCardType,
  normaliseMobile,
  normaliseMobileArea,
  parseActive,
  RuleBreak,
  type SingleField,
} from './field-rules.ts'
import { accountMark } from './hash.ts'

/** A broken rule of an HR row. The message never holds a value. */
export interface RowProblem {
  field: EmployeeField | 'userid' | 'enterprise_code' | 'active'
  rule: string
  message: Message
}

type DesiredResult =
  | { ok: true; desired: DesiredEmployee }
  /** `sound`: the fields that break no rule. */
  | { ok: false; problems: RowProblem[]; sound: EmployeeFields }

/** Text of one column as the HR mapping returns it. */
type Row = Readonly<Record<string, string | null>>

/**
 * Validates and normalises an HR row by the platform's field rules (sections 2.3 and 4.3). All problems of the row are
 * collected. Of a leaver only the key is checked, since nothing else is ever sent: fields that break a rule are left out. A
 * column that is not among `columns` stays unmanaged, except that a mapped `mobile` brings `mobile_area` (86 where HR has none)
 * and a mapped `card_no` brings `card_type`: the platform takes each pair together.
 *
 * @param row text per column; `userid` and `enterprise_code` as the HR source trims them
 * @param columns the columns that the mapping returns; `code` has been renamed to `corp_code`
 */
export function toDesired(row: Row, columns: readonly string[]): DesiredResult {
  const problems: RowProblem[] = []
  const key: EmployeeKey = { enterpriseCode: row.enterprise_code ?? '', userid: row.userid ?? '' }
  checkKey(key, problems)
  const active = parseActive(row.active)
  if (active === undefined) {
    problems.push({ field: 'active', rule: 'one_of', message: message('said.active_form') })
  }
  const fields: EmployeeFields = {}
  const broken: RowProblem[] = []
  for (const column of columns) {
    if (column === 'mobile') setMobile(row, fields, broken)
    else if (column === 'card_no') setCard(row, fields, broken)
    else if (isSingle(column)) {
      const value = FIELD_RULES[column](row[column] ?? '')
      if (value instanceof RuleBreak) broken.push(problem(column, value))
      else fields[column] = value
    }
  }
  if (active !== false) problems.push(...broken)
  if (problems.length > 0 || active === undefined) return { ok: false, problems, sound: fields }
  const assumesPassport = fields.card_type === '2' && !trimText(row.card_type ?? '')
  return { ok: true, desired: { key, active, fields, ...(assumesPassport && { assumesPassport }) } }
}

/** The fields of a row that break no rule, as {@link toDesired} normalises them. */
export function soundFields(row: Row, columns: readonly string[]): EmployeeFields {
  const validated = toDesired(row, columns)
  return validated.ok ? validated.desired.fields : validated.sound
}

function checkKey(key: EmployeeKey, problems: RowProblem[]): void {
  const { userid, enterpriseCode } = key
  if (userid === '')
    problems.push({
      field: 'userid',
      rule: 'required',
      message: message('said.not_empty', { field: 'userid' }),
    })
  const atMost = (field: 'userid' | 'enterprise_code', text: string, limit: number) => {
    if (!fits(text, limit))
      problems.push({ field, rule: 'too_long', message: message('said.too_long', { field, limit }) })
  }
  atMost('userid', userid, 100)
  atMost('enterprise_code', enterpriseCode, 20)
  // Signing trims values, so two keys that differ in an invisible edge would be one on the platform.
  const trimmed = (field: 'userid' | 'enterprise_code', text: string) => {
    if (trimText(text) !== text)
      problems.push({ field, rule: 'format', message: message('said.edges', { field }) })
  }
  trimmed('userid', userid)
  trimmed('enterprise_code', enterpriseCode)
}

function setMobile(row: Row, fields: EmployeeFields, problems: RowProblem[]): void {
  const area = normaliseMobileArea(row.mobile_area ?? '')
  if (area instanceof RuleBreak) problems.push(problem('mobile_area', area))
  const pair = normaliseMobile(row.mobile ?? '', area instanceof RuleBreak ? null : area)
  if (pair instanceof RuleBreak) problems.push(problem('mobile', pair))
  else {
    fields.mobile_area = pair?.area ?? null
    fields.mobile = pair?.mobile ?? null
  }
}

function setCard(row: Row, fields: EmployeeFields, problems: RowProblem[]): void {
  const type = normaliseCardType(row.card_type ?? '')
  if (type instanceof RuleBreak) problems.push(problem('card_type', type))
  const pair = normaliseCard(row.card_no ?? '', type instanceof RuleBreak ? null : type)
  if (pair instanceof RuleBreak) problems.push(problem('card_no', pair))
  else {
    fields.card_type = pair?.type ?? null
    fields.card_no = pair?.number ?? null
  }
}

/** Whether a column's values are checked on their own, without other columns. */
export function isSingle(column: string): column is SingleField {
  return Object.hasOwn(FIELD_RULES, column)
}

function problem(field: EmployeeField, broken: RuleBreak): RowProblem {
  return { field, rule: broken.rule, message: broken.message }
}

/** The platform takes these and never returns them (`employee/get`, section 4.4). */
export const WRITE_ONLY_FIELDS: ReadonlySet<EmployeeField> = new Set(['cost_center_id', 'employee_attribute'])

const TOLD_FIELDS = EMPLOYEE_FIELDS.filter(field => !WRITE_ONLY_FIELDS.has(field))

/** Null from the platform means "the feature is off, or nothing is set" here, so it says nothing (section 2.3). */
export const FEATURE_FIELDS: ReadonlySet<EmployeeField> = new Set(['level', 'category'])

/** The platform's state of an employee. `account` marks the account: one that is made anew has another mark. */
export type ActualEmployee = EmployeeFields & { account?: number }

/**
 * The platform's state in canonical text, from the answer of `employee/get` (section 4.4). A field missing from the answer
 * stays absent (unknown); null and empty text become null. Only for `level` and `category`, whose null means unknown, a known
 * empty value is kept apart as the empty text.
 */
export function toActual(answer: object): ActualEmployee {
  const { time_created } = answer as { time_created?: unknown }
  const fields: ActualEmployee = time_created ? { account: accountMark(String(time_created)) } : {}
  for (const field of TOLD_FIELDS) {
    const value = (answer as Partial<Record<EmployeeField, unknown>>)[field]
    if (value === undefined) continue
    if (value === null) {
      fields[field] = null
      continue
    }
    const text = canonical(field, value)
    fields[field] = text === '' && !FEATURE_FIELDS.has(field) ? null : text
  }
  return fields
}

function canonical(field: EmployeeField, value: unknown): string {
  if (field === 'category') return joinCategories([value].flat().map(String))
  const text = trimText(String(value))
  if (field === 'birth_day' || field === 'entry_day') return normaliseDate(text) ?? text
  if (field === 'card_no') return text.toUpperCase()
  if (field === 'mobile_area') {
    const area = normaliseMobileArea(text)
    return typeof area === 'string' ? area : text
  }
  return text
}
