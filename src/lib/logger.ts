import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import { inspect } from 'node:util'
import { type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import { inEnglish, isSaid, type Said } from '../texts/message.ts'
import { io } from './io.ts'

export type { Logger }

const load = createRequire(import.meta.url)

/** @param isForPerson whether it calls for a person; everything else is for machines, in English */
type Speak = (what: Said, isForPerson: boolean) => string

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
  /** Puts messages into words: of a warning or an error in the language of its readers, of all else in English. */
  say?: Speak
}): Logger {
  const { say = inEnglish } = options
  const settings = {
    hooks: { logMethod: spoken(say) },
    level: options.level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    serializers: SERIALIZERS,
    redact: ['*.mobile', '*.email', '*.card_no', '*.access_token', '*.appsecret', '*.sign'],
  }
  const { stderr } = io()
  const isTerminal = stderr.isTTY === true
  if (!(options.pretty ?? isTerminal)) {
    const lines = stderr === process.stderr ? pino.destination({ fd: 2, sync: true }) : stderr
    // A log that cannot be written, as on a full disk, ends no process: lines wait until there is room.
    return pino(
      settings,
      lines.on('error', () => {}),
    )
  }
  const destination = new Writable({
    // Anything on the line, such as a progress bar, is drawn again after the message.
    write(chunk, _encoding, done) {
      stderr.write(isTerminal ? `\r\u001b[2K${chunk}` : chunk, done)
    },
  })
  // Not loaded where nobody watches.
  const pretty: typeof import('pino-pretty') = load('pino-pretty')
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

/** Warnings and errors call for a person, in whose language their messages are. Everything else is for machines. */
function spoken(say: Speak): NonNullable<NonNullable<LoggerOptions['hooks']>['logMethod']> {
  return function (args, method, level) {
    const words = (what: Said) => say(what, level >= WARNING)
    const fields: unknown = args[0]
    if (typeof fields === 'object' && fields !== null && Object.values(fields).some(isSaid))
      args[0] = Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [name, isSaid(value) ? words(value) : value]),
      )
    method.apply(this, args)
  }
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
