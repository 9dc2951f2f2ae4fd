import type { DesiredEmployee, EmployeeField, EmployeeFields, EmployeeKey } from './employee.ts'
import { FIELD_RULES, normaliseCard, normaliseCardType, type SingleField } from './field-rules.ts'
import { parseActive } from './flag.ts'
import { normaliseMobile, normaliseMobileArea } from './phone.ts'
import { RuleBreak } from './rule-break.ts'
import { fits, trimText } from './text.ts'

/** One broken rule of an HR row. The message names the rule and never holds a value. */
export interface RowProblem {
  field: EmployeeField | 'userid' | 'enterprise_code' | 'active'
  rule: string
  message: string
}

/** The desired employee, or everything that is wrong with the row. */
export type DesiredResult =
  | { ok: true; desired: DesiredEmployee }
  | { ok: false; key: EmployeeKey; problems: RowProblem[] }

/** Text of one column as the HR mapping returns it. */
type Row = Readonly<Record<string, string | null>>

/**
 * Validates and normalises an HR row to the platform's field rules (sections 2.3 and 4.3). All problems of the row are
 * collected. A column that is not among `columns` stays unmanaged, except that a mapped `mobile` brings `mobile_area`
 * (86 where HR has none) and a mapped `card_no` brings `card_type`: the platform takes each pair together.
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
    problems.push({
      field: 'active',
      rule: 'one_of',
      message: 'active must be true or false (t/f, 1/0, y/n)',
    })
  }
  const fields: EmployeeFields = {}
  for (const column of columns) {
    if (column === 'mobile') setMobile(row, fields, problems)
    else if (column === 'card_no') setCard(row, fields, problems)
    else if (isSingle(column)) {
      const value = FIELD_RULES[column](row[column] ?? '')
      if (value instanceof RuleBreak) problems.push(problem(column, value))
      else fields[column] = value
    }
  }
  if (problems.length > 0 || active === undefined) return { ok: false, key, problems }
  return { ok: true, desired: { key, active, fields } }
}

function checkKey(key: EmployeeKey, problems: RowProblem[]): void {
  const { userid, enterpriseCode } = key
  if (userid === '') {
    problems.push({ field: 'userid', rule: 'required', message: 'userid must not be empty' })
  }
  if (!fits(userid, 100)) {
    problems.push({ field: 'userid', rule: 'too_long', message: 'userid must have at most 100 characters' })
  }
  if (!fits(enterpriseCode, 20)) {
    problems.push({
      field: 'enterprise_code',
      rule: 'too_long',
      message: 'enterprise_code must have at most 20 characters',
    })
  }
  // Signing trims values, so an edge that prints nothing would make two different keys one on the platform.
  for (const [field, text] of [['userid', userid] as const, ['enterprise_code', enterpriseCode] as const]) {
    if (trimText(text) !== text) {
      const message = `${field} must not begin or end with a blank or invisible character`
      problems.push({ field, rule: 'format', message })
    }
  }
}

function setMobile(row: Row, fields: EmployeeFields, problems: RowProblem[]): void {
  const area = normaliseMobileArea(row.mobile_area ?? '')
  if (area instanceof RuleBreak) problems.push(problem('mobile_area', area))
  const pair = normaliseMobile(row.mobile ?? '', area instanceof RuleBreak ? null : area)
  if (pair instanceof RuleBreak) {
    problems.push(problem('mobile', pair))
    return
  }
  fields.mobile_area = pair?.area ?? null
  fields.mobile = pair?.mobile ?? null
}

function setCard(row: Row, fields: EmployeeFields, problems: RowProblem[]): void {
  const type = normaliseCardType(row.card_type ?? '')
  if (type instanceof RuleBreak) problems.push(problem('card_type', type))
  const pair = normaliseCard(row.card_no ?? '', type instanceof RuleBreak ? null : type)
  if (pair instanceof RuleBreak) {
    problems.push(problem('card_no', pair))
    return
  }
  fields.card_type = pair?.type ?? null
  fields.card_no = pair?.number ?? null
}

function isSingle(column: string): column is SingleField {
  return Object.hasOwn(FIELD_RULES, column)
}

function problem(field: EmployeeField, broken: RuleBreak): RowProblem {
  return { field, rule: broken.rule, message: broken.message }
}
