/** A unit as HR holds it, and whether the platform has it too. */
export interface Unit {
  company: string
  code: string
  title: string
  parent: string | null
  /** A PostgreSQL interval before the moment of loading, e.g. `2 days`; null while the unit is open. */
  closedAgo: string | null
  /** How the platform holds the department: under which enterprise, and whether as its base. Null if it lacks it. */
  platform: { enterprise: string; parent: string | null; base: boolean } | null
}

/** What a sync does with a closed unit. */
export interface DepartmentCase {
  case: string
  enterprise_code: string
  dept_code: string
  outcome: 'deleted' | 'already_gone' | 'dead_lettered' | 'kept'
  category: string | null
}

const DIVISIONS = ['Supply', 'Production', 'Logistics', 'Sales', 'Service', 'Administration']
const DEPARTMENTS_PER_DIVISION = 3
const POOLS_PER_DIVISION = 17

/** In HR and in use, but not on the platform yet. */
export const NEW_UNIT = 'D630'
/** Closed in HR, although people are still in it. */
export const CLOSED_UNIT_IN_USE = 'D530'

/**
 * The 25 departments of E100 that people work in: the base, six divisions, three departments in each. The pools beside
 * the departments are open and empty, as planned positions are; they make five deletions a harmless share of all.
 */
function mainUnits(): Unit[] {
  const units = [unit('E100', 'D000', 'Board', null)]
  DIVISIONS.forEach((title, index) => {
    const division = `D${index + 1}00`
    units.push(unit('E100', division, title, 'D000'))
    for (let n = 1; n <= DEPARTMENTS_PER_DIVISION; n++) {
      units.push(unit('E100', `D${index + 1}${n}0`, `${title} ${n}`, division))
    }
    for (let n = 1; n <= POOLS_PER_DIVISION; n++) {
      units.push(unit('E100', `D${index + 1}${40 + n}`, `${title} pool ${n}`, division))
    }
  })
  return units
}

function unit(
  company: string,
  code: string,
  title: string,
  parent: string | null,
  closedAgo: string | null = null,
): Unit {
  const platform = company === 'E900' ? null : { enterprise: company, parent, base: parent === null }
  return { company, code, title, parent, closedAgo, platform }
}

export function buildUnits(): Unit[] {
  const units = [
    ...mainUnits(),
    unit('E100', 'D700', 'Trade fairs', 'D000', '2 days'),
    unit('E100', 'D710', 'Trade fairs abroad', 'D700', '2 days'),
    { ...unit('E100', 'D800', 'Archive', 'D000', '5 days'), platform: null },
    {
      ...unit('E100', 'D810', 'Repairs', 'D000', '5 days'),
      platform: { enterprise: 'E200', parent: 'S001', base: false },
    },
    unit('E100', 'D820', 'Canteen', 'D000', '1 hour'),
    unit('E200', 'S000', 'Subsidiary', null, '10 days'),
    {
      ...unit('E200', 'S001', 'Subsidiary head office', null),
      platform: { enterprise: 'E200', parent: 'S000', base: false },
    },
    unit('E200', 'S010', 'Subsidiary workshop', 'S001'),
    unit('E200', 'S020', 'Subsidiary sales', 'S001'),
    unit('E900', 'X000', 'Joint venture', null),
  ]
  for (const each of units) {
    if (each.code === NEW_UNIT) each.platform = null
    if (each.code === CLOSED_UNIT_IN_USE) each.closedAgo = '30 days'
  }
  return units
}

/** Every closed unit, and what the first sync makes of it. */
export const DEPARTMENT_CASES: DepartmentCase[] = [
  closed('closed child, deleted before its parent', 'E100', 'D710', 'deleted'),
  closed('closed parent', 'E100', 'D700', 'deleted'),
  closed('closed, and the platform lacks it', 'E100', 'D800', 'already_gone'),
  closed('closed, and on the platform it belongs to E200', 'E100', 'D810', 'dead_lettered', 'no_permission'),
  closed('closed, but the base on the platform', 'E200', 'S000', 'dead_lettered', 'base_department'),
  closed('closed an hour ago: within the grace period', 'E100', 'D820', 'kept'),
  closed('closed with employees in it', 'E100', CLOSED_UNIT_IN_USE, 'kept'),
]

function closed(
  name: string,
  enterprise: string,
  code: string,
  outcome: DepartmentCase['outcome'],
  category: string | null = null,
): DepartmentCase {
  return { case: name, enterprise_code: enterprise, dept_code: code, outcome, category }
}
