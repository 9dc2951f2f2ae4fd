import { isUtf8 } from 'node:buffer'
import { BusinessError, HttpError } from './errors.ts'

/** More than any operation has; a longer list is refused before it costs anything. */
const MAX_PARAMETERS = 200

/** The refund's lists within lists need six. */
const MAX_NESTING = 10

/** What every operation takes beside its own parameters, apart from the token. */
export const PUBLIC_PARAMETERS = new Set(['appid', 'timestamp', 'sign', 'version', 'grant_type'])

export type Encoding = 'form' | 'json'

/**
 * What a request carries. `signed` is the input of the signature, `given` what the operation reads: for a form
 * both are the parameters of the query string and of the body; for a JSON operation the body text is signed as
 * `_body`, and the members of its object are what is given beside the query string, numbers as the text in the body.
 */
export interface RequestParameters {
  signed: Map<string, string>
  given: Map<string, unknown>
}

/**
 * Reads the parameters of both places, values trimmed (section 5).
 *
 * Throws `HttpError` 415 for another encoding than the operation's and 400 for what cannot be decoded, and
 * `BusinessError` 1000220002 for a parameter that is given twice, in one place or in both: which of the two
 * is signed, and which one counts, would be a guess. Public parameters of a JSON operation come in the query string:
 * unless `strict`, members of their names are ignored, which the vendor's client sends, and so are null members, which
 * are parameters without a value.
 */
export function readParameters(
  encoding: Encoding,
  call: { queryText: string; contentType: string | undefined; body: Buffer },
  strict: boolean,
): RequestParameters {
  const { queryText, contentType, body } = call
  checkContentType(encoding, contentType)
  if (!isUtf8(body)) throw new HttpError(400, 'The body is not valid UTF-8.')
  const bodyText = body.toString('utf8')
  const signed = new Map<string, string>()
  addForm(signed, queryText)
  if (encoding === 'form') {
    addForm(signed, bodyText)
    return { signed, given: signed }
  }
  const given = new Map<string, unknown>(signed)
  for (const [name, value] of Object.entries(parseJsonObject(bodyText, strict))) {
    if (!strict && PUBLIC_PARAMETERS.has(name)) continue
    if (given.has(name)) throw repeated(name)
    given.set(name, value)
  }
  signed.set('_body', bodyText)
  return { signed, given }
}

const MEDIA_TYPES: Record<Encoding, string> = {
  form: 'application/x-www-form-urlencoded',
  json: 'application/json',
}

function checkContentType(encoding: Encoding, contentType: string | undefined): void {
  const expected = MEDIA_TYPES[encoding]
  if (contentType === expected) return
  const [mediaType = '', ...attributes] = (contentType ?? '').toLowerCase().split(';')
  const otherCharset = attributes.some(attribute => {
    const [name, value = ''] = attribute.trim().split('=')
    return name === 'charset' && !/^"?utf-8"?$/.test(value)
  })
  if (mediaType.trim() !== expected || otherCharset) {
    throw new HttpError(415, `This operation takes Content-Type: ${expected} in UTF-8.`)
  }
}

function addForm(parameters: Map<string, string>, text: string): void {
  if (text === '') return
  const pairs = text.split('&', MAX_PARAMETERS + 1)
  if (pairs.length > MAX_PARAMETERS) throw new HttpError(400, `More than ${MAX_PARAMETERS} parameters.`)
  for (const pair of pairs) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals < 0 ? pair : pair.slice(0, equals))
    if (parameters.has(name)) throw repeated(name)
    parameters.set(name, equals < 0 ? '' : decode(pair.slice(equals + 1)).trim())
  }
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  let decoded = spaced
  if (spaced.includes('%')) {
    try {
      decoded = decodeURIComponent(spaced)
    } catch {
      throw new HttpError(400, 'The parameters hold a malformed percent-encoding.')
    }
  }
  if (decoded.includes('\0')) throw new HttpError(400, 'The parameters hold a NUL character.')
  return decoded
}

/** Leaves null members of objects out. */
function withoutNull(this: unknown, name: string, value: unknown, context?: { source?: string }): unknown {
  if (value === null && !Array.isArray(this)) return undefined
  return sourceText(name, value, context)
}

/** Numbers become their source text: an amount must not pass through binary floating point. */
function sourceText(_name: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value === 'number') return context?.source
  if (typeof value !== 'string') return value
  if (value.includes('\0') || !value.isWellFormed()) throw new RangeError()
  return value.trim()
}

function parseJsonObject(text: string, strict: boolean): object {
  let value: unknown
  try {
    value = JSON.parse(text, strict ? sourceText : withoutNull)
  } catch {
    throw new HttpError(400, 'The body is not valid JSON, or its texts are not valid Unicode without NUL.')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new BusinessError('parameters', 'the body must be a JSON object')
  }
  checkNesting(value, 1)
  return value
}

function checkNesting(value: unknown, depth: number): void {
  if (typeof value !== 'object' || value === null) return
  if (depth > MAX_NESTING) throw new BusinessError('parameters', `the body nests deeper than ${MAX_NESTING}`)
  for (const member of Object.values(value)) checkNesting(member, depth + 1)
}

function repeated(name: string): BusinessError {
  return new BusinessError('parameters', `${name.slice(0, 50)} is given more than once`)
}
