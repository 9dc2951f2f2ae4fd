import { access, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { duckDb } from '../../../src/hr/files/duckdb.ts'
import { parse } from '../../../src/hr/files/query.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { linesOf } from '../contract/source-under-test.ts'
import { delivered } from './delivered.ts'

/*
 * Attacks by a person who chooses the SELECT: those of test/hr/postgres/attacks.test.ts, and those specific to
 * DuckDB.
 */

const never = new AbortController().signal

test.each([
  ['a second statement', `select 1 as userid, 'n' as name) m; drop table staff; select * from (select 1`],
  [
    'a second statement after a comment that ends at a carriage return',
    `select id as userid, name from staff --\r; drop table staff`,
  ],
  ['COPY to a file', `copy (select id as userid, name from staff) to 'FILE'`],
  ['a file beside the delivery', `select content as userid, 'n' as name from read_text('SECRET')`],
  ['a table of another file', `select * from 'SECRET'`],
  ['another database', `attach 'FILE' as other`],
  ['a setting', `set enable_external_access = true`],
  ['an extension', `load httpfs`],
  ['a variable of the environment', `select getenv('HOME') as userid, 'n' as name`],
  ['a text that is run as SQL', `from query('copy staff to ''FILE''')`],
  [
    'what the next statement fails of',
    `select 'a' as userid, 'n' as name from enable_logging(storage = 'file', storage_path = 'FILE')`,
  ],
  ['what changes how the next one is read', `select 'a' as userid, 'n' as name from "enable_peg_parser" ()`],
  ['a record', `select write_log('x') as userid, 'n' as name`],
  ['a sleep', `select id as userid, sleep_ms(60000) as name from staff`],
  ['a sleep by the name of PostgreSQL', `select id as userid, pg_sleep(60)::varchar as name from staff`],
  [
    'a statement in JSON',
    `from json_execute_serialized_sql(json_serialize_sql('select 1 as userid, 2 as name'))`,
  ],
  [
    'a call whose parenthesis a no-break space precedes',
    `select id as userid, name from staff, lateral (select count(*) from enable_logging\u00a0('QueryLog', storage := 'file', storage_path := 'FILE')) x`,
  ],
  [
    'a sleep before an ideographic space',
    `select id as userid, sleep_ms\u3000(60000)::varchar as name from staff`,
  ],
  [
    'a sleep before a space of no width',
    `select id as userid, sleep_ms\u200b(60000)::varchar as name from staff`,
  ],
  [
    'a text that is run as SQL, in a subquery',
    `select id as userid, (from query\u202f('select 1')) as name from staff`,
  ],
  ['an end of the log', `select 'a' as userid, 'n' as name from truncate_duckdb_logs\u2060()`],
  [
    'a call that a text hides only from those who see a text in it',
    `select id || /*'*/ $\u00a0$ ' $\u00a0$ || sleep_ms(60000) as userid, name from staff`,
  ],
  [
    'a call behind a text that goes on in another line',
    `select E'a'\n'\\'' || write_log('x') --' as userid, 'n' as name`,
  ],
])('leaves what surrounds HR in files as it is: %s', async (_, attack) => {
  const hr = await delivered()
  await hr.deliver('staff.csv', 'id,name\n1,Ann\n2,Ben\n')
  const folder = await temporaryFolder()
  const [file, secret] = [join(folder, 'left-behind'), join(folder, 'secret.csv')]
  await writeFile(secret, 'userid,name\ntop,secret\n')
  const source = hr.source('select id as userid, name from staff')
  const sql = attack.replace('FILE', file).replace('SECRET', secret)
  const readTwice = async () => {
    await using snapshot = await source.snapshot(20_000)
    const mapping = await snapshot.inspect({ file: 'SELECT', sql })
    await linesOf(await snapshot.scan(mapping, never))
    return await linesOf(await snapshot.scan(mapping, never))
  }
  await expect(readTwice()).rejects.toMatchObject({ message: expect.not.stringContaining('top') })
  await expect(access(file)).rejects.toMatchObject({ code: 'ENOENT' })
  expect(await linesOf(await source.scan({}))).toEqual(['\t1\tAnn', '\t2\tBen'])
})

test('no macro of DuckDB hides a call that is refused', async () => {
  const instance = await (await duckDb()).DuckDBInstance.create(':memory:')
  const connection = await instance.connect()
  const reader = await connection.runAndReadAll(
    `select distinct function_name, macro_definition from duckdb_functions() where macro_definition is not null`,
  )
  const macros = reader.getRows() as [name: string, definition: string][]
  expect(macros.length).toBeGreaterThan(50)
  for (const [name, definition] of macros) {
    const { acting } = await parse(`select ${definition}`)
    if (acting) expect((await parse(`select ${name}(1)`)).acting, definition).toBe(name)
  }
  connection.closeSync()
  instance.closeSync()
})

test('a SELECT pasted with the blanks of a text processor is read', async () => {
  const hr = await delivered()
  await hr.deliver('staff.csv', 'id,name\n1,Ann\n')
  const sql = `select\u00a0id as userid,\u3000'\u00a0' || name as name\u200bfrom staff;\u00a0`
  expect(await linesOf(await hr.source(sql).scan({}))).toEqual(['\t1\t\u00a0Ann'])
})
