import { CodedError, type Message, message } from '../../texts/message.ts'

/** Too many attempts have failed: the next one has to wait. */
export class SlowedError extends CodedError<'ACCESS_SLOWED'> {
  readonly seconds: number

  constructor(seconds: number) {
    super('ACCESS_SLOWED', message('said.slowed', { seconds }))
    this.seconds = seconds
  }
}

/**
 * A request about users, sessions or tokens that cannot be carried out. The message is one sentence: why, and what to do
 * instead.
 *
 * - `ACCESS_NOT_FOUND`: there is no such user, session or token
 * - `ACCESS_INVALID`: a name, password or role is not acceptable
 */
export class AccessError extends CodedError<'ACCESS_NOT_FOUND' | 'ACCESS_INVALID'> {
  /** The value that it is about. */
  readonly field: 'name' | 'password' | 'current' | undefined

  constructor(code: AccessError['code'], what: Message, field?: AccessError['field']) {
    super(code, what)
    this.field = field
  }
}
