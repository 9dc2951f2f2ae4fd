import { describe, expect, test } from 'vitest'
import { keyText } from '../../../src/directory/employee.ts'
import { copyText, RowHasher, rowHash } from '../../../src/directory/hash.ts'
import { stagedRows } from '../../directory/staged-rows.ts'
import { type Ability, type Cell, type ColumnType, type Contract, key, linesOf } from './source-under-test.ts'

/**
 * Values and their canonical text, the same for every kind: a line that a scan prints is hashed as it comes, so that the
 * same value has the same hash whichever server it comes from.
 */
interface Value {
  value: Cell
  text: string | null
  /** What a kind has to be able to do, besides having the type. */
  needs?: Ability
}

const same = (...values: string[]): Value[] => values.map(value => ({ value, text: value }))
const NOTHING: Value = { value: null, text: null }

const TEXTS: Value[] = [
  NOTHING,
  ...same('', ' ', '  a  b  ', '\t', 'a\tb\nc\rd\r\ne\bf\fg\vh', '\\', '\\N', 'C:\\new\\table', '\\.'),
  ...same('NULL', '0', "it's", '"quoted"', '`ticked`', '{1,2}', '$1 ? :a %s', '--', '/* */'),
  ...same(
    '姓名',
    '𠮷野家',
    '👩‍👩‍👧',
    'e\u0301',
    '\u00e9',
    '\u200b',
    '\u3000',
    '\ufeff',
    '\u2028',
    '\u007f\u0085\u001b',
  ),
  ...same('x'.repeat(10_000), '长'.repeat(5_000)),
  { value: 'a\0b', text: 'a\0b', needs: 'character 0' },
]

/** What each type is mapped to, and its values. */
const VALUES: Partial<Record<ColumnType, { column: string; values: Value[] }>> = {
  text: { column: 'remark', values: TEXTS },
  key: { column: 'name', values: [NOTHING, ...same('', 'A1', 'a1', 'a1 ', ' a1', '姓名', '👩‍👩‍👧')] },
  integer: {
    column: 'cost_center_id',
    values: [NOTHING, ...same('0', '1', '-1', '9223372036854775807', '-9223372036854775808')],
  },
  decimal: {
    column: 'cost_center_id',
    values: [
      NOTHING,
      ...same('0', '1', '100', '-0.5', '12.34', '0.0000000001', '99999999999999999999.9999999999'),
      { value: '12.00', text: '12' },
      { value: '-7.50', text: '-7.5' },
    ],
  },
  double: {
    column: 'remark',
    values: [
      NOTHING,
      ...same('0', '10001', '-0.5', '0.1', '0.30000000000000004', '13800138000', '123456789012345', '0.0001'),
      ...same('1e+15', '1e-05', '1.7976931348623157e+308', '-2.5e-300'),
    ],
  },
  boolean: {
    column: 'active',
    values: [NOTHING, { value: 'true', text: 't' }, { value: 'false', text: 'f' }],
  },
  date: {
    column: 'entry_day',
    values: [
      NOTHING,
      ...same('1000-01-01', '1900-02-28', '1970-01-01', '2024-02-29', '9999-12-31'),
      { value: '0001-01-01', text: '0001-01-01', needs: 'dates before 1000' },
    ],
  },
  timestamp: {
    column: 'remark',
    values: [
      NOTHING,
      ...same('1000-01-01 00:00:00', '2024-02-29 23:59:59', '9999-12-31 23:59:59'),
      { value: '2024-02-29 12:30:00.5', text: '2024-02-29 12:30:00.5' },
      { value: '2024-02-29 12:30:00.123456', text: '2024-02-29 12:30:00.123456' },
      { value: '2024-02-29 12:30:10.000', text: '2024-02-29 12:30:10' },
      { value: '0001-01-01 00:00:00', text: '0001-01-01 00:00:00', needs: 'dates before 1000' },
    ],
  },
  moment: {
    column: 'remark',
    values: [
      NOTHING,
      { value: '2024-02-29T15:59:59.5Z', text: '2024-02-29 23:59:59.5+08' },
      { value: '2024-02-29T16:00:00Z', text: '2024-03-01 00:00:00+08' },
      { value: '1990-05-17T15:30:00Z', text: '1990-05-18 00:30:00+09', needs: 'summer time' },
    ],
  },
  texts: {
    column: 'category',
    values: [
      NOTHING,
      { value: ['b', 'a'], text: 'b,a' },
      { value: ['one'], text: 'one' },
      { value: [], text: '' },
      { value: ['姓\t名', null, '\\'], text: '姓\t名,\\' },
      { value: ['a,b', 'c'], text: '["a,b","c"]' },
      { value: ['经理，兼职', null], text: '["经理，兼职",null]' },
    ],
  },
}

/** Days and moments by the column that they are mapped to. */
const DAYS: [ColumnType, Value[]][] = [
  ['date', same('2024-02-29')],
  [
    'timestamp',
    [
      { value: '1990-05-17 23:59:59.9', text: '1990-05-17' },
      { value: '2020-01-31 00:00:00', text: '2020-01-31' },
    ],
  ],
  [
    'moment',
    [
      { value: '2020-01-31T15:59:59.999Z', text: '2020-01-31' },
      { value: '2020-01-31T16:00:00Z', text: '2020-02-01' },
      { value: '1990-05-17T15:30:00Z', text: '1990-05-18' },
    ],
  ],
]
const UPDATED: [ColumnType, Value[]][] = [
  ['date', [NOTHING, { value: '2024-02-29', text: '2024-02-29 00:00:00+08' }]],
  [
    'timestamp',
    [
      { value: '2024-02-29 12:30:00.25', text: '2024-02-29 12:30:00.25+08' },
      { value: '9999-12-31 23:59:59', text: '9999-12-31 23:59:59+08' },
    ],
  ],
  ['moment', [NOTHING, { value: '2026-01-02T03:04:05.5Z', text: '2026-01-02 11:04:05.5+08' }]],
]

export function valueContract(contract: Contract): void {
  const { kind } = contract
  /** Reads the values by a scan and by a look-up, and compares both with the canonical text. */
  const readAs = async (type: ColumnType, column: string, values: Value[]) => {
    const possible = values.filter(({ needs }) => needs === undefined || kind.cannot[needs] === undefined)
    const rows = possible.map(({ value }, i) => [String(i + 1), value])
    const table = await contract.place.table('values_read', { id: 'integer', v: type }, rows)
    const other = column === 'active' || column === 'updated_at' ? ", 'n' as name" : ''
    const source = contract.source(`select id as userid, v as ${column}${other} from ${table}`)
    const scan = await source.scan({})
    const expected = possible.map(({ text }, i) => ({
      enterprise_code: '',
      userid: String(i + 1),
      [column]: text,
      ...(other && { name: 'n' }),
    }))
    const lines = await linesOf(scan)
    const place = (line: string) => Number(line.split('\t')[1])
    expect(lines.sort((a, b) => place(a) - place(b))).toEqual(
      expected.map(row => Object.values(row).map(copyText).join('\t')),
    )
    const found = await source.lookup(expected.map(({ userid }) => key(userid)))
    expect(expected.map(({ userid }) => found.get(keyText(key(userid))))).toEqual(expected)
  }

  describe('prints values as canonical text', () => {
    for (const [type, { column, values }] of Object.entries(VALUES) as [
      ColumnType,
      { column: string; values: Value[] },
    ][])
      contract.test(type, `of type ${type}`, () => readAs(type, column, values))

    for (const [type, values] of DAYS)
      contract.test(type, `with the day in China of a ${type}`, () => readAs(type, 'birth_day', values))

    for (const [type, values] of UPDATED)
      contract.test(type, `with the moment of a ${type}`, () => readAs(type, 'updated_at', values))

    contract.test('json', 'of type json, in the server’s way of printing it', async () => {
      const values = ['{"k": "v", "n": [1, null, true], "t": "\\t\\\\\\u59d3"}', '[]', '"x"', null]
      const table = await contract.place.table(
        'documents',
        { id: 'integer', v: 'json' },
        values.map((value, i) => [String(i), value]),
      )
      const source = contract.source(`select id as userid, v as employee_attribute from ${table}`)
      const found = await source.lookup(values.map((_, i) => key(String(i))))
      const read = values.map((_, i) => found.get(keyText(key(String(i)))))
      const documents = read.map(row => {
        const text = row === 'duplicate' ? undefined : row?.employee_attribute
        return typeof text === 'string' ? JSON.parse(text) : text
      })
      expect(documents).toEqual(values.map(value => (value === null ? null : JSON.parse(value))))
    })

    contract.test('json', 'with null for the null of JSON', async () => {
      const table = await contract.place.table('nulls', { id: 'integer', v: 'json' }, [
        ['1', 'null'],
        ['2', '"null"'],
      ])
      for (const column of ['category', 'employee_attribute']) {
        const source = contract.source(`select id as userid, v as ${column} from ${table} order by id`)
        expect(await linesOf(await source.scan({}))).toEqual(['\t1\t\\N', '\t2\t"null"'])
        const found = await source.lookup([key('1'), key('2')])
        expect(found.get(keyText(key('1')))).toMatchObject({ [column]: null })
        expect(found.get(keyText(key('2')))).toMatchObject({ [column]: '"null"' })
      }
    })

    test.each(kind.ownValues)('of its own: %s as %s is %j', async (expression, column, text) => {
      const other = column === 'name' ? '' : ", 'n' as name"
      const pair = column === 'mobile_area' ? ", '1' as mobile" : ''
      const source = contract.source(`select 1 as userid, ${expression} as ${column}${other}${pair}`)
      const found = await source.lookup([key('1')])
      expect(found.get(keyText(key('1')))).toMatchObject({ [column]: text })
    })

    test('so that the hash of a row is that of its text', async () => {
      const table = await contract.place.table('hashed', { id: 'key', n: 'text', d: 'decimal', e: 'date' }, [
        ['e1', '甲\t𠮷\\', '12.50', '2024-02-29'],
        ['e2', null, null, null],
      ])
      const source = contract.source(
        `select id as userid, n as name, d as cost_center_id, e as entry_day from ${table}`,
      )
      const scan = await source.scan({})
      const hasher = new RowHasher(scan.columns)
      const staged = stagedRows(hasher.push(Buffer.from(`${(await linesOf(scan)).sort().join('\n')}\n`)))
      const rows = [
        { name: '甲\t𠮷\\', cost_center_id: '12.5', entry_day: '2024-02-29' },
        { name: null, cost_center_id: null, entry_day: null },
      ]
      const hashes = rows.map(row => rowHash(scan.columns, row).replaceAll('-', ''))
      expect(staged.map(({ userid, hash }) => [userid, hash])).toEqual([
        ['e1', hashes[0]],
        ['e2', hashes[1]],
      ])
    })
  })

  describe('prints keys without blanks around them', () => {
    const lines = async (sql: string, defaultEnterpriseCode: string) =>
      (await linesOf(await contract.source(sql, { defaultEnterpriseCode }).scan({}))).sort()

    test('of user ids, enterprises and marks of leavers', async () => {
      const table = await contract.place.table('padded', { id: 'text', company: 'text', works: 'text' }, [
        ['  1 ', ' C1 ', ' t '],
        ['2', '', 'f'],
        ['3\t', ' \t', ''],
        ['4', null, null],
        ['', 'C', 't'],
        [null, 'C', 't'],
      ])
      const sql = `select id as userid, company as enterprise_code, works as active, 'n' as name from ${table}`
      expect(await lines(sql, '')).toEqual(
        ['C1\t1\tt\tn', '\t2\tf\tn', '\\t\t3\\t\t\tn', '\t4\t\\N\tn', 'C\t\tt\tn', 'C\t\\N\tt\tn'].sort(),
      )
      expect(await lines(sql, "it's \\")).toEqual(
        [
          'C1\t1\tt\tn',
          "it's \\\\\t2\tf\tn",
          '\\t\t3\\t\t\tn',
          "it's \\\\\t4\t\\N\tn",
          'C\t\tt\tn',
          'C\t\\N\tt\tn',
        ].sort(),
      )
      const unmapped = await lines(`select id as userid, 'n' as name from ${table}`, "it's \\")
      expect(unmapped).toContain("it's \\\\\t1\tn")
    })

    contract.test('double', 'of enterprises that are numbers, as any number prints', async () => {
      const table = await contract.place.table('numbered', { id: 'key', company: 'double' }, [
        ['1', '1001'],
        ['2', '0.5'],
        ['3', null],
      ])
      const sql = `select id as userid, company as enterprise_code, 'n' as name from ${table}`
      expect(await lines(sql, 'D')).toEqual(['0.5\t2\tn', '1001\t1\tn', 'D\t3\tn'])
      const source = contract.source(sql, { defaultEnterpriseCode: 'D' })
      const keys = [key('1', '1001'), key('2', '0.5'), key('3', 'D')]
      expect([...(await source.lookup(keys)).keys()].sort()).toEqual(keys.map(keyText).sort())
    })

    contract.test('character 0', 'and none that no key can have', async () => {
      const table = await contract.place.table('zeros', { id: 'text', company: 'text' }, [
        ['a\0', 'C'],
        ['\0', 'C'],
        ['b', '\0C'],
      ])
      const sql = `select id as userid, company as enterprise_code, 'n' as name from ${table}`
      expect(await lines(sql, 'D')).toEqual(['C\t\\N\tn', 'C\t\\N\tn', 'C\tb\tn'])
    })
  })
}
