import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  fits,
  halfWidthText,
  platformTime,
  toHalfWidth,
  trimText,
  withoutBlanks,
} from '../../src/lib/text.ts'

const EDGE = ['\u3000', '\u00a0', '\u200b', '\ufeff', '\u2060', '\u200e', ' ', '\t', '\n', '\u0007']
const edge = fc.array(fc.constantFrom(...EDGE), { maxLength: 4 }).map(parts => parts.join(''))
const unicode = fc.string({ unit: 'binary' })

describe('trimText', () => {
  test('cuts ideographic, no-break and zero-width blanks off both ends and keeps those inside', () => {
    expect(trimText('\u3000\ufeff甲 \u3000乙\u00a0\u200b')).toBe('甲 \u3000乙')
    expect(trimText('\u200b\u3000')).toBe('')
    expect(trimText('')).toBe('')
  })

  test('whatever surrounds a text, the text comes out', () => {
    fc.assert(
      fc.property(edge, unicode.map(trimText), edge, (before, text, after) => {
        expect(trimText(before + text + after)).toBe(text)
      }),
    )
  })

  test('a million blanks within a text are no harder than one, and whole characters are cut', () => {
    const blanks = `甲${' '.repeat(1_000_000)}`
    expect(trimText(`${blanks}é`)).toBe(`${blanks}é`)
    expect(trimText(`é${blanks}𠮷`)).toBe(`é${blanks}𠮷`)
    expect(trimText(blanks)).toBe('甲')
    // A tag that prints nothing has two code units, and so has a half of its kind none.
    expect(trimText('a\u{e0041}\u{e0042}')).toBe('a')
    expect(trimText('\u{e0041}a\udc41')).toBe('a\udc41')
  })

  test('trimming twice changes nothing', () => {
    fc.assert(fc.property(unicode, text => trimText(trimText(text)) === trimText(text)))
  })
})

describe('half-width', () => {
  test('full-width letters, digits, signs and blanks become ASCII; ideographs stay', () => {
    expect(toHalfWidth('ＡｚＺ０９＠－．\u3000甲')).toBe('AzZ09@-. 甲')
  })

  test('every printable ASCII text survives the way to full width and back', () => {
    const full = (text: string) =>
      [...text].map(c => (c === ' ' ? '\u3000' : String.fromCharCode(c.charCodeAt(0) + 0xfee0))).join('')
    fc.assert(fc.property(fc.string(), text => toHalfWidth(full(text)) === text))
  })

  test('plainText is half-width and trimmed', () => {
    expect(halfWidthText('\u3000Ａ１\u3000')).toBe('A1')
  })
})

test('withoutBlanks leaves no blank and no invisible character', () => {
  expect(withoutBlanks(' 1\u20093\u3000 8\u200b\ufeff')).toBe('138')
})

describe('fits', () => {
  test('counts code points, not UTF-16 units', () => {
    expect(fits('𠮷'.repeat(50), 50)).toBe(true)
    expect(fits('𠮷'.repeat(51), 50)).toBe(false)
    expect(fits('甲'.repeat(50), 50)).toBe(true)
    expect(fits('甲'.repeat(51), 50)).toBe(false)
  })

  test('agrees with counting', () => {
    fc.assert(
      fc.property(
        unicode,
        fc.nat({ max: 20 }),
        (text, limit) => fits(text, limit) === [...text].length <= limit,
      ),
    )
  })
})

test.each([
  ['2026-01-01 07:59:59', '2025-12-31T23:59:59.000Z'],
  ['2024-02-29 00:00:00', '2024-02-28T16:00:00.000Z'],
  [' 2026-06-30 23:59:59 ', '2026-06-30T15:59:59.000Z'],
  ['2026-06-30T23:59:59.123', '2026-06-30T15:59:59.000Z'],
])('%s of GMT+8 is %s', (text, moment) => {
  expect(platformTime(text)?.toISOString()).toBe(moment)
})

test.each([
  '',
  '0000-00-00 00:00:00',
  '2023-02-29 00:00:00',
  '2026-01-01 24:00:00',
  '2026-01-01 00:60:00',
  '2026-01-01',
  '2026/01/01 00:00:00',
  'yesterday',
])('%j is no time', text => {
  expect(platformTime(text)).toBeNull()
})
