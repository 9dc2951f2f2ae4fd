import { randomInt } from 'node:crypto'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../../src/directory/employee.ts'
import { identityCheckCharacter } from '../../src/directory/field-rules.ts'
import { isMasked } from '../../src/directory/masking.ts'

/* Personal data whose every value is unmistakable, and the search for it. */

/** What a value is to dirsync: masked where it is kept or shown, shown, or of a column that no mapping reads; or of money. */
export type Sort = EmployeeField | 'unread' | keyof ReturnType<typeof plantedMoney>
export type Row = Record<EmployeeField | 'unread', string>

/** Words of letters, like a name: what masks numbers alone does not see them. */
const word = (length: number) =>
  Array.from({ length }, () => 'bcdfghjklmnpqrstvwxz'.charAt(randomInt(20))).join('')
const digits = (length: number) => Array.from({ length }, () => randomInt(10)).join('')

/** Every value that is looked for, and whose it is. */
const marks = new Map<string, Sort>()

/** A mark in a value that the field's rules refuse, or in a text of HR's server. */
export function markOf(field: Sort): string {
  const mark = field === 'mobile' || field === 'card_no' || field === 'cost_center_id' ? digits(12) : word(14)
  marks.set(mark, field)
  return mark
}

/** A row of valid values, none of which occurs anywhere else. */
export function plantedRow(): Row {
  const day = `19${randomInt(40, 80)}-0${randomInt(1, 10)}-1${randomInt(10)}`
  const holder = `${randomInt(110101, 659004)}${day.replaceAll('-', '')}${digits(3)}`
  const row: Row = {
    name: word(12),
    corp_code: word(12),
    gender: '1',
    card_type: '1',
    card_no: `${holder}${identityCheckCharacter(holder)}`,
    email: `${word(12)}@example.com`,
    mobile_area: '86',
    mobile: `1${randomInt(3, 10)}${digits(9)}`,
    remark: word(20),
    dept_code: 'D1',
    level: word(12),
    category: word(12),
    birth_day: day,
    entry_day: '2020-01-01',
    cost_center_id: `1${digits(8)}`,
    employee_attribute: word(16),
    unread: word(14),
  }
  for (const field of [...EMPLOYEE_FIELDS, 'unread'] as const) {
    // The others are the same for many people.
    if (['gender', 'card_type', 'mobile_area', 'dept_code', 'entry_day'].includes(field)) continue
    marks.set(field === 'email' ? (row.email.split('@')[0] ?? '') : row[field], field)
  }
  row.employee_attribute = JSON.stringify([
    { attributeCode: 'canary', attributeValue: row.employee_attribute },
  ])
  return row
}

/** What refunds, top-ups, payment orders, limit accounts and taxpayers may hold of people and of companies. */
export function plantedMoney() {
  const phone = () => `1${randomInt(3, 10)}${digits(9)}`
  const planted = {
    ...{ payer: word(12), subject: word(12), buyer: word(12), wish: word(16) },
    ...{ recipient: word(12), recipientPhone: phone(), address: word(20) },
    ...{ account: word(14), accountName: word(12), subAccount: word(12) },
    ...{ taxpayer: word(14), identifier: `91${digits(16)}` },
    ...{
      applicant: word(12),
      applicantEmail: word(12),
      applicantMobile: phone(),
      note: word(16),
      invoiceNote: word(16),
    },
    ...{ reason: word(16), shopPhone: phone() },
  }
  for (const [sort, mark] of Object.entries(planted)) marks.set(mark, sort as Sort)
  return planted
}

const ENCODED = /[\w+/-]{16,}={0,2}/g

/** The fields whose planted values are in a text, also where base64 or capitals hide them, each with the places around. */
export function findPlanted(text: string): Map<Sort, string> {
  const decoded = (text.match(ENCODED) ?? []).map(word => Buffer.from(word, 'base64').toString('latin1'))
  const searched = `${text}\n${decoded.join('\n')}`.toLowerCase()
  const found = new Map<Sort, string>()
  for (const [mark, field] of marks) {
    const at = searched.indexOf(mark.toLowerCase())
    if (at >= 0 && !found.has(field))
      found.set(field, searched.slice(Math.max(0, at - 200), at + mark.length + 60))
  }
  return found
}

/** The fields that dirsync shows as they are. */
export const SHOWN = EMPLOYEE_FIELDS.filter(field => !isMasked(field))
