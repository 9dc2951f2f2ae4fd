import { expect, test } from 'vitest'
import { fieldsIn, fieldsOf, type OperationField, rulesIn } from '../../src/cli/operation-fields.ts'
import type { Operation } from '../../src/platform/operation.ts'
import { OPERATIONS } from '../../src/platform/operations/index.ts'

const operations = Object.values(OPERATIONS) as Operation[]

/** The field and those of the objects that it holds. */
const withInner = (field: OperationField): OperationField[] => [
  field,
  ...(field.object ? fieldsIn(field.object).flatMap(withInner) : []),
]

test.each(operations)('$name: every field tells its type and limits in words', operation => {
  for (const { name, rule } of fieldsOf(operation).flatMap(withInner))
    expect(rule, name).toMatch(
      /^(?:text\b|JSON text: |a (?:date|decimal|whole number|third type|mainland|JSON list)\b|1 |\d)/,
    )
})

test('required fields come first, defaults are told', () => {
  const fields = fieldsOf(OPERATIONS['taxpayer/findList'] as Operation)
  expect(fields[0]).toMatchObject({ name: 'identifier', required: true })
  expect(fields.slice(1).every(field => !field.required)).toBe(true)
  expect(fields.find(field => field.name === 'page_size')?.rule).toBe(
    'a whole number from 1 to 100; default 50',
  )
})

test('rules across fields are sentences', () => {
  expect(rulesIn(OPERATIONS['enterprise/account/applyCharge'].request)).toEqual([
    'It needs one of taxpayer and identifier.',
  ])
})
