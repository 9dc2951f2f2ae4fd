import { z } from 'zod'
import { SnoozeUntil } from '../until.ts'

/* Inputs of decisions about one case or many. Missing inputs are reported in the asker's language. */

/** What people can do with many cases at once. */
export const BULK_ACTIONS = ['retry', 'snooze', 'ignore', 'assign', 'comment'] as const
/** The same with a single one. */
export const ACTIONS = [...BULK_ACTIONS, 'wake', 'undo'] as const

/** The limit of the SQL functions. */
const MOST_TEXT = 2000

export const version = z.coerce
  .number()
  .int()
  .optional()
  .describe(
    'The version of the case that the caller saw; if the case has changed since, the request is refused',
  )

export const Snooze = SnoozeUntil.extend({ reason: z.string().trim().max(MOST_TEXT).optional() })

export const reasonText = z.string().trim().max(MOST_TEXT).optional().describe('Why; kept in the audit')

export const commentText = z.string().trim().max(MOST_TEXT).optional()

export const assigneeName = z
  .string()
  .trim()
  .max(200)
  .nullish()
  .describe('Who takes care of it; null: no one')
