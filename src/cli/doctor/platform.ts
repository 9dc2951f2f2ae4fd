import type { Pool } from 'pg'
import type { Config } from '../../config.ts'
import { connectPlatform } from '../../connections.ts'
import type { PacerSnapshot } from '../../core/pacing.ts'
import type { Logger } from '../../logger.ts'
import { verdictOf } from '../../platform/error-catalogue.ts'
import { PlatformError } from '../../platform/errors.ts'
import { sentenceOf } from '../failure.ts'
import { duration } from '../time.ts'
import { type Finding, failed, ok, warning } from './finding.ts'

const PATIENCE_MS = 15_000
/** The platform permits 5 minutes; a clock this far off is not kept by anybody. */
const CLOCK_MS = 30_000

/** The platform, the clock and the credentials: by querying the token that all processes share. */
export async function examinePlatform(config: Config, pool: Pool, logger: Logger): Promise<Finding[]> {
  await using client = connectPlatform(config, pool, logger)
  const address = config.PLATFORM_BASE_URL
  try {
    const { expires_in } = await client.tokens.info({
      signal: AbortSignal.timeout(PATIENCE_MS),
      priority: 0,
    })
    return [
      ok('platform', `${address} answers`),
      clock(client.clockOffset.measuredMs),
      ok('credentials', `the access token is valid for another ${duration(expires_in * 1000)}`),
      rate(client.pacing()),
    ]
  } catch (error) {
    if (!(error instanceof PlatformError)) throw error
    const { category, meaning, remedy } = verdictOf(error)
    if (category === 'platform_unavailable' || category === 'rate_limited' || category === 'aborted') {
      const cause = error.cause instanceof Error ? `: ${sentenceOf(error.cause)}` : ''
      return [
        failed(
          'platform',
          category === 'aborted'
            ? `no call got through to ${address} within ${duration(PATIENCE_MS)}`
            : `${address} gives no usable answer${cause}`,
          category === 'rate_limited' ? remedy : 'Check PLATFORM_BASE_URL and the network.',
        ),
        warning('credentials', 'not checked, because the platform does not answer'),
      ]
    }
    const answers = ok('platform', `${address} answers`)
    if (category === 'clock_skew') return [answers, failed('clock', meaning, remedy)]
    return [answers, clock(client.clockOffset.measuredMs), failed('credentials', meaning, remedy)]
  }
}

function rate({ ratePerSecond, learnt, ceiling }: PacerSnapshot): Finding {
  const calls = `${Number(ratePerSecond.toPrecision(3))} calls per second`
  if (!learnt) return ok('rate', `${calls}, all processes together`)
  return ok(
    'rate',
    `${calls}: learnt, ${ceiling === null ? 'none refused yet' : `${ceiling.toPrecision(3)} were refused`}`,
  )
}

function clock(offsetMs: number | null): Finding {
  if (offsetMs === null) return ok('clock', 'the platform does not tell its time')
  const off = Math.abs(offsetMs)
  const what = `our clock is ${duration(off)} ${offsetMs > 0 ? 'behind' : 'ahead of'} the platform's`
  if (off < CLOCK_MS) return ok('clock', off < 1000 ? "our clock agrees with the platform's" : what)
  return failed('clock', what, "Set this machine's clock (NTP).")
}
