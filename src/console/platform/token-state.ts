import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { PlatformError } from '../../platform/errors.ts'
import { whyNotTold } from '../../sync/processes/why-not-told.ts'
import { SaidText } from '../../texts/failures.ts'
import { message } from '../../texts/message.ts'

/** What the platform says about the access token in use. */
export const TokenState = z.object({
  accepted: z.boolean().nullable().describe('null: the platform was not asked, or did not answer'),
  expires_in: z.number().nullable().describe('Seconds, as the platform says'),
  category: z.string().nullable(),
  platform_code: z.int().nullable(),
  meaning: SaidText,
  remedy: SaidText.nullable(),
})
export type TokenState = z.infer<typeof TokenState>

/** Categories which mean that the token, or the credentials behind it, is not accepted. */
const REFUSED = ['credentials', 'token', 'clock_skew']
/** How long to wait for the platform, and for one of the 60 queries that it permits per minute. */
const PATIENCE_MS = 15_000
/** Before other work: a person waits for the answer. */
const PRIORITY = 0

/**
 * Asks the platform about the token: the cheapest call that proves it (section 4.2), through the pacer. As with any
 * call, a token is created only if there is none, the present one is due for renewal, or the platform refuses it.
 */
export async function askTokenState(db: Pool, client: Pick<PlatformClient, 'tokens'>): Promise<TokenState> {
  try {
    const { expires_in } = await client.tokens.info({
      signal: AbortSignal.timeout(PATIENCE_MS),
      priority: PRIORITY,
    })
    return {
      accepted: true,
      expires_in,
      category: null,
      platform_code: null,
      meaning: message('said.token_accepted'),
      remedy: null,
    }
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const { category } = error.verdict
    return {
      accepted: REFUSED.includes(category) ? false : null,
      expires_in: null,
      category,
      platform_code: error.platformCode ?? null,
      ...(await whyNotTold(db, error)),
    }
  }
}
