import { type SourceScope, WHOLE } from '../../src/hr/sources.ts'

/** Who plays in a seed: HR's sources, and their employees. */
export interface Stage {
  /** As HR_SOURCES has them. */
  sources: readonly SourceScope[]
  /** As people name them: `enterprise/userid`, or a user id alone. Most happens to the first ones. */
  employees: readonly string[]
  /** Enterprises whose departments HR has, too. */
  departmentsOf: readonly string[]
  /** One of the two processes was started before the settings were changed. */
  hasOlder?: boolean
  /** What HR_SOURCES may say from some moment on, for processes that start then. */
  changesTo?: readonly (readonly SourceScope[])[]
  /** The merchant applications for which employees get open ids. */
  merchants?: readonly string[]
  /** Into how many jobs all work that is fed together is divided; default: one for each employee. */
  jobs?: number
}

/** Few employees, so that much happens to each. */
export const ALONE: Stage = { sources: [WHOLE], employees: ['e0', 'e1', 'e2', 'e3'], departmentsOf: [] }

/** One user id is an employee of both sources. */
const GROUP: Stage = {
  sources: [
    { name: 'shanghai', codes: ['E1', 'E3'] },
    { name: 'beijing', codes: ['E2'] },
  ],
  employees: ['E1/e0', 'E2/e0', 'E1/e1', 'E2/e3', 'E3/e2', 'E2/e4'],
  departmentsOf: [],
}

/** An enterprise moves to the other source, a source is removed, or there is a single HR system; and all as it was. */
const REGROUPED: Stage = {
  ...GROUP,
  changesTo: [
    [
      { name: 'shanghai', codes: ['E1'] },
      { name: 'beijing', codes: ['E2', 'E3'] },
    ],
    [{ name: 'shanghai', codes: ['E1', 'E3'] }],
    [WHOLE],
    GROUP.sources,
  ],
}

/** Every other seed has the smallest stage, which is the fastest. */
const STAGES: readonly Stage[] = [
  REGROUPED,
  ALONE,
  { ...ALONE, departmentsOf: [''], jobs: 1 },
  { ...ALONE, jobs: 1, merchants: ['20000001'] },
  { ...REGROUPED, departmentsOf: ['E1', 'E2'], hasOlder: true, jobs: 2 },
  ALONE,
]

export function stageOf(seed: number): Stage {
  return STAGES[seed % STAGES.length] as Stage
}

/** The enterprise of an employee or department, by its name; empty for a single one. */
export function enterpriseOf(name: string): string {
  return name.slice(0, Math.max(0, name.indexOf('/')))
}

/** Its user id or code within the enterprise. */
export function keyOf(name: string): string {
  return name.slice(name.indexOf('/') + 1)
}

/** SQL: the name of what a row is about. */
export function nameIn(row: string, key: 'userid' | 'entity_key' | 'dept_code'): string {
  return `concat_ws('/', nullif(${row}.enterprise_code, ''), ${row}.${key})`
}
