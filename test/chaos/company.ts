import pg from 'pg'
import type { Department } from '../simulation/departments.ts'
import { type Change, CODES, downFrom, seedOf, TOP, TREE, upFrom } from './departments.ts'
import type { Dice } from './dice.ts'

/** The invented company: its HR tables, which people edit all the time, and every value that HR has ever had. */

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

export const MAPPINGS = {
  HR_EMPLOYEES_SQL: 'select userid, name, mobile, email, dept_code, entry_day, active from person\n',
  HR_DEPARTMENTS_SQL: 'select dept_code, parent_code, active from department\n',
}

/** An account as the emulator is given it, in step with HR. */
export function accountOf({ active, ...held }: Person): object {
  return { ...held, mobile_area: 86 }
}

/** Rows as `userid`, and the columns that change. */
type Edit = { userid: string } & Partial<Pick<Person, Field>>

/** Of those who move, so many do to a department that is closed. */
const STRAY_SHARE = 0.05
/** As people keep HR: one to three rows at a time. */
const EDIT_EVERY_MS = 500

export class Company {
  /** Those who have an account on the platform. */
  readonly people: Person[]
  readonly #hr: pg.Pool
  /** By user id and field, whatever HR has had. */
  readonly #history = new Map<string, Set<string>>()
  #numbers = 0
  #hired = 0
  readonly #open = new Set(CODES)
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
    this.people = Array.from({ length: employees }, (_, i) =>
      this.#newPerson((i % 3 === 0 && CODES[(i / 3) % CODES.length]) || TOP),
    )
  }

  /**
   * People without a primary key, so that HR can be doubled. HR itself writes down who was in which department, and which were
   * open, from when on. Rows that a disturbance takes away for a while are there all along by that.
   */
  async seed(): Promise<void> {
    await this.#hr.query(`
      create table person (userid text, name text, mobile text, email text, dept_code text, entry_day date, active boolean);
      create index on person (userid);
      create table department (dept_code text primary key, parent_code text, active boolean);
      create table past (id bigserial, of text, key text, value text, at timestamptz default clock_timestamp());
      create function note_person() returns trigger language plpgsql as $$ begin
        insert into past (of, key, value) values ('person', new.userid, new.dept_code); return null; end $$;
      create function note_department() returns trigger language plpgsql as $$ begin
        insert into past (of, key, value)
        values ('department', coalesce(new.dept_code, old.dept_code), coalesce(new.active, false)); return null; end $$;
      create trigger noted after insert or update of dept_code on person for each row execute function note_person();
      create trigger noted after insert or update or delete on department for each row execute function note_department()`)
    await this.#insert(this.people)
    await this.#hr.query(
      'insert into department select * from jsonb_populate_recordset(null::department, $1)',
      [JSON.stringify(CODES.map(dept_code => ({ dept_code, parent_code: TREE[dept_code], active: true })))],
    )
  }

  /** What an emulator begins with that is in step with HR. */
  platformSeed(): object {
    return {
      departments: CODES.map(seedOf),
      employees: this.people.map(accountOf),
    }
  }

  /** New people in HR, who have no account on the platform so far. */
  async hire(count: number): Promise<Person[]> {
    const hired = Array.from({ length: count }, () => this.#newPerson(TOP))
    await this.#insert(hired)
    return hired
  }

  /** Those that HR has open, but for the one above all others. */
  get openDepartments(): string[] {
    return [...this.#open].filter(code => code !== TOP)
  }

  get closedDepartments(): string[] {
    return CODES.filter(code => !this.#open.has(code))
  }

  /** With those below. @param isGone whether HR has no row of it any more */
  async closeDepartment(code: string, isGone: boolean): Promise<void> {
    const codes = downFrom(code)
    for (const each of codes) this.#open.delete(each)
    const close = isGone ? 'delete from department' : 'update department set active = false'
    await this.#hr.query(`${close} where dept_code = any ($1)`, [codes])
  }

  /** Whoever is in one of these moves to another one that is open. */
  async emptyDepartments(codes: string[], dice: Dice): Promise<void> {
    const { rows } = await this.#hr.query<{ userid: string }>(
      'select distinct userid from person where dept_code = any ($1) order by 1',
      [codes],
    )
    const others = [...this.#open].filter(code => !codes.includes(code))
    await this.edit(rows.map(({ userid }) => ({ userid, dept_code: dice.pick(others) })))
  }

  /** With those above. */
  async openDepartment(code: string): Promise<void> {
    const codes = upFrom(code)
    await this.#hr.query(
      `insert into department select d.*, true from unnest($1::text[], $2::text[]) d
       on conflict (dept_code) do update set active = true`,
      [codes, codes.map(each => TREE[each] ?? null)],
    )
    for (const each of codes) this.#open.add(each)
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

  /** Departments that are to be on the platform: HR has them open, or has people in them or below them. */
  async neededDepartments(): Promise<string[]> {
    const { rows } = await this.#hr.query<{ code: string }>(
      'select dept_code as code from department where active union select dept_code from person where active',
    )
    return [...new Set(rows.flatMap(({ code }) => upFrom(code)))]
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

  async departments(): Promise<Map<string, Department>> {
    const { rows } = await this.#hr.query<Department & { code: string }>(
      'select dept_code as code, parent_code as parent, active from department',
    )
    return new Map(rows.map(({ code, ...department }) => [code, department]))
  }

  /** What HR has had, oldest first. */
  async past(): Promise<Change[]> {
    const { rows } = await this.#hr.query<Change>(
      'select of, key, value, (extract(epoch from at) * 1000)::float8 as at from past order by id',
    )
    return rows
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
        return { userid, dept_code: dice.pick(dice.roll() < STRAY_SHARE ? CODES : [...this.#open]) }
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

  #newPerson(dept_code: string): Person {
    const i = this.#hired
    this.#hired += 1
    const person = {
      userid: `e${String(i).padStart(4, '0')}`,
      name: `Person ${i}`,
      mobile: `1990000${String(i).padStart(4, '0')}`,
      email: `e${i}@example.com`,
      dept_code,
      entry_day: `2020-01-${String((i % 28) + 1).padStart(2, '0')}`,
      active: true,
    }
    this.#note(person)
    return person
  }

  async #insert(people: readonly Person[]): Promise<void> {
    await this.#hr.query('insert into person select * from jsonb_populate_recordset(null::person, $1)', [
      JSON.stringify(people),
    ])
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
