import { isCalendarDate } from './calendar.ts'

const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[ T]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.\d+)?$/

/** The moment that the platform's `yyyy-MM-dd HH:mm:ss`, a time of GMT+8, means; null for a text that means none. */
export function platformTime(text: string): Date | null {
  const [match, year, month, day, hour, minute, second] = DATE_TIME.exec(text.trim()) ?? []
  if (match === undefined || !isCalendarDate(Number(year), Number(month), Number(day))) return null
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}+08:00`)
}
