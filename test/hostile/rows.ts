import fc from 'fast-check'
import { toActual, toDesired } from '../../src/directory/desired.ts'
import { diffEmployee, updateParams } from '../../src/directory/difference.ts'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../../src/directory/employee.ts'
import { copyText, hashFields, isKeyless, RowHasher, rowHash } from '../../src/directory/hash.ts'
import { formOf, isMasked, maskKey, maskText, maskValue } from '../../src/directory/masking.ts'
import { csvLine } from '../../src/lib/csv.ts'
import { employeeGet, employeeUpdate } from '../../src/platform/operations/employee.ts'
import { interruptibly, type Kind, must } from './kind.ts'
import { jsonValue, text } from './texts.ts'

/*
 * An HR row as any system may hold it: through validation, comparison with what the platform answers, hashing and masking.
 */

interface HrRow {
  row: Record<string, string | null>
  columns: string[]
  /** What the platform holds of the employee, by its own word. */
  answer: unknown
  /** Where the row's bytes are cut into chunks. */
  cut: number
}

const MB = 1024 * 1024
const ALL = ['enterprise_code', 'userid', 'active', 'updated_at', ...EMPLOYEE_FIELDS]
/** These are checked together. */
const PAIRS: Partial<Record<EmployeeField, EmployeeField>> = { mobile_area: 'mobile', card_type: 'card_no' }

const LIKELY: Record<string, fc.Arbitrary<string>> = {
  active: fc.constantFrom('t', 'f', 'No', '是', ' 0', 'Ｙ', 'off'),
  gender: fc.constantFrom('1', '２', '4', '男', '01'),
  card_type: fc.constantFrom('1', '2', '３'),
  card_no: fc.constantFrom(
    '11010519491231002x',
    '１１０１０５１９４９１２３１００２Ｘ',
    'E1234 5678',
    '110105491231002',
  ),
  mobile: fc.constantFrom('13812345678', '+86 138-1234-5678', '008613812345678', '+', '00', '+852 5123 4567'),
  mobile_area: fc.constantFrom('86', '+0086', '0', '852', '+'),
  email: fc.constantFrom('a@b', 'a＠b.c', '@', 'a@b@c', 'a b@c'),
  birth_day: fc.constantFrom('1990-5-7', '02-29', '19900230', '1990/05/07 24:00', '0000-01-01'),
  entry_day: fc.constantFrom('2020.1.1', '20200101', '05-17', '10000-01-01'),
  cost_center_id: fc.constantFrom('1', '0', '2147483648', '00000000000000000001', '１２'),
  category: fc.constantFrom('b,a', '["b","a"]', '[', ',,，', '["a,b"]', '[1]', '#default#'),
}

function valueIn(column: string): fc.Arbitrary<string | null> {
  const attributes = jsonValue(['attributeCode', 'attributeValue', 'a'], 300).map(
    value => JSON.stringify(value) ?? '',
  )
  const nested = fc
    .tuple(fc.integer({ min: 1, max: 100_000 }), fc.constantFrom('[', '{"a":', '[{"attributeCode":'))
    .map(([depth, open]) => open.repeat(depth))
  return fc.oneof(
    { weight: 20, arbitrary: fc.constant(null) },
    { weight: 60, arbitrary: text(MB) },
    { weight: 60, arbitrary: LIKELY[column] ?? fc.constantFrom('a', 'A1', '甲') },
    ...(column === 'employee_attribute' || column === 'category'
      ? [
          { weight: 60, arbitrary: attributes },
          { weight: 1, arbitrary: nested },
        ]
      : []),
  )
}

const inputs = fc.record<HrRow>({
  row: fc
    .array(fc.oneof(...ALL.map(column => fc.tuple(fc.constant(column), valueIn(column)))), { maxLength: 8 })
    .map(values => ({ userid: 'u1', ...Object.fromEntries(values) })),
  columns: fc.oneof(
    fc.constant(ALL),
    fc.subarray(ALL.slice(2)).map(some => ['enterprise_code', 'userid', ...some]),
  ),
  answer: fc.oneof(
    { weight: 3, arbitrary: fc.dictionary(fc.constantFrom(...EMPLOYEE_FIELDS), text(100), { maxKeys: 5 }) },
    { weight: 1, arbitrary: jsonValue([...EMPLOYEE_FIELDS], 200) },
  ),
  cut: fc.nat(2000),
})

export const hrRows: Kind<HrRow> = {
  name: 'hr-rows',
  what: 'HR rows of up to 1 MB a value, through validation, comparison, hashing and masking',
  share: 900,
  few: 1500,
  inputs,
  async open() {
    return { meet: input => interruptibly(() => meet(input)), async [Symbol.asyncDispose]() {} }
  },
}

function meet({ row, columns, answer, cut }: HrRow): string {
  const result = toDesired(row, columns)
  hashesAlike(row, columns, cut)
  masks(row)
  if (!result.ok) {
    must(result.problems.length > 0, 'a row is refused without a problem')
    const said = JSON.stringify(result.problems)
    for (const value of Object.values(row))
      must(value === null || value.length < 24 || !said.includes(value), 'a problem quotes a value')
    return 'refused'
  }
  const { desired } = result
  const again = toDesired({ ...row, ...desired.fields }, columns)
  for (const field of EMPLOYEE_FIELDS) {
    if (desired.fields[field] === undefined || !columns.includes(PAIRS[field] ?? field)) continue
    must(
      again.ok,
      `what came out valid is refused when it goes in again: ${JSON.stringify(!again.ok && again.problems)}`,
    )
    must(again.desired.fields[field] === desired.fields[field], `${field} is another when it goes in again`)
  }
  const answered = employeeGet.response.safeParse(answer)
  const actual = answered.success ? toActual(answered.data) : {}
  const units = diffEmployee({ desired, actual, acknowledged: {} })
  if (desired.active && units.length > 0) {
    const params = updateParams(desired, actual, units)
    // A platform that holds another work number than it could ever take is not HR's fault.
    if (actual.corp_code !== undefined) delete (params as Record<string, string>).code
    const sendable = employeeUpdate.request.safeParse(params)
    must(sendable.success, `a valid row cannot be sent: ${sendable.error}`)
  }
  const settled = diffEmployee({ desired, actual: {}, acknowledged: hashFields(desired.fields) })
  must(settled.length === 0, 'what was acknowledged differs')
  return desired.active ? 'valid' : 'a leaver'
}

/** A row hashed from its bytes, in chunks, is hashed like one that was looked up. */
function hashesAlike(row: HrRow['row'], columns: string[], cut: number): void {
  const asRead = Object.fromEntries(columns.map(column => [column, storable(row[column] ?? null)]))
  asRead.enterprise_code ??= ''
  const order = ['enterprise_code', 'userid', 'active', 'updated_at', ...EMPLOYEE_FIELDS].filter(column =>
    columns.includes(column),
  )
  if (!order.some(column => (EMPLOYEE_FIELDS as readonly string[]).includes(column))) return
  const line = Buffer.from(`${order.map(column => copyText(asRead[column] ?? null)).join('\t')}\n`)
  const hasher = new RowHasher(order)
  const at = cut % (line.length + 1)
  const staged = Buffer.concat([hasher.push(line.subarray(0, at)), hasher.push(line.subarray(at))])
  must(hasher.statistics.rows === 1, 'one line is one row')
  if (isKeyless(asRead)) {
    must(staged.length === 0, 'a row without a usable key is staged')
    return
  }
  const hash = rowHash(order, asRead).replaceAll('-', '')
  must(staged.subarray(-16).toString('hex') === hash, 'a row has two hashes')
}

/** As a server can hold it: no U+0000, no half characters. */
function storable(value: string | null): string | null {
  return value === null ? null : value.replaceAll('\0', '\ufffd').toWellFormed()
}

function masks(row: HrRow['row']): void {
  for (const [column, value] of Object.entries(row)) {
    if (value === null) continue
    const field = column as EmployeeField
    const shown = maskValue(field, value) ?? ''
    if (
      isMasked(field) &&
      field !== 'email' &&
      field !== 'birth_day' &&
      field !== 'employee_attribute' &&
      value.length > 8
    )
      must(!shown.includes(value), `${field} is shown as it is`)
    const masked = maskText(value)
    must(
      masked.length <= 300 && masked.isWellFormed() && !masked.includes('\0'),
      'a masked text cannot be stored',
    )
    must(!/[0-9]{8}/.test(masked), 'a masked text shows a number')
    maskKey(value)
    formOf(value)
    must(!/^[=+\-@\t\r]/.test(csvLine([value])), 'a spreadsheet takes a value for a formula')
  }
}
