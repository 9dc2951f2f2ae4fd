import type { z } from 'zod'
import type { UniqueField } from '../employees.ts'
import { EVERY_ATTRIBUTE, type Features } from '../enterprises.ts'
import { BusinessError } from '../errors.ts'
import {
  attributeList,
  birthDay,
  clearable,
  clearableOrEmpty,
  commaList,
  date,
  enterpriseCode,
  integer,
  isDate,
  type ObjectSchema,
  text,
  workNumber,
} from '../fields.ts'
import { defineOperation } from '../operation.ts'
import type { Platform } from '../platform.ts'
import type { Employee } from '../seed.ts'

const DEFAULT_MOBILE_AREA = 86

const updateParameters = (object: ObjectSchema) =>
  object({
    userid: text(1, 100),
    enterprise_code: enterpriseCode,
    third_type: integer(1, 5).optional(),
    name: text(1, 50).optional(),
    code: text(1, 20).optional(),
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

type Update = z.output<ReturnType<typeof updateParameters>>

/**
 * Update employee (section 4.3). Everything is checked before anything changes, and the first failure
 * in this order is the answer:
 *
 * 1. 1000220002: types and limits, parameters in the order above, then unknown ones
 * 2. 1000240002: enterprise_code
 * 3. 1000220096, 1000220102: the employee, who must be in service
 * 4. 1000220030, 1000210028, 1000220072: level, category, employee_attribute while switched off (also to clear)
 * 5. 1002219069: mobile_area
 * 6. 1000220010: dept_code
 * 7. 1002219046: card_no against card_type, also when only one of them changes (1000220002: there is no card_type)
 * 8. 1000220002: a code that would be the new work number, though it has more than letters and digits
 * 9. 1002219003, 1002218004, 1002218007: work number, e-mail, mobile of another employee in service
 *
 * Double spellings: new_corp_code is the new work number, else code, else corp_code; dept_code goes before
 * departmentId. A mobile without mobile_area has area 86. An employee_attribute list replaces the former one.
 * A birth_day of `MM-dd` keeps the year that is known, where the two make a date.
 */
export const updateEmployee = defineOperation({
  name: 'employee/update',
  parameters: updateParameters,
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
    checkWorkNumber(present, next)
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

function checkWorkNumber(present: Employee, next: Employee): void {
  if (next.corp_code === null || next.corp_code === present.corp_code) return
  const { error } = workNumber.safeParse(next.corp_code)
  if (error) throw new BusinessError('parameters', `code ${error.issues[0]?.message}`)
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

const PROVINCES = new Set(
  '11 12 13 14 15 21 22 23 31 32 33 34 35 36 37 41 42 43 44 45 46 50 51 52 53 54 61 62 63 64 65 71 81 82 83'.split(
    ' ',
  ),
)
const WEIGHTS = [7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2]
const CHECK_DIGITS = '10X98765432'

/**
 * Whether a document number fits its type (section 4.3): 1, a mainland identity number of 18 digits with
 * its check digit (or of 15 digits), an existing province and a day of the calendar; 2, a passport of 1 to 20
 * letters or digits.
 */
function isDocumentNumber(cardType: number, cardNo: string): boolean {
  return cardType === 1 ? isIdentityNumber(cardNo) : /^[A-Za-z0-9]{1,20}$/.test(cardNo)
}

function isIdentityNumber(text: string): boolean {
  if (!PROVINCES.has(text.slice(0, 2))) return false
  if (/^\d{15}$/.test(text)) return isBirthDate(`19${text.slice(6, 12)}`)
  if (!/^\d{17}[\dXx]$/.test(text) || !isBirthDate(text.slice(6, 14))) return false
  const sum = WEIGHTS.reduce((total, weight, index) => total + weight * Number(text[index]), 0)
  return CHECK_DIGITS[sum % 11] === text[17]?.toUpperCase()
}

function isBirthDate(digits: string): boolean {
  return isDate(`${digits.slice(0, 4)}-${digits.slice(4, 6)}-${digits.slice(6)}`)
}

/** Country calling codes in use (ITU-T E.164), as single codes and `from-to` ranges. */
const RANGES = `1 7 20 27 30-34 36 39-41 43-49 51-58 60-66 81 82 84 86 90-95 98
  211-213 216 218 220-258 260-269 290 291 297-299 350-359 370-378 380-383 385-387 389 420 421 423
  500-509 590-599 670 672-683 685-692 850 852 853 855 856 880 886 960-968 970-977 992-996 998`

const KNOWN = new Set(
  RANGES.split(/\s+/).flatMap(range => {
    const [from = 0, to = from] = range.split('-').map(Number)
    return Array.from({ length: to - from + 1 }, (_, index) => from + index)
  }),
)

function isCallingCode(code: number): boolean {
  return KNOWN.has(code)
}

const queryParameters = (object: ObjectSchema) =>
  object({
    userid: text(1, 100).optional(),
    enterprise_code: enterpriseCode,
    mobile_area: integer(0, 9_999_999_999).default(DEFAULT_MOBILE_AREA),
    mobile: text(6, 20).optional(),
    email: text(1, 100).optional(),
  })

/**
 * Query employee (section 4.4). Where more than one of userid, mobile and email is given, one employee
 * must fit them all. The answer has neither employee_attribute nor cost_center_id, and level and category are
 * null while their feature is off.
 */
export const getEmployee = defineOperation({
  name: 'employee/get',
  parameters: queryParameters,
  perform(platform, query) {
    if (query.userid === undefined && query.mobile === undefined && query.email === undefined) {
      throw new BusinessError('parameters', 'at least one of userid, mobile and email is required')
    }
    const features = platform.enterprises.require(query.enterprise_code)
    const employee = findOne(platform, query)
    const { enterprise_code, employee_attribute, cost_center_id, in_service, ...answer } = employee
    const department = employee.dept_code && platform.departments.find(enterprise_code, employee.dept_code)
    return {
      data: {
        ...answer,
        dept_name: department ? department.dept_name : null,
        level: features.level ? employee.level : null,
        category: features.category ? employee.category : null,
      },
    }
  },
})

function findOne(platform: Platform, query: z.output<ReturnType<typeof queryParameters>>): Employee {
  const { enterprise_code, userid, mobile_area, mobile, email } = query
  const found = new Set<string | undefined>()
  let employee: Employee | undefined
  if (email !== undefined) {
    employee = platform.employees.findByEmail(enterprise_code, email)
    found.add(employee?.userid)
  }
  if (mobile !== undefined) {
    employee = platform.employees.findByMobile(enterprise_code, mobile_area, mobile)
    found.add(employee?.userid)
  }
  if (userid !== undefined) {
    employee = platform.employees.require(enterprise_code, userid)
    found.add(employee.userid)
  }
  if (employee === undefined || found.size > 1) throw new BusinessError('employeeMissing')
  return employee
}

/** Bind and query employee open id (section 4.5), for an employee in service. */
export const bindOpenId = defineOperation({
  name: 'employee/openid',
  parameters: object =>
    object({
      userid: text(1, 100),
      enterprise_code: enterpriseCode,
      seller_appid: text(1, 8),
      third_type: integer(1, 5).optional(),
    }),
  perform(platform, { enterprise_code, userid, seller_appid }) {
    platform.enterprises.require(enterprise_code)
    platform.employees.require(enterprise_code, userid)
    const open_userid = platform.openids.bind(enterprise_code, userid, seller_appid)
    return { data: { userid, open_userid, seller_appid } }
  },
})

/** Delete department (section 4.6); see `Departments.delete` for one that is not empty. */
export const deleteDepartment = defineOperation({
  name: 'department/delete',
  parameters: object =>
    object({
      enterprise_code: enterpriseCode,
      dept_code: text(1, 50),
    }),
  perform(platform, { enterprise_code, dept_code }) {
    platform.enterprises.require(enterprise_code)
    return { data: dept_code, effect: platform.departments.delete(enterprise_code, dept_code) }
  },
})
