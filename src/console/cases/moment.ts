import type { Ask } from '../ask.ts'
import { Problem } from '../problem.ts'

const PERIODS = { '1d': 1, '3d': 3, '1w': 7 } as const
export const SNOOZE_PERIODS = Object.keys(PERIODS) as (keyof typeof PERIODS)[]

const DAY_MS = 86_400_000
/** As a field of the type `datetime-local` sends it: a wall clock's time, without a zone. */
const WALL_CLOCK = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/

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
    ? WALL_CLOCK.test(given.until)
      ? wallClock(zone, given.until)
      : new Date(given.until)
    : given.for
      ? new Date(now.getTime() + PERIODS[given.for] * DAY_MS)
      : null
  if (end === null || !(end.getTime() > now.getTime())) throw new Problem('invalid', t('cases.needs_time'))
  return end
}

/** The moment at which the clocks of a zone show this time. */
export function wallClock(zone: string, text: string): Date {
  const asUtc = new Date(`${text}Z`).getTime()
  if (Number.isNaN(asUtc)) return new Date(Number.NaN)
  // Once for the zone, once more where the clocks are changed in between.
  const first = asUtc - offsetAt(zone, asUtc)
  return new Date(asUtc - offsetAt(zone, first))
}

/** How far the clocks of a zone are ahead of UTC at a moment. */
function offsetAt(zone: string, moment: number): number {
  const parts = new Intl.DateTimeFormat('en', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(moment)
  const of = (type: Intl.DateTimeFormatPartTypes) => Number(parts.find(part => part.type === type)?.value)
  return Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) - moment
}
