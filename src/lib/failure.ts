import { readFileSync } from 'node:fs'
import { inEnglish, inWords, type Message, message, type Said, SaidError, saidBy } from '../texts/message.ts'

/** The error in one sentence, with its cause where that adds something. Several wrong settings take a line each. */
export function sentenceOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const explained = explanationOf(error)
  if (explained !== null) return inEnglish(explained)
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
  return explanationOf(error) ?? ('said' in error ? saidBy(error) : inWords(sentenceOf(error)))
}

/** The code of an error, in whatever form it carries one; empty without one. */
export function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

/** What to do about errors that only name what happened; null for others. */
function explanationOf(error: Error): Message | null {
  const code = codeOf(error)
  if (code === 'EADDRINUSE') return portTaken(error)
  return code === READ_ONLY ? message('said.and_remedy', readOnlyTrouble()) : null
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
/** Of a statement that writes, where only reading is possible: what a standby answers. */
export const READ_ONLY = '25006'

interface Trouble {
  what: Message
  remedy: Message
}

/** What is wrong with a database of dirsync's own that takes no writes, and what to do. */
export function readOnlyTrouble(name = 'PostgreSQL'): Trouble {
  return { what: message('doctor.read_only', { name }), remedy: message('doctor.make_writable') }
}

/** What the address of a server says for TLS. */
export interface TlsParameters {
  /** Names a file of authorities. */
  authority: string
  /** Encrypts, whatever the certificate. */
  unchecked: string
  off: string
}

const OF_POSTGRES: TlsParameters = {
  authority: 'sslrootcert',
  unchecked: 'sslmode=no-verify',
  off: 'sslmode=disable',
}

/** OpenSSL's codes for a certificate, and Node.js's own for one of another host. */
const CERTIFICATE =
  /^(?:ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|CRL_|INVALID_(?:CA|PURPOSE)$|HOSTNAME_MISMATCH$)/
/** What MySQL's driver makes of every failure before TLS is there, such as a connection reset: only the message tells them apart. */
export const HANDSHAKE = 'HANDSHAKE_SSL_ERROR'
/** How OpenSSL's messages about a certificate begin, and Node.js's own. */
const ABOUT_CERTIFICATE =
  /^(?:Hostname\/IP does not match|self-signed|unable to|(?:(?:invalid )?CA |EE |issuer |unsuitable )?certificate|CRL|path length)\b/
/** The drivers' code or words for a server without TLS. */
const NO_TLS = ['HANDSHAKE_NO_SSL_SUPPORT', 'The server does not support SSL connections']

/** Why a server that answers cannot be reached with TLS, and what to do; null for another trouble. */
export function tlsTrouble(error: unknown, parameters = OF_POSTGRES): Trouble | null {
  if (!(error instanceof Error)) return null
  if (error instanceof TlsSettingError) return error.trouble
  const code = codeOf(error)
  const isRefused = code === HANDSHAKE ? ABOUT_CERTIFICATE.test(error.message) : CERTIFICATE.test(code)
  if (isRefused)
    return {
      what: message('said.tls_certificate', { reason: code === HANDSHAKE ? error.message : code }),
      remedy: message('said.mend_certificate', {
        authority: parameters.authority,
        unchecked: parameters.unchecked,
      }),
    }
  if (NO_TLS.includes(code || error.message))
    return {
      what: message('said.tls_missing'),
      remedy: message('said.switch_tls_on', { off: parameters.off }),
    }
  return null
}

/** What an address says for TLS cannot be used, whatever the server. */
export class TlsSettingError extends SaidError {
  override readonly name = 'TlsSettingError'
  readonly trouble: Trouble

  constructor(what: Message, remedy: Message) {
    super(message('said.and_remedy', { what, remedy }))
    this.trouble = { what, remedy }
  }
}

/**
 * The text of a file that an address names.
 * @param kind what it should hold; empty: anything
 * @throws TlsSettingError
 */
export function pemFile(file: string, kind: 'CERTIFICATE' | 'PRIVATE KEY' | ''): string {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const what = message('said.file_is_unreadable', { file, reason: codeOf(error) })
    throw new TlsSettingError(what, message('said.correct_path'))
  }
  // Without a certificate, Node.js and OpenSSL would trust no authority, and call that of the server unknown.
  if (kind === '' || text.includes(`${kind}-----`)) return text
  throw new TlsSettingError(message('said.file_holds_no_pem', { file, kind }), message('said.correct_pem'))
}

/** Why dirsync's own database cannot be used, and what to do. */
export function databaseTrouble(error: unknown): Trouble {
  const reason = saidOf(error)
  const code = codeOf(error)
  if (code === READ_ONLY) return readOnlyTrouble()
  if (code === NO_DATABASE)
    return { what: message('said.database_missing', { reason }), remedy: message('said.create_database') }
  if (NO_LOGIN.includes(code))
    return { what: message('said.database_login', { reason }), remedy: message('said.correct_login') }
  if (code === NO_RIGHT)
    return { what: message('said.database_forbids', { reason }), remedy: message('said.name_owner') }
  const tls = tlsTrouble(error)
  if (tls !== null) return { ...tls, what: message('said.database_without_tls', { reason: tls.what }) }
  return { what: message('said.database_silent', { reason }), remedy: message('said.start_database') }
}
