import { readFile } from 'node:fs/promises'
import { createInterface } from 'node:readline/promises'
import { text } from 'node:stream/consumers'
import { type Command, Option } from 'commander'
import { io } from '../lib/io.ts'
import { FailedError, UsageError } from './failure.ts'

/** A request of the platform that a person puts together from flags and a file, and confirms where it moves money. */

/** The fields of a request that a command has flags for: each with its flag, as commander takes it, and its help. */
export type RequestFlags = Readonly<Record<string, readonly [flag: string, help: string]>>

/** What a person gave: the values of the flags, by their names in camel case. */
export interface RequestValues {
  [name: string]: unknown
  yes?: true
  json?: JsonUse
}

/** `--json` alone asks for a document; with a file it names the request. It may be given both ways at once. */
interface JsonUse {
  file?: string
  answer?: true
}

/** A request, and how its sender wants it. */
export interface GivenRequest {
  request: Record<string, unknown>
  /** Answer with one JSON document. */
  json: boolean
  /** Send what moves money without a question. */
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
 * The request that the flags and the file make together; flags override.
 * @throws UsageError when a field of `required` is missing
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
  if (missing.length > 0) throw new UsageError(`missing: ${missing.map(flagOf).join(', ')}`)
  return { request, yes, json: json.answer === true, flagOf }
}

/** What TypeScript's library does not know yet: the text that a number was written as. */
type ParseWithSource = (
  text: string,
  revive: (key: string, value: unknown, context: { source?: string }) => unknown,
) => unknown

const MAX_CHARACTERS = 10_000_000

/**
 * Reads a request from a JSON file, or from standard input when its name is `-`. Numbers become their source text:
 * an amount such as 0.10 never passes through binary floating point.
 * @throws UsageError when the file is missing, is not JSON or does not hold an object
 */
export async function readRequestFile(file: string): Promise<Record<string, unknown>> {
  const name = file === '-' ? 'standard input' : JSON.stringify(file)
  let content: string
  try {
    content = file === '-' ? await text(io().stdin) : await readFile(file, 'utf8')
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
 * @param holder what holds the text, for the message
 * @throws UsageError
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
 * Whether a person has to be asked before money moves.
 * @param what what would be sent, such as `refund`
 * @throws UsageError where nobody can be asked and `--yes` was not given
 */
export function needsQuestion(what: string, yes: boolean): boolean {
  if (yes) return false
  if (io().stdin.isTTY && io().stderr.isTTY) return true
  throw new UsageError(
    `this moves money, and there is no terminal to ask on: give --yes to send the ${what} without a question`,
  )
}

/**
 * Shows what would be sent and asks. Only y or yes is a yes; Ctrl-C and the end of the input are a no.
 * @param signal takes the question back, which is a no too
 * @throws FailedError when the answer is no
 */
export async function confirm(summary: string[], question: string, signal: AbortSignal): Promise<void> {
  // On standard error, so that standard output holds the result alone.
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
  if (!/^y(?:es)?$/i.test(answer.trim())) throw new FailedError('nothing was sent')
}
