/** What was asked for is refused by the journal of refunds and top-ups; nothing was sent. */
export class JournalError extends Error {
  /**
   * `ALREADY_SENT`: the number was used; `ORDER_BUSY`: another refund of the order is open; `ACCOUNT_BUSY`: another top-up of
   * the account is; `NOT_FOUND`; `NOT_UNKNOWN`: its outcome needs no decision.
   */
  readonly code: 'ALREADY_SENT' | 'ORDER_BUSY' | 'ACCOUNT_BUSY' | 'NOT_FOUND' | 'NOT_UNKNOWN'

  constructor(code: JournalError['code'], message: string) {
    super(message)
    this.name = 'JournalError'
    this.code = code
  }
}
