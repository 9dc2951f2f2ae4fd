import { performance } from 'node:perf_hooks'
import { expect, test } from 'vitest'
import { LocalPacer } from '../../src/platform/caller.ts'

const request = { operation: 'employee/get' }

test('lets no more calls pass than the rate permits, however many wait', async () => {
  const started = performance.now()
  const pacer = new LocalPacer(500)
  const passed: number[] = []
  await Promise.all(
    Array.from({ length: 150 }, async () => {
      await pacer.acquire(request)
      passed.push(performance.now())
    }),
  )
  for (const [index, at] of passed.entries()) {
    expect(index + 1).toBeLessThanOrEqual(((at - started) / 1000) * 500 + 1)
  }
  await pacer.close()
})

test('a hold-off holds everybody', async () => {
  const pacer = new LocalPacer(1000)
  await pacer.acquire(request)
  const started = performance.now()
  await pacer.holdOff(80, 'asked to')
  await pacer.acquire(request)
  expect(performance.now() - started).toBeGreaterThan(75)
  await pacer.close()
})

test('a hold-off of one operation with a budget holds no other', async () => {
  const pacer = new LocalPacer(1000, new Map([['employee/get', 1000]]))
  await pacer.acquire(request)
  await pacer.holdOff(60_000, 'asked to', 'employee/get')
  const held = expect(pacer.acquire(request)).rejects.toMatchObject({ code: 'PACER_CLOSED' })
  for (let call = 0; call < 20; call += 1) await pacer.acquire({ operation: 'employee/update' })
  expect(pacer.snapshot()).toMatchObject({ waiting: 1, pausedForMs: 0 })
  await pacer.close()
  await held
})

test('a rate that is none is refused', () => {
  for (const rate of [0, -1, Number.NaN, Number.POSITIVE_INFINITY]) {
    expect(() => new LocalPacer(rate)).toThrow(RangeError)
  }
})

test('an operation whose budget is used up keeps no other one waiting', async () => {
  const pacer = new LocalPacer(1000, new Map([['employee/get', 0.01]]))
  await pacer.acquire(request)
  const waiting = expect(pacer.acquire(request)).rejects.toMatchObject({ code: 'PACER_CLOSED' })
  for (let call = 0; call < 20; call += 1) await pacer.acquire({ operation: 'employee/update' })
  await pacer.close()
  await waiting
})

test('an operation with a budget is spaced by it, in the order of priority', async () => {
  const pacer = new LocalPacer(1000, new Map([['employee/get', 25]]))
  const passed: string[] = []
  const times: number[] = []
  const get = (who: string, priority: number) =>
    pacer.acquire({ ...request, priority }).then(() => {
      passed.push(who)
      times.push(performance.now())
    })
  const started = performance.now()
  await get('first', 5)
  const gets = [get('later', 5), get('urgent', 1)]
  await Promise.all(gets)
  expect(passed).toEqual(['first', 'urgent', 'later'])
  for (const [index, at] of times.entries())
    expect(index + 1).toBeLessThanOrEqual(((at - started) / 1000) * 25 + 1)
  await pacer.close()
})

test('a caller who gives up in the line of a budget leaves it to the others', async () => {
  const pacer = new LocalPacer(1000, new Map([['employee/get', 25]]))
  await pacer.acquire(request)
  const abort = new AbortController()
  const given = pacer.acquire({ ...request, signal: abort.signal })
  const other = pacer.acquire(request)
  abort.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  await other
  await pacer.close()
})
