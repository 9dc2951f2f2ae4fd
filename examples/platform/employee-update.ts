import { PlatformError } from 'dirsync/platform'
import { connect, enterprise_code } from './connect.ts'

/** Update an employee (4.3), and see what a refusal contains. */
await using client = connect()
const userid = process.argv[2] ?? 'e10001'
console.log(
  await client.employees.update({ userid, enterprise_code, remark: 'window seat', birth_day: '#default#' }),
)
try {
  await client.employees.update({ userid, enterprise_code, dept_code: 'no such department' })
} catch (error) {
  if (!(error instanceof PlatformError)) throw error
  console.log(error.platformCode, error.disposition)
}
