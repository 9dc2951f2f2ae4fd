import { spawn } from 'node:child_process'
import { chmod, chown, open, readdir, rename, unlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { setImmediate, setTimeout as sleep } from 'node:timers/promises'
import { DuckDBInstance } from '@duckdb/node-api'
import { pino } from 'pino'
import { describe, expect, inject, onTestFinished, test, vi } from 'vitest'
import { openKept } from '../../../src/hr/files/duckdb.ts'
import { type DataFile, datedName, incompleteness } from '../../../src/hr/files/folder.ts'
import { hrServer } from '../../../src/hr/servers.ts'
import { HrDeliveryError } from '../../../src/hr/source.ts'
import { inEnglish } from '../../../src/texts/message.ts'
import { registerChild } from '../../helpers/children.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { errorOf, key } from '../contract/source-under-test.ts'
import { type Delivered, delivered } from './delivered.ts'
import { FILES_KIND } from './server-under-test.ts'
import { workbook } from './workbook.ts'

const SQL = 'select id as userid, name from staff'
const NOBODY = 65_534
const GOOD = 'id,name\n1,A\n2,B\n'

const incomplete = async (hr: Delivered, sql = SQL) => {
  const error = await errorOf(hr.rows(sql))
  expect(error).toBeInstanceOf(HrDeliveryError)
  return error.message.replace(/^.*is not complete: /, '')
}
const found = async (hr: Delivered, ...userids: string[]) =>
  (await hr.source(SQL).lookup(userids.map(userid => key(userid)))).size

test.runIf(process.getuid?.() === 0)('a file that could not be opened is tried again', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', GOOD)
  expect(await hr.rows(SQL)).toHaveLength(2)
  await hr.deliver('staff.csv', `${GOOD}3,C\n`)
  await chmod(join(hr.folder, 'staff.csv'), 0o600)
  const { keep } = hr.settings
  for (const name of ['', ...(await readdir(keep, { recursive: true }))])
    await chown(join(keep, name), NOBODY, NOBODY)
  process.seteuid?.(NOBODY)
  try {
    expect(await incomplete(hr)).toBe('the file staff.csv cannot be read (EACCES)')
  } finally {
    process.seteuid?.(0)
  }
  // Nothing about the file has changed but who reads it.
  expect(await hr.rows(SQL)).toHaveLength(3)
})

describe('a CSV file', () => {
  test.each([
    ['commas', 'id,name\n007,"A, ""B"""\n', [['007', 'A, "B"']]],
    ['semicolons', 'id;name\n007;A\n', [['007', 'A']]],
    ['tabs', 'id\tname\n007\tA\n', [['007', 'A']]],
    ['Windows line ends', 'id,name\r\n007,A\r\n', [['007', 'A']]],
    ['a line end within quotes', 'id,name\n007,"A\nB"\n', [['007', 'A\nB']]],
    [
      'empty values, which are not there, and empty texts',
      'id,name\n1,\n2,""\n',
      [
        ['1', null],
        ['2', ''],
      ],
    ],
    ['numbers and days as they are written', 'id,name\n0012.50,2024-01-31\n', [['0012.50', '2024-01-31']]],
    ['blanks around names of columns, and line ends at the end', ' id , name\n1,A\n\n\n', [['1', 'A']]],
    ['nobody', 'id,name\n', []],
    [
      'a line break in a name, and Windows line ends',
      'id,"na\nme"\r\n007,"A\r\nB"\r\n8,C\r\n',
      [
        ['007', 'A\r\nB'],
        ['8', 'C'],
      ],
      'na me',
    ],
    [
      'a mark, a title and an empty line above the names',
      '\ufeff"Staff, of\r\n2026"\r\n\r\nid,name\r\n007,A\r\n',
      [['007', 'A']],
    ],
    [
      'more of another separator in one value than columns',
      'id,name\n1,A\n2,a;b;c;d\n3,C\n',
      [
        ['1', 'A'],
        ['2', 'a;b;c;d'],
        ['3', 'C'],
      ],
    ],
    ['another separator in its only row', 'id,name\n1,a|b|c\n', [['1', 'a|b|c']]],
    [
      'commas in every value of a column',
      'id;name\n1;1,5\n2;2,5\n',
      [
        ['1', '1,5'],
        ['2', '2,5'],
      ],
    ],
    ['a comma in the title', 'Staff, of 2026\nid\tname\n1\tA\n', [['1', 'A']]],
    [
      'commas in the title and in every value',
      'Staff, of 2026\nid\tname\n1\tA, B\n2\tC, D\n',
      [
        ['1', 'A, B'],
        ['2', 'C, D'],
      ],
    ],
    [
      'a title, and decimal commas',
      'Staff, of 2026\nid;name;dept\n1;1,5;D\n2;2,5;D\n',
      [
        ['1', '1,5'],
        ['2', '2,5'],
      ],
    ],
    [
      'separators at the end of its records',
      'id;name\n1;x, y;\n2;z, w;\n',
      [
        ['1', 'x, y'],
        ['2', 'z, w'],
      ],
    ],
    ['lines of nothing but separators', 'id,name\n007,A\n,\n\n,\n', [['007', 'A']]],
    [
      'quotes within values, and blanks before quotes',
      'id,name\n1,5" pipe\n2, "A, ""B"""\n3,C\n',
      [
        ['1', '5" pipe'],
        ['2', 'A, "B"'],
        ['3', 'C'],
      ],
    ],
  ])('is read with %s', async (_, content, rows, column = 'name') => {
    const hr = await delivered()
    await hr.deliver('staff.csv', content)
    const read = await hr.rows(`select id as userid, "${column}" as name from staff`)
    expect(read.map(({ userid, name }) => [userid, name])).toEqual(rows)
  })

  test('is read below the line that is set to name its columns', async () => {
    const hr = await delivered({ headings: new Map([['staff', 2]]) })
    await hr.deliver('staff.csv', 'Shanghai,2026-11-20\nid,name\n7,A\n')
    expect(await hr.rows(SQL)).toMatchObject([{ userid: '7', name: 'A' }])
    await hr.deliver('staff.csv', 'Shanghai,2026-11-20\nid,name\n7,A,B\n')
    expect(await incomplete(hr)).toBe(
      'the file staff.csv cannot be read: line 3 has 3 values, and line 2 names 2 columns',
    )
    await hr.deliver('staff.csv', 'id,name\n\n7,A\n')
    expect(await incomplete(hr)).toBe(
      'the file staff.csv has nothing in row 2, which HR_FILES_HEADINGS says names the columns',
    )
  })

  test.each([
    [
      'a record that is cut off',
      'id,name\n1,A\n2',
      'ends in the middle of its last line: let the export end it, or deliver with a marker',
    ],
    [
      'a record with fewer values',
      'id,name\n1,A\n2\n',
      'cannot be read: line 3 has 1 values, and line 1 names 2 columns',
    ],
    [
      'records with fewer values below a comma in each',
      'id;name;hours\n1;A;0,5\n2;B;1,5\n3,0\n4;D;2,5\n5,0\n6;F;3,5\n',
      'cannot be read: line 4 has 1 values, and line 1 names 3 columns',
    ],
    [
      'a record with more values',
      'id,name\n1,secret-7,x\n',
      'cannot be read: line 2 has 3 values, and line 1 names 2 columns',
    ],
    [
      'a quote that is not closed',
      'id,name\n1,"secret-7\n',
      'cannot be read: line 2 has a quote that is not closed',
    ],
    [
      'a line that ends otherwise',
      'id,name\r\n1,"A\nB"\r\n2,C\n3,D\r\n',
      'cannot be read: line 4 ends in LF, and line 1 in CRLF',
    ],
    [
      'a last line that ends otherwise, after a quote',
      'id,name\n1,A\n2,"B"\r\n',
      'cannot be read: line 3 ends in CRLF, and line 1 in LF',
    ],
    ['rows that end otherwise', 'id,name\r\n1,A\n', 'cannot be read: line 2 ends in LF, and line 1 in CRLF'],
    [
      'rows that end otherwise, below a title',
      'Staff\nid,name\r\n1,"A"\n2,B\n',
      'cannot be read: line 3 ends in LF, and line 2 in CRLF',
    ],
    [
      'a record with more values above a line that ends otherwise',
      'id,name\n1,A,x\n2,B\r\n',
      'cannot be read: line 2 has 3 values, and line 1 names 2 columns',
    ],
    ['a column twice', 'id,name,ID\n1,A,2\n', 'has the same name for columns 1 and 3'],
    [
      'names without end',
      `${','.repeat(200_000)}\n`,
      'names 200001 columns, and 4000 is the most that can be read',
    ],
    ['nothing in it', '', 'is empty'],
  ])('with %s is no delivery', async (_, content, message) => {
    const hr = await delivered()
    await hr.deliver('staff.csv', content)
    expect(await incomplete(hr)).toBe(`the file staff.csv ${message}`)
  })
})

test('a first line that is an employee is not told', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', 'secret-7,13800000000\n1,A\n')
  const error = await errorOf(hr.rows(SQL))
  expect(error.message).toMatch(/Referenced column "id" not found in FROM clause! \(Binder Error\)$/)
})

test('a first line that is an employee is not told by a SELECT of all columns either', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', 'secret-7,13800000000,x\n1,A,y\n')
  const { message } = await errorOf(hr.rows('select *, 1 as grade from staff'))
  expect(message).toMatch(
    /unknown column "grade"; columns that are unknown and that the SELECT does not name: 3 .*HR_FILES_HEADINGS/,
  )
  expect(message).not.toMatch(/secret|138/)
  await hr.deliver('staff.csv', 'userid,name\n1,A\n')
  expect(await hr.rows('select * from staff')).toHaveLength(1)
})

describe('a CSV file with hundreds of columns', () => {
  const names = Array.from({ length: 300 }, (_, i) => `c${i}`).join(',')
  const row = Array.from({ length: 298 }, (_, i) => `some value of column ${i}`).join(',')
  const rows = Array.from({ length: 12_000 }, (_, i) => `${i},n${i},${row}`).join('\n')
  const wide = `${names}\n${rows}\n`
  const sql = 'select c0 as userid, c1 as name from staff'

  test('is read', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', wide)
    expect(await hr.rows(sql)).toHaveLength(12_000)
  })

  test('is read with what memory a container has, and refused where that does not suffice', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', wide)
    const limit = vi.spyOn(process, 'constrainedMemory').mockReturnValue(300 * 2 ** 20)
    onTestFinished(() => limit.mockRestore())
    expect((await errorOf(hr.rows(sql))).message).toMatch(/cannot be read \(reading them in .* 2 GB\)/)
    limit.mockReturnValue(1.5 * 2 ** 30)
    await hr.deliver('staff.csv', `${wide}13000,n,${row}\n`)
    expect(await hr.rows(sql)).toHaveLength(12_001)
  })
})

describe('a JSON file', () => {
  const expected = [
    { enterprise_code: '', userid: '007', name: '姓' },
    { enterprise_code: '', userid: '12', name: null },
  ]
  test.each([
    ['array', '[{"id": "007", "name": "姓", "x": {"y": [1]}},\n {"id": 12, "name": null}]'],
    ['line for each', '{"id": "007", "name": "姓"}\n{"id": 12}\n'],
    ['array whose names have blanks', '[{" id": "007", "name\\n": "姓"}, {" id": 12}]'],
  ])('is read: an %s', async (_, content) => {
    const hr = await delivered()
    await hr.deliver('staff.json', content)
    expect(await hr.rows(SQL)).toEqual(expected)
  })

  test.each([
    ['a cut array', '[{"id": 1, "name": "A"},\n', 'ends in the middle of its array'],
    ['a cut object', '[{"id": 1, "name": "A"}, {"id": 2', 'ends in the middle of its array'],
    ['a cut line', '{"id": 1, "name": "A"}\n{"id": ', 'is incomplete, or not JSON'],
    ['no objects', '[]', 'holds no object'],
  ])('with %s is no delivery', async (_, content, message) => {
    const hr = await delivered()
    await hr.deliver('staff.json', content)
    expect(await incomplete(hr)).toBe(`the file staff.json ${message}`)
  })
})

test('a Parquet file that is cut off is no delivery', async () => {
  const hr = await delivered()
  const path = join(await temporaryFolder(), 'staff.parquet')
  const instance = await DuckDBInstance.create()
  const connection = await instance.connect()
  await connection.run(`copy (select 1 as id, 'A' as name) to '${path}'`)
  const { readFile } = await import('node:fs/promises')
  const content = await readFile(path)
  await hr.deliver('staff.parquet', content.subarray(0, -20))
  expect(await incomplete(hr)).toBe('the file staff.parquet is incomplete, or not Parquet')
  await hr.deliver('staff.parquet', content)
  expect(await hr.rows(SQL)).toHaveLength(1)
})

describe('while the next delivery is not complete', () => {
  test('runs are suspect, and look-ups read the last one, in every process', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    expect(await hr.rows(SQL)).toHaveLength(2)
    await hr.deliver('staff.csv', 'id,name\n1,A\n3')
    expect(await incomplete(hr)).toMatch(/ends in the middle/)
    expect(await found(hr, '1', '2', '3')).toBe(2)
    await hr.deliver('staff.csv', 'id,name\n1,A\n3,C\n4,D\n')
    expect(await hr.rows(SQL)).toHaveLength(3)
    expect(await found(hr, '1', '2', '3', '4')).toBe(3)
  })

  test('a dry run reads the last one', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    const source = hr.source(SQL)
    await source.inspect()
    await hr.deliver('staff.csv', 'id')
    await using snapshot = await source.snapshot(10_000)
    const mapping = await snapshot.inspect((await source.mappingFiles()).employees)
    expect((await snapshot.lookup(mapping, [key('1'), key('2')])).size).toBe(2)
  })

  test('files that are still written under another name do not count', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    for (const name of [
      '.staff.csv.Xy12',
      'other.csv.part',
      'other.csv.filepart',
      'other.csv.tmp',
      '~$book.xlsx',
    ])
      await writeFile(join(hr.folder, name), 'half')
    expect(await hr.rows(SQL)).toHaveLength(2)
  })

  test('one that lacks a file of the last one is suspect, as long as a mapping reads it', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    await hr.deliver('units.csv', 'code\nA\n')
    const joined = `${SQL} join units on code = 'A'`
    expect(await hr.rows(joined)).toHaveLength(2)
    const source = hr.source(joined)
    await source.inspect()
    await unlink(join(hr.folder, 'units.csv'))
    expect(await incomplete(hr, joined)).toBe('the file units.csv, which the last delivery had, is missing')
    expect((await source.lookup([key('1')])).size).toBe(1)
    await hr.deliver('staff.csv', 'id,name\n1,A\n')
    expect(await hr.rows(SQL)).toHaveLength(1)
    expect(await incomplete(hr, joined)).toBe('the file units.csv, which the last delivery had, is missing')
  })

  test('where nothing was kept of the last one, a table without a file is named as such', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    const joined = `${SQL} join units on code = 'A'`
    const error = await errorOf(hr.rows(joined))
    expect(error.message).toMatch(
      /^employees\.sql:1:43: the delivery has no file or sheet for the table units \(DuckDB: /,
    )
    await hr.deliver('units.csv', 'code\nA\n')
    expect(await hr.rows(joined)).toHaveLength(2)
  })

  test('one whose workbook lacks a sheet of the last one is suspect, as long as a mapping reads it', async () => {
    const hr = await delivered()
    const cell = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`
    const sheet = (name: string, ...rows: (readonly string[])[]) => ({
      name,
      rows: rows.map(row => row.map(cell).join('')),
    })
    const [heading, one, two] = [
      ['id', 'name'],
      ['1', 'A'],
      ['2', 'B'],
    ] as const
    const [a, b, notes] = [sheet('A', heading, one), sheet('B', heading, two), sheet('Notes', heading)]
    const both = `${SQL} union all select id, name from "staff_B"`
    const source = hr.source(both)
    // The copy of one process is of all sheets before it is known that a mapping reads the second one.
    await hr.deliver('staff.xlsx', workbook([a, b, notes]))
    expect(await hr.rows(SQL)).toHaveLength(1)
    expect(await hr.rows(both)).toHaveLength(2)
    const missing =
      'the file staff.xlsx lacks the sheet B, which the last delivery had, or has it empty or as its first one'
    for (const sheets of [[a], [a, sheet('B')], [a, { ...b, name: 'C' }, notes]]) {
      await hr.deliver('staff.xlsx', workbook(sheets))
      expect(await hr.rows(SQL)).toHaveLength(1)
      expect(await incomplete(hr, both)).toBe(missing)
      expect((await source.lookup([key('1'), key('2')])).size).toBe(2)
    }
    const server = hrServer(`files:${hr.folder}`, pino({ level: 'silent' }), hr.settings)
    onTestFinished(() => server.close())
    expect(await server.delivery?.([{ file: '', sql: both }])).toMatchObject({ stamp: null })
    await hr.deliver('staff.xlsx', workbook([b, a]))
    expect(await incomplete(hr, both)).toBe(missing)
    await hr.deliver('staff.xlsx', workbook([a, sheet('B', heading, one, two)]))
    expect(await hr.rows(both)).toHaveLength(3)
    expect((await server.tables()).map(({ name }) => name)).toEqual(['staff_B', 'staff'])
  })

  test('a sheet that becomes a file of its own is not missing, whichever mapping asks first', async () => {
    const cell = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`
    const sheet = (name: string, id: string) => ({ name, rows: ['id', id].map(cell) })
    const [staff, leavers] = [
      'select id as userid, id as name from staff',
      'select id as userid, id as name from staff_leavers',
    ]
    const both = `${staff} union all ${leavers}`
    for (const first of [both, staff, leavers])
      for (const stays of [true, false]) {
        const hr = await delivered()
        await hr.deliver('staff.xlsx', workbook([sheet('Staff', '1'), sheet('leavers', '2')]))
        expect(await hr.rows(both)).toMatchObject([{ userid: '1' }, { userid: '2' }])
        if (stays) await hr.deliver('staff.xlsx', workbook([sheet('Staff', '3')]))
        else {
          await unlink(join(hr.folder, 'staff.xlsx'))
          await hr.deliver('staff.csv', 'id\n3\n')
        }
        await hr.deliver('staff_leavers.csv', '')
        expect(await incomplete(hr, leavers)).toBe('the file staff_leavers.csv is empty')
        expect((await hr.source(leavers).lookup([key('2')])).size).toBe(1)
        await hr.deliver('staff_leavers.csv', 'id\n4\n')
        await hr.rows(first)
        expect(await hr.rows(staff)).toMatchObject([{ userid: '3' }])
        expect(await hr.rows(leavers)).toMatchObject([{ userid: '4' }])
        expect(await hr.rows(both)).toMatchObject([{ userid: '3' }, { userid: '4' }])
      }
  })

  test('look-ups read no file of it, not even one that is whole', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', 'id,grade\n1,g1\n2,g2\n')
    await hr.deliver('grades.csv', 'grade,label\ng1,M1\ng2,M2\n')
    const joined = 'select id as userid, label as level from staff join grades using (grade)'
    const levels = async (source = hr.source(joined)) => {
      const rows = await source.lookup([key('1'), key('2')])
      return [...rows.values()].map(row => row !== 'duplicate' && row.level)
    }
    const source = hr.source(joined)
    expect(await levels(source)).toEqual(['M1', 'M2'])
    await hr.deliver('grades.csv', 'grade,label\ng2,M1\ng3,M2\n')
    await hr.deliver('staff.csv', 'id,grade\n1,g2\n2,')
    expect(await incomplete(hr, joined)).toMatch(/ends in the middle/)
    expect(await levels(source)).toEqual(['M1', 'M2'])
    expect(await levels()).toEqual(['M1', 'M2'])
    // Nor does one by a mapping that has changed since read it as if it were whole.
    const ranks = joined.replace('grades', 'ranks')
    await hr.deliver('ranks.csv', 'grade,label\ng1,M1\ng2,M2\n')
    expect(await errorOf(levels(hr.source(ranks)))).toBeInstanceOf(HrDeliveryError)
    await hr.deliver('staff.csv', 'id,grade\n1,g2\n2,g3\n')
    await hr.deliver('grades.csv', 'grade,label\ng2,N1\ng3,N2\n')
    expect(await hr.rows(joined)).toHaveLength(2)
    expect(await levels(source)).toEqual(['N1', 'N2'])
  })

  test('the name of a common table expression is no file, whether or not the folder has one of that name', async () => {
    const hr = await delivered({ complete: { marker: '_OK' } })
    await hr.deliver('staff.csv', GOOD)
    await hr.deliver('_OK', '')
    const named = `with recursive "First" as (from staff), active as (from first),
      staff as (from staff union from staff)
      select id as userid, name from active join (from staff) using (id, name)`
    const source = hr.source(named)
    expect((await source.lookup([key('1')])).size).toBe(1)
    await unlink(join(hr.folder, '_OK'))
    await hr.deliver('staff.csv', 'id,name\n1,A\n')
    expect(await incomplete(hr, named)).toBe('the marker _OK is missing')
    expect((await source.lookup([key('1'), key('2')])).size).toBe(2)
    await hr.deliver('active.csv', 'id\n1,2\n')
    await hr.deliver('_OK', '')
    expect(await hr.rows(named)).toHaveLength(1)
  })

  test('a file whose name has other capitals than before is the same one', async () => {
    const hr = await delivered()
    await hr.deliver('Staff.csv', GOOD)
    expect(await hr.rows(SQL)).toHaveLength(2)
    await unlink(join(hr.folder, 'Staff.csv'))
    await hr.deliver('staff.csv', 'id,name\n1\n')
    expect(await incomplete(hr)).toMatch(/line 2 has 1 values/)
    expect(await found(hr, '1', '2')).toBe(2)
    await hr.deliver('staff.csv', 'id,name\n1,A\n')
    expect(await hr.rows(SQL)).toHaveLength(1)
    expect(await found(hr, '1', '2')).toBe(1)
  })

  test('a folder that cannot be read is no delivery either, in a process that has just begun', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    expect(await hr.rows(SQL)).toHaveLength(2)
    await rename(hr.folder, `${hr.folder}-away`)
    expect(await incomplete(hr)).toMatch(
      /^the folder .* cannot be read \(ENOENT\); check HR_DATABASE_URL or HR_SOURCES, and that the folder is there and mounted$/,
    )
    expect(await found(hr, '1', '2')).toBe(2)
  })

  test('a folder is read one file after the other, for all who ask, so that one that hangs stops nothing else', async () => {
    const hr = await delivered()
    for (let n = 0; n < 8; n += 1) await hr.deliver(`staff${n}.csv`, GOOD)
    const server = hrServer(`files:${hr.folder}`, pino({ level: 'silent' }), hr.settings)
    onTestFinished(() => server.close())
    await server.facts()
    const asking = Promise.all(Array.from({ length: 8 }, () => server.facts()))
    let most = 0
    let isRead = false
    void asking.finally(() => {
      isRead = true
    })
    while (!isRead) {
      const requests = process.getActiveResourcesInfo().filter(kind => kind === 'FSReqPromise')
      most = Math.max(most, requests.length)
      await setImmediate()
    }
    expect(most).toBe(1)
  })

  test('an empty folder is suspect, and no employee counts as having left', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    expect(await hr.rows(SQL)).toHaveLength(2)
    await unlink(join(hr.folder, 'staff.csv'))
    expect(await incomplete(hr)).toMatch(/^the folder has no file of data/)
    expect(await found(hr, '1', '2')).toBe(2)
  })
})

test('a scan that is closed before its first row stops DuckDB', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', GOOD)
  const scan = await hr.source(`select 1 as userid, ${FILES_KIND.slow} as name from staff`).scan({})
  scan.stream.resume()
  const busy = async () => {
    const before = process.cpuUsage()
    await sleep(100)
    const { user, system } = process.cpuUsage(before)
    return user + system > 20_000
  }
  await expect.poll(busy).toBe(true)
  await scan.close()
  await expect.poll(busy).toBe(false)
})

test('a disk that is full keeps nothing by halves, and look-ups read what was kept', async () => {
  const hr = await delivered()
  const read = async (...limit: string[]) => {
    const fixture = join(import.meta.dirname, 'fixtures/full-disk.ts')
    const child = spawn(
      'sh',
      ['-c', `${limit.join(' ')} exec "$0" "$@"`, process.execPath, fixture, hr.folder, hr.settings.keep],
      {
        stdio: ['ignore', 'pipe', 'inherit'],
      },
    )
    registerChild(inject('runFolder'), child)
    return textOf(child.stdout)
  }
  await hr.deliver('staff.csv', GOOD)
  // No file may have more than 100 blocks: DuckDB begins one, and cannot write the tables.
  expect(await read('ulimit -f 100;')).toMatch(
    /^run: HR's files cannot be read \(no space left in HR_FILES_KEEP\)\nlook-up: /,
  )
  const [place = ''] = await readdir(hr.settings.keep)
  expect(await readdir(join(hr.settings.keep, place))).toEqual([])
  expect(await hr.rows(SQL)).toHaveLength(2)
  await hr.deliver('staff.csv', 'id,name\n1,A\n')
  expect(await read('ulimit -f 100;')).toMatch(
    /^run: the delivery in .* is not complete: HR's files cannot be read \(no space left in HR_FILES_KEEP\)\nlook-up: 2\n$/,
  )
  expect(await read()).toBe('run: ok\nlook-up: 1\n')
})

test('a kept copy that was altered is reported, and not read', async () => {
  const hr = await delivered()
  const rows = Array.from({ length: 50_000 }, (_, i) => `${i},name ${i}\n`)
  await hr.deliver('staff.csv', `id,name\n${rows.join('')}`)
  expect(await hr.rows(SQL)).toHaveLength(50_000)
  const [place = ''] = await readdir(hr.settings.keep)
  const [name = ''] = await readdir(join(hr.settings.keep, place))
  await using kept = await open(join(hr.settings.keep, place, name), 'r+')
  await kept.write(Buffer.from('garbage'), 0, 7, 100_000)
  expect((await errorOf(hr.rows(SQL))).message).toBe(
    "HR's files cannot be read (what HR_FILES_KEEP holds is broken: remove it)",
  )
})

test('what does not fit into memory lies where no other reader puts it', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', GOOD)
  await hr.rows(SQL)
  const [place = ''] = await readdir(hr.settings.keep)
  const [name = ''] = await readdir(join(hr.settings.keep, place))
  const folders = new Set<unknown>()
  for (let i = 0; i < 2; i += 1) {
    const instance = await openKept(join(hr.settings.keep, place, name))
    onTestFinished(() => instance.closeSync())
    const connection = await instance.connect()
    const reader = await connection.runAndReadAll("select current_setting('temp_directory')")
    folders.add(reader.getRows()[0]?.[0])
  }
  expect(folders.size).toBe(2)
})

test.each(['csv', 'json'])('a name that looks like a pattern is the name of one %s file', async extension => {
  const hr = await delivered()
  const content = (id: string) =>
    extension === 'csv' ? `id,name\n${id},A\n` : `[{"id": "${id}", "name": "A"}]`
  await hr.deliver(`staff[1].${extension}`, content('1'))
  await hr.deliver(`staff1.${extension}`, content('2'))
  await hr.deliver(`staff*.${extension}`, content('3'))
  const ids = async (table: string) =>
    (await hr.rows(`select id as userid, name from "${table}"`)).map(({ userid }) => userid)
  expect([await ids('staff[1]'), await ids('staff1'), await ids('staff*')]).toEqual([['1'], ['2'], ['3']])
})

test('names of files decide what is data, and no other words do', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', GOOD)
  await hr.deliver('notes.constructor', 'x')
  await hr.deliver('csv', 'x')
  expect(await hr.rows(SQL)).toHaveLength(2)
})

test('what cannot be kept is not read', async () => {
  const hr = await delivered({ keep: '/dev/null/kept' })
  await hr.deliver('staff.csv', GOOD)
  expect((await errorOf(hr.rows(SQL))).message).toBe(
    "HR's deliveries cannot be kept in /dev/null/kept (ENOTDIR); set HR_FILES_KEEP to a folder that may be written",
  )
})

test('without DuckDB, a sentence says what to install', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', GOOD)
  const fixture = join(import.meta.dirname, 'fixtures/without-duckdb.ts')
  const child = spawn(process.execPath, [fixture, hr.folder, hr.settings.keep], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  registerChild(inject('runFolder'), child)
  expect(await textOf(child.stdout)).toBe(
    'HrUnavailableError: HR in files is read by DuckDB, which is not installed here: run npm install @duckdb/node-api, with Node.js 24 on glibc\n',
  )
})

test('one delivery is kept, and no other', async () => {
  const hr = await delivered()
  for (const content of [GOOD, 'id,name\n1,A\n', GOOD]) {
    await hr.deliver('staff.csv', content)
    await hr.rows(SQL)
  }
  const [place = ''] = await readdir(hr.settings.keep)
  expect(await readdir(join(hr.settings.keep, place))).toHaveLength(1)
})

test('two files that would be the same table are no delivery', async () => {
  const hr = await delivered()
  await hr.deliver('Staff.csv', GOOD)
  await hr.deliver('staff.json', '[]')
  expect(await incomplete(hr)).toBe('the files Staff.csv and staff.json would be the same table')
})

test('a marker makes a delivery, and has to be newer than the files', async () => {
  const hr = await delivered({ complete: { marker: '_SUCCESS' } })
  // It says that the file is complete, so its last line need not end.
  await hr.deliver('staff.csv', 'id,name\n1,A\n2,B')
  expect(await incomplete(hr)).toBe('the marker _SUCCESS is missing')
  await hr.deliver('_SUCCESS', '')
  expect(await hr.rows(SQL)).toHaveLength(2)
  await hr.deliver('staff.csv', 'id,name\n1,A')
  const soon = new Date(Date.now() + 5000)
  await utimes(join(hr.folder, 'staff.csv'), soon, soon)
  expect(await incomplete(hr)).toBe('the file staff.csv is newer than the marker _SUCCESS')
  expect(await found(hr, '1', '2')).toBe(2)
  await utimes(join(hr.folder, '_SUCCESS'), soon, soon)
  expect(await hr.rows(SQL)).toHaveLength(1)
})

describe('only what a mapping reads is judged', () => {
  test.each([
    ['broken', 'id,name\n1'],
    ['empty', ''],
  ])('a file that is %s blocks no other', async (_, content) => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    await hr.deliver('notes.csv', content)
    expect(await hr.rows(SQL)).toHaveLength(2)
    expect(await incomplete(hr, 'select id as userid, name from notes')).toMatch(/^the file notes\.csv /)
    await hr.deliver('staff.csv', 'id,name\n1,A\n')
    expect(await hr.rows(SQL)).toHaveLength(1)
    await unlink(join(hr.folder, 'notes.csv'))
    await hr.deliver('staff.csv', GOOD)
    expect(await hr.rows(SQL)).toHaveLength(2)
  })

  test.each([
    ['a', 'staff', 'staff_Notes', ['Staff', 'Notes']],
    ['a first', 'staff_Staff', 'staff', ['Notes', 'Staff']],
  ])('%s sheet that cannot be read blocks no other', async (_, good, broken, names) => {
    const hr = await delivered()
    const cell = (value: string) => `<c t="inlineStr"><is><t>${value}</t></is></c>`
    const rows = [cell('id') + cell('name'), cell('1') + cell('A')]
    const wide = [...rows, cell('2') + cell('B') + cell('lost')]
    const sheets = names.map(name => ({ name, rows: name === 'Staff' ? rows : wide }))
    await hr.deliver('staff.xlsx', workbook(sheets))
    expect(await hr.rows(`select id as userid, name from "${good}"`)).toHaveLength(1)
    expect(await incomplete(hr, `select id as userid, name from "${broken}"`)).toMatch(
      /has more values in row 3/,
    )
  })

  test.each(['xlsx', 'csv'])(
    'a broken .%s whose name another table begins with blocks it neither beside it nor once it is gone',
    async extension => {
      const hr = await delivered()
      const active = 'select id as userid, name from staff_active'
      const book = `staff.${extension}`
      await hr.deliver(book, 'id,name\n1')
      await hr.deliver('staff_active.csv', GOOD)
      // A mapping named it, and a list of all files, as of `hr init`, has read it.
      expect(await incomplete(hr)).toContain(book)
      const server = hrServer(`files:${hr.folder}`, pino({ level: 'silent' }), hr.settings)
      onTestFinished(() => server.close())
      expect((await server.tables()).map(({ name }) => name)).toEqual(['staff_active'])
      expect(await hr.rows(active)).toHaveLength(2)
      expect((await hr.source(active).lookup([key('1'), key('2')])).size).toBe(2)
      await hr.deliver('staff_active.csv', 'id,name\n1,A\n')
      expect(await hr.rows(active)).toHaveLength(1)
      await unlink(join(hr.folder, book))
      expect((await errorOf(hr.rows(SQL))).message).toMatch(/^employees\.sql:.* staff /)
      await hr.deliver('staff_active.csv', GOOD)
      expect(await hr.rows(active)).toHaveLength(2)
    },
  )

  test('a file that is still written keeps no other waiting', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    expect(await hr.rows(SQL)).toHaveLength(2)
    const { folder, settings } = hr
    const resting = await delivered({ ...settings, complete: { restMs: 60_000 } }, folder)
    await hr.deliver('notes.csv', GOOD)
    expect(await resting.rows(SQL)).toHaveLength(2)
    expect(await incomplete(resting, 'select id as userid, name from notes')).toMatch(
      /^the file notes\.csv was still being written/,
    )
  })

  test('where a SELECT does not tell, it is all of them', async () => {
    const hr = await delivered()
    await hr.deliver('staff.csv', GOOD)
    const unsure = "select id as userid, name from query_table('staff')"
    expect(await hr.rows(unsure)).toHaveLength(2)
    await hr.deliver('notes.csv', '')
    expect(await incomplete(hr, unsure)).toBe('the file notes.csv is empty')
  })
})

describe('files with a date in their names', () => {
  const LATEST = 'select id as userid, name from "staff_{latest}"'

  test('are said to be hidden by one that is dated ahead, once they came after it', async () => {
    const hr = await delivered()
    const day = (days: number) => new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)
    const hidden = async () => (await hr.source(LATEST).delivery())?.hidden
    await hr.deliver(`staff_${day(-1)}.csv`, GOOD)
    await hr.deliver(`staff_${day(400)}.csv`, GOOD)
    const at = new Date()
    await utimes(join(hr.folder, `staff_${day(400)}.csv`), at, at)
    expect(await hidden()).toBeNull()
    await hr.deliver(`staff_${day(0)}.csv`, 'id,name\n3,C\n')
    const later = new Date(at.getTime() + 1000)
    await utimes(join(hr.folder, `staff_${day(0)}.csv`), later, later)
    expect(await hidden()).toEqual({ file: `staff_${day(0)}.csv`, by: `staff_${day(400)}.csv` })
    await unlink(join(hr.folder, `staff_${day(400)}.csv`))
    expect(await hidden()).toBeNull()
  })

  test('are one table, the latest of them', async () => {
    const hr = await delivered()
    await hr.deliver('staff_2026-11-09.csv', 'id,name\n1,A\n')
    await hr.deliver('staff_2026-11-20.csv', GOOD)
    await hr.deliver('staff_2026-10-31.csv', 'broken')
    expect(await hr.rows(LATEST)).toHaveLength(2)
    expect(await hr.rows('select id as userid, name from "staff_2026-11-09"')).toHaveLength(1)
    await hr.deliver('staff_2026-12-01.csv', 'id,name\n1,A\n2,B\n3,C\n')
    await unlink(join(hr.folder, 'staff_2026-11-20.csv'))
    expect(await hr.rows(LATEST)).toHaveLength(3)
  })

  test('go forward only', async () => {
    const hr = await delivered()
    await hr.deliver('staff_20261109.csv', 'id,name\n1,A\n')
    await hr.deliver('staff_20261120.csv', GOOD)
    expect(await hr.rows(LATEST)).toHaveLength(2)
    await unlink(join(hr.folder, 'staff_20261120.csv'))
    expect(await incomplete(hr, LATEST)).toBe(
      'the file staff_20261120.csv, which the last delivery had, is missing',
    )
    expect((await hr.source(LATEST).lookup([key('1'), key('2')])).size).toBe(2)
  })

  test.each([
    ['hr-20261120-0930', 'hr-{latest}', '20261120093000'],
    ['hr 2026.11.20 09:30:01 full', 'hr {latest} full', '20261120093001'],
    ['hr20261120', 'hr{latest}', '20261120000000'],
    ['hr_20261320', null, null],
    ['hr_2026-1120', null, null],
    ['hr_120261120', null, null],
  ])('%s is %s', (name, table, date) => {
    expect(datedName(name)).toEqual(table === null ? null : { table, date })
  })
})

describe('files at rest', () => {
  const at = (seconds: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, seconds))
  const file = (changedAt: Date): DataFile => ({
    name: 'staff.csv',
    table: 'staff',
    dated: null,
    format: 'csv',
    path: '/hr/staff.csv',
    bytes: 1,
    state: '',
    changedAt,
    writtenAt: at(0),
    problem: null,
  })
  const judged = (changedAt: Date, now: Date, seenAt: Date, otherAt: Date | null = null) => {
    const files = [file(changedAt)]
    const folder = { path: '/hr', files, ignored: [], markedAt: null }
    const why = incompleteness(
      folder,
      files,
      { restMs: 60_000 },
      { now, seen: () => ({ at: seenAt, otherAt }) },
    )
    return why && inEnglish(why)
  }

  test('are a delivery after their time, and not before', () => {
    expect(judged(at(0), at(59), at(59))).toBe(
      'the file staff.csv was still being written 59 s ago, and a delivery is complete after 60 s without a change',
    )
    expect(judged(at(0), at(60), at(60))).toBe(null)
  })

  test('rest though their clock is ahead of ours, once they were seen so for that time', () => {
    expect(judged(at(9999), at(59), at(0))).not.toBe(null)
    expect(judged(at(9999), at(60), at(0))).toBe(null)
  })

  test('do not rest though their clock is behind ours, while they were seen to change', () => {
    expect(judged(at(-9999), at(59), at(10), at(0))).toMatch(/was still being written 59 s ago/)
    expect(judged(at(-9999), at(60), at(10), at(0))).toBe(null)
  })
})

test('what just arrived rests first', async () => {
  const hr = await delivered({ complete: { restMs: 60_000 } })
  await hr.deliver('staff.csv', GOOD)
  expect(await incomplete(hr)).toMatch(/^the file staff\.csv was still being written \d+ s ago/)
  expect(await hr.source(SQL).delivery()).toMatchObject({ stamp: null, files: null })
})
