import { once } from 'node:events'
import { copyFile, truncate, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import type { RowDataPacket } from 'mysql2'
import { pino } from 'pino'
import { generate } from 'selfsigned'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { addressProblem, mysqlAddress } from '../../../src/hr/mysql/address.ts'
import { hrServer } from '../../../src/hr/servers.ts'
import { HrUnavailableError, MappingError } from '../../../src/hr/source.ts'
import { createMariadbDatabase, type MariadbDatabase, startMariadb } from '../../helpers/mariadb.ts'
import { HELD_BACK, isMysql } from '../../helpers/mariadb-server.ts'
import { temporaryFolder } from '../../helpers/temporary-folder.ts'
import { worded } from '../../texts/worded.ts'
import { begin, errorOf, key, linesOf } from '../contract/source-under-test.ts'
import { hrSource } from '../hr-database.ts'
import { MARIADB_KIND } from './server-under-test.ts'

describe('an address', () => {
  test('may hold whatever a password holds, and how to encrypt', () => {
    expect(
      mysqlAddress('mariadb://hr%40x:p%3A%2F%3F@db.example/hr?ssl_mode=VERIFY_CA&ssl-ca=/etc/ca.pem'),
    ).toEqual({
      host: 'db.example',
      port: 3306,
      user: 'hr@x',
      password: 'p:/?',
      database: 'hr',
      tls: { mode: 'verify-ca', ca: '/etc/ca.pem', cert: null, key: null },
    })
    expect(mysqlAddress('mysql://u@[::1]:3307/hr')).toMatchObject({ host: '::1', port: 3307, tls: null })
  })

  test.each([
    ['mysql://u:p@hr/', 'should end with the name of one database'],
    ['mysql:///hr', 'should name a host'],
    ['mysql://u:p@hr/hr?ssl-mode=disabled&ssl-ca=/x', 'should have no ssl files with ssl-mode=disabled'],
    ['mysql://u:p@hr/hr?ssl-mode=required&ssl-cert=/x', 'should have ssl-cert and ssl-key, or neither'],
    ...['10.0.0.5', '[::1]'].map(host => [
      `mysql://u:p@${host}/hr?ssl-mode=verify-identity`,
      'should have the name of the host for ssl-mode=verify-identity, which checks no IP address; verify-ca takes either',
    ]),
  ])('%s: %s', (address, problem) => {
    expect(worded(addressProblem(address))).toBe(problem)
  })
})

describe('with TLS', { tags: 'mariadb' }, () => {
  let database: MariadbDatabase
  let [ca, other, renewed] = ['', '', '']

  beforeAll(async () => {
    const folder = await temporaryFolder()
    const write = async (name: string, text: string) => {
      const file = join(folder, name)
      await writeFile(file, text)
      return file
    }
    const isCa = { extensions: [{ name: 'basicConstraints' as const, cA: true }] }
    const [ours, theirs] = await Promise.all(
      ['ca', 'other'].map(value => generate([{ name: 'commonName', value }], isCa)),
    )
    if (!ours || !theirs) throw new Error('two authorities are needed')
    const signed = await generate([{ name: 'commonName', value: 'db.example' }], {
      ca: { key: ours.private, cert: ours.cert },
      extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
    })
    ca = await write('ca.pem', ours.cert)
    other = await write('other.pem', theirs.cert)
    renewed = await write('renewed.pem', theirs.cert)
    const server = await startMariadb([
      `--ssl-ca=${ca}`,
      `--ssl-cert=${await write('db.pem', signed.cert)}`,
      `--ssl-key=${await write('db.key', signed.private)}`,
      '--require-secure-transport=1',
    ])
    database = await createMariadbDatabase(server, { ssl: { rejectUnauthorized: false } })
    return async () => {
      await database.close()
      await server.stop()
    }
  })

  const read = (parameters: string, hostname = '127.0.0.1') => {
    const { href } = Object.assign(new URL(`${database.url}${parameters}`), { hostname })
    return hrSource(href, "select 1 as userid, 'n' as name").inspect()
  }

  test.each([
    ['?ssl-mode=required', '127.0.0.1'],
    ['?ssl-mode=verify-ca&ssl-ca=CA', '127.0.0.1'],
    ['?ssl-ca=CA', '127.0.0.1'],
    ['?ssl-mode=verify-identity&ssl-ca=CA', 'localhost'],
  ])('%s connects to %s', async (parameters, host) => {
    await expect(read(parameters.replace('CA', ca), host)).resolves.toMatchObject({ employees: {} })
  })

  test('?ssl-mode=verify-identity does not connect to a host by another name than its certificate has', async () => {
    // Every system takes this for 127.0.0.1, and Node.js for a name.
    await expect(read(`?ssl-mode=verify-identity&ssl-ca=${ca}`, '127.1')).rejects.toThrow(
      "its certificate is refused (Hostname/IP does not match certificate's altnames: Host: 127.1.",
    )
  })

  test.each([
    ['', /refuses the login/],
    [
      '?ssl-mode=verify-ca',
      /its certificate is refused \(self-signed .* by ssl-ca=.* With ssl-mode=required nothing is checked/,
    ],
    ['?ssl-ca=OTHER', /its certificate is refused \(self-signed certificate in certificate chain\)/],
    ['?ssl-ca=/nowhere', /with TLS: \/nowhere cannot be read \(ENOENT\)/],
    ['?ssl-ca=/', /with TLS: \/ cannot be read \(EISDIR\)/],
    [`?ssl-ca=${import.meta.filename}`, /connection\.test\.ts holds no CERTIFICATE in PEM/],
  ])('%s does not', async (parameters, message) => {
    const error = await read(parameters.replace('CA', ca).replace('OTHER', other)).catch(failure => failure)
    expect(error).toBeInstanceOf(HrUnavailableError)
    expect(error.message).toMatch(message)
  })

  test('look-ups go on once a certificate was replaced', async () => {
    const source = hrSource(
      `${database.url}?ssl-mode=verify-ca&ssl-ca=${renewed}`,
      "select 1 as userid, 'n' as name",
    )
    await expect(source.mapping()).rejects.toThrow('its certificate is refused')
    await copyFile(ca, renewed)
    expect((await source.lookup([key('1')])).size).toBe(1)
  })
})

/** As a server that offers TLS greets. */
const greeting = Buffer.concat([
  Buffer.from('\n5.7.0\0\x01\0\0\0abcdefgh\0', 'latin1'),
  Buffer.from([0x00, 0x8a, 33, 2, 0, 0x08, 0, 21, ...Array(10).fill(0)]),
  Buffer.from('ijklmnopqrst\0mysql_native_password\0', 'latin1'),
])

const packet = (sequence: number, bytes: Buffer) =>
  Buffer.concat([Buffer.from([bytes.length, 0, 0, sequence]), bytes])

describe('a handshake that fails for another reason than the certificate', () => {
  test.each([
    ['required', 'cut', (socket: Socket) => socket.resetAndDestroy(), 'read ECONNRESET'],
    ['verify-ca', 'cut', (socket: Socket) => socket.resetAndDestroy(), 'read ECONNRESET'],
    [
      'required',
      'answered in the clear',
      (socket: Socket) => socket.end('HTTP/1.1 400\r\n\r\n'),
      '.*wrong version.*',
    ],
  ])('ssl-mode=%s, %s', async (mode, _, atHello, reason) => {
    const server = createServer(socket => {
      socket.on('error', () => {}).once('data', () => atHello(socket))
      socket.write(packet(0, greeting))
    })
    onTestFinished(() => void server.close())
    await once(server.listen(0, '127.0.0.1'), 'listening')
    const { port } = server.address() as AddressInfo
    const source = hrSource(
      `mysql://u:p@127.0.0.1:${port}/hr?ssl-mode=${mode}`,
      "select 1 as userid, 'n' as name",
    )
    await expect(source.inspect()).rejects.toThrow(
      new RegExp(`^the HR database does not answer \\(${reason}\\); check HR_DATABASE_URL [^\n]*$`),
    )
  })
})

test('a look-up fails at once where the server refuses the settings of its session', async () => {
  // Error 1193.
  const refusesSettings = packet(1, Buffer.from('\xff\xa9\x04#HY000Unknown system variable', 'latin1'))
  const server = createServer(socket => {
    socket.on('error', () => {}).write(packet(0, greeting))
    socket.once('data', () => {
      socket.write(packet(2, Buffer.from([0, 0, 0, 2, 0, 0, 0]))) // the login is accepted
      socket.once('data', () => socket.write(refusesSettings))
    })
  })
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const { port } = server.address() as AddressInfo
  const source = hrSource(`mysql://u:p@127.0.0.1:${port}/hr`, "select 1 as userid, 'n' as name")
  const refusal = { code: 'HR_UNAVAILABLE', message: expect.stringContaining('(ER_UNKNOWN_SYSTEM_VARIABLE)') }
  await expect(source.inspect()).rejects.toMatchObject(refusal)
  await expect(source.mapping()).rejects.toMatchObject(refusal)
  await expect(source.lookup([key('1')])).rejects.toMatchObject(refusal)
})

test('a server without TLS is said to have none', { tags: 'mariadb' }, async () => {
  await using server = await startMariadb(['--skip-ssl'])
  await using database = await createMariadbDatabase(server)
  await expect(
    hrSource(`${database.url}?ssl-mode=required`, "select 1 as userid, 'n' as name").inspect(),
  ).rejects.toThrow('it offers none. Switch TLS on there, or write ssl-mode=disabled in the address')
})

test('a scan that is held back for longer than the server waits by default goes on all the same', {
  tags: 'mariadb',
}, async () => {
  await using server = await startMariadb([
    '--net-write-timeout=1',
    '--wait-timeout=1',
    isMysql ? '--max-execution-time=1000' : '--max-statement-time=1',
  ])
  await using database = await createMariadbDatabase(server)
  await database.admin.query('set wait_timeout = 600')
  const source = hrSource(database.url, `select seq as userid, repeat('x', 200) as name from seq_1_to_300000`)
  const scan = await source.scan({})
  await begin(scan)
  const state = async () => {
    const [rows] = await database.admin.query<RowDataPacket[]>(
      `select time as seconds, state as state from information_schema.processlist where db = '${database.name}'`,
    )
    return rows.find(row => HELD_BACK.test(row.state))?.seconds ?? 0
  }
  await expect.poll(state).toBeGreaterThan(3)
  expect(await linesOf(scan)).toHaveLength(300_000)
})

test('an abandoned statement is ended on the server', { tags: 'mariadb' }, async () => {
  await using database = await createMariadbDatabase()
  const running = async () => {
    const [rows] = await database.admin.query<RowDataPacket[]>(
      `select id from information_schema.processlist where db = '${database.name}' and command = 'Query' and info like '%sha2%'
         and id <> connection_id()`,
    )
    return rows.length
  }
  const source = hrSource(database.url, `select 1 as userid, ${MARIADB_KIND.slow} as name`)
  const scan = await source.scan({})
  scan.stream.resume()
  scan.stream.on('error', () => {})
  await expect.poll(running).toBe(1)
  await scan.close()
  await expect.poll(running).toBe(0)
})

test('employees are counted without a time limit', { tags: 'mariadb' }, async () => {
  await using database = await createMariadbDatabase()
  const source = hrSource(
    database.url,
    'select 1 as userid, concat(@@max_statement_time + 0, @@session.tx_isolation) as dept_code',
    { departments: "select 'A' as dept_code, null as parent_code, 't' as active" },
  )
  expect((await source.departments()).employees).toMatchObject([{ deptCode: '0.000000REPEATABLE-READ' }])
})

test.each([
  [1040, '08004', /no free connection \(ER_CON_COUNT_ERROR\); raise max_connections/],
  [1205, 'HY000', /a lock .* \(ER_LOCK_WAIT_TIMEOUT\)/],
  [1053, '08S01', /closed the connection \(ER_SERVER_SHUTDOWN\); if it happens again/],
  [1194, 'HY000', /cannot read a table \(ER_CRASHED_ON_USAGE\): it is damaged/],
  [1429, 'HY000', /cannot read a table \(ER_CONNECT_TO_FOREIGN_DATA_SOURCE\): it is damaged/],
] as const)(
  'a server that ends a SELECT with error %i is not called silent, and the error says what to do',
  { tags: 'mariadb' },
  async (error, state, said) => {
    await using database = await createMariadbDatabase()
    await database.admin.query(`create function ended() returns int deterministic
      begin signal sqlstate '${state}' set mysql_errno = ${error}; return 1; end`)
    const source = hrSource(database.url, "select ended() as userid, 'n' as name")
    await expect(source.lookup([key('1')])).rejects.toMatchObject({
      code: 'HR_UNAVAILABLE',
      message: expect.stringMatching(said),
    })
  },
)

test('a table that the server cannot read is not blamed on the mapping', { tags: 'mariadb' }, async ({
  skip,
}) => {
  skip(isMysql)
  await using server = await startMariadb()
  await using far = await startMariadb()
  await using database = await createMariadbDatabase(server)
  await using other = await createMariadbDatabase(far)
  const { admin, name, url } = database
  const lookup = (table: string) =>
    hrSource(url, `select id as userid, nick as name from ${table}`).lookup([key('1')])
  const expectUnreadable = async (table: string, reason: string) => {
    const error = await errorOf(lookup(table))
    expect(error).toBeInstanceOf(HrUnavailableError)
    expect(error.message).toContain(`the HR server cannot read a table (${reason}): it is damaged, or`)
    // A foreign server's words may hold values of rows.
    expect(error.cause).toBe(undefined)
  }
  await other.admin.query("create table staff (id int, nick varchar(9)); insert into staff values (1, 'n')")
  await admin.query(`install soname 'ha_federatedx'; create table staff engine = federated connection '${other.url}/staff';
    create table damaged (id int, nick varchar(9)) engine = myisam; flush tables`)
  expect((await lookup('staff')).size).toBe(1)
  await far.stop()
  await expectUnreadable('staff', '2003')
  const [[folder]] = await admin.query<RowDataPacket[]>('select @@datadir as data')
  await truncate(join(folder?.data, name, 'damaged.MYI'))
  await expectUnreadable('damaged', 'HA_ERR_NOT_A_TABLE')
})

test('global settings of the server change no value', { tags: 'mariadb' }, async () => {
  await using server = await startMariadb([
    '--sql-mode=PAD_CHAR_TO_FULL_LENGTH,ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES',
    ...['--default-time-zone=-05:00', '--group-concat-max-len=16', '--character-set-server=latin1'],
  ])
  await using database = await createMariadbDatabase(server)
  await database.admin.query(`set global sql_select_limit = 1; set sql_mode = '', time_zone = '+00:00', names utf8mb4;
    create table person (id char(8), born timestamp, nick varchar(20) character set utf8mb4);
    insert into person values ('1', '2024-02-29 16:00:00', '姓名'), ('2', null, '👩‍👩‍👧')`)
  const source = hrSource(
    database.url,
    `select id as userid, concat(id, '|') as name, "it's \\\\" as remark, born as birth_day, nick as level,
       (select group_concat(repeat('x', 100)) from person) as category from person`,
  )
  const lines = await linesOf(await source.scan({}))
  expect(lines).toEqual([
    `\t1\t1|\tit's \\\\\t姓名\t${'x'.repeat(100)},${'x'.repeat(100)}\t2024-03-01`,
    `\t2\t2|\tit's \\\\\t👩‍👩‍👧\t${'x'.repeat(100)},${'x'.repeat(100)}\t\\N`,
  ])
})

test('the server sees which program reads', { tags: 'mariadb' }, async () => {
  await using server = await startMariadb(['--performance-schema=1'])
  await using database = await createMariadbDatabase(server)
  const hr = hrServer(database.url, pino({ level: 'silent' }))
  onTestFinished(() => hr.close())
  const session = await hr.open({ name: 'dirsync dry run', timeoutMs: null })
  const [rows] = await database.admin.query<RowDataPacket[]>(
    `select attr_value from performance_schema.session_connect_attrs where attr_name = 'program_name'`,
  )
  expect(rows.map(row => row.attr_value)).toContain('dirsync dry run')
  await session.close()
  await session.close()
})

describe('a mistake in the syntax is found at its place', { tags: 'mariadb' }, () => {
  const LONG = '姓'.repeat(60)
  test.each([
    ['what is left occurs earlier in the line', 'select idx,\n x x x', '2:6'],
    ['the server had read on to the next line', 'select 1 as userid frm t\n\n where 1', '1:20'],
    ['what is left is more than the server quotes', `select 1 b c '${LONG}' from t`, '1:12'],
    ['it holds characters that the server cannot quote', `select 1 b 𠮷姓 '${LONG}'`, '1:12'],
    ['the statement ends too early', 'select 1 as userid\nfrom t where\n', '2:13'],
    ['the same text follows twice, once in that line', `select 1\n${`b c '${LONG}',\n`.repeat(2)}1`, '2:3'],
    ['the same text follows twice in one line', `select 1\n x, ${`(y z '${LONG}') `.repeat(2)}`, '2'],
  ])('where %s', async (_, sql, place) => {
    await using database = await createMariadbDatabase()
    const error = await hrSource(database.url, sql)
      .inspect()
      .catch(failure => failure)
    expect(error).toBeInstanceOf(MappingError)
    expect(error.message).toMatch(
      new RegExp(`^employees\\.sql:${place}: You have an error in your SQL syntax`),
    )
  })
})

test('tables that its user may write to by a role are counted', { tags: 'mariadb' }, async () => {
  const { admin, name, url, close } = await createMariadbDatabase()
  const [reader, role] = [`r_${process.pid}`, `w_${process.pid}`]
  onTestFinished(async () => {
    await admin.query(`drop user ${reader}; drop role ${role}`)
    await close()
  })
  await admin.query(`create table all_of_it (a int, b int); create table one_column (a int, b int); create table other (a int);
    create user ${reader} identified by 'reader'; grant select on ${name}.* to ${reader}; create role ${role}`)
  const address = Object.assign(new URL(url), { username: reader, password: 'reader' }).href
  const writable = async () => {
    const server = hrServer(address, pino({ level: 'silent' }))
    onTestFinished(() => server.close())
    return (await server.facts()).writableTables
  }
  const before = await writable()
  await admin.query(`grant insert on ${name}.all_of_it to ${role}; grant update (b) on ${name}.one_column to ${role};
    grant ${role} to ${reader}; set default role ${role} ${isMysql ? 'to' : 'for'} ${reader}`)
  expect(await writable()).toBe(before + 2)
})
