import { expect, test } from 'vitest'
import { previewOf } from '../../../src/console/employees/compared.ts'

test('nothing would be sent where the platform has another person', () => {
  const row = {
    enterprise_code: '',
    userid: 'e1',
    active: 'true',
    name: 'Li Si',
    card_no: '110105198001010016',
  }
  const preview = (actual: { name: string; card_type: string; card_no: string }) =>
    previewOf(row, actual).fields.map(({ field, status, note }) => [field, status, note?.key])
  const former = { name: 'Zhang San', card_type: '1', card_no: '11010519491231002X' }
  const why = ['held_back', 'said.another_person_unsent']
  expect(preview(former)).toEqual([
    ['name', ...why],
    ['card_type', ...why],
    ['card_no', ...why],
  ])
  expect(preview({ ...former, name: 'Li Si' })).toContainEqual(['card_no', 'to_send', undefined])
})

test('of an invalid row each other value is shown masked as it would be sent, in whatever form HR has it', () => {
  const row = {
    ...{ enterprise_code: '', userid: 'e1', active: 'true', gender: '9', birth_day: '1990-05-17 00:00:00' },
    ...{
      mobile: '+86 138 1234 5678',
      employee_attribute: '[{"attributeCode": "nature", "attributeValue": "x"}]',
    },
  }
  const preview = previewOf(row, null)
  expect(preview.hr).toBe('invalid')
  expect(preview.fields.map(({ field, hr, status }) => [field, hr, status])).toEqual([
    ['gender', '**** (1)', 'invalid'],
    ['mobile', '138****5678', 'unknown'],
    ['birth_day', '****-05-17', 'unknown'],
    ['employee_attribute', 'nature=***', 'unknown'],
  ])
})
