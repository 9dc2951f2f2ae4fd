import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  identityCheckCharacter,
  identityNumberFault,
  looksLikeIdentityNumber,
} from '../../src/directory/field-rules.ts'
import { isCalendarDate, normaliseDate, normaliseMonthDay } from '../../src/lib/text.ts'

const twoDigits = (value: number) => String(value).padStart(2, '0')
const birthDate = fc.date({
  min: new Date('1900-01-01T00:00:00Z'),
  max: new Date('2099-12-31T00:00:00Z'),
  noInvalidDate: true,
})
const digits = (length: number) =>
  fc.array(fc.nat({ max: 9 }), { minLength: length, maxLength: length }).map(parts => parts.join(''))
const region = fc.tuple(fc.integer({ min: 1, max: 9 }), digits(5)).map(([first, rest]) => `${first}${rest}`)
const firstSeventeen = fc
  .tuple(region, birthDate, digits(3))
  .map(
    ([place, birth, sequence]) =>
      `${place}${birth.toISOString().slice(0, 10).replaceAll('-', '')}${sequence}`,
  )

describe('identity number', () => {
  test('the check digit of the published example is right', () => {
    expect(identityCheckCharacter('11010519491231002')).toBe('X')
    expect(identityNumberFault('11010519491231002X')).toBeNull()
    expect(identityNumberFault('440524188001010014')).toBeNull()
  })

  test('a number with its own check digit is sound, with any other it is not', () => {
    fc.assert(
      fc.property(firstSeventeen, fc.constantFrom(...'0123456789X'), (number, last) => {
        const right = identityCheckCharacter(number)
        expect(identityNumberFault(number + last)).toBe(last === right ? null : 'check_digit')
      }),
    )
  })

  test('one wrong digit, or two neighbours swapped, is always noticed', () => {
    fc.assert(
      fc.property(firstSeventeen, fc.nat({ max: 16 }), fc.nat({ max: 9 }), (number, at, digit) => {
        const sound = number + identityCheckCharacter(number)
        const wrong = sound.slice(0, at) + digit + sound.slice(at + 1)
        if (wrong !== sound) expect(identityNumberFault(wrong)).not.toBeNull()
        const swapped = sound.slice(0, at) + sound.charAt(at + 1) + sound.charAt(at) + sound.slice(at + 2)
        if (swapped !== sound) expect(identityNumberFault(swapped)).not.toBeNull()
      }),
    )
  })

  test('a birth date that does not exist is no birth date', () => {
    const number = '11010119900229001'
    expect(identityNumberFault(number + identityCheckCharacter(number))).toBe('birth_date')
    expect(identityNumberFault('110101901301001')).toBe('birth_date')
  })

  test.each([
    [1799, 'birth_date'],
    [1800, null],
    [2199, null],
    [2200, 'birth_date'],
  ])('a birth in %i is %j: a year far from ours is a typing error', (year, fault) => {
    const number = `110101${year}0101001`
    expect(identityNumberFault(number + identityCheckCharacter(number))).toBe(fault)
  })

  test('the fifteen places of the first generation are accepted, with a birth in the 1900s', () => {
    fc.assert(
      fc.property(
        region,
        fc.date({ min: new Date('1900-01-01'), max: new Date('1999-12-31'), noInvalidDate: true }),
        digits(3),
        (place, birth, sequence) => {
          const day = birth.toISOString().slice(2, 10).replaceAll('-', '')
          expect(identityNumberFault(place + day + sequence)).toBeNull()
        },
      ),
    )
    expect(identityNumberFault('110101000229001')).toBe('birth_date') // 1900 was no leap year
  })

  test.each(['', 'X', '1101011990010100', '11010119900101001x', '01010119900101001X', '1101011990010100XX'])(
    '%j has no identity number form',
    text => expect(identityNumberFault(text)).toBe('format'),
  )

  test('looking like one and being one are two things', () => {
    expect(looksLikeIdentityNumber('000000000000000000')).toBe(true)
    expect(looksLikeIdentityNumber('00000000000000000X')).toBe(true)
    expect(looksLikeIdentityNumber('000000000000000')).toBe(true)
    const others = [
      'E12345678',
      '1',
      'A'.repeat(15),
      `A${'1'.repeat(15)}`,
      `${'1'.repeat(15)}A`,
      `A${'1'.repeat(18)}`,
    ]
    for (const text of others) expect(looksLikeIdentityNumber(text), text).toBe(false)
  })
})

describe('dates', () => {
  test('every day of the calendar exists and comes back in canonical form, however it is written', () => {
    fc.assert(
      fc.property(birthDate, fc.constantFrom('-', '/', '.'), fc.boolean(), (date, separator, padded) => {
        const canonical = date.toISOString().slice(0, 10)
        const [year = '', month = '', day = ''] = canonical.split('-')
        const write = (part: string) => (padded ? part : String(Number(part)))
        const text = [year, write(month), write(day)].join(separator)
        expect(normaliseDate(text)).toBe(canonical)
        expect(normaliseDate(canonical.replaceAll('-', ''))).toBe(canonical)
        expect(normaliseDate(`${year}年${write(month)}月${write(day)}日`)).toBe(canonical)
        expect(normaliseDate(`${text} 08:30:00.123+08`)).toBe(canonical)
        expect(normaliseDate(`${canonical}T00:00:00Z`)).toBe(canonical)
        expect(normaliseMonthDay(`${month}-${day}`)).toBe(`${month}-${day}`)
      }),
    )
  })

  test.each([
    ['2023-12-31T16:00:00.000Z', '2024-01-01'],
    ['2023-12-31T15:59:59.999Z', '2023-12-31'],
    ['2024-01-01T00:00:00+08:00', '2024-01-01'],
    ['2024-01-01 00:00:00+08', '2024-01-01'],
    ['2024-02-28 16:00:00 UTC', '2024-02-29'],
    ['2024/1/1 1:30 +0900', '2024-01-01'],
    ['2024-01-01 00:30:00+09:00', '2023-12-31'],
    ['2023-12-31 11:00-05', '2024-01-01'],
    // In summer time, as PostgreSQL has it: midnight was an hour earlier.
    ['1990-05-16T15:00:00.000Z', '1990-05-17'],
    ['1990-05-17T00:00:00+08:00', '1990-05-17'],
    ['2023-12-31T16:00:00', '2023-12-31'],
    ['2023-12-31 23:59:59.999', '2023-12-31'],
    ['0001-01-01T00:00:00Z', '0001-01-01'],
    ['9999-12-31T23:59:59Z', null],
    ['2023-12-31T25:00:00Z', null],
  ])('of %j the day in China is %j', (text, day) => {
    expect(normaliseDate(text)).toBe(day)
  })

  test('isCalendarDate agrees with the calendar of the engine', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1000, max: 9999 }),
        fc.integer({ min: 0, max: 13 }),
        fc.integer({ min: 0, max: 32 }),
        (year, month, day) => {
          const date = new Date(Date.UTC(year, month - 1, day))
          const exists = date.getUTCMonth() === month - 1 && date.getUTCDate() === day
          expect(isCalendarDate(year, month, day)).toBe(exists)
        },
      ),
    )
  })

  test('full-width digits and signs are understood', () => {
    expect(normaliseDate('２０２４－０２－２９')).toBe('2024-02-29')
    expect(normaliseMonthDay('\u3000２／２９')).toBe('02-29')
  })

  test.each([
    '2023-02-29',
    '2024-13-01',
    '2024-00-10',
    '2024-01-00',
    '0000-01-01',
    '24-01-01',
    '2024-01',
    '20240230',
    '2024-01/02',
    'infinity',
    '2024-01-01x',
    '2024-01-01 BC',
    '01-02-2024',
    '12024-01-01',
  ])('%j is no date', text => {
    expect(normaliseDate(text)).toBeNull()
  })

  test.each(['02-30', '13-01', '00-01', '1', '2024-01-01', '05-17-'])('%j is no day of a year', text => {
    expect(normaliseMonthDay(text)).toBeNull()
  })

  test('29 February is a birthday', () => {
    expect(normaliseMonthDay(`${twoDigits(2)}-29`)).toBe('02-29')
  })
})
