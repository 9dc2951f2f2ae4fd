import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Database, Statement } from './database.ts'
import { BusinessError } from './errors.ts'
import type { Caller, Operation } from './operation.ts'
import { PUBLIC_PARAMETERS, type RequestParameters } from './parameters.ts'
import type { Clock, Platform } from './platform.ts'

/** Largest deviation of `timestamp` from the platform's time (section 8). */
const MAX_DEVIATION_MS = 300_000

/**
 * Checks who calls (section 5), in this order: 1000210003 for a missing or unknown appid and a
 * missing or wrong sign; 1000210001 for a missing, unreadable or deviating timestamp.
 */
export function authenticate(platform: Platform, { signed }: RequestParameters): void {
  const sign = signed.get('sign') ?? ''
  const expected = signature(signed, platform.appSecret, platform.signAlgorithm)
  if (signed.get('appid') !== platform.appId || !sameSignature(sign, expected)) {
    throw new BusinessError('application')
  }
  const timestamp = signed.get('timestamp') ?? ''
  const deviation = Math.abs(Number(timestamp) * 1000 - platform.clock.now())
  if (!/^\d{1,10}$/.test(timestamp) || deviation > MAX_DEVIATION_MS) throw new BusinessError('timestamp')
}

/** Checks the token where the operation takes one; throws 1000210004. */
export function checkToken(platform: Platform, operation: Operation, { signed }: RequestParameters): Caller {
  const accessToken = signed.get('access_token') ?? ''
  if (operation.takesToken) platform.tokens.require(accessToken)
  return { accessToken }
}

/**
 * The business parameters of a call, read by the operation's rules. Throws 1000220002, naming the first
 * parameter that is wrong, in the order of the operation's table, after `version` and `grant_type`. Parameters that the
 * operation does not know are ignored, or refused with `strict`.
 */
export function readBusinessParameters(
  operation: Operation,
  { signed, given }: RequestParameters,
  strict: boolean,
): object {
  const version = signed.get('version')
  if (version !== undefined && !/^\d\.\d\.\d$/.test(version)) {
    throw new BusinessError('parameters', 'version must have the form x.y.z')
  }
  const grantType = signed.get('grant_type')
  if (grantType !== undefined && grantType !== 'client_credential') {
    throw new BusinessError('parameters', 'grant_type must be client_credential')
  }
  const business: [string, unknown][] = []
  for (const pair of given) {
    const isPublic = PUBLIC_PARAMETERS.has(pair[0]) || (operation.takesToken && pair[0] === 'access_token')
    if (!isPublic) business.push(pair)
  }
  const schema = strict ? operation.strictParameters : operation.parameters
  const result = schema.safeParse(Object.fromEntries(business), { reportInput: true })
  if (result.success) return result.data
  const [issue] = result.error.issues
  if (issue?.code === 'unrecognized_keys') {
    throw new BusinessError('parameters', `unknown parameter ${issue.keys[0]?.slice(0, 50)}`)
  }
  const isMissing = issue?.code === 'invalid_type' && issue.input === undefined
  const rule = isMissing ? 'is required' : issue?.message
  throw new BusinessError('parameters', `${issue?.path.join('.')} ${rule}`)
}

export type SignAlgorithm = 'sha256' | 'sha1' | 'sha512'

/**
 * The signature of a set of parameters (section 5): every parameter with a value
 * except `sign`, plus `appsecret`, sorted by name in code-unit order, joined as `name=value` with `&`,
 * hashed as UTF-8, in lower-case hexadecimal.
 */
export function signature(
  parameters: ReadonlyMap<string, string>,
  appSecret: string,
  algorithm: SignAlgorithm,
): string {
  const pairs: [string, string][] = [['appsecret', appSecret]]
  for (const pair of parameters) {
    if (pair[0] !== 'sign' && pair[0] !== 'appsecret' && pair[1] !== '') pairs.push(pair)
  }
  pairs.sort((a, b) => (a[0] < b[0] ? -1 : 1))
  let text = ''
  for (const [name, value] of pairs) text += `${text === '' ? '' : '&'}${name}=${value}`
  return hash(algorithm, text, 'hex')
}

/** Compares in a time that does not depend on where the two differ. */
export function sameSignature(given: string, expected: string): boolean {
  const a = Buffer.from(given)
  const b = Buffer.from(expected)
  return a.length === b.length && timingSafeEqual(a, b)
}

/** How long a token lives. */
const LIFETIME_SECONDS = 7200

/** The tokens given out. A new one leaves the earlier ones valid until they expire. */
export class Tokens {
  readonly #find: Statement<{ expires_at: number }>
  readonly #put: Statement<never>
  readonly #expire: Statement<never>
  readonly #creations: Statement<{ created_at: number }>
  readonly #clock: Clock

  constructor(database: Database, clock: Clock) {
    this.#find = database.prepare('select expires_at from tokens where access_token = ?')
    this.#put = database.prepare('insert into tokens values (?, ?, ?)')
    this.#expire = database.prepare('update tokens set expires_at = ? where expires_at > ?')
    this.#creations = database.prepare(
      'select created_at from tokens where created_at > ? order by created_at',
    )
    this.#clock = clock
  }

  create(): { access_token: string; expires_in: number } {
    const accessToken = randomBytes(16).toString('hex')
    const now = this.#clock.now()
    this.#put.run(accessToken, now, now + LIFETIME_SECONDS * 1000)
    return { access_token: accessToken, expires_in: LIFETIME_SECONDS }
  }

  /** The whole seconds for which a token is still valid; throws 1000210004 when it is not (or unknown). */
  require(accessToken: string): number {
    const row = this.#find.get(accessToken)
    const left = row === undefined ? 0 : row.expires_at - this.#clock.now()
    if (left <= 0) throw new BusinessError('token')
    return Math.floor(left / 1000)
  }

  /** Ends every token that is valid now; returns how many those were. */
  expireAll(): number {
    const now = this.#clock.now()
    return this.#expire.run(now, now)
  }

  /** When the tokens of the last `windowMs` milliseconds were created, in order. */
  creations(windowMs: number): number[] {
    return this.#creations.all(this.#clock.now() - windowMs).map(row => row.created_at)
  }
}
