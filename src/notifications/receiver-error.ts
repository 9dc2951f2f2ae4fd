import type { ListenTrouble } from '../core/listening.ts'

/** The receiver of notifications cannot listen on NOTIFICATION_HOST and NOTIFICATION_PORT; one sentence that names the setting. */
export class ReceiverError extends Error {
  readonly code: `NOTIFICATION_${ListenTrouble}`

  constructor(trouble: ListenTrouble, message: string) {
    super(message)
    this.name = 'ReceiverError'
    this.code = `NOTIFICATION_${trouble}`
  }
}
