import { hash } from 'node:crypto'
import { Pool } from 'undici'
import type { PlatformAccess } from './workshop.ts'

export const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

/**
 * Calls the platform like a good hand-written program: one connection pool, undici's `request`, the parameters joined
 * and signed inline, the answer parsed, and only its code checked.
 */
export class BareCaller {
  readonly #access: PlatformAccess
  readonly #pool: Pool
  #token = ''

  constructor(access: PlatformAccess, connections: number) {
    this.#access = access
    this.#pool = new Pool(access.baseUrl, { connections })
  }

  async createToken(): Promise<void> {
    const { access_token } = await this.#call('token/create', {})
    this.#token = String(access_token)
  }

  getEmployee(userid: string): Promise<Record<string, unknown>> {
    return this.#call('employee/get', { userid })
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  /** Prepares a signed request. */
  prepare(operation: string, params: Record<string, string>): PreparedRequest {
    const { appId, appSecret } = this.#access
    const open: Record<string, string> = {
      appid: appId,
      grant_type: 'client_credential',
      timestamp: String(Math.floor(Date.now() / 1000)),
      version: '1.0.0',
    }
    if (this.#token !== '') open.access_token = this.#token
    const signed: Record<string, string> = { ...open, ...params, appsecret: appSecret }
    const text = Object.keys(signed)
      .sort()
      .map(name => `${name}=${signed[name]}`)
      .join('&')
    const query = new URLSearchParams({ ...open, sign: hash('sha256', text, 'hex') })
    return { path: `/${operation}?${query}`, body: new URLSearchParams(params).toString() }
  }

  async send({ path, body }: PreparedRequest): Promise<Record<string, unknown>> {
    const response = await this.#pool.request({ path, method: 'POST', headers: FORM, body })
    const answer = (await response.body.json()) as { code: number; data: Record<string, unknown> }
    if (answer.code !== 0) throw new Error(`the platform answered ${answer.code}`)
    return answer.data
  }

  #call(operation: string, params: Record<string, string>): Promise<Record<string, unknown>> {
    return this.send(this.prepare(operation, params))
  }
}

/** A request as it is sent. */
export interface PreparedRequest {
  path: string
  body: string
}
