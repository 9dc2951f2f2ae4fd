import type { Change, Planted } from './differences.ts'
import { identityNumber, withWrongCheckDigit } from './identity-number.ts'
import { NEW_UNIT } from './organisation.ts'
import { mobileNumber, type Person } from './people.ts'

/** The outcome of an employee in the first sync; defined in the README. */
export type Outcome =
  | 'in_sync'
  | 'updated'
  | 'partly_updated'
  | 'awaiting_activation'
  | 'dead_lettered'
  | 'halted'
  | 'out_of_scope'

/** A dead letter to expect; `field` is null where it concerns the employee as a whole. */
export interface ExpectedDeadLetter {
  category: string
  field: string | null
}

/** A trouble that is planted once, not an ordinary difference. */
export interface Trouble {
  case: string
  outcome: Outcome
  deadLetters?: ExpectedDeadLetter[]
  /** E100 if absent. */
  enterprise?: 'E200'
  /** Who can have this trouble; anyone if absent. */
  fits?(pair: Planted): boolean
  /** The outcome of the other employee who takes part, with a later userid; absent if there is none. */
  other?: Outcome
  plant(pair: Planted, other: Planted): Change
}

/** Serial of the mobile that one employee gives up and another takes over. */
const HANDED_OVER_MOBILE = 8900

const hasIdentityCard = ({ hr }: Planted) => hr.document?.kind === 'ID'
const LEFT: Partial<Person> = { status: 'L', leftOn: '2025-05-31' }
const one = (category: string, field: string | null): ExpectedDeadLetter[] => [{ category, field }]

const REJECTED_BY_VALIDATION: Trouble[] = [
  {
    case: 'identity number with a wrong check digit',
    outcome: 'dead_lettered',
    deadLetters: one('invalid_hr_row', 'card_no'),
    fits: hasIdentityCard,
    plant: ({ hr }) => ({
      hr: { document: { kind: 'ID', number: withWrongCheckDigit(hr.document?.number ?? '') } },
    }),
  },
  {
    case: 'birth day that no calendar has',
    outcome: 'dead_lettered',
    deadLetters: one('invalid_hr_row', 'birth_day'),
    fits: ({ hr }) => hr.document?.kind === 'PP',
    plant: () => ({ hr: { birthDate: '1987-02-30' } }),
  },
  {
    case: 'name of more than 50 characters',
    outcome: 'dead_lettered',
    deadLetters: one('invalid_hr_row', 'name'),
    plant: ({ hr }) => ({ hr: { name: { ...hr.name, given: 'Ruotiao'.repeat(7) } } }),
  },
  {
    case: 'mobile with letters',
    outcome: 'dead_lettered',
    deadLetters: one('invalid_hr_row', 'mobile'),
    plant: () => ({ hr: { mobile: { area: '86', number: '100CALL0001', typed: '100-CALL-0001' } } }),
  },
]

const REJECTED_BY_PLATFORM: Trouble[] = [
  {
    case: 'work number of a colleague',
    outcome: 'dead_lettered',
    deadLetters: one('duplicate_work_number', 'corp_code'),
    other: 'in_sync',
    plant: (_, other) => ({ hr: { workNumber: other.hr.workNumber } }),
  },
  {
    case: 'e-mail of a colleague',
    outcome: 'dead_lettered',
    deadLetters: one('duplicate_email', 'email'),
    other: 'in_sync',
    plant: (_, other) => ({ hr: { email: other.hr.email } }),
  },
  {
    case: 'mobile of a colleague',
    outcome: 'dead_lettered',
    deadLetters: one('duplicate_mobile', 'mobile'),
    other: 'in_sync',
    plant: (_, other) => ({ hr: { mobile: other.hr.mobile } }),
  },
  {
    case: 'department that the platform lacks',
    outcome: 'dead_lettered',
    deadLetters: one('missing_department', 'dept_code'),
    plant: () => ({ hr: { unit: NEW_UNIT } }),
  },
  {
    case: 'identity number of a province that does not exist',
    outcome: 'dead_lettered',
    deadLetters: one('invalid_document', 'card_no'),
    fits: hasIdentityCard,
    plant: ({ hr }) => ({
      hr: { document: { kind: 'ID', number: identityNumber('99', hr.birthDate ?? '', 1) } },
    }),
  },
  {
    case: 'area code that no country has',
    outcome: 'dead_lettered',
    deadLetters: one('invalid_mobile_area', 'mobile'),
    plant: ({ hr }) => ({
      hr: { mobile: { area: '999', number: ownNumber(hr), typed: `+999 ${ownNumber(hr)}` } },
    }),
  },
  {
    case: 'e-mail of a colleague, department that the platform lacks, and a name spelt otherwise',
    outcome: 'partly_updated',
    deadLetters: [...one('duplicate_email', 'email'), ...one('missing_department', 'dept_code')],
    other: 'in_sync',
    plant: ({ platform }, other) => ({
      hr: { email: other.hr.email, unit: NEW_UNIT },
      platform: { name: platform.name.toUpperCase() },
    }),
  },
  {
    case: 'grade where grades are off',
    enterprise: 'E200',
    outcome: 'dead_lettered',
    deadLetters: one('feature_disabled', 'level'),
    plant: () => ({ hr: { grade: 'P4' } }),
  },
  {
    case: 'category where categories are off',
    enterprise: 'E200',
    outcome: 'dead_lettered',
    deadLetters: one('feature_disabled', 'category'),
    plant: () => ({ hr: { staffGroups: ['first-aid'] } }),
  },
  {
    case: 'attribute that is not enabled',
    enterprise: 'E200',
    outcome: 'dead_lettered',
    deadLetters: one('feature_disabled', 'employee_attribute'),
    plant: () => ({ hr: { contract: 'O' } }),
  },
]

const COMING_AND_GOING: Trouble[] = [
  {
    case: 'not added on the platform',
    outcome: 'awaiting_activation',
    deadLetters: one('not_on_platform', null),
    plant: () => ({ platform: null }),
  },
  {
    case: 'out of service on the platform',
    outcome: 'awaiting_activation',
    deadLetters: one('not_on_platform', null),
    plant: () => ({ platform: { in_service: false } }),
  },
  {
    case: 'left, and still in service on the platform',
    outcome: 'out_of_scope',
    deadLetters: one('left_hr', null),
    plant: () => ({ hr: LEFT }),
  },
  {
    case: 'left, and out of service on the platform',
    outcome: 'out_of_scope',
    plant: () => ({ hr: LEFT, platform: { in_service: false } }),
  },
]

/** Differences that resolve themselves, and apparent differences that are none. */
const HARMLESS: Trouble[] = [
  {
    case: 'takes over the mobile that a later colleague gives up',
    outcome: 'updated',
    other: 'updated',
    plant: () => {
      const mobile = mobileNumber(HANDED_OVER_MOBILE)
      return { hr: { mobile }, otherPlatform: { mobile_area: Number(mobile.area), mobile: mobile.number } }
    },
  },
  {
    case: 'work number in other letters, which compares equal',
    outcome: 'in_sync',
    plant: ({ platform }) => ({ platform: { corp_code: platform.corp_code.toLowerCase() } }),
  },
  {
    case: 'mobile in full-width digits',
    outcome: 'in_sync',
    fits: ({ hr }) => hr.mobile?.area === '86',
    plant: ({ hr }) => ({
      hr: { mobile: { area: '86', number: ownNumber(hr), typed: fullWidth(ownNumber(hr)) } },
    }),
  },
  {
    case: 'name with blanks around it',
    outcome: 'in_sync',
    fits: ({ hr }) => hr.name.familyFirst,
    plant: ({ hr }) => ({
      hr: { name: { ...hr.name, family: ` ${hr.name.family}`, given: `${hr.name.given}  ` } },
    }),
  },
  {
    case: 'birth day without the year',
    outcome: 'in_sync',
    plant: ({ hr }) => ({ hr: { birthDate: hr.birthDate?.slice(5) ?? null } }),
  },
  {
    case: 'no e-mail in HR: the one on the platform stays',
    outcome: 'in_sync',
    plant: () => ({ hr: { email: null } }),
  },
  {
    case: 'came back: two employments, the present one counts',
    outcome: 'in_sync',
    plant: ({ hr }) => ({ hr: { earlierUntil: `${Number(hr.hiredOn?.slice(0, 4)) - 1}-06-30` } }),
  },
]

export const TROUBLES: Trouble[] = [
  ...HARMLESS,
  ...REJECTED_BY_VALIDATION,
  ...REJECTED_BY_PLATFORM,
  ...COMING_AND_GOING,
]

function ownNumber(hr: Person): string {
  return hr.mobile?.number ?? ''
}

function fullWidth(digits: string): string {
  return digits.replace(/\d/g, digit => String.fromCharCode(digit.charCodeAt(0) + 0xfee0))
}
