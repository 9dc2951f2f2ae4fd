import { maskText } from '../core/mask-text.ts'
import type { Logger } from '../logger.ts'
import { entryOfCode } from '../platform/error-catalogue.ts'
import { PlatformError } from '../platform/errors.ts'
import { tokenCreate } from '../platform/operations/token.ts'

/** A call that failed after it was sent: refused by a code of the platform, or nobody knows. */
export type FailedAnswer =
  | { state: 'rejected'; platformCode: number; message: string; traceId: string | null }
  | { state: 'unknown'; platformCode: number | null; message: string; traceId: string | null }

/** What a failure says about a call that must not be repeated; null: nothing was carried out, and its number is still free. */
export function failedAnswer(error: unknown, logger: Logger): FailedAnswer | null {
  if (!(error instanceof PlatformError)) {
    logger.error({ err: (error as Error).message }, 'a call that must not be repeated failed on our side')
    return {
      state: 'unknown',
      platformCode: null,
      message: 'something failed on our side of the call: see the log of dirsync',
      traceId: null,
    }
  }
  if (error.operation === tokenCreate.name) return null // without a token nothing is sent
  const traceId = error.traceId ?? null
  const { platformCode } = error
  const said = maskText(error.platformMessage ?? '')
  if (!error.outcomeKnown) {
    const message = said === '' ? error.message : `${error.message} The platform said: ${said}`
    return { state: 'unknown', platformCode: platformCode ?? null, message, traceId }
  }
  if (platformCode === undefined || isAboutAccess(error)) return null
  return { state: 'rejected', platformCode, message: said, traceId }
}

/** Refused for the application, its token, clock or enterprise: the platform did not look at what was asked. */
function isAboutAccess({ disposition, platformCode }: PlatformError): boolean {
  return disposition === 'halt' || entryOfCode(platformCode)?.disposition === 'refresh-token'
}
