import fc, { type Scheduler } from 'fast-check'
import { Schedule } from './schedule.ts'
import type { Stage } from './stage.ts'
import type { Found } from './worker.ts'
import type { World } from './world.ts'

/** How a scenario is played: happenings in their turn, among the steps of processes, in an order that a seed chooses. */

export const CALLS = ['a call', 'an update'] as const
/** A call to the platform that is on its way: any, or one that changes something. Or an outcome that is about to be written. */
export type OnItsWay = (typeof CALLS)[number] | 'an outcome'

/** Comes once so many steps of others have had their turn, or something is on its way; at the latest when no other is left. */
export interface Turn<Happening = unknown> {
  after: number | OnItsWay
  next: Happening
  /** The processes that take notice of it, and do what there is to do. */
  wakes: readonly number[]
}

export interface Scenario<Happening> {
  stage: Stage
  turns: fc.Arbitrary<Turn<Happening>[]>
  /** Everything is as it was after the first sync of the stage. */
  begin(world: World): Promise<Play<Happening>>
}

interface Play<Happening> {
  isOnItsWay(what: OnItsWay): boolean
  /** @param acts receives what goes on from then on */
  happen(next: Happening, acts: Promise<void>[]): Promise<void>
  wake(process: number, acts: Promise<void>[]): Promise<void>
  /** Notes breaches of what must hold at any moment. */
  expectTrue(): Promise<void>
  /** Ends all trouble and lets dirsync do its work. @returns all breaches */
  rest(): Promise<string[]>
}

type Wakes = Turn['wakes']
const BOTH: Wakes = [0, 1]
const NONE: Wakes = []

export const one = <T extends string>(...values: T[]) => fc.constantFrom(...values)

const steps = fc.constantFrom(10, 40, 100)
/** What a process or the platform may meet, whatever it does. */
export const PASSING_TROUBLE = {
  lostAnswer: fc.record({
    what: fc.constant('lose-answer' as const),
    process: fc.nat(1),
    of: one('insert', 'update', 'delete', 'commit'),
  }),
  still: fc.record({ what: fc.constant('stand-still' as const), process: fc.nat(1), steps }),
  slow: fc.record({ what: fc.constant('slow' as const), steps }),
}

/** Anything at any moment. */
export const crowd = <Happening>(
  next: fc.Arbitrary<Happening>,
  minLength: number,
  maxLength: number,
  moments: readonly OnItsWay[] = CALLS,
): fc.Arbitrary<Turn<Happening>[]> =>
  fc.array(
    fc.record({
      after: fc.constantFrom(0, 3, 10, 30, ...moments),
      wakes: fc.constantFrom<Wakes>([0], [0], [1], [1], BOTH, NONE),
      next,
    }),
    { minLength, maxLength, size: 'max' },
  )

/** Again and again a change is under way, and then, as a rule, one trouble comes after the other, and sometimes another change. */
export const episodes = <Happening>(
  change: fc.Arbitrary<Happening>,
  trouble: fc.Arbitrary<Happening>[],
  last: fc.Arbitrary<Happening>,
  moments: readonly OnItsWay[] = CALLS,
): fc.Arbitrary<Turn<Happening>[]> => {
  const first = fc.record({
    after: fc.constantFrom(3, 60, 60),
    wakes: fc.constantFrom<Wakes>([0], [1], BOTH),
    next: change,
  })
  const sometimes = (next: fc.Arbitrary<Happening>, freq: number) =>
    fc.option(
      fc.record({
        after: fc.constantFrom(0, 3, 30, ...moments),
        wakes: fc.constantFrom<Wakes>([0], [1], BOTH, NONE),
        next,
      }),
      { freq },
    )
  const episode = fc.tuple(first, ...trouble.map(kind => sometimes(kind, 4)), sometimes(last, 1))
  return fc
    .array(episode, { minLength: 2, maxLength: 6, size: 'max' })
    .map(all => all.flat().filter(turn => turn !== null))
}

/** How long it is looked for what a broken law takes; then the fewest events so far are shown. */
const SHRINKS_FOR_MS = 120_000

/** Plays what a seed stands for. @returns null where nothing is wrong @param shrinks what it takes is looked for, which takes its time */
export async function playSeed<Happening>(
  world: World,
  scenario: Scenario<Happening>,
  seed: number,
  shrinks: boolean,
): Promise<Found | null> {
  let breaches: string[] = []
  const property = fc.asyncProperty(fc.scheduler(), scenario.turns, async (scheduler, turns) => {
    const found = await play(world, scenario, scheduler, turns)
    if (found.length === 0) return
    // Said at once, for those who end it before it has shrunk.
    if (shrinks && breaches.length === 0) process.stderr.write(`seed ${seed}: ${found[0]}\n`)
    breaches = found
    throw new Error(found.join('\n'))
  })
  const { failed, counterexample, errorInstance } = await fc.check(property, {
    seed,
    numRuns: 1,
    endOnFailure: !shrinks,
    ...(shrinks && { interruptAfterTimeLimit: SHRINKS_FOR_MS }),
  })
  if (!failed || counterexample === null) return null
  const [scheduler, happenings] = counterexample
  // What was thrown while it was played has no breach: orders that come to a stop, for one.
  if (breaches.length === 0) breaches = [String(errorInstance)]
  return { seed, breaches, happenings, order: fc.stringify(scheduler) }
}

/** Plays a scenario in an order that the scheduler chooses, and returns the breaches of what must hold. */
async function play<Happening>(
  world: World,
  scenario: Scenario<Happening>,
  scheduler: Scheduler,
  turns: readonly Turn<Happening>[],
): Promise<string[]> {
  await world.reset(scenario.stage)
  const scene = await scenario.begin(world)
  await Schedule.during(scheduler, world.waiting, async schedule => {
    world.schedule(schedule)
    await schedule.drive(
      (async () => {
        const acts: Promise<void>[] = []
        for (const { after, next, wakes } of turns) {
          const isDue = (turn: number) =>
            typeof after === 'string' ? scene.isOnItsWay(after) : turn >= after
          for (let turn = 0; !isDue(turn) && schedule.isBusy; turn++)
            await scheduler.schedule(Promise.resolve(), 'a while')
          await scheduler.schedule(Promise.resolve(), JSON.stringify(next))
          await scene.happen(next, acts)
          await scene.expectTrue()
          for (const process of wakes) await scene.wake(process, acts)
          // A pool gives out a connection a tick later: until then nothing seems to go on.
          await new Promise(resolve => setImmediate(resolve))
        }
        await Promise.all(acts)
      })(),
    )
    world.schedule(undefined)
  })
  return scene.rest()
}
