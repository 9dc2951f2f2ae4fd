import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import fc from 'fast-check'
import { pino } from 'pino'
import { isOfHr } from '../../src/hr/errors.ts'
import { hrServer } from '../../src/hr/servers.ts'
import { HrSource } from '../../src/hr/source.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { settingsOf } from '../hr/files/server-under-test.ts'
import { workbook } from '../hr/files/workbook.ts'
import { type Kind, must } from './kind.ts'
import { damaged, jsonValue, text } from './texts.ts'

/* Files that HR delivers, in each format, damaged in every way: rows, or a failure of HR that says something, in bounded time. */

interface DeliveredFile {
  name: string
  bytes: Buffer
}

const LONGEST_MS = 60_000

const cell = fc.oneof(fc.constantFrom('e1', '', '"', '""', '1', '2020-01-01', '\n', '\r\n', ','), text(2000))
const csv = fc
  .record({
    heading: fc.constantFrom(
      'id,nick',
      'id;nick',
      'id\tnick',
      '"id","nick"',
      'Report of today\n\nid,nick',
      'nick,id,id',
      'id',
      '',
    ),
    rows: fc.array(fc.array(cell, { maxLength: 4 }), { maxLength: 20 }),
    between: fc.constantFrom(',', ',', ';', '\t'),
    ending: fc.constantFrom('\n', '\r\n', '\r'),
  })
  .map(({ heading, rows, between, ending }) =>
    [heading, ...rows.map(row => row.join(between)), ''].join(ending),
  )
const json = fc.oneof(
  jsonValue(['id', 'nick'], 500).map(value => JSON.stringify([{ id: 'e1', nick: 'Ann' }, value])),
  fc
    .array(jsonValue(['id', 'nick'], 500), { maxLength: 10 })
    .map(values => values.map(value => JSON.stringify(value) ?? '').join('\n')),
  fc.nat(100_000).map(depth => `[{"id":${'['.repeat(depth)}`),
)
const xml = text(500, true).map(value => value.replaceAll('<', '&lt;'))
const book = fc
  .record({
    rows: fc.array(
      fc
        .array(
          fc.oneof(
            xml.map(value => `<c t="inlineStr"><is><t>${value}</t></is></c>`),
            fc.constantFrom(
              '<c r="A1"/>',
              '<c r="XFD1048576"><v>1</v></c>',
              '<c t="s"><v>999999999</v></c>',
              '<c t="s"><v>-1</v></c>',
              '<c s="99"><v>1e999</v></c>',
            ),
            fc.constantFrom(
              '<c t="n"><v>NaN</v></c>',
              '<c s="1"><v>-1</v></c>',
              '<c t="b"><v>7</v></c>',
              '<c t="e"><v>#REF!</v></c>',
              '<c t="d"><v>x</v></c>',
              '<v>',
              '&x;',
            ),
          ),
          { maxLength: 4 },
        )
        .map(cells => cells.join('')),
      { maxLength: 10 },
    ),
    texts: fc.array(xml, { maxLength: 3 }),
    isPacked: fc.boolean(),
  })
  .map(({ rows, ...options }) => workbook([{ name: 'Sheet1', rows: [HEADING, ...rows] }], options))
const HEADING = ['id', 'nick'].map(name => `<c t="inlineStr"><is><t>${name}</t></is></c>`).join('')
/** Two employees as DuckDB writes them. */
const PARQUET = Buffer.from(
  'UEFSMRUAFSQVKCwVBBUAFQYVBgAAEkQCAAAABAECAAAAZTECAAAAZTIVABUoFSwsFQQVABUGFQYAABRMAgAAAAQBAwAAAEFubgMAAABCZW4VAhk8NQAYDWR1Y2tkYl9zY2hlbWEVBAAV' +
    'DCUCGAJpZCUAABUMJQIYBG5pY2slAAAWBBkcGSwmABwVDBkVABkYAmlkFQIWBBZGFkomCDwYAmUyGAJlMRYAKAJlMhgCZTEREQAAACYAHBUMGRUAGRgEbmljaxUCFgQWShZOJlI8GANC' +
    'ZW4YA0FubhYAKANCZW4YA0FubhERAAAAFpABFgQmCBaYAQAoKER1Y2tEQiB2ZXJzaW9uIHYxLjUuNSAoYnVpbGQgZDhjZGFhMzNmZCkZLBwAABwAAADYAAAAUEFSMQ==',
  'base64',
)
/** Some kilobytes that become many megabytes: one row, and rows of nothing. */
const bombs = fc
  .constantFrom(`<c t="inlineStr"><is><t>${'x'.repeat(1000)}</t></is></c>`, '<c/>', '</row><row>')
  .map(part =>
    workbook([{ name: 'Sheet1', rows: [HEADING, part.repeat(40_000_000 / part.length)] }], {
      isPacked: true,
    }),
  )

const named =
  (...names: string[]) =>
  (bytes: fc.Arbitrary<Buffer>) =>
    fc.record({ name: fc.constantFrom(...names), bytes })

export const hrFiles: Kind<DeliveredFile> = {
  name: 'hr-files',
  what: 'files that HR delivers, in each format, damaged in every way',
  share: 10,
  few: 40,
  inputs: fc.oneof(
    { weight: 200, arbitrary: named('staff.csv', 'staff.tsv')(damaged(csv.map(text => Buffer.from(text)))) },
    {
      weight: 120,
      arbitrary: named('staff.json', 'staff.ndjson')(damaged(json.map(text => Buffer.from(text)))),
    },
    { weight: 120, arbitrary: named('staff.xlsx')(damaged(book)) },
    { weight: 120, arbitrary: named('staff.parquet')(damaged(fc.constant(PARQUET))) },
    {
      weight: 25,
      arbitrary: named(
        'staff.csv',
        'staff.parquet',
        'staff.xlsx',
      )(damaged(fc.constantFrom(PARQUET, Buffer.alloc(0)))),
    },
    { weight: 1, arbitrary: named('staff.xlsx')(bombs) },
  ),
  async open() {
    const root = await temporaryFolder()
    return { meet: file => meet(file, root), async [Symbol.asyncDispose]() {} }
  },
}

const logger = pino({ level: 'silent' })

async function meet({ name, bytes }: DeliveredFile, root: string): Promise<string> {
  const place = await mkdtemp(join(root, 'x-'))
  const folder = join(place, 'delivered')
  await mkdir(folder)
  await writeFile(join(folder, name), bytes)
  const source = new HrSource({
    server: hrServer(`files:${folder}`, logger, await settingsOf({ keep: join(place, 'kept') })),
    employeesSql: { file: 'employees.sql', sql: 'select id as userid, nick as name from staff' },
    departmentsSql: null,
    logger,
  })
  const begun = performance.now()
  try {
    const scan = await source.scan({})
    const rows = (await textOf(scan.stream)).split('\n').length - 1
    await source.lookup([{ enterpriseCode: '', userid: 'e1' }])
    return rows > 0 ? 'rows' : 'no rows'
  } catch (error) {
    if (!isOfHr(error)) throw error
    must(/\w{3,} \w+/.test(error.message), `a failure says nothing: ${error.message}`)
    must(!/node_modules|\bat \S+ \(/.test(error.message), `a stack is told: ${error.message}`)
    must(!error.message.includes('DuckDB does not answer'), `it blames DuckDB for ${name}`)
    return error.code
  } finally {
    must(performance.now() - begun < LONGEST_MS, 'it takes longer than anyone waits')
    await source.close()
    await rm(place, { recursive: true, force: true })
  }
}
