import { expect, test } from 'vitest'
import { csvLine } from '../../src/lib/csv.ts'

test('CSV quotes what it must, and makes no formulas', () => {
  expect(csvLine([1, null, 'a', 'b,c', 'say "hi"', new Date(0), [{ field: 'x' }]])).toBe(
    '1,,a,"b,c","say ""hi""",1970-01-01T00:00:00.000Z,"[{""field"":""x""}]"',
  )
  expect(csvLine(['=1+1', '@x', '-1'])).toBe("'=1+1,'@x,'-1")
  expect(csvLine(['＝1+1', '＠x', '－1', '＋1', '\n=1', '\t=1'])).toBe(
    `'＝1+1,'＠x,'－1,'＋1,"'\n'=1","'\t'=1"`,
  )
})

test.each([
  ['x;=1+1', `"x;'=1+1"`],
  ['x\t@sum(1)', `"x\t'@sum(1)"`],
  ['x\r\n＋1', `"x\r\n'＋1"`],
  ['x;"=1+1"', `"x;""'=1+1"""`],
  ['a;b', '"a;b"'],
  ['a;;-1', `"a;;'-1"`],
])('%j is no formula where a spreadsheet separates by semicolons or tabs', (value, written) => {
  expect(csvLine(['before', value])).toBe(`before,${written}`)
})
