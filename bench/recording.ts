import type { RecordedCall } from './limited-platform.ts'

/** When a call arrived, and whether it was accepted. */
export type Arrival = Pick<RecordedCall, 'arrivedAt' | 'accepted'>

/** The calls that arrived in [`from`, `to`), in seconds since the first accepted one. */
export function between(calls: readonly RecordedCall[], from: number, to: number): RecordedCall[] {
  const start = calls.find(({ accepted }) => accepted)?.arrivedAt ?? Number.POSITIVE_INFINITY
  return calls.filter(({ arrivedAt }) => arrivedAt >= start + from * 1000 && arrivedAt < start + to * 1000)
}

export function accepted(calls: readonly RecordedCall[]): number {
  return calls.filter(call => call.accepted).length
}

export function rejected(calls: readonly RecordedCall[]): number {
  return calls.length - accepted(calls)
}

/** Accepted and rejected calls of each second since `start` (milliseconds since 1970). */
export function perSecond(
  calls: readonly Arrival[],
  start: number,
  seconds: number,
): { accepted: number[]; rejected: number[] } {
  const counts = { accepted: Array(seconds).fill(0), rejected: Array(seconds).fill(0) }
  for (const call of calls) {
    const second = Math.floor((call.arrivedAt - start) / 1000)
    if (second >= 0 && second < seconds) counts[call.accepted ? 'accepted' : 'rejected'][second] += 1
  }
  return counts
}

/**
 * Seconds from `change` until rejections are at most 1 % of the calls in every five seconds that end within the next
 * ten; infinite if that never happens.
 */
export function secondsToSettle(calls: readonly RecordedCall[], change: number, end: number): number {
  let settledAt = change
  for (let at = change; at <= end; at += 100) {
    const stretch = calls.filter(({ arrivedAt }) => arrivedAt > at - 5000 && arrivedAt <= at)
    if (rejected(stretch) > stretch.length * 0.01) settledAt = at + 100
    else if (at - settledAt >= 10_000) return (settledAt - change) / 1000
  }
  return Number.POSITIVE_INFINITY
}

/** Calls that arrived during the wait that a refusal had asked for. */
export function insideRetryAfter(calls: readonly RecordedCall[]): RecordedCall[] {
  const refusals = calls.filter(({ accepted }) => !accepted)
  return calls.filter(({ arrivedAt }) =>
    refusals.some(
      ({ answeredAt, retryAfterMs }) => arrivedAt > answeredAt && arrivedAt < answeredAt + retryAfterMs,
    ),
  )
}
