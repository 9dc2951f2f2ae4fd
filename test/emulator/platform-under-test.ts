import { createHash } from 'node:crypto'
import { type Emulator, type EmulatorOptions, startEmulator } from '../../emulator/emulator.ts'
import { parseJson } from '../../emulator/fields.ts'
import { controlOf, type EmulatorControl } from '../helpers/emulator-control.ts'

export const APP_ID = 'app0123456789abcdef0123456789abc'
export const APP_SECRET = 'Secret-of-the-Application'

interface Answer {
  status: number
  headers: Headers
  text: string
  /** The envelope; undefined when the body is no JSON. */
  code: number | undefined
  msg: string | undefined
  // biome-ignore lint/suspicious/noExplicitAny: tests look into many shapes
  data: any
}

type Parameters = Record<string, string>

/** The signature, written down here a second time so that the emulator cannot agree with its own mistake. */
export function sign(parameters: Parameters, secret = APP_SECRET, algorithm = 'sha256'): string {
  const text = Object.entries({ ...parameters, appsecret: secret })
    .map(([name, value]) => [name, value.trim()] as const)
    .filter(([name, value]) => name !== 'sign' && value !== '')
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(pair => pair.join('='))
    .join('&')
  return createHash(algorithm).update(text, 'utf8').digest('hex')
}

/** A running emulator and a caller that signs for itself. */
export class PlatformUnderTest implements AsyncDisposable {
  readonly emulator: Emulator
  readonly control: EmulatorControl
  readonly #appId: string
  #offsetSeconds = 0
  #token: string | undefined

  private constructor(emulator: Emulator, appId: string) {
    this.emulator = emulator
    this.control = controlOf(emulator.url)
    this.#appId = appId
  }

  static async start(options: Partial<EmulatorOptions> = {}): Promise<PlatformUnderTest> {
    const settings = { appId: APP_ID, appSecret: APP_SECRET, strict: true, ...options }
    return new PlatformUnderTest(await startEmulator(settings), settings.appId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.emulator.close()
  }

  /** Seconds since 1970 by the platform's clock. */
  timestamp(): string {
    return String(Math.floor(Date.now() / 1000) + this.#offsetSeconds)
  }

  /** The public parameters of a call, without the signature. */
  publicParameters(token?: string): Parameters {
    return {
      appid: this.#appId,
      timestamp: this.timestamp(),
      version: '1.0.0',
      grant_type: 'client_credential',
      ...(token !== undefined && { access_token: token }),
    }
  }

  async token(): Promise<string> {
    this.#token ??= (await this.createToken()).data.access_token as string
    return this.#token
  }

  createToken(): Promise<Answer> {
    const parameters = this.publicParameters()
    return this.send('token/create', { ...parameters, sign: sign(parameters) }, {})
  }

  /** A signed call with a valid token: public parameters in the query string, the others in the body. */
  async call(operation: string, business: Parameters): Promise<Answer> {
    const parameters = this.publicParameters(await this.token())
    return this.send(operation, { ...parameters, sign: sign({ ...parameters, ...business }) }, business)
  }

  /** A signed call of a JSON operation; `query` goes beside the public parameters. */
  async callJson(operation: string, body: object | string, query: Parameters = {}): Promise<Answer> {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const parameters = { ...this.publicParameters(await this.token()), ...query }
    const signed = { ...parameters, sign: sign({ ...parameters, _body: text }) }
    return this.send(operation, signed, text, { headers: { 'content-type': 'application/json' } })
  }

  update(userid: string, fields: Parameters): Promise<Answer> {
    return this.call('employee/update', { userid, ...fields })
  }

  get(query: Parameters): Promise<Answer> {
    return this.call('employee/get', query)
  }

  /** A call exactly as given. */
  send(
    operation: string,
    query: Parameters,
    body: Parameters | string,
    init: RequestInit = {},
  ): Promise<Answer> {
    const text = typeof body === 'string' ? body : new URLSearchParams(body).toString()
    return this.request(`/${operation}?${new URLSearchParams(query)}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: text,
      ...init,
    })
  }

  async request(path: string, init: RequestInit = {}): Promise<Answer> {
    const response = await fetch(`${this.emulator.url}${path}`, init)
    const text = await response.text()
    const envelope = parseJson(text) as { code?: number; msg?: string; data?: unknown } | undefined
    const { code, msg, data } = envelope ?? {}
    return { status: response.status, headers: response.headers, text, code, msg, data }
  }

  /** Calls that are all open at once: none is answered before the last one has arrived. */
  async together(calls: (() => Promise<Answer>)[]): Promise<void> {
    await this.control('POST', 'faults', { operation: '*', hold: true, times: calls.length })
    const answers = Promise.all(calls.map(call => call()))
    while ((await this.control('GET', 'faults')).length > 0);
    await this.control('DELETE', 'faults')
    await answers
  }

  async moveClock(offsetSeconds: number): Promise<void> {
    await this.control('POST', 'clock', { offsetSeconds })
    this.#offsetSeconds = offsetSeconds
  }

  async reset(): Promise<void> {
    await this.control('POST', 'reset')
    this.#offsetSeconds = 0
    this.#token = undefined
  }

  // biome-ignore lint/suspicious/noExplicitAny: tests look into many shapes
  async employee(userid: string): Promise<any> {
    return (await this.control('GET', `state?userid=${encodeURIComponent(userid)}`)).employees[0]
  }
}
