import { connect, enterprise_code } from './connect.ts'

/** Delete a department (4.6). */
await using client = connect()
const dept_code = process.argv[2]
if (dept_code === undefined) throw new Error('usage: department-delete.ts DEPT_CODE')
console.log(await client.departments.delete({ dept_code, enterprise_code }))
