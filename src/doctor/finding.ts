import { z } from 'zod'
import { translator } from '../texts/texts.ts'

/** One line of `dirsync doctor`. */
export const CheckResult = z.object({
  check: z.string(),
  status: z.enum(['ok', 'warning', 'failed']).describe('warning: it works, but needs attention'),
  what: z.string(),
  remedy: z.string().optional(),
})
export type CheckResult = z.infer<typeof CheckResult>

export function ok(check: string, what: string): CheckResult {
  return { check, status: 'ok', what }
}

export function warning(check: string, what: string, remedy?: string): CheckResult {
  return { check, status: 'warning', what, ...(remedy && { remedy }) }
}

export function failed(check: string, what: string, remedy?: string): CheckResult {
  return { check, status: 'failed', what, ...(remedy && { remedy }) }
}

/** The doctor speaks English, whatever the language of the commands. */
export const inEnglish = translator('en')
