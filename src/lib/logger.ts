import { Writable } from 'node:stream'
import { type Logger, type LoggerOptions, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'

export type { Logger }

/**
 * The logger of a process: JSON lines on standard error, or readable lines where a person watches.
 * Nothing personal may be handed to it (law 7); the redaction is a second net for what libraries log.
 */
export function createLogger(options: {
  level: string
  pretty: boolean
  /** Says a warning or error, or its remedy, in the language of those who are called for. */
  say?: (text: string) => string
}): Logger {
  const { say } = options
  const settings = {
    ...(say && { hooks: { logMethod: spoken(say) } }),
    level: options.level,
    base: { pid: process.pid },
    timestamp: stdTimeFunctions.isoTime,
    redact: ['*.mobile', '*.email', '*.card_no', '*.access_token', '*.appsecret', '*.sign'],
  }
  if (!options.pretty) return pino(settings, pino.destination({ fd: 2, sync: true }))
  const clearing = new Writable({
    // Whatever stands in the line, a progress bar say, is drawn anew after the message.
    write(chunk, _encoding, done) {
      process.stderr.write(`\r\u001b[2K${chunk}`, done)
    },
  })
  return pino(
    settings,
    pretty({
      destination: clearing,
      ignore: 'pid,component',
      translateTime: 'SYS:HH:MM:ss',
      singleLine: true,
    }),
  )
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
