import type { ListenTrouble } from '../core/listening.ts'

/**
 * The console could not be started.
 *
 * - `CONSOLE_PORT_TAKEN`: something else listens on CONSOLE_PORT
 * - `CONSOLE_ADDRESS_REFUSED`: this machine or user may not listen on CONSOLE_HOST and CONSOLE_PORT
 */
export type ConsoleErrorCode = `CONSOLE_${ListenTrouble}`

/** Carries one sentence that names the setting, and a stable code. */
export class ConsoleError extends Error {
  readonly code: ConsoleErrorCode

  constructor(code: ConsoleErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'ConsoleError'
    this.code = code
  }
}
