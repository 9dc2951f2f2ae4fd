import type { CallEnd } from './call-log.ts'
import { BusinessError, HttpError } from './codes.ts'
import type { FaultRule } from './faults.ts'
import type { Outcome } from './operation.ts'

/** What a caller gets: an answer, or the loss of the connection. */
export type Reply =
  | { kind: 'answer'; status: number; contentType: string; body: string; headers: Record<string, string> }
  | { kind: 'reset' | 'lost' }

/** What a call came to, for the caller and for the log. */
export interface Result {
  reply: Reply
  code: number | null
  httpStatus: number | null
  end: CallEnd
  effect?: object | undefined
}

const PLAIN = 'text/plain; charset=utf-8'
export const JSON_TYPE = 'application/json; charset=utf-8'

/** A successful answer, in the envelope (specification 2.1) unless it goes without. */
export function succeeded({ data, effect, bare }: Outcome): Result {
  const body = JSON.stringify(bare ? data : { code: 0, msg: 'OK', data })
  return { ...answered(200, JSON_TYPE, body, {}), code: 0, effect }
}

/** The answer to a refused call; whatever is neither of the two refusals is a defect, and is thrown on. */
export function refused(error: unknown): Result {
  if (error instanceof BusinessError) return failed(200, error.code, error.message, {})
  if (error instanceof HttpError) return answered(error.status, PLAIN, error.message, error.headers)
  throw error
}

/** The answer that a fault rule asks for. */
export function planted(rule: FaultRule): Result {
  if (rule.reset) return { reply: { kind: 'reset' }, code: null, httpStatus: null, end: 'reset' }
  const headers = retryAfter(rule.retryAfter)
  const message = rule.message ?? 'planted failure'
  if (rule.body !== undefined) return answered(rule.httpStatus ?? 200, PLAIN, rule.body, headers)
  if (rule.code !== undefined) return failed(rule.httpStatus ?? 200, rule.code, message, headers)
  return answered(rule.httpStatus ?? 500, PLAIN, message, headers)
}

/** A refusal for too many calls; the time until the next may pass is told unless it is undefined. */
export function tooManyCalls(waitMs: number | undefined): HttpError {
  const seconds = waitMs === undefined ? undefined : Math.ceil(waitMs / 1000)
  return new HttpError(429, 'Too many calls.', retryAfter(seconds))
}

function retryAfter(seconds: number | undefined): Record<string, string> {
  return seconds === undefined ? {} : { 'retry-after': String(seconds) }
}

function failed(status: number, code: number, msg: string, headers: Record<string, string>): Result {
  return { ...answered(status, JSON_TYPE, JSON.stringify({ code, msg, data: null }), headers), code }
}

function answered(
  status: number,
  contentType: string,
  body: string,
  headers: Record<string, string>,
): Result {
  return {
    reply: { kind: 'answer', status, contentType, body, headers },
    code: null,
    httpStatus: status,
    end: status === 429 ? 'rate-limited' : 'answered',
  }
}
