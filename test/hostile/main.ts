import { parseArgs } from 'node:util'
import { type Reporter, startVitest, type TestCase } from 'vitest/node'
import { KINDS } from './kinds.ts'

/**
 * Hostile input of every kind, for the real parts: `npm run hostile -- --inputs 100000 --seed 1 --only hr-rows`. Each kind says what
 * must hold. A breach prints its kind, its seed and the smallest input that was found, and ends with 1.
 */

const { values: given } = parseArgs({
  options: {
    /** Of all kinds together; each has its share. */
    inputs: { type: 'string', default: '10000' },
    seed: { type: 'string', default: '1' },
    /** The name of one kind, which then gets all inputs. */
    only: { type: 'string' },
  },
})

function refuse(why: string): never {
  process.stderr.write(`${why}\nKinds: ${KINDS.map(({ name }) => name).join(', ')}\n`)
  process.exit(2)
}

if (!/^[1-9]\d{0,8}$/.test(given.inputs)) refuse('--inputs is a whole number, from 1 on')
if (!/^\d{1,9}$/.test(given.seed)) refuse('--seed is a whole number, from 0 on')
if (given.only !== undefined && !KINDS.some(({ name }) => name === given.only)) refuse('--only names a kind')

process.env.HOSTILE_INPUTS = given.inputs
process.env.HOSTILE_SEED = given.seed
if (given.only !== undefined) process.env.HOSTILE_ONLY = given.only

/** A line for each kind, and what went wrong. */
class Lines implements Reporter {
  #inputs = 0

  onTestCaseResult(test: TestCase): void {
    const { figures } = test.meta()
    if (figures) {
      this.#inputs += figures.inputs
      const outcomes = Object.entries(figures.outcomes).toSorted(([, a], [, b]) => b - a)
      const said = outcomes.map(([outcome, count]) => `${outcome} ${count}`).join(', ')
      process.stdout.write(
        `${figures.kind}: ${figures.inputs} inputs in ${figures.seconds.toFixed(1)} s, ${figures.heldMb.join(', ')} MB held (${said})\n`,
      )
    }
    for (const { message, stack } of test.result().errors ?? [])
      process.stdout.write(`${message.includes('seed') ? message : (stack ?? message)}\n`)
  }

  onTestRunEnd(_: unknown, unhandled: readonly { message?: string; stack?: string }[]): void {
    for (const { stack, message } of unhandled) process.stdout.write(`Unhandled: ${stack ?? message}\n`)
    process.stdout.write(`${this.#inputs} inputs, seed ${given.seed}\n`)
  }
}

const vitest = await startVitest('test', ['test/hostile/hostile.test.ts'], {
  project: 'tests',
  watch: false,
  reporters: [new Lines()],
})
await vitest.close()
