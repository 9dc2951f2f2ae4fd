import { connect, enterprise_code } from './connect.ts'

/** Bind, or find, an employee's open id for a merchant application (4.5). */
await using client = connect()
const binding = await client.employees.openid({
  userid: process.argv[2] ?? 'e10001',
  enterprise_code,
  seller_appid: '20000001',
})
console.log(binding.open_userid)
