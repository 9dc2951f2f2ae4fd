/** Managed employee fields in canonical order; names as in the platform specification, section 2.3. */
export const EMPLOYEE_FIELDS = [
  'name',
  'corp_code',
  'gender',
  'card_type',
  'card_no',
  'email',
  'mobile_area',
  'mobile',
  'remark',
  'dept_code',
  'level',
  'category',
  'birth_day',
  'entry_day',
  'cost_center_id',
  'employee_attribute',
] as const

export type EmployeeField = (typeof EMPLOYEE_FIELDS)[number]

/** Canonical text of a field, or null when the field is managed but empty. */
export type FieldValue = string | null

/** A field that is absent is unmanaged (HR) or not returned (platform). */
export type EmployeeFields = Partial<Record<EmployeeField, FieldValue>>

/** Identity of an employee: `userid` within an enterprise; `enterpriseCode` is empty for a single enterprise. */
export interface EmployeeKey {
  enterpriseCode: string
  userid: string
}

/** The state that HR wants on the platform, validated and normalised. */
export interface DesiredEmployee {
  key: EmployeeKey
  /** False for a leaver: never synced, but a finding while still in service on the platform. */
  active: boolean
  fields: EmployeeFields
  /** HR gives no document type: a passport is only assumed from the number. */
  assumesPassport?: true
}

/** The name of an employee or department for people and commands: with its enterprise as a prefix, if there are several. */
export function qualified(enterpriseCode: string, key: string): string {
  return enterpriseCode === '' ? key : `${enterpriseCode}/${key}`
}

/** The keys that such a name may mean: a user id may have slashes, too. */
export function keysOfName(name: string): EmployeeKey[] {
  const slash = name.indexOf('/')
  const whole = { enterpriseCode: '', userid: name }
  if (slash <= 0) return [whole]
  return [whole, { enterpriseCode: name.slice(0, slash), userid: name.slice(slash + 1) }]
}

/** One text per key, usable as a map key. */
export function keyText(key: EmployeeKey): string {
  return JSON.stringify([key.enterpriseCode, key.userid])
}

/** The key of such a text. */
export function keyOfText(text: string): EmployeeKey {
  const [enterpriseCode, userid] = JSON.parse(text) as [string, string]
  return { enterpriseCode, userid }
}
