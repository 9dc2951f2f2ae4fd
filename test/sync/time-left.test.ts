import { describe, expect, test } from 'vitest'
import { type Supply, timeLeft } from '../../src/sync/health/time-left.ts'

const demand = { calls: 14_230, ahead: 0, later: 0 }
const supply: Supply = {
  workers: 2,
  halted: false,
  pausedForMs: 0,
  permittedPerSecond: 20,
  concurrency: 16,
  callMs: 100,
}

describe('the time left', () => {
  test('is the calls still needed at the rate of the pacer', () => {
    expect(timeLeft(demand, supply)).toEqual({
      state: 'estimated',
      seconds: 711.5,
      calls_per_second: 20,
      paused_ms: null,
      ...demand,
    })
  })

  test('contains the more urgent work, which goes first', () => {
    expect(timeLeft({ ...demand, ahead: 200 }, supply)).toMatchObject({ seconds: 721.5 })
  })

  test('follows the calls in flight where the platform is too slow for the rate', () => {
    expect(timeLeft(demand, { ...supply, callMs: 1600 })).toMatchObject({
      calls_per_second: 10,
      seconds: 1423,
    })
    expect(timeLeft(demand, { ...supply, callMs: null })).toMatchObject({ calls_per_second: 20 })
    expect(timeLeft(demand, { ...supply, concurrency: null, callMs: 1600 })).toMatchObject({
      calls_per_second: 20,
    })
  })

  test('leaves retries out that wait for their time', () => {
    expect(timeLeft({ ...demand, later: 3 }, supply)).toMatchObject({ seconds: 711.5, later: 3 })
    expect(timeLeft({ calls: 0, ahead: 0, later: 3 }, supply)).toMatchObject({ state: 'waiting_for_retries' })
    expect(timeLeft({ calls: 0, ahead: 0, later: 0 }, supply)).toMatchObject({
      state: 'estimated',
      seconds: 0,
    })
  })

  test.each([
    ['no worker is alive', { workers: 0, halted: true }, 'no_worker'],
    ['everything is halted', { halted: true, pausedForMs: 1000 }, 'halted'],
    ['the platform asked for a pause', { pausedForMs: 1000 }, 'paused'],
    ['the rate is not yet learnt', { permittedPerSecond: 0 }, 'rate_unknown'],
    ['the rate is not yet told', { permittedPerSecond: null }, 'rate_unknown'],
  ])('is no number while %s', (_why, differs, state) => {
    const told = timeLeft(demand, { ...supply, ...differs })
    expect(told).toMatchObject({ state, ...demand })
    expect(told.seconds).toBeNull()
  })
})
