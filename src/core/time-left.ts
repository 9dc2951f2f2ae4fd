/** What a run still needs of the platform. */
export interface Demand {
  /** Calls that it can make now. */
  calls: number
  /** Calls of more urgent work, which go first. */
  ahead: number
  /** Entities that are tried again later. */
  later: number
}

/** How fast calls can go. */
export interface Supply {
  workers: number
  /** Everything is halted, or all that the run has left. */
  halted: boolean
  pausedForMs: number
  /** Calls per second that the pacer lets go, of all processes together; null while that is not known. */
  permittedPerSecond: number | null
  /** Calls that may be in flight at a time, of all processes together; null where nothing limits them. */
  concurrency: number | null
  /** How long a call takes; null when none was made lately. */
  callMs: number | null
}

/** How long a run still takes, or why that cannot be told. */
export type TimeLeft = Demand &
  (
    | { state: 'estimated'; seconds: number; callsPerSecond: number }
    | { state: 'paused'; pausedForMs: number }
    | { state: 'no_worker' | 'halted' | 'waiting_for_retries' | 'rate_unknown' }
  )

/**
 * How long a run still takes at the present rate of the pacer, whatever it was before. Where the platform is too slow for
 * that rate, it is what the calls in flight come to (Little's law).
 */
export function timeLeft(demand: Demand, supply: Supply): TimeLeft {
  const { workers, halted, pausedForMs, permittedPerSecond, concurrency, callMs } = supply
  if (workers === 0) return { state: 'no_worker', ...demand }
  if (halted) return { state: 'halted', ...demand }
  if (demand.calls === 0 && demand.later > 0) return { state: 'waiting_for_retries', ...demand }
  if (pausedForMs > 0) return { state: 'paused', pausedForMs, ...demand }
  if (!permittedPerSecond) return { state: 'rate_unknown', ...demand }
  const inFlight = concurrency && callMs ? (concurrency * 1000) / callMs : Number.POSITIVE_INFINITY
  const callsPerSecond = Math.min(permittedPerSecond, inFlight)
  const seconds = (demand.calls + demand.ahead) / callsPerSecond
  return { state: 'estimated', seconds, callsPerSecond, ...demand }
}
