import { z } from 'zod'
import { derivedId, type UniqueField } from './employees.ts'
import { EVERY_ATTRIBUTE } from './enterprises.ts'
import { ControlError, parseControl } from './errors.ts'
import { amountText, isTime, parseAmount, parseJson } from './fields.ts'
import { commerceOrder, ORDER_STATUS, type Order } from './orders.ts'
import type { Platform } from './platform.ts'

/**
 * The seed format: what the platform is to hold. `GET /_emulator/state` answers in the same format, and an answer of an
 * operation can be put back as it is. The types of a seed are checked, its values are not: a real directory, too, holds values
 * that its rules would refuse today.
 */

/** Where a number begins with this, the application id of the platform takes its place. */
const APP_ID = '{appid}'

const enterpriseCode = z
  .string()
  .nullish()
  .transform(code => code ?? '')

const optionalText = z
  .string()
  .nullish()
  .transform(value => (value === undefined || value === '' ? null : value))

const optionalInteger = z
  .union([z.int(), z.string().regex(/^\d+$/).transform(Number).pipe(z.int())])
  .nullish()
  .transform(value => value ?? null)

/** A decimal as text or JSON number, read as cents. */
const amount = z.union([z.string(), z.number()]).transform((value, context) => {
  const cents = parseAmount(String(value))
  if (cents !== undefined) return cents
  context.addIssue('must be a decimal with at most two places')
  return z.NEVER
})

/** A time of the platform, GMT+8. */
const time = z.string().refine(isTime, 'must be a time, yyyy-MM-dd HH:mm:ss')

const number = z.string().min(1)

const enterprise = z.strictObject({
  enterprise_code: enterpriseCode,
  features: z
    .strictObject({
      level: z.boolean().default(true),
      category: z.boolean().default(true),
      /** The enabled attribute codes; `*` enables every one. */
      employee_attribute: z.array(z.string()).default([EVERY_ATTRIBUTE]),
    })
    .prefault({}),
})

const department = z
  .strictObject({
    enterprise_code: enterpriseCode,
    dept_code: z.string().min(1),
    /** Without one, the code. */
    dept_name: z.string().nullish(),
    parent_code: optionalText,
    /** The base (root) department of the enterprise, which cannot be deleted. */
    base: z.boolean().default(false),
  })
  .transform(({ dept_name, ...rest }) => ({ ...rest, dept_name: dept_name ?? rest.dept_code }))
export type Department = z.output<typeof department>

/** As the platform keeps it, too; null is a field without a value. */
const employee = z
  .strictObject({
    enterprise_code: enterpriseCode,
    userid: z.string().min(1),
    corp_code: optionalText,
    name: optionalText,
    gender: optionalInteger,
    card_type: optionalInteger,
    card_no: optionalText,
    email: optionalText,
    mobile_area: optionalInteger,
    mobile: optionalText,
    remark: optionalText,
    dept_code: optionalText,
    /** That of `dept_code`; an answer has it. */
    dept_name: z.string().nullish(),
    level: optionalText,
    category: z
      .array(z.string())
      .nullish()
      .transform(list => (list?.length ? list : null)),
    /** `yyyy-MM-dd`, or `MM-dd` when the year is not known. */
    birth_day: optionalText,
    entry_day: optionalText,
    cost_center_id: optionalInteger,
    /** As a list, or as the JSON text of one, which an update takes. */
    employee_attribute: z.preprocess(
      value => (typeof value === 'string' ? (value === '' ? null : (parseJson(value) ?? value)) : value),
      z
        .array(z.strictObject({ attributeCode: z.string(), attributeValue: z.string() }))
        .nullish()
        .transform(list => (list?.length ? list : null)),
    ),
    in_service: z.boolean().default(true),
    time_created: optionalText,
    time_active: optionalText,
  })
  .transform(({ dept_name, ...rest }) => rest)

export type Employee = z.output<typeof employee>

const openid = z.strictObject({
  enterprise_code: enterpriseCode,
  userid: z.string().min(1),
  seller_appid: z.string().min(1),
  open_userid: z.string().min(1),
})

export type OpenId = z.output<typeof openid>

const order = z.preprocess(
  underFirstNames,
  z.strictObject({
    enterprise_code: enterpriseCode,
    trade_no: number,
    out_trade_no: optionalText,
    userid: optionalText,
    payer_name: optionalText,
    subject: optionalText,
    reason: optionalText,
    total_amount: amount,
    pay_amount: amount.optional(),
    refund_amount: amount.default(0n),
    status: z.int().default(ORDER_STATUS.completed),
    create_time: time.optional(),
    pay_time: time.nullish(),
    refund_time: time.nullish(),
    asset_code: z.string().default('POINT'),
    service_fee: z.boolean().default(false),
    commerce_order_detail: commerceOrder.nullish(),
  }),
)

/** The other names that section 2.6 gives fields of a payment order. A field in both spellings is refused as unknown. */
const SECOND_NAMES = { outer_trade_no: 'out_trade_no', assetCode: 'asset_code' } as const

function underFirstNames(item: unknown): unknown {
  if (typeof item !== 'object' || item === null) return item
  const renamed: Record<string, unknown> = { ...item }
  for (const [second, first] of Object.entries(SECOND_NAMES)) {
    if (!(second in renamed) || first in renamed) continue
    renamed[first] = renamed[second]
    delete renamed[second]
  }
  return renamed
}

const refund = z.strictObject({
  outer_refund_no: number,
  outer_trade_no: number,
  refund_amount: amount,
  reason: optionalText,
  refund_time: time.optional(),
})

/** The balance is in cents. */
const account = z.strictObject({
  enterprise_code: enterpriseCode,
  account_openid: number,
  name: z.string(),
  product_category: z.int().default(1),
  balance: amount.default(0n),
  /** 1 valid, 2 invalid. */
  status: z.int().default(1),
  /** Null for an account without sub-accounts, whose answer lacks the field. */
  sub_limits: z
    .array(z.strictObject({ id: z.int(), name: z.string(), status: z.int().default(1) }))
    .nullish()
    .transform(list => list ?? null),
})

export type Account = z.output<typeof account>

const topup = z.strictObject({
  enterprise_code: enterpriseCode,
  external_code: number,
  account_openid: number,
  amount,
  apply_charge_openid: number.optional(),
  time_created: time.optional(),
})

const taxpayer = z.strictObject({
  enterprise_code: enterpriseCode,
  identifier: number,
  taxpayer_name: z.string().min(1),
  /** 1 general, 2 small-scale. */
  taxpayer_nature: z.int().default(2),
  /** 1 normal, 2 disabled. */
  status: z.int().default(1),
})
export type Taxpayer = z.output<typeof taxpayer>

const seedSchema = z.strictObject({
  enterprises: z.array(enterprise).default([]),
  departments: z.array(department).default([]),
  employees: z.array(employee).default([]),
  openids: z.array(openid).default([]),
  orders: z.array(order).default([]),
  refunds: z.array(refund).default([]),
  accounts: z.array(account).default([]),
  topups: z.array(topup).default([]),
  taxpayers: z.array(taxpayer).default([]),
})

type Seed = z.output<typeof seedSchema>

/**
 * Adds a seed to what the platform holds; what has the same key is replaced. An enterprise code that is new is
 * bound, with every feature on. All of the seed goes in, or none of it: throws `ControlError` for a wrong shape,
 * a department or parent that does not exist, and a work number, e-mail, mobile or external trade number that two
 * would share.
 */
export function applySeed(platform: Platform, seed: unknown): Record<string, number> {
  const added = parseControl(seedSchema, seed)
  const { enterprises, departments, employees, openids, orders, accounts, topups, taxpayers } = added
  platform.database.transaction(() => {
    for (const item of enterprises) platform.enterprises.put(item)
    for (const item of [...departments, ...employees, ...orders, ...accounts, ...topups, ...taxpayers]) {
      if (item.enterprise_code !== '') platform.enterprises.register(item.enterprise_code)
    }
    for (const item of departments) platform.departments.put(item)
    for (const item of employees) putEmployee(platform, item)
    for (const item of openids) platform.openids.put(item)
    checkReferences(platform)
    putTrade(platform, added)
  })
  return Object.fromEntries(Object.entries(added).map(([name, items]) => [name, items.length]))
}

/** Everything the platform holds, in the seed format; with `userid`, the employees of that id and their open ids. */
export function currentState(platform: Platform, userid?: string): Record<string, unknown> {
  const employees = platform.employees.list(userid)
  const openids = platform.openids.list(userid)
  if (userid !== undefined) return { employees, openids }
  return {
    enterprises: platform.enterprises.list(),
    departments: platform.departments.list(),
    employees,
    openids,
    orders: platform.orders.list().map(({ commerce_order_detail: detail, ...item }) => ({
      ...item,
      total_amount: amountText(item.total_amount),
      pay_amount: amountText(item.pay_amount),
      refund_amount: amountText(item.refund_amount),
      commerce_order_detail: detail === null ? null : JSON.parse(detail),
    })),
    refunds: platform.refunds
      .list()
      .map(item => ({ ...item, refund_amount: amountText(item.refund_amount) })),
    accounts: platform.accounts.list().map(item => ({ ...item, balance: amountText(item.balance) })),
    topups: platform.topups.list().map(item => ({ ...item, amount: amountText(item.amount) })),
    taxpayers: platform.taxpayers.list(),
  }
}

function putEmployee(platform: Platform, seeded: Employee): void {
  const item: Employee = {
    ...seeded,
    mobile_area: seeded.mobile_area ?? (seeded.mobile === null ? null : 86),
    time_created: seeded.time_created ?? platform.clock.timeText(),
  }
  for (const field of ['corp_code', 'email', 'mobile'] satisfies UniqueField[]) {
    if (!item.in_service || item[field] === null) continue
    const holder = platform.employees.holder(field, item)
    if (holder !== undefined && holder.userid !== item.userid) {
      throw new ControlError(`employee ${item.userid}: ${field} is held by employee ${holder.userid}`)
    }
  }
  platform.employees.put(item)
}

function checkReferences(platform: Platform): void {
  const child = platform.departments.dangling()
  if (child !== undefined) {
    throw new ControlError(`department ${child.dept_code}: parent ${child.parent_code} does not exist`)
  }
  const stray = platform.employees.strayed()
  if (stray !== undefined) {
    throw new ControlError(`employee ${stray.userid}: department ${stray.dept_code} does not exist`)
  }
}

/**
 * Adds the part of a seed that has to do with money. A paid order that does not say otherwise was paid in full when it was
 * created, and a time that is left out is the platform's present one.
 */
function putTrade(platform: Platform, seed: Seed): void {
  const own = (text: string) => (text.startsWith(APP_ID) ? platform.appId + text.slice(APP_ID.length) : text)
  const now = platform.clock.timeText()
  for (const item of seed.orders) {
    const out_trade_no = item.out_trade_no && own(item.out_trade_no)
    const holder = out_trade_no ? platform.orders.findOuter(out_trade_no) : undefined
    if (holder !== undefined && holder.trade_no !== item.trade_no) {
      throw new ControlError(`order ${item.trade_no}: out_trade_no is held by order ${holder.trade_no}`)
    }
    platform.orders.put(withDefaults({ ...item, out_trade_no }, now))
  }
  for (const item of seed.refunds) {
    const { outer_refund_no, outer_trade_no, refund_time = now } = item
    const numbers = { outer_refund_no: own(outer_refund_no), outer_trade_no: own(outer_trade_no) }
    platform.refunds.put({ ...item, ...numbers, refund_time })
  }
  for (const item of seed.accounts) platform.accounts.put(item)
  for (const item of seed.topups) {
    const external_code = own(item.external_code)
    const { apply_charge_openid = derivedId(external_code), time_created = now } = item
    platform.topups.put({ ...item, external_code, apply_charge_openid, time_created })
  }
  for (const item of seed.taxpayers) platform.taxpayers.put(item)
}

function withDefaults(item: z.output<typeof order>, now: string): Order {
  const isPaid = item.status >= ORDER_STATUS.completed
  const create_time = item.create_time ?? now
  return {
    ...item,
    pay_amount: item.pay_amount ?? (isPaid ? item.total_amount : 0n),
    create_time,
    pay_time: item.pay_time === undefined && isPaid ? create_time : (item.pay_time ?? null),
    refund_time: item.refund_time ?? null,
    commerce_order_detail: item.commerce_order_detail ? JSON.stringify(item.commerce_order_detail) : null,
  }
}
