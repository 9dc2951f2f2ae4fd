import type { Command } from 'commander'
import { UsageError } from './failure.ts'
import { readRequestFile } from './json-file.ts'

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
