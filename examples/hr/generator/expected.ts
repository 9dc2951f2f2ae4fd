import { DEPARTMENT_CASES, type Unit } from './organisation.ts'
import type { Pair } from './people.ts'
import type { EmployeeCase } from './plant.ts'
import type { Outcome } from './troubles.ts'

/** The result of the first full sync of everything, counted from what was planted; terms as in the README. */
export function expectedResult(units: Unit[], people: Pair[], cases: EmployeeCase[]) {
  const ended = (outcome: Outcome) => cases.filter(each => each.outcome === outcome).length
  const undisturbed = people.length - cases.length
  const departments = (outcome: string) => DEPARTMENT_CASES.filter(each => each.outcome === outcome).length
  const categories = [
    ...cases.flatMap(each => each.dead_letters.map(letter => letter.category)),
    ...DEPARTMENT_CASES.flatMap(each => each.category ?? []),
  ]
  const deadLetters: Record<string, number> = {}
  for (const category of categories.sort()) deadLetters[category] = (deadLetters[category] ?? 0) + 1
  return {
    employees: {
      in_scope: people.length - ended('out_of_scope'),
      in_sync: undisturbed + ended('in_sync'),
      updated: ended('updated'),
      partly_updated: ended('partly_updated'),
      awaiting_activation: ended('awaiting_activation'),
      dead_lettered: ended('dead_lettered'),
      halted: ended('halted'),
      out_of_scope: ended('out_of_scope'),
    },
    departments: {
      in_hr: units.length,
      candidates: DEPARTMENT_CASES.filter(each => each.outcome !== 'kept').length,
      deleted: departments('deleted'),
      already_gone: departments('already_gone'),
      dead_lettered: departments('dead_lettered'),
      kept: departments('kept'),
    },
    dead_letters: deadLetters,
    employee_cases: cases,
    department_cases: DEPARTMENT_CASES,
  }
}
