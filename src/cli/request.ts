import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { io } from '../lib/io.ts'
import { type Message, message } from '../texts/message.ts'
import { FailedError, UsageError } from './failure.ts'

/** A request to the platform that a person builds from flags and a file, and confirms if it moves money. */

/** The flags for the fields of a request: each in commander's syntax, with its help. */
export type RequestFlags = Readonly<Record<string, readonly [flag: string, help: string]>>

/** The values of the flags, by their names in camel case. */
export interface RequestValues {
  [name: string]: unknown
  yes?: true
  json?: JsonUse
}

/** `--json` alone asks for a document; with a file it names the request. Both may be given. */
interface JsonUse {
  file?: string
  answer?: true
}

/** A request, with the options for sending it. */
export interface GivenRequest {
  request: Record<string, unknown>
  /** Answer with one JSON document. */
  json: boolean
  /** Send without confirmation, even if it moves money. */
  yes: boolean
  /** How a person named a field, for messages. */
  flagOf(field: string): string
}

/** Adds the flags of a request, with `--yes` and `--json`. */
export function addRequestOptions(command: Command, flags: RequestFlags): void {
  for (const [flag, help] of Object.values(flags)) command.option(flag, help)
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
 * Merges the flags and the file into the request; flags take precedence.
 * @throws UsageError if a field of `required` is missing
 */
export async function requestOf(
  values: RequestValues,
  flags: RequestFlags,
  required: readonly string[],
): Promise<GivenRequest> {
  const { json = {}, yes = false } = values
  const request = json.file === undefined ? {} : await readRequestFile(json.file)
  const options = new Map(Object.entries(flags).map(([field, [flag]]) => [field, new Option(flag)]))
  for (const [field, option] of options) {
    const value = values[option.attributeName()]
    if (value !== undefined) request[field] = value
  }
  const flagOf = (field: string) => options.get(field)?.long ?? `--${field}`
  const missing = required.filter(field => request[field] === undefined)
  if (missing.length > 0) throw new UsageError(message('said.fields_missing', { names: missing.map(flagOf) }))
  return { request, yes, json: json.answer === true, flagOf }
}

/** Not in TypeScript's library yet: `source` is the text of a number. */
type ParseWithSource = (
  text: string,
  revive: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown

const MAX_CHARACTERS = 10_000_000

/**
 * Reads a request from a JSON file, or from standard input if its name is `-`. Numbers stay texts, so that an amount
 * such as 0.10 never passes through binary floating point.
 * @throws UsageError if the file is missing, is not JSON or does not hold an object
 */
export async function readRequestFile(file: string): Promise<Record<string, unknown>> {
  const name = file === '-' ? message('said.standard_input') : JSON.stringify(file)
  let content: string
  try {
    content = file === '-' ? await text(io().stdin) : await readFile(file, 'utf8')
  } catch (cause) {
    throw new UsageError(message('said.json_unreadable', { name }), { cause })
  }
  if (content.length > MAX_CHARACTERS) throw new UsageError(message('said.request_too_long', { name }))
  const request = parseJson(content, name)
  if (typeof request !== 'object' || request === null || Array.isArray(request))
    throw new UsageError(message('said.not_one_object', { name }))
  return request as Record<string, unknown>
}

/**
 * Parses JSON, keeping numbers as texts.
 * @param holder where the text comes from, for the message
 * @throws UsageError
 */
export function parseJson(content: string, holder: string | Message): unknown {
  try {
    return (JSON.parse as ParseWithSource)(content, (_, value, { source }) =>
      typeof value === 'number' ? source : value,
    )
  } catch (cause) {
    throw new UsageError(message('said.not_json', { name: holder }), { cause })
  }
}

/**
 * Whether to ask a person before money moves.
 * @param what what would be sent
 * @throws UsageError if no question can be asked and `--yes` was not given
 */
export function needsQuestion(what: Message, yes: boolean): boolean {
  if (yes) return false
  if (io().stdin.isTTY && io().stderr.isTTY) return true
  throw new UsageError(message('said.asks_nobody', { what }))
}

/**
 * Shows what would be sent, and asks. Only y or yes confirms; Ctrl-C and the end of the input decline.
 * @param signal withdraws the question, which counts as declined
 * @throws FailedError if the answer is no
 */
export async function confirm(summary: string[], question: string, signal: AbortSignal): Promise<void> {
  // On standard error, so that standard output holds only the result.
  const { stdin: input, stderr: output } = io()
  output.write(summary.map(line => `${line}\n`).join(''))
  const terminal = createInterface({ input, output, terminal: output.isTTY === true })
  const answer = await new Promise<string>(resolve => {
    terminal.once('SIGINT', () => resolve(''))
    terminal.once('close', () => resolve(''))
    terminal.question(`${question} [y/N] `, { signal }).then(resolve, () => resolve(''))
  })
  if (answer === '') output.write('\n')
  terminal.close()
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new FailedError(message('said.nothing_was_sent'))
}
