import type { DeadLetter } from '../report/review.ts'

/** Columns of the export, in their order. */
export const DEAD_LETTER_COLUMNS = [
  'id',
  'enterprise_code',
  'entity',
  'entity_key',
  'operation',
  'field',
  'category',
  'platform_code',
  'trace_id',
  'message',
  'remedy',
  'changed_fields',
  'blocked_by',
  'source_hash',
  'state',
  'first_failed_at',
  'last_failed_at',
  'occurrences',
  'next_retry_at',
  'snooze_until',
  'first_run_id',
  'last_run_id',
  'resolution',
  'resolved_by',
  'resolved_at',
  'note',
  'version',
  'swap_id',
] as const satisfies readonly (keyof DeadLetter)[]

/** One line of CSV (RFC 4180, without the line's end). */
export function csvLine(values: readonly unknown[]): string {
  return values.map(cell).join(',')
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'number') return String(value)
  const text =
    value instanceof Date
      ? value.toISOString()
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value)
  // A spreadsheet takes a text with such a beginning for a formula; an apostrophe makes it a text again.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
