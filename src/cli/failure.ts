/** Wrong use of a command: one sentence, exit 2. */
export class UsageError extends Error {
  readonly exitCode = 2
}

/** The command did its part, but what was asked for failed or is held: one sentence (already printed when empty), exit 1. */
export class FailedError extends Error {
  readonly exitCode = 1
}

/** Codes of errors that stand for a wrong setting or mapping. */
const SETTING_CODES = new Set([
  'CONFIG_INVALID',
  'MAPPING_STATEMENT',
  'MAPPING_SQL',
  'MAPPING_COLUMNS',
  'MAPPING_MISSING',
])

/** The exit code of a command that ended with this error: 2 for wrong usage or a wrong setting, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof FailedError) return error.exitCode
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  return SETTING_CODES.has(code) ? 2 : 1
}

/** What a person is told: one sentence, and the cause where it adds one. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  // A connection refused on both address families is an AggregateError without a message.
  const message =
    error.message || (error instanceof AggregateError ? error.errors.map(sentenceOf).join('; ') : error.name)
  const cause =
    error.cause instanceof Error && !message.includes(error.cause.message) ? ` (${error.cause.message})` : ''
  return message + cause
}
