import type { z } from 'zod'
import { entryOfCode, platformError } from './error-catalogue.ts'
import type { PlatformFailure } from './errors.ts'
import type { HttpAnswer } from './exchange.ts'
import type { Operation } from './operation.ts'
import { retryAfterMs } from './retry-after.ts'

/** How long to stay away after an HTTP 429 that does not say. */
const DEFAULT_WAIT_MS = 1000

/**
 * Reads the envelope (section 2.1) and its data.
 * @param now this process's time in milliseconds, for a `Retry-After` that is a date
 * @throws PlatformError of kind `http`, `malformed` or `business`
 */
export function readAnswer<Response extends z.ZodType>(
  operation: Operation<string, z.ZodObject, Response>,
  answer: HttpAnswer,
  now: number,
): z.output<Response> {
  if (answer.status !== 200) throw platformError(httpFailure(operation.name, answer, now))
  const envelope = parseObject(answer.body)
  const code = envelope?.code
  if (code === 0) {
    const data = operation.response.safeParse(envelope?.data)
    if (data.success) return data.data
  } else if (typeof code === 'number' && Number.isSafeInteger(code)) {
    throw platformError({
      ...factsOf(operation.name, answer),
      kind: 'business',
      platformCode: code,
      platformMessage: typeof envelope?.msg === 'string' ? envelope.msg : entryOfCode(code)?.meaning,
      outcomeKnown: true,
    })
  }
  // Without a cause: a parser's error quotes the body, which may hold personal data.
  throw platformError({ ...factsOf(operation.name, answer), kind: 'malformed', outcomeKnown: false })
}

function httpFailure(operation: string, answer: HttpAnswer, now: number): PlatformFailure {
  const { status, headers } = answer
  const advised = retryAfterMs(headers['retry-after'], headers.date, now)
  const wait = status === 429 ? (advised ?? DEFAULT_WAIT_MS) : status === 503 ? advised : undefined
  return {
    ...factsOf(operation, answer),
    kind: 'http',
    retryAfterMs: wait,
    // A gateway that gives up (5xx) may have handed the call on before; a refusal (3xx, 4xx) did not.
    outcomeKnown: wait !== undefined || status < 500,
  }
}

function factsOf(operation: string, { status, headers }: HttpAnswer) {
  const trace = headers['x-trace-id']
  return { operation, httpStatus: status, traceId: Array.isArray(trace) ? trace[0] : trace }
}

function parseObject(body: string): { code?: unknown; msg?: unknown; data?: unknown } | null {
  try {
    return JSON.parse(body)
  } catch {
    return null
  }
}
