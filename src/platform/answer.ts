import type { z } from 'zod'
import { entryOfCode, isRefusal, platformError } from './error-catalogue.ts'
import type { PlatformFailure } from './errors.ts'
import { parseExactly } from './exact-json.ts'
import type { HttpAnswer } from './exchange.ts'
import type { Operation } from './operation.ts'
import { retryAfterMs } from './retry-after.ts'

/** How long to stay away where the platform says that there were too many calls, and not for how long. */
const DEFAULT_WAIT_MS = 1000

/**
 * Reads the envelope (section 2.1) and its data.
 * @param now this process's time in milliseconds, for a `Retry-After` that is a date
 * @param tooFastCodes codes of the envelope that ask us to wait
 * @throws PlatformError of kind `http`, `malformed` or `business`
 */
export function readAnswer<Response extends z.ZodType>(
  operation: Operation<string, z.ZodObject, Response>,
  answer: HttpAnswer,
  now: number,
  tooFastCodes: ReadonlySet<number>,
): z.output<Response> {
  if (answer.status !== 200) throw platformError(httpFailure(operation, answer, now))
  const envelope = parseObject(withoutOddities(answer.body), operation.decimals ? parseExactly : JSON.parse)
  const code = envelope?.code
  const isBare = operation.bareAnswer && envelope?.data === undefined
  if (code === 0 || (isBare && code === undefined)) {
    const data = operation.response.safeParse(isBare ? envelope : envelope?.data)
    if (data.success) return data.data
  } else if (typeof code === 'number' && Number.isSafeInteger(code)) {
    throw platformError({
      ...factsOf(operation.name, answer),
      kind: 'business',
      platformCode: code,
      platformMessage: typeof envelope?.msg === 'string' ? envelope.msg : entryOfCode(code)?.meaning,
      retryAfterMs: tooFastCodes.has(code) ? DEFAULT_WAIT_MS : undefined,
      outcomeKnown: operation.idempotent || isRefusal(code, operation.name),
    })
  }
  // Without a cause: a parser's error quotes the body, which may hold personal data.
  throw platformError({ ...factsOf(operation.name, answer), kind: 'malformed', outcomeKnown: false })
}

function httpFailure(operation: Operation, answer: HttpAnswer, now: number): PlatformFailure {
  const { status, headers } = answer
  const advised = retryAfterMs(headers['retry-after'], headers.date, now)
  const wait = status === 429 ? (advised ?? DEFAULT_WAIT_MS) : status === 503 ? advised : undefined
  return {
    ...factsOf(operation.name, answer),
    kind: 'http',
    retryAfterMs: wait,
    // A gateway that gives up (5xx) may have handed the call on before; a refusal (4xx) did not. Neither did a redirection or
    // a gateway that asks us to wait, but where money moves that is not relied on, nor is a 4xx that speaks of time.
    outcomeKnown: operation.idempotent
      ? wait !== undefined || (status >= 300 && status < 500)
      : status >= 400 && status < 500 && status !== 408,
  }
}

function factsOf(operation: string, { status, headers }: HttpAnswer) {
  const trace = headers['x-trace-id']
  return { operation, httpStatus: status, traceId: Array.isArray(trace) ? trace[0] : trace }
}

/** Escapes of U+0000 or of half a character are in the text, or may be: of half characters most come in pairs. */
const ODD = /\\u(?:0000|d[89a-f])/i
const PAIR_OR_ODDITY = /\\u(d[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2})|\\u(?:0000|d[89a-f][0-9a-f]{2})|\\[^u]/gi

/**
 * JSON in which U+0000 and half characters, which are in no text that could be stored or shown, are replaced by U+FFFD.
 * Only escapes can bring them in: a body has been read as UTF-8, and JSON has no control characters within texts.
 */
function withoutOddities(json: string): string {
  if (!ODD.test(json)) return json
  return json.replace(PAIR_OR_ODDITY, (found, pair) => (pair || found[1] !== 'u' ? found : '\\ufffd'))
}

function parseObject(
  body: string,
  parse: (text: string) => unknown,
): { code?: unknown; msg?: unknown; data?: unknown } | null {
  try {
    return parse(body) as object
  } catch {
    return null
  }
}
