import { hash } from 'node:crypto'

/** Hash functions that the platform's published clients offer; the specification says SHA-256 (section 5). */
export const SIGN_ALGORITHMS = ['sha256', 'sha1', 'sha512'] as const

export type SignAlgorithm = (typeof SIGN_ALGORITHMS)[number]

/**
 * Signature of a call or a notification, in lower-case hex.
 * @param parameters every parameter of query string and body except `sign`; a JSON body, byte for byte as sent, is the
 *   parameter `_body`. Parameters without a value are left out.
 */
export function sign(
  parameters: Readonly<Record<string, string | undefined>>,
  appSecret: string,
  algorithm: SignAlgorithm,
): string {
  const values = { ...parameters, appsecret: appSecret }
  return digest(signatureInput(Object.keys(values).sort(), values), algorithm)
}

/**
 * The text that is hashed: `name=value` joined with `&`, values raw and trimmed, parameters without a value left out.
 * @param sortedNames names in code-unit order, `appsecret` among them; more names than there are values do no harm
 */
export function signatureInput(
  sortedNames: readonly string[],
  values: Readonly<Record<string, string | undefined>>,
): string {
  let text = ''
  for (const name of sortedNames) {
    const value = values[name]?.trim()
    if (value) text += text === '' ? `${name}=${value}` : `&${name}=${value}`
  }
  return text
}

/** Hashes the UTF-8 bytes of a signature's text. */
export function digest(input: string, algorithm: SignAlgorithm): string {
  return hash(algorithm, input, 'hex')
}
