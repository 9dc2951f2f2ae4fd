import { type Verdict, verdictOf } from '../platform/error-catalogue.ts'
import { PlatformError } from '../platform/errors.ts'

/** The catalogue's verdict about a failed call; whatever else failed is thrown on. */
export function judge(error: unknown): { error: PlatformError; verdict: Verdict } {
  if (!(error instanceof PlatformError)) throw error
  return { error, verdict: verdictOf(error, error.operation) }
}
