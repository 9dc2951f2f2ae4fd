import type { z } from 'zod'

/** One operation of the specification's section 4, as data. */
export interface Operation<
  Name extends string = string,
  Request extends z.ZodObject = z.ZodObject,
  Response extends z.ZodType = z.ZodType,
> {
  /** The path without its leading slash. */
  readonly name: Name
  /** How the business parameters travel in the body. (A JSON body would be signed as the parameter `_body`.) */
  readonly encoding: 'form'
  /** Whether doing it twice has the effect of doing it once. */
  readonly idempotent: boolean
  /** Whether the call carries the access token; token creation alone does not. */
  readonly token: boolean
  /** Parameters that an explicit empty text clears: sent empty, not signed. Empty texts of others are not sent. */
  readonly clearedByEmpty: readonly string[]
  /** Business parameters: texts, with the specification's limits. */
  readonly request: Request
  /** The envelope's `data`. Unknown fields are ignored; null and absent ones are no error. */
  readonly response: Response
}

/** Names the operation's types after its schemas. */
export function defineOperation<
  const Name extends string,
  Request extends z.ZodObject,
  Response extends z.ZodType,
>(
  operation: Pick<Operation<Name, Request, Response>, 'name' | 'idempotent' | 'request' | 'response'> &
    Partial<Pick<Operation, 'token' | 'clearedByEmpty'>>,
): Operation<Name, Request, Response> {
  return { encoding: 'form', token: true, clearedByEmpty: [], ...operation }
}
