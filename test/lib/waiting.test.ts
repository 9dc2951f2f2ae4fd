import { describe, expect, test } from 'vitest'
import { Semaphore, unlessAborted, WaitingLine, within } from '../../src/lib/waiting.ts'

const { signal } = new AbortController()

/** Takes a permit, and notes the name once it is there. */
function acquire(
  permits: Semaphore,
  log: string[],
  name: string,
  priority = 5,
  giveUp = signal,
): Promise<void> {
  const turn = permits.acquire(priority, giveUp) ?? Promise.resolve()
  return turn.then(() => void log.push(name))
}

describe('a semaphore', () => {
  test('gives its permits at once, and the next one when one is given back', async () => {
    const permits = new Semaphore(2)
    expect(permits.acquire(5, signal)).toBeUndefined()
    expect(permits.acquire(5, signal)).toBeUndefined()
    const log: string[] = []
    const third = acquire(permits, log, 'third')
    const fourth = acquire(permits, log, 'fourth')
    permits.release()
    await third
    expect(log).toEqual(['third'])
    permits.release()
    await fourth
    permits.release()
    permits.release()
    expect(permits.acquire(5, signal)).toBeUndefined()
    expect(permits.acquire(5, signal)).toBeUndefined()
    expect(permits.acquire(5, signal)).toBeInstanceOf(Promise)
  })

  test('serves the more urgent first, and within one priority the first to come', async () => {
    const permits = new Semaphore(1)
    permits.acquire(5, signal)
    const log: string[] = []
    const all = [7, 3, 7, 1, 3].map((priority, i) => acquire(permits, log, `${priority}-${i}`, priority))
    for (const _ of all) permits.release()
    await Promise.all(all)
    expect(log).toEqual(['1-3', '3-1', '3-4', '7-0', '7-2'])
  })

  test('gives no permit to a waiter who gave up', async () => {
    const permits = new Semaphore(1)
    permits.acquire(5, signal)
    const controller = new AbortController()
    const log: string[] = []
    const impatient = acquire(permits, log, 'impatient', 5, controller.signal)
    const patient = acquire(permits, log, 'patient')
    controller.abort(new Error('no more'))
    await expect(impatient).rejects.toThrow('no more')
    permits.release()
    await patient
    permits.release()
    expect(permits.acquire(5, signal)).toBeUndefined()
    expect(log).toEqual(['patient'])
  })

  test('gives no permit to one who gave up before', async () => {
    const permits = new Semaphore(1)
    await expect(permits.acquire(5, AbortSignal.abort(new Error('over')))).rejects.toThrow('over')
    expect(permits.acquire(5, signal)).toBeUndefined()
  })

  test('leaves the permit with its holder, although the signal aborts right after', async () => {
    const permits = new Semaphore(1)
    permits.acquire(5, signal)
    const controller = new AbortController()
    const turn = permits.acquire(5, controller.signal)
    permits.release()
    controller.abort()
    await turn
    expect(permits.acquire(5, signal)).toBeInstanceOf(Promise)
  })
})

describe('a time limit', () => {
  test('gives the outcome that comes in time', async () => {
    expect(await within(60_000, Promise.resolve('answer'))).toBe('answer')
    await expect(within(60_000, Promise.reject(new Error('refused')))).rejects.toThrow('refused')
  })

  test('rejects where none comes, with the error that is wanted', async () => {
    const never = new Promise(() => undefined)
    await expect(within(1, never)).rejects.toThrow('no answer within 1 ms')
    await expect(within(1, never, () => new RangeError('late'))).rejects.toThrow(RangeError)
  })
})

describe('a promise that can be given up', () => {
  test('gives its outcome without a signal, or as long as the signal does not abort', async () => {
    expect(await unlessAborted(Promise.resolve(1), undefined)).toBe(1)
    expect(await unlessAborted(Promise.resolve(1), signal)).toBe(1)
  })

  test('rejects with the reason of a signal that aborts, or has aborted', async () => {
    const never = new Promise(() => undefined)
    const controller = new AbortController()
    const given = unlessAborted(never, controller.signal)
    controller.abort(new Error('no more'))
    await expect(given).rejects.toThrow('no more')
    await expect(unlessAborted(never, controller.signal)).rejects.toThrow('no more')
  })
})

test('lower priority numbers go first, and within one priority the longest waiting', () => {
  const line = new WaitingLine<string>()
  for (const [item, priority] of [
    ['full', 7],
    ['change 1', 3],
    ['named', 1],
    ['change 2', 3],
    ['token', -1],
  ] as const)
    line.add(item, priority)
  line.remove('change 1')
  line.remove('unknown')
  expect(Array.from({ length: 5 }, () => line.shift())).toEqual([
    'token',
    'named',
    'change 2',
    'full',
    undefined,
  ])
})

test('every tenth turn goes to the longest waiter, however many more urgent ones come', () => {
  const line = new WaitingLine<string>()
  line.add('mirror', 9)
  line.add('full', 7)
  const order: (string | undefined)[] = []
  for (let turn = 1; turn <= 20; turn += 1) {
    line.add('change', 3)
    order.push(line.shift())
    line.remove('change')
  }
  expect(order.indexOf('mirror')).toBe(9)
  expect(order.indexOf('full')).toBe(19)
  expect(order.filter(item => item === 'change')).toHaveLength(18)
})
