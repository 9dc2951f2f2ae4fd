/**
 * A part of the embedded default could not be brought up or taken down.
 *
 * - `EMBEDDED_UNSUPPORTED`: no PostgreSQL binaries exist for this machine
 * - `EMBEDDED_PACKAGE_MISSING`: the optional npm package with the binaries is not installed
 * - `EMBEDDED_DISK_FULL`: too little room for the data
 * - `EMBEDDED_NOT_YOURS`: the folder belongs to another user
 * - `EMBEDDED_IN_USE`: another living process uses the folder
 * - `EMBEDDED_LOCK_TIMEOUT`: another process has been starting or stopping it for too long
 * - `EMBEDDED_POSTGRES_FAILED`, `EMBEDDED_EMULATOR_FAILED`: the program itself did not start or stop
 */
export type EmbeddedErrorCode =
  | 'EMBEDDED_UNSUPPORTED'
  | 'EMBEDDED_PACKAGE_MISSING'
  | 'EMBEDDED_DISK_FULL'
  | 'EMBEDDED_NOT_YOURS'
  | 'EMBEDDED_IN_USE'
  | 'EMBEDDED_LOCK_TIMEOUT'
  | 'EMBEDDED_POSTGRES_FAILED'
  | 'EMBEDDED_EMULATOR_FAILED'

/** Carries one sentence for the person at the keyboard, and a stable code. */
export class EmbeddedError extends Error {
  readonly code: EmbeddedErrorCode

  constructor(code: EmbeddedErrorCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.name = 'EmbeddedError'
    this.code = code
  }
}
