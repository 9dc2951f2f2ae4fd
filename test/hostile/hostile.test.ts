import { test } from 'vitest'
import { type Figures, tryAll } from './kind.ts'
import { KINDS } from './kinds.ts'

declare module 'vitest' {
  interface TaskMeta {
    figures?: Figures
  }
}

/*
 * A few inputs of each kind. `npm run hostile` tries as many as you like; it says so by these. The suite's seed is fixed, so that
 * no test fails by chance.
 */

const inputs = Number(process.env.HOSTILE_INPUTS ?? 0)
const seed = Number(process.env.HOSTILE_SEED ?? 1)
const only = process.env.HOSTILE_ONLY
const kinds = KINDS.filter(({ name }) => only === undefined || name === only)
const shares = kinds.reduce((sum, { share }) => sum + share, 0)
const DAY_MS = 86_400_000

test.for(kinds)('$name: $what', { timeout: inputs > 0 ? DAY_MS : 120_000 }, async (kind, { task }) => {
  const count = inputs > 0 ? Math.max(1, Math.round((inputs * kind.share) / shares)) : kind.few
  task.meta.figures = await tryAll(kind, count, seed)
})
