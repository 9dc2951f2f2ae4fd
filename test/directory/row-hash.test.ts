import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { toDesired } from '../../src/directory/desired.ts'
import { EMPLOYEE_FIELDS, type EmployeeField } from '../../src/directory/employee.ts'
import { parseActive } from '../../src/directory/field-rules.ts'
import {
  accountMark,
  copyText,
  isKeyless,
  RowHasher,
  rowHash,
  rowIsActive,
} from '../../src/directory/hash.ts'
import { trimText } from '../../src/lib/text.ts'
import { type StagedRow, stagedRows } from './staged-rows.ts'

type Row = Record<string, string | null>

const COLUMNS = ['enterprise_code', 'userid', 'active', 'updated_at', 'name', 'mobile', 'remark']

/** What PostgreSQL's COPY would print for the rows. */
function copyLines(columns: readonly string[], rows: readonly Row[]): Buffer {
  return Buffer.from(
    rows.map(row => `${columns.map(column => copyText(row[column] ?? null)).join('\t')}\n`).join(''),
  )
}

function stage(hasher: RowHasher, chunks: readonly Buffer[]): StagedRow[] {
  return stagedRows(Buffer.concat(chunks.map(chunk => Buffer.from(hasher.push(chunk)))))
}

const plainHash = (columns: readonly string[], row: Row) => rowHash(columns, row).replaceAll('-', '')

/** Texts with what COPY escapes, what it does not, and characters of every length in UTF-8; no character 0, as in PostgreSQL. */
const text = fc.oneof(
  fc.string({
    unit: fc.constantFrom(
      'a',
      ' ',
      '\t',
      '\n',
      '\r',
      '\\',
      '\b',
      '\f',
      '\v',
      '\u0001',
      'N',
      '.',
      'é',
      '\u4e2d',
      '😀',
    ),
  }),
  fc.string({ unit: 'grapheme' }).map(value => value.replaceAll('\0', '')),
  fc.constantFrom('', '\\N', '\\.', '\\\\N', 'f', 't'),
)
const value = fc.option(text, { nil: null })
const userid = text.filter(id => id !== '')
const rowOf = (columns: readonly string[]) =>
  fc.record(
    Object.fromEntries(
      columns.map((column): [string, fc.Arbitrary<string | null>] => [
        column,
        column === 'enterprise_code'
          ? text
          : column === 'userid'
            ? userid
            : column === 'active'
              ? fc.constantFrom('t', 'f')
              : column === 'updated_at'
                ? fc.constantFrom('2026-01-01 00:00:00+08', '2026-01-02 00:00:00+08', null)
                : value,
      ]),
    ),
  ) as fc.Arbitrary<Row>

/** Columns as a scan has them: the key, the optional two, some fields in canonical order. */
const scanColumns = fc
  .tuple(fc.boolean(), fc.boolean(), fc.subarray([...EMPLOYEE_FIELDS], { minLength: 1 }))
  .map(([active, updatedAt, fields]) => [
    ...['enterprise_code', 'userid'],
    ...(active ? ['active'] : []),
    ...(updatedAt ? ['updated_at'] : []),
    ...fields,
  ])
const scan = scanColumns.chain(columns =>
  fc.record({ columns: fc.constant(columns), rows: fc.array(rowOf(columns), { maxLength: 8 }) }),
)

/** Splits at the given places, in any order and beyond the end. */
function split(bytes: Buffer, places: readonly number[]): Buffer[] {
  const cuts = [...new Set(places.map(place => place % (bytes.length + 1)))].sort((a, b) => a - b)
  return [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i] ?? bytes.length))
}

describe('the hash of a staged row', () => {
  test('is the one that a worker works out for the row, whatever its texts hold', () => {
    fc.assert(
      fc.property(scan, ({ columns, rows }) => {
        const staged = stage(new RowHasher(columns), [copyLines(columns, rows)])
        expect(staged.map(line => line.hash)).toEqual(rows.map(row => plainHash(columns, row)))
      }),
    )
  })

  test('does not depend on where chunks end', () => {
    fc.assert(
      fc.property(scan, fc.array(fc.nat(2000), { maxLength: 12 }), ({ columns, rows }, places) => {
        const bytes = copyLines(columns, rows)
        const whole = stage(new RowHasher(columns), [bytes])
        expect(stage(new RowHasher(columns), split(bytes, places))).toEqual(whole)
      }),
    )
  })

  test('is the same with a chunk boundary at every offset, in the middle of characters and escapes too', () => {
    const rows: Row[] = [
      {
        enterprise_code: '',
        userid: 'e1',
        active: 't',
        updated_at: null,
        name: 'a\tb\nc\\',
        mobile: null,
        remark: '',
      },
      {
        enterprise_code: 'E\t1',
        userid: 'e\\2',
        active: 'f',
        updated_at: null,
        name: '\u4e2d😀',
        mobile: '\\N',
        remark: null,
      },
    ]
    const bytes = copyLines(COLUMNS, rows)
    const expected = rows.map(row => plainHash(COLUMNS, row))
    for (let offset = 0; offset <= bytes.length; offset++) {
      const hasher = new RowHasher(COLUMNS)
      const chunks = [bytes.subarray(0, offset), bytes.subarray(offset)]
      expect(stage(hasher, chunks).map(line => line.hash)).toEqual(expected)
      expect(hasher.statistics.rows).toBe(2)
    }
    const singly = Array.from(bytes, byte => Buffer.of(byte))
    expect(stage(new RowHasher(COLUMNS), singly).map(line => line.hash)).toEqual(expected)
  })

  test('holds for lines far longer than a chunk', () => {
    const row: Row = {
      enterprise_code: '',
      userid: 'e1',
      active: 't',
      updated_at: null,
      name: 'n',
      mobile: null,
    }
    const rows = [1, 70_000, 300_000].map(length => ({ ...row, remark: '\u4e2d\t'.repeat(length) }))
    const bytes = copyLines(COLUMNS, rows)
    const places = Array.from({ length: Math.floor(bytes.length / 16_384) }, (_, i) => i * 16_384)
    const staged = stage(new RowHasher(COLUMNS), split(bytes, places))
    expect(staged.map(line => line.hash)).toEqual(rows.map(one => plainHash(COLUMNS, one)))
  })

  test('holds for a chunk of very many rows, whose keys are short or long', () => {
    const columns = ['enterprise_code', 'userid', 'name']
    for (const length of [1, 300]) {
      const rows = Array.from({ length: 5000 }, (_, i) => ({
        enterprise_code: '',
        userid: String(i).padStart(length, 'x'),
        name: 'n',
      }))
      const staged = stage(new RowHasher(columns), [copyLines(columns, rows)])
      expect(staged.map(({ userid }) => userid)).toEqual(rows.map(({ userid }) => userid))
      expect(new Set(staged.map(({ hash }) => hash))).toEqual(new Set([plainHash(columns, rows[0] as Row)]))
    }
  })

  test('is fixed: another value would have every employee of every installation looked at again', () => {
    const row: Row = {
      enterprise_code: 'E1',
      userid: 'e1',
      active: 't',
      name: 'Baden Figor',
      mobile: null,
      remark: '',
    }
    const columns = ['enterprise_code', 'userid', 'active', 'name', 'mobile', 'remark']
    expect(rowHash(columns, row)).toMatchInlineSnapshot(`"f0f2733e-b290-5f81-6262-6299ca34b785"`)
  })
})

test('the mark of an account stays what it was, as the database has it', () => {
  expect(accountMark('2024-01-01 10:00:00')).toBe(-1511709920)
  expect(accountMark('2021-07-15 08:30:00')).toBe(-491269577)
})

describe('what a hash tells apart', () => {
  const row: Row = {
    enterprise_code: '',
    userid: 'e1',
    active: 't',
    updated_at: null,
    name: 'x',
    mobile: null,
    remark: '',
  }
  const hash = (changes: Row, columns = COLUMNS) => rowHash(columns, { ...row, ...changes })

  test.each([
    ['an empty text and none', { mobile: '' }],
    ['none and a text that is written like it', { mobile: '\\N' }],
    ['values that move over a boundary', { name: 'x\t', mobile: '\\N' }],
    ['an active employee and a leaver', { active: 'f' }],
    ['an active employee and one of whom that is unclear', { active: 'retired' }],
    ['an active employee and one with a control character for it', { active: '\u0001' }],
  ])('%s', (_, changes: Row) => {
    expect(hash(changes)).not.toBe(hash({}))
  })

  test('mappings of other columns', () => {
    expect(hash({}, [...COLUMNS, 'level'])).not.toBe(hash({}))
    expect(
      hash(
        {},
        COLUMNS.filter(column => column !== 'active'),
      ),
    ).not.toBe(hash({}))
  })

  test('not when a row was touched, nor ways to write active, nor the key, which is compared itself, nor what HR keeps of leavers', () => {
    expect(hash({ updated_at: '2026-01-01 00:00:00+08' })).toBe(hash({}))
    expect(hash({ active: 'yes' })).toBe(hash({}))
    expect(hash({ active: 'No' })).toBe(hash({ active: '0' }))
    expect(hash({ userid: 'e2', enterprise_code: 'E2' })).toBe(hash({}))
    expect(hash({ active: 'f', name: '***' }, [...COLUMNS, 'level'])).toBe(hash({ active: 'f' }))
    expect(
      hash(
        {},
        COLUMNS.filter(column => column !== 'updated_at'),
      ),
    ).toBe(hash({}))
  })
})

describe('a staged row', () => {
  test('has the key, and whether the employee is active', () => {
    fc.assert(
      fc.property(fc.array(rowOf(COLUMNS), { maxLength: 8 }), rows => {
        const hasher = new RowHasher(COLUMNS)
        const staged = stage(hasher, [copyLines(COLUMNS, rows)])
        expect(staged.map(({ hash, ...row }) => row)).toEqual(
          rows.map(row => ({
            enterpriseCode: row.enterprise_code,
            userid: row.userid,
            active: row.active === 't',
          })),
        )
        const active = rows.filter(row => row.active === 't').length
        expect(hasher.staged).toEqual({ rows: rows.length, active })
      }),
    )
  })

  test.each([
    ...['f', 'false', 'F', 'FALSE', 'n', 'no', 'N', 'No', '0'].map(word => [word, false] as const),
    ...[' no\t', '\u3000Ｆａｌｓｅ', '０'].map(word => [word, false] as const),
    ...['t', 'true', 'y', 'Yes', '1', '', null].map(word => [word, true] as const),
    ...['N/A', 'NULL', 'None', 'Full-time', 'Normal', '01', 'nope', '\\N', '否', 'x'].map(
      word => [word, true] as const,
    ),
  ])('whose column active holds %j is active: %s, to a worker too', (active, isActive) => {
    const row = { enterprise_code: '', userid: 'e1', active, name: 'x' }
    const columns = Object.keys(row)
    expect(stage(new RowHasher(columns), [copyLines(columns, [row])])).toMatchObject([
      { active: isActive, hash: plainHash(columns, row) },
    ])
    expect(rowIsActive(row)).toBe(isActive)
    expect(parseActive(active) !== false).toBe(isActive)
  })

  test('is not made of a row whose user id is too long to be kept; such rows are counted', () => {
    const hasher = new RowHasher(['enterprise_code', 'userid', 'name'])
    const row = (userid: string) => ({ enterprise_code: 'E1', userid, name: 'x' })
    const rows = [row('x'.repeat(5000)), row('😀'.repeat(100)), row('x'.repeat(1997)), row('x'.repeat(1998))]
    const kept = stage(hasher, [copyLines(['enterprise_code', 'userid', 'name'], rows)])
    expect(kept.map(row => row.userid.length)).toEqual([200, 1997])
    expect(hasher.statistics).toMatchObject({ rows: 4, keyless: 2 })
  })

  test('is not made of a row without a user id; such rows are counted', () => {
    const row: Row = {
      enterprise_code: 'E1',
      active: 't',
      updated_at: null,
      name: 'x',
      mobile: '1',
      remark: '2',
    }
    const hasher = new RowHasher(COLUMNS)
    const rows = [
      { ...row, userid: '' },
      { ...row, userid: null },
      { ...row, userid: 'N' },
      { ...row, userid: '\\' },
    ]
    expect(stage(hasher, [copyLines(COLUMNS, rows)]).map(row => row.userid)).toEqual(['N', '\\'])
    expect(hasher.staged).toEqual({ rows: 2, active: 2 })
    expect(hasher.statistics).toMatchObject({ rows: 4, keyless: 2 })
  })
})

test('a time in the future is not the newest one', () => {
  const now = new Date('2026-03-01T10:00:00+08:00')
  const hasher = new RowHasher(['enterprise_code', 'userid', 'updated_at', 'name'], now)
  const times = [
    '2026-03-01 10:00:01+08',
    '2099-01-01 00:00:00+08',
    'infinity',
    '2026-03-01 09:59:59+08',
    '\\N',
  ]
  hasher.push(Buffer.from(times.map((time, i) => `\te${i}\t${time}\tn\n`).join('')))
  expect(hasher.statistics.newest).toBe('2026-03-01 09:59:59+08')
})

test('statistics count the values that clear a field, and keep the newest updated_at', () => {
  // The number of a pair decides about its type or area.
  const fields = EMPLOYEE_FIELDS.filter(field => field !== 'card_type' && field !== 'mobile_area')
  const columns = ['enterprise_code', 'userid', 'updated_at', ...fields]
  const nothing = fc.constantFrom(
    ...[
      '',
      ' ',
      '\u3000',
      '\u00a0\t',
      '\u200b',
      '-',
      '[]',
      '[ ]',
      ',',
      '\uff0c ',
      '[""]',
      '["\\u3000"]',
      '""',
    ],
    ...['{}', '{"A": null}', '[{"attributeCode":"A","attributeValue":" "}]', 'null'],
  )
  const something = fc.constantFrom(
    '["a"]',
    '["中"]',
    '\\',
    '+',
    '0',
    '\u3400',
    '中 ',
    '😀',
    '1.0',
    '{"A": 1}',
  )
  const row = fc
    .record(Object.fromEntries(fields.map(field => [field, fc.oneof(value, nothing, something)])))
    .chain(values => rowOf(columns).map(one => ({ ...one, ...values }) as Row))
  const isCleared = (column: EmployeeField, text: string | null | undefined) => {
    const alone = toDesired({ userid: 'e1', [column]: text ?? null }, [column])
    return (alone.ok ? alone.desired.fields : alone.sound)[column] === null
  }
  fc.assert(
    fc.property(fc.array(row, { maxLength: 10 }), fc.nat(500), (rows, place) => {
      const hasher = new RowHasher(columns)
      stage(hasher, split(copyLines(columns, rows), [place]))
      const count = (isCounted: (text: string | null | undefined, column: EmployeeField) => boolean) =>
        Object.fromEntries(
          fields.map(column => [column, rows.filter(one => isCounted(one[column], column)).length]),
        )
      const newest = rows
        .map(row => row.updated_at ?? '')
        .sort()
        .at(-1)
      expect(hasher.statistics).toMatchObject({
        rows: rows.length,
        active: hasher.staged.active,
        keyless: 0,
        empty: count((text, column) => isCleared(column, text)),
        blank: count((text, column) => !!text && isCleared(column, text)),
        newest: newest || null,
      })
    }),
  )
})

test('statistics count the active employees with a department, as departments are counted', () => {
  const columns = ['enterprise_code', 'userid', 'active', 'name', 'dept_code', 'remark']
  const blank = fc.constantFrom(
    ' ',
    '\u3000',
    '\u00a0\t',
    '\u200b',
    '\\',
    '\u3400',
    '\u4e2d',
    '\u4e2d ',
    '😀',
  )
  const row = fc
    .tuple(rowOf(columns), fc.oneof(value, blank))
    .map(([one, code]): typeof one => ({ ...one, dept_code: code }))
  fc.assert(
    fc.property(fc.array(row, { maxLength: 10 }), rows => {
      const hasher = new RowHasher(columns)
      hasher.push(copyLines(columns, rows))
      const placed = rows.filter(one => one.active === 't' && trimText(one.dept_code ?? '') !== '').length
      expect(hasher.statistics.placed).toBe(placed)
    }),
  )
})

test.each([
  ['as long as it may be', '', 'x'.repeat(1999), 0],
  ['a byte longer', '', 'x'.repeat(2000), 1],
  ['as long as it may be with its enterprise', 'E1', 'x'.repeat(1997), 0],
  ['a byte longer with its enterprise', 'E1', 'x'.repeat(1998), 1],
  ['too long for its escapes', '', '\v'.repeat(1100), 1],
])('a key %s is as usable to a look-up as to a scan', (_, enterprise, userid, keyless) => {
  const hasher = new RowHasher(['enterprise_code', 'userid', 'name'])
  hasher.push(Buffer.from(`${enterprise}\t${copyText(userid)}\tAnn\n`))
  expect(hasher.statistics.keyless).toBe(keyless)
  expect(isKeyless({ enterprise_code: enterprise, userid })).toBe(keyless === 1)
})
