import { describe, expect, test } from 'vitest'
import { departmentMapping, employeeMapping } from '../../src/hr/mapping.ts'
import { shapeOf } from '../../src/hr/postgres/query.ts'
import { MappingError } from '../../src/hr/source.ts'

const columns = (text: string) =>
  text.split(' ').map(part => {
    const [name = '', type = 'text'] = part.split(':')
    return { name, type, shape: shapeOf(type) }
  })

function employees(text: string) {
  return employeeMapping('employees.sql', 'select', columns(text))
}

function refusal(check: () => unknown): string {
  try {
    check()
  } catch (error) {
    expect(error).toBeInstanceOf(MappingError)
    expect(error).toMatchObject({ code: 'MAPPING_COLUMNS' })
    return (error as Error).message
  }
  throw new Error('the mapping was accepted')
}

describe('the employees’ mapping', () => {
  test('has its managed fields in canonical order, whatever the order of its columns', () => {
    expect(employees('mobile email userid name updated_at:timestamptz').fields).toEqual([
      'name',
      'email',
      'mobile',
    ])
  })

  test('may call the work number code', () => {
    const mapping = employees('userid code')
    expect(mapping.fields).toEqual(['corp_code'])
    expect(mapping.columns.get('corp_code')).toEqual({ source: 'code', type: 'text' })
  })

  test.each([
    ['name', 'column userid is missing'],
    ['userid active:bool', 'no employee field is mapped'],
    ['userid name name', 'column "name" occurs 2 times'],
    ['userid name salary', 'unknown column "salary"'],
    ['userid name third_type', 'unknown column "third_type"'],
    ['UserId name', 'unknown column "UserId" (write userid in small letters)'],
    ['userid name ?column?', 'unknown column "?column?" (an expression without "as")'],
    ['userid code corp_code', 'code and corp_code are both mapped'],
    ['userid name mobile_area', 'mobile_area is mapped without mobile'],
    ['userid name card_type', 'card_type is mapped without card_no'],
    ['userid name:_text', 'column name cannot be of type text[]'],
    ['userid name:jsonb', 'column name cannot be of type jsonb'],
    ['userid name updated_at', 'column updated_at cannot be of type text (it must be a timestamp or a date)'],
  ])('with the columns %j is refused', (text, problem) => {
    const message = refusal(() => employees(text))
    expect(message).toContain(`employees.sql: `)
    expect(message).toContain(problem)
    expect(message).toContain('Columns may be: enterprise_code, userid, active, updated_at, name, corp_code')
  })

  test('reports all its problems at once', () => {
    const message = refusal(() => employees('name name wage'))
    expect(message).toContain('"name" occurs 2 times; unknown column "wage"; column userid is missing')
  })

  test('takes categories as an array or JSON, and extended fields as JSON', () => {
    expect(employees('userid category:_varchar employee_attribute:jsonb').fields).toHaveLength(2)
    expect(employees('userid category:json employee_attribute:text').fields).toHaveLength(2)
  })
})

describe('the departments’ mapping', () => {
  const departments = (text: string) => departmentMapping('departments.sql', 'select', columns(text))

  test('needs code, parent and active', () => {
    expect([...departments('dept_code parent_code active:bool closed_at:date').columns.keys()]).toHaveLength(
      4,
    )
    expect(refusal(() => departments('enterprise_code'))).toContain(
      'column dept_code is missing; column parent_code is missing; column active is missing',
    )
    expect(refusal(() => departments('dept_code parent_code active title'))).toContain(
      'unknown column "title"',
    )
  })
})
