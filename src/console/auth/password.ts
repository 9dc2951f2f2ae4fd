import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { message } from '../../texts/message.ts'
import { BoundedLine } from '../bounded-line.ts'
import { AccessError } from './failure.ts'

/** Password rules and hashing. */

const MIN_PASSWORD = 12
const MAX_PASSWORD = 256

/**
 * The cost of one attempt: 32 MiB and about a sixth of a second (OWASP's second choice). Each hash records its own
 * parameters.
 */
const COST = { ln: 15, r: 8, p: 3 }
const KEY_BYTES = 32
const FORMAT = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([\w-]{22,})\$([\w-]{43})$/

/**
 * Node.js runs scrypt on four threads that files and DNS need too, so two at a time. Beyond 24 in line, the wait
 * would exceed two seconds.
 */
const line = new BoundedLine(2, 24)

/**
 * Hashes a password for storage.
 * @throws AccessError if it is too short or too long
 */
export async function hashPassword(password: string): Promise<string> {
  const length = [...password].length
  if (length < MIN_PASSWORD || length > MAX_PASSWORD)
    throw new AccessError(
      'ACCESS_INVALID',
      message('said.password_length', { min: MIN_PASSWORD, max: MAX_PASSWORD, count: length }),
      'password',
    )
  const salt = randomBytes(16)
  const { ln, r, p } = COST
  const key = await derive(password, salt, COST)
  return `$scrypt$ln=${ln},r=${r},p=${p}$${salt.toString('base64url')}$${key.toString('base64url')}`
}

/** Compared when there is no user or no password, so that the answer takes as long as for an existing user. */
const DUMMY_HASH = `$scrypt$ln=${COST.ln},r=${COST.r},p=${COST.p}$${'A'.repeat(22)}$${'A'.repeat(43)}`

/**
 * Whether the password matches the hash.
 * @param hash null if there is no such user: takes the same time, and is never true
 * @throws BusyError
 */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const [, ln, r, p, salt = '', key = ''] = FORMAT.exec(hash ?? DUMMY_HASH) ?? []
  if (ln === undefined) throw new TypeError('a password hash has an unknown form')
  const cost = { ln: Number(ln), r: Number(r), p: Number(p) }
  const derived = await derive(password, Buffer.from(salt, 'base64url'), cost)
  return timingSafeEqual(derived, Buffer.from(key, 'base64url')) && hash !== null
}

const deriveKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** Runs scrypt, a few at a time, so that many sign-ins exhaust neither memory nor threads. */
function derive(password: string, salt: Buffer, { ln, r, p }: typeof COST): Promise<Buffer> {
  const options = { N: 2 ** ln, r, p, maxmem: 256 * 2 ** ln * r }
  // The same character may be typed in two ways: é is one character on one keyboard, two on another.
  return line.run(() => deriveKey(password.normalize('NFKC'), salt, KEY_BYTES, options))
}
