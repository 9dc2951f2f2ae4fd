import { describe, expect, test } from 'vitest'
import { forbidding, liftHalts, raiseHalt, readHalts } from '../../src/sync/outbox/halts.ts'
import { inWords } from '../../src/texts/message.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const halt = (
  scope: string,
  firstProbeMs: number,
  category = 'credentials',
  platformCode: number | null = null,
) =>
  raiseHalt(
    store.pool,
    { scope, category, platformCode, message: inWords('wrong'), remedy: inWords('mend it') },
    firstProbeMs,
  )
const ask = async (enterpriseCode: string) => {
  const { halt, isProbe } = await forbidding(store.pool, enterpriseCode)
  return isProbe ? 'probe' : (halt?.scope ?? 'free')
}

describe('a call', () => {
  test('is free without a halt, and under the halt of another enterprise', async () => {
    expect(await ask('E1')).toBe('free')
    await halt('E2', 60_000)
    expect(await ask('E1')).toBe('free')
    expect(await ask('E2')).toBe('E2')
  })

  test('is the probe of a halt when one is due, only once among all processes', async () => {
    await halt('E1', 0)
    const answers = await Promise.all([ask('E1'), ask('E1'), ask('E1')])
    expect(answers.sort()).toEqual(['E1', 'E1', 'probe'])
    expect(await store.value('select probes from dirsync.halt')).toBe(1)
  })

  test('does not probe its enterprise while everything is halted', async () => {
    await halt('*', 60_000)
    await halt('E1', 0)
    expect(await ask('E1')).toBe('*')
    expect(await store.value('select sum(probes)::int from dirsync.halt')).toBe(0)
  })

  test('is not held up by a halt that does not concern it, and its success lifts none of those', async () => {
    await halt('*', 60_000, 'hr_unavailable')
    expect(await ask('E1')).toBe('free')
    const later = new Date(Date.now() + 1000)
    const deps = { pool: store.pool, logger: SILENT }
    await liftHalts(deps, 'E1', later, ['hr_unavailable'])
    expect(await readHalts(store.pool)).toHaveLength(1)
    await liftHalts(deps, 'E1', later)
    expect(await readHalts(store.pool)).toEqual([])
  })
})

test('a halt because of HR gives way to one because of the platform, and that does not give way', async () => {
  expect(await halt('*', 60_000, 'hr_unavailable')).toBe(true)
  expect(await halt('*', 60_000, 'hr_unavailable')).toBe(false)
  expect(await halt('*', 60_000, 'credentials')).toBe(true)
  expect(await ask('E1')).toBe('*')
  expect(await halt('*', 60_000, 'clock_skew')).toBe(false)
  expect(await halt('*', 60_000, 'hr_unavailable')).toBe(false)
  expect(await store.value('select category from dirsync.halt')).toBe('credentials')
})

test('an outage gives way to what the platform answers, and to nothing else', async () => {
  expect(await halt('*', 60_000, 'platform_unavailable')).toBe(true)
  expect(await halt('*', 60_000, 'hr_unavailable')).toBe(false)
  // Nothing was sent.
  expect(await halt('*', 60_000, 'token_fuse')).toBe(false)
  expect(await halt('*', 60_000, 'clock_skew', 1000210001)).toBe(true)
  expect(await halt('*', 60_000, 'platform_unavailable')).toBe(false)
  expect(await store.value('select category from dirsync.halt')).toBe('clock_skew')
})
