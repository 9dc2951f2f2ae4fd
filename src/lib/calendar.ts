import { plainText } from './text.ts'

const FULL_DATE = /^(\d{4})([-/.])(\d{1,2})\2(\d{1,2})(?:[T ]\d{1,2}:\d{2}.*)?$/
const COMPACT_DATE = /^(\d{4})(\d{2})(\d{2})$/
const MONTH_DAY = /^(\d{1,2})[-/.](\d{1,2})$/
const DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Whether the day exists in the Gregorian calendar; `month` counts from 1. */
export function isCalendarDate(year: number, month: number, day: number): boolean {
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  const last = month === 2 && leap ? 29 : (DAYS[month - 1] ?? 0)
  return year >= 1 && day >= 1 && day <= last
}

/**
 * `yyyy-MM-dd` of a date as HR systems write it: `yyyy-M-d`, `yyyy/M/d`, `yyyy.M.d`, `yyyyMMdd`, or the date part of a
 * timestamp. Null when it is none of these or the day does not exist.
 */
export function normaliseDate(text: string): string | null {
  const plain = plainText(text)
  const match = FULL_DATE.exec(plain)
  const parts = match ? [match[1], match[3], match[4]] : COMPACT_DATE.exec(plain)?.slice(1)
  if (!parts) return null
  const [year = '', month = '', day = ''] = parts
  if (!isCalendarDate(Number(year), Number(month), Number(day))) return null
  return `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}

/** `MM-dd` of a day without a year (29 February exists), or null when the text is no such day. */
export function normaliseMonthDay(text: string): string | null {
  const match = MONTH_DAY.exec(plainText(text))
  if (!match) return null
  const [, month = '', day = ''] = match
  if (!isCalendarDate(2000, Number(month), Number(day))) return null
  return `${month.padStart(2, '0')}-${day.padStart(2, '0')}`
}

const DATE_TIME = /^(\d{4})-(\d{2})-(\d{2})[ T]([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?:\.\d+)?$/

/** The moment that the platform's `yyyy-MM-dd HH:mm:ss`, a time of GMT+8, means; null for a text that means none. */
export function platformTime(text: string): Date | null {
  const [match, year, month, day, hour, minute, second] = DATE_TIME.exec(text.trim()) ?? []
  if (match === undefined || !isCalendarDate(Number(year), Number(month), Number(day))) return null
  return new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}+08:00`)
}
