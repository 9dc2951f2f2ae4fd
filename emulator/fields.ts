import { z } from 'zod'

/**
 * The types and limits of parameters (section 2). A limit `[n]` is read as "at most n characters",
 * as section 9 reads the `[5]` of `version`. Lengths count characters, not UTF-16 units. Where the specification
 * gives a length alone (an e-mail, a mobile), nothing but the length is checked.
 */

/** Makes the schema of an object that ignores members it does not know (`z.object`), or refuses them (`z.strictObject`). */
export type ObjectSchema = typeof z.object | typeof z.strictObject

/** The value that clears birth_day, entry_day, level or category (4.3). */
const CLEAR = '#default#'

/** Text of `min` to `max` characters. */
export function text(min: number, max: number) {
  return z.string().refine(value => {
    // Counting characters is only needed where UTF-16 units could overstate them.
    const length = value.length > max || value.length < min * 2 ? Array.from(value).length : value.length
    return length >= min && length <= max
  }, `must have ${min} to ${max} characters`)
}

/** The enterprise that a call names; '' is the single enterprise. */
export const enterpriseCode = text(1, 20).default('')

/** A whole number in decimal digits, without sign or leading zeros. */
export function integer(min: number, max: number) {
  return z
    .string()
    .refine(
      value => /^(0|[1-9]\d{0,15})$/.test(value) && Number(value) >= min && Number(value) <= max,
      `must be an integer from ${min} to ${max}`,
    )
    .transform(Number)
}

/** A decimal of at most two places from `min` to `max`, read as cents. */
export function decimal(min: string, max: string) {
  const [least, most] = [parseSigned(min) ?? 0n, parseSigned(max) ?? 0n]
  return z.string().transform((value, context) => {
    const cents = parseSigned(value)
    if (cents !== undefined && cents >= least && cents <= most) return cents
    context.addIssue(`must be a decimal from ${min} to ${max} with at most two places`)
    return z.NEVER
  })
}

/** A work number: 1 to 20 letters and digits. */
export const workNumber = z
  .string()
  .regex(/^[A-Za-z0-9]{1,20}$/, 'must have 1 to 20 characters, letters and digits only')

export const date = z.string().refine(isDate, 'must be a date, yyyy-MM-dd')

export const birthDay = z
  .string()
  .refine(value => isDate(value) || isMonthDay(value), 'must be a date, yyyy-MM-dd or MM-dd')

/** A list whose items are joined with commas; items that repeat count once. */
export const commaList = z
  .string()
  .transform(value => [...new Set(value.split(',').map(item => item.trim()))])
  .refine(items => !items.includes(''), 'must be a list joined with commas, without empty items')

/** Adds `#default#`, read as null, to a field. */
export function clearable<Field extends z.ZodType>(field: Field) {
  return z.union([z.literal(CLEAR).transform(() => null), field], { error: issue => firstMessage(issue) })
}

/** Adds `#default#` and the empty text, both read as null, to a field. */
export function clearableOrEmpty<Field extends z.ZodType>(field: Field) {
  return z.union([z.enum([CLEAR, '']).transform(() => null), field], { error: issue => firstMessage(issue) })
}

/** JSON text: an array of EmployeeAttribute (2.3), at least one, each code once. */
export function attributeList(object: ObjectSchema) {
  const attributes = z
    .array(object({ attributeCode: text(1, 100), attributeValue: text(1, 100) }))
    .min(1)
    .refine(list => new Set(list.map(item => item.attributeCode)).size === list.length)
  return z.string().transform((value, context) => {
    const result = attributes.safeParse(parseJson(value))
    if (result.success) return result.data
    context.addIssue('must be a JSON array of {attributeCode, attributeValue}, 1 to 100 characters each')
    return z.NEVER
  })
}

/** The value of JSON text; undefined for any other text. */
export function parseJson(value: string): unknown {
  try {
    return JSON.parse(value)
  } catch {
    return undefined
  }
}

function firstMessage(issue: { errors?: unknown }): string | undefined {
  const branches = issue.errors as { message: string }[][] | undefined
  return branches?.at(-1)?.[0]?.message
}

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Whether `yyyy-MM-dd` is a day of the calendar. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || !isMonthDay(text.slice(5))) return false
  const year = Number(text.slice(0, 4))
  return text.slice(5) !== '02-29' || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0))
}

/** Whether `MM-dd` is a day of some year. */
function isMonthDay(text: string): boolean {
  if (!/^\d{2}-\d{2}$/.test(text)) return false
  const day = Number(text.slice(3))
  return day >= 1 && day <= (DAYS[Number(text.slice(0, 2)) - 1] ?? 0)
}

/** Whether `yyyy-MM-dd HH:mm:ss` is a time of the calendar. */
export function isTime(text: string): boolean {
  return isDate(text.slice(0, 10)) && /^ ([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(text.slice(10))
}

const DECIMAL = /^(\d{1,13})(?:\.(\d{1,2}))?$/

/** Reads a decimal of at most two places as cents; undefined for any other text. */
export function parseAmount(text: string): bigint | undefined {
  const match = DECIMAL.exec(text)
  return match ? BigInt(`${match[1]}${(match[2] ?? '').padEnd(2, '0')}`) : undefined
}

/** As {@link parseAmount}, also below zero. */
function parseSigned(text: string): bigint | undefined {
  const cents = parseAmount(text.replace(/^-/, ''))
  return cents !== undefined && text.startsWith('-') ? -cents : cents
}

/** Cents as a decimal of two places, for example `12.50`. */
export function amountText(cents: bigint): string {
  const digits = String(cents).padStart(3, '0')
  return `${digits.slice(0, -2)}.${digits.slice(-2)}`
}

/** Cents as a JSON number of two places, as the operations answer: only `JSON.stringify` reads it. */
export function amountNumber(cents: bigint): unknown {
  // Node has it; TypeScript's library does not know it yet.
  return (JSON as JSON & { rawJSON(text: string): unknown }).rawJSON(amountText(cents))
}
