import { identityNumber } from './identity-number.ts'
import { mailName, type PersonName, personName, writtenName } from './names.ts'
import { CLOSED_UNIT_IN_USE, NEW_UNIT, type Unit } from './organisation.ts'
import type { Random } from './random.ts'

/** A person with the present employment, in HR's own terms (see schema.sql). */
export interface Person {
  company: string
  staffId: string
  name: PersonName
  sex: 'M' | 'F' | 'X'
  birthDate: string | null
  document: { kind: 'ID' | 'PP'; number: string } | null
  note: string | null
  /** Area code and number apart, and the number as typed into HR. */
  mobile: { area: string; number: string; typed: string } | null
  email: string | null
  privateEmail: string | null
  workNumber: string
  unit: string
  status: 'A' | 'P' | 'B' | 'L'
  hiredOn: string | null
  leftOn: string | null
  /** When an earlier employment ended, for someone who came back. */
  earlierUntil: string | null
  grade: string | null
  staffGroups: string[]
  costCenter: number | null
  contract: 'R' | 'T' | 'I' | 'H' | 'O'
  taxpayerRef: string | null
}

/** An employee as the emulator is seeded with it: the specification's field names. */
export interface PlatformEmployee {
  enterprise_code: string
  userid: string
  corp_code: string
  name: string
  gender: number
  card_type?: number
  card_no?: string
  email?: string
  mobile_area?: number
  mobile?: string
  remark?: string
  dept_code: string
  level?: string
  category?: string[]
  birth_day?: string
  entry_day?: string
  cost_center_id?: number
  employee_attribute?: { attributeCode: string; attributeValue: string }[]
  in_service?: boolean
}

/** A person in HR, and the same one on the platform (null: not added there). */
export interface Pair {
  hr: Person
  platform: PlatformEmployee | null
}

const MAIN_EMPLOYEES = 320
const SUBSIDIARY_EMPLOYEES = 14
const UNBOUND_EMPLOYEES = 2
/** One mobile in so many is a foreign one. */
const FOREIGN_EVERY = 20

const GRADES = ['P1', 'P2', 'P3', 'P4', 'P5', 'P6', 'M1', 'M2', 'M3']
const STAFF_GROUPS = ['driver', 'first-aid', 'night-shift', 'on-call', 'works-council']
const NOTES = ['Parking place 12', 'Key to the side entrance', 'Prefers calls in the morning', '储物柜 3 号']
/** Provinces that exist; 99 does not. */
const PROVINCES = ['11', '31', '33', '44', '51', '61']

/** Unassigned mobile numbers: no mainland number starts with 100, and 555-01xx and 7700 900xxx are reserved. */
export function mobileNumber(serial: number): { area: string; number: string; typed: string } {
  const number = `1000001${String(serial).padStart(4, '0')}`
  const grouped = [number.slice(0, 3), number.slice(3, 7), number.slice(7)]
  const typed =
    [number, `+86 ${grouped.join(' ')}`, grouped.join('-'), `0086-${number}`][serial % 4] ?? number
  return { area: '86', number, typed }
}

function foreignNumber(serial: number): { area: string; number: string; typed: string } {
  const last = String(100 + serial)
  if (serial % 2 === 0) return { area: '1', number: `2025550${last}`, typed: `+1 (202) 555-0${last}` }
  return { area: '44', number: `7700900${last}`, typed: `+44 7700 900${last}` }
}

function date(random: Random, firstYear: number, years: number): string {
  const month = String(1 + random.below(12)).padStart(2, '0')
  const day = String(1 + random.below(28)).padStart(2, '0')
  return `${firstYear + random.below(years)}-${month}-${day}`
}

function person(random: Random, company: string, staffId: string, unit: string): Person {
  const number = Number(staffId.slice(1))
  // 20001 is the 1001st, so that numbers stay apart in four digits.
  const serial = (number % 10_000) + 1000 * (Math.floor(number / 10_000) - 1)
  const name = personName(random)
  const passport = random.chance(15)
  const sex = passport && random.chance(30) ? 'X' : random.chance(50) ? 'M' : 'F'
  const birthDate = date(random, 1962, 38)
  const foreign = serial % FOREIGN_EVERY === 0
  const mail = `${mailName(name, number)}@${company === 'E100' ? 'example.com' : 'example.org'}`
  const sequence = random.below(499) * 2 + (sex === 'M' ? 1 : 0)
  return {
    company,
    staffId,
    name,
    sex,
    birthDate,
    document: passport
      ? { kind: 'PP', number: `Q${String(70_000_000 + number)}` }
      : { kind: 'ID', number: identityNumber(random.pick(PROVINCES), birthDate, sequence) },
    note: random.chance(15) ? random.pick(NOTES) : null,
    mobile: foreign ? foreignNumber(serial / FOREIGN_EVERY) : mobileNumber(serial),
    email: mail,
    privateEmail: random.chance(10) ? `home.${number}@example.org` : null,
    workNumber: `W${number}`,
    unit,
    status: random.chance(8) ? 'P' : random.chance(4) ? 'B' : 'A',
    hiredOn: date(random, Number(birthDate.slice(0, 4)) + 20, 4),
    leftOn: null,
    earlierUntil: null,
    grade: company === 'E100' ? random.pick(GRADES) : null,
    staffGroups: company === 'E100' && random.chance(35) ? staffGroups(random) : [],
    costCenter: null,
    contract: 'R',
    taxpayerRef: null,
  }
}

function staffGroups(random: Random): string[] {
  return [...new Set([random.pick(STAFF_GROUPS), random.pick(STAFF_GROUPS)])]
}

/** What the platform holds when it is in sync with HR: the mapping query's work, done a second time and by other means. */
function inSync(hr: Person): PlatformEmployee {
  return {
    enterprise_code: hr.company,
    userid: hr.staffId,
    corp_code: hr.workNumber,
    name: writtenName(hr.name),
    gender: { M: 1, F: 2, X: 3 }[hr.sex],
    ...(hr.document && { card_type: hr.document.kind === 'ID' ? 1 : 2, card_no: hr.document.number }),
    ...(hr.email && { email: hr.email }),
    ...(hr.mobile && { mobile_area: Number(hr.mobile.area), mobile: hr.mobile.number }),
    ...(hr.note && { remark: hr.note }),
    dept_code: hr.unit,
    ...(hr.grade && { level: hr.grade }),
    ...(hr.staffGroups.length > 0 && { category: [...hr.staffGroups] }),
    ...(hr.birthDate && { birth_day: hr.birthDate }),
    ...(hr.hiredOn && { entry_day: hr.hiredOn }),
  }
}

/** Everybody, all in sync; the employees of E900 are in HR alone, since the platform knows no such enterprise. */
export function buildPeople(random: Random, units: Unit[]): Pair[] {
  const main = units.filter(
    unit => unit.company === 'E100' && unit.closedAgo === null && /^D\d[0-3]0$/.test(unit.code),
  )
  const people: Pair[] = []
  const add = (hr: Person) => people.push({ hr, platform: hr.company === 'E900' ? null : inSync(hr) })

  const workplaces = main.map(unit => unit.code).filter(code => code !== NEW_UNIT)
  for (let n = 1; n <= MAIN_EMPLOYEES; n++) {
    const unit = n <= 2 ? CLOSED_UNIT_IN_USE : workplace(workplaces, n)
    add(person(random, 'E100', `e${10_000 + n}`, unit))
  }
  for (let n = 1; n <= SUBSIDIARY_EMPLOYEES; n++) {
    add(person(random, 'E200', `e${20_000 + n}`, ['S010', 'S020', 'S001'][n % 3] ?? 'S010'))
  }
  for (let n = 1; n <= UNBOUND_EMPLOYEES; n++) add(person(random, 'E900', `e${30_000 + n}`, 'X000'))
  return people
}

function workplace(codes: string[], n: number): string {
  return codes[n % codes.length] ?? 'D000'
}
