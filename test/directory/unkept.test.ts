import { describe, expect, test } from 'vitest'
import {
  diffEmployee,
  type OverwrittenHashes,
  overwrittenAfter,
  unkeptUnits,
} from '../../src/directory/difference.ts'
import type { EmployeeFields } from '../../src/directory/employee.ts'
import { type AcknowledgedHashes, hashFields } from '../../src/directory/hash.ts'

/** One look at the platform, and whether what differs is sent and accepted. */
function look(
  known: { acknowledged: AcknowledgedHashes; overwritten: OverwrittenHashes },
  wanted: EmployeeFields,
  actual: EmployeeFields,
) {
  const desired = { key: { enterpriseCode: '', userid: 'e1' }, active: true, fields: wanted }
  const differing = diffEmployee({ desired, actual, acknowledged: known.acknowledged })
  const unkept = unkeptUnits(differing, { desired, actual, ...known })
  const accepted = differing.filter(unit => !unkept.includes(unit))
  return {
    unkept: unkept.map(({ unit }) => unit),
    sent: accepted.map(({ unit }) => unit),
    acknowledged: { ...known.acknowledged, ...hashFields(wanted) },
    overwritten: overwrittenAfter(known.overwritten, { differing, accepted, actual }),
  }
}
const NOTHING = { acknowledged: {}, overwritten: {} }

describe('a value that was sent and accepted', () => {
  test('is not kept when the platform shows what it showed before', () => {
    const first = look(NOTHING, { name: 'B' }, { name: 'A' })
    expect(first).toMatchObject({ sent: ['name'], unkept: [] })
    const second = look(first, { name: 'B' }, { name: 'A' })
    expect(second).toMatchObject({ sent: [], unkept: ['name'] })
    expect(look(second, { name: 'B' }, { name: 'A' })).toMatchObject({ sent: [], unkept: ['name'] })
  })

  test('is sent again when the platform shows anything else', () => {
    const first = look(NOTHING, { name: 'B' }, { name: 'A' })
    expect(look(first, { name: 'B' }, { name: 'C' })).toMatchObject({ sent: ['name'], unkept: [] })
  })

  test('is sent again when the same edit comes after the platform was seen to have kept it', () => {
    const first = look(NOTHING, { name: 'B' }, { name: 'A' })
    const kept = look(first, { name: 'B' }, { name: 'B' })
    expect(kept.overwritten).toEqual({})
    expect(look(kept, { name: 'B' }, { name: 'A' })).toMatchObject({ sent: ['name'], unkept: [] })
  })

  test('is forgotten when HR wants another one', () => {
    const first = look(NOTHING, { name: 'B' }, { name: 'A' })
    expect(look(first, { name: 'C' }, { name: 'A' })).toMatchObject({ sent: ['name'], unkept: [] })
  })

  test('is one of the whole unit: another area code is another value', () => {
    const wanted = { mobile_area: '86', mobile: '13800000001' }
    const first = look(NOTHING, wanted, { mobile_area: '86', mobile: '13800000002' })
    expect(look(first, wanted, { mobile_area: '852', mobile: '13800000002' }).unkept).toEqual([])
    expect(look(first, wanted, { mobile_area: '86', mobile: '13800000002' }).unkept).toEqual(['mobile'])
    const abroad = { ...wanted, mobile_area: '852' }
    expect(look(first, abroad, { mobile_area: '86', mobile: '13800000002' }).unkept).toEqual([])
  })

  test('is remembered while it is not accepted anew, and only if it was before', () => {
    const actual = { name: 'A' }
    const desired = { key: { enterpriseCode: '', userid: 'e1' }, active: true, fields: { name: 'B' } }
    const attempt = { differing: diffEmployee({ desired, actual, acknowledged: {} }), accepted: [], actual }
    expect(overwrittenAfter({ name: 'hash' }, attempt)).toStrictEqual({ name: 'hash' })
    expect(overwrittenAfter({}, attempt)).toStrictEqual({})
  })

  test('tells nothing where the platform does not tell what it holds', () => {
    const first = look(NOTHING, { cost_center_id: '7', level: 'P1' }, { level: null })
    expect(first).toMatchObject({ sent: ['level', 'cost_center_id'] })
    expect(Object.keys(first.overwritten)).toEqual([])
    expect(look(first, { cost_center_id: '7', level: 'P1' }, { level: null })).toMatchObject({
      sent: [],
      unkept: [],
    })
  })
})
