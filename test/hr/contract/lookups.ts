import { describe, expect, test } from 'vitest'
import { type EmployeeKey, keyText } from '../../../src/directory/employee.ts'
import type { Searched, SearchedBy } from '../../../src/hr/server.ts'
import type { HrSource } from '../../../src/hr/source.ts'
import { type Ability, type Cell, type ColumnType, type Contract, key, linesOf } from './source-under-test.ts'

const keysOf = (found: Map<string, unknown>) => [...found.keys()].sort()
const texts = (keys: EmployeeKey[]) => keys.map(keyText).sort()

/** Texts that are no one's user id, and must do no harm. */
const ODD = [
  '',
  ' ',
  '\0',
  'a\0',
  "E'7",
  'E"7',
  'E\\7',
  'E%7',
  'E_7',
  'E;7 --',
  'E\n7',
  '$1',
  '?',
  '\ufeffE7',
  '👩‍👩‍👧',
  'x'.repeat(10_000),
  '9'.repeat(1_000),
]

export function lookupContract(contract: Contract): void {
  describe('looks up employees by key', () => {
    const ofType: [ColumnType, stored: string, present: string, absent: string[]][] = [
      ['integer', '7', '7', ['07', '+7', '7.0', '7e0', '0x7', '99999999999999999999', '8', '-7']],
      [
        'integer',
        '-9223372036854775808',
        '-9223372036854775808',
        ['9223372036854775808', '-9223372036854775809'],
      ],
      ['integer', '9007199254740993', '9007199254740993', ['9007199254740992', '9007199254740994']],
      ['key', 'E 7', 'E 7', ['e 7', 'E7', 'E\u00007', 'E\u00a07', 'É 7', 'Ｅ 7']],
      ['text', 'Straße', 'Straße', ['Strasse', 'straße', 'STRASSE']],
      ['date', '2024-01-31', '2024-01-31', ['31.01.2024', '2024-1-31', '20240131']],
    ]
    for (const [type, stored, present, absent] of ofType)
      contract.test(type, `of type ${type}: ${present}, and no other spelling`, async () => {
        const table = await contract.place.table('typed', { id: type, nick: 'text' }, [[stored, 'n']])
        const source = contract.source(`select id as userid, nick as name from ${table}`)
        const found = await source.lookup([present, ...absent, ...ODD].map(userid => key(userid)))
        expect([...found]).toEqual([
          [keyText(key(present)), { enterprise_code: '', userid: present, name: 'n' }],
        ])
        expect((await source.lookup(absent.map(userid => key(userid)))).size).toBe(0)
      })

    contract.test('decimal', 'of type decimal, as a scan prints them', async () => {
      const table = await contract.place.table('decimals', { id: 'decimal', nick: 'text' }, [['7.50', 'n']])
      const source = contract.source(`select id as userid, nick as name from ${table}`)
      const [line = ''] = await linesOf(await source.scan({}))
      const userid = line.split('\t')[1] ?? ''
      expect(Number(userid)).toBe(7.5)
      const found = await source.lookup([userid, '7,5', 'abc', '7', ...ODD].map(asked => key(asked)))
      expect(keysOf(found)).toEqual(texts([key(userid)]))
    })

    test('and tells people apart whose keys a collation may hold to be equal', async () => {
      const ids = ['A1', 'a1', 'á1', 'ａ1', 'SS', 'ß', 'i', 'I', 'ı', '甲', '曱']
      const table = await contract.place.table(
        'folded',
        { id: 'key', company: 'key' },
        ids.flatMap(id => [
          [id, 'C1'],
          [id, 'c1'],
        ]),
      )
      const source = contract.source(
        `select id as userid, company as enterprise_code, id as name from ${table}`,
      )
      const keys = ids.flatMap(id => [key(id, 'C1'), key(id, 'c1')])
      const found = await source.lookup(keys)
      expect([...found.values()]).not.toContain('duplicate')
      expect(keysOf(found)).toEqual(texts(keys))
      expect(keysOf(await source.lookup([key('A1', 'c1')]))).toEqual(texts([key('A1', 'c1')]))
      expect(found.get(keyText(key('A1', 'c1')))).toMatchObject({ userid: 'A1', name: 'A1' })
    })

    test('and finds what has blanks around it, as a scan does', async () => {
      const table = await contract.place.table('blanks', { id: 'key', company: 'key' }, [
        [' 1 ', 'C1'],
        ['1', ' C2'],
        ['2 ', ''],
        ['3', null],
        ['4\t', null],
      ])
      const source = contract.source(
        `select id as userid, company as enterprise_code, id as name from ${table}`,
      )
      const keys = [key('1', 'C1'), key('1', 'C2'), key('2'), key('3'), key('4\t')]
      const others = [key('1', 'C3'), key('2', 'C1'), key('4'), key(' 1 ', 'C1')]
      expect(keysOf(await source.lookup([...keys, ...others]))).toEqual(texts(keys))
    })

    test('and tells who is there twice, be it with a blank', async () => {
      const table = await contract.place.table('twice', { id: 'key' }, [['1'], ['2'], ['2'], ['3'], ['3 ']])
      const source = contract.source(`select id as userid, 'n' as name from ${table}`)
      const found = await source.lookup(['1', '2', '2', '3'].map(userid => key(userid)))
      expect(found.get(keyText(key('1')))).toMatchObject({ name: 'n' })
      expect(found.get(keyText(key('2')))).toBe('duplicate')
      // An index may find one of these alone: what counts is that a scan finds both.
      expect(found.has(keyText(key('3')))).toBe(true)
    })

    test('in each enterprise that was asked for, and in no other', async () => {
      const rows: Cell[][] = []
      for (let id = 1; id <= 20; id++)
        for (let company = 1; company <= 5; company++) rows.push([`${id}`, `${company}`])
      const table = await contract.place.table('companies', { id: 'integer', company: 'integer' }, rows)
      const source = contract.source(
        `select id as userid, company as enterprise_code, 'n' as name from ${table}`,
      )
      const found = await source.lookup([key('1', '2'), key('2', '3'), key('1', 'x'), key('99', '1')])
      expect(keysOf(found)).toEqual(texts([key('1', '2'), key('2', '3')]))
    })

    test('under the default enterprise where a row has none', async () => {
      const table = await contract.place.table('without', { id: 'integer', company: 'key' }, [
        ['1', null],
        ['2', 'C'],
        ['3', ' '],
      ])
      const source = contract.source(
        `select id as userid, company as enterprise_code, 'n' as name from ${table}`,
        {
          defaultEnterpriseCode: 'D',
        },
      )
      const found = await source.lookup([
        key('1', 'D'),
        key('2', 'C'),
        key('3', 'D'),
        key('1'),
        key('2', 'D'),
      ])
      expect(keysOf(found)).toEqual(texts([key('1', 'D'), key('2', 'C'), key('3', 'D')]))
    })

    test('a thousand at once, of whom half are there', async () => {
      const rows = Array.from({ length: 3000 }, (_, i) => [`e${i}`, `name ${i}`])
      const table = await contract.place.table('thousand', { id: 'key', nick: 'text' }, rows)
      const source = contract.source(`select id as userid, nick as name from ${table}`)
      const found = await source.lookup(Array.from({ length: 1000 }, (_, i) => key(`e${2500 + i}`)))
      expect(found.size).toBe(500)
      expect(found.get(keyText(key('e2999')))).toEqual({
        enterprise_code: '',
        userid: 'e2999',
        name: 'name 2999',
      })
    })

    test('as they are now', async () => {
      const table = await contract.place.table('present', { id: 'key', nick: 'text' }, [['1', 'before']])
      const source = contract.source(`select id as userid, nick as name from ${table}`)
      const name = async () => {
        const row = (await source.lookup([key('1')])).get(keyText(key('1')))
        return row && row !== 'duplicate' && row.name
      }
      expect(await name()).toBe('before')
      await contract.place.replaceRows('present', [['1', 'after']])
      expect(await name()).toBe('after')
      await contract.place.replaceRows('present', [])
      expect(await name()).toBe(undefined)
    })

    test('without asking the server where there are no keys', async () => {
      const source = contract.source("select 1 as userid, 'n' as name", { url: contract.kind.wrong.address })
      expect((await source.lookup([])).size).toBe(0)
    })
  })

  describe('looks up by an index', () => {
    const MANY = 20_000
    const needs: Ability[] = ['index']
    const filled = (name: string, type: 'key' | 'integer') =>
      contract.place.table(
        name,
        { id: type, company: 'key', nick: 'text' },
        Array.from({ length: MANY }, (_, i) => [type === 'key' ? `e${i}` : `${i}`, `C${i % 3}`, 'n']),
      )

    for (const type of ['key', 'integer'] as const)
      contract.test(needs, `of type ${type}`, async () => {
        const table = await filled(`indexed_${type}`, type)
        const source = contract.source(`select id as userid, nick as name from ${table}`)
        const keys = Array.from({ length: 50 }, (_, i) => key(type === 'key' ? `e${i * 100}` : `${i * 100}`))
        expect((await source.lookup(keys)).size).toBe(50)
        await source.close()
        expect(await contract.place.rowsRead(`indexed_${type}`)).toBeLessThan(200)
      })

    contract.test(needs, 'and by that alone, once one enterprise has whom it is not known of', async () => {
      const table = await filled('wherever', 'key')
      const source = contract.source(
        `select company as enterprise_code, id as userid, nick as name from ${table}`,
      )
      const candidates = ['C0', 'C1', 'C2', 'C3'].flatMap(code => [key('e17', code), key('e40', code)])
      const found = await source.lookup(candidates, { anyEnterprise: true })
      expect(keysOf(found)).toEqual(texts([key('e17', 'C2'), key('e40', 'C1')]))
      await source.close()
      expect(await contract.place.rowsRead('wherever')).toBeLessThan(20)
    })
  })

  describe('of an employee whom HR lacks', () => {
    const MANY = 20_000
    const padded = async (name: string) => {
      const rows = Array.from({ length: MANY }, (_, i) => [`e${i}`, i % 2 === 0 ? 'C1' : ' C2'])
      const table = await contract.place.table(name, { id: 'key', company: 'key' }, [...rows, [' x ', 'C1']])
      return `select id as userid, company as enterprise_code, id as name from ${table}`
    }

    contract.test(['index'], 'reads the index alone where the keys are unknown', async () => {
      const source = contract.source(await padded('lacking'))
      const keys = [key('nobody', 'C1'), key('x', 'C1'), key('e1', 'C2')]
      const asked: EmployeeKey[] = []
      const found = await source.lookup(keys, {
        expected: missing => {
          asked.push(...missing)
          return []
        },
      })
      // The code of the enterprise may be written in any way: the index finds the user id.
      expect(keysOf(found)).toEqual(texts([key('e1', 'C2')]))
      expect(asked).toEqual([key('nobody', 'C1'), key('x', 'C1')])
      await source.close()
      expect(await contract.place.rowsRead('lacking')).toBeLessThan(20)
    })

    contract.test(['index'], 'finds one who is expected, in whatever way HR writes the user id', async () => {
      const source = contract.source(await padded('expected'))
      const keys = [key('nobody', 'C1'), key('x', 'C1')]
      const found = await source.lookup(keys, { expected: async () => [key('x', 'C1')] })
      expect(keysOf(found)).toEqual(texts([key('x', 'C1')]))
    })
  })

  describe('searches', () => {
    const people = async () => {
      const table = await contract.place.table('searched', { id: 'key', nick: 'text', mail: 'text' }, [
        ['1', 'Anna Wu', 'a%b@x.example'],
        ['2', ' ANNE', 'a_b@x.example'],
        ['3', '王安', "o'b@x.example"],
        ['4', null, 'A\\b@x.example'],
      ])
      return contract.source(`select id as userid, nick as name, mail as email from ${table}`)
    }
    const found = async (source: HrSource, column: Searched, text: string) =>
      foundBy(source, [column, [text]])
    const foundBy = async (source: HrSource, by: SearchedBy) => {
      const keys = await source.search([by], { limit: 10, timeoutMs: 10_000 })
      expect(keys.every(row => row.by === by[0])).toBe(true)
      return keys.map(({ userid }) => userid).sort()
    }

    test.each<[Searched, text: string, found: string[]]>([
      ['name', 'ann', ['1', '2']],
      ['name', 'ANNA W', ['1']],
      ['name', 'nn', []],
      ['name', 'wu', ['1']],
      ['name', 'w', ['1']],
      ['name', 'a wu', []],
      ['name', '王', ['3']],
      ['email', 'A%', ['1']],
      ['email', 'a_', ['2']],
      ['email', 'a\\', ['4']],
      ['email', "o'", ['3']],
      ['email', 'x', []],
      ['mobile', '1', []],
    ])('%s by its beginning, whatever its capitals: %s', async (column, text, expected) => {
      expect(await found(await people(), column, text)).toEqual(expected)
    })

    test.each<[begins: string[], ends: string[], found: string[]]>([
      [['5678'], ['5678'], ['1', '2']],
      [['5678'], [], ['2']],
      [['1380000'], ['1380000'], ['1']],
      [[], ['00005678'], ['1']],
      [[], [], []],
    ])('mobile numbers also by their end: %j, %j', async (begins, ends, expected) => {
      const table = await contract.place.table('phones', { id: 'key', phone: 'text' }, [
        ['1', ' 13800005678 '],
        ['2', '56781111111'],
        ['3', '13956781111'],
        ['4', null],
      ])
      const source = contract.source(`select id as userid, phone as mobile from ${table}`)
      expect(await foundBy(source, ['mobile', begins, ends])).toEqual(expected)
    })

    test.each(ODD.filter(text => text.trim() !== '' && !text.includes('\0')))('nobody by %j', async text => {
      expect(await found(await people(), 'name', text)).toEqual([])
    })

    test('by several columns at once, of which it says the one that has it', async () => {
      const source = await people()
      const search = (by: readonly SearchedBy[], limit: number) =>
        source.search(by, { limit, timeoutMs: 10_000 })
      const by: SearchedBy[] = [
        ['mobile', ['1']],
        ['name', ['wu', 'none']],
        ['email', ['a_', "o'"]],
      ]
      expect((await search(by, 10)).map(({ userid, by }) => `${userid} ${by}`).sort()).toEqual([
        '1 name',
        '2 email',
        '3 email',
      ])
      expect(await search(by, 2)).toHaveLength(2)
    })

    test('in one enterprise, however many others have it', async () => {
      const table = await contract.place.table('searched_in', { id: 'key', company: 'text', nick: 'text' }, [
        ...Array.from({ length: 5 }, (_, i) => [`o${i}`, 'C1', '王 other']),
        ['a', ' C7 ', '王安'],
        ['b', 'C7', '李'],
        ['c', '', '王'],
        ['d', null, '王'],
      ])
      const source = contract.source(
        `select id as userid, company as enterprise_code, nick as name from ${table}`,
        { defaultEnterpriseCode: 'C1' },
      )
      const found = async (of: HrSource, enterprise: string, limit = 2) =>
        (await of.search([['name', ['王']]], { limit, timeoutMs: 10_000, enterprise })).map(
          ({ enterpriseCode, userid }) => `${enterpriseCode}/${userid}`,
        )
      expect(await found(source, 'C7')).toEqual(['C7/a'])
      for (const none of ['C8', "C7'", 'C\0']) expect(await found(source, none)).toEqual([])
      // It is also that of rows without one.
      expect(await found(source, 'C1', 100)).toEqual(expect.arrayContaining(['C1/o1', 'C1/c', 'C1/d']))
      const one = contract.source(`select id as userid, nick as name from ${table}`)
      expect(await found(one, '', 100)).toHaveLength(8)
      expect(await found(one, 'C7')).toEqual([])
    })

    contract.test(['index'], 'by several columns at once, reading its rows once', async () => {
      const rows = Array.from({ length: 500 }, (_, i) => [String(i), `Person ${i}`, `p${i}@x.example`])
      const columns = { id: 'key', nick: 'text', mail: 'text' } as const
      const table = await contract.place.table('searched_once', columns, rows)
      const source = contract.source(
        `select id as userid, nick as name, mail as email, nick as corp_code from ${table}`,
      )
      const by = (['name', 'email', 'corp_code'] as const).map(column => [column, ['none such']] as const)
      expect(await source.search(by, { limit: 10, timeoutMs: 10_000 })).toEqual([])
      await source.close()
      expect(await contract.place.rowsRead('searched_once')).toBeLessThan(1000)
    })

    test('departments by name, of which it tells some', async () => {
      const table = await contract.place.table('units', { code: 'key', nick: 'text' }, [
        ['A', 'Sales East'],
        ['B', 'sales west'],
        ['C', null],
      ])
      const source = contract.source("select 1 as userid, 'A' as dept_code", {
        departments: `select code as dept_code, null as parent_code, 't' as active, nick as name from ${table}`,
      })
      const options = { limit: 10, timeoutMs: 10_000 }
      const codes = (await source.searchDepartments('SALES', options)).map(({ deptCode }) => deptCode)
      expect(codes.sort()).toEqual(['A', 'B'])
      expect(await source.searchDepartments('SALES', { ...options, limit: 1 })).toHaveLength(1)
      expect(await source.searchDepartments('west', options)).toEqual([
        { enterpriseCode: '', deptCode: 'B', name: 'sales west' },
      ])
      const wanted = ['A', 'C', 'D', 'a'].map(deptCode => ({ enterpriseCode: '', deptCode }))
      expect([...(await source.departmentNames(wanted, 10_000))]).toEqual([[keyText(key('A')), 'Sales East']])
    })
  })

  describe('reads departments', () => {
    test('with their parents, states and moments of closing, whatever a collation holds to be equal', async () => {
      const table = await contract.place.table(
        'units',
        { company: 'text', code: 'key', above: 'key', works: 'text', closed: 'timestamp' },
        [
          ['', ' A ', null, 't', null],
          ['', 'a', 'A', 'No', '2026-01-01 00:00:00.5'],
          ['C1', 'A', 'gone', null, null],
        ],
      )
      const departments = `select company as enterprise_code, code as dept_code, above as parent_code,
        works as active, closed as closed_at from ${table}`
      const source = contract.source("select 1 as userid, 'A' as dept_code", { departments })
      const { departments: found } = await source.departments()
      expect(
        found.sort((a, b) => (a.enterpriseCode + a.deptCode < b.enterpriseCode + b.deptCode ? -1 : 1)),
      ).toEqual([
        { enterpriseCode: '', deptCode: 'A', parentCode: null, active: true, closedAt: null },
        { enterpriseCode: 'C1', deptCode: 'A', parentCode: 'gone', active: true, closedAt: null },
        {
          enterpriseCode: '',
          deptCode: 'a',
          parentCode: 'A',
          active: false,
          closedAt: new Date('2025-12-31T16:00:00.500Z'),
        },
      ])
    })

    for (const [type, stored, moment] of [
      ['date', '2026-01-01', '2025-12-31T16:00:00Z'],
      ['moment', '2026-01-01T00:00:00.25Z', '2026-01-01T00:00:00.25Z'],
    ] as const)
      contract.test(type, `closed at a ${type}`, async () => {
        const table = await contract.place.table('closing', { code: 'key', closed: type }, [
          ['A', stored],
          ['B', null],
        ])
        const source = contract.source("select 1 as userid, 'A' as dept_code", {
          departments: `select code as dept_code, null as parent_code, 'f' as active, closed as closed_at from ${table}`,
        })
        const found = (await source.departments()).departments
        const closedAt = new Map(found.map(one => [one.deptCode, one.closedAt]))
        expect(closedAt.get('A')).toEqual(new Date(moment))
        expect(closedAt.get('B')).toBe(null)
      })

    test('and counts their active employees', async () => {
      const table = await contract.place.table(
        'staffed',
        { id: 'integer', company: 'key', unit: 'key', works: 'text' },
        [
          ['1', 'C1', 'A', 't'],
          ['2', 'C1', ' A', 'perhaps'],
          ['3', 'C1', 'A', 'no'],
          ['4', 'C2', 'A', null],
          ['5', 'C1', null, 't'],
          ['6', 'C1', 'B', 'f'],
          ['7', 'C1', ' ', 't'],
          ['8', 'C1', 'a', 't'],
          ['9', null, 'A', 'T'],
        ],
      )
      const source = contract.source(
        `select id as userid, company as enterprise_code, unit as dept_code, works as active from ${table}`,
        {
          departments: "select 'A' as dept_code, null as parent_code, 't' as active",
          defaultEnterpriseCode: 'D',
        },
      )
      const counts = (await source.departments()).employees.map(
        ({ enterpriseCode, deptCode, employees }) => `${enterpriseCode}/${deptCode}: ${employees}`,
      )
      expect(counts.sort()).toEqual(['C1/A: 2', 'C1/a: 1', 'C2/A: 1', 'D/A: 1'])
    })
  })
}
