import { z } from 'zod'
import { translator } from '../texts/texts.ts'

/** One line of `dirsync doctor`. */
export const Finding = z.object({
  check: z.string(),
  status: z.enum(['ok', 'warning', 'failed']).describe('warning: it works, but somebody should know'),
  what: z.string(),
  remedy: z.string().optional(),
})
export type Finding = z.infer<typeof Finding>

export function ok(check: string, what: string): Finding {
  return { check, status: 'ok', what }
}

export function warning(check: string, what: string, remedy?: string): Finding {
  return { check, status: 'warning', what, ...(remedy && { remedy }) }
}

export function failed(check: string, what: string, remedy?: string): Finding {
  return { check, status: 'failed', what, ...(remedy && { remedy }) }
}

/** The doctor speaks English, whatever the language of the commands. */
export const inEnglish = translator('en')
