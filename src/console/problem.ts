import { z } from 'zod'
import { type HrError, HrUnavailableError } from '../hr/errors.ts'
import { tlsTrouble } from '../lib/failure.ts'
import { inWords, type Said, SaidError, saidBy } from '../texts/message.ts'
import type { TextKey, TextValues } from '../texts/texts.ts'
import type { AccessError, SlowedError } from './auth/failure.ts'
import { BusyError } from './bounded-line.ts'

/** Every kind of problem, with its HTTP status. Each has the texts `error.<kind>` and `problem.<kind>`. */
const STATUS = {
  malformed: 400,
  unauthorized: 401,
  forbidden: 403,
  out_of_scope: 403,
  read_only: 403,
  cross_site: 403,
  not_found: 404,
  no_such_method: 405,
  changed: 409,
  key_in_use: 409,
  locked: 409,
  paused: 409,
  too_large: 413,
  media_type: 415,
  misdirected: 421,
  invalid: 422,
  key_refused: 422,
  too_many: 429,
  internal: 500,
  mapping: 502,
  database: 503,
  hr: 503,
} as const

export type ProblemKind = keyof typeof STATUS
export const PROBLEMS = Object.keys(STATUS) as ProblemKind[]

export function isProblem(name: string): name is ProblemKind {
  return Object.hasOwn(STATUS, name)
}

export function problemStatus(kind: ProblemKind): number {
  return STATUS[kind]
}

/** How /api/v1 answers every request that it refuses (RFC 9457). */
export const ProblemDocument = z.object({
  type: z.string().describe('`/problems/<code>`: a page that explains this kind of problem'),
  title: z.string(),
  status: z.int(),
  detail: z.string().optional(),
  instance: z.string().describe('This one answer; the same as `reference`, as a URN'),
  code: z.enum(PROBLEMS),
  reference: z.string().describe('Find it in the log of the console, as `requestId`'),
  errors: z
    .array(
      z.object({
        pointer: z.string().optional().describe('JSON Pointer of the value in the body'),
        parameter: z.string().optional().describe('Name of the parameter in the address'),
        header: z.string().optional().describe('Name of the header'),
        detail: z.string(),
        code: z.string().describe('Such as `missing`, `invalid_type`, `invalid_value`, `unrecognized_keys`'),
      }),
    )
    .optional()
    .describe('Of input that is refused: what is wrong with each value'),
})

/** What is wrong with one value of a request. */
export interface FieldError {
  /** The place of the value in the body or among the parameters; empty: the request as a whole. */
  readonly path: readonly PropertyKey[]
  /** The header that is meant instead. */
  readonly header?: string
  readonly code: string
  readonly said: Said
}

/**
 * Why a request is refused: an error page for people, a problem document (RFC 9457) for programs. What it says may be
 * shown; it holds no personal data.
 */
export class Problem extends SaidError {
  readonly kind: ProblemKind
  readonly status: number
  readonly values: TextValues
  /** Seconds after which to try again. */
  readonly retryAfter: number | undefined
  readonly errors: readonly FieldError[]

  constructor(
    kind: ProblemKind,
    /** A text is in the reader's language already, or the words of others. */
    detail: Said | string = '',
    options: {
      values?: TextValues
      retryAfter?: number
      status?: number
      cause?: unknown
      /** What is wrong with each value; or the name of the one that the detail is about. */
      errors?: readonly FieldError[]
      field?: string
    } = {},
  ) {
    super(typeof detail === 'string' ? inWords(detail) : detail, { cause: options.cause })
    this.name = 'Problem'
    this.kind = kind
    this.values = options.values ?? {}
    this.retryAfter = options.retryAfter
    this.status = options.status ?? STATUS[kind]
    const { field } = options
    const own = { path: field === undefined ? [] : [field], code: 'refused', said: this.said }
    this.errors = options.errors ?? (kind === 'invalid' ? [own] : [])
  }

  get titleKey(): TextKey {
    return `error.${this.kind}`
  }

  /** Null if the detail already says what to do. */
  get remedyKey(): TextKey | null {
    return this.kind === 'invalid' ? null : `error.${this.kind}.remedy`
  }
}

/** Why HR cannot be read: it is away, or the mapping cannot be carried out, which no later try mends. */
export function hrProblem(error: HrError): Problem {
  return new Problem(error instanceof HrUnavailableError ? 'hr' : 'mapping', saidBy(error), { cause: error })
}

/** Codes of src/sync/runs/commands.ts and src/lib/cursor.ts and src/console/auth/failure.ts for a request that cannot be carried out. */
const COMMANDS: Record<string, ProblemKind> = {
  COMMAND_NOT_FOUND: 'not_found',
  COMMAND_INVALID: 'invalid',
  COMMAND_CONFLICT: 'changed',
  COMMAND_LOCKED: 'locked',
  CURSOR_INVALID: 'invalid',
  ACCESS_NOT_FOUND: 'not_found',
  ACCESS_INVALID: 'invalid',
}

/** Statuses with which Fastify refuses a request that it cannot read. */
const UNREADABLE: Record<number, ProblemKind> = { 404: 'not_found', 413: 'too_large', 415: 'media_type' }

/** By then some of a line that is full has been worked off. */
const BUSY_SECONDS = 2

/**
 * Errors of `pg` and of the system which mean that the database is down, too slow, or temporarily read-only. A
 * stopped container also takes its name away (EAI_AGAIN, ENOTFOUND), a stopped host its address (EHOSTUNREACH).
 */
const DATABASE_AWAY =
  /^(08...|57P0.|53...|55P03|57014|25006|40P01|E(CONN(REFUSED|RESET|ABORTED)|AI_AGAIN|NOTFOUND|TIMEDOUT|PIPE|(HOST|NET)UNREACH)|STATEMENT_TIMEOUT)$/

/** Maps an error to a problem; unknown errors become `internal`. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  const { code, message, statusCode } = error as { code?: unknown; message?: string; statusCode?: number }
  const command = COMMANDS[String(code)]
  if (command) {
    const field = code === 'CURSOR_INVALID' ? 'cursor' : (error as Partial<AccessError>).field
    return new Problem(command, saidBy(error), { cause: error, ...(field ? { field } : {}) })
  }
  if (code === 'ACCESS_SLOWED')
    return new Problem('too_many', saidBy(error), {
      retryAfter: (error as SlowedError).seconds,
      cause: error,
    })
  if (error instanceof BusyError)
    return new Problem('too_many', '', { retryAfter: BUSY_SECONDS, cause: error })
  if (
    DATABASE_AWAY.test(String(code)) ||
    /timeout|Connection terminated/.test(message ?? '') ||
    tlsTrouble(error) !== null
  )
    return new Problem('database', '', { cause: error })
  if (statusCode && statusCode >= 400 && statusCode < 500) {
    const kind = UNREADABLE[statusCode]
    if (kind) return new Problem(kind, '', { cause: error })
    return new Problem('malformed', '', { status: statusCode, cause: error })
  }
  return new Problem('internal', '', { cause: error })
}
