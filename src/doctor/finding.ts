import { z } from 'zod'
import { SaidText } from '../texts/failures.ts'
import type { Said } from '../texts/message.ts'

/** One line of `dirsync doctor`. */
export const CheckResult = z.object({
  check: z.string(),
  status: z.enum(['ok', 'warning', 'failed']).describe('warning: it works, but needs attention'),
  what: SaidText,
  remedy: SaidText.optional(),
})
export type CheckResult = z.infer<typeof CheckResult>

export function ok(check: string, what: Said): CheckResult {
  return { check, status: 'ok', what }
}

export function warning(check: string, what: Said, remedy?: Said): CheckResult {
  return { check, status: 'warning', what, ...(remedy && { remedy }) }
}

export function failed(check: string, what: Said, remedy?: Said): CheckResult {
  return { check, status: 'failed', what, ...(remedy && { remedy }) }
}
