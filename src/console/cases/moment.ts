import type { Ask } from '../ask.ts'
import { momentOf } from '../moment.ts'
import { Problem } from '../problem.ts'

const PERIODS = { '1d': 1, '3d': 3, '1w': 7 } as const
export const SNOOZE_PERIODS = Object.keys(PERIODS) as (keyof typeof PERIODS)[]

const DAY_MS = 86_400_000

/**
 * Until when a case is to rest: a moment (the time of a wall clock is one in the asker's zone) or else a period from now.
 * @throws Problem when neither is given, or it is over already
 */
export function snoozeEnd(
  ask: Ask,
  given: { until?: string | undefined; for?: keyof typeof PERIODS | undefined },
): Date {
  const { now, zone, t } = ask
  const end = given.until
    ? momentOf(zone, given.until)
    : given.for
      ? new Date(now.getTime() + PERIODS[given.for] * DAY_MS)
      : null
  if (end === null || !(end.getTime() > now.getTime())) throw new Problem('invalid', t('cases.needs_time'))
  return end
}
