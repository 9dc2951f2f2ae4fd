import { isIP } from 'node:net'
import { type Message, message, SaidError } from '../../texts/message.ts'

/** The address of a MySQL or MariaDB server, from HR_DATABASE_URL. */
export interface MysqlAddress {
  host: string
  port: number
  user: string
  password: string
  database: string
  /** How the connection is encrypted; null: not at all. */
  tls: MysqlTls | null
}

export interface MysqlTls {
  /** `required` encrypts; `verify-ca` also requires a certificate signed by an authority, `verify-identity` one for this host. */
  mode: 'required' | 'verify-ca' | 'verify-identity'
  /** Files: the authorities to trust instead of Node.js's own; our certificate and its key. */
  ca: string | null
  cert: string | null
  key: string | null
}

const PARAMETERS = ['ssl-mode', 'ssl-ca', 'ssl-cert', 'ssl-key']
const MODES = ['disabled', 'required', 'verify-ca', 'verify-identity'] as const

/** What is wrong with a MySQL address, such as `should name a database`; null for a valid one. */
export function addressProblem(text: string): Message | null {
  const address = parsed(text)
  return 'key' in address ? address : null
}

/** @throws Error for an address that `addressProblem` rejects */
export function mysqlAddress(text: string): MysqlAddress {
  const address = parsed(text)
  if ('host' in address) return address
  throw new SaidError(message('said.wanted_of', { what: 'HR_DATABASE_URL', wanted: address }))
}

/** The address, or what is wrong with it. */
function parsed(text: string): MysqlAddress | Message {
  const url = new URL(text)
  // Its password has a raw / or ?, so that a part of it would be shown as the name of a parameter.
  if (/^[^@]*:\/\/[^@]*[/?][^@]*@/.test(text)) return message('said.wanted_encoded_password')
  const parameters = new Map(
    [...url.searchParams].map(([name, value]) => [name.toLowerCase().replaceAll('_', '-'), value]),
  )
  const unknown = [...parameters.keys()].find(name => !PARAMETERS.includes(name))
  if (unknown !== undefined) return message('said.wanted_parameters', { name: unknown, names: PARAMETERS })
  const [ca, cert, key] = ['ssl-ca', 'ssl-cert', 'ssl-key'].map(name => parameters.get(name) || null)
  // An authority is only given to be verified against.
  const wanted = (parameters.get('ssl-mode') ?? (ca ? 'verify-ca' : 'disabled')).toLowerCase()
  const mode = MODES.find(one => one === wanted.replaceAll('_', '-'))
  if (mode === undefined) return message('said.wanted_value', { name: 'ssl-mode', names: MODES })
  if (mode === 'disabled' && (ca || cert || key)) return message('said.wanted_no_ssl_files')
  if (mode === 'required' && ca) return message('said.wanted_verify')
  if (Boolean(cert) !== Boolean(key)) return message('said.wanted_cert_and_key')
  const database = decodeURIComponent(url.pathname.slice(1))
  if (database === '' || database.includes('/')) return message('said.wanted_database')
  const host = decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, '$1'))
  if (host === '') return message('said.wanted_host')
  // For an IP address the driver would check that the certificate is one for localhost.
  if (mode === 'verify-identity' && isIP(host) !== 0) return message('said.wanted_host_to_verify')
  if (url.username === '') return message('said.wanted_user')
  return {
    host,
    port: url.port === '' ? 3306 : Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    tls: mode === 'disabled' ? null : { mode, ca: ca ?? null, cert: cert ?? null, key: key ?? null },
  }
}
