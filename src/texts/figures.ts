import { duration } from '../lib/time-text.ts'
import { inLanguage } from './failures.ts'
import type { Language } from './texts.ts'

/** Figures as short texts for people, in their language. */

const formats = new Map<string, Intl.NumberFormat>()

/** How to write numbers. Made once: making one takes longer than all else in a cell of a table. */
export function numbers(language: Language, options: Intl.NumberFormatOptions): Intl.NumberFormat {
  const id = `${language} ${JSON.stringify(options)}`
  let found = formats.get(id)
  if (!found) {
    found = new Intl.NumberFormat(language, options)
    formats.set(id, found)
  }
  return found
}

/** A duration, as `duration` says it. */
export function durationText(language: Language, ms: number): string {
  return inLanguage(language, duration(ms))
}

/** A share of 0 to 1 in percent; never 100 % while something is missing, never 0 % while there is something. */
export function percentText(language: Language, share: number): string {
  const honest = share < 1 && share > 0.9999 ? 0.9999 : share > 0 && share < 0.0001 ? 0.0001 : share
  return numbers(language, { style: 'percent', maximumFractionDigits: 2 }).format(honest)
}

/** Counts by name, the highest first. */
export function byCount(
  counts: Readonly<Record<string, number>> | undefined,
): [name: string, count: number][] {
  return Object.entries(counts ?? {}).sort(([, a], [, b]) => b - a)
}
