import { z } from 'zod'
import { onlyRow, type Pool } from '../../lib/database.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { PlatformError } from '../../platform/errors.ts'
import { TOKEN_CREATIONS_PER_HOUR } from '../../platform/token.ts'
import { RECENT_CREATIONS } from '../../platform/token-store.ts'
import { callsWithin, type Pace, readPace } from '../../sync/figures.ts'
import { SaidText } from '../../texts/failures.ts'
import { message, type Said } from '../../texts/message.ts'

/** The state of the calls to the platform. */
export interface PlatformReport {
  pace: Pace
  /** Calls of the last hour by operation, the most called first. */
  last_hour: Pace['operations']
  /** The access token that all processes share; null: the next call creates one. */
  token: {
    created_at: Date
    expires_at: Date
    /** When it is renewed: after 80 % of its life. */
    renews_at: Date
  } | null
  /** Token creations within an hour: attempts, and how many dirsync's fuse permits. The platform permits 60. */
  token_creations: { last_hour: number; permitted: number }
  /** Hold-offs that the platform asked for, for all calls or for one operation. */
  holdoffs: { gate: string; paused_until: Date; pause_reason: string | null }[]
  /** A person has stopped all calls. */
  pause: { since: Date; raised_by: string; message: Said } | null
}

export async function readPlatform(db: Pool): Promise<PlatformReport> {
  const [pace, { rows: last_hour }, { rows: tokens }, { rows: creations }, { rows: holdoffs }, pauses] =
    await Promise.all([
      readPace(db),
      db.query<Pace['operations'][number]>(callsWithin('1 hour')),
      // After a switch of the account, an older token may be left.
      db.query<NonNullable<PlatformReport['token']>>(
        `select created_at, expires_at, created_at + 0.8 * (expires_at - created_at) as renews_at
         from dirsync.platform_token order by created_at desc limit 1`,
      ),
      db.query<{ n: number }>(`select ${RECENT_CREATIONS} as n`),
      db.query<PlatformReport['holdoffs'][number]>(
        `select gate, paused_until, pause_reason from dirsync.pacer
         where paused_until > now() order by paused_until desc`,
      ),
      db.query<NonNullable<PlatformReport['pause']>>(
        `select since, raised_by, message from dirsync.halt where scope = '*' and category = 'paused'`,
      ),
    ])
  return {
    pace,
    last_hour,
    token: tokens[0] ?? null,
    token_creations: { last_hour: onlyRow(creations).n, permitted: TOKEN_CREATIONS_PER_HOUR },
    holdoffs,
    pause: pauses.rows[0] ?? null,
  }
}

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
export async function askTokenState(client: Pick<PlatformClient, 'tokens'>): Promise<TokenState> {
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
    const { category, said } = error.verdict
    return {
      accepted: REFUSED.includes(category) ? false : null,
      expires_in: null,
      category,
      platform_code: error.platformCode ?? null,
      meaning: said.meaning,
      remedy: said.remedy,
    }
  }
}
