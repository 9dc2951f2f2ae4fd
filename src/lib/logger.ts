import { Writable } from 'node:stream'
import { type Logger, pino, stdTimeFunctions } from 'pino'
import pretty from 'pino-pretty'

export type { Logger }

/**
 * The logger of a process: JSON lines on standard error, or readable lines where a person watches.
 * Nothing personal may be handed to it (law 7); the redaction is a second net for what libraries log.
 */
export function createLogger(options: { level: string; pretty: boolean }): Logger {
  const settings = {
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
