import { expect, test } from 'vitest'
import { Loop } from '../../src/lib/loop.ts'

test('a step that failed is tried again sooner, and told once', async () => {
  const told: string[] = []
  const worked = Promise.withResolvers<void>()
  let steps = 0
  const loop = new Loop({
    async step() {
      steps += 1
      if (steps < 4) throw new Error(`failure ${steps}`)
      worked.resolve()
    },
    pauseMs: 3_600_000,
    retryMs: 5,
    failed: error => told.push(error.message),
  })
  loop.start()
  await worked.promise
  await loop.stop()
  expect([steps, told]).toEqual([4, ['failure 1']])
})
