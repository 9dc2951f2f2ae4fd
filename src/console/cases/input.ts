import { z } from 'zod'
import { SNOOZE_PERIODS } from './moment.ts'

/* What is given with a decision about cases, one or many. What must be there is said in the asker's language. */

/** What people can do about cases. */
export const ACTIONS = ['retry', 'snooze', 'ignore', 'assign', 'comment'] as const

/** As long as the SQL functions take. */
const MOST_TEXT = 2000

export const version = z.coerce
  .number()
  .int()
  .optional()
  .describe('Of the case, as the caller saw it: if it has changed since, nothing is done')

export const Snooze = z.object({
  for: z.enum(SNOOZE_PERIODS).optional().describe('How long, unless `until` says it'),
  until: z.string().max(40).optional().describe('A moment (ISO 8601)'),
  reason: z.string().trim().max(MOST_TEXT).optional(),
})

export const reasonText = z.string().trim().max(MOST_TEXT).optional().describe('Why; kept in the audit')

export const commentText = z.string().trim().max(MOST_TEXT).optional()

export const assigneeName = z
  .string()
  .trim()
  .max(200)
  .nullish()
  .describe('Who takes care of it; null: nobody')
