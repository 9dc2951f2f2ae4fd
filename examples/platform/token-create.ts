import { connect } from './connect.ts'

/** Create an access token (4.1). Every other call does so by itself when necessary. */
await using client = connect()
const { expires_in } = await client.tokens.create()
console.log({ expires_in })
