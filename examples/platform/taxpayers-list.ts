import { connect, enterprise_code } from './connect.ts'

/** The taxpayers of an identification number (4.13). */
await using client = connect()
const identifier = process.argv[2]
if (identifier === undefined) throw new Error('usage: taxpayers-list.ts IDENTIFIER')
for await (const { taxpayer_name, status } of client.taxpayers.list({ identifier, enterprise_code }))
  console.log(taxpayer_name, status)
