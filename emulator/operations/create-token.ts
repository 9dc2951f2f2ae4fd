import { defineOperation } from '../operation.ts'

/** Create token (specification 4.1): at most 60 per hour. */
export const createToken = defineOperation({
  name: 'token/create',
  encoding: 'form',
  takesToken: false,
  limit: 'tokenCreations',
  parameters: object => object({}),
  perform: platform => ({ data: platform.tokens.create() }),
})
