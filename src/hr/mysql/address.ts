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
export function addressProblem(text: string): string | null {
  const address = parsed(text)
  return typeof address === 'string' ? address : null
}

/** @throws Error for an address that `addressProblem` rejects */
export function mysqlAddress(text: string): MysqlAddress {
  const address = parsed(text)
  if (typeof address === 'string') throw new Error(`The address of HR's MySQL ${address}`)
  return address
}

/** The address, or what is wrong with it. */
function parsed(text: string): MysqlAddress | string {
  const url = new URL(text)
  const parameters = new Map(
    [...url.searchParams].map(([name, value]) => [name.toLowerCase().replaceAll('_', '-'), value]),
  )
  const unknown = [...parameters.keys()].find(name => !PARAMETERS.includes(name))
  if (unknown !== undefined) return `should have no parameter ${unknown}; there are ${PARAMETERS.join(', ')}`
  const [ca, cert, key] = ['ssl-ca', 'ssl-cert', 'ssl-key'].map(name => parameters.get(name) || null)
  // An authority is only given to be verified against.
  const wanted = (parameters.get('ssl-mode') ?? (ca ? 'verify-ca' : 'disabled')).toLowerCase()
  const mode = MODES.find(one => one === wanted.replaceAll('_', '-'))
  if (mode === undefined) return `should have one of ${MODES.join(', ')} as ssl-mode`
  if (mode === 'disabled' && (ca || cert || key)) return 'should have no ssl files with ssl-mode=disabled'
  if (mode === 'required' && ca) return 'should have ssl-mode=verify-ca or verify-identity with ssl-ca'
  if (Boolean(cert) !== Boolean(key)) return 'should have ssl-cert and ssl-key, or neither'
  const database = decodeURIComponent(url.pathname.slice(1))
  if (database === '' || database.includes('/')) return 'should end with the name of one database'
  if (url.hostname === '') return 'should name a host'
  if (url.username === '') return 'should name a user'
  return {
    host: decodeURIComponent(url.hostname.replace(/^\[(.*)\]$/, '$1')),
    port: url.port === '' ? 3306 : Number(url.port),
    user: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password),
    database,
    tls: mode === 'disabled' ? null : { mode, ca: ca ?? null, cert: cert ?? null, key: key ?? null },
  }
}
