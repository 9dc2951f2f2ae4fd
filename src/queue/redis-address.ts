/*
 * Where Redis is, as REDIS_URL says it: one server, the servers that Sentinel watches over, or a cluster. Several hosts do not fit
 * into a URL: these are read here.
 *
 *     redis://user:password@host:6379/0
 *     redis+sentinel://user:password@host:26379,host:26379/master/0
 *     redis+cluster://user:password@host:6379,host:6379
 *
 * `rediss` instead of `redis` is TLS.
 */

interface Node {
  host: string
  port: number
}

/** User and password of the servers that hold the data. */
interface Access {
  username?: string
  password?: string
  isTls: boolean
}

export type RedisAddress =
  | { kind: 'single'; url: string }
  | ({ kind: 'sentinel'; sentinels: Node[]; master: string; db: number } & Access)
  | ({ kind: 'cluster'; nodes: Node[] } & Access)

const SEVERAL =
  /^redis(?<tls>s?)\+(?<kind>sentinel|cluster):\/\/(?:(?<user>[^:@/]*)(?::(?<password>[^@/]*))?@)?(?<hosts>[^@/?#]+)(?:\/(?<master>[^/?#]+)(?:\/(?<db>\d+))?)?\/?$/
const HOST = /^(?<host>\[[\da-f:.]+\]|[^:[\]]+)(?::(?<port>\d{1,5}))?$/i
const DEFAULT_PORT = { single: 6379, sentinel: 26_379, cluster: 6379 }

/** Null: it is none of these. */
export function parseRedisAddress(text: string): RedisAddress | null {
  if (/^rediss?:\/\//.test(text)) return URL.canParse(text) ? { kind: 'single', url: text } : null
  const found = SEVERAL.exec(text)?.groups
  if (!found) return null
  const { tls, user, password, hosts = '', master, db } = found
  const kind = found.kind as 'sentinel' | 'cluster'
  const nodes = hosts.split(',').map(host => nodeOf(host, DEFAULT_PORT[kind]))
  const credentials = { username: decoded(user), password: decoded(password) }
  if (!nodes.every(node => node !== null) || Object.values(credentials).includes(null)) return null
  const access: Access = {
    ...(credentials.username && { username: credentials.username }),
    ...(credentials.password && { password: credentials.password }),
    isTls: tls === 's',
  }
  if (kind === 'cluster') return master === undefined ? { kind, nodes, ...access } : null
  return master === undefined ? null : { kind, sentinels: nodes, master, db: Number(db ?? 0), ...access }
}

/** Where the queue is, without user and password: the same place has the same text, however its address is written. */
export function redisPlace(text: string): string {
  const address = parseRedisAddress(text)
  const places = (nodes: Node[]) =>
    nodes
      .map(({ host, port }) => `${host.toLowerCase()}:${port}`)
      .sort()
      .join(',')
  if (address?.kind === 'sentinel') return `${places(address.sentinels)}/${address.master}/${address.db}`
  if (address?.kind === 'cluster') return places(address.nodes)
  const { hostname, port, pathname } = new URL(text)
  return `${hostname.toLowerCase()}:${port || DEFAULT_PORT.single}/${pathname.slice(1) || 0}`
}

function nodeOf(text: string, defaultPort: number): Node | null {
  const { host, port } = HOST.exec(text)?.groups ?? {}
  if (host === undefined || Number(port ?? 0) > 65_535) return null
  return { host: host.replace(/^\[|\]$/g, ''), port: port === undefined ? defaultPort : Number(port) }
}

/** Null: it is not percent-encoded as it should be. */
function decoded(text: string | undefined): string | null | undefined {
  if (text === undefined) return undefined
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}
