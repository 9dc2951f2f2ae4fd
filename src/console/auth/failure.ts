import { type Message, SaidError } from '../../texts/message.ts'

/**
 * A request about users or tokens that cannot be carried out. The message is one sentence: why, and what to do
 * instead.
 *
 * - `ACCESS_NOT_FOUND`: there is no such user or token
 * - `ACCESS_INVALID`: a name, password or role is not acceptable
 */
export class AccessError extends SaidError {
  readonly code: 'ACCESS_NOT_FOUND' | 'ACCESS_INVALID'

  constructor(code: AccessError['code'], what: Message) {
    super(what)
    this.name = 'AccessError'
    this.code = code
  }
}
