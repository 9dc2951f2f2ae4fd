import type { HttpRequest } from './exchange.ts'
import type { Operation } from './operation.ts'
import { JSON_BODY, type ParameterTexts } from './parameters.ts'
import { digest, type SignAlgorithm, signatureInput } from './signing.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' }
const JSON_TEXT = { 'content-type': 'application/json', accept: 'application/json' }
const VERSION = '1.0.0'
const GRANT_TYPE = 'client_credential'
const PUBLIC_NAMES = ['access_token', 'appid', 'appsecret', 'grant_type', 'timestamp', 'version']

/**
 * Builds signed requests: public parameters in the query string, business parameters in the form or the JSON body
 * (section 5); with a JSON body some of them in the query string, too.
 * What does not change from call to call is worked out once.
 */
export class RequestBuilder {
  readonly #origin: string
  readonly #basePath: string
  readonly #appId: string
  readonly #appSecret: string
  readonly #algorithm: SignAlgorithm
  readonly #fixedQuery: string
  readonly #sortedNames = new Map<string, readonly string[]>()

  constructor(options: {
    baseUrl: string
    appId: string
    appSecret: string
    signAlgorithm: SignAlgorithm
    operations: Iterable<Operation>
  }) {
    const url = new URL(options.baseUrl)
    this.#origin = url.origin
    this.#basePath = url.pathname.replace(/\/+$/, '')
    this.#appId = options.appId
    this.#appSecret = options.appSecret
    this.#algorithm = options.signAlgorithm
    this.#fixedQuery = `?appid=${encodeURIComponent(options.appId)}&grant_type=${GRANT_TYPE}&version=${VERSION}`
    for (const { name, request, encoding, inQuery } of options.operations) {
      const names = encoding === 'json' ? [JSON_BODY, ...inQuery] : Object.keys(request.shape)
      this.#sortedNames.set(name, [...PUBLIC_NAMES, ...names].sort())
    }
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
    const signature = digest(
      signatureInput(this.#sortedNames.get(operation.name) ?? [], values),
      this.#algorithm,
    )
    const token = accessToken === undefined ? '' : `&access_token=${encodeURIComponent(accessToken)}`
    const path = `${this.#basePath}/${operation.name}${this.#fixedQuery}&timestamp=${seconds}${token}&sign=${signature}`
    if (operation.encoding === 'form') {
      return { origin: this.#origin, path, headers: FORM, body: formText(texts) }
    }
    const { [JSON_BODY]: body = '', ...query } = texts
    const more = formText(query)
    return {
      origin: this.#origin,
      path: more === '' ? path : `${path}&${more}`,
      headers: JSON_TEXT,
      body,
    }
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
