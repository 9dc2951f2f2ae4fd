const HOUR = 3_600_000
const WEEK = 7 * 24 * HOUR

/** Attempts for a transient failure before it is parked; an unclassified one gets two. */
export const MAX_ATTEMPTS = 5

/**
 * Milliseconds until the next attempt after `attempts` transient failures in a row: 1, 4, 16, 60 s, each ± 30 %.
 * @param random a number in [0, 1)
 */
export function retryDelay(attempts: number, random: number): number {
  return jitter(Math.min(1000 * 4 ** (attempts - 1), 60_000), random)
}

/**
 * Milliseconds until a deletion that cannot be decided yet, or work whose mapping a worker lacks, is looked at again, after it had to
 * wait so often in a row: a minute, doubling up to half an hour. Those of a run come back together, and share a reading of HR.
 */
export function waitingDelay(waits: number): number {
  return Math.min(60_000 * 2 ** waits, HOUR / 2)
}

/** Longest delay of a probe, ± 30 %. */
export const LONGEST_PROBE_DELAY_MS = 300_000

/** Milliseconds until a halt is probed again after `probes` failed probes: 2 s, doubling up to 5 min, ± 30 %. */
export function probeDelay(probes: number, random: number): number {
  return jitter(Math.min(2000 * 2 ** probes, LONGEST_PROBE_DELAY_MS), random)
}

/** Milliseconds until the next probe of a halt, as this one is made after `probes` failed probes. */
export function nextProbeDelay(probes: number): number {
  return probeDelay(probes + 1, Math.random())
}

/** Milliseconds until a case that may recover by itself is tried again: an hour, doubling up to a day, ± 30 %. */
export function healingDelay(occurrences: number, random: number): number {
  return jitter(Math.min(HOUR * 2 ** (occurrences - 1), 24 * HOUR), random)
}

/** Milliseconds until the slow probe of a permanent failure: a week ± 30 %. */
export function slowProbeDelay(random: number): number {
  return jitter(WEEK, random)
}

/** Longest delay of work or a probe. A longer one means that the clock was put back. */
export const LONGEST_DELAY_MS = HOUR

/** The same for a case: longer than its slow probe. */
export const LONGEST_REST_MS = 10 * 24 * HOUR

/** ± 30 %, so that work that failed together is not retried together. */
export function jitter(milliseconds: number, random: number): number {
  return Math.round(milliseconds * (0.7 + 0.6 * random))
}
