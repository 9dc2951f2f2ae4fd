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

/** The server's codes for a database that it lacks, and for a login that it refuses. */
const NO_DATABASE = '3D000'
const NO_LOGIN = ['28000', '28P01']
/** Of a user who may not do what was asked. */
export const NO_RIGHT = '42501'

/** Why dirsync's own database cannot be used, and what to do. */
export function databaseTrouble(error: unknown): { what: Message; remedy: Message } {
  const reason = saidOf(error)
  const code = codeOf(error)
  if (code === NO_DATABASE)
    return { what: message('said.database_missing', { reason }), remedy: message('said.create_database') }
  if (NO_LOGIN.includes(code))
    return { what: message('said.database_login', { reason }), remedy: message('said.correct_login') }
  if (code === NO_RIGHT)
    return { what: message('said.database_forbids', { reason }), remedy: message('said.name_owner') }
  return { what: message('said.database_silent', { reason }), remedy: message('said.start_database') }
}
