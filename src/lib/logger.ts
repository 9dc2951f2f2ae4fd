import { Writable } from 'node:stream'
import { inspect } from 'node:util'
import { type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'
import { io } from './io.ts'

export type { Logger }

/** The key of an error in every log line. */
export const SERIALIZERS = { error: errorFacts }

/**
 * The logger of a process: JSON lines on standard error, or sentences on a terminal.
 * Nothing personal may be passed to it (law 7); the redaction is a second net for what libraries log.
 */
export function createLogger(options: {
  level: string
  /** Sentences; by default on a terminal. */
  pretty?: boolean
  /** Translates a warning or error, or its remedy, into the language of its readers. */
  say?: (text: string) => string
}): Logger {
  const { say } = options
  const settings = {
    ...(say && { hooks: { logMethod: spoken(say) } }),
    level: options.level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    serializers: SERIALIZERS,
    redact: ['*.mobile', '*.email', '*.card_no', '*.access_token', '*.appsecret', '*.sign'],
  }
  const { stderr } = io()
  const isTerminal = stderr.isTTY === true
  if (!(options.pretty ?? isTerminal))
    return pino(settings, stderr === process.stderr ? pino.destination({ fd: 2, sync: true }) : stderr)
  const destination = new Writable({
    // Anything on the line, such as a progress bar, is drawn again after the message.
    write(chunk, _encoding, done) {
      stderr.write(isTerminal ? `\r\u001b[2K${chunk}` : chunk, done)
    },
  })
  return pino(
    settings,
    pretty({
      destination,
      ...(!isTerminal && { colorize: false }),
      ignore: 'pid',
      translateTime: 'SYS:HH:MM:ss',
      messageFormat: sentence,
      hideObject: true,
    }),
  )
}

/** The event, its subject, its cause, and what to do. */
function sentence(line: Record<string, unknown>): string {
  const { msg, error, remedy, level, time, pid, component, deployment, ...about } = line
  const { code, message = code, stack } = (error ?? {}) as { code?: string; message?: string; stack?: string }
  const facts = Object.entries(about).map(
    ([key, value]) =>
      `${key} ${typeof value === 'string' ? value : inspect(value, { breakLength: Infinity })}`,
  )
  return [
    `${msg}${facts.length > 0 ? ` (${facts.join(', ')})` : ''}${message === undefined ? '' : `: ${message}`}`,
    ...(stack === undefined ? [] : [stack]),
    ...(remedy === undefined ? [] : [`  → ${remedy}`]),
  ].join('\n')
}

const WARNING = 40

/** Warnings and errors call for a person, who reads the message and the remedy. Everything else is for machines. */
function spoken(
  say: (text: string) => string,
): NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> {
  return function (args, method, level) {
    if (level >= WARNING)
      for (const [i, arg] of args.entries()) {
        if (typeof arg === 'string') args[i] = say(arg)
        else if (hasRemedy(arg)) args[i] = { ...arg, remedy: say(arg.remedy) }
      }
    method.apply(this, args)
  }
}

function hasRemedy(fields: unknown): fields is { remedy: string } {
  return (
    typeof fields === 'object' && fields !== null && 'remedy' in fields && typeof fields.remedy === 'string'
  )
}

/**
 * The logged facts of an error. Further properties, such as PostgreSQL's `detail`, may hold values of rows. A stack reveals a
 * bug in dirsync; an error with a code is a known trouble and needs none.
 */
function errorFacts(error: unknown): Record<string, unknown> | undefined {
  if (error === undefined || error === null) return undefined
  if (!(error instanceof Error)) return typeof error === 'object' ? { ...error } : { message: String(error) }
  const { name, message, stack, code, traceId } = error as Error & { code?: unknown; traceId?: unknown }
  return {
    name,
    message,
    ...(code === undefined ? { stack } : { code }),
    ...(traceId === undefined ? {} : { traceId }),
  }
}
