import { z } from 'zod'
import { CLEAR_VALUE } from '../directory/field-rules.ts'
import { fits, normaliseDate, normaliseMonthDay, platformTime } from '../lib/text.ts'
import { worded } from '../texts/message.ts'

/**
 * Building blocks of the operations' schemas. Parameters are texts, trimmed and not empty, as they are sent. Answers are parsed
 * as leniently as their meaning allows. Messages never contain the value.
 */

/** Text of `least` to `limit` characters (code points) that UTF-8 can carry. */
export function text(limit: number, least = 1, rule?: string) {
  return z
    .string(worded('said.must_be_text'))
    .refine(
      value => value.isWellFormed() && fits(value, limit) && (least <= 1 || !fits(value, least - 1)),
      rule ??
        (least <= 1
          ? worded('said.must_have_at_most', { limit })
          : worded('said.must_have_between', { least, limit })),
    )
}

/** Whole number of at most ten digits, as a number or as digits. */
export const digits = z
  .union([z.number(), z.string()], worded('said.must_be_digits'))
  .transform(String)
  .refine(value => /^\d{1,10}$/.test(value), worded('said.must_be_digits'))

/** One of a few digits, as a number or as a text. */
export function oneOfDigits<const T extends readonly string[]>(
  values: T,
  rule: string,
): z.ZodType<string, T[number] | number> {
  return z.union([z.enum(values), z.literal(values.map(Number))], rule).transform(String)
}

/** Whole number from `least` to `most`, as a number or as digits. */
export function whole(least: number, most: number) {
  return wholeWhere(value => value >= least && value <= most, worded('said.must_be_whole', { least, most }))
}

/** One of a few whole numbers, as a number or as digits. */
export function wholeOf(values: readonly number[], rule: string) {
  return wholeWhere(value => values.includes(value), rule)
}

function wholeWhere(holds: (value: number) => boolean, rule: string) {
  return z
    .union([z.number(), z.string()], rule)
    .refine(value => /^\d{1,15}$/.test(String(value)) && holds(Number(value)), rule)
    .transform(Number)
}

/**
 * Decimal with at most two places, as a text. A number is refused: it has been through binary floating point. The result is
 * written digit for digit by `JSON.stringify`.
 */
export function decimal(least: string, most: string) {
  const limits = { least, most }
  return z
    .string(worded('said.must_be_decimal_text', limits))
    .refine(
      value =>
        /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,2})?$/.test(value) &&
        compareDecimals(value, least) >= 0 &&
        compareDecimals(value, most) <= 0,
      worded('said.must_be_decimal', limits),
    )
    .transform(rawNumber)
}

/** An external number of the merchant. The client, which knows the application id, checks that the number begins with it. */
export function externalNumber(limit: number, least: number) {
  return text(limit, least, worded('said.must_be_external_number', { least, limit }))
}

/**
 * `&` and `=`, with which one signed text of a notification could be read as different fields, and control characters, unassigned
 * and private code points, which no number or amount contains.
 */
const UNFIT = /[&=]|\p{C}/u

/** Whether a notification with this value can be accepted. */
export function fitsNotification(value: string): boolean {
  return !UNFIT.test(value)
}

/** `yyyy-MM-dd` of a day that exists. */
export const date = z.string().refine(value => normaliseDate(value) === value, worded('said.must_be_date'))

/** `yyyy-MM-dd` of a day that exists, or the value that clears the field. */
export const clearableDate = z
  .string()
  .refine(value => value === CLEAR_VALUE || normaliseDate(value) === value, worded('said.must_be_date'))

/** As {@link clearableDate}; also `MM-dd`. */
export const clearableBirthday = z
  .string()
  .refine(
    value => value === CLEAR_VALUE || normaliseDate(value) === value || normaliseMonthDay(value) === value,
    worded('said.must_be_date_or_day'),
  )

export const enterpriseCode = text(20)
export const userid = text(100)
export const mobile = text(20, 6)
export const email = text(100)
export const thirdType = oneOfDigits(['1', '2', '3', '4', '5'], worded('said.must_be_third_type'))

/** A text of an answer; a number becomes its text; null and absence are allowed. */
export const answerText = z.union([z.string(), z.number().transform(String)]).nullish()

/** A whole number of an answer; digits in a text, perhaps with zeros after a point, become their number, an empty text null. */
export const answerInteger = z
  .union([
    z.int(),
    z
      .string()
      .regex(/^(?:\d{1,15}(?:\.0+)?)?$/)
      .transform(value => (value === '' ? null : Number(value))),
  ])
  .nullish()

/** Fields of answers that are null without a value. Unknown codes and states are kept as they are. */

export const textOrNull = answerText.transform(value => value ?? null)
export const wholeOrNull = answerInteger.transform(value => value ?? null)

/** An amount as a decimal text, digit for digit; the answer has been parsed by source text (`Operation.decimals`). */
export const decimalOrNull = answerText.transform((value, context) => {
  if (value === null || value === undefined || value === '') return null
  const decimal = plainDecimal(value)
  if (decimal === null) context.addIssue('no decimal')
  return decimal
})

/** A date-time of GMT+8 as a Date; null also where it cannot be read. */
export const timeOrNull = answerText.transform(value => (value ? platformTime(value) : null))

/** A list; null without one. */
export function listOrNull<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .nullish()
    .transform(list => list ?? null)
}

/** A number that `JSON.stringify` writes digit for digit. */
export interface RawNumber {
  readonly rawJSON: string
}

/** Whole numbers that binary floating point holds exactly, however they are written. */
const SAFE_WHOLE = /^-?\d{1,15}$/

/** Parses JSON; numbers become their source text, except whole numbers of up to 15 digits. */
export function parseExactly(text: string): unknown {
  return parseJson(text, (_, source) => SAFE_WHOLE.test(source))
}

/** Text with a number that is no whole one of up to 15 digits, if it is not within a string. */
const MAY_BE_ROUNDED = /[:[,]\s*-?\d+(?:[.eE]|\d{15})/

/**
 * Parses JSON; numbers that may have been rounded become their source text, such as a document number of 18 digits. Answers rarely
 * have one, and looking at each value takes five times as long as parsing them.
 */
export function parseUnrounded(text: string): unknown {
  return MAY_BE_ROUNDED.test(text) ? parseJson(text, Number.isSafeInteger) : JSON.parse(text)
}

/** @param isKept whether a number stays one; else its source text takes its place */
function parseJson(text: string, isKept: (value: number, source: string) => boolean): unknown {
  return JSON.parse(text, (_, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    return typeof value === 'number' && source !== undefined && !isKept(value, source) ? source : value
  })
}

/** A decimal text as the JSON number that is written with the same digits. */
function rawNumber(decimal: string): RawNumber {
  // Node has it; TypeScript's library does not declare it yet.
  return (JSON as JSON & { rawJSON(text: string): RawNumber }).rawJSON(decimal)
}

const NUMBER = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d{1,4}))?$/

/** An amount never has more digits; it keeps `1e9999` from becoming a text of that length. */
const MOST_DIGITS = 60

/**
 * The plain decimal of a number's source text (as JSON writes numbers): digit for digit, an exponent written out. `100.00`
 * stays `100.00`, `1e2` becomes `100`. Null when the text is not such a number.
 */
export function plainDecimal(source: string): string | null {
  const [text, sign = '', whole = '', fraction = '', exponent] = NUMBER.exec(source) ?? []
  if (text === undefined || whole.length + fraction.length > MOST_DIGITS) return null
  if (exponent === undefined) return text
  const shift = Number(exponent)
  if (Math.abs(shift) > MOST_DIGITS) return null
  const digits = shift < 0 ? '0'.repeat(-shift) + whole + fraction : whole + fraction.padEnd(shift, '0')
  const point = shift < 0 ? whole.length : whole.length + shift
  const before = digits.slice(0, point).replace(/^0+(?=\d)/, '')
  const after = digits.slice(point)
  return sign + before + (after === '' ? '' : `.${after}`)
}

/** Negative, zero or positive as `a` is less than, equal to or greater than `b`; both are plain decimals. */
export function compareDecimals(a: string, b: string): number {
  const places = Math.max(placesOf(a), placesOf(b))
  const difference = scaled(a, places) - scaled(b, places)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Places after the point. */
function placesOf(decimal: string): number {
  return decimal.split('.')[1]?.length ?? 0
}

/** The decimal times ten to the power of `places`. */
function scaled(decimal: string, places: number): bigint {
  const [whole = '', fraction = ''] = decimal.split('.')
  return BigInt(whole + fraction.padEnd(places, '0'))
}
