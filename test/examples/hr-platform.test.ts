import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Emulator, startEmulator } from '../../emulator/emulator.ts'
import type { PlatformEmployee } from '../../examples/hr/generator/people.ts'
import { toActual, toDesired } from '../../src/directory/desired.ts'
import { diffEmployee, type FieldUnit, updateParams } from '../../src/directory/difference.ts'
import { EMPLOYEE_FIELDS, type EmployeeField, keyText } from '../../src/directory/employee.ts'
import { controlOf } from '../helpers/emulator-control.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import {
  type Expected,
  type ExpectedEmployee,
  type Row,
  type Seed,
  sampleFile,
  sampleJson,
  textRows,
} from './sample.ts'

/** Plays the first sync by hand: each planted case meets the answer of the platform that the README promises. */

const APP = { appId: 'app_sample', appSecret: 'secret_sample' }
const CODES: Record<string, number> = {
  duplicate_work_number: 1002219003,
  duplicate_email: 1002218004,
  duplicate_mobile: 1002218007,
  missing_department: 1000220010,
  invalid_document: 1002219046,
  invalid_mobile_area: 1002219069,
  level: 1000220030,
  category: 1000210028,
  employee_attribute: 1000220072,
  no_permission: 1002200106,
  base_department: 1002212002,
}

interface Answer {
  code: number
  data: Record<string, unknown> | null
}

const expected = await sampleJson<Expected>('expected.json')
const seed = await sampleJson<Seed>('platform.json')
let emulator: Emulator
let rows: Map<string, Row>
let columns: string[]
let accessToken = ''

beforeAll(async () => {
  await using database = await createTestDatabase()
  await database.pool.query(await sampleFile('schema.sql'))
  await database.pool.query(await sampleFile('data.sql'))
  const mapped = await textRows(database.pool, await sampleFile('employees.sql'))
  columns = mapped.columns
  rows = new Map(mapped.rows.map(row => [keyOf(row), row]))
  emulator = await startEmulator({ ...APP, strict: true, seed })
  const token = await call('token/create', {})
  accessToken = String(token.data?.access_token)
})
afterAll(() => emulator?.close())

function keyOf(row: { enterprise_code?: string | null; userid?: string | null }): string {
  return keyText({ enterpriseCode: row.enterprise_code ?? '', userid: row.userid ?? '' })
}

async function call(operation: string, parameters: Record<string, string>): Promise<Answer> {
  const all: Record<string, string> = {
    ...parameters,
    appid: APP.appId,
    timestamp: String(Math.floor(Date.now() / 1000)),
    ...(accessToken && { access_token: accessToken }),
  }
  const signed = Object.entries({ ...all, appsecret: APP.appSecret })
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}=${value.trim()}`)
    .sort()
  const body = new URLSearchParams({ ...all, sign: hash('sha256', signed.join('&')) })
  const response = await fetch(`${emulator.url}/${operation}`, { method: 'POST', body })
  expect(response.status).toBe(200)
  return (await response.json()) as Answer
}

const state = () => controlOf(emulator.url)<Seed>('GET', 'state')

function get({ enterprise_code, userid }: ExpectedEmployee): Promise<Answer> {
  return call('employee/get', { enterprise_code, userid })
}

/** Sends what differs, but for the units held back, and returns the platform's code; null: nothing to send. */
async function send(planted: ExpectedEmployee, heldBack: (string | null)[] = []): Promise<number | null> {
  const result = toDesired(rows.get(keyOf(planted)) ?? {}, columns)
  if (!result.ok) throw new Error(`${planted.userid} has an invalid row`)
  const answer = await get(planted)
  const actual = toActual(answer.data ?? {})
  const differing = diffEmployee({ desired: result.desired, actual, acknowledged: {} })
  const units = differing.filter((each: FieldUnit) => !heldBack.includes(each.unit))
  if (units.length === 0) return null
  return (await call('employee/update', updateParams(result.desired, actual, units))).code
}

const employeeCases = (outcome: string) => expected.employee_cases.filter(each => each.outcome === outcome)
const named = (name: string) => expected.employee_cases.filter(each => each.case === name)

describe('the emulator with the sample', () => {
  test('holds the seed as it is written', async () => {
    const held = await state()
    const enterprises = held.enterprises.filter(each => each.enterprise_code !== '')
    expect(enterprises).toEqual(seed.enterprises)
    expect(held.departments).toHaveLength(seed.departments.length)
    expect(held.employees).toHaveLength(seed.employees.length)
    const byKey = new Map(held.employees.map(employee => [keyOf(employee), employee]))
    for (const employee of seed.employees) expect(byKey.get(keyOf(employee))).toMatchObject(employee)
  })

  test('rejects exactly the planted field of each trouble, and takes the rest', async () => {
    const troubles = expected.employee_cases.filter(
      each =>
        ['dead_lettered', 'partly_updated'].includes(each.outcome) &&
        each.dead_letters.every(letter => letter.category !== 'invalid_hr_row'),
    )
    for (const trouble of troubles) {
      const fields = trouble.dead_letters.map(letter => letter.field)
      for (const { category, field } of trouble.dead_letters) {
        const others = fields.filter(each => each !== field)
        expect([trouble.case, await send(trouble, others)]).toEqual([
          trouble.case,
          CODES[category] ?? CODES[field ?? ''],
        ])
      }
      const rest = trouble.outcome === 'partly_updated' ? 0 : null
      expect([trouble.case, await send(trouble, fields)]).toEqual([trouble.case, rest])
    }
  })

  test('names the holder of a duplicate mobile', async () => {
    const [trouble] = named('mobile of a colleague')
    const wanted = rows.get(keyOf(trouble ?? {}))
    const answer = await call('employee/get', {
      enterprise_code: 'E100',
      mobile: wanted?.mobile ?? '',
      mobile_area: wanted?.mobile_area ?? '',
    })
    expect(answer.data?.userid).toBe(trouble?.other_userid)
  })

  test('takes every ordinary difference, a mobile once its holder has given it up, and then equals HR', async () => {
    const updates = employeeCases('updated')
    const refused: string[] = []
    for (const update of updates) {
      const code = await send(update)
      if (code !== 0) refused.push(`${update.userid} ${code}`)
    }
    const taker = updates.find(each => each.other_userid !== undefined)
    expect(refused).toEqual([`${taker?.userid} ${CODES.duplicate_mobile}`])
    expect(taker && (await send(taker))).toBe(0)

    const held = new Map((await state()).employees.map(employee => [keyOf(employee), employee]))
    const inSync = [...rows.values()].filter(row => {
      const planted = expected.employee_cases.find(each => keyOf(each) === keyOf(row))
      return planted === undefined || ['in_sync', 'updated'].includes(planted.outcome)
    })
    expect(inSync).toHaveLength((expected.employees.in_sync ?? 0) + (expected.employees.updated ?? 0))
    for (const row of inSync) {
      const employee = held.get(keyOf(row))
      expect([row.userid, employee && unlike(row, employee)]).toEqual([row.userid, []])
    }
  })

  test('does not find who is not added, not in service or left', async () => {
    const codeOf = async (name: string) => {
      const [planted] = named(name)
      return planted && (await get(planted)).code
    }
    expect(await codeOf('not added on the platform')).toBe(1000220096)
    expect(await codeOf('out of service on the platform')).toBe(1000220102)
    expect(await codeOf('left, and still in service on the platform')).toBe(0)
    expect(await codeOf('left, and out of service on the platform')).toBe(1000220102)
    expect(await codeOf('enterprise that is not bound')).toBe(1000240002)
  })

  test('answers each deletion of a department as planted', async () => {
    for (const { enterprise_code, dept_code, outcome, category } of expected.department_cases) {
      if (outcome === 'kept') continue
      const { code } = await call('department/delete', { enterprise_code, dept_code })
      const promised = outcome === 'already_gone' ? 1000220010 : (CODES[category ?? ''] ?? 0)
      expect([dept_code, code]).toEqual([dept_code, promised])
    }
  })
})

/** Fields in which the platform's own state is unlike HR, the write-only ones included. */
function unlike(row: Row, employee: PlatformEmployee): EmployeeField[] {
  const result = toDesired(row, columns)
  if (!result.ok) throw new Error(`${row.userid} has an invalid row`)
  const actual = toActual(employee)
  const { cost_center_id, employee_attribute } = employee
  if (cost_center_id) actual.cost_center_id = String(cost_center_id)
  if (employee_attribute) actual.employee_attribute = JSON.stringify(employee_attribute)
  const canBeCleared = ['remark', 'birth_day', 'entry_day', 'level', 'category']
  return EMPLOYEE_FIELDS.filter(field => {
    const wanted = result.desired.fields[field] ?? null
    const held = actual[field] ?? null
    if (wanted === null) return held !== null && canBeCleared.includes(field)
    if (field === 'corp_code') return wanted.toLowerCase() !== held?.toLowerCase()
    if (field === 'birth_day' && wanted.length === 5) return wanted !== held?.slice(5)
    return wanted !== held
  })
}
