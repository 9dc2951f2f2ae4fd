/** The platform's day begins at midnight in GMT+8. */
const ZONE_MS = 8 * 3_600_000
const DAY_MS = 24 * 3_600_000

/** Days of which every run reads the orders again: today and yesterday. */
const FRESH_DAYS = 2

/** `yyyy-MM-dd` of a moment, in GMT+8. */
export function platformDay(moment: Date): string {
  return new Date(moment.getTime() + ZONE_MS).toISOString().slice(0, 10)
}

/** The first day of a window that ends today: with `days` 1 today itself. */
export function windowStart(now: Date, days: number): string {
  return platformDay(new Date(now.getTime() - (days - 1) * DAY_MS))
}

/**
 * The days of the window whose orders are to be read, newest first: today and yesterday always, older ones once a day.
 * @param days length of the window, today included
 * @param readAt when a day was last read to the end
 */
export function daysToRead(now: Date, days: number, readAt: ReadonlyMap<string, Date>): string[] {
  const today = platformDay(now)
  return Array.from({ length: days }, (_, age) => platformDay(new Date(now.getTime() - age * DAY_MS))).filter(
    (day, age) => {
      const last = readAt.get(day)
      return age < FRESH_DAYS || last === undefined || platformDay(last) < today
    },
  )
}
