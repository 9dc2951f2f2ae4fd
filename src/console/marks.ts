import { html, type SafeHtml } from '@remix-run/html-template'
import { type EmployeeKey, keyText } from '../directory/employee.ts'
import { shortened } from '../lib/text.ts'
import { type DepartmentKey, departmentText } from './people.ts'

/*
 * Names of people and departments on pages. While a page is drawn, each key that it shows leaves a mark behind it; once it is
 * drawn, HR is asked once for all of them, and the marks become names, or nothing (names.ts). A page that reads HR itself says
 * before that whom it expects to show, so that both are asked at the same time.
 */

/** Longer names are cut. */
const LONGEST = 60
const MARK = /<span class="name" data-name="(\d+)">([^<]*)<\/span>/g

/** People and departments, of whom the same may be there several times. */
export interface ShownKeys {
  readonly employees: readonly EmployeeKey[]
  readonly departments: readonly DepartmentKey[]
}

type Told<Key> = Key & { name: string | null }

/** Names by `keyText` and `departmentText`, as far as HR tells them. */
export interface ToldNames {
  employees: ReadonlyMap<string, string>
  departments: ReadonlyMap<string, string>
}

/** The keys on one page. */
export class Marks implements ShownKeys {
  readonly employees: EmployeeKey[] = []
  readonly departments: DepartmentKey[] = []
  readonly #look: ((keys: ShownKeys) => Promise<ToldNames>) | null
  readonly #kinds: [kind: 'employees' | 'departments', index: number][] = []
  readonly #asked = { employees: new Set<string>(), departments: new Set<string>() }
  readonly #answers: { wanted: ShownKeys; told: Promise<ToldNames> }[] = []

  /** @param look asks HR; null: nothing is named */
  constructor(look: ((keys: ShownKeys) => Promise<ToldNames>) | null = null) {
    this.#look = look
  }

  /** Asks HR for names that the page is likely to show, each once. */
  expect({ employees, departments }: ShownKeys): void {
    const wanted = {
      employees: newIn(this.#asked.employees, employees, keyText),
      departments: newIn(this.#asked.departments, departments, departmentText),
    }
    if (this.#look && wanted.employees.length + wanted.departments.length > 0)
      this.#answers.push({ wanted, told: this.#look(wanted) })
  }

  /** Names that HR has told already, as where it was searched; not kept where nothing is named. */
  tell({
    employees,
    departments,
  }: {
    employees: readonly Told<EmployeeKey>[]
    departments: readonly Told<DepartmentKey>[]
  }): void {
    if (this.#look === null) return
    const wanted = {
      employees: newIn(this.#asked.employees, employees, keyText),
      departments: newIn(this.#asked.departments, departments, departmentText),
    }
    const told = {
      employees: new Map(wanted.employees.map(one => [keyText(one), one.name ?? ''])),
      departments: new Map(wanted.departments.map(one => [departmentText(one), one.name ?? ''])),
    }
    this.#answers.push({ wanted, told: Promise.resolve(told) })
  }

  /** The names of all keys of the page. What an early question was not told at all, such as while HR was connected to, is asked again. */
  async names(): Promise<ToldNames> {
    for (const { wanted, told } of this.#answers) {
      const { employees, departments } = await told
      if (employees.size === 0) for (const key of wanted.employees) this.#asked.employees.delete(keyText(key))
      if (departments.size === 0)
        for (const key of wanted.departments) this.#asked.departments.delete(departmentText(key))
    }
    this.expect(this)
    const answers = await Promise.all(this.#answers.map(({ told }) => told))
    return {
      employees: new Map(answers.flatMap(({ employees }) => [...employees])),
      departments: new Map(answers.flatMap(({ departments }) => [...departments])),
    }
  }

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

/** The keys that are not in a set yet, to which they are added. */
function newIn<Key>(known: Set<string>, keys: readonly Key[], textOf: (key: Key) => string): Key[] {
  return keys.filter(key => {
    const text = textOf(key)
    return !known.has(text) && known.add(text)
  })
}
