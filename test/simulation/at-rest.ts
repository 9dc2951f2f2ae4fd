import type pg from 'pg'

/**
 * What must hold once everything has come to rest, by what dirsync's database says, HR has and the platform holds. The simulation
 * judges its model of the platform by it, and `test/chaos` the real processes.
 */

/** An employee's row of HR. */
interface Row {
  active: boolean
}

export interface AtRest<Person extends Row> {
  /** HR's rows by user id. */
  hr: ReadonlyMap<string, Person>
  /** What the platform holds by user id. */
  platform: ReadonlyMap<string, Partial<Person>>
  /** Compared between the two. */
  fields: readonly (keyof Person)[]
  /** Employees whom someone has changed on the platform, past dirsync. */
  touched: ReadonlySet<string>
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
  const { rows: circles } = await db.query(
    `select d.id, d.entity_key, d.blocked_by, d.field from dirsync.dead_letter d
     join dirsync.dead_letter o on o.enterprise_code = d.enterprise_code and o.field = d.field
       and o.entity_key = d.blocked_by and o.blocked_by = d.entity_key and o.state in ('open', 'blocked')
     where d.state in ('open', 'blocked') and d.swap_id is null`,
  )
  return [
    ...circles.map(row => `a swap is not recognised: ${JSON.stringify(row)}`),
    ...left.map(row => `work is left: ${JSON.stringify(row)}`),
    ...runs.map(row => `a run never ends: ${JSON.stringify(row)}`),
    ...retrying.map(row => `a case is retried for ever: ${JSON.stringify(row)}`),
  ]
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
  userid: string
  status: string
  cases: string[] | null
}

/** Employees of whom dirsync says what is not so, or who are out of sync without a cause. */
async function untrue<Person extends Row>(
  db: pg.Pool,
  { hr, platform, fields, touched }: AtRest<Person>,
): Promise<string[]> {
  const { rows: employees } = await db.query<Shown>(
    `select e.userid, e.status,
            (select array_agg(concat_ws(' ', d.state, d.category, d.field) order by d.id) from dirsync.dead_letter d
             where d.entity_key = e.userid and d.state <> 'resolved') as cases
     from dirsync.employee e`,
  )
  const shown = new Map(employees.map(row => [row.userid, row]))
  const breaches: string[] = []
  for (const [userid, row] of hr) {
    const employee = shown.get(userid)
    if (!row.active || touched.has(userid)) continue
    if (!employee) {
      breaches.push(`${userid} is not known`)
      continue
    }
    const differs = differing<Person>(row, platform.get(userid) ?? {}, fields)
    const isTaken = [...platform].some(
      ([other, held]) =>
        other !== userid && 'mobile' in row && (held as { mobile?: unknown }).mobile === row.mobile,
    )
    breaches.push(...untrueOf(employee, differs, isTaken))
  }
  return breaches
}

/** @param differs fields, @param isTaken whether another employee of the platform has the mobile number */
function untrueOf({ userid, status, cases }: Shown, differs: string, isTaken: boolean): string[] {
  const breaches: string[] = []
  if (status === 'in_sync') {
    if (differs) breaches.push(`${userid} is called in sync, and differs from HR in ${differs}`)
    if (cases?.some(text => /^(open|retry|blocked|awaiting)/.test(text)))
      breaches.push(`${userid} is in sync and has cases: ${cases}`)
  } else if (status === 'dead_lettered' || status === 'accepted') {
    const isIgnored = cases?.some(text => /^(ignored|snoozed)/.test(text))
    if (!isIgnored && !isTaken) breaches.push(`${userid} is ${status} without a cause: ${cases}; ${differs}`)
    if (!cases) breaches.push(`${userid} is ${status} without a case`)
  } else if (status !== 'rejected') breaches.push(`${userid} is ${status}`)
  return breaches
}
