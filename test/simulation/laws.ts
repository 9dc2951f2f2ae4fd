import type { SourceScope } from '../../src/hr/sources.ts'
import { breachesAtRest, differing, unrecognisedSwaps, untrue } from './at-rest.ts'
import { TREE } from './departments.ts'
import type { Person } from './hr.ts'
import type { Process } from './process.ts'
import { enterpriseOf, nameIn } from './stage.ts'
import type { Backup, World } from './world.ts'

/** What must hold, at any moment and at rest. */

/** Compared between HR and the platform. */
const FIELDS = ['name', 'mobile', 'remark', 'dept_code'] as const

/** What the model knows beside the database. */
export interface Known {
  /** Rows of HR that each employee has had. */
  history: Map<string, Person[]>
  /** Employees whom a person has named: their present row may be sent, whatever a plan saw. */
  named: Set<string>
  /** Employees whom someone has changed on the platform, past dirsync. */
  touched: Set<string>
  /** Those whose row HR has lacked at some time. */
  absent: Set<string>
  /** Sources of HR that have been away. */
  away: Set<string>
  /** HR_SOURCES has said something else meanwhile. */
  isRegrouped: boolean
  /** The hash of the row that a person has rejected, until HR has another one; the same for departments, without a hash. */
  rejected: Map<string, string>
  /** The latest backup, and what had been rejected by then; null: nothing is ever restored. */
  backup: { state: Backup; rejected: ReadonlyMap<string, string> } | null
  breaches: string[]
}

/**
 * Law 11: nothing is sent unless a plan has passed it, or a person named the employee. What a person has rejected is not sent
 * before HR has another row.
 */
export async function expectPassed(
  world: World,
  known: Known,
  name: string,
  sent: Partial<Person>,
): Promise<void> {
  if (known.named.has(name)) return
  const { rows } = await world.observer.query<{ hash: string }>(
    'select hash from simulated.passed where name = $1',
    [name],
  )
  const isOf = (hash: string) => {
    const row = world.rowOf(name, hash)
    return row && Object.entries(sent).every(([field, value]) => row[field as keyof Person] === value)
  }
  const rejected = known.rejected.get(name)
  if (!rows.some(({ hash }) => hash !== rejected && isOf(hash)))
    known.breaches.push(
      `${JSON.stringify(sent)} was sent for ${name}, which no plan has passed, or a person has rejected`,
    )
}

/** Law 8: no department is deleted that has to stay, or whose deletion a person has rejected. */
export function expectDue(
  { departments }: World,
  { rejected, breaches }: Known,
  process: Process,
  name: string,
): void {
  const waits = process.settings.limits.departmentGraceMs > 0
  const objections = departments.objections(process.name, name, waits)
  breaches.push(...objections.map(why => `${name} was deleted although ${why}`))
  if (rejected.has(name)) breaches.push(`${name} was deleted although a person has rejected that`)
}

interface Shown {
  name: string
  acknowledged_hash: string | null
}

/** Law 15: whoever is called in sync is so on the platform, and whoever waits has work that brings it there. */
export async function expectTrue(world: World, known: Known): Promise<void> {
  // For a few seconds it tells what it told then.
  if (await world.isForgetful()) return
  const { rows: idle } = await world.observer.query<{ name: string }>(
    // Whose work was taken back waits for the next plan: no row has that hash. Nor has one who waits for the full run after a restore.
    `select ${nameIn('e', 'userid')} as name from dirsync.employee e
     where status = 'waiting' and source_hash <> uuid '00000000-0000-0000-0000-000000000000'
       and acknowledged_hash is distinct from uuid 'ffffffff-ffff-ffff-ffff-ffffffffffff'
       and not exists (select from dirsync.pending p
                       where p.operation = 'update-employee' and p.enterprise_code = e.enterprise_code
                         and p.entity_key = e.userid)`,
  )
  known.breaches.push(...idle.map(({ name }) => `${name} waits, and nothing is to be done about it`))
  const { rows: late } = await world.observer.query<{ name: string; run: string }>(
    `select ${nameIn('p', 'entity_key')} as name, r.id || ' is ' || r.state as run
     from dirsync.pending p join dirsync.sync_run r on r.id = p.run_id where r.finished_at is not null`,
  )
  known.breaches.push(...late.map(({ name, run }) => `${name} has work although its run ${run}`))
  const { rows } = await world.observer.query<Shown>(
    `select ${nameIn('e', 'userid')} as name, acknowledged_hash from dirsync.employee e where status = 'in_sync'`,
  )
  for (const { name, acknowledged_hash } of rows) {
    const row = world.rowOf(name, acknowledged_hash)
    const held = world.platform.employees.get(name)
    if (!row || known.touched.has(name)) continue
    const differs =
      held === undefined
        ? 'everything'
        : differing<Partial<Person>>(
            row,
            held,
            FIELDS.filter(field => field in row),
          )
    const breach = `${name} is called in sync, and differs on the platform in ${differs}`
    if (differs && !known.breaches.includes(breach)) known.breaches.push(breach)
  }
}

/** What one source of HR does, or does not do, touches no employee of another. */
export async function expectApart({ observer, hr, stage }: World, known: Known): Promise<void> {
  const { rows: absent } = await observer.query<{ name: string }>(
    `select ${nameIn('e', 'userid')} as name from dirsync.employee e where vanished_at is not null`,
  )
  for (const { name } of absent)
    if (!known.absent.has(name)) known.breaches.push(`${name} is called vanished, and HR has never lacked it`)
  // What was planned before belongs to the source that the enterprise had then.
  if (stage.sources.length === 1 || known.isRegrouped) return
  const { rows: foreign } = await observer.query<{ name: string; run: string }>(
    `select ${nameIn('w', 'entity_key')} as name, r.id || ' of ' || r.hr_source as run
     from (select run_id, enterprise_code, entity_key from dirsync.pending
           union all select run_id, enterprise_code, entity_key from dirsync.planned_work
           union all select held_run, enterprise_code, userid from dirsync.employee) w
     join dirsync.sync_run r on r.id = w.run_id
     where r.hr_source <> '' and r.hr_source <> $1::jsonb ->> w.enterprise_code`,
    [Object.fromEntries(hr.owners)],
  )
  known.breaches.push(...foreign.map(({ name, run }) => `${name} is a matter of run ${run}`))
  const { rows: halts } = await observer.query<{ scope: string }>(
    `select scope from dirsync.halt where category = 'hr_unavailable'`,
  )
  for (const { scope } of halts)
    if (!known.away.has(hr.owners.get(scope) ?? ''))
      known.breaches.push(`the work of ${scope} is halted, and its HR has never been away`)
}

/** While one source of HR is away, those of the others come to be in sync. */
export async function expectOthersInSync(
  { hr, platform, observer }: World,
  { touched, breaches }: Known,
  away: SourceScope,
): Promise<void> {
  const found = await untrue<Person>(observer, {
    hr: new Map([...hr.people].filter(([name]) => hr.sourceOf(name) !== away.name)),
    platform: platform.employees,
    fields: FIELDS,
    touched,
    departments: { tree: TREE, hr: hr.departments, platform: platform.departments },
  })
  breaches.push(...found.map(what => `while ${away.name} is away: ${what}`))
}

/** Once all is done, and before cases are retried by themselves: none waits for a value that no other employee has, or in a circle. */
export async function expectReleased({ hr, platform, observer }: World, known: Known): Promise<void> {
  const { rows } = await observer.query<{ name: string; by: string }>(
    `select ${nameIn('d', 'entity_key')} as name, blocked_by as by from dirsync.dead_letter d
     where state in ('open', 'blocked') and blocked_by is not null and field = 'mobile'`,
  )
  for (const { name, by } of rows) {
    const wanted = hr.people.get(name)?.mobile
    const isTaken = [...platform.employees].some(
      ([other, held]) =>
        other !== name && enterpriseOf(other) === enterpriseOf(name) && held.mobile === wanted,
    )
    if (!isTaken && known.touched.size === 0)
      known.breaches.push(`${name} waits for ${by}, who has nothing of it`)
  }
  known.breaches.push(...(await unrecognisedSwaps(observer)))
}

export async function expectAtRest(world: World, known: Known): Promise<void> {
  const { hr, platform, observer, stage } = world
  const { touched } = known
  const found = await breachesAtRest<Person>(observer, {
    hr: hr.people,
    platform: platform.employees,
    fields: FIELDS,
    touched,
    departments: {
      tree: TREE,
      hr: hr.departments,
      platform: platform.departments,
      recreated: platform.recreated,
    },
    openids: { merchants: stage.merchants ?? [], platform: platform.openids },
  })
  // A lost run's number is given again, and counts what one of its jobs had under way.
  const isOfLostRun = (breach: string) => world.isRestored && breach.includes('more outcomes than work')
  known.breaches.push(...found.filter(breach => !isOfLostRun(breach)))
}
