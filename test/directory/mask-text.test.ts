import fc from 'fast-check'
import { expect, test } from 'vitest'
import { maskText } from '../../src/directory/masking.ts'

test.each([
  ['mobile 13800138000 is taken', 'mobile 13*** is taken'],
  ['mobile 138 0013 8000 is taken', 'mobile 13*** is taken'],
  ['mobile +86-138-0013-8000 is taken', 'mobile +86*** is taken'],
  ['手机号13800138000已存在', '手机号13***已存在'],
  ['手机号１３８００１３８０００已存在', '手机号１３***已存在'],
  ['document 11010519491231002X', 'document 11***'],
  ['passport E12345678', 'passport E1***'],
  ['employee HR1234', 'employee HR***'],
  ['room 12-34-5', 'room 12***'],
  ['badge A1234', 'badge A1***'],
  ['born on 1990-12-31', 'born on 19***'],
  ['write to a.b+c@example.com, please', 'write to ***@*** please'],
  ['写给 a.b@example.com', '写给 ***@***'],
  ['mail "x＠example.com"', 'mail "***@***"'],
])('%j becomes %j', (text, masked) => {
  expect(maskText(text)).toBe(masked)
})

test.each([
  '',
  'dept_code not exists !',
  'name longer than 50',
  'HTTP 429, try again in 30 s',
  'field 3 of 14',
  'in 2024',
  'abcd1',
  'a1b2c3d4',
  '部门不存在',
])('%j stays as it is', text => {
  expect(maskText(text)).toBe(text)
})

test('no five digits in a row and no address are ever left', () => {
  const piece = fc.oneof(
    fc.constantFrom(' ', '-', '.', '@', '＠', '员工', 'a', 'E', '(', ')', ',', ':'),
    fc.nat({ max: 999_999_999_999 }).map(String),
    fc.string({ unit: 'binary', maxLength: 5 }),
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 30 }), pieces => {
      const masked = maskText(pieces.join(''))
      expect(masked).not.toMatch(/\p{Nd}{5}/u)
      expect(masked.replaceAll('***@***', '')).not.toMatch(/[a-z0-9]@[a-z0-9]/i)
    }),
    { numRuns: 300 },
  )
})

test('what comes out can be stored: short, well-formed, without control characters', () => {
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.integer({ min: 0, max: 0xffff }).map(c => String.fromCharCode(c)),
        maxLength: 400,
      }),
      text => {
        const masked = maskText(text)
        expect(masked.length).toBeLessThanOrEqual(300)
        expect(masked.isWellFormed()).toBe(true)
        expect(masked).not.toMatch(/\p{Cc}/u)
      },
    ),
  )
  expect(maskText(`${'x'.repeat(299)}😀`)).toBe('x'.repeat(299))
  expect(maskText(`${'-'.repeat(1999)}😀`)).toBe('-'.repeat(300))
  expect(maskText('𝟙𝟚𝟛𝟜𝟝')).toBe('𝟙𝟚***')
  expect(maskText('a\u0000b\r\nc')).toBe('a b c')
})

test('no character is cut in two', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary', minLength: 140, maxLength: 320 }), text => {
      expect(maskText(text.replaceAll('\ufffd', ''))).not.toContain('\ufffd')
    }),
  )
})

test('a huge text costs no more than a short one', () => {
  expect(maskText('a'.repeat(10_000_000))).toBe('a'.repeat(300))
  expect(maskText('1'.repeat(10_000_000))).toBe('11***')
})
