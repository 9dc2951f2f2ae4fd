import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import type { ReadStream, WriteStream } from 'node:tty'
import type { Command } from 'commander'
import type { Config } from '../config.ts'
import type { RefundState } from '../money/refund.ts'
import type { TopUpState } from '../money/top-up.ts'
import type { Operation } from '../platform/operation.ts'
import { checkedParameters } from '../platform/request.ts'
import { FailedError, UsageError } from './failure.ts'
import { colours, factLines, print, printJson } from './output.ts'

/** A flag of a command that stands for a field of an operation's request. */
export interface RequestOption {
  /** Name in the specification. */
  field: string
  /** Name on the command line, without its dashes. */
  flag: string
  value: string
  help: string
  required?: true
}

/** What a person gave: the values of the flags, by their names in camel case. */
export interface RequestValues {
  [name: string]: unknown
  yes?: true
  json?: JsonUse
}

/** `--json` alone asks for a document, with a file it names the request; it may stand twice. */
interface JsonUse {
  file?: string
  answer?: true
}

/** A request that moves money, and how its sender wants it. */
export interface MoneyRequest {
  request: Record<string, unknown>
  /** Answer with one JSON document. */
  json: boolean
  /** Without a question. */
  yes: boolean
  /** How a person named a field, for messages. */
  flagOf(field: string): string
}

/** Adds the flags of a request, with `--yes` and `--json`. */
export function addRequestOptions(command: Command, options: RequestOption[]): void {
  for (const { flag, value, help } of options) command.option(`--${flag} <${value}>`, help)
  command.option('--yes', 'do not ask; needed where there is no terminal')
  const json: JsonUse = {}
  command
    .option('--json [file]', 'print one JSON document; with a file (- is standard input): the request')
    .on('option:json', (file: string | null) => {
      if (file === null) json.answer = true
      else json.file = file
      command.setOptionValue('json', json)
    })
}

/**
 * The request that the flags and the file make together; flags override.
 * @throws UsageError
 */
export async function requestOf(values: RequestValues, options: RequestOption[]): Promise<MoneyRequest> {
  const { json = {}, yes = false } = values
  const request = json.file === undefined ? {} : await readRequestFile(json.file)
  for (const { field, flag } of options) {
    const value = values[flag.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase())]
    if (value !== undefined) request[field] = value
  }
  const missing = options.filter(({ field, required }) => required && request[field] === undefined)
  if (missing.length > 0)
    throw new UsageError(`missing: ${missing.map(({ flag }) => `--${flag}`).join(', ')}`)
  return {
    request,
    yes,
    json: json.answer === true,
    flagOf: name => `--${options.find(({ field }) => field === name)?.flag ?? name}`,
  }
}

/** What TypeScript's library does not know of yet: the text that a number was written as. */
type ParseWithSource = (
  text: string,
  revive: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown

const MAX_CHARACTERS = 10_000_000

/**
 * Reads a request from a JSON file, or from standard input when its name is `-`. Numbers become their source text:
 * an amount such as 0.10 never passes through binary floating point.
 * @throws UsageError when the file is missing, is no JSON or holds no object
 */
export async function readRequestFile(file: string): Promise<Record<string, unknown>> {
  const name = file === '-' ? 'standard input' : JSON.stringify(file)
  let content: string
  try {
    content = file === '-' ? await text(process.stdin) : await readFile(file, 'utf8')
  } catch (cause) {
    throw new UsageError(`--json names ${name}, which cannot be read`, { cause })
  }
  if (content.length > MAX_CHARACTERS) throw new UsageError(`${name} is too long for a request`)
  const request = parseJson(content, name)
  if (typeof request !== 'object' || request === null || Array.isArray(request))
    throw new UsageError(`${name} should hold one JSON object: the fields of the request`)
  return request as Record<string, unknown>
}

/**
 * JSON text with numbers as their source text.
 * @throws UsageError naming what holds the text
 */
export function parseJson(content: string, holder: string): unknown {
  try {
    return (JSON.parse as ParseWithSource)(content, (_, value, { source }) =>
      typeof value === 'number' ? source : value,
    )
  } catch (cause) {
    throw new UsageError(`${holder} should be JSON text`, { cause })
  }
}

/**
 * Checks a request before anybody is asked about it.
 * @throws PlatformError of kind `invalid_request`
 */
export async function checkedRequest(operation: Operation, request: object, config: Config): Promise<void> {
  checkedParameters(operation, request, {
    appId: config.PLATFORM_APP_ID,
    priceDifferenceMode: config.REFUND_PRICE_DIFFERENCE,
  })
}

/** Where a person is asked: the question goes to standard error, so that standard output keeps to the result. */
interface Terminal {
  input: NodeJS.ReadableStream & Partial<Pick<ReadStream, 'isTTY'>>
  output: NodeJS.WritableStream & Partial<Pick<WriteStream, 'isTTY'>>
}

const CONSOLE: Terminal = { input: process.stdin, output: process.stderr }

/**
 * Whether a person has to be asked before money moves.
 * @param what that which would be sent, for example `refund`
 * @throws UsageError where nobody can be asked and `--yes` was not given
 */
export function needsQuestion(what: string, yes: boolean, { input, output } = CONSOLE): boolean {
  if (yes) return false
  if (input.isTTY && output.isTTY) return true
  throw new UsageError(
    `this moves money, and there is no terminal to ask on: give --yes to send the ${what} without a question`,
  )
}

/**
 * Shows what would be sent and asks; anything but y or yes is a no, and so are Ctrl-C and the end of the input.
 * @param signal takes the question back, which is a no too
 * @throws FailedError when the answer is no
 */
export async function confirm(
  summary: string[],
  question: string,
  signal: AbortSignal,
  { input, output } = CONSOLE,
): Promise<void> {
  output.write(summary.map(line => `${line}\n`).join(''))
  const terminal = createInterface({ input, output, terminal: output.isTTY === true })
  const answer = await new Promise<string>(resolve => {
    terminal.once('SIGINT', () => resolve(''))
    terminal.once('close', () => resolve(''))
    terminal.question(`${question} [y/N] `, { signal }).then(resolve, () => resolve(''))
  })
  if (answer === '') output.write('\n')
  terminal.close()
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new FailedError('nothing was sent')
}

/** What became of something that moves money, as the journal tells it. */
interface SentOutcome {
  /** `refund` or `top-up`. */
  what: string
  number: string
  state: 'accepted' | 'rejected' | 'unknown'
  facts: Parameters<typeof factLines>[0]
  /** What `--json` prints. */
  document: Record<string, unknown>
  /** What to do where nobody knows whether it was carried out: in words, and as a command. */
  remedy: string
  command: string
}

/**
 * Prints the outcome.
 * @throws FailedError unless it is accepted
 */
export function tellOutcome(outcome: SentOutcome, json: boolean): void {
  const { what, number, state, facts, document, remedy, command } = outcome
  if (json) printJson(document)
  const lines = factLines(facts)
  if (state === 'unknown')
    throw new FailedError(
      [
        `it is unknown whether ${what} ${number} was carried out: do not send it again, under whatever number`,
        ...lines,
        `  → ${remedy}:`,
        `    ${command}`,
      ].join('\n'),
    )
  if (state === 'rejected') throw new FailedError([`${what} ${number} is rejected`, ...lines].join('\n'))
  if (!json) print(`${what === 'refund' ? 'Refund' : 'Top-up'} ${number} is accepted.`, ...lines)
}

/** What the states of a top-up application say about money. */
const TOP_UP_MEANINGS: Record<TopUpState, string> = {
  requested: 'being sent',
  unknown: 'sent, and perhaps carried out',
  accepted: 'carried out',
  rejected: 'not carried out',
}

const REFUND_MEANINGS: Record<RefundState, string> = {
  ...TOP_UP_MEANINGS,
  notified: 'carried out, and notified by the platform',
}

export const TOP_UP_STATES = Object.keys(TOP_UP_MEANINGS) as TopUpState[]
export const REFUND_STATES = Object.keys(REFUND_MEANINGS) as RefundState[]

/** A state with its meaning. */
export function sentStateText(state: RefundState): string {
  return `${state}: ${REFUND_MEANINGS[state]}`
}

/** The colour of a state in a table's cell, by what it asks of a person. */
export function paintSentState(cell: string): string {
  const state = cell.trimEnd()
  const colour = { unknown: 'red', rejected: 'yellow', accepted: 'green', notified: 'green' } as const
  if (!Object.hasOwn(colour, state)) return cell
  return colours[colour[state as keyof typeof colour]](state) + cell.slice(state.length)
}
