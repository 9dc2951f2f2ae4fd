import { z } from 'zod'
import type { ObjectSchema } from './fields.ts'
import type { Encoding } from './parameters.ts'
import type { LimitName, Platform } from './platform.ts'

/** What an operation did: the envelope's `data`, and what the call log should say beside it. */
export interface Outcome {
  data: unknown
  effect?: object
  /** `data` is the whole answer, without the envelope around it. */
  bare?: boolean
}

/** The public parameters that were checked before the operation is performed. */
export interface Caller {
  /** Empty for the operation that takes no token. */
  accessToken: string
}

/** One operation of the specification, as data and one function. */
export interface Operation {
  /** The path without its leading slash. */
  name: string
  encoding: Encoding
  /** Whether the public parameter `access_token` is required (true) or unknown (false). */
  takesToken: boolean
  /** The limit on authenticated calls, if the specification sets one. */
  limit?: LimitName
  /** Reads the business parameters; anything else is ignored. */
  parameters: z.ZodType<object>
  /** The same, but anything else is refused with 1000220002. */
  strictParameters: z.ZodType<object>
  /** Checks everything, then acts. Throws `BusinessError`, and then nothing has changed. */
  perform(platform: Platform, parameters: object, caller: Caller): Outcome
}

/** Declares an operation whose `perform` gets the type of its own parameters. Most take a form and a token. */
export function defineOperation<Parameters extends z.ZodType<object>>(
  operation: Pick<Operation, 'name' | 'limit'> &
    Partial<Pick<Operation, 'encoding' | 'takesToken'>> & {
      parameters(object: ObjectSchema): Parameters
      perform(platform: Platform, parameters: z.output<Parameters>, caller: Caller): Outcome
    },
): Operation {
  const { parameters, perform, ...rest } = operation
  return {
    encoding: 'form',
    takesToken: true,
    ...rest,
    parameters: parameters(z.object),
    strictParameters: parameters(z.strictObject),
    perform: (platform, values, caller) => perform(platform, values as z.output<Parameters>, caller),
  }
}
