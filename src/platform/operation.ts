import type { z } from 'zod'
import { message } from '../texts/message.ts'
import { type ParameterProblem, parameterProblem } from './errors.ts'

/** What a request's rules need to know about its application. */
export interface Application {
  readonly appId: string
  /** Whether the merchant settles by price difference: a refund then needs `costAmount` or `tradeInfo` (section 2.9). */
  readonly priceDifferenceMode: boolean
}

/** One operation of section 4, as data. */
export interface Operation<
  Name extends string = string,
  Request extends z.ZodObject = z.ZodObject,
  Response extends z.ZodType = z.ZodType,
> {
  /** The path without its leading slash. */
  readonly name: Name
  /** How the business parameters travel in the body. A JSON body is signed as the parameter `_body`. */
  readonly encoding: 'form' | 'json'
  /** Whether repeating it has no further effect. Others are never repeated. */
  readonly idempotent: boolean
  /** Whether the call carries the access token; token creation alone does not. */
  readonly token: boolean
  /** Parameters that an explicit empty text clears: sent empty, not signed. Empty texts of others are not sent. */
  readonly clearedByEmpty: readonly string[]
  /** With a JSON body: the business parameters that still travel in the query string. */
  readonly inQuery: readonly string[]
  /** Whether it has amounts: the answer's numbers are then all read by their source text, and no number is taken for a text. */
  readonly decimals: boolean
  /** Whether the answer may come without its envelope, as section 2.1 shows it for the payment order list. */
  readonly bareAnswer: boolean
  /** Calls permitted in any minute (section 8), for an operation with its own limit. */
  readonly perMinute?: number
  /** Business parameters: texts, with the specification's limits. */
  readonly request: Request
  /** The envelope's `data`. Unknown fields are ignored; null and absent ones are no error. */
  readonly response: Response
  /**
   * Whether an answer is about what was asked for, as far as it says. A gateway that mixes up answers must not have one employee
   * compared with another, nor a top-up or a deletion taken for another.
   */
  isAbout?(request: Readonly<Record<string, string>>, answer: z.output<Response>): boolean
  /** Rules that need to know more than the request. */
  check?(request: z.output<Request>, application: Application): ParameterProblem[]
}

const DEFAULTS = {
  encoding: 'form',
  token: true,
  clearedByEmpty: [],
  inQuery: [],
  decimals: false,
  bareAnswer: false,
} as const

type Optional = keyof typeof DEFAULTS

/** Fills in the defaults, and gives the operation its types. */
export function defineOperation<
  const Name extends string,
  Request extends z.ZodObject,
  Response extends z.ZodType,
>(
  operation: Omit<Operation<Name, Request, Response>, Optional> &
    Partial<Pick<Operation<Name, Request, Response>, Optional>>,
): Operation<Name, Request, Response> {
  return { ...DEFAULTS, ...operation }
}

/** Whether a text of an answer is, as far as there is one, the one that was asked for; capitals are the platform's business. */
export function isAsked(asked: string | undefined, answered: string | null | undefined): boolean {
  if (asked === undefined || !answered) return true
  return answered.trim().toLowerCase() === asked.trim().toLowerCase()
}

/** The problems of external numbers, by field: a given one must begin with the application id. */
export function foreignNumbers(
  appId: string,
  numbers: Readonly<Record<string, string | undefined>>,
): ParameterProblem[] {
  return Object.entries(numbers)
    .filter(([, number]) => number !== undefined && !number.startsWith(appId))
    .map(([field]) => parameterProblem(field, message('said.must_begin_with_app_id')))
}

/** The operations of section 4. */
export const OPERATION_NAMES = [
  'token/create',
  'token/getTokenInfo',
  'employee/update',
  'employee/get',
  'employee/openid',
  'department/delete',
  'enterprise/consume/list',
  'enterprise/consume/get',
  'assets/limit/enterprise/get',
  'seller/v3/pay/syncRefund',
  'seller/pay/record',
  'enterprise/account/applyCharge',
  'taxpayer/findList',
] as const

export type OperationName = (typeof OPERATION_NAMES)[number]
