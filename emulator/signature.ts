import { hash, timingSafeEqual } from 'node:crypto'

export type SignAlgorithm = 'sha256' | 'sha1' | 'sha512'

/**
 * The signature of a set of parameters (platform notes, "Signature input"): every parameter with a value
 * except `sign`, plus `appsecret`, sorted by name in code-unit order, joined as `name=value` with `&`,
 * hashed as UTF-8, in lower-case hexadecimal.
 */
export function signature(
  parameters: ReadonlyMap<string, string>,
  appSecret: string,
  algorithm: SignAlgorithm,
): string {
  const pairs: [string, string][] = [['appsecret', appSecret]]
  for (const pair of parameters) {
    if (pair[0] !== 'sign' && pair[0] !== 'appsecret' && pair[1] !== '') pairs.push(pair)
  }
  pairs.sort((a, b) => (a[0] < b[0] ? -1 : 1))
  let text = ''
  for (const [name, value] of pairs) text += `${text === '' ? '' : '&'}${name}=${value}`
  return hash(algorithm, text, 'hex')
}

/** Compares in a time that does not depend on where the two differ. */
export function sameSignature(given: string, expected: string): boolean {
  const a = Buffer.from(given)
  const b = Buffer.from(expected)
  return a.length === b.length && timingSafeEqual(a, b)
}
