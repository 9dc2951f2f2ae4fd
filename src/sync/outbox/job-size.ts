import { MOST_KEYS_OF_JOB } from '../../queue/job.ts'

/*
 * How many employees a worker has at a time. More of them at once cost fewer statements and fewer jobs each. But at a rate that
 * permits few calls they would only wait for the pacer, ahead of more urgent ones that come later, and away from other workers.
 */

/** Seconds of calls that the keys of one job make: whatever is more urgent waits for one job at most. */
const SECONDS_PER_JOB = 0.1

/** While no worker says what the platform permits. */
const KEYS_AT_UNKNOWN_RATE = 10

/** Jobs that work is divided into at least, for several workers to share. */
const FEWEST_JOBS = 8

/**
 * How many keys a job gets.
 * @param keys how many there are to feed
 * @param rate permitted calls per second of one worker; null: unknown
 */
export function keysPerJob(keys: number, rate: number | null): number {
  const most = rate === null ? KEYS_AT_UNKNOWN_RATE : Math.min(MOST_KEYS_OF_JOB, rate * SECONDS_PER_JOB)
  return Math.max(1, Math.floor(Math.min(most, keys / FEWEST_JOBS)))
}

/** Jobs that a worker takes over at a time: while some are locked and claimed, the next ones come. */
export const JOBS_AT_A_TIME = 4

/** Most keys in hand per concurrent call: while some call the platform, others are read or written down. */
const KEYS_PER_CALL = 4

/** Take over keys for at most this many seconds of calls: on a busy machine reading and writing take about as long. */
const SECONDS_AHEAD = 0.25

/**
 * With how many keys in hand a worker takes over no further job.
 * @param concurrentCalls calls to the platform at a time
 * @param rate permitted calls per second
 */
export function keysInHand(concurrentCalls: number, rate: number): number {
  const ahead = Math.floor(rate * SECONDS_AHEAD)
  return Math.min(KEYS_PER_CALL * concurrentCalls, Math.max(concurrentCalls, ahead))
}
