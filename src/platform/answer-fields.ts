import { z } from 'zod'
import { platformTime } from '../core/date-time.ts'
import { plainDecimal } from '../core/decimal.ts'
import { answerInteger, answerText } from './fields.ts'

/** Fields of answers in which whatever has no value is null. Unknown codes and states are kept as they are. */

export const textOrNull = answerText.transform(value => value ?? null)
export const wholeOrNull = answerInteger.transform(value => value ?? null)

/** An amount as a decimal text, digit for digit; the answer has been parsed by source text (`Operation.decimals`). */
export const decimalOrNull = answerText.transform((value, context) => {
  if (value === null || value === undefined || value === '') return null
  const decimal = plainDecimal(value)
  if (decimal === null) context.addIssue('must be a decimal')
  return decimal
})

/** A date-time of GMT+8 as the moment it means; null also where it cannot be read. */
export const timeOrNull = answerText.transform(value => (value ? platformTime(value) : null))

/** A list; null where there is none. */
export function listOrNull<Item extends z.ZodType>(item: Item) {
  return z
    .array(item)
    .nullish()
    .transform(list => list ?? null)
}

/** The rows of a page; none where the platform says null. One without the field is no page. */
export function rows<Row extends z.ZodType>(row: Row) {
  return z
    .array(row)
    .nullable()
    .transform(list => list ?? [])
}
