import { shortened } from '../../lib/text.ts'
import type { ChannelSettings } from '../channel.ts'

/** The length to which answers are cut: enough for every vendor's sentence, too short for a page. */
const KEPT = 300

const MAIL_ADDRESS = /([^\s@<>"'(),;:[\]])[^\s@<>"'(),;:[\]]*@([^\s@<>"'(),;:[\]]+)/g

/**
 * Returns a function that prepares a server's answer for display: on one line, short, with mail addresses masked, and
 * without the secrets of the settings in case the server quotes them.
 */
export function saysAnswer(settings: Pick<ChannelSettings, 'url' | 'secret'>): (text: string) => string {
  const secrets = secretsOf(settings)
  return text => {
    const line = text
      .slice(0, 10 * KEPT)
      .replace(/[\s\p{Cc}]+/gu, ' ')
      .trim()
    const clean = secrets.reduce((left, secret) => left.replaceAll(secret, '…'), line)
    return shortened(clean.replace(MAIL_ADDRESS, '$1***@$2'), KEPT).toWellFormed()
  }
}

/** Shorter parts of an address, such as `v2` or `send`, are not secret and occur in ordinary sentences. */
const SHORTEST_SECRET = 8

/**
 * Texts that must never be shown, the longest first: signing secret, password, and any part of the address that may
 * be a token.
 */
function secretsOf({ url, secret }: Pick<ChannelSettings, 'url' | 'secret'>): string[] {
  const { username, password, pathname, search, searchParams } = new URL(url)
  const userInfo = password === '' ? [] : [password, decodeURIComponent(password)]
  // The user of a mail server is not a secret; that of a webhook may be its token.
  if (/^https?:/.test(url)) userInfo.push(username, decodeURIComponent(username))
  const parts = [pathname, search.slice(1), ...pathname.split('/'), ...searchParams.values()]
  const long = parts.flatMap(part => [part, decoded(part)]).filter(part => part.length >= SHORTEST_SECRET)
  return [...new Set([secret ?? '', ...userInfo, ...long])]
    .filter(part => part !== '')
    .sort((a, b) => b.length - a.length)
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** Whether a connection failed because of a certificate. */
export function isMistrust(reason: string): boolean {
  return /certificate/i.test(reason)
}

/** What to do about a certificate of the company's own authority. */
export const TRUST_HINT = "NODE_EXTRA_CA_CERTS names a file with your own authority's certificate"
