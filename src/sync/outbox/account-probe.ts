import { databaseTime, type Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import { Loop } from '../../lib/loop.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { PlatformError } from '../../platform/errors.ts'
import { OUTAGE } from '../processes/process.ts'
import type { Standing } from '../processes/standing.ts'
import { HALTS_OF_OTHERS, haltForPlatform, isToProbe, liftHalts, readHalts } from './halts.ts'

/** A refusal costs a token creation, of which the platform permits 60 an hour. */
const AGAIN_MS = 300_000
const PATIENCE_MS = 60_000
/** So many calls in a row without an answer may be the fault of this process's network. */
const MANY_UNANSWERED = 3
/** How often to look whether there is something to ask for. */
const LOOK_EVERY_MS = 5000
const NEVER = Number.NEGATIVE_INFINITY

/**
 * At the start of a worker, makes one call to check that the platform accepts application, secret, signature and clock.
 * Otherwise the first change would find out, perhaps days later. A refusal halts everything, or has this process stand aside. Asks
 * again until the platform accepts, and whenever another process has halted everything for its secret, which this one may disprove
 * though there is no work. Where calls of any kind stay without an answer, asks whether the platform can be reached at all; if not,
 * this process stands aside.
 */
export function probeAccount(deps: ProbeDeps): Loop {
  return new Loop({
    step: accountProbe(deps),
    pauseMs: LOOK_EVERY_MS,
    failed: error =>
      deps.logger.debug({ error }, 'the platform was not asked whether it accepts this application'),
  })
}

interface ProbeDeps {
  pool: Pool
  client: { tokens: Pick<PlatformClient['tokens'], 'info'> }
  standing: Standing
  logger: Logger
}

/** One step of it. */
export function accountProbe(deps: ProbeDeps): (signal: AbortSignal) => Promise<void> {
  const { pool, client, standing } = deps
  let isAccepted = false
  let askedAt = NEVER
  const isToAsk = async (isAlone: boolean) => {
    if (standing.aside !== null) return standing.isToAsk(isAlone)
    if (askedAt === NEVER) return !(await standing.joinRefused())
    const halted = (await readHalts(pool)).find(({ scope }) => scope === '*')
    if (halted?.category === 'credentials') return isToProbe(pool, halted)
    // An outage that is known ends with a job.
    const isNews = halted?.category !== OUTAGE
    if (isNews && standing.unanswered >= (isAccepted ? MANY_UNANSWERED : 1)) return true
    return !isAccepted && performance.now() - askedAt >= AGAIN_MS
  }
  const ask = async (signal: AbortSignal) => {
    // Where the platform is away for calls of work, it may yet answer this one: only at the start does that end the halt.
    const except = askedAt === NEVER ? [] : [OUTAGE]
    askedAt = performance.now()
    const startedAt = await databaseTime(pool)
    try {
      await client.tokens.info({ signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]) })
    } catch (error) {
      if (standing.unanswered >= MANY_UNANSWERED) await standing.leaveForNetwork()
      if (!(error instanceof PlatformError) || error.verdict.disposition !== 'halt') throw error
      // What else one meets that has left the work to others is not for them.
      if (standing.aside !== null && error.verdict.category !== 'credentials') throw error
      isAccepted = false
      return haltForPlatform(deps, '*', error.verdict, error.platformCode ?? null)
    }
    isAccepted = true
    await standing.workAgain()
    // An enterprise's halt depends on its code.
    await liftHalts(deps, '*', startedAt, [...HALTS_OF_OTHERS, ...except])
  }
  return async signal => {
    const isAlone = standing.aside !== null && (await standing.isAlone())
    if (!(await isToAsk(isAlone))) return
    try {
      await ask(signal)
    } finally {
      // After its answer, so that no job finds out again what is wrong.
      if (isAlone) await standing.workAgain()
    }
  }
}
