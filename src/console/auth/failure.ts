/**
 * A request about users or tokens that cannot be carried out. The message is one sentence: why, and what to do
 * instead.
 *
 * - `ACCESS_NOT_FOUND`: there is no such user or token
 * - `ACCESS_INVALID`: a name, password or role is not acceptable
 */
export class AccessError extends Error {
  readonly code: 'ACCESS_NOT_FOUND' | 'ACCESS_INVALID'

  constructor(code: AccessError['code'], message: string) {
    super(message)
    this.name = 'AccessError'
    this.code = code
  }
}
