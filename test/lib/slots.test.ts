import { describe, expect, test } from 'vitest'
import { Slots } from '../../src/lib/semaphore.ts'

const { signal } = new AbortController()

/** Enters, and notes the name once in. */
function enter(slots: Slots, log: string[], name: string, priority = 5, giveUp = signal): Promise<void> {
  const turn = slots.enter(priority, giveUp) ?? Promise.resolve()
  return turn.then(() => void log.push(name))
}

describe('slots', () => {
  test('let in as many as there are, at once, and the next one when somebody leaves', async () => {
    const slots = new Slots(2)
    expect(slots.enter(5, signal)).toBeUndefined()
    expect(slots.enter(5, signal)).toBeUndefined()
    const log: string[] = []
    const third = enter(slots, log, 'third')
    const fourth = enter(slots, log, 'fourth')
    slots.leave()
    await third
    expect(log).toEqual(['third'])
    slots.leave()
    await fourth
    slots.leave()
    slots.leave()
    expect(slots.enter(5, signal)).toBeUndefined()
    expect(slots.enter(5, signal)).toBeUndefined()
    expect(slots.enter(5, signal)).toBeInstanceOf(Promise)
  })

  test('may become fewer, which who is in does not notice, and more, which lets in who waits', async () => {
    const slots = new Slots(2)
    slots.enter(5, signal)
    slots.enter(5, signal)
    slots.resize(1)
    const log: string[] = []
    const all = ['third', 'fourth', 'fifth'].map(name => enter(slots, log, name))
    slots.leave()
    await Promise.resolve()
    expect(log).toEqual([])
    slots.leave()
    await all[0]
    expect(log).toEqual(['third'])
    slots.resize(3)
    await Promise.all(all)
    expect(slots.enter(5, signal)).toBeInstanceOf(Promise)
  })

  test('let in who is more urgent first, and of the same priority who came first', async () => {
    const slots = new Slots(1)
    slots.enter(5, signal)
    const log: string[] = []
    const all = [7, 3, 7, 1, 3].map((priority, i) => enter(slots, log, `${priority}-${i}`, priority))
    for (const _ of all) slots.leave()
    await Promise.all(all)
    expect(log).toEqual(['1-3', '3-1', '3-4', '7-0', '7-2'])
  })

  test('who gives up leaves the line, and takes no slot along', async () => {
    const slots = new Slots(1)
    slots.enter(5, signal)
    const controller = new AbortController()
    const log: string[] = []
    const impatient = enter(slots, log, 'impatient', 5, controller.signal)
    const patient = enter(slots, log, 'patient')
    controller.abort(new Error('no more'))
    await expect(impatient).rejects.toThrow('no more')
    slots.leave()
    await patient
    slots.leave()
    expect(slots.enter(5, signal)).toBeUndefined()
    expect(log).toEqual(['patient'])
  })

  test('nobody enters who has given up before', async () => {
    const slots = new Slots(1)
    await expect(slots.enter(5, AbortSignal.abort(new Error('over')))).rejects.toThrow('over')
    expect(slots.enter(5, signal)).toBeUndefined()
  })

  test('who was let in is in, though the signal aborts right after', async () => {
    const slots = new Slots(1)
    slots.enter(5, signal)
    const controller = new AbortController()
    const turn = slots.enter(5, controller.signal)
    slots.leave()
    controller.abort()
    await turn
    expect(slots.enter(5, signal)).toBeInstanceOf(Promise)
  })
})
