/** What has been learnt of a limit that nobody told. */
export interface LearntRate {
  /** Calls per second that are let go, of all processes together; headroom is in it already. */
  ratePerSecond: number
  /** The rate at which calls were last refused; null before the first refusal. */
  ceiling: number | null
  /** Where in learning it is. */
  phase: string
  /** Slots that had ever been reserved when it was last changed. */
  leasedAtChange: number
  /** When it was last changed: the store's milliseconds since 1970. */
  changedAtMs: number
}
