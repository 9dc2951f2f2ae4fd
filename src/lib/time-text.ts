import { type Message, message } from '../texts/message.ts'

/* Times and spans as short texts of people: those that they read, in English and in the time zone of the process, and type. */

const pad2 = (number: number) => String(number).padStart(2, '0')
const day = (date: Date) => `${date.getFullYear()}-${pad2(date.getMonth() + 1)}-${pad2(date.getDate())}`
const clock = (date: Date) => `${pad2(date.getHours())}:${pad2(date.getMinutes())}`

/** A time for a table, local: 14:05:09 today, 11-21 14:05 this year, 2024-11-21 before. */
export function shortTime(date: Date | null, now = new Date()): string | null {
  if (date === null) return null
  if (day(date) === day(now)) return `${clock(date)}:${pad2(date.getSeconds())}`
  return date.getFullYear() === now.getFullYear() ? `${day(date).slice(5)} ${clock(date)}` : day(date)
}

/** A time for a story, local, to the second. */
export function longTime(date: Date | null): string | null {
  return date && `${day(date)} ${clock(date)}:${pad2(date.getSeconds())}`
}

/** A time to the minute, for readers who may be elsewhere: 14:05 today, 11-21 14:05 before. Print `zoneName` with it. */
export function minuteTime(date: Date, now: Date): string {
  return day(date) === day(now) ? clock(date) : `${day(date).slice(5)} ${clock(date)}`
}

/** The UTC offset of the process at a given time: UTC, UTC+8, UTC-3:30. */
export function zoneName(date: Date): string {
  const ahead = -date.getTimezoneOffset()
  if (ahead === 0) return 'UTC'
  const minutes = Math.abs(ahead) % 60
  const hours = Math.floor(Math.abs(ahead) / 60)
  return `UTC${ahead < 0 ? '-' : '+'}${hours}${minutes ? `:${pad2(minutes)}` : ''}`
}

/** The time zone of the process: Asia/Shanghai, UTC. */
export function ownZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone
}

/** Whether this Node.js knows a time zone of that name. */
export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }) !== null
  } catch {
    return false
  }
}

/** The two differ in half of the year where clocks are put forward. */
const HALF_A_YEAR_MS = 183 * 86_400_000

/**
 * Whether the clock of this process shows the time of the zone that TZ names. It shows UTC for a name that Node.js does not know,
 * such as Beijing, and for a few that only Intl knows, such as CST; and 8 hours behind UTC for UTC+8.
 */
export function isClockOf(tz: string): boolean {
  // POSIX's way to say that the name of a zone follows.
  const timeZone = tz.replace(/^:/, '')
  if (!isZone(timeZone)) return false
  return [0, HALF_A_YEAR_MS].every(ahead => {
    const date = new Date(Date.now() + ahead)
    const shown = new Date(date.getTime() - date.getTimezoneOffset() * 60_000)
    return shown.toLocaleString('en', { timeZone: 'UTC' }) === date.toLocaleString('en', { timeZone })
  })
}

/** How long something took or takes, in the largest unit that says enough: 0.4 s, 12 s, 3 min, 2 h, 5 d. Below 0, as clocks differ: 0 s. */
export function duration(ms: number): Message {
  const seconds = Math.max(0, ms) / 1000
  if (seconds < 10) return message('said.seconds', { figure: Math.round(seconds * 10) / 10 })
  if (seconds < 120) return message('said.seconds', { figure: Math.round(seconds) })
  if (seconds < 7200) return message('said.minutes', { figure: Math.round(seconds / 60) })
  return seconds < 172_800
    ? message('said.hours', { figure: Math.round(seconds / 3600) })
    : message('said.days', { figure: Math.round(seconds / 86_400) })
}

/** The units of a span that a person types. */
const UNITS = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 }

/** Longer numbers are typing errors. */
const MOST = 99_999

/** The milliseconds in `30m`, `12h`, `3d` or `2w`; null for anything else. */
export function periodMs(text: string): number | null {
  const [, amount, unit] = /^(\d+)([mhdw])$/.exec(text) ?? []
  return amount && unit && Number(amount) <= MOST ? Number(amount) * UNITS[unit as keyof typeof UNITS] : null
}

/** The moment given by `3d`, `12h`, `30m`, `2w` or an ISO time; null for anything else. */
export function momentOf(text: string, now = new Date()): Date | null {
  const period = periodMs(text)
  if (period !== null) return new Date(now.getTime() + period)
  const date = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[+-]\d{2}:?\d{2})?)?$/.test(
    text,
  )
    ? // JavaScript reads a day alone as midnight UTC; a person means local midnight.
      new Date(text.length === 10 ? `${text}T00:00` : text)
    : null
  return date === null || Number.isNaN(date.getTime()) ? null : date
}

/** What is wrong with a text that gives no moment. */
export function whyNoMoment(text: string): Message {
  const [, unit] = /^\d+([mhdw])$/.exec(text) ?? []
  return unit ? message('said.wanted_period_to', { limit: `${MOST}${unit}` }) : message('said.wanted_until')
}
