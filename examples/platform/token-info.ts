import { connect } from './connect.ts'

/** Query the token in use (4.2). */
await using client = connect()
const { expires_in } = await client.tokens.info()
console.log({ expires_in })
