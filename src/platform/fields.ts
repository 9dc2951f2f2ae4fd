import { z } from 'zod'
import { normaliseDate, normaliseMonthDay } from '../core/calendar.ts'
import { compareDecimals } from '../core/decimal.ts'
import { CLEAR_VALUE } from '../core/field-rules.ts'
import { fits } from '../core/text.ts'
import { rawNumber } from './exact-json.ts'

/**
 * Building blocks of the operations' schemas. Parameters are texts, trimmed and not empty, because that is what travels;
 * answers are taken as leniently as their meaning allows. Messages never hold the value.
 */

/** Text of at most `limit` characters (code points) that UTF-8 can carry. */
export function text(limit: number, least = 1) {
  return z
    .string('must be a text')
    .refine(
      value => value.isWellFormed() && fits(value, limit) && (least <= 1 || !fits(value, least - 1)),
      least <= 1
        ? `must have at most ${limit} characters, each of them complete`
        : `must have ${least} to ${limit} characters, each of them complete`,
    )
}

/** Whole number of at most `digits` digits. */
export function digits(count: number) {
  const allowed = new RegExp(`^\\d{1,${count}}$`)
  return z.string().refine(value => allowed.test(value), `must be a whole number of 1 to ${count} digits`)
}

/** One of a few texts. */
export function oneOf<const T extends readonly string[]>(values: T, meaning: string) {
  return z.enum(values, `must be ${meaning}`)
}

/** Whole number from `least` to `most`, as a number or as digits. */
export function whole(least: number, most: number) {
  return wholeWhere(
    value => value >= least && value <= most,
    `must be a whole number from ${least} to ${most}`,
  )
}

/** One of a few whole numbers, as a number or as digits. */
export function wholeOf(values: readonly number[], meaning: string) {
  return wholeWhere(value => values.includes(value), `must be ${meaning}`)
}

function wholeWhere(holds: (value: number) => boolean, rule: string) {
  return z
    .union([z.number(), z.string()], rule)
    .refine(value => /^\d{1,15}$/.test(String(value)) && holds(Number(value)), rule)
    .transform(Number)
}

/**
 * Decimal with at most two places, as a text. A number is refused: it has been through binary floating point.
 * It comes out as what `JSON.stringify` writes digit for digit.
 */
export function decimal(least: string, most: string) {
  const rule = `must be a decimal from ${least} to ${most} with at most 2 places, as a text`
  return z
    .string({ error: ({ input }) => (typeof input === 'number' ? `${rule}, not a number` : rule) })
    .refine(
      value =>
        /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,2})?$/.test(value) &&
        compareDecimals(value, least) >= 0 &&
        compareDecimals(value, most) <= 0,
      rule,
    )
    .transform(rawNumber)
}

/** An external number of the merchant's. That it begins with the application id, the client checks: it knows it. */
export function externalNumber(limit: number, least: number) {
  return z
    .string('must be a text')
    .refine(
      value => value.isWellFormed() && fits(value, limit) && !fits(value, least - 1),
      `must have ${least} to ${limit} characters and begin with the application id`,
    )
}

/** `yyyy-MM-dd` of a day that exists. */
export const date = z.string().refine(value => normaliseDate(value) === value, 'must be a date yyyy-MM-dd')

/** `yyyy-MM-dd` of a day that exists, or the value that clears the field. */
export const clearableDate = z
  .string()
  .refine(value => value === CLEAR_VALUE || normaliseDate(value) === value, 'must be a date yyyy-MM-dd')

/** As {@link clearableDate}; also `MM-dd`. */
export const clearableBirthday = z
  .string()
  .refine(
    value => value === CLEAR_VALUE || normaliseDate(value) === value || normaliseMonthDay(value) === value,
    'must be a date yyyy-MM-dd or MM-dd',
  )

export const enterpriseCode = text(20)
export const userid = text(100)
export const mobile = text(20, 6)
export const mobileArea = digits(10)
export const email = text(100)
export const thirdType = oneOf(['1', '2', '3', '4', '5'], 'a third type from 1 to 5')

/** A text of an answer; a number is taken as its text; null and absence are no error. */
export const answerText = z.union([z.string(), z.number().transform(String)]).nullish()

/** A whole number of an answer; digits in a text are taken as their number, an empty text as null. */
export const answerInteger = z
  .union([
    z.int(),
    z
      .string()
      .regex(/^\d{0,15}$/)
      .transform(value => (value === '' ? null : Number(value))),
  ])
  .nullish()
