import { inLanguage } from '../../src/texts/failures.ts'
import { isSaid } from '../../src/texts/message.ts'

/** The same with every message in English words, as a reader sees it. */
export function worded<Value>(value: Value): Value
export function worded(value: unknown): unknown {
  if (isSaid(value)) return inLanguage('en', value)
  if (Array.isArray(value)) return value.map(worded)
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype)
    return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, worded(each)]))
}
