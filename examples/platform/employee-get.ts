import { connect, enterprise_code } from './connect.ts'

/** Query an employee (4.4). */
await using client = connect()
const { userid, dept_code, level } = await client.employees.get({
  userid: process.argv[2] ?? 'e10001',
  enterprise_code,
})
console.log({ userid, dept_code, level })
