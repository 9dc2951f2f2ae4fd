import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'
import { HrDeliveryError } from '../../../src/hr/source.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { errorOf } from '../contract/source-under-test.ts'
import { delivered } from './delivered.ts'
import { type SheetXml, workbook } from './workbook.ts'

const SQL = 'select id as userid, value as remark from staff'
const text = (value: string) => `<c t="inlineStr"><is><t xml:space="preserve">${value}</t></is></c>`
const staff = (...cells: string[]): SheetXml => ({
  name: 'Sheet1',
  rows: [text('id') + text('value'), ...cells.map((cell, i) => text(String(i + 1)) + cell)],
})

async function remarks(book: Buffer): Promise<(string | null | undefined)[]> {
  const hr = await delivered()
  await hr.deliver('staff.xlsx', book)
  return (await hr.rows(SQL)).map(({ remark }) => remark)
}

test('texts are what they are, shared or not', async () => {
  const texts = [
    '<t>007</t>',
    '<r><t>two </t></r><r><t>fonts</t></r><rPh><t>spoken</t></rPh>',
    '<t>a_x000D_b</t>',
  ]
  const cells = [0, 1, 2].map(i => `<c t="s"><v>${i}</v></c>`)
  const others = [
    text(' blanks '),
    '<c t="str"><f>A1</f><v>of a formula</v></c>',
    '<c t="str"><f>A1</f><v></v></c>',
    '<c t="inlineStr"><is><t/></is></c>',
    '<c/>',
    '',
  ]
  expect(await remarks(workbook([staff(...cells, ...others)], { texts }))).toEqual([
    ...['007', 'two fonts', 'a\rb', ' blanks ', 'of a formula'],
    ...[null, null, null, null],
  ])
})

test('numbers have no noise, and no exponent while they have all of their digits', async () => {
  const numbers: [string, string][] = [
    ['1', '1'],
    ['13800138000', '13800138000'],
    ['0.30000000000000004', '0.3'],
    ['1.1000000000000001', '1.1'],
    ['-2.5', '-2.5'],
    ['1E3', '1000'],
    ['123456789012345', '123456789012345'],
    // Excel keeps 15 digits: what it shows here is not the number that was typed.
    ['4.4052419880101E+17', '4.4052419880101E+17'],
    ['440524198801010000', '4.4052419880101E+17'],
    ['1234567890123450', '1.23456789012345E+15'],
    // Excel cannot have written its sixteenth digit.
    ['1234567890123456', '1234567890123456'],
    ['9007199254740993', '9.00719925474099E+15'],
    ['-1E21', '-1E+21'],
  ]
  const cells = numbers.map(([value]) => `<c><v>${value}</v></c>`)
  expect(await remarks(workbook([staff(...cells)]))).toEqual(numbers.map(([, shown]) => shown))
})

test('a whole number keeps the zeros that its format puts before it', async () => {
  const values: [style: number, value: string, shown: string][] = [
    [4, '42', '00042'],
    [4, '0', '00000'],
    [4, '4.2E1', '00042'],
    [4, '1234567', '1234567'],
    [4, '-42', '-42'],
    [4, '1.5', '1.5'],
    [4, '440524198801010000', '4.4052419880101E+17'],
    [5, '42', '00042'],
    [6, '42', '42'],
    [0, '42', '42'],
  ]
  const cells = values.map(([style, value]) => `<c s="${style}"><v>${value}</v></c>`)
  cells.push('<c s="4" t="s"><v>0</v></c>', '<c s="4" t="str"><f>A1</f><v>7</v></c>')
  expect(await remarks(workbook([staff(...cells)], { texts: ['<t>7</t>'] }))).toEqual([
    ...values.map(([, , shown]) => shown),
    ...['7', '7'],
  ])
})

test('a whole number has the text that its format puts around it', async () => {
  const values: [format: string, value: string, shown: string][] = [
    ['"E"0000', '1', 'E0001'],
    ['"E"0000', '123456', 'E123456'],
    ['"E"0000', '-1', '-1'],
    ['"E"0000;[Red]"minus "0000', '1', 'E0001'],
    ['\\E0', '7', 'E7'],
    ['[Blue]0000"号"_ ', '42', '0042号'],
    ['0000号', '42', '0042号'],
    ['000-0000', '1234567', '123-4567'],
    ['000-0000', '42', '000-0042'],
    ['000-0000', '123456789', '12345-6789'],
    ['"E"#', '12', 'E12'],
    ['"E"General', '12', 'E12'],
    ['# 000', '1234', '1 234'],
    // What stands for an amount is the number alone.
    ['#,##0"元"', '1234', '1234'],
    ['0"级"', '12', '12'],
    ['[Blue]_ General"元"', '12', '12'],
    ['0.0"级"', '1.5', '1.5'],
    ['0%', '1', '1'],
    ['[=1]"男";"女"', '1', '1'],
    ['"none"', '1', '1'],
  ]
  const formats = values.map(([format]) => format)
  const cells = values.map(([, value], i) => `<c s="${7 + i}"><v>${value}</v></c>`)
  expect(await remarks(workbook([staff(...cells)], { formats }))).toEqual(values.map(([, , shown]) => shown))
})

test('what Excel shows as a day or a time is one', async () => {
  const values: [style: number, value: string, shown: string][] = [
    [1, '45351', '2024-02-29'],
    [2, '25569', '1970-01-01'],
    [1, '1', '1900-01-01'],
    [1, '59', '1900-02-28'],
    [1, '61', '1900-03-01'],
    [1, '45351.520833333336', '2024-02-29 12:30:00'],
    [1, '0.5', '12:00:00'],
    [3, '45351', '45351'],
    [0, '45351', '45351'],
    // Excel shows ########: it is no day, but not nothing either.
    [1, '20240105', '20240105'],
    [1, '-1', '-1'],
  ]
  const cells = values.map(([style, value]) => `<c s="${style}"><v>${value}</v></c>`)
  expect(
    await remarks(
      workbook([staff(...cells, '<c t="d"><v>2024-02-29T00:00:00</v></c>', '<c t="b"><v>1</v></c>')]),
    ),
  ).toEqual([...values.map(([, , shown]) => shown), ...['2024-02-29', 'true']])
  expect(
    await remarks(
      workbook([staff('<c s="1"><v>0</v></c>', '<c s="1"><v>43889</v></c>')], { date1904: true }),
    ),
  ).toEqual([...['00:00:00', '2024-02-29']])
})

test('a day whose year Excel does not show has none: it filled one in', async () => {
  const values: [format: string, value: string, shown: string][] = [
    ['m"月"d"日";@', '46086', '03-05'],
    ['[$-409]d-mmm;@', '46086', '03-05'],
    ['m/d dddd', '46086.5', '03-05'],
    ['mm-dd', '45351', '02-29'],
    // With a time of day it is a moment, of which the year is needed.
    ['m/d h:mm', '46086.5', '2026-03-05 12:00:00'],
    ['d h:mm', '46086', '2026-03-05'],
    ['yyyy"年"m"月"', '46086', '2026-03-05'],
    ['[$-404]e"年"m"月"d"日"', '46086', '2026-03-05'],
    ['yy-m-d', '46086', '2026-03-05'],
    ['mmm', '46086', '2026-03-05'],
    ['m/d', '20240105', '20240105'],
    ['m/d', '0.5', '12:00:00'],
  ]
  const builtIn = {
    16: '03-05',
    17: '2026-03-05',
    28: '03-05',
    30: '2026-03-05',
    57: '2026-03-05',
    58: '03-05',
  }
  const cells = [...values.map(([, value]) => value), ...Object.keys(builtIn).map(() => '46086')]
  const book = workbook([staff(...cells.map((value, i) => `<c s="${7 + i}"><v>${value}</v></c>`))], {
    formats: values.map(([format]) => format),
    moreStyles: Object.keys(builtIn)
      .map(id => `<xf numFmtId="${id}"/>`)
      .join(''),
  })
  expect(await remarks(book)).toEqual([...values.map(([, , shown]) => shown), ...Object.values(builtIn)])
})

test('cells stand where they say, rows of blanks are none, and further sheets are further tables', async () => {
  const hr = await delivered()
  const first: SheetXml = {
    name: 'Staff',
    rows: [
      '',
      '<c r="B2" t="inlineStr"><is><t>id</t></is></c><c r="AA2" t="inlineStr"><is><t>value</t></is></c>',
      '<c r="B3"><v>7</v></c><c r="AA3"><v>8</v></c><c r="AB3" t="inlineStr"><is><t> </t></is></c>',
      '<c r="B4"/>',
      '<c r="B5" t="inlineStr"><is><t> </t></is></c>',
    ],
  }
  await hr.deliver(
    'staff.xlsx',
    workbook([first, { name: 'Old', rows: [text('id'), text('9')] }, { name: 'Empty', rows: [] }]),
  )
  expect(await hr.rows(`${SQL} union all select id, 'old' from "staff_Old"`)).toEqual([
    { enterprise_code: '', userid: '7', remark: '8' },
    { enterprise_code: '', userid: '9', remark: 'old' },
  ])
})

const TITLE = '<c r="A1" t="inlineStr"><is><t>Staff of 2026</t></is></c>'
const UNITS = text('Shanghai') + text('2026-11-20')

test('a title above the names of columns is no row', async () => {
  const { name, rows } = staff('<c><v>7</v></c>')
  expect(await remarks(workbook([{ name, rows: [TITLE, '', ...rows] }]))).toEqual(['7'])
})

test('the row that names the columns can be set, for each sheet', async () => {
  const hr = await delivered({
    headings: new Map([
      ['staff', 3],
      ['staff_old', 2],
    ]),
  })
  const { name, rows } = staff('<c><v>7</v></c>')
  const old = { name: 'Old', rows: [UNITS, text('id') + text('value'), text('9') + text('old')] }
  await hr.deliver('staff.xlsx', workbook([{ name, rows: [TITLE, UNITS, ...rows] }, old]))
  expect(
    (await hr.rows(`${SQL} union all select id, value from "staff_Old"`)).map(row => row.remark),
  ).toEqual(['7', 'old'])
})

test('a file that has the name of a sheet is told', async () => {
  const hr = await delivered()
  await hr.deliver('staff.xlsx', workbook([staff(), { ...staff(), name: 'Old' }]))
  await hr.deliver('staff_old.csv', 'id,value\n1,A\n')
  expect((await errorOf(hr.rows(`${SQL} union all from "staff_Old"`))).message).toMatch(
    /: the file staff_old\.csv would be a table that another file, or a sheet, already is$/,
  )
})

const BOOK = workbook([staff('<c><v>1</v></c>')])
test.each([
  ['that is cut off', BOOK.subarray(0, -100), /^the file staff\.xlsx is not a workbook of Excel \(/],
  [
    'that is no workbook',
    Buffer.from('PK but no zip'),
    /^the file staff\.xlsx is not a workbook of Excel \(/,
  ],
  ['whose XML is broken', workbook([staff('<c><v>1</c>')]), /^the file staff\.xlsx is broken: /],
  [
    'with a formula that fails',
    workbook([staff('<c r="B2" t="e"><v>#N/A</v></c>')]),
    /^the file staff\.xlsx has #N\/A in cell B2 of sheet Sheet1: mend its formula$/,
  ],
  [
    'with a formula that was never computed',
    workbook([staff('<c r="B2"><f>A1</f></c>')]),
    /^the file staff\.xlsx has a formula without a value in cell B2 of sheet Sheet1: save it with Excel$/,
  ],
  [
    'with a formula that was written without being computed',
    workbook([staff('<c r="B2"><f>A1</f><v></v></c>')]),
    /^the file staff\.xlsx has a formula without a value in cell B2 of sheet Sheet1: save it with Excel$/,
  ],
  [
    'with a value in a column that has no name',
    workbook([staff(text('A'), text('B') + text('lost'))]),
    /^the file staff\.xlsx has more values in row 3 of sheet Sheet1 than row 1 names columns: name them all, or say in HR_FILES_HEADINGS which row names them$/,
  ],
  [
    'whose title has several values',
    workbook([{ name: 'Sheet1', rows: [UNITS, text('id') + text('value') + text('hired'), text('1')] }]),
    /^the file staff\.xlsx has more values in row 2 of sheet Sheet1 than row 1 names columns: /,
  ],
  [
    'without the text of a cell',
    workbook([staff('<c r="B2" t="s"><v>1</v></c>')], { texts: ['<t>one</t>'] }),
    /^the file staff\.xlsx lacks the text of cell B2 of sheet Sheet1$/,
  ],
  [
    'with nothing in it',
    workbook([{ name: 'Sheet1', rows: [] }]),
    /^the file staff\.xlsx has nothing in its first sheet, Sheet1$/,
  ],
])('one %s is no delivery', async (_, book, message) => {
  const hr = await delivered()
  await hr.deliver('staff.xlsx', book)
  const error = await errorOf(hr.rows(SQL))
  expect(error).toBeInstanceOf(HrDeliveryError)
  expect(error.message.replace(/^.*is not complete: /, '')).toMatch(message)
})

test.each<[string, (book: Buffer) => Buffer]>([
  ['has a byte before it', book => Buffer.concat([Buffer.from([0]), book])],
  [
    'names a part that is not where it says',
    book => book.fill(255, book.indexOf('PK\x01\x02') + 42, book.indexOf('PK\x01\x02') + 46),
  ],
])('a zip that %s makes the delivery incomplete, by name', async (_, damage) => {
  expect(await errorOf(remarks(damage(workbook([staff(text('a'))]))))).toMatchObject({
    name: 'HrDeliveryError',
    message: expect.stringMatching(/staff\.xlsx is not a workbook of Excel \(./),
  })
})

/** The rows of a workbook, read within 32 MB of heap. */
async function readInSmallHeap(book: Buffer): Promise<unknown> {
  const path = join(await temporaryFolder(), 'staff.xlsx')
  await writeFile(path, book)
  const worker = new Worker(new URL('fixtures/read-workbook.ts', import.meta.url), {
    workerData: path,
    resourceLimits: { maxOldGenerationSizeMb: 32 },
  })
  const [rows] = await once(worker, 'message')
  return rows
}

test('millions of short texts fit into a small heap', async () => {
  const many = `<t>ab</t></si>${'<si><t>ab</t></si>'.repeat(1_000_000)}<si><t>last</t>`
  const cell = '<c t="s"><v>1000001</v></c>'
  expect(await readInSmallHeap(workbook([staff(cell)], { texts: [many], isPacked: true }))).toEqual([
    ['id', 'value'],
    ['1', 'last'],
  ])
})

test('empty cells in the last column of each row take nothing', async () => {
  const rows = Array.from(
    { length: 5000 },
    (_, i) => `<c r="A${i + 1}"><v>${i}</v></c><c r="XFD${i + 1}" s="1"/>`,
  )
  expect(await readInSmallHeap(workbook([{ name: 'Sheet1', rows }], { isPacked: true }))).toHaveLength(5000)
})

test('a row with more cells than a row can have is refused', async () => {
  const hr = await delivered()
  await hr.deliver('staff.xlsx', workbook([staff(text('x').repeat(20_000))], { isPacked: true }))
  expect((await errorOf(hr.rows(SQL))).message).toMatch(/16,384 cells in a row/)
})

test('more formats, or sheets, than a workbook has are refused', async () => {
  const hr = await delivered()
  const moreStyles = '<xf numFmtId="0"/>'.repeat(100_000)
  await hr.deliver('staff.xlsx', workbook([staff(text('x'))], { isPacked: true, moreStyles }))
  expect((await errorOf(hr.rows(SQL))).message).toMatch(/more than 65,536 cell formats/)
  const sheets = Array.from({ length: 5000 }, (_, i) => ({ ...staff(text('x')), name: `Sheet${i}` }))
  await hr.deliver('staff.xlsx', workbook(sheets))
  expect((await errorOf(hr.rows(SQL))).message).toMatch(/more than 4,096 sheets/)
})

test('a cell with more text than a cell can have is refused', async () => {
  const hr = await delivered()
  await hr.deliver('staff.xlsx', workbook([staff(text('x'.repeat(70_000)))]))
  expect((await errorOf(hr.rows(SQL))).message).toMatch(/more than 65,536 characters in a cell/)
})
