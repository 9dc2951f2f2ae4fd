import { beginning } from '../lib/text.ts'
import type { EmployeeField, EmployeeFields, FieldValue } from './employee.ts'
import { personalKind } from './field-rules.ts'

/** Fields that do not identify a person; attempts and dead letters show them unmasked. */
const SHOWN: ReadonlySet<EmployeeField> = new Set([
  'corp_code',
  'gender',
  'card_type',
  'mobile_area',
  'dept_code',
  'level',
  'category',
  'entry_day',
  'cost_center_id',
])

/** Whether a field's values are masked. */
export function isMasked(field: string): boolean {
  return !SHOWN.has(field as EmployeeField)
}

/**
 * A field's value as attempts, dead letters and an employee's story show it: enough for a reader who knows the employee to
 * recognise the error, too little to contact the employee. Null stays null.
 */
export function maskValue(field: EmployeeField, value: FieldValue): FieldValue {
  if (value === null || value === '' || SHOWN.has(field)) return value
  switch (field) {
    case 'name':
      return `${firstCharacter(value)}*`
    case 'mobile':
      return middleMasked(value, 11, [3, 4])
    case 'email':
      return maskEmail(value)
    case 'card_no':
      return middleMasked(value, 15, [3, 2])
    case 'birth_day':
      return yearMasked(value)
    case 'employee_attribute':
      return maskAttributes(value)
    default:
      return hideValue(value)
  }
}

/** A user id as the workbench shows it: masked where it identifies a person. */
export function maskKey(key: string): string {
  const kind = personalKind(key)
  if (kind === 'email') return maskEmail(key)
  if (kind === null) return key
  return kind === 'mobile' ? middleMasked(key, 11, [3, 4]) : middleMasked(key, 15, [3, 2])
}

/**
 * A value that breaks a rule, and so may be anything: a name in the column of grades, a mobile number in that of dates. Only
 * its length is shown. Null and the empty text stay as they are.
 */
export function hideValue(value: FieldValue): FieldValue {
  return value === null || value === '' ? value : `**** (${[...value].length})`
}

/**
 * A value of an HR row as it is shown: masked as it would be sent, whatever form HR has it in, or hidden.
 * @param sound those fields of the row that break no rule
 */
export function maskOfRow(
  field: EmployeeField,
  row: Readonly<Record<string, string | null>>,
  sound: EmployeeFields,
): FieldValue {
  const value = sound[field]
  return value === undefined ? hideValue(row[field] ?? null) : maskValue(field, value)
}

function firstCharacter(text: string): string {
  return String.fromCodePoint(text.codePointAt(0) ?? 0x2a)
}

/**
 * Shows both ends, and nothing at all of a text so short that the ends would reveal it.
 * @param long characters from which on the ends are as given; for a shorter text they are 1 and 2
 */
function middleMasked(text: string, long: number, ends: [head: number, tail: number]): string {
  const characters = [...text]
  const [head, tail] = characters.length >= long ? ends : [1, 2]
  if (characters.length < (head + tail) * 1.5) return '****'
  return `${characters.slice(0, head).join('')}****${characters.slice(-tail).join('')}`
}

/** For `yyyy-MM-dd` and `MM-dd`. Any other text may show the year. */
function yearMasked(text: string): FieldValue {
  return /^(?:\d{4}-)?\d\d-\d\d$/.test(text) ? text.replace(/^\d{4}(?=-)/, '****') : hideValue(text)
}

function maskEmail(email: string): string {
  const at = email.lastIndexOf('@')
  return at < 1 ? '***' : `${firstCharacter(email)}***${email.slice(at)}`
}

/** `code=***` per extended field of the canonical JSON text. */
function maskAttributes(json: string): FieldValue {
  const codes = [...json.matchAll(/"attributeCode":"((?:[^"\\]|\\.)*)"/g)].map(match =>
    unescaped(match[1] ?? ''),
  )
  return codes.length > 0 ? codes.map(code => `${code}=***`).join(', ') : hideValue(json)
}

/** Parameters in which calls tell of people in any form: of an employee, a top-up, a refund. Passports may have few digits. */
const FREE_TEXTS = [
  ...[
    'name',
    'card_no',
    'remark',
    'applicant_name',
    'taxpayer',
    'identifier',
    'invoice_remark',
    'invoice_extr_remark',
  ],
  ...['attributeValue', 'reason', 'recipientName', 'recipientAddress'],
]
/** The same in JSON, such as extended fields or the body of a refund. */
const FREE_TEXT_IN_JSON = new RegExp(`"(?:${FREE_TEXTS.join('|')})":"((?:[^"\\\\]|\\\\.)*)"`, 'g')

/**
 * A foreign text with the personal values masked that its author was told and that have no form of their own: {@link maskText}
 * sees numbers and addresses alone. Capital and small letters are the same. A single character says too little, and may be part of any word.
 */
export function maskTold(text: string, told: Readonly<Record<string, string>>): string {
  const values = Object.entries(told)
    .flatMap(([name, value]) =>
      FREE_TEXTS.includes(name)
        ? [value]
        : Array.from(value.matchAll(FREE_TEXT_IN_JSON), match => unescaped(match[1] ?? '')),
    )
    .filter(value => value.length > 1)
    .toSorted((a, b) => b.length - a.length)
    .map(value => value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  if (values.length === 0) return text
  return text.replace(new RegExp(values.join('|'), 'giu'), value => hideValue(value) ?? '')
}

/** The content of a quoted JSON text; unchanged if it is not JSON. */
function unescaped(text: string): string {
  try {
    return (JSON.parse(`"${text}"`) as string).toWellFormed()
  } catch {
    return text
  }
}

/** Characters of a form that are shown. */
const FORM = 20

/**
 * The form of a value without its content, for columns that have no name yet: 9 for every digit, a and A for letters, 字 for
 * every other letter; everything else is kept.
 */
export function formOf(value: string): string {
  const form = value.replace(/\p{Cc}+/gu, ' ').replace(/[\p{Nd}\p{L}\p{M}]/gu, character => {
    if (/\p{Nd}/u.test(character)) return '9'
    if (/[\p{Lo}\p{Lm}]/u.test(character)) return '字'
    return /\p{Ll}/u.test(character) ? 'a' : 'A'
  })
  const shown = [...form].slice(0, FORM).join('')
  return shown.length < form.length ? `${shown}…` : shown
}

/** Foreign texts are cut to this length first, so that a huge one costs nothing. */
const READ = 2000
const KEPT = 300

const EMAIL = /[^\s@＠<>"']+[@＠][^\s@＠<>"']+/g
/** A number, possibly in groups: `138 1234 5678`, `+86-138-1234-5678`, `E12345678`, full-width digits. */
const NUMBER = /(?<![A-Za-z\p{Nd}])[A-Za-z]*\p{Nd}[A-Za-z\p{Nd}]*(?:[ .()/+-]{1,2}\p{Nd}[A-Za-z\p{Nd}]*)*/gu

/**
 * A foreign text without numbers of five and more digits, in groups or not, and e-mail addresses, which may identify a person.
 * For the platform's own messages, which dead letters quote; characters that PostgreSQL cannot store are gone too.
 */
export function maskText(text: string): string {
  const masked = beginning(text, READ)
    .replace(/\p{Cc}+/gu, ' ')
    .replace(EMAIL, '***@***')
    .replace(NUMBER, word => (identifies(word) ? `${[...word].slice(0, 2).join('')}***` : word))
  return beginning(masked, KEPT).toWellFormed()
}

function identifies(word: string): boolean {
  const digits = word.match(/\p{Nd}/gu)?.length ?? 0
  return digits >= 5 || (/\p{Nd}{4}/u.test(word) && word.length >= 5)
}
