import { BusinessError } from './codes.ts'
import type { Caller, Operation } from './operation.ts'
import { PUBLIC_PARAMETERS, type RequestParameters } from './parameters.ts'
import type { Platform } from './platform.ts'
import { sameSignature, signature } from './signature.ts'

/** Largest deviation of `timestamp` from the platform's time (specification section 8). */
const MAX_DEVIATION_MS = 300_000

/**
 * Checks who calls (specification section 5), in this order: 1000210003 for a missing or unknown appid and a
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
): Record<string, unknown> {
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
  if (result.success) return result.data as Record<string, unknown>
  const [issue] = result.error.issues
  if (issue?.code === 'unrecognized_keys') {
    throw new BusinessError('parameters', `unknown parameter ${issue.keys[0]?.slice(0, 50)}`)
  }
  const isMissing = issue?.code === 'invalid_type' && issue.input === undefined
  const rule = isMissing ? 'is required' : issue?.message
  throw new BusinessError('parameters', `${issue?.path.join('.')} ${rule}`)
}
