import { BlockList, isIP } from 'node:net'
import { z } from 'zod'
import { ACCESS_ROLES, type AccessRole } from '../console/auth/viewer.ts'
import { folderProblem } from '../hr/files/settings.ts'
import { addressProblem } from '../hr/mysql/address.ts'
import { isAddress, isEncodedAddress } from '../lib/text.ts'
import { OPERATION_NAMES } from '../platform/operation.ts'
import { parseRedisAddress } from '../queue/redis-address.ts'
import { type Message, type MessageValue, message, saidBySchema, worded } from '../texts/message.ts'

/** The kinds of settings: from the text of a variable to its value. Their descriptions are in docs/settings.md. */

export const anyText = z.string().describe('text')
/** What a header can carry after Bearer. */
export const bearerText = z
  .string()
  .regex(/^[!-~]+$/, worded('said.wanted_token'))
  .describe('text')
export const path = z.string().describe('path')
export const host = z.string().describe('host')
export const atMost = (limit: number) =>
  z.string().max(limit, worded('said.wanted_at_most', { limit })).describe(`at most ${limit} characters`)
/** A folder has no host. */
const beginning = (protocol: string) => (protocol === 'files' ? 'files:/' : `${protocol}://`)
export const url = (...protocols: string[]) =>
  z
    .string()
    // What is wrong with the path of a folder, its own check says.
    .refine(text => text.startsWith('files:/') || isEncodedAddress(text), {
      error: worded('said.wanted_encoded_password'),
      abort: true,
    })
    .refine(text => isAddress(text, protocols.map(beginning)), {
      error: worded('said.wanted_address', {
        beginning: joinedValues('said.either', protocols.map(beginning)),
      }),
      abort: true,
    })
    .describe(`address, ${protocols[0]}://…`)
/** The address of Redis, which may name several servers. */
export const redisAddress = z
  .string()
  .refine(text => !/^rediss?:/.test(text) || isEncodedAddress(text), {
    error: worded('said.wanted_encoded_password'),
    abort: true,
  })
  .refine(text => parseRedisAddress(text) !== null, { error: worded('said.wanted_redis') })
  .describe('address, redis://… or redis+sentinel://… or redis+cluster://…')
/** The address of an HR system. */
export const hrAddress = url('postgres', 'postgresql', 'mysql', 'mariadb', 'files')
  .superRefine((text, context) => {
    if (!URL.canParse(text)) return
    const isMysql = /^(?:mysql|mariadb):/.test(text)
    const isFolder = text.startsWith('files:/')
    const problem = isMysql ? addressProblem(text) : isFolder ? folderProblem(text) : null
    if (problem) context.addIssue(JSON.stringify(problem))
  })
  .describe('address, postgres://… or mysql://… or files:/…')
export const number = (min: number, max: number, otherwise: '' | 'off' | 'auto' = '') =>
  z
    .string()
    .regex(/^-?\d+(\.\d+)?$/, orElse(message('said.wanted_number'), otherwise))
    .transform(Number)
    .refine(value => value >= min && value <= max, {
      error: orElse(message('said.wanted_between', { min, max }), otherwise),
      abort: true,
    })
    .describe(`number, ${min} to ${max}${otherwise && `, or ${otherwise}`}`)
const orElse = (wanted: Message, otherwise: string) =>
  JSON.stringify(otherwise === '' ? wanted : message('said.wanted_or', { wanted, otherwise }))
export const integer = (min: number, max: number) =>
  number(min, max)
    .refine(Number.isInteger, { error: worded('said.wanted_integer') })
    .describe(`whole number, ${min} to ${max}`)
/** A threshold of an alert rule; null if the rule is switched off. */
export const figureOrOff = (min: number, max: number) =>
  number(min, max, 'off')
    .or(z.literal('off').transform(() => null))
    .describe(`number, ${min} to ${max}, or off`)
export const choice = <const Values extends readonly string[]>(...values: Values) =>
  z.enum(values).describe(values.join(', '))
export const flag = choice('true', 'false')
  .transform(value => value === 'true')
  .describe('true, false')
/** A text that `parse` understands, which gives null for any other. */
export const parsed = <Value>(parse: (text: string) => Value | null, wanted: string) =>
  z.string().transform((given, context) => {
    const value = parse(given)
    if (value !== null) return value
    context.addIssue(wanted)
    return z.NEVER
  })
/** A language tag, or a locale's name: `zh`, `zh-Hans-CN`, `zh_CN.UTF-8`. */
export const language = z
  .string()
  .regex(/^(?:zh|en)(?:[-_.@].*)?$|^(?:C|POSIX)(?:\..*)?$/i, {
    error: worded('said.wanted_language'),
    abort: true,
  })
  .transform(tag => (/^zh/i.test(tag) ? 'zh-CN' : 'en'))
  .describe('en, zh-CN')
/** A setting without a default; null when unset. */
export const optional = <Type extends z.ZodType>(type: Type) =>
  type.or(z.undefined().transform(() => null)).describe(type.description ?? 'text')
export const list = z.string().transform(text => [
  ...new Set(
    text
      .split(',')
      .map(item => item.trim())
      .filter(Boolean),
  ),
])

/** Calls per second by operation, from items such as `employee/get=20`. */
export function operationLimits(items: string[], context: z.RefinementCtx): Map<string, number> {
  const limits = new Map<string, number>()
  for (const item of items) {
    const [operation = '', rate = ''] = item.split('=').map(part => part.trim())
    const parsed = number(0.01, 100_000).safeParse(rate)
    const flaw = (OPERATION_NAMES as readonly string[]).includes(operation)
      ? parsed.error &&
        worded('said.wanted_of', {
          what: operation,
          wanted: saidBySchema(parsed.error.issues[0]?.message ?? ''),
        })
      : worded('said.wanted_operations', { names: OPERATION_NAMES })
    if (flaw) context.addIssue(flaw)
    else limits.set(operation, parsed.data as number)
  }
  return limits
}

/** The roles that the values of a claim grant, from a text such as `groups:dirsync-admins=admin,hr=reviewer`. */
export interface ClaimRoles {
  /** Name of the claim; a nested one has a dot, such as `realm_access.roles`. */
  claim: string
  /** Role by value of the claim. */
  roles: ReadonlyMap<string, AccessRole>
}

/** Two pairs with something else than a comma between them. */
const TWO_PAIRS = new RegExp(`=\\s*(?:${ACCESS_ROLES.join('|')})[\\s;，；、|]`)

export function claimRoles(text: string): ClaimRoles | null {
  // The name of a claim may be a URL, and so contain a colon.
  const [, claim = '', pairs = ''] = /^((?:https?:\/\/)?[^:]+):(.+)$/.exec(text) ?? []
  const roles = new Map<string, AccessRole>()
  for (const pair of pairs.split(',')) {
    const [, value, role] = /^(.*[^\s=])\s*=\s*(\w+)$/.exec(pair.trim()) ?? []
    const known = ACCESS_ROLES.find(name => name === role)
    if (value === undefined || known === undefined || TWO_PAIRS.test(value)) return null
    roles.set(value, known)
  }
  return { claim: claim.trim(), roles }
}

/** An address, or a range such as 10.0.0.0/8. */
export function isRange(text: string): boolean {
  const [address = '', bits, ...rest] = text.split('/')
  const family = isIP(address)
  if (family === 0 || rest.length > 0) return false
  if (bits === undefined) return true
  if (!/^\d{1,3}$/.test(bits)) return false
  try {
    new BlockList().addSubnet(address, Number(bits), family === 4 ? 'ipv4' : 'ipv6')
    return true
  } catch {
    return false
  }
}

/** HTTP headers from a text such as `authorization=Bearer%20abc,x-tenant=7`, as the OpenTelemetry standard writes them. */
export function httpHeaders(text: string): ReadonlyMap<string, string> | null {
  const headers = new Map<string, string>()
  for (const pair of text.split(',')) {
    const [, name, value] = /^\s*([!#$%&'*+.^`|~\w-]+)\s*=\s*(.*?)\s*$/.exec(pair) ?? []
    const decoded = value === undefined ? null : decode(value)
    if (name === undefined || decoded === null || !/^[\t\x20-\x7e]*$/.test(decoded)) return null
    headers.set(name, decoded)
  }
  return headers
}

/** Null for invalid percent-encoding. */
function decode(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

/** Several values as one. */
export function joinedValues(
  key: 'said.either' | 'said.both',
  [first = '', ...rest]: MessageValue[],
): MessageValue {
  return rest.reduce((one, other) => message(key, { one, other }), first)
}
