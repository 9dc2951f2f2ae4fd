import { html, type SafeHtml } from '@remix-run/html-template'
import { keyText } from '../directory/employee.ts'
import { maskValue } from '../directory/masking.ts'
import type { Ask } from './ask.ts'
import type { NavEntry } from './endpoint.ts'
import type { ShownKeys, ToldNames } from './marks.ts'
import { departmentText, type People } from './people.ts'

/** Puts names where pages have left marks for them. */
export class PageNames {
  readonly #people: People

  constructor(people: People) {
    this.#people = people
  }

  /** What HR tells of some names at this moment. Never fails. */
  async look({ employees, departments }: ShownKeys): Promise<ToldNames> {
    const [rows, named] = await Promise.all([
      employees.length === 0 ? new Map() : this.#people.employees(employees, ['name']),
      departments.length === 0 ? new Map() : this.#people.departments(departments),
    ])
    return { employees: new Map([...rows].map(([key, { name }]) => [key, name ?? ''])), departments: named }
  }

  /** A drawn page with the names of its people: masked for viewers, plain for others, and that is recorded first. */
  async put(ask: Ask, page: SafeHtml, screen: NavEntry): Promise<SafeHtml> {
    const { employees, departments } = ask.marks
    if (employees.length + departments.length === 0) return page
    const named = await ask.marks.names()
    const isPlain = ask.viewer.role !== 'viewer'
    const isTold = employees.some(key => named.employees.has(keyText(key)))
    // What cannot be recorded is not shown.
    const isHidden = isPlain && isTold && !(await this.#record(ask, screen))
    const nameOf = {
      employees: employees.map(key => {
        const name = (!isHidden && named.employees.get(keyText(key))) || ''
        return isPlain ? name : (maskValue('name', name) ?? '')
      }),
      departments: departments.map(key => named.departments.get(departmentText(key)) ?? ''),
    }
    return html.raw`${ask.marks.replaced(String(page), nameOf)}`
  }

  /** @returns whether it is recorded that this viewer reads people's names on this screen */
  #record(ask: Ask, screen: NavEntry): Promise<boolean> {
    return this.#people.readings.record(ask, 'names', { screen }).then(
      () => true,
      () => false,
    )
  }
}
