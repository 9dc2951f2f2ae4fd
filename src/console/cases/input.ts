import { z } from 'zod'
import type { Ask } from '../ask.ts'
import { momentIn } from '../moment.ts'
import { Problem } from '../problem.ts'

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

const PERIODS = { '1d': 1, '3d': 3, '1w': 7 } as const
export const SNOOZE_PERIODS = Object.keys(PERIODS) as (keyof typeof PERIODS)[]

const DAY_MS = 86_400_000

export const Snooze = z.object({
  for: z.enum(SNOOZE_PERIODS).optional().describe('How long; or give `until`'),
  until: z.string().max(40).optional().describe('A moment (ISO 8601)'),
  reason: z.string().trim().max(MOST_TEXT).optional(),
})

/**
 * When a snooze ends: at a given moment (a wall-clock time is in the asker's zone), or after a period from now.
 * @throws Problem if neither is given, or the moment is past
 */
export function snoozeEnd(
  ask: Ask,
  given: { until?: string | undefined; for?: keyof typeof PERIODS | undefined },
): Date {
  const { now, zone, t } = ask
  const end = given.until
    ? momentIn(zone, given.until)
    : given.for
      ? new Date(now.getTime() + PERIODS[given.for] * DAY_MS)
      : null
  if (end === null || !(end.getTime() > now.getTime()))
    throw new Problem('invalid', t('cases.needs_time'), { field: 'until' })
  return end
}

export const reasonText = z.string().trim().max(MOST_TEXT).optional().describe('Why; kept in the audit')

export const commentText = z.string().trim().max(MOST_TEXT).optional()

export const assigneeName = z
  .string()
  .trim()
  .max(200)
  .nullish()
  .describe('Who takes care of it; null: no one')
