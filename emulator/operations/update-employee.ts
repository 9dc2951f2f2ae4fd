import type { z } from 'zod'
import { isCallingCode } from '../calling-codes.ts'
import { BusinessError } from '../codes.ts'
import { isDocumentNumber } from '../document-number.ts'
import type { Employee, UniqueField } from '../employees.ts'
import { EVERY_ATTRIBUTE, type Features } from '../enterprises.ts'
import {
  attributeList,
  birthDay,
  clearable,
  clearableOrEmpty,
  commaList,
  date,
  integer,
  type ObjectSchema,
  text,
  workNumber,
} from '../fields.ts'
import { defineOperation } from '../operation.ts'
import type { Platform } from '../platform.ts'

const DEFAULT_MOBILE_AREA = 86

const parameters = (object: ObjectSchema) =>
  object({
    userid: text(1, 100),
    enterprise_code: text(1, 20).default(''),
    third_type: integer(1, 5).optional(),
    name: text(1, 50).optional(),
    code: workNumber.optional(),
    new_corp_code: workNumber.optional(),
    corp_code: workNumber.optional(),
    gender: integer(1, 3).optional(),
    email: text(1, 100).optional(),
    mobile_area: integer(0, 9_999_999_999).optional(),
    mobile: text(6, 20).optional(),
    remark: text(0, 254).optional(),
    dept_code: text(1, 50).optional(),
    departmentId: text(1, 50).optional(),
    level: clearableOrEmpty(text(1, 50)).optional(),
    category: clearableOrEmpty(commaList).optional(),
    birth_day: clearable(birthDay).optional(),
    entry_day: clearable(date).optional(),
    card_type: integer(1, 2).optional(),
    card_no: text(1, 30).optional(),
    employee_attribute: attributeList(object).optional(),
    cost_center_id: integer(1, 2_147_483_647).optional(),
  })

type Update = z.output<ReturnType<typeof parameters>>

/**
 * Update employee (specification 4.3). Everything is checked before anything changes, and the first failure
 * in this order is the answer:
 *
 * 1. 1000220002: types and limits, parameters in the order above, then unknown ones
 * 2. 1000240002: enterprise_code
 * 3. 1000220096, 1000220102: the employee, who must be in service
 * 4. 1000220030, 1000210028, 1000220072: level, category, employee_attribute while switched off (also to clear)
 * 5. 1002219069: mobile_area
 * 6. 1000220010: dept_code
 * 7. 1002219046: card_no against card_type, also when only one of them changes (1000220002: there is no card_type)
 * 8. 1002219003, 1002218004, 1002218007: work number, e-mail, mobile of another employee in service
 *
 * Double spellings: new_corp_code is the new work number, else code, else corp_code; dept_code goes before
 * departmentId. A mobile without mobile_area has area 86. An employee_attribute list replaces the former one.
 * A birth_day of `MM-dd` keeps the year that is known, where the two make a date.
 */
export const updateEmployee = defineOperation({
  name: 'employee/update',
  encoding: 'form',
  takesToken: true,
  parameters,
  perform(platform, update) {
    const features = platform.enterprises.require(update.enterprise_code)
    const present = platform.employees.require(update.enterprise_code, update.userid)
    checkFeatures(features, update)
    const next = merge(present, update)
    if (update.mobile_area !== undefined && !isCallingCode(update.mobile_area)) {
      throw new BusinessError('mobileArea')
    }
    checkDepartment(platform, present, next)
    checkDocument(present, next)
    checkUnique(platform, next)
    platform.employees.put(next)
    return { data: next.corp_code ?? '' }
  },
})

function checkFeatures(features: Features, update: Update): void {
  if (update.level !== undefined && !features.level) throw new BusinessError('levelOff')
  if (update.category !== undefined && !features.category) throw new BusinessError('categoryOff')
  const enabled = features.employee_attribute
  if (enabled.includes(EVERY_ATTRIBUTE)) return
  for (const { attributeCode } of update.employee_attribute ?? []) {
    if (!enabled.includes(attributeCode)) throw new BusinessError('attributeOff')
  }
}

function merge(present: Employee, update: Update): Employee {
  const { third_type, code, new_corp_code, corp_code, departmentId, ...fields } = update
  const next: Employee = { ...present, ...withoutUndefined(fields) }
  next.corp_code = new_corp_code ?? code ?? corp_code ?? present.corp_code
  next.dept_code = update.dept_code ?? departmentId ?? present.dept_code
  if (update.mobile !== undefined) next.mobile_area = update.mobile_area ?? DEFAULT_MOBILE_AREA
  if (update.remark === '') next.remark = null
  if (update.birth_day?.length === 5) next.birth_day = withKnownYear(update.birth_day, present.birth_day)
  return next
}

function withKnownYear(monthDay: string, known: string | null): string {
  const full = `${known?.slice(0, 4)}-${monthDay}`
  return known?.length === 10 && date.safeParse(full).success ? full : monthDay
}

function checkDepartment(platform: Platform, present: Employee, next: Employee): void {
  if (next.dept_code === null || next.dept_code === present.dept_code) return
  if (!platform.departments.find(next.enterprise_code, next.dept_code)) {
    throw new BusinessError('departmentMissing')
  }
}

function checkDocument(present: Employee, next: Employee): void {
  if (next.card_no === null) return
  if (next.card_no === present.card_no && next.card_type === present.card_type) return
  if (next.card_type === null) throw new BusinessError('parameters', 'card_no needs a card_type')
  if (!isDocumentNumber(next.card_type, next.card_no)) throw new BusinessError('document')
}

function checkUnique(platform: Platform, next: Employee): void {
  const kinds = { corp_code: 'workNumberTaken', email: 'emailTaken', mobile: 'mobileTaken' } as const
  for (const field of ['corp_code', 'email', 'mobile'] satisfies UniqueField[]) {
    if (next[field] === null) continue
    const holder = platform.employees.holder(field, next)
    if (holder !== undefined && holder.userid !== next.userid) throw new BusinessError(kinds[field])
  }
}

function withoutUndefined<Fields extends object>(fields: Fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Fields]: Exclude<Fields[Name], undefined>
  }
}
