import type { Pool } from '../lib/database.ts'
import { shellWord } from '../lib/text.ts'
import type { CallOptions, EveryRow, PlatformClient } from '../platform/client.ts'
import { entryOfCode, messagesOf } from '../platform/codes.ts'
import { dispositionOf, OutcomeUnknownError, PlatformError } from '../platform/errors.ts'
import { enterpriseParams } from '../platform/request.ts'
import { type Message, message } from '../texts/message.ts'
import { moneyText } from '../texts/money-text.ts'
import { textOr } from '../texts/texts.ts'
import { type CommandContext, openContext } from './context.ts'
import { BrokenRulesError, FailedError } from './failure.ts'
import { said, say, shellLanguage } from './language.ts'
import { factLines, factsOf } from './output.ts'

/** Shared by the commands that ask the platform while a person waits. */

export interface LookUpOptions {
  enterprise?: string
  json?: true
}

/** The option, for `command.option(...ENTERPRISE)`. */
export const ENTERPRISE = ['--enterprise <code>', 'enterprise (default PLATFORM_ENTERPRISE_CODE)'] as const

/** The flags whose names differ from those of their fields; all other fields are arguments. */
const FLAGS: Record<string, string> = { enterprise_code: '--enterprise', taxpayer_name: '--name' }

/** How a person names a field in a command that looks something up. */
const inLookUp = (field: string) => FLAGS[field] ?? `<${field.replaceAll('_', '-')}>`

/** A person waits, so these calls go before the work of the service. */
export const ASKED_BY_PERSON = { priority: 1 } satisfies CallOptions

/**
 * Asks the platform something.
 * @param ask makes the calls; `enterprise` belongs into their parameters
 * @param flagOf how a person names a field
 * @returns its result, and how a person types the program's name, for hints
 * @throws UsageError, FailedError
 */
export async function lookUp<T>(
  operation: string,
  options: LookUpOptions,
  ask: (client: PlatformClient, enterprise: { enterprise_code?: string }, pool: Pool) => Promise<T>,
  flagOf = inLookUp,
): Promise<{ found: T; program: string }> {
  await using context = await openContext()
  const client = await context.platform()
  const enterprise = enterpriseOf(context, options.enterprise)
  const found = await orExplained(operation, () => ask(client, enterprise, context.pool), flagOf)
  return { found, program: context.program }
}

/**
 * The enterprise that a command asks about: the one named, else that of the settings; empty for a single enterprise.
 */
export function enterpriseOf({ config }: CommandContext, named?: string): { enterprise_code?: string } {
  return enterpriseParams(named ?? config.PLATFORM_ENTERPRISE_CODE)
}

/** `--enterprise CODE` again, for a hint that names another command. */
export function enterpriseFlag({ enterprise }: LookUpOptions): string {
  return enterprise === undefined ? '' : ` --enterprise ${shellWord(enterprise)}`
}

/**
 * Makes a call, and explains to a person why it failed: code, meaning, remedy, trace.
 * @param flagOf how a person names a field
 * @param failure what it means that this very operation failed
 * @throws UsageError if a field breaks a rule, FailedError if the platform or the connection failed
 */
export async function orExplained<T>(
  operation: string,
  call: () => T | Promise<T>,
  flagOf: (field: string) => string,
  failure: Message = message('said.lookup_failed', { name: operation }),
): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    if (error.problems) throw brokenRules(error.problems, operation, flagOf)
    throw explained(error, operation, failure)
  }
}

function brokenRules(
  problems: NonNullable<PlatformError['problems']>,
  operation: string,
  flagOf: (field: string) => string,
): BrokenRulesError {
  // A field within an object has no flag of its own.
  const nameOf = (field: string) => (field === '' ? operation : field.includes('.') ? field : flagOf(field))
  return new BrokenRulesError(
    problems.map(({ field, said: wanted }) => message('said.wanted_of', { what: nameOf(field), wanted })),
  )
}

function explained(error: PlatformError, operation: string, failure: Message): FailedError {
  // The values are a person's, and nothing is tried again.
  const isDone = error.disposition === 'done'
  const { category, meaning, remedy, said: inOwnWords } = isDone ? error.verdict : dispositionOf(error, '')
  const { httpStatus, traceId = null, outcomeKnown, operation: failed } = error
  const code = error.platformCode ?? error.code
  const words = error.platformMessage ?? null
  const document = {
    operation: failed,
    code,
    category,
    meaning,
    remedy,
    message: words,
    http_status: httpStatus ?? null,
    trace_id: traceId,
    outcome_known: outcomeKnown,
  }
  const lines = factLines(
    factsOf([
      ['code', code],
      ['meaning', said(inOwnWords.meaning)],
      ['remedy', said(inOwnWords.remedy)],
      ['message', words],
      ['http', httpStatus === 200 ? null : httpStatus],
      ['trace', traceId],
      ['outcome', error instanceof OutcomeUnknownError ? say('shell.outcome_unknown') : null],
    ]),
  )
  // A preceding call (for a token, or the order record) may be the one that failed.
  const what =
    failed === operation ? failure : message('said.lookup_failed_before', { name: failed, other: operation })
  return new FailedError([said(what), ...lines].join('\n'), { document })
}

/** What to do about a code of the platform; null if it is not in the catalogue. */
export function remedyOf(platformCode: number | null): string | null {
  const entry = entryOfCode(platformCode ?? undefined)
  return entry ? said(messagesOf(entry, false).remedy) : null
}

/** The lists of the platform's own values in the catalogue. */
type PlatformList =
  | 'account_status'
  | 'activity_type'
  | 'asset_code'
  | 'order_record_status'
  | 'order_status'
  | 'payment_order_status'
  | 'product_category'
  | 'service_provider'
  | 'taxpayer_nature'
  | 'taxpayer_status'
  | 'trade_status'
  | 'trade_type'

/** A code with its meaning, such as `3 payment completed`; the code alone if the specification does not know it. */
export function stateText(list: PlatformList, value: number | string | null): string | null {
  if (value === null) return null
  const meaning = textOr(shellLanguage(), `${list}.${value}`, '')
  return meaning === '' ? String(value) : `${value} ${meaning}`
}

/** An amount of money, or of an asset; see `moneyText`. */
export function amountText(text: string | null, asset?: string | null): string | null {
  return text === null ? null : moneyText(shellLanguage(), text, asset)
}

/** The first rows of a list. */
interface FirstRows<Row> {
  rows: Row[]
  /** Whether there are more of them. */
  more: boolean
  /** How many the platform counts, where that is more than it returned. */
  total?: number
}

/** How many rows were shown, and whether there are more. */
export function shownText({ rows, more, total }: FirstRows<unknown>): string {
  const count = String(rows.length)
  if (total !== undefined) return say('shell.short_shown', { count, total: String(total) })
  return say(more ? 'shell.first_shown' : 'shell.all_shown', { count })
}

/** @param limit how many at most */
export async function firstOf<Row>(rows: EveryRow<Row>, limit: number): Promise<FirstRows<Row>> {
  const first: Row[] = []
  for (;;) {
    const { done, value } = await rows.next()
    if (done)
      return value === null
        ? { rows: first, more: false }
        : { rows: first, more: true, total: first.length + value.counted - value.found }
    if (first.length === limit) {
      await rows.return(null)
      return { rows: first, more: true }
    }
    first.push(value)
  }
}
