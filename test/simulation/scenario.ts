import type { SourceScope } from '../../src/hr/sources.ts'
import { type Happening, happeningsOf } from './dealt.ts'
import { decide, happen, person, writeHr } from './happen.ts'
import {
  expectApart,
  expectAtRest,
  expectDue,
  expectOthersInSync,
  expectPassed,
  expectReleased,
  expectTrue,
  type Known,
} from './laws.ts'
import type { Scenario } from './play.ts'
import { enterpriseOf, stageOf } from './stage.ts'
import { kindsOf, type RunOfAll, type World } from './world.ts'

/**
 * HR's rows, which dirsync brings to the platform, on the stage of a seed.
 * @param restores whether its database is restored from backups, too
 */
export function employeesOf(seed: number, restores: boolean): Scenario<Happening> {
  const stage = stageOf(seed)
  return {
    stage,
    turns: happeningsOf(stage, restores),
    begin: async world => {
      const known: Known = {
        history: new Map([...world.hr.people].map(([name, person]) => [name, [person]])),
        named: new Set(),
        touched: new Set(),
        absent: new Set(),
        away: new Set(),
        isRegrouped: false,
        rejected: new Map(),
        backup: restores ? { state: await world.backup(), rejected: new Map() } : null,
        breaches: [],
      }
      world.platform.onUpdate = (name, sent) => expectPassed(world, known, name, sent)
      world.platform.onDelete = (process, name) => expectDue(world, known, process, name)
      return {
        isOnItsWay: what =>
          what === 'an outcome'
            ? world.processes.some(process => world.isSettling(process))
            : world.platform.isCalled(what === 'an update'),
        happen: (next, acts) => happen(world, known, next, acts),
        wake: (process, acts) => happen(world, known, { what: 'cycle', process }, acts),
        expectTrue: async () => {
          await expectTrue(world, known)
          await expectApart(world, known)
        },
        rest: () => rest(world, known),
      }
    },
  }
}

/** Ends all trouble, lets dirsync do its work, also while one source is away, and judges what is there then. */
async function rest(world: World, known: Known): Promise<string[]> {
  world.platform.faults.length = 0
  world.hr.outages.clear()
  if (world.isRestored) for (const process of world.processes) await world.act(process, 'notice')
  await expectTrue(world, known)
  await setHrRight(world, known)
  if (known.isRegrouped) {
    world.changeSources(world.stage.sources)
    world.hr.tidy()
    for (const process of [...world.processes]) await world.kill(process)
  }
  const away = world.stage.sources.find(({ name, codes }) => codes !== null && known.away.has(name))
  if (away) {
    world.hr.outages.set(away.name, Number.POSITIVE_INFINITY)
    await settle(world, known, 'changes', away)
    await expectOthersInSync(world, known, away)
    world.hr.outages.clear()
  }
  const [changes, ...departments] = kindsOf(world.stage)
  // Departments are missed first, and deleted later. After a restore none is before HR's employees have been read: by a clock that
  // was put back then, once it has caught up.
  const again = world.isRestored ? [changes] : []
  for (const kind of [changes, ...departments, ...again, ...departments]) await settle(world, known, kind)
  await expectApart(world, known)
  await expectAtRest(world, known)
  return [...known.breaches, ...world.platform.breaches, ...world.errors]
}

/** No source of HR. */
const NONE: SourceScope = { name: 'none', codes: [] }

/** Rounds after which whatever is left stays for ever. */
const ROUNDS = 8

/**
 * Ends all trouble, decides what is held, and lets dirsync do its work: a run of a kind, without a full one.
 * @param away what it has to do with this source waits
 */
async function settle(
  world: World,
  known: Known,
  kind: RunOfAll,
  { name, codes }: SourceScope = NONE,
): Promise<void> {
  await person(world, 'select dirsync.resume()')
  await world.pass(4000)
  // What a cancelled run had in hand is taken back when it returns; the next plan has it.
  await world.rest(1)
  await world.requestRun(kind)
  for (let round = 0; round < ROUNDS; round++) {
    await world.rest(1)
    const { rows } = await world.observer.query<{ held: number[] | null; busy: boolean }>(
      `select (select array_agg(id order by id) from dirsync.sync_run where state = 'held') as held,
              exists (select from dirsync.pending where enterprise_code <> all ($1))
                or exists (select from dirsync.sync_run r where finished_at is null and hr_source <> $2
                           and not exists (select from dirsync.pending where run_id = r.id and enterprise_code = any ($1)))
                or exists (select from dirsync.dead_letter where state = 'retrying' and enterprise_code <> all ($1)) as busy`,
      [codes, name],
    )
    if (!rows[0]?.busy && !rows[0]?.held && name === NONE.name) await expectReleased(world, known)
    for (const id of rows[0]?.held ?? []) await decide(world, known, id, 'approve')
    // Cases have had their slow probe by then.
    if (!rows[0]?.busy && round > 0) break
    // Work waits for an hour at most, also where a clock was put back.
    await world.pass(rows[0]?.busy ? 700 : 12 * 24 * 3600)
  }
}

/** An HR that has nobody of an enterprise would be suspect for ever. */
async function setHrRight(world: World, known: Known): Promise<void> {
  for (const name of world.stage.employees) {
    const isLeft = [...world.hr.people.keys()].some(other => enterpriseOf(other) === enterpriseOf(name))
    if (!isLeft) await writeHr(world, known, name, known.history.get(name)?.at(-1) ?? null)
  }
}
