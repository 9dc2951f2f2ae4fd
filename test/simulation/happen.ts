import { qualified } from '../../src/directory/employee.ts'
import type { SourceScope } from '../../src/hr/sources.ts'
import type { Happening, HrChange } from './dealt.ts'
import { childrenOf, codesOf, TREE } from './departments.ts'
import type { Person } from './hr.ts'
import type { Known } from './laws.ts'
import { enterpriseOf, keyOf, nameIn } from './stage.ts'
import type { World } from './world.ts'

/** What happens: in HR, on the platform, to processes, by people, and as time passes. */

export async function happen(
  world: World,
  known: Known,
  next: Happening,
  acts: Promise<void>[],
): Promise<void> {
  const departmentNames = world.stage.departmentsOf.flatMap(codesOf)
  const nameOf = (employee: number) => world.stage.employees[employee] as string
  switch (next.what) {
    case 'act': {
      const { activity, times } = next
      for (let time = 0; time < (activity === 'work' ? times : 1); time++) {
        const process = world.process(next.process)
        // What a dead process does never ends.
        acts.push(Promise.race([world.act(process, activity), process.died]))
      }
      return
    }
    case 'cycle': {
      const process = world.process(next.process)
      acts.push(Promise.race([world.cycle(process), process.died]))
      return
    }
    case 'hr':
      await changeHr(world, known, nameOf(next.employee), next.change, next.value)
      if (next.run) await world.noticeChange(nameOf(next.employee))
      return
    case 'hr-many': {
      const { employees, sources } = world.stage
      const one = sources[next.count % sources.length]?.name
      const concerned = employees.filter(name => world.hr.sourceOf(name) === one).slice(0, next.count)
      for (const name of concerned) await changeHr(world, known, name, 'edit', 0)
      return
    }
    case 'hr-swap': {
      const { employees } = world.stage
      const of = enterpriseOf(nameOf(0))
      const [one, other] = employees.filter(name => enterpriseOf(name) === of) as [string, string]
      const [first, second] = [world.hr.people.get(one), world.hr.people.get(other)]
      if (!first || !second) return
      await writeHr(world, known, one, { ...first, mobile: second.mobile })
      await writeHr(world, known, other, { ...second, mobile: first.mobile })
      if (next.run) await world.noticeChange(one)
      return
    }
    case 'hr-move': {
      const before = nameOf(next.employee)
      const row = world.hr.people.get(before)
      const enterprises = world.stage.employees.map(enterpriseOf)
      const to = enterprises.find(code => world.hr.sourceOf(`${code}/`) !== world.hr.sourceOf(before))
      const after = `${to}/${keyOf(before)}`
      if (!to || !row || world.hr.people.has(after)) return
      await writeHr(world, known, before, null)
      await writeHr(world, known, after, row)
      if (next.joins && !world.platform.employees.has(after))
        world.platform.employees.set(after, { ...row, name: 'joined', mobile: `139${after}` })
      for (const name of [before, after]) await world.noticeChange(name)
      return
    }
    case 'sources': {
      world.changeSources(world.stage.changesTo?.[next.to] ?? world.stage.sources)
      known.isRegrouped = true
      await world.kill(world.process(next.process))
      const started = world.process(next.process)
      const claimed = world
        .act(started, 'finish')
        .then(() => (next.tidies ? world.tidyHr(started) : undefined))
      acts.push(Promise.race([claimed, started.died]))
      return
    }
    case 'department': {
      const name = departmentNames[next.department % departmentNames.length] as string
      if (next.change === 'join') {
        const employee = world.stage.employees.find(one => enterpriseOf(one) === enterpriseOf(name)) as string
        const row = world.hr.people.get(employee)
        if (row) await writeHr(world, known, employee, { ...row, dept_code: keyOf(name) })
        if (next.run) await world.noticeChange(employee)
        return
      }
      // HR closes what is below a department, too; of one that is above all others it would be suspect.
      const isTop = TREE[keyOf(name)] === null
      const concerned = next.change === 'open' || isTop ? [name] : [name, ...childrenOf(TREE, name)]
      for (const each of concerned) {
        if (next.empties) await emptyDepartment(world, known, each)
        const department = { parent: TREE[keyOf(each)] ?? null, active: next.change === 'open' }
        world.writeDepartment(each, next.change === 'vanish' && !isTop ? null : department)
        known.rejected.delete(each)
      }
      if (next.change === 'open') world.platform.openDepartment(name)
      if (next.empties) await world.requestRun('changes')
      if (next.run) await world.requestRun('departments')
      return
    }
    case 'newcomer': {
      const department = departmentNames[next.department % departmentNames.length] as string
      const of = enterpriseOf(department)
      const name = qualified(of, `new${next.department}`)
      if (world.platform.employees.has(name) || world.hr.people.has(name)) return
      // HR has moved them, and the platform does not know it yet.
      world.departments.unplanned.add(name)
      const { active, ...row } = world.newPerson(0)
      const mobile = `1390000000${next.department}`
      if (world.platform.departments.has(department) && world.hr.departments.has(department))
        world.platform.employees.set(name, { ...row, mobile, dept_code: keyOf(department) })
      await writeHr(world, known, name, { ...row, active, mobile: next.isBroken ? 'ask' : mobile })
      if (next.run) await world.noticeChange(name)
      return
    }
    case 'departments-due':
      await world.pass(4000)
      await world.requestRun('departments')
      return
    case 'hr-away': {
      const { name } = world.stage.sources[next.source] as SourceScope
      world.hr.outages.set(name, (world.hr.outages.get(name) ?? 0) + 1)
      known.away.add(name)
      return
    }
    case 'platform': {
      const held = world.platform.employees.get(nameOf(next.employee))
      if (held) held.name = 'someone else'
      known.touched.add(nameOf(next.employee))
      return
    }
    case 'run':
      await world.requestRun(next.kind)
      return
    case 'run-of-one':
      await person(world, 'select dirsync.resync($1, source => $2)', [
        next.kind,
        world.stage.sources[next.source]?.name,
      ])
      return
    case 'named':
      known.named.add(nameOf(next.employee))
      await person(world, `select dirsync.resync('employees', $1)`, [nameOf(next.employee)])
      return
    case 'approve':
    case 'reject':
    case 'approve-part':
    case 'reject-part': {
      const held = await pickRow(
        world,
        `select id, kind as name from dirsync.sync_run where state = 'held' order by id`,
        next.which,
      )
      if (!held) return
      const names = held.name === 'departments' ? departmentNames : world.stage.employees
      const key = 'employee' in next ? keyOf(names[next.employee] as string) : null
      return decide(world, known, held.id, next.what, key)
    }
    case 'cancel': {
      const run = await pick(
        world,
        `select id from dirsync.sync_run where state in ('requested', 'planning', 'running') and cancelled_at is null order by id`,
        next.which,
      )
      if (run) await person(world, `select dirsync.cancel($1, 'why')`, [run])
      return
    }
    case 'retry':
    case 'ignore':
    case 'snooze':
    case 'undo': {
      const found = await pickRow(
        world,
        `select id, ${nameIn('d', 'entity_key')} as name from dirsync.dead_letter d where state <> 'resolved' order by id`,
        next.which,
      )
      if (!found) return
      if (next.what === 'retry') {
        known.named.add(found.name)
        known.rejected.delete(found.name)
      }
      return decideCase(world, next.what, found.id)
    }
    case 'pause':
      await person(world, `select dirsync.pause('why')`)
      return
    case 'resume':
      await person(world, 'select dirsync.resume()')
      return
    case 'fault':
      world.platform.faults.push(next.fault)
      return
    case 'kill':
    case 'drop-locks':
    case 'stand-still':
      return world.befall(next, world.inTheMiddle(next.process))
    case 'cut-off': {
      // Without its servers for a moment: they have ended what it held, and the queue gives its jobs to the other one. It may
      // have stood still itself, and not know yet.
      const process = world.inTheMiddle(next.process)
      world.standStill(process, next.steps)
      await world.dropLocks(process)
      world.queue.jobs.unshift(...world.queue.given)
      const other = world.processes.find(each => each !== process) as typeof process
      acts.push(Promise.race([world.cycle(other), other.died]))
      return
    }
    case 'slow':
      return world.standStill(world.platform, next.steps)
    case 'queue': {
      const { jobs, given } = world.queue
      if (next.loss === 'wiped') jobs.length = 0
      // What it takes for lost with its worker.
      if (next.loss === 'twice') jobs.push(...given)
      if (next.loss === 'reversed') jobs.reverse()
      return
    }
    case 'time':
      await world.pass(next.seconds)
      return
    case 'backup':
      known.backup = { state: await world.backup(), rejected: new Map(known.rejected) }
      return
    case 'restore': {
      if (known.backup === null) return
      const { state, rejected } = known.backup
      await world.restore(state, next.failsOver)
      for (const [name, hash] of known.rejected) if (rejected.get(name) !== hash) known.rejected.delete(name)
      for (const process of world.processes)
        acts.push(Promise.race([world.act(process, 'notice'), process.died]))
    }
  }
}

async function changeHr(
  world: World,
  known: Known,
  name: string,
  change: HrChange,
  value: number,
): Promise<void> {
  const history = known.history.get(name) as Person[]
  const last = history.at(-1) as Person
  const fresh = world.newPerson(0)
  const row: Person | null =
    change === 'delete'
      ? null
      : change === 'revert'
        ? (history.at(value < 3 ? -2 : value) ?? last)
        : change === 'leave'
          ? { ...last, active: false }
          : change === 'mobile'
            ? { ...fresh, mobile: `1380000000${value}` }
            : { ...fresh, mobile: last.mobile, dept_code: `D${value % 3}` }
  await writeHr(world, known, name, row)
}

/** Its employees move to the department above all others. */
async function emptyDepartment(world: World, known: Known, name: string): Promise<void> {
  for (const [employee, person] of world.hr.people)
    if (qualified(enterpriseOf(employee), person.dept_code) === name)
      await writeHr(world, known, employee, { ...person, dept_code: 'D0' })
}

export async function writeHr(world: World, known: Known, name: string, row: Person | null): Promise<void> {
  await world.writePerson(name, row)
  known.rejected.delete(name)
  if (row === null) known.absent.add(name)
  else known.history.set(name, [...(known.history.get(name) ?? []), row])
}

const DECISIONS = {
  approve: 'approve($1)',
  reject: "reject($1, 'why')",
  'approve-part': "approve_part($1, $2, 'why')",
  'reject-part': "reject_part($1, $2, 'why')",
}

/** A person decides about a held run. @param key of the only employee or department that is meant; null: all that wait */
export async function decide(
  world: World,
  known: Known,
  run: number,
  decision: keyof typeof DECISIONS,
  key: string | null = null,
): Promise<void> {
  const [undecided, were] = [await undecidedOf(world, run), new Map(known.rejected)]
  for (const { name, hash } of undecided) {
    if (key !== null && keyOf(name) !== key) continue
    if (decision.startsWith('reject')) known.rejected.set(name, hash)
    // Whose mapping had other columns meanwhile is asked about again.
    else known.rejected.delete(name)
  }
  const isDecided = await person(
    world,
    `select dirsync.${DECISIONS[decision]}`,
    key === null ? [run] : [run, { keys: [key] }],
  )
  if (!isDecided) known.rejected = were
  else if (decision.startsWith('reject'))
    // What is in hand by then is finished.
    for (const name of await waitingDeletions(world, run))
      if (key === null || keyOf(name) === key) known.rejected.set(name, '')
}

/** Departments of a run's plan whose deletion is not in hand. */
async function waitingDeletions(world: World, run: number): Promise<string[]> {
  const { rows } = await world.observer.query<{ name: string }>(
    `select ${nameIn('d', 'dept_code')} as name from dirsync.department d
     where rejected_run = $1
       and not exists (select from dirsync.pending p
                       where p.operation = 'delete-department' and p.enterprise_code = d.enterprise_code
                         and p.entity_key = d.dept_code and p.in_hand)`,
    [run],
  )
  return rows.map(({ name }) => name)
}

/** The rows that wait for a decision about a held run, and have not passed before. */
async function undecidedOf(world: World, run: number): Promise<{ name: string; hash: string }[]> {
  const { rows } = await world.observer.query<{ name: string; hash: string }>(
    `select ${nameIn('w', 'entity_key')} as name, coalesce(source_hash::text, '') as hash from dirsync.planned_work w
     where run_id = $1 and decision_id is null and reason <> 'asked'
       and case when operation = 'delete-department'
                then not exists (select from dirsync.pending p
                                 where p.operation = w.operation and p.enterprise_code = w.enterprise_code
                                   and p.entity_key = w.entity_key)
                else source_hash is not null
                  and not exists (select from simulated.passed p
                                  where p.name = ${nameIn('w', 'entity_key')} and p.hash = w.source_hash) end`,
    [run],
  )
  return rows
}

const FURTHER = { retry: '', ignore: `, 'why'`, snooze: `, now() + interval '1 hour', 'why'`, undo: '' }

/** A person decides about a case. */
export async function decideCase(world: World, what: keyof typeof FURTHER, id: number): Promise<void> {
  await person(world, `select dirsync.${what}($1${FURTHER[what]})`, [id])
}

/** What a person does may be refused, because others were faster. @returns whether it was done */
export async function person(world: World, statement: string, values: unknown[] = []): Promise<boolean> {
  try {
    await world.observer.query(statement, values)
    return true
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (!/^(DS|P0|22|55)/.test(code)) throw new Error(`${statement}: ${error}`, { cause: error })
    return false
  }
}

async function pick(world: World, statement: string, which: number): Promise<number | undefined> {
  return (await pickRow(world, statement, which))?.id
}

async function pickRow(
  world: World,
  statement: string,
  which: number,
): Promise<{ id: number; name: string } | undefined> {
  const { rows } = await world.observer.query<{ id: number; name: string }>(statement)
  return rows[which % Math.max(1, rows.length)]
}
