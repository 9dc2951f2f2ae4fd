import { inWords, type Said, SaidError, saidBy } from '../texts/message.ts'
import type { TextKey, TextValues } from '../texts/texts.ts'

/** The kinds of error pages; each has the texts `error.<kind>` and `error.<kind>.remedy`. */
type Kind =
  | 'not_found'
  | 'forbidden'
  | 'read_only'
  | 'cross_site'
  | 'changed'
  | 'invalid'
  | 'internal'
  | 'database'
  | 'too_many'
  | 'misdirected'

const STATUS: Record<Kind, number> = {
  not_found: 404,
  forbidden: 403,
  read_only: 403,
  cross_site: 403,
  changed: 409,
  invalid: 422,
  internal: 500,
  database: 503,
  too_many: 429,
  misdirected: 421,
}

/**
 * Why a request is refused: an error page for people, a problem document (RFC 9457) for programs. What it says may be
 * shown; it holds no personal data.
 */
export class Problem extends SaidError {
  readonly kind: Kind
  readonly status: number
  readonly values: TextValues
  /** Seconds after which to try again. */
  readonly retryAfter: number | undefined

  constructor(
    kind: Kind,
    /** A text is in the reader's language already, or the words of others. */
    detail: Said | string = '',
    options: { values?: TextValues; retryAfter?: number; status?: number; cause?: unknown } = {},
  ) {
    super(typeof detail === 'string' ? inWords(detail) : detail, { cause: options.cause })
    this.name = 'Problem'
    this.kind = kind
    this.values = options.values ?? {}
    this.retryAfter = options.retryAfter
    this.status = options.status ?? STATUS[kind]
  }

  get titleKey(): TextKey {
    return `error.${this.kind}`
  }

  /** Null if the detail already says what to do. */
  get remedyKey(): TextKey | null {
    return this.kind === 'invalid' ? null : `error.${this.kind}.remedy`
  }
}

/** Codes of src/sync/commands.ts and src/lib/cursor.ts for a request that cannot be carried out. */
const COMMANDS: Record<string, Kind> = {
  COMMAND_NOT_FOUND: 'not_found',
  COMMAND_INVALID: 'invalid',
  COMMAND_CONFLICT: 'changed',
  CURSOR_INVALID: 'invalid',
}

/**
 * Errors of `pg` and of the system which mean that the database is down, too slow, or temporarily read-only. A
 * stopped container also takes its name away (EAI_AGAIN, ENOTFOUND), a stopped host its address (EHOSTUNREACH).
 */
const DATABASE_AWAY =
  /^(08...|57P0.|53...|57014|25006|40P01|E(CONN(REFUSED|RESET|ABORTED)|AI_AGAIN|NOTFOUND|TIMEDOUT|PIPE|(HOST|NET)UNREACH)|STATEMENT_TIMEOUT)$/

/** Maps an error to a problem; unknown errors become `internal`. */
export function problemOf(error: unknown): Problem {
  if (error instanceof Problem) return error
  const { code, message, statusCode } = error as { code?: unknown; message?: string; statusCode?: number }
  const command = COMMANDS[String(code)]
  if (command) return new Problem(command, saidBy(error), { cause: error })
  if (DATABASE_AWAY.test(String(code)) || /timeout|Connection terminated/.test(message ?? ''))
    return new Problem('database', '', { cause: error })
  if (statusCode === 404) return new Problem('not_found', '', { cause: error })
  if (statusCode && statusCode >= 400 && statusCode < 500)
    return new Problem('invalid', saidBy(error), { status: statusCode, cause: error })
  return new Problem('internal', '', { cause: error })
}
