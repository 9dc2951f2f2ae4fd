import { html, type SafeHtml } from '@remix-run/html-template'
import type { EmployeeKey } from '../directory/employee.ts'
import { shortened } from '../lib/text.ts'
import type { DepartmentKey } from './people.ts'

/*
 * Names of people and departments on pages. While a page is drawn, each key that it shows leaves a mark behind it; once it is
 * drawn, HR is asked once for all of them, and the marks become names, or nothing (names.ts).
 */

/** Longer names are cut. */
const LONGEST = 60
const MARK = /<span class="name" data-name="(\d+)">([^<]*)<\/span>/g

/** The keys on one page. */
export class Marks {
  readonly employees: EmployeeKey[] = []
  readonly departments: DepartmentKey[] = []
  readonly #kinds: [kind: 'employees' | 'departments', index: number][] = []

  /** The mark for the name of one of them. @param or what stands there where HR does not tell it */
  nameOf(key: EmployeeKey | DepartmentKey, or = ''): SafeHtml {
    return 'userid' in key
      ? this.#mark('employees', this.employees.push(key) - 1, or)
      : this.#mark('departments', this.departments.push(key) - 1, or)
  }

  /** The text of a page with names in place of its marks. Texts of others cannot forge one: they are escaped. */
  replaced(page: string, nameOf: { employees: string[]; departments: string[] }): string {
    return page.replace(MARK, (_, mark, or: string) => {
      const [kind, index] = this.#kinds[Number(mark)] ?? []
      const name = (kind !== undefined && index !== undefined && nameOf[kind][index]) || ''
      return name === '' ? or : String(html` <bdi class="name">${shortened(name, LONGEST)}</bdi>`)
    })
  }

  #mark(kind: 'employees' | 'departments', index: number, or: string): SafeHtml {
    const mark = this.#kinds.push([kind, index]) - 1
    return html`<span class="name" data-name="${mark}">${or}</span>`
  }
}
