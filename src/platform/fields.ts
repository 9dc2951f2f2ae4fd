import { z } from 'zod'
import { normaliseDate, normaliseMonthDay } from '../core/calendar.ts'
import { CLEAR_VALUE } from '../core/field-rules.ts'
import { fits } from '../core/text.ts'

/**
 * Building blocks of the operations' schemas. Parameters are texts, trimmed and not empty, because that is what travels;
 * answers are taken as leniently as their meaning allows. Messages never hold the value.
 */

/** Text of at most `limit` characters (code points) that UTF-8 can carry. */
export function text(limit: number, least = 1) {
  return z
    .string()
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
