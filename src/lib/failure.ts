import { inEnglish, inWords, type Message, message, type Said, saidBy } from '../texts/message.ts'

/** The error in one sentence, with its cause where that adds something. Several wrong settings take a line each. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (codeOf(error) === 'EADDRINUSE') return inEnglish(portTaken(error))
  // A connection refused on both address families is an AggregateError without a message.
  const message =
    error.message ||
    (error instanceof AggregateError ? error.errors.map(sentenceOf).join('; ') : '') ||
    error.name
  const cause = error.cause instanceof Error ? sentenceOf(error.cause) : ''
  return cause === '' || message.includes(cause) ? message : `${message} (${cause})`
}

/** The same for every reader: what a message says in their language, else the error's own sentence. */
export function saidOf(error: unknown): Said {
  if (!(error instanceof Error)) return inWords(String(error))
  if (codeOf(error) === 'EADDRINUSE') return portTaken(error)
  return 'said' in error ? saidBy(error) : inWords(sentenceOf(error))
}

/** The code of an error, in whatever form it carries one; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function portTaken(error: Error): Message {
  const { address = '', port = 0 } = error as Error & { address?: string; port?: number }
  return message('said.port_taken', { port, address })
}
