import { expect, test } from 'vitest'
import { Readings } from '../../src/console/readings.ts'

/** A person who asks, and what is recorded of it. */
function asking(actor: string) {
  const noted: unknown[] = []
  const note = async (name: string, values: object) => void noted.push([name, values])
  return { noted, ask: { asker: { actor, address: '127.0.0.1' }, commands: { note } } }
}

test('of what one person reads, one row an hour is recorded, with how often it was since the last one', async () => {
  let now = 0
  const readings = new Readings(() => now)
  const [li, bo] = [asking('console:li'), asking('console:bo')]
  const read = ({ ask }: typeof li, by: string) => readings.record(ask, 'search', { by })
  for (let i = 0; i < 3; i++) await read(li, 'name')
  await read(li, 'mobile')
  await read(bo, 'name')
  now = 59 * 60_000
  await read(li, 'name')
  expect(li.noted).toEqual([
    ['search', { by: 'name' }],
    ['search', { by: 'mobile' }],
  ])
  expect(bo.noted).toHaveLength(1)
  now = 60 * 60_000
  await read(li, 'name')
  expect(li.noted.at(-1)).toEqual(['search', { by: 'name', more_before: 3 }])
})

test('what cannot be recorded says so, and is tried again', async () => {
  const { ask, noted } = asking('console:li')
  const readings = new Readings()
  const refuse = { ...ask, commands: { note: () => Promise.reject(new Error('away')) } }
  await expect(readings.record(refuse, 'names', {})).rejects.toThrow('away')
  await readings.record(ask, 'names', {})
  expect(noted).toEqual([['names', {}]])
})
