import type { ConfigError } from '../config.ts'
import { codeOf, saidOf } from '../lib/failure.ts'
import { io } from '../lib/io.ts'
import { inWords, type Message, message, type Said, SaidError } from '../texts/message.ts'

export { saidOf } from '../lib/failure.ts'

/** How `--json` tells of a failure: with these two, and with what else is known. */
export interface FailureDocument {
  code: string | number
  message: string | null
  [fact: string]: unknown
}

/** An error for the person at the shell. A text is in their language already, or the words of others. */
export class ShellError extends SaidError {
  /** For programs, in English; without: what the error says. */
  readonly document: FailureDocument | undefined

  constructor(what: Said | string, options: ErrorOptions & { document?: FailureDocument } = {}) {
    super(typeof what === 'string' ? inWords(what) : what, options)
    this.document = options.document
  }
}

/** Wrong use of a command: one sentence, exit 2. The message is empty if it has been printed already. */
export class UsageError extends ShellError {
  readonly exitCode = 2
}

/** Values that break rules, a line for each. */
export class BrokenRulesError extends UsageError {
  readonly problems: readonly Message[]

  constructor(problems: readonly Message[]) {
    super(problems)
    this.problems = problems
  }
}

/** A file that an argument names. */
export function unreadable(file: string, { code = '' }: NodeJS.ErrnoException): UsageError {
  return new UsageError(message('said.file_is_unreadable', { file: file.trim() || '""', reason: code }))
}

/**
 * The command failed, or its run is held: one sentence, exit 1. The message is empty if it has been printed already.
 */
export class FailedError extends ShellError {
  /** Without a message, nothing must be printed, not even the name. */
  override readonly name = ''
  readonly exitCode = 1
}

/** Codes of errors that mean a wrong argument, setting or mapping. */
const WRONG_USE = new Set([
  'ACCESS_INVALID',
  'ACCOUNT_OTHER',
  'CONFIG_INVALID',
  'DATABASE_POOLED',
  'COMMAND_INVALID',
  'CURSOR_INVALID',
  'MAPPING_FILE',
  'MAPPING_STATEMENT',
  'MAPPING_SQL',
  'MAPPING_COLUMNS',
  'MAPPING_MISSING',
])

/** What an error says, a line for each wrong setting or value. */
export function linesOf(error: unknown): readonly Said[] {
  if (error instanceof BrokenRulesError) return error.problems
  return codeOf(error) === 'CONFIG_INVALID' ? (error as ConfigError).problems : [saidOf(error)]
}

/** The exit code for this error: 2 for wrong usage or a wrong setting, else 1. */
export function exitCodeOf(error: unknown): number {
  if (error instanceof UsageError || error instanceof FailedError) return error.exitCode
  return WRONG_USE.has(codeOf(error)) ? 2 : 1
}

/** The last one comes when the terminal is closed, and from a shell often twice. */
export const STOP_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

let early: Promise<void> | undefined

/** Keeps a signal that comes while the command is still being loaded, for its `stopSignal`. */
export function expectStop(): void {
  early = stopSignal()
}

/** Resolves at the first signal that asks the process to stop; a second one ends it at once. */
export function stopSignal(): Promise<void> {
  if (early) return early
  const program = io()
  return new Promise(resolve => {
    const stop = () => {
      for (const signal of STOP_SIGNALS) {
        // In this order: without a listener even for a moment, the next signal would kill.
        program.on(signal, () => signal === 'SIGHUP' || program.exit(1))
        program.off(signal, stop)
      }
      resolve()
    }
    for (const signal of STOP_SIGNALS) program.on(signal, stop)
  })
}
