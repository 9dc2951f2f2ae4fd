import { type Change, DIFFERENCES, type Planted } from './differences.ts'
import type { Pair } from './people.ts'
import { type ExpectedDeadLetter, type Outcome, TROUBLES } from './troubles.ts'

/** One planted employee, and the outcome in the first full sync. */
export interface EmployeeCase {
  case: string
  enterprise_code: string
  userid: string
  outcome: Outcome
  dead_letters: ExpectedDeadLetter[]
  /** The colleague who has the wanted value, or had it before. */
  other_userid?: string
}

/** Every fourth employee takes part at most; those in between stay in sync, and so do the first three. */
const STRIDE = 4

/** Plants all differences and troubles, each on employees of its own; changes `people` in place. */
export function plantCases(people: Pair[]): EmployeeCase[] {
  const cases: EmployeeCase[] = []
  const free = new Map(['E100', 'E200'].map(enterprise => [enterprise, candidates(people, enterprise)]))
  const take = (enterprise: string, fits: (pair: Planted) => boolean = () => true): Planted => {
    const pool = free.get(enterprise) ?? []
    const index = pool.findIndex(fits)
    const [taken] = index < 0 ? [] : pool.splice(index, 1)
    if (!taken) throw new Error(`${enterprise} has no employees left to plant on: generate more`)
    return taken
  }
  const note = (name: string, { hr }: Planted, outcome: Outcome, deadLetters: ExpectedDeadLetter[] = []) => {
    const noted: EmployeeCase = {
      case: name,
      enterprise_code: hr.company,
      userid: hr.staffId,
      outcome,
      dead_letters: deadLetters,
    }
    cases.push(noted)
    return noted
  }

  for (const difference of DIFFERENCES) {
    for (let n = 0; n < difference.count; n++) {
      const pair = take('E100', difference.fits)
      apply(difference.plant(pair, n), pair)
      note(difference.case, pair, 'updated')
    }
  }
  for (const trouble of TROUBLES) {
    const pair = take(trouble.enterprise ?? 'E100', trouble.fits)
    const noted = note(trouble.case, pair, trouble.outcome, trouble.deadLetters)
    const other = trouble.other && take('E100')
    apply(trouble.plant(pair, other ?? pair), pair, other)
    if (!other) continue
    noted.other_userid = other.hr.staffId
    if (trouble.other && trouble.other !== 'in_sync')
      note(`${trouble.case}: that colleague`, other, trouble.other)
  }
  for (const { hr } of people.filter(pair => pair.hr.company === 'E900')) {
    cases.push({
      case: 'enterprise that is not bound',
      enterprise_code: hr.company,
      userid: hr.staffId,
      outcome: 'halted',
      dead_letters: [],
    })
  }
  return cases
}

function apply({ hr, platform, otherPlatform }: Change, pair: Pair, other?: Planted): void {
  Object.assign(pair.hr, hr)
  if (platform === null) pair.platform = null
  else if (pair.platform) Object.assign(pair.platform, platform)
  if (other) Object.assign(other.platform, otherPlatform)
}

function candidates(people: Pair[], enterprise: string): Planted[] {
  return people
    .filter(pair => pair.hr.company === enterprise)
    .filter((_, index) => index % STRIDE === STRIDE - 1)
    .filter((pair): pair is Planted => pair.platform !== null)
}
