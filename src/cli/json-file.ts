import { readFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { UsageError } from './failure.ts'

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
