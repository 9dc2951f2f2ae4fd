import { mobileNumber, type Pair, type Person, type PlatformEmployee } from './people.ts'

/** A person who is in HR and on the platform. */
export type Planted = Pair & { platform: PlatformEmployee }

/** What planting changes on either side; `platform: null` takes the employee off the platform. */
export interface Change {
  hr?: Partial<Person>
  platform?: Partial<PlatformEmployee> | null
  /** On the platform, for the other employee who takes part. */
  otherPlatform?: Partial<PlatformEmployee>
}

/** An ordinary difference: HR has changed, and the first sync updates the platform. */
export interface Difference {
  case: string
  count: number
  /** Who can have this difference; anyone if absent. */
  fits?(pair: Planted): boolean
  /** `n` counts from 0. */
  plant(pair: Planted, n: number): Change
}

/** Serials of mobiles that no one in HR has any more. */
const OLD_MOBILES = 8000
const OLD_PASSPORTS = 60_000_000

export const DIFFERENCES: Difference[] = [
  { case: 'name spelt otherwise', count: 5, plant: pair => ({ platform: misspelt(pair) }) },
  { case: 'new mobile', count: 4, plant: (_, n) => ({ platform: oldMobile(n) }) },
  { case: 'moved to another department', count: 5, plant: pair => ({ platform: oldDepartment(pair) }) },
  {
    case: 'new grade',
    count: 4,
    plant: ({ hr }) => ({ platform: { level: hr.grade === 'P1' ? 'P2' : 'P1' } }),
  },
  { case: 'entry day corrected', count: 3, plant: pair => ({ platform: enteredAYearEarlier(pair) }) },
  {
    case: 'other cost center',
    count: 3,
    plant: (_, n) => ({ hr: { costCenter: 41 + n }, platform: { cost_center_id: 7 } }),
  },
  {
    case: 'other contract (extended attribute)',
    count: 2,
    plant: (_, n) => ({ hr: { contract: n === 0 ? 'T' : 'H' }, platform: intern() }),
  },
  {
    case: 'other contract and taxpayer (two extended attributes)',
    count: 1,
    plant: () => ({ hr: { contract: 'O', taxpayerRef: 'TP-0002' }, platform: intern() }),
  },
  {
    case: 'new e-mail',
    count: 2,
    plant: ({ platform }) => ({ platform: { email: `former.${platform.email}` } }),
  },
  { case: 'other gender', count: 1, plant: ({ hr }) => ({ platform: { gender: hr.sex === 'M' ? 2 : 1 } }) },
  {
    case: 'new passport',
    count: 2,
    fits: ({ hr }) => hr.document?.kind === 'PP',
    plant: (_, n) => ({ platform: { card_no: `Q${OLD_PASSPORTS + n}` } }),
  },
  {
    case: 'new work number',
    count: 1,
    plant: ({ platform }) => ({ platform: { corp_code: `OLD${platform.corp_code}` } }),
  },
  {
    case: 'other categories',
    count: 1,
    plant: () => ({ hr: { staffGroups: ['on-call', 'driver', 'trainer'] } }),
  },
  { case: 'other remark', count: 1, plant: () => ({ hr: { note: 'Laptop number 0815' } }) },
  {
    case: 'name, mobile and department at once',
    count: 2,
    plant: (pair, n) => ({ platform: { ...misspelt(pair), ...oldMobile(50 + n), ...oldDepartment(pair) } }),
  },
  // Only these five can be cleared on the platform.
  {
    case: 'remark cleared',
    count: 1,
    plant: () => ({ hr: { note: null }, platform: { remark: 'Has a locker' } }),
  },
  { case: 'birth day cleared', count: 1, plant: () => ({ hr: { birthDate: null } }) },
  { case: 'entry day cleared', count: 1, plant: () => ({ hr: { hiredOn: null } }) },
  { case: 'grade cleared', count: 1, plant: () => ({ hr: { grade: null } }) },
  {
    case: 'categories cleared',
    count: 1,
    plant: () => ({ hr: { staffGroups: [] }, platform: { category: ['driver'] } }),
  },
]

function misspelt({ platform }: Planted): Partial<PlatformEmployee> {
  return { name: platform.name.toUpperCase() }
}

function oldMobile(n: number): Partial<PlatformEmployee> {
  return { mobile_area: 86, mobile: mobileNumber(OLD_MOBILES + n).number }
}

function oldDepartment({ platform }: Planted): Partial<PlatformEmployee> {
  return { dept_code: platform.dept_code === 'D110' ? 'D120' : 'D110' }
}

/** Days run from 1 to 28, so that the date exists in every year. */
function enteredAYearEarlier({ hr }: Planted): Partial<PlatformEmployee> {
  const day = hr.hiredOn ?? '2001-01-01'
  return { entry_day: `${Number(day.slice(0, 4)) - 1}${day.slice(4)}` }
}

function intern(): Partial<PlatformEmployee> {
  return { employee_attribute: [{ attributeCode: 'contract_nature', attributeValue: 'intern' }] }
}
