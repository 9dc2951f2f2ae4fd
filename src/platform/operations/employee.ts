import { z } from 'zod'
import { fits, parsedJson } from '../../lib/text.ts'
import { worded } from '../../texts/message.ts'
import {
  answerInteger,
  answerText,
  clearableBirthday,
  clearableDate,
  digits,
  email,
  enterpriseCode,
  mobile,
  oneOfDigits,
  text,
  thirdType,
  userid,
} from '../fields.ts'
import { defineOperation, isAsked } from '../operation.ts'

const MAX_COST_CENTER = 2_147_483_647

/**
 * Update an employee (section 4.3). Omitted parameters keep their value; `#default#` clears a date, the level or the
 * categories; the empty text clears the remark, the level or the categories.
 */
export const employeeUpdate = defineOperation({
  name: 'employee/update',
  idempotent: true,
  clearedByEmpty: ['remark', 'level', 'category'],
  request: z
    .strictObject({
      userid,
      enterprise_code: enterpriseCode.optional(),
      third_type: thirdType.optional(),
      name: text(50).optional(),
      code: text(20).optional(),
      new_corp_code: z
        .string()
        .regex(/^[0-9A-Za-z]{1,20}$/, worded('said.must_be_work_number'))
        .optional(),
      gender: oneOfDigits(['1', '2', '3'], worded('said.must_be_gender')).optional(),
      email: email.optional(),
      mobile_area: digits.optional(),
      mobile: mobile.optional(),
      remark: text(254).optional(),
      dept_code: text(50).optional(),
      level: text(50).optional(),
      category: z
        .string()
        .refine(value => value.isWellFormed(), worded('said.must_be_complete'))
        .optional(),
      birth_day: clearableBirthday.optional(),
      entry_day: clearableDate.optional(),
      card_type: oneOfDigits(['1', '2'], worded('said.must_be_card_type')).optional(),
      card_no: text(30).optional(),
      employee_attribute: z.string().refine(isAttributeList, worded('said.must_be_attributes')).optional(),
      cost_center_id: digits
        .refine(
          value => Number(value) >= 1 && Number(value) <= MAX_COST_CENTER,
          worded('said.must_be_whole', { least: 1, most: MAX_COST_CENTER }),
        )
        .optional(),
    })
    .refine(hasDocumentFormat, {
      path: ['card_no'],
      message: worded('said.must_be_document'),
    }),
  /** The work number. */
  response: z.union([z.string(), z.number().transform(String), z.null().transform(() => '')]).default(''),
})

export type EmployeeUpdate = z.input<typeof employeeUpdate.request>

function hasDocumentFormat(update: {
  card_type?: string | undefined
  card_no?: string | undefined
}): boolean {
  if (update.card_no === undefined) return true
  if (update.card_type === '1') return /^(?:\d{17}[\dXx]|\d{15})$/.test(update.card_no)
  return update.card_type !== '2' || /^[0-9A-Za-z]{1,20}$/.test(update.card_no)
}

function isAttributeList(value: string): boolean {
  const list = parsedJson(value)
  const isText = (item: unknown) =>
    typeof item === 'string' && item !== '' && item.isWellFormed() && fits(item, 100)
  return (
    Array.isArray(list) &&
    list.length > 0 &&
    list.every(item => isText(item?.attributeCode) && isText(item.attributeValue))
  )
}

/** Query an employee in service (section 4.4). */
export const employeeGet = defineOperation({
  name: 'employee/get',
  idempotent: true,
  request: z
    .strictObject({
      userid: userid.optional(),
      enterprise_code: enterpriseCode.optional(),
      mobile_area: digits.optional(),
      mobile: mobile.optional(),
      email: email.optional(),
    })
    .refine(
      query => query.userid !== undefined || query.mobile !== undefined || query.email !== undefined,
      worded('said.needs_one_of', { names: ['userid', 'mobile', 'email'] }),
    ),
  response: z.object({
    userid: answerText,
    corp_code: answerText,
    name: answerText,
    gender: answerInteger,
    card_type: answerInteger,
    card_no: answerText,
    email: answerText,
    mobile_area: answerText,
    mobile: answerText,
    remark: answerText,
    dept_code: answerText,
    dept_name: answerText,
    level: answerText,
    category: z.union([z.array(z.string()), z.string().transform(joined => joined.split(','))]).nullish(),
    birth_day: answerText,
    entry_day: answerText,
    time_created: answerText,
    time_active: answerText,
  }),
  isAbout: ({ userid }, answer) => isAsked(userid, answer.userid),
})

export type EmployeeQuery = z.input<typeof employeeGet.request>

/** An employee as the platform returns it. `level` and `category` are null while their feature is off (section 2.3). */
export type PlatformEmployee = z.output<typeof employeeGet.response>

/** Bind and query the open id of an employee for a merchant application (section 4.5). */
export const employeeOpenid = defineOperation({
  name: 'employee/openid',
  idempotent: true,
  request: z.strictObject({
    userid,
    enterprise_code: enterpriseCode.optional(),
    seller_appid: text(8),
    third_type: thirdType.optional(),
  }),
  response: z.object({ userid: answerText, open_userid: z.string().min(1), seller_appid: answerText }),
  isAbout: ({ userid, seller_appid }, answer) =>
    isAsked(userid, answer.userid) && isAsked(seller_appid, answer.seller_appid),
})

export type OpenidQuery = z.input<typeof employeeOpenid.request>

/** The binding (section 2.4); the merchant knows `open_userid` as `buyer_open_id`. */
export type OpenidBinding = z.output<typeof employeeOpenid.response>

/** Delete a department (section 4.6). One that does not exist (1000220010) has reached its goal. */
export const departmentDelete = defineOperation({
  name: 'department/delete',
  idempotent: true,
  request: z.strictObject({ dept_code: text(50), enterprise_code: enterpriseCode.optional() }),
  /** The department code. */
  response: z.union([z.string(), z.number().transform(String), z.null().transform(() => '')]).default(''),
  isAbout: ({ dept_code }, answer) => isAsked(dept_code, answer),
})

export type DepartmentDeletion = z.input<typeof departmentDelete.request>
