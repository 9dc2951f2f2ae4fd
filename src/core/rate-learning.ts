/** What has been learnt of a limit that nobody told. Times are the store's milliseconds since 1970. */
export interface LearntRate {
  /** Calls per second that are let go, of all processes together; headroom is in it already. */
  ratePerSecond: number
  /** The rate at which calls were last refused; null before the first refusal. */
  ceiling: number | null
  /** When it was last lowered, null if never: refusals of calls sent before are not counted again. */
  loweredAtMs: number | null
  /** When it was last changed. */
  changedAtMs: number
  /** Slots that had ever been reserved by then. */
  leasedAtChange: number
}

/** Calls per second before anything is known. */
const START_RATE = 2

/** Where learning begins. */
export function initialRate(now: { nowMs: number; leased: number }): LearntRate {
  return {
    ratePerSecond: START_RATE,
    ceiling: null,
    loweredAtMs: null,
    changedAtMs: now.nowMs,
    leasedAtChange: now.leased,
  }
}
