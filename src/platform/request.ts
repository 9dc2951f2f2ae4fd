import { hash } from 'node:crypto'
import type { EmployeeKey } from '../directory/employee.ts'
import { isAddress, isBareAddress, trimText } from '../lib/text.ts'
import { message, saidBySchema } from '../texts/message.ts'
import { type ParameterProblem, PlatformError, parameterProblem } from './errors.ts'
import type { HttpRequest } from './exchange.ts'
import type { Application, Operation } from './operation.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
const JSON_TEXT = { 'content-type': 'application/json', accept: 'application/json' }
const VERSION = '1.0.0'
const GRANT_TYPE = 'client_credential'
const PUBLIC_NAMES = ['access_token', 'appid', 'appsecret', 'grant_type', 'timestamp', 'version']

/** The name under which a JSON body is signed. */
const JSON_BODY = '_body'

/** Business parameters as they are sent; a JSON body is the one named {@link JSON_BODY}. */
export type ParameterTexts = Record<string, string>

/**
 * Turns parameters into the texts that are sent, and checks them. Texts are trimmed. A parameter without a value (absent, null,
 * empty) is left out, unless an empty text clears it.
 * @param application default: rules that depend on it are not checked
 * @throws PlatformError of kind `invalid_request`, naming parameters and rules, never values
 */
export function checkedParameters(
  operation: Operation,
  params: object,
  application?: Application,
): ParameterTexts {
  const values: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(params)) {
    const given = withoutBlanks(value)
    if (given === undefined || given === null) continue
    if (given === '' && !operation.clearedByEmpty.includes(name)) continue
    values[name] = typeof given === 'number' && !operation.decimals ? String(given) : given
  }
  const checked = operation.request.safeParse(values)
  const problems = checked.success
    ? application && operation.check?.(checked.data, application)
    : checked.error.issues.flatMap(issue => problemsOf(issue, values))
  if (problems?.length) {
    throw new PlatformError({
      kind: 'invalid_request',
      operation: operation.name,
      outcomeKnown: true,
      problems,
    })
  }
  if (operation.encoding === 'json') return jsonTexts(operation, checked.data ?? {})
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]))
}

/** The body's text, and beside it the parameters of the query string. */
function jsonTexts(operation: Operation, request: Readonly<Record<string, unknown>>): ParameterTexts {
  const texts: ParameterTexts = {}
  const body: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(request)) {
    if (operation.inQuery.includes(name)) texts[name] = String(value)
    else body[name] = value
  }
  texts[JSON_BODY] = JSON.stringify(body)
  return texts
}

/** A text trimmed; a structure with its texts trimmed and without empty values. Items of lists keep their places. */
function withoutBlanks(value: unknown): unknown {
  if (typeof value === 'string') return trimText(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(withoutBlanks)
  const entries = Object.entries(value).map(([name, item]) => [name, withoutBlanks(item)] as const)
  return Object.fromEntries(entries.filter(([, item]) => item !== undefined && item !== null && item !== ''))
}

interface Issue {
  code?: string
  message: string
  path: readonly PropertyKey[]
  keys?: readonly string[]
}

function problemsOf({ code, message: rule, path, keys }: Issue, values: object): ParameterProblem[] {
  const field = path.join('.')
  if (code === 'unrecognized_keys') {
    return (keys ?? []).map(key =>
      parameterProblem([...path, key].join('.'), message('said.is_no_parameter')),
    )
  }
  if (code !== 'invalid_type' && code !== 'invalid_union')
    return [parameterProblem(field, saidBySchema(rule))]
  const value = path.reduce<unknown>((at, key) => (at as Record<PropertyKey, unknown>)?.[key], values)
  return [parameterProblem(field, value === undefined ? message('said.is_required') : saidBySchema(rule))]
}

/**
 * Builds signed requests: public parameters in the query string, business parameters in the form or the JSON body
 * (section 5); with a JSON body, some of them in the query string too.
 */
export class RequestBuilder {
  readonly #origin: string
  readonly #basePath: string
  readonly #appId: string
  readonly #appSecret: string
  readonly #algorithm: SignAlgorithm
  readonly #fixedQuery: string
  readonly #sortedNames = new Map<string, readonly string[]>()

  constructor(baseUrl: string, appId: string, appSecret: string, algorithm: SignAlgorithm) {
    const url = checkedBase(baseUrl)
    this.#origin = url.origin
    this.#basePath = url.pathname.replace(/\/+$/, '')
    this.#appId = appId
    this.#appSecret = appSecret
    this.#algorithm = checkedAlgorithm(algorithm)
    this.#fixedQuery = `?appid=${encodeURIComponent(appId)}&grant_type=${GRANT_TYPE}&version=${VERSION}`
  }

  /**
   * @param texts checked business parameters; an empty text is sent and not signed
   * @param timestamp seconds since 1970
   * @param accessToken undefined for token creation
   */
  build(
    operation: Operation,
    texts: ParameterTexts,
    timestamp: number,
    accessToken: string | undefined,
  ): HttpRequest {
    const seconds = String(timestamp)
    const values: Record<string, string | undefined> = {
      ...texts,
      access_token: accessToken,
      appid: this.#appId,
      appsecret: this.#appSecret,
      grant_type: GRANT_TYPE,
      timestamp: seconds,
      version: VERSION,
    }
    const signature = digest(signatureInput(this.#namesOf(operation), values), this.#algorithm)
    const token = accessToken === undefined ? '' : `&access_token=${encodeURIComponent(accessToken)}`
    const path = `${this.#basePath}/${operation.name}${this.#fixedQuery}&timestamp=${seconds}${token}&sign=${signature}`
    if (operation.encoding === 'form') {
      return { origin: this.#origin, path, headers: FORM, body: formText(texts) }
    }
    const { [JSON_BODY]: body = '', ...query } = texts
    const more = formText(query)
    return { origin: this.#origin, path: more === '' ? path : `${path}&${more}`, headers: JSON_TEXT, body }
  }

  /** Every name that a signature of the operation may need, sorted. */
  #namesOf({ name, encoding, inQuery, request }: Operation): readonly string[] {
    let names = this.#sortedNames.get(name)
    if (names === undefined) {
      const own = encoding === 'json' ? [JSON_BODY, ...inQuery] : Object.keys(request.shape)
      names = [...PUBLIC_NAMES, ...own].sort()
      this.#sortedNames.set(name, names)
    }
    return names
  }
}

/** `application/x-www-form-urlencoded` text of the parameters. */
function formText(texts: ParameterTexts): string {
  let form = ''
  for (const name in texts) {
    const pair = `${name}=${encodeURIComponent(texts[name] ?? '')}`
    form = form === '' ? pair : `${form}&${pair}`
  }
  return form
}

/** Hash functions that the platform's published clients offer; the specification says SHA-256 (section 5). */
export const SIGN_ALGORITHMS = ['sha256', 'sha1', 'sha512'] as const

export type SignAlgorithm = (typeof SIGN_ALGORITHMS)[number]

/** An address that is refused is not repeated: it may hold a password. */
function checkedBase(baseUrl: string): URL {
  if (isAddress(baseUrl, ['http://', 'https://']) && isBareAddress(baseUrl)) return new URL(baseUrl)
  throw new RangeError(
    'The base address must begin with http:// or https:// and have no user, password or parameters.',
  )
}

function checkedAlgorithm(algorithm: SignAlgorithm): SignAlgorithm {
  if (SIGN_ALGORITHMS.includes(algorithm)) return algorithm
  throw new RangeError(
    `The signature algorithm must be one of ${SIGN_ALGORITHMS.join(', ')}, it is ${algorithm}.`,
  )
}

/**
 * Signature of a call or a notification, in lower-case hex.
 * @param parameters every parameter of query string and body except `sign`; a JSON body, byte for byte as sent, is the
 *   parameter `_body`. Parameters without a value are left out.
 */
export function sign(
  parameters: Readonly<Record<string, string | undefined>>,
  appSecret: string,
  algorithm: SignAlgorithm,
): string {
  const values = { ...parameters, appsecret: appSecret }
  return digest(signatureInput(Object.keys(values).sort(), values), algorithm)
}

/**
 * The text that is hashed: `name=value` joined with `&`, values raw and trimmed, parameters without a value left out.
 * @param sortedNames names in code-unit order, including `appsecret`; names without a value do no harm
 */
export function signatureInput(
  sortedNames: readonly string[],
  values: Readonly<Record<string, string | undefined>>,
): string {
  let text = ''
  for (const name of sortedNames) {
    const value = values[name]?.trim()
    if (value) text += text === '' ? `${name}=${value}` : `&${name}=${value}`
  }
  return text
}

/** Hashes the UTF-8 bytes of a signature's text. */
function digest(input: string, algorithm: SignAlgorithm): string {
  return hash(algorithm, input, 'hex')
}

/** Parameters that name an employee on the platform. */
export function employeeParams({ enterpriseCode, userid }: EmployeeKey): {
  userid: string
  enterprise_code?: string
} {
  return { userid, ...enterpriseParams(enterpriseCode) }
}

/** A single enterprise has no code; calls without one are for it. */
export function enterpriseParams(enterpriseCode: string): { enterprise_code?: string } {
  return enterpriseCode === '' ? {} : { enterprise_code: enterpriseCode }
}
