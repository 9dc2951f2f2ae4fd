import cron from 'node-cron'

const DAY_S = 86_400
/** Days to search: a schedule with less than one tick a year counts as yearly. */
const DAYS = 367

/**
 * The longest regular time between two ticks, in seconds. Nights, weekends and the ends of months count; that clocks change does
 * not.
 */
export function longestInterval(expression: string, now: Date): number {
  const times = timesOfDay(expression)
  const first = times[0] ?? 0
  const last = times.at(-1) ?? 0
  const [year, month, date] = [now.getUTCFullYear(), now.getUTCMonth(), now.getUTCDate()]
  const task = cron.createTask(expression, () => {}, { timezone: 'UTC' })
  const days = Array.from({ length: DAYS }, (_, day) => day).filter(day =>
    task.match(new Date(Date.UTC(year, month, date + day, 0, 0, first))),
  )
  void task.destroy()
  const nights = gaps(days.length < 2 ? [0, DAYS] : days).map(gap => gap * DAY_S + first - last)
  return [...nights, ...gaps(times)].reduce((longest, gap) => Math.max(longest, gap))
}

/** Seconds since midnight at which it may be due, in order. */
function timesOfDay(expression: string): number[] {
  const { hour, minute, second } = cron.parse(expression)
  return hour.flatMap(h => minute.flatMap(m => second.map(s => h * 3600 + m * 60 + s))).sort((a, b) => a - b)
}

function gaps(ordered: readonly number[]): number[] {
  return ordered.slice(1).map((value, i) => value - (ordered[i] ?? 0))
}
