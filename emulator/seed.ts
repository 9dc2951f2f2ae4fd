import { z } from 'zod'
import { ControlError, parseControl } from './control-error.ts'
import type { Employee, UniqueField } from './employees.ts'
import { EVERY_ATTRIBUTE } from './enterprises.ts'
import type { Platform } from './platform.ts'
import { enterpriseCode, optionalInteger, optionalText } from './seed-values.ts'
import { currentTrade, putTrade, TRADE_SEED } from './trade-seed.ts'

/**
 * The seed format: what the platform is to hold. `GET /_emulator/state` answers in the same format. A seed's
 * types are checked, its values are not: a real directory, too, holds what its rules would refuse today.
 */
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

const department = z.strictObject({
  enterprise_code: enterpriseCode,
  dept_code: z.string().min(1),
  dept_name: z.string(),
  parent_code: optionalText,
  base: z.boolean().default(false),
})

const employee = z.strictObject({
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
  level: optionalText,
  category: z
    .array(z.string())
    .nullish()
    .transform(list => (list?.length ? list : null)),
  birth_day: optionalText,
  entry_day: optionalText,
  cost_center_id: optionalInteger,
  employee_attribute: z
    .array(z.strictObject({ attributeCode: z.string(), attributeValue: z.string() }))
    .nullish()
    .transform(list => (list?.length ? list : null)),
  in_service: z.boolean().default(true),
  time_created: optionalText,
  time_active: optionalText,
})

const openid = z.strictObject({
  enterprise_code: enterpriseCode,
  userid: z.string().min(1),
  seller_appid: z.string().min(1),
  open_userid: z.string().min(1),
})

const seedSchema = z.strictObject({
  enterprises: z.array(enterprise).default([]),
  departments: z.array(department).default([]),
  employees: z.array(employee).default([]),
  openids: z.array(openid).default([]),
  ...TRADE_SEED,
})

/**
 * Adds a seed to what the platform holds; what has the same key is replaced. An enterprise code that is new is
 * bound, with every feature on. All of the seed goes in, or none of it: throws `ControlError` for a wrong shape,
 * a department or parent that does not exist, and a work number, e-mail, mobile or external trade number that two
 * would share.
 */
export function applySeed(platform: Platform, seed: unknown): Record<string, number> {
  const { enterprises, departments, employees, openids, ...trade } = parseControl(seedSchema, seed)
  platform.database.transaction(() => {
    for (const item of enterprises) platform.enterprises.put(item)
    for (const item of [...departments, ...employees]) {
      if (item.enterprise_code !== '') platform.enterprises.register(item.enterprise_code)
    }
    for (const item of departments) platform.departments.put(item)
    for (const item of employees) putEmployee(platform, item)
    for (const item of openids) platform.openids.put(item)
    checkReferences(platform)
    putTrade(platform, trade)
  })
  const added = { enterprises, departments, employees, openids, ...trade }
  return Object.fromEntries(Object.entries(added).map(([name, items]) => [name, items.length]))
}

/** Everything the platform holds, in the seed format; with `userid`, the employees of that id and their open ids. */
export function currentState(platform: Platform, userid?: string) {
  const employees = platform.employees.list(userid)
  const openids = platform.openids.list(userid)
  if (userid !== undefined) return { employees, openids }
  return {
    enterprises: platform.enterprises.list(),
    departments: platform.departments.list(),
    employees,
    openids,
    ...currentTrade(platform),
  }
}

function putEmployee(platform: Platform, seeded: z.output<typeof employee>): void {
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
