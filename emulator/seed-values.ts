import { z } from 'zod'
import { parseAmount } from './amount.ts'
import { isTime } from './calendar.ts'

/** The types of a seed's values. */

export const enterpriseCode = z
  .string()
  .nullish()
  .transform(code => code ?? '')

export const optionalText = z
  .string()
  .nullish()
  .transform(value => (value === undefined || value === '' ? null : value))

export const optionalInteger = z
  .union([z.int(), z.string().regex(/^\d+$/).transform(Number)])
  .nullish()
  .transform(value => value ?? null)

/** A decimal as text or JSON number, read as cents. */
export const amount = z.union([z.string(), z.number()]).transform((value, context) => {
  const cents = parseAmount(String(value))
  if (cents !== undefined) return cents
  context.addIssue('must be a decimal with at most two places')
  return z.NEVER
})

/** A time of the platform, GMT+8. */
export const time = z.string().refine(isTime, 'must be a time, yyyy-MM-dd HH:mm:ss')
