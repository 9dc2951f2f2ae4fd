import { mkdir, readdir, stat, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { HrDataError, MappingError } from '../../../src/hr/source.ts'
import { errorOf } from '../contract/source-under-test.ts'
import { delivered } from './delivered.ts'

const STAFF = 'id,name\n1,A\n'

test.each([
  "read_csv('/etc/passwd')",
  "read_csv('{folder}/staff.csv')",
  "'{folder}/staff.csv'",
  "read_text('/etc/passwd')",
  "read_blob('/etc/passwd')",
  "read_json('http://127.0.0.1:1/x.json')",
  "read_parquet('s3://bucket/x.parquet')",
  "glob('/etc/*')",
  "sniff_csv('/etc/passwd')",
])('a mapping cannot read %s', async from => {
  const hr = await delivered()
  await hr.deliver('staff.csv', STAFF)
  const sql = `select 1 as userid, 'n' as name from ${from.replaceAll('{folder}', hr.folder)}`
  const error = await errorOf(hr.rows(sql))
  expect(error).toBeInstanceOf(MappingError)
  expect(error.message).toMatch(/file system operations are disabled/)
  expect(await readdir(hr.folder)).toEqual(['staff.csv'])
})

test.each([
  "copy (select 1) to '/tmp/never.csv'",
  "attach '/tmp/never.duckdb'",
  'install excel',
  'load excel',
  'pragma threads = 1',
  'set enable_external_access = true',
  "create table t as select 1 as userid, 'n' as name",
  'call enable_profiling()',
])('a mapping cannot be %s', async sql => {
  const hr = await delivered()
  await hr.deliver('staff.csv', STAFF)
  expect(() => hr.source(sql)).toThrow(MappingError)
  expect(() => hr.source(`select 1 as userid, 'n' as name; ${sql}`)).toThrow(MappingError)
})

test('a link out of the folder is refused, and one within it is followed', async () => {
  const hr = await delivered()
  const elsewhere = join(hr.folder, '../secret.csv')
  await writeFile(elsewhere, STAFF)
  await mkdir(join(hr.folder, '2026-11-22'))
  await writeFile(join(hr.folder, '2026-11-22/staff.csv'), STAFF)
  await symlink('2026-11-22/staff.csv', join(hr.folder, 'staff.csv'))
  const sql = 'select id as userid, name from staff'
  expect(await hr.rows(sql)).toHaveLength(1)
  await symlink('../secret.csv', join(hr.folder, 'other.csv'))
  expect((await errorOf(hr.rows(`${sql} union from other`))).message).toMatch(
    /the file other\.csv is a symbolic link that leads out of the folder$/,
  )
})

test('the kept copy is readable only by its owner', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', STAFF)
  await hr.rows('select id as userid, name from staff')
  const { keep } = hr.settings
  const [place = ''] = await readdir(keep)
  const modes = [keep, join(keep, place)].map(async path => (await stat(path)).mode & 0o777)
  expect(await Promise.all(modes)).toEqual([0o700, 0o700])
  const files = await readdir(join(keep, place))
  expect(files).toEqual([expect.stringMatching(/^[0-9a-f]{32}\.duckdb$/)])
  expect((await stat(join(keep, place, files[0] as string))).mode & 0o777).toBe(0o600)
})

test("a failure does not tell a person's value that DuckDB calls a time zone", async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', 'id,name\n1,ZhangSan\n')
  const sql = 'select id as userid, timezone(name, now())::varchar as name from staff'
  const error = await errorOf(hr.rows(sql))
  expect(error).toBeInstanceOf(HrDataError)
  expect(error.message).toMatch(
    /^employees\.sql: the query failed on a value in HR \(DuckDB: Not implemented\);/,
  )
  expect(`${error.stack} ${error.cause}`).not.toContain('ZhangSan')
})
