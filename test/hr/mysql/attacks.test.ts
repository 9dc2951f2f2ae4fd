import { expect, test } from 'vitest'
import { createMariadbDatabase } from '../../helpers/mariadb.ts'
import { linesOf } from '../contract/source-under-test.ts'
import { hrSource } from '../hr-database.ts'

/*
 * Attacks by a person who chooses the SELECT, with an HR user who may write: those of
 * test/hr/postgres/attacks.test.ts.
 */

const never = new AbortController().signal

test.each([
  [
    'what a function of HR sets so that the second reading has other quotes',
    `select id as userid, tamper() as name from staff where 'x' <> '\\' or 1 = 1; insert into staff values (9, 0); -- '`,
  ],
  [
    'an assignment to a setting',
    `select id as userid, (@@session.sql_mode := 'ANSI_QUOTES') as name from staff`,
  ],
  ['SET STATEMENT', `set statement sql_mode = 'ANSI_QUOTES' for select id as userid, 'n' as name from staff`],
  ['a comment that the server runs', `select id as userid, 'n' as name from staff /*!; delete from staff */`],
  ['a file', `select id as userid, 'n' as name from staff into outfile '/tmp/left-behind'`],
  ['a variable', `select id as userid, 'n' as name from staff into @a, @b`],
  ['a lock', `select id as userid, 'n' as name from staff for update`],
  ['a second statement', `select 1 as userid, 'n' as name) m; delete from staff; select * from (select 1`],
  ['a function that writes', `select id as userid, written() as name from staff`],
])('leaves HR in MariaDB as it is: %s', { tags: 'mariadb' }, async (_, sql) => {
  await using database = await createMariadbDatabase()
  await database.admin.query(`create table staff (id int, n int); insert into staff values (1, 0), (2, 0);
    create function tamper() returns int begin set session sql_mode = 'NO_BACKSLASH_ESCAPES'; return 1; end;
    create function written() returns int begin insert into staff values (8, 0); return 1; end`)
  const source = hrSource(database.url, `select id as userid, 'n' as name from staff`)
  const readTwice = async () => {
    await using snapshot = await source.snapshot(20_000)
    const mapping = await snapshot.inspect({ file: 'SELECT', sql })
    await linesOf(await snapshot.scan(mapping, never))
    await linesOf(await snapshot.scan(mapping, never))
  }
  await readTwice().catch(error => expect(error.message).toMatch(/^SELECT/))
  const [rows] = await database.admin.query('select id from staff order by id')
  expect(rows).toEqual([{ id: 1 }, { id: 2 }])
})

test.each([
  [`sleep(60)`, 'sleep'],
  ['`Sleep` /* ( */ (60)', 'sleep'],
  [`benchmark(1000000000, md5('x'))`, 'benchmark'],
  [`get_lock('payroll', 60)`, 'get_lock'],
  [`release_all_locks()`, 'release_all_locks'],
  [`cast(load_file('/etc/passwd') as char)`, 'load_file'],
  [`master_pos_wait('x', 1, 60)`, 'master_pos_wait'],
  ['(select nick from staff limit 1 lock in share mode)', 'lock in share mode'],
  ['(select nick from staff limit 1 FOR /* all */ SHARE)', 'for share'],
  // The server ends a number after its exponent, whatever follows.
  ['(select nick from staff where id > 0e0lock in share mode)', 'lock in share mode'],
  ['(select nick from staff where id > 5.e-1for update)', 'for update'],
  ['(select nick from staff where id > .5E1for share)', 'for share'],
  [`wsrep_sync_wait_upto_gtid('0-1-1', 60)`, 'wsrep_sync_wait_upto_gtid'],
  [`service_get_write_locks('payroll', 'all', 60)`, 'service_get_write_locks'],
  [`version_tokens_lock_exclusive('all', 60)`, 'version_tokens_lock_exclusive'],
  // The server begins a comment at two hyphens before any control character.
  ["0 --\x7f '\n + sleep(60) /*'*/", 'sleep'],
  ["(select nick from staff limit 1 --\x7f '\n lock in share mode /*'*/)", 'lock in share mode'],
])('a mapping may not do more than read: %s', { tags: 'mariadb' }, async (call, name) => {
  await using database = await createMariadbDatabase()
  await database.admin.query(
    `create table staff (id int, nick varchar(9)); insert into staff values (1, 'Ann')`,
  )
  const source = hrSource(database.url, `select id as userid, nick as name from staff`)
  await using snapshot = await source.snapshot(1000)
  const reading = async () => {
    const mapping = await snapshot.inspect({
      file: 'SELECT',
      sql: `select id as userid, ${call} as name from staff`,
    })
    await linesOf(await snapshot.scan(mapping, never))
  }
  await expect(reading()).rejects.toMatchObject({
    code: 'MAPPING_STATEMENT',
    place: { line: call.split('\n').length },
    message: expect.stringContaining(`${name} can do more than read; leave it out`),
  })
})

test.each([
  `'sleep(60)'`,
  `"get_lock(1)"`,
  `/* sleep(60) */ nick`,
  'staff.nick',
  '(select max(sleep) from (select 1 as sleep) s)',
])('a mapping may use names that only look forbidden: %s', { tags: 'mariadb' }, async value => {
  await using database = await createMariadbDatabase()
  await database.admin.query(
    `create table staff (id int, nick varchar(9)); insert into staff values (1, 'Ann')`,
  )
  const source = hrSource(database.url, `select id as userid, ${value} as name from staff`)
  expect(await linesOf(await source.scan({}))).toHaveLength(1)
})

test.each([
  `select /*+ MAX_EXECUTION_TIME(0) */ id as userid, nick as name from staff`,
  `(select/*+set_var(sql_mode = 'ANSI_QUOTES')*/ id as userid, nick as name from staff)`,
])('a mapping may not set its own limits: %s', { tags: 'mariadb' }, async sql => {
  await using database = await createMariadbDatabase()
  const source = hrSource(database.url, 'select id as userid, nick as name from staff')
  await using snapshot = await source.snapshot(1000)
  await expect(snapshot.inspect({ file: 'SELECT', sql })).rejects.toMatchObject({
    code: 'MAPPING_STATEMENT',
    message: expect.stringContaining('the server runs what stands in this comment; leave it out'),
  })
})

test.each(['\u00a0', '\u2003', '\u200b', '\u2060', '\u3000', '\ufeff'])(
  'the server takes %j for a letter: no call of its own stands before it',
  { tags: 'mariadb' },
  async blank => {
    await using database = await createMariadbDatabase()
    await database.admin.query('create table staff (id int); insert into staff values (1)')
    const source = hrSource(database.url, 'select id as userid from staff')
    await using snapshot = await source.snapshot(20_000)
    const sql = `select id as userid, sleep${blank}(60) as name from staff`
    await expect(snapshot.inspect({ file: 'SELECT', sql })).rejects.toMatchObject({
      code: 'MAPPING_SQL',
      message: expect.stringContaining(`sleep${blank} does not exist`),
    })
  },
)
