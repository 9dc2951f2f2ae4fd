import type pg from 'pg'
import { qualified } from '../../src/directory/employee.ts'
import { childrenOf, type Department, type Tree } from './departments.ts'
import { enterpriseOf, nameIn } from './stage.ts'

/**
 * What must hold once everything has come to rest, by what dirsync's database says, HR has and the platform holds. The simulation
 * judges its model of the platform by it, and `test/chaos` the real processes.
 */

/** An employee's row of HR. */
interface Row {
  active: boolean
  dept_code?: string
}

export interface AtRest<Person extends Row> {
  /** HR's rows by name: `enterprise/userid`, or a user id alone. */
  hr: ReadonlyMap<string, Person>
  /** What the platform holds by name. */
  platform: ReadonlyMap<string, Partial<Person>>
  /** Compared between the two. */
  fields: readonly (keyof Person)[]
  /** Employees whom someone has changed on the platform, past dirsync. */
  touched: ReadonlySet<string>
  /** By name; without them none is looked at. */
  departments?: {
    tree: Tree
    hr: ReadonlyMap<string, Department>
    platform: ReadonlySet<string>
    /** Of these, those that the platform had deleted before. */
    recreated?: ReadonlySet<string>
  }
  /** Without them none is looked at. */
  openids?: {
    merchants: readonly string[]
    /** By the name of the employee and the merchant. */
    platform: ReadonlyMap<string, string>
  }
}

/** The fields in which the platform differs from HR's row; empty: in none. */
export function differing<Person>(
  row: Person,
  held: Partial<Person>,
  fields: readonly (keyof Person)[],
): string {
  return fields.filter(field => row[field] !== held[field]).join(', ')
}

/** @returns the breaches, a sentence each */
export async function breachesAtRest<Person extends Row>(
  db: pg.Pool,
  world: AtRest<Person>,
): Promise<string[]> {
  return [
    ...(await leftUndone(db)).map(what => `at rest: ${what}`),
    ...(await miscounted(db)).map(what => `at rest: ${what}`),
    ...(await untrue(db, world)).map(what => `at rest: ${what}`),
    ...(await undeleted(db, world)).map(what => `at rest: ${what}`),
    ...(await unbound(db, world)).map(what => `at rest: ${what}`),
  ]
}

/** Work, runs and cases that wait for what never comes. */
async function leftUndone(db: pg.Pool): Promise<string[]> {
  const { rows: left } = await db.query(
    `select operation, entity_key, not_before, attempts, starts, enqueued_at, run_id from dirsync.pending`,
  )
  const { rows: runs } = await db.query(
    `select id, kind, state, undecided, part_of from dirsync.sync_run where finished_at is null`,
  )
  const { rows: retrying } = await db.query(
    `select id, entity_key, category from dirsync.dead_letter where state = 'retrying'`,
  )
  return [
    ...(await unrecognisedSwaps(db)),
    ...left.map(row => `work is left: ${JSON.stringify(row)}`),
    ...runs.map(row => `a run never ends: ${JSON.stringify(row)}`),
    ...retrying.map(row => `a case is retried for ever: ${JSON.stringify(row)}`),
  ]
}

/** Employees who wait for each other's value, which no case says. */
export async function unrecognisedSwaps(db: pg.Pool): Promise<string[]> {
  const { rows } = await db.query(
    `select d.id, d.entity_key, d.blocked_by, d.field from dirsync.dead_letter d
     join dirsync.dead_letter o on o.enterprise_code = d.enterprise_code and o.field = d.field
       and o.entity_key = d.blocked_by and o.blocked_by = d.entity_key and o.state in ('open', 'blocked')
     where d.state in ('open', 'blocked') and d.swap_id is null`,
  )
  return rows.map(row => `a swap is not recognised: ${JSON.stringify(row)}`)
}

/** Figures that say something else than a count would. */
async function miscounted(db: pg.Pool): Promise<string[]> {
  const { rows: tally } = await db.query<{ n: number }>(
    `select coalesce(sum(n), 0)::int - (select count(*)::int from dirsync.pending) as n from dirsync.tally where source = 'pending'`,
  )
  const { rows: figures } = await db.query(
    // A case that a run has made possible to solve joins it.
    `select id, planned, result -> 'outcomes' as outcomes, joined
     from dirsync.sync_run r
     cross join lateral (
       select count(distinct d.entity_key)::int as joined from dirsync.dead_letter_event e
       join dirsync.dead_letter d on d.id = e.dead_letter_id where e.run_id = r.id and e.event = 'retried') retried
     where state = 'done' and planned + joined < (select sum(value::int) from jsonb_each_text(result -> 'outcomes'))`,
  )
  return [
    ...tally.filter(({ n }) => n !== 0).map(({ n }) => `the tally of the outbox is off by ${n}`),
    ...figures.map(row => `a run has more outcomes than work: ${JSON.stringify(row)}`),
  ]
}

interface Shown {
  name: string
  status: string
  cases: string[] | null
}

/** Employees of whom dirsync says what is not so, or who are out of sync without a cause. */
export async function untrue<Person extends Row>(
  db: pg.Pool,
  { hr, platform, fields, touched, departments }: AtRest<Person>,
): Promise<string[]> {
  const { rows: employees } = await db.query<Shown>(
    `select ${nameIn('e', 'userid')} as name, e.status,
            (select array_agg(concat_ws(' ', d.state, d.category, d.field) order by d.id) from dirsync.dead_letter d
             where d.enterprise_code = e.enterprise_code and d.entity_key = e.userid and d.state <> 'resolved'
               -- About a row of a source that the enterprise does not belong to.
               and d.category <> 'stray_row') as cases
     from dirsync.employee e`,
  )
  const shown = new Map(employees.map(row => [row.name, row]))
  const breaches: string[] = []
  for (const [name, row] of hr) {
    const employee = shown.get(name)
    if (!row.active || touched.has(name)) continue
    if (!employee) {
      breaches.push(`${name} is not known`)
      continue
    }
    const differs = differing<Person>(row, platform.get(name) ?? {}, fields)
    const isTaken = [...platform].some(
      ([other, held]) =>
        other !== name &&
        enterpriseOf(other) === enterpriseOf(name) &&
        'mobile' in row &&
        (held as { mobile?: unknown }).mobile === row.mobile,
    )
    const isBroken = 'mobile' in row && /\D/.test(String(row.mobile))
    const isOther =
      'name' in row &&
      row.name !== (platform.get(name) as { name?: unknown } | undefined)?.name &&
      employee.cases?.some(text => /another_person/.test(text)) === true
    const isMissing = departments?.platform.has(qualified(enterpriseOf(name), row.dept_code ?? '')) === false
    if (employee.status !== 'awaiting_activation' || platform.has(name))
      breaches.push(...untrueOf(employee, differs, isTaken || isMissing || isBroken || isOther))
  }
  return breaches
}

/** @param differs fields, @param isRefused whether the row breaks a rule, or the platform must refuse it: another employee has the mobile number, there is no such department, or the name is somebody else's */
function untrueOf({ name, status, cases }: Shown, differs: string, isRefused: boolean): string[] {
  const breaches: string[] = []
  if (status === 'in_sync') {
    if (differs) breaches.push(`${name} is called in sync, and differs from HR in ${differs}`)
    if (cases?.some(text => /^(open|retry|blocked|awaiting)/.test(text)))
      breaches.push(`${name} is in sync and has cases: ${cases}`)
  } else if (status === 'dead_lettered' || status === 'accepted') {
    const isIgnored = cases?.some(text => /^(ignored|snoozed)/.test(text))
    if (!isIgnored && !isRefused) breaches.push(`${name} is ${status} without a cause: ${cases}; ${differs}`)
    if (!cases) breaches.push(`${name} is ${status} without a case`)
  } else if (status !== 'rejected') breaches.push(`${name} is ${status}`)
  return breaches
}

/** Departments that HR has closed or lacks, that nothing keeps, and that the platform still has. */
async function undeleted<Person extends Row>(
  db: pg.Pool,
  { hr, platform, departments }: AtRest<Person>,
): Promise<string[]> {
  if (!departments) return []
  const hasOthersBelow = (name: string) =>
    childrenOf(departments.tree, name).some(child => departments.platform.has(child))
  const { rows } = await db.query<{ name: string; deleted: boolean }>(
    `select ${nameIn('d', 'dept_code')} as name, deleted_at is not null as deleted from dirsync.department d
     where parent_code is not null and rejected_run is null
       and not exists (select from dirsync.dead_letter c
                       where c.enterprise_code = d.enterprise_code and c.entity_key = d.dept_code
                         and c.operation = 'delete-department' and c.state <> 'resolved')`,
  )
  const peopled = new Set(
    [...hr, ...platform].flatMap(([name, { active = true, dept_code = '' }]) =>
      active ? [qualified(enterpriseOf(name), dept_code)] : [],
    ),
  )
  return (
    rows
      // HR opened it, and closed it again, before anyone looked: the platform cannot be asked.
      .filter(({ name, deleted }) => !(deleted && departments.recreated?.has(name)))
      .map(({ name }) => name)
      .filter(name => departments.platform.has(name) && departments.hr.get(name)?.active !== true)
      .filter(name => !peopled.has(name) && !hasOthersBelow(name))
      .map(name => `${name} has not been deleted`)
  )
}

/** Employees of both whose open id for a merchant is another one than the platform's, and open ids that the platform lacks. */
async function unbound<Person extends Row>(
  db: pg.Pool,
  { hr, platform, openids }: AtRest<Person>,
): Promise<string[]> {
  if (!openids) return []
  const { rows } = await db.query<{ name: string; openid: string }>(
    `select ${nameIn('b', 'userid')} || ' ' || seller_appid as name, open_userid as openid from dirsync.openid_binding b`,
  )
  const bound = new Map(rows.map(({ name, openid }) => [name, openid]))
  // Who came back with a row that a person rejected is not in service, as far as dirsync may know; and whose account may be
  // another person's waits for a person.
  const gone = await db.query<{ name: string }>(
    `select ${nameIn('e', 'userid')} as name from dirsync.employee e
     where rejected and not active
        or exists (select from dirsync.dead_letter d
                   where (d.enterprise_code, d.entity_key) = (e.enterprise_code, e.userid)
                     and d.category = 'another_person' and d.state <> 'resolved')`,
  )
  const unwanted = new Set(gone.rows.map(({ name }) => name))
  const due = [...hr].flatMap(([name, { active }]) =>
    active && platform.has(name) && !unwanted.has(name)
      ? openids.merchants.map(merchant => `${name} ${merchant}`)
      : [],
  )
  return [...new Set([...due, ...bound.keys()])]
    .filter(name => !bound.has(name) || bound.get(name) !== openids.platform.get(name))
    .map(name => `${name}: the open id is ${bound.get(name)}, on the platform ${openids.platform.get(name)}`)
}
