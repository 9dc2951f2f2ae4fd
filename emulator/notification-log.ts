import { amountText } from './amount.ts'
import type { Platform } from './platform.ts'

/** The refund notifications as `GET /_emulator/notifications` shows them. */
export function notificationLog({ notifications }: Platform) {
  return notifications.list().map(({ refund_amount, first_at, next_at, ...notification }) => ({
    ...notification,
    refund_amount: amountText(refund_amount),
    /** When the next attempt is due, ISO 8601; null when there is none. */
    next_at: notification.state === 'pending' ? new Date(next_at).toISOString() : null,
  }))
}
