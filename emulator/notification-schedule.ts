import type { Attempt, Notification } from './notifications.ts'

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const HOUR_MS = 60 * MINUTE_MS

/** How long a notification is sent again after its first attempt (specification section 6). */
const WINDOW_MS = 24 * HOUR_MS

/** The waits after the first, the second … failure: growing, as section 6 says; their lengths are the emulator's. */
const WAITS_MS = [
  ...[15 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 15 * MINUTE_MS],
  ...[HOUR_MS, 2 * HOUR_MS, 4 * HOUR_MS, 6 * HOUR_MS, 10 * HOUR_MS],
]

/** Whether it is too late for another attempt. */
export function isOver({ first_at }: Notification, now: number): boolean {
  return first_at !== null && now > first_at + WINDOW_MS
}

/** The notification after an attempt that ended at `now`: delivered, given up, or due again later. */
export function afterAttempt(notification: Notification, attempt: Attempt, now: number): Notification {
  const attempts = [...notification.attempts, attempt]
  if (attempt.httpStatus === 200 && attempt.answer === 'success') {
    return { ...notification, attempts, state: 'delivered' }
  }
  const wait = WAITS_MS[attempts.length - 1] ?? WINDOW_MS
  const next = { ...notification, attempts, next_at: now + wait }
  return isOver(next, next.next_at) ? { ...next, state: 'given up' } : next
}
