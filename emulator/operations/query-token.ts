import { defineOperation } from '../operation.ts'

/** Query token (specification 4.2): what is left of the token that the call carries. At most 60 per minute. */
export const queryToken = defineOperation({
  name: 'token/getTokenInfo',
  encoding: 'form',
  takesToken: true,
  limit: 'tokenQueries',
  parameters: object => object({}),
  perform: (platform, _parameters, { accessToken }) => ({
    data: { access_token: accessToken, expires_in: platform.tokens.require(accessToken) },
  }),
})
