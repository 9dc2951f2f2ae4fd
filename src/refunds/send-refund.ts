import type { Pool } from 'pg'
import type { Logger } from '../logger.ts'
import type { PlatformClient } from '../platform/client.ts'

/** What sending needs; the CLI makes it of its context. */
export interface SendDeps {
  pool: Pool
  client: PlatformClient
  logger: Logger
}

/** How a refund ended, as far as it is known. */
export interface RefundOutcome {
  outerRefundNo: string
  state: 'accepted' | 'rejected' | 'unknown'
  /** Trade number of the platform, when it was accepted. */
  tradeNo: string | null
  /** Error code of the platform, when it was rejected by one. */
  platformCode: number | null
  traceId: string | null
  /** What happened and what to do, in a sentence without personal data; null when it was accepted. */
  message: string | null
}
