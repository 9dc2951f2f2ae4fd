import { describe, expect, test } from 'vitest'
import { gb18030 } from '../../examples/files/gb18030.ts'
import type { HrKind } from '../../src/hr/server.ts'
import { DOUBT_HINTS, DoubtCollector } from '../../src/workbench/columns.ts'

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

test('ids in files that were guarded against spreadsheets are not what HR has', () => {
  expect(doubts(['="00001"', "'00002", '00003', "O'Neil", '="'], 'files')).toEqual([
    { kind: 'guarded', field: 'userid', rows: 2, of: 5, values: [] },
  ])
  expect(DOUBT_HINTS.has('guarded')).toBe(false)
})

test('what exports write for no value is no value', () => {
  const collector = new DoubtCollector(['userid', 'name', 'mobile', 'email'], 'files')
  const rows = [
    { userid: 'E1', name: 'NULL', mobile: '\\N', email: '(null)' },
    { userid: 'E2', name: 'Null', mobile: 'NULL', email: 'null@example.com' },
    { userid: 'E3', name: 'Ann', mobile: '\\N', email: '' },
  ]
  for (const [i, row] of rows.entries()) collector.add(row, i > 0)
  expect(collector.result(() => false)).toEqual([
    { kind: 'nulls', field: 'name', rows: 1, of: 3, values: [{ value: 'NULL', rows: 1 }] },
    {
      ...{ kind: 'nulls', field: 'mobile', rows: 3, of: 3 },
      values: [
        { value: '\\N', rows: 2 },
        { value: 'NULL', rows: 1 },
      ],
    },
    { kind: 'nulls', field: 'email', rows: 1, of: 3, values: [{ value: '(null)', rows: 1 }] },
  ])
})

test('a day that stands for none is told by its year, of active employees', () => {
  const collector = new DoubtCollector(['userid', 'birth_day', 'entry_day'], 'postgres')
  const days = [
    ['1900-01-01', '0001-01-01'],
    ['1900/1/1', '9999-12-31'],
    ['19000101', '2020-02-29'],
    ['1985-05-17', ''],
    // what breaks the rule is told as that
    ['0000-00-00', '1900-02-29'],
  ]
  for (const [i, [birth_day = '', entry_day = '']] of days.entries())
    collector.add({ userid: `E${i}`, birth_day, entry_day }, true)
  collector.add({ userid: 'L', birth_day: '1900-01-01', entry_day: '1900-01-01' }, false)
  expect(collector.result(() => false)).toEqual([
    { kind: 'no_days', field: 'birth_day', rows: 3, of: 5, values: [{ value: '1900', rows: 3 }] },
    {
      ...{ kind: 'no_days', field: 'entry_day', rows: 2, of: 5 },
      values: [
        { value: '0001', rows: 1 },
        { value: '9999', rows: 1 },
      ],
    },
  ])
  expect(DOUBT_HINTS.has('no_days')).toBe(false)
})

describe('Chinese names in a column of latin1', () => {
  const NAMES =
    '王伟 李娜 张敏 刘洋 陈静 杨磊 赵军 黄丽 周杰 吴昊 徐明 孙燕 胡兵 朱琳 高飞 林涛 何平 郭芳 马超 罗欣'.split(
      ' ',
    )
  const doubtsOf = (names: string[], kind: HrKind = 'mysql') => {
    const collector = new DoubtCollector(['userid', 'name'], kind)
    for (const [i, name] of names.entries()) collector.add({ userid: `E${i}`, name }, true)
    return collector.result(() => false)
  }
  /** What MySQL makes of bytes in such a column. */
  const read = (bytes: Uint8Array) => new TextDecoder('windows-1252').decode(bytes)

  test.each([
    ['GBK', gb18030],
    ['UTF-8', (name: string) => Buffer.from(name)],
  ])('are told where their bytes are %s', (_, encode) => {
    const names = NAMES.map(name => read(encode(name)))
    expect(names).toHaveLength(20)
    expect(doubtsOf(names)).toEqual([{ kind: 'latin1', field: 'name', rows: 20, of: 20, values: [] }])
    expect(doubtsOf(names, 'postgres')).toEqual([])
  })

  test.each([
    ['Chinese', NAMES],
    ['French', ['Zoé', 'Éloïse Lefèvre', 'Noël', 'Anaïs', 'René', 'Hélène', 'Gaël', 'Chloé', 'Aïda', 'Léa']],
    ['German', ['Jörg Müller', 'Böß', 'Käthe', 'Ömer', 'Uwe', 'Günther Groß', 'Jürgen', 'Änne', 'Björn']],
  ])('are not %s ones', (_, names) => {
    expect(doubtsOf(names)).toEqual([])
  })
})

test.each<[string, string[], HrKind]>([
  ['that are all of one length', ['1001', '1002'], 'files'],
  ['of which one begins with a zero', ['1001', '0007', '42'], 'files'],
  ['beside texts', ['1001', '42', 'E7'], 'files'],
  ['in a database', ['1001', '42'], 'postgres'],
])('numbers %s have not', (_, ids, kind) => {
  expect(doubts(ids, kind)).toEqual([])
})
