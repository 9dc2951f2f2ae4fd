import { entryOfCode } from '../platform/codes.ts'
import { PlatformError, verdictOf } from '../platform/errors.ts'
import { meaningOf, type States } from '../platform/states.ts'
import type { CommandContext } from './context.ts'
import { FailedError, UsageError } from './failure.ts'
import { factLines, printJson } from './output.ts'

/**
 * Waits for a call, and tells a person why it failed: code, meaning, remedy, trace. With `json` the facts are the
 * document that is printed, too.
 * @param flagOf how a person names a field
 * @throws UsageError where a field breaks a rule, FailedError where the platform, or the way to it, failed
 */
export async function orExplained<T>(
  operation: string,
  json: boolean,
  call: Promise<T>,
  flagOf = (field: string) => `--${field}`,
): Promise<T> {
  try {
    return await call
  } catch (error) {
    throw error instanceof PlatformError ? explained(error, operation, json, flagOf) : error
  }
}

function explained(
  error: PlatformError,
  operation: string,
  json: boolean,
  flagOf: (field: string) => string,
): Error {
  if (error.problems) {
    // A field within an object has no flag of its own.
    const nameOf = (field: string) => (field === '' ? operation : field.includes('.') ? field : flagOf(field))
    // What comes from the shell or a file is a text already.
    const ruleOf = (rule: string) => rule.replace(/, as a text$/, '')
    return new UsageError(
      error.problems.map(({ field, rule }) => `${nameOf(field)} ${ruleOf(rule)}`).join('\n'),
    )
  }
  const { category, meaning, remedy } = verdictOf(error)
  const code = error.platformCode ?? error.code
  const message = error.platformMessage ?? null
  const { httpStatus, traceId = null, outcomeKnown, operation: failed } = error
  if (json)
    printJson({
      error: {
        operation: failed,
        code,
        category,
        meaning,
        remedy,
        message,
        http_status: httpStatus ?? null,
        trace_id: traceId,
        outcome_known: outcomeKnown,
      },
    })
  const lines = factLines([
    ['code', code],
    ['meaning', meaning],
    ['remedy', remedy],
    ['message', message],
    ['http', httpStatus === 200 ? null : httpStatus],
    ['trace', traceId],
    ['outcome', outcomeKnown ? null : 'not known: query before doing it again'],
  ])
  // A call that goes first (a token, the order record) may be what failed.
  const consequence = failed === operation ? '' : `, so ${operation} was not carried out`
  return new FailedError([`${failed} failed${consequence}`, ...lines].join('\n'))
}

/** What to do about a code of the platform; null where it is not in the catalogue. */
export function remedyOf(platformCode: number | null): string | null {
  const entry = entryOfCode(platformCode ?? undefined)
  return entry?.remedyBesideHr ?? entry?.remedy ?? null
}

/** The enterprise that a command asks about: the one named, else the setting's; none for a single enterprise. */
export function enterpriseOf({ config }: CommandContext, named: string | undefined) {
  const enterprise_code = named ?? config.PLATFORM_ENTERPRISE_CODE
  return enterprise_code === '' ? {} : { enterprise_code }
}

/** A code with its meaning, such as `3 payment completed`; alone where the specification does not know it. */
export function stateText(states: States, value: number | string | null): string | null {
  if (value === null) return null
  const meaning = meaningOf(states, value)
  return meaning === undefined ? String(value) : `${value} ${meaning}`
}

/** The first rows, and whether there are more of them. */
export async function taken<T>(rows: AsyncIterable<T>, limit: number): Promise<{ rows: T[]; more: boolean }> {
  const some: T[] = []
  for await (const row of rows) {
    if (some.length === limit) return { rows: some, more: true }
    some.push(row)
  }
  return { rows: some, more: false }
}
