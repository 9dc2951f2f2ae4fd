import type { Ask } from './ask.ts'
import { Problem } from './problem.ts'

/** As a field of the type `datetime-local` sends it: a wall clock's time, without a zone. */
const WALL_CLOCK = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/

/**
 * The moment that somebody means: ISO 8601, and without an offset what their clock shows.
 * @returns an invalid date where the text is none
 */
export function momentOf(zone: string, text: string): Date {
  return WALL_CLOCK.test(text) ? wallClock(zone, text) : new Date(text)
}

/**
 * The moment that a field of a query holds; undefined where it was left out.
 * @throws Problem where it is none
 */
export function givenMoment(ask: Ask, name: string, text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const moment = momentOf(ask.zone, text)
  const year = moment.getUTCFullYear()
  // Outside of these years PostgreSQL and we might not mean the same.
  if (!(year >= 1900 && year <= 9999)) throw new Problem('invalid', `${name}: ${ask.t('common.no_moment')}`)
  return moment
}

/** The platform's days are those of GMT+8. */
const PLATFORM_ZONE = '+08:00'
const DAY_MS = 86_400_000

/**
 * The beginning of a day of the platform, or of the day after it; undefined where none was given.
 * @throws Problem where it is none
 */
export function platformDayOf(
  ask: Ask,
  name: string,
  day: string | undefined,
  end: 'begins' | 'is over',
): Date | undefined {
  if (day === undefined) return undefined
  const begins = givenMoment(ask, name, `${day.slice(0, 10)}T00:00:00${PLATFORM_ZONE}`)
  return begins && new Date(begins.getTime() + (end === 'begins' ? 0 : DAY_MS))
}

/** The moment of the next day at which the clocks of a zone show this hour. */
export function tomorrowAt(zone: string, hour: number, now: Date): Date {
  const local = new Date(now.getTime() + offsetAt(zone, now.getTime()))
  const day = new Date(Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() + 1, hour))
  return wallClock(zone, day.toISOString().slice(0, 19))
}

/** The moment at which the clocks of a zone show this time. */
function wallClock(zone: string, text: string): Date {
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
  const shown = Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second'))
  // The parts lack milliseconds.
  return shown - Math.floor(moment / 1000) * 1000
}
