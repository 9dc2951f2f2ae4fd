import { expect, test } from 'vitest'
import { gb18030 } from '../../../examples/files/gb18030.ts'
import { HrDeliveryError } from '../../../src/hr/source.ts'
import { errorOf } from '../contract/source-under-test.ts'
import { delivered } from './delivered.ts'

const SQL = 'select 工号 as userid, 姓名 as name, 备注 as remark from staff'
const TEXT = '工号,姓名,备注\n007,张三,"a,""b"\n"8",李四,\n'
const ROWS = [
  { enterprise_code: '', userid: '007', name: '张三', remark: 'a,"b' },
  { enterprise_code: '', userid: '8', name: '李四', remark: null },
]

const utf16 = (text: string, order: 'le' | 'be') => {
  const bytes = Buffer.from(`\ufeff${text}`, 'utf16le')
  return order === 'le' ? bytes : bytes.swap16()
}

test.each([
  ['UTF-8', Buffer.from(TEXT)],
  ['UTF-8 with a mark', Buffer.from(`\ufeff${TEXT}`)],
  ['GB18030', gb18030(TEXT)],
  ['UTF-16, little end first', utf16(TEXT, 'le')],
  ['UTF-16, big end first', utf16(TEXT, 'be')],
])('%s is recognised', async (_, bytes) => {
  const hr = await delivered()
  await hr.deliver('staff.csv', bytes)
  expect(await hr.rows(SQL)).toEqual(ROWS)
})

test.each([
  ['utf-16le', utf16(TEXT, 'le').subarray(2)],
  ['gb18030', gb18030(TEXT)],
] as const)('is set to %s, where a file does not tell', async (encoding, bytes) => {
  const hr = await delivered({ encoding })
  await hr.deliver('staff.csv', bytes)
  expect(await hr.rows(SQL)).toEqual(ROWS)
  for (const marked of [Buffer.from(`\ufeff${TEXT}`), utf16(TEXT, 'be')]) {
    await hr.deliver('staff.csv', marked)
    expect(await hr.rows(SQL)).toEqual(ROWS)
  }
})

test('characters of four bytes, and JSON, are read in GB18030', async () => {
  const hr = await delivered()
  await hr.deliver('staff.json', gb18030('[{"工号": "1", "姓名": "李𠮷"}]'))
  expect(await hr.rows('select 工号 as userid, 姓名 as name from staff')).toEqual([
    { enterprise_code: '', userid: '1', name: '李𠮷' },
  ])
})

test.each([
  [
    'UTF-8 that is cut within a character',
    Buffer.from(TEXT).subarray(0, 27),
    {},
    /line 2 \(from byte 21 on\) is not valid UTF-8/,
  ],
  [
    'a byte that no UTF-8 has, among many that are',
    Buffer.concat([Buffer.from(TEXT), Buffer.from([0xff, 0x0a])]),
    {},
    /line 4 \(from byte \d+ on\) is not valid UTF-8/,
  ],
  [
    'a byte that no GB18030 has',
    Buffer.concat([gb18030(TEXT), Buffer.from([0x39, 0x2c, 0xff, 0x2c, 0x0a])]),
    {},
    /line 4 \(from byte \d+ on\) is not valid GB18030; check HR_FILES_ENCODING, or the export/,
  ],
  [
    'GB18030 that is said to be UTF-8',
    gb18030(TEXT),
    { encoding: 'utf-8' } as const,
    /line 1 \(from byte 0 on\) is not valid UTF-8/,
  ],
  [
    'UTF-16 that is cut within a character',
    utf16(TEXT, 'le').subarray(0, -1),
    {},
    /ends in the middle of a character of UTF-16LE/,
  ],
])('nothing is read of %s', async (_, bytes, settings, message) => {
  const hr = await delivered(settings)
  await hr.deliver('staff.csv', bytes)
  const error = await errorOf(hr.rows(SQL))
  expect(error).toBeInstanceOf(HrDeliveryError)
  expect(error.message).toMatch(/^the delivery in .* is not complete: the file staff\.csv /)
  expect(error.message).toMatch(message)
  expect(error.message).not.toContain('张三')
})
