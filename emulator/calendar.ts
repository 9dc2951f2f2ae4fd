const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Whether `yyyy-MM-dd` is a day of the calendar. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || !isMonthDay(text.slice(5))) return false
  const year = Number(text.slice(0, 4))
  return text.slice(5) !== '02-29' || (year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0))
}

/** Whether `MM-dd` is a day of some year. */
export function isMonthDay(text: string): boolean {
  if (!/^\d{2}-\d{2}$/.test(text)) return false
  const day = Number(text.slice(3))
  return day >= 1 && day <= (DAYS[Number(text.slice(0, 2)) - 1] ?? 0)
}

/** Whether `yyyy-MM-dd HH:mm:ss` is a time of the calendar. */
export function isTime(text: string): boolean {
  return isDate(text.slice(0, 10)) && /^ ([01]\d|2[0-3]):[0-5]\d:[0-5]\d$/.test(text.slice(10))
}
