import type { FastifyReply, FastifyRequest } from 'fastify'

/** What a browser sends and keeps: cookies, the bearer token, its address, the page to go back to. */

/** The cookies of the console, by what they carry. */
const COOKIES = { session: 'dirsync', flow: 'dirsync-sign-in' } as const
export type CookieKind = keyof typeof COOKIES

/**
 * Whether the browser reaches the console over TLS.
 * @param publicUrl CONSOLE_URL; null to trust the request
 */
export function isSecure(request: FastifyRequest, publicUrl: string | null): boolean {
  return publicUrl === null ? request.protocol === 'https' : publicUrl.startsWith('https:')
}

/**
 * The name of a cookie. Behind TLS it begins with __Host-, so that neither another host nor a page without TLS can
 * set it.
 */
function cookieName(kind: CookieKind, secure: boolean): string {
  return secure ? `__Host-${COOKIES[kind]}` : COOKIES[kind]
}

/** The value of a cookie; null if there is none, or more than one, since another site may have set the second. */
export function readCookie(request: FastifyRequest, kind: CookieKind, secure: boolean): string | null {
  const name = cookieName(kind, secure)
  const values = (request.headers.cookie ?? '')
    .split(';')
    .map(pair => pair.trim())
    .filter(pair => pair.startsWith(`${name}=`))
    .map(pair => pair.slice(name.length + 1))
  const [value] = values
  return values.length === 1 && value !== undefined && /^[\w-]{43}$/.test(value) ? value : null
}

/** @param seconds how long the browser keeps it; 0 deletes it */
export function writeCookie(
  reply: FastifyReply,
  kind: CookieKind,
  value: string,
  { secure, seconds }: { secure: boolean; seconds: number },
): void {
  const attributes = [
    'Path=/',
    `Max-Age=${seconds}`,
    'HttpOnly',
    'SameSite=Lax',
    ...(secure ? ['Secure'] : []),
  ]
  reply.header('set-cookie', [`${cookieName(kind, secure)}=${value}`, ...attributes].join('; '))
}

/**
 * The token of an Authorization header: undefined without a bearer token in it, such as where a proxy passes on the password that it
 * asked for itself; null if the header cannot be valid, for example if it was sent twice.
 */
export function bearerToken(request: FastifyRequest): string | null | undefined {
  const { authorization } = request.headers
  if (authorization === undefined) return undefined
  // Node.js keeps the first of several headers, but a proxy may have checked another one.
  const sent = request.raw.rawHeaders.filter((name, i) => i % 2 === 0 && /^authorization$/i.test(name))
  if (sent.length > 1) return null
  if (!/^Bearer(?:\s|$)/i.test(authorization)) return undefined
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? null
}

/**
 * Takes the ports from the addresses that proxies have written into X-Forwarded-For, as some do: with its port, each connection of a
 * client would be another client, and a trusted proxy none.
 */
export function dropForwardedPorts({ raw: { headers } }: FastifyRequest): void {
  const sent = headers['x-forwarded-for']
  if (typeof sent !== 'string') return
  headers['x-forwarded-for'] = sent
    .split(',')
    .map(address => address.trim().replace(/^(?:([\d.]+):\d+|\[([\da-f:.]+)\](?::\d+)?)$/i, '$1$2'))
    .join(', ')
}

/**
 * The page to show after a sign-in: always a path of this console, whatever the address asked for.
 * @param text `?to=`, which is untrusted
 */
export function localPath(text: unknown): string {
  if (typeof text !== 'string' || text.length > 2000) return '/'
  // Browsers drop control characters and read \ as /, so reject both: the path could otherwise name another host.
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  if (!text.startsWith('/') || /[\\\u0000-\u001f\u007f]/.test(text)) return '/'
  const here = 'http://console.invalid'
  if (!URL.canParse(text, here)) return '/'
  const url = new URL(text, here)
  const path = url.pathname + url.search
  return url.origin !== here || path.startsWith('//') || /^\/+(?:%2f|%5c)/i.test(path) || isSignIn(path)
    ? '/'
    : path
}

/**
 * The page of this console whose form was sent; null if the browser does not say.
 * @param publicUrl CONSOLE_URL: a proxy may have asked under another name
 */
export function cameFrom({ headers, host }: FastifyRequest, publicUrl: string | null): string | null {
  const from = URL.parse(headers.referer ?? '')
  if (!from || (from.host !== host && from.origin !== publicUrl) || from.pathname.startsWith('//'))
    return null
  return from.pathname + from.search
}

/** Whether the path is a sign-in or sign-out page: neither is a place to land after signing in. */
function isSignIn(path: string): boolean {
  return /^\/sign-(?:in|out)(?:[/?]|$)/.test(path)
}
