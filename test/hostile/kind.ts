import { Script } from 'node:vm'
import fc from 'fast-check'
import { heldBytes } from '../helpers/memory.ts'

/** A kind of hostile input: what comes from outside, and what must hold whatever it is. */
export interface Kind<Input = unknown> {
  /** For `--only`. */
  name: string
  /** What it is, in half a sentence. */
  what: string
  /** Of so many inputs of all kinds together, those of this one, which says how quick it is. */
  share: number
  /** How many the suite tries. */
  few: number
  inputs: fc.Arbitrary<Input>
  /** The real parts that get the inputs. */
  open(): Promise<Trial<Input>>
}

export interface Trial<Input> extends AsyncDisposable {
  /**
   * Does with an input what a caller from outside would do.
   * @returns in a word, how it was taken
   * @throws what does not hold
   */
  meet(input: Input): string | Promise<string>
  /** What must hold after all of them. */
  after?(): Promise<void>
}

/** As its list has them: each input comes from its own arbitrary alone. */
// biome-ignore lint/suspicious/noExplicitAny: a list of kinds with inputs of their own
export type AnyKind = Kind<any>

export interface Figures {
  kind: string
  seed: number
  inputs: number
  seconds: number
  /** How many were taken in which way. */
  outcomes: Record<string, number>
  /** What the process held after each third of them, in MB. */
  heldMb: number[]
}

/** Of a run of fast-check, what a reader needs. */
type Run = Pick<fc.RunDetailsCommon<[unknown]>, 'counterexample' | 'numRuns' | 'numShrinks' | 'errorInstance'>

/** An input for which something did not hold. Its message has all that is needed to see it again. */
class Breach extends Error {
  override readonly name = 'Breach'

  constructor(kind: string, seed: number, run: Run) {
    const input = fc.stringify(run.counterexample?.[0])
    const again = `npm run hostile -- --only ${kind} --seed ${seed} --inputs ${run.numRuns}`
    const why = run.errorInstance instanceof Error ? run.errorInstance.stack : String(run.errorInstance)
    super(
      `${kind}, seed ${seed}, after ${run.numRuns} inputs, shrunk ${run.numShrinks} times (${again}):\n${shown(input)}\n${why}`,
    )
  }
}

const LONGEST_SHOWN = 4000

function shown(text: string): string {
  return text.length <= LONGEST_SHOWN ? text : `${text.slice(0, LONGEST_SHOWN)}… (${text.length} characters)`
}

/** So long may the search for a smaller input take. */
const SHRINKING_MS = 60_000

/** Tries so many inputs of a kind. @throws Breach at the first for which something does not hold, as small as it was found */
export async function tryAll<Input>(kind: Kind<Input>, inputs: number, seed: number): Promise<Figures> {
  await using trial = await kind.open()
  const begun = performance.now()
  const outcomes: Record<string, number> = {}
  const heldMb: number[] = []
  let met = 0
  let shrinksUntil = Number.POSITIVE_INFINITY
  const property = fc.asyncProperty(kind.inputs, async input => {
    if (performance.now() > shrinksUntil) return
    try {
      const outcome = await trial.meet(input)
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
      met += 1
      if (met >= ((heldMb.length + 1) * inputs) / 3) heldMb.push(Math.round(heldBytes() / 1e5) / 10)
    } catch (error) {
      shrinksUntil = Math.min(shrinksUntil, performance.now() + SHRINKING_MS)
      throw error
    }
  })
  const run = await fc.check(property, { seed, numRuns: inputs })
  if (run.failed) throw new Breach(kind.name, seed, run)
  await trial.after?.()
  const [first = 0, second = 0, third = 0] = heldMb
  must(
    inputs < LEAST_FOR_LEAKS || second - first < LEAK_MB || third - second < LEAK_MB,
    `${kind.name} holds ever more, in MB after each third: ${heldMb.join(', ')}`,
  )
  return { kind: kind.name, seed, inputs, seconds: (performance.now() - begun) / 1000, outcomes, heldMb }
}

/** Fewer inputs may as well fill what is kept on purpose. */
const LEAST_FOR_LEAKS = 1000
/** By how much more is held after each further third of the inputs, where nothing leaks; a run of a third may fill some cache. */
const LEAK_MB = 16

/** What takes some milliseconds at most is ended after this. */
const LONGEST_MS = 60_000
const SLOT = Symbol.for('hostile input at work')
const atWork = new Script("globalThis[Symbol.for('hostile input at work')]()")

/** Work that waits for nothing, interrupted when it takes longer than anyone waits. @throws Error */
export function interruptibly<T>(work: () => T): T {
  Object.assign(globalThis, { [SLOT]: work })
  return atWork.runInThisContext({ timeout: LONGEST_MS }) as T
}

/** @throws Error */
export function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new Error(what)
}
