import { expect, test } from 'vitest'
import { fieldsOf } from '../../src/cli/operation-fields.ts'
import type { Operation } from '../../src/platform/operation.ts'
import { OPERATIONS } from '../../src/platform/operations/index.ts'
import { dirsync, wideLines } from './dirsync.ts'

const operations = Object.values(OPERATIONS) as Operation[]

test.each(operations)('$name: every field says what it means', operation => {
  for (const { name, meaning } of fieldsOf(operation)) expect(meaning, name).not.toBe('')
})

test('required fields come first', () => {
  const fields = fieldsOf(OPERATIONS['taxpayer/findList'] as Operation)
  expect(fields[0]).toMatchObject({ name: 'identifier', required: true })
  expect(fields.slice(1).every(field => !field.required)).toBe(true)
})

test('help tells meanings, defaults and rules about several fields', async () => {
  const { stdout } = await dirsync(['platform', '/employee/openid', '--help'])
  expect(stdout).toMatch(/--userid +required; user id of the employee, such as e10172/)
  expect(stdout).toMatch(/--third_type +kind of integration, from 1 to 5 \(default 5, standard\)/)
  const help = await dirsync(['platform', 'employee/get', '--help'])
  expect(help.stdout).toContain('Give at least one of userid, mobile and email.')
})

test('help of an operation that moves money names its fields, down to nested ones, and says so', async () => {
  const help = await dirsync(['platform', 'seller/v3/pay/syncRefund', '--help'])
  expect(help).toMatchObject({ code: 0, stderr: '' })
  expect(help.stdout).toMatch(/^ {2}--refundAmount +required; amount to refund, such as 12\.50$/m)
  expect(help.stdout).toMatch(/^tradeInfo\.thirdOrders\.goodsDetail:\n {2}skuCode, skuName, /m)
  expect(help.stdout).toMatch(/^In price-difference mode, give costAmount or tradeInfo\. /m)
  expect(help.stdout).toMatch(/^It moves money\./m)
  expect(wideLines(help.stdout)).toEqual([])
})
