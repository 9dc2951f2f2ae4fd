import { expect, test } from 'vitest'
import { WaitingLine } from '../../src/lib/semaphore.ts'

test('lower priority numbers go first, within one priority whoever came first', () => {
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

test('every tenth turn is of whoever waits longest, however many more urgent ones come', () => {
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
