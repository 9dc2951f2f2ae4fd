import { z } from 'zod'
import { OPERATION_NAMES } from './operation-name.ts'

/** The types of settings: from the text of a variable to its value. */

/** A raw @, # or ? in a password ends up in the host name or in nothing at all. */
const isEncoded = (text: string) => {
  const afterScheme = text.slice(text.indexOf('://') + 3)
  return !afterScheme.includes('#') && (afterScheme.match(/@/g)?.length ?? 0) <= 1
}
export const url = (...protocols: string[]) =>
  z
    .string()
    .refine(isEncoded, {
      error: 'should have special characters of its password percent-encoded',
      abort: true,
    })
    .refine(text => URL.canParse(text) && protocols.includes(text.split('://')[0] as string), {
      error: `should be an address beginning with ${protocols.map(protocol => `${protocol}://`).join(' or ')}`,
    })
export const number = (min: number, max: number, otherwise = '') =>
  z
    .string()
    .regex(/^\d+(\.\d+)?$/, `should be a number${otherwise}`)
    .transform(Number)
    .refine(value => value >= min && value <= max, {
      error: `should be between ${min} and ${max}${otherwise}`,
      abort: true,
    })
export const integer = (min: number, max: number) =>
  number(min, max).refine(Number.isInteger, { error: 'should be a whole number' })
export const absent = z.undefined().transform(() => null)
export const list = z.string().transform(text => [
  ...new Set(
    text
      .split(',')
      .map(item => item.trim())
      .filter(Boolean),
  ),
])

/** Calls per second by operation, from items such as `employee/get=20`. */
export function operationLimits(items: string[], context: z.RefinementCtx): Map<string, number> {
  const limits = new Map<string, number>()
  for (const item of items) {
    const [operation = '', rate = ''] = item.split('=').map(part => part.trim())
    const parsed = number(0.01, 100_000).safeParse(rate)
    const flaw = (OPERATION_NAMES as readonly string[]).includes(operation)
      ? parsed.error && `${operation} ${parsed.error.issues[0]?.message}`
      : `should name operations, such as employee/get=20; they are ${OPERATION_NAMES.join(', ')}`
    if (flaw) context.addIssue(flaw)
    else limits.set(operation, parsed.data as number)
  }
  return limits
}
