import { databaseTime, type Pool } from '../../lib/database.ts'
import type { Logger } from '../../lib/logger.ts'
import { Loop } from '../../lib/loop.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { PlatformError } from '../../platform/errors.ts'
import { type Aside, OUTAGE } from '../processes/process.ts'
import type { Standing } from '../processes/standing.ts'
import { probeDelay } from './backoff.ts'
import {
  HALTS_OF_OTHERS,
  type Halt,
  haltForPlatform,
  isToProbe,
  liftHalts,
  PING_MS,
  readHalts,
} from './halts.ts'

/** A refusal costs a token creation, of which the platform permits 60 an hour. */
const AGAIN_MS = 300_000
const PATIENCE_MS = 60_000
/** So many calls in a row without an answer may be the fault of this process's network. */
const MANY_UNANSWERED = 3
/** For how long, at most, one that has pinged leaves an outage to other processes: it may be cut off itself. */
const TURN_OF_OTHERS_MS = 90_000
/** How often to look whether there is something to ask for. */
const LOOK_EVERY_MS = 5000
/** Halts that an answer about the token does not disprove: for calls of work the platform may yet be away. */
const NOT_DISPROVED = [...HALTS_OF_OTHERS, OUTAGE]
const NEVER = Number.NEGATIVE_INFINITY

/**
 * At the start of a worker, makes one call to check that the platform accepts application, secret, signature and clock.
 * Otherwise the first change would find out, perhaps days later. A refusal halts everything, or has this process stand aside. Asks
 * again until the platform accepts, and whenever another process has halted everything for its secret, which this one may disprove
 * though there is no work. Where calls of any kind stay without an answer, or this process stands aside because they did, pings the
 * platform.
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
  client: Pick<PlatformClient, 'ping'> & { tokens: Pick<PlatformClient['tokens'], 'info'> }
  standing: Standing
  logger: Logger
}

/** One step of it. */
export function accountProbe(deps: ProbeDeps): (signal: AbortSignal) => Promise<void> {
  const { pool, client, standing } = deps
  let isAccepted = false
  let askedAt = NEVER
  let pingedAt = NEVER
  const ping = (signal: AbortSignal) =>
    client.ping({ signal: AbortSignal.any([signal, AbortSignal.timeout(PING_MS)]) })
  /** Ends an outage of which no job can be the probe, or whose jobs have made no call for a while. */
  const probeOutage = async (halted: Halt, signal: AbortSignal) => {
    const turnOfOthersMs = Math.min(probeDelay(halted.probes, 0.5), TURN_OF_OTHERS_MS)
    if (performance.now() - pingedAt < turnOfOthersMs || !(await isToProbe(pool, halted))) return
    pingedAt = performance.now()
    const startedAt = await databaseTime(pool)
    if (await ping(signal)) await liftHalts(deps, '*', startedAt, HALTS_OF_OTHERS)
  }
  const isToAsk = async (signal: AbortSignal) => {
    if (askedAt === NEVER) return !(await standing.joinRefused())
    const halted = (await readHalts(pool)).find(({ scope }) => scope === '*')
    if (halted?.category === 'credentials') return isToProbe(pool, halted)
    if (halted?.category === OUTAGE) await probeOutage(halted, signal)
    return !isAccepted && performance.now() - askedAt >= AGAIN_MS
  }
  const ask = async (signal: AbortSignal) => {
    askedAt = performance.now()
    const startedAt = await databaseTime(pool)
    try {
      await client.tokens.info({ signal: AbortSignal.any([signal, AbortSignal.timeout(PATIENCE_MS)]) })
    } catch (error) {
      if (!(error instanceof PlatformError) || error.verdict.disposition !== 'halt') throw error
      // What else one meets that has left the work to others is not for them.
      if (standing.aside !== null && error.verdict.category !== 'credentials') throw error
      isAccepted = false
      return haltForPlatform(deps, '*', error.verdict, error.platformCode ?? null)
    }
    isAccepted = true
    await standing.trustSecret()
    await liftHalts(deps, '*', startedAt, NOT_DISPROVED)
  }
  /** The step of one that stands aside: until it works again, or alone has to. */
  const comeBack = async (aside: Aside, signal: AbortSignal) => {
    const isAlone = await standing.isAlone()
    if (!(await standing.isToAsk(isAlone))) return
    if (aside === 'secret') {
      try {
        await ask(signal)
      } finally {
        // After its answer, so that no job finds out again what is wrong.
        if (isAlone) await standing.trustSecret()
      }
    } else if (isAlone || (await ping(signal))) await standing.workAgain()
  }
  return async signal => {
    const { aside } = standing
    if (aside !== null) return comeBack(aside, signal)
    if (await isToAsk(signal)) await ask(signal)
    else if (standing.unanswered >= (isAccepted ? MANY_UNANSWERED : 1))
      // A gateway that answers the ping may answer other calls otherwise: that is for a job to find out.
      await standing.leaveIfCutOff(async () => (await ping(signal)) || standing.unanswered === 0)
  }
}
