import { randomInt } from 'node:crypto'
import { normaliseDate } from '../lib/text.ts'
import { momentOf, periodMs, whyNoMoment } from '../lib/time-text.ts'
import { type Message, message } from '../texts/message.ts'
import { UsageError } from './failure.ts'

/** Parsers for the arguments and options of commands. Each throws a {@link UsageError}. */

/** What has a number. */
type Numbered = 'run' | 'dry_run' | 'dead_letter' | 'bulk_action' | 'alert'

/** An option does not hold what it should. */
export function wrongOption(flag: string, held: string, wanted: Message, options?: ErrorOptions): UsageError {
  return new UsageError(
    message('said.setting_holds', { name: flag, held: JSON.stringify(held), wanted }),
    options,
  )
}

/** Makes a parser for the number of something. */
export function numberOf(what: Numbered): (text: string) => number {
  return text => {
    const number = Number(text)
    if (!/^\d+$/.test(text) || !Number.isSafeInteger(number) || number < 1)
      throw new UsageError(
        message('said.not_a_number', { text: JSON.stringify(text), what: message(`said.number_of_${what}`) }),
      )
    return number
  }
}

/** Like {@link numberOf}, for an argument that may be repeated. */
export function numbersOf(what: Numbered): (text: string, previous?: number[]) => number[] {
  const parse = numberOf(what)
  return (text, previous = []) => [...new Set([...previous, parse(text)])]
}

/** How many rows to show. */
export function limitOf(text: string): number {
  const limit = Number(text)
  if (!/^\d+$/.test(text) || limit < 1 || limit > 10_000)
    throw wrongOption('--limit', text, message('said.wanted_number_to', { min: 1, max: 10_000 }))
  return limit
}

/** A user id, or `enterprise/userid`. */
export function employeeName(text: string): string {
  const name = text.trim()
  if (name === '' || [...name].length > 121)
    throw new UsageError(message('said.not_an_employee', { text: JSON.stringify(text) }))
  return name
}

/** Like {@link employeeName}, for an option that may be repeated. */
export function employeeNames(text: string, previous: string[] = []): string[] {
  return [...new Set([...previous, employeeName(text)])]
}

/** Makes a parser for one of a few words. */
export function oneOf<const Word extends string>(what: string, allowed: readonly Word[]) {
  return (text: string): Word => {
    if (!(allowed as readonly string[]).includes(text))
      throw new UsageError(
        message('said.no_such_choice', { what, text: JSON.stringify(text), names: allowed }),
      )
    return text as Word
  }
}

/** `--reason`, which must not be empty. */
export function reasonOf(text: string): string {
  if (text.trim() === '') throw new UsageError(message('said.reason_empty'))
  return text
}

/** Makes a parser for a duration; the result is in milliseconds. */
export function periodOf(flag: string): (text: string) => number {
  return text => {
    const period = periodMs(text)
    if (!period) throw wrongOption(flag, text, message('said.wanted_period'))
    return period
  }
}

/** Makes a parser for a moment in the future. */
export function futureOf(flag: string): (text: string) => Date {
  return text => {
    const moment = momentOf(text)
    if (!moment) throw wrongOption(flag, text, whyNoMoment(text))
    if (moment.getTime() <= Date.now())
      throw new UsageError(message('said.in_the_past', { name: flag, held: JSON.stringify(text) }))
    return moment
  }
}

/** Makes a parser for a moment in the past: a time, or how long ago it was. */
export function pastOf(flag: string): (text: string) => Date {
  return text => {
    const period = periodMs(text)
    const moment = period === null ? momentOf(text) : new Date(Date.now() - period)
    if (!moment) throw wrongOption(flag, text, message('said.wanted_since'))
    return moment
  }
}

/** Makes a parser for a day `yyyy-MM-dd` that exists. */
export function dayOf(flag: string): (text: string) => string {
  return text => {
    if (normaliseDate(text) !== text) throw wrongOption(flag, text, message('said.wanted_day'))
    return text
  }
}

/** Without letters and digits that are mistaken for each other. */
const ALPHABET = '23456789ABCDEFGHJKLMNPQRSTUVWXYZ'

/**
 * The form of a refund number, and of the business number of a top-up (sections 2.9 and 4.12); lengths in characters.
 */
export const REFUND_NUMBER = { mark: 'R', least: 2, most: 50 }
export const TOP_UP_NUMBER = { mark: 'T', least: 30, most: 100 }

/** A unique number: the application id, a mark, the second in UTC, and random characters. */
export function newNumber(appId: string, { mark, least, most }: typeof REFUND_NUMBER, now: Date): string {
  const stem = `${appId}${mark}${now.toISOString().slice(0, 19).replace(/\D/g, '')}`
  const places = Math.min(Math.max(8, least - stem.length), most - stem.length)
  return stem + Array.from({ length: places }, () => ALPHABET[randomInt(ALPHABET.length)]).join('')
}
