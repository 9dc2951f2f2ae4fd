/** Jobs in hand for each call at a time, at most. */
const JOBS_PER_CALL = 4

/** At a time jobs are taken up for no more than this long of calls: on a busy machine reading and writing take about as long. */
const SECONDS_AHEAD = 0.25

/**
 * How many jobs a worker takes up at a time. While some call the platform, others are read or written down, and the more of
 * them there are, the fewer statements each of them costs PostgreSQL. But at a rate that permits few calls they would only
 * wait for the pacer, ahead of more urgent ones that come later.
 *
 * @param concurrentCalls calls to the platform at a time
 * @param ratePerSecond permitted calls per second
 */
export function jobsInHand(concurrentCalls: number, ratePerSecond: number): number {
  const ahead = Math.floor(ratePerSecond * SECONDS_AHEAD)
  return Math.min(JOBS_PER_CALL * concurrentCalls, Math.max(concurrentCalls, ahead))
}
