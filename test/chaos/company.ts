import pg from 'pg'
import type { Dice } from './dice.ts'

/** The invented company: its HR table, which people edit all the time, and every value that HR has ever had. */

export interface Person {
  userid: string
  name: string
  mobile: string
  email: string
  dept_code: string
  entry_day: string
  active: boolean
}

/** Compared between HR and the platform. */
export const FIELDS = ['name', 'mobile', 'email', 'dept_code', 'entry_day'] as const
type Field = (typeof FIELDS)[number]

export const MAPPING = 'select userid, name, mobile, email, dept_code, entry_day, active from person\n'

/** Rows as `userid`, and the columns that change. */
type Edit = { userid: string } & Partial<Pick<Person, Field>>

const DEPARTMENTS = ['D0', 'D1', 'D2', 'D3', 'D4']
/** As people keep HR: one to three rows at a time. */
const EDIT_EVERY_MS = 500

export class Company {
  readonly people: readonly Person[]
  readonly #hr: pg.Pool
  /** By user id and field, whatever HR has had. */
  readonly #history = new Map<string, Set<string>>()
  #numbers = 0
  #editing: NodeJS.Timeout | undefined
  edits = 0

  constructor(url: string, employees: number) {
    this.#hr = new pg.Pool({
      connectionString: url,
      max: 4,
      connectionTimeoutMillis: 3000,
      query_timeout: 5000,
    })
    this.#hr.on('error', () => {})
    this.people = Array.from({ length: employees }, (_, i) => ({
      userid: `e${String(i).padStart(4, '0')}`,
      name: `Person ${i}`,
      mobile: `1990000${String(i).padStart(4, '0')}`,
      email: `e${i}@example.com`,
      dept_code: DEPARTMENTS[i % DEPARTMENTS.length] as string,
      entry_day: `2020-01-${String((i % 28) + 1).padStart(2, '0')}`,
      active: true,
    }))
    for (const person of this.people) this.#note(person)
  }

  /** Without a primary key, so that HR can be doubled. */
  async seed(): Promise<void> {
    await this.#hr.query(`
      create table person (userid text, name text, mobile text, email text, dept_code text, entry_day date, active boolean);
      create index on person (userid)`)
    await this.#hr.query('insert into person select * from jsonb_populate_recordset(null::person, $1)', [
      JSON.stringify(this.people),
    ])
  }

  /** What an emulator begins with that is in step with HR. */
  platformSeed(): object {
    return {
      departments: DEPARTMENTS.map(dept_code => ({ dept_code, dept_name: dept_code })),
      employees: this.people.map(({ active, ...held }) => ({ ...held, mobile_area: 86 })),
    }
  }

  /** Does to HR's database what nothing in dirsync may do. */
  async change(statements: string, values?: unknown[]): Promise<void> {
    await this.#hr.query(statements, values)
  }

  /** Whether HR has ever had this value for the employee. */
  hasHad(userid: string, field: string, value: unknown): boolean {
    return this.#history.get(`${userid} ${field}`)?.has(String(value)) ?? false
  }

  startEditing(dice: Dice): void {
    this.#editing = setInterval(() => {
      // HR may be away, or its table.
      this.edit(Array.from({ length: dice.between(1, 3) }, () => this.#randomEdit(dice))).catch(() => {})
    }, EDIT_EVERY_MS)
  }

  stopEditing(): void {
    clearInterval(this.#editing)
  }

  /** Many rows at once: enough to trip a breaker. */
  async editMany(dice: Dice, count: number): Promise<void> {
    const from = dice.between(0, this.people.length - count)
    const name = this.#newName()
    await this.edit(this.people.slice(from, from + count).map(({ userid }) => ({ userid, name })))
  }

  async edit(edits: Edit[]): Promise<void> {
    for (const edit of edits) this.#note(edit)
    await this.#hr.query(
      `update person p
       set name = coalesce(e.name, p.name), mobile = coalesce(e.mobile, p.mobile), email = coalesce(e.email, p.email),
           dept_code = coalesce(e.dept_code, p.dept_code), entry_day = coalesce(e.entry_day, p.entry_day)
       from jsonb_populate_recordset(null::person, $1) e where e.userid = p.userid`,
      [JSON.stringify(edits)],
    )
    this.edits += edits.length
  }

  /** HR as it should be: every number is valid and belongs to one employee. */
  async repair(): Promise<void> {
    const { rows } = await this.#hr.query<{ userid: string }>(
      `select userid from person p
       where mobile !~ '^1[0-9]{10}$' or exists (select from person q where q.mobile = p.mobile and q.userid < p.userid)`,
    )
    await this.edit(rows.map(({ userid }) => ({ userid, mobile: this.#newMobile() })))
  }

  async rename(userids: string[]): Promise<void> {
    await this.edit(userids.map(userid => ({ userid, name: this.#newName() })))
  }

  async rows(): Promise<Map<string, Person>> {
    const { rows } = await this.#hr.query<Person>(
      'select userid, name, mobile, email, dept_code, entry_day::text, active from person order by userid',
    )
    return new Map(rows.map(row => [row.userid, row]))
  }

  async close(): Promise<void> {
    this.stopEditing()
    await this.#hr.end()
  }

  #randomEdit(dice: Dice): Edit {
    const { userid } = dice.pick(this.people)
    switch (dice.between(0, 11)) {
      case 0:
      case 1:
        return { userid, dept_code: dice.pick(DEPARTMENTS) }
      case 2:
        return { userid, email: `${userid}.${this.#next()}@example.com` }
      case 3:
      case 4:
        return { userid, mobile: this.#newMobile() }
      case 5:
        return { userid, mobile: dice.pick(['none', dice.pick(this.people).mobile]) }
      case 6:
        return { userid, entry_day: `2021-02-${String(dice.between(1, 28)).padStart(2, '0')}` }
      default:
        return { userid, name: this.#newName() }
    }
  }

  #note({ userid, ...values }: Edit): void {
    for (const [field, value] of Object.entries(values)) {
      const key = `${userid} ${field}`
      this.#history.set(key, (this.#history.get(key) ?? new Set()).add(String(value)))
    }
  }

  #next(): number {
    this.#numbers += 1
    return this.#numbers
  }

  #newName(): string {
    return `Renamed ${this.#next()}`
  }

  #newMobile(): string {
    return `1991${String(this.#next()).padStart(7, '0')}`
  }
}
