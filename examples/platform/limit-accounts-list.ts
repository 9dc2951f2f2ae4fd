import { connect, enterprise_code } from './connect.ts'

/** Every limit account with its balance (4.9). */
await using client = connect()
for (const { name, balance, sub_limits } of await client.limitAccounts.list({ enterprise_code }))
  console.log(name, balance, sub_limits?.length ?? 0)
