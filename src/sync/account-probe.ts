import { databaseTime, type Pool } from '../lib/database.ts'
import type { Logger } from '../lib/logger.ts'
import { Loop } from '../lib/loop.ts'
import type { PlatformClient } from '../platform/client.ts'
import { PlatformError } from '../platform/errors.ts'
import { halt, healHalts } from './halts.ts'

/** A refusal costs a token creation, of which the platform permits 60 an hour. */
const AGAIN_MS = 300_000
const PATIENCE_MS = 60_000

/**
 * At the start of a worker, makes one call to check that the platform accepts application, secret, signature and clock.
 * Otherwise the first change would find out, perhaps days later. A refusal halts everything; the probe repeats until the
 * platform accepts.
 */
export function probeAccount(deps: { pool: Pool; client: PlatformClient; logger: Logger }): Loop {
  const { client, logger } = deps
  let isAccepted = false
  return new Loop({
    pauseMs: AGAIN_MS,
    failed: error =>
      logger.debug({ error }, 'the platform was not asked whether it accepts this application'),
    async step(signal) {
      if (isAccepted) return
      const startedAt = await databaseTime(deps.pool)
      try {
        await client.tokens.info({ signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]) })
      } catch (error) {
        if (!(error instanceof PlatformError) || error.verdict.disposition !== 'halt') throw error
        const { category, said } = error.verdict
        return halt(deps, '*', {
          category,
          message: said.meaning,
          remedy: said.remedy,
          platformCode: error.platformCode ?? null,
        })
      }
      isAccepted = true
      // The answer says nothing about HR, and an enterprise's halt depends on its code.
      await healHalts(deps, '*', startedAt, ['hr_unavailable'])
    },
  })
}
