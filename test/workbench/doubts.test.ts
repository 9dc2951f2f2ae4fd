import { expect, test } from 'vitest'
import type { HrKind } from '../../src/hr/server.ts'
import { DoubtCollector } from '../../src/workbench/columns.ts'

const doubts = (ids: string[], kind: HrKind) => {
  const collector = new DoubtCollector(['userid', 'corp_code'], kind)
  for (const id of ids) collector.add({ userid: id, corp_code: `K${id}` }, true)
  return collector.result(() => false)
}

test('numbers in files that are shorter than the others may have lost zeros', () => {
  expect(doubts(['1001', '1002', '7', '42', '1003'], 'files')).toEqual([
    { kind: 'zeros', field: 'userid', rows: 2, of: 5, values: [] },
  ])
})

test('ids in files that were written as numbers are not what HR has', () => {
  expect(doubts(['1001.0', '4.4052419880101E+17', 'E1001', '7.01', '1E1'], 'files')).toEqual([
    { kind: 'rewritten', field: 'userid', rows: 2, of: 5, values: [] },
  ])
  expect(doubts(['1001.0'], 'postgres')).toEqual([])
})

test.each<[string, string[], HrKind]>([
  ['that are all of one length', ['1001', '1002'], 'files'],
  ['of which one begins with a zero', ['1001', '0007', '42'], 'files'],
  ['beside texts', ['1001', '42', 'E7'], 'files'],
  ['in a database', ['1001', '42'], 'postgres'],
])('numbers %s have not', (_, ids, kind) => {
  expect(doubts(ids, kind)).toEqual([])
})
