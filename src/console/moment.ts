/** As a field of the type `datetime-local` sends it: a wall clock's time, without a zone. */
const WALL_CLOCK = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d)?$/

/**
 * The moment that somebody means: ISO 8601, and without an offset what their clock shows.
 * @returns an invalid date where the text is none
 */
export function momentOf(zone: string, text: string): Date {
  return WALL_CLOCK.test(text) ? wallClock(zone, text) : new Date(text)
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
