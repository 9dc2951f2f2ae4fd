import type { Ask } from './ask.ts'
import { Problem } from './problem.ts'

/** The format of a `datetime-local` field: a wall-clock time without a zone. */
const WALL_CLOCK = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/

/**
 * Parses a moment: ISO 8601, in the person's own zone if it has no offset.
 * @returns an invalid date if the text is not one
 */
export function momentIn(zone: string, text: string): Date {
  return WALL_CLOCK.test(text) ? wallClock(zone, text) : new Date(text)
}

/**
 * The moment in a query field; undefined if it was left out.
 * @throws Problem if it is not a moment
 */
export function givenMoment(
  ask: Pick<Ask, 'zone' | 't'>,
  name: string,
  text: string | undefined,
): Date | undefined {
  if (text === undefined) return undefined
  const moment = momentIn(ask.zone, text)
  const year = moment.getUTCFullYear()
  // Beyond these years, PostgreSQL and JavaScript may read a date differently.
  if (!(year >= 1900 && year <= 9999))
    throw new Problem('invalid', `${name}: ${ask.t('common.no_moment')}`, { field: name })
  return moment
}

/** The platform's days are in GMT+8. */
const PLATFORM_ZONE = '+08:00'
const DAY_MS = 86_400_000

/**
 * The beginning of a day on the platform, or of the day after it; undefined if none was given.
 * @throws Problem if it is not a day
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

/** The moment tomorrow at which clocks in a zone show this hour. */
export function tomorrowAt(zone: string, hour: number, now: Date): Date {
  const local = new Date(now.getTime() + offsetAt(zone, now.getTime()))
  const day = new Date(Date.UTC(local.getUTCFullYear(), local.getUTCMonth(), local.getUTCDate() + 1, hour))
  return wallClock(zone, day.toISOString().slice(0, 19))
}

/** What clocks in a zone show at a moment, to the minute, as a `datetime-local` field has it. */
export function wallClockIn(zone: string, moment: Date): string {
  return new Date(moment.getTime() + offsetAt(zone, moment.getTime())).toISOString().slice(0, 16)
}

/** The moment at which clocks in a zone show this time. */
function wallClock(zone: string, text: string): Date {
  const asUtc = new Date(`${text}Z`).getTime()
  if (Number.isNaN(asUtc)) return new Date(Number.NaN)
  // Once for the zone, and again in case the clocks change in between.
  const first = asUtc - offsetAt(zone, asUtc)
  return new Date(asUtc - offsetAt(zone, first))
}

/** How far clocks in a zone are ahead of UTC at a moment, in milliseconds. */
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
