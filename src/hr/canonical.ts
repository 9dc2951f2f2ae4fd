/** The canonical text of numbers and times, as PostgreSQL prints it, for servers that print them differently. */

/** Columns of which only the day counts. */
export const DAYS: ReadonlySet<string> = new Set(['birth_day', 'entry_day'])

/** A double: the fewest digits that give the same number, with an exponent below 1e-4 and from 1e15 on. */
export function floatText(value: number): string {
  if (Object.is(value, -0)) return '-0'
  const [digits = '', exponent = '0'] = value.toExponential().split('e')
  const power = Number(exponent)
  if (!Number.isFinite(value) || (power >= -4 && power < 15)) return String(value)
  return `${digits}e${power < 0 ? '-' : '+'}${String(Math.abs(power)).padStart(2, '0')}`
}

/** A decimal or a time, as text: without zeros at the end of its fraction, or of its seconds' fraction. */
export function withoutTrailingZeros(text: string): string {
  return text.replace(/(\.\d*?)0*(?!\d)/, (_, fraction) => (fraction === '.' ? '' : fraction))
}
