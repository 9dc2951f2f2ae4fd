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

/** How long something took or takes, in the largest unit that says enough: 0.4 s, 12 s, 3 min, 2 h, 5 d. */
export function durationText(language: Language, ms: number): string {
  const seconds = Math.max(0, ms) / 1000
  const [value, unit, digits] =
    seconds < 10
      ? ([seconds, 'second', 1] as const)
      : seconds < 120
        ? ([seconds, 'second', 0] as const)
        : seconds < 7200
          ? ([seconds / 60, 'minute', 0] as const)
          : seconds < 172_800
            ? ([seconds / 3600, 'hour', 0] as const)
            : ([seconds / 86_400, 'day', 0] as const)
  return numbers(language, {
    style: 'unit',
    unit,
    unitDisplay: 'short',
    maximumFractionDigits: digits,
  }).format(value)
}

/** A share of 0 to 1 in percent; never 100 % while something is missing, never 0 % while there is something. */
export function percentText(language: Language, share: number): string {
  const honest = share < 1 && share > 0.9999 ? 0.9999 : share > 0 && share < 0.0001 ? 0.0001 : share
  return numbers(language, { style: 'percent', maximumFractionDigits: 2 }).format(honest)
}
