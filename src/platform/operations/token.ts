import { z } from 'zod'
import { defineOperation } from '../operation.ts'

const tokenWith = <Seconds extends z.ZodType>(expires_in: Seconds) =>
  z.object({ access_token: z.string().min(1), expires_in })
const accessToken = tokenWith(z.coerce.number().positive())

/** Create an access token (section 4.1). `appid`, `timestamp`, `grant_type`, `version` and `sign` are added by the client. */
export const tokenCreate = defineOperation({
  name: 'token/create',
  idempotent: true,
  token: false,
  request: z.strictObject({}),
  response: accessToken,
})

/** Query the access token in use (section 4.2). */
export const tokenInfo = defineOperation({
  name: 'token/getTokenInfo',
  idempotent: true,
  perMinute: 60,
  request: z.strictObject({}),
  // What is left of its life, which may be nothing.
  response: tokenWith(z.coerce.number().nonnegative()),
})

/** A token and its validity in seconds (section 2.2). */
export type TokenAnswer = z.output<typeof accessToken>
