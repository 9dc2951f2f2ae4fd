import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { generate } from 'selfsigned'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { problemOf } from '../../src/console/problem.ts'
import { PostgresClient } from '../../src/lib/database.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { startEmbeddedPostgres } from '../../src/trial/postgres.ts'
import { until } from '../helpers/company.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { SILENT } from '../sync/store-under-test.ts'
import { dirsync, dirsyncProcess } from './dirsync.ts'

/** PostgreSQL with a certificate that it has signed itself. */

let server: Awaited<ReturnType<typeof startEmbeddedPostgres>>
let [folder, certificate, mapping] = ['', '', '']

beforeAll(async () => {
  folder = await temporaryFolder()
  mapping = join(folder, 'employees.sql')
  await writeFile(mapping, `select 'e1' as userid, 'Ann' as name`)
  server = await startEmbeddedPostgres({ dataDir: join(folder, 'data') })
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    extensions: [{ name: 'subjectAltName', altNames: [{ type: 2, value: 'localhost' }] }],
  })
  certificate = join(folder, 'ca.pem')
  await writeFile(certificate, cert)
  await administer(async admin => {
    const { rows } = await admin.query<{ data_directory: string }>('show data_directory')
    // By the server, whose user has to own the key.
    for (const [name, text] of [
      ['server.crt', cert],
      ['server.key', key],
    ] as const)
      await admin.query(
        `copy (select string_to_table(${pg.escapeLiteral(text.trim())}, e'\\n'))
         to program 'umask 077; tr -d ''\\r'' > ${rows[0]?.data_directory}/${name}'`,
      )
  })
  await offerTls(true)
  return () => server.stop()
})

async function administer(action: (admin: pg.Client) => Promise<unknown>): Promise<void> {
  const admin = new pg.Client(server.url('postgres'))
  await admin.connect()
  try {
    await action(admin)
  } finally {
    await admin.end()
  }
}

/** New connections get it once the server has read its settings again. */
function offerTls(isOn: boolean): Promise<void> {
  return administer(async admin => {
    await admin.query(`alter system set ssl = ${isOn ? 'on' : 'off'}`)
    await admin.query('select pg_reload_conf()')
    await until(async () => (await admin.query('show ssl')).rows[0]?.ssl === (isOn ? 'on' : 'off'))
  })
}

const address = (parameters: string, host = 'localhost') =>
  server.url('postgres').replace('127.0.0.1', host) +
  parameters.replace('CA', certificate).replaceAll('FOLDER', folder)
const asHr = (parameters: string, host?: string) => ({
  HR_DATABASE_URL: address(parameters, host),
  HR_EMPLOYEES_SQL: mapping,
})
const asOwn = (parameters: string) => ({ DATABASE_URL: address(parameters) })

test.each([
  '?sslmode=no-verify',
  '?sslrootcert=CA',
  '?sslmode=require&sslrootcert=CA',
  '?uselibpqcompat=true&sslmode=require',
  '?uselibpqcompat=true&sslmode=no-verify',
  '?sslmode=no-verify&uselibpqcompat=true&sslrootcert=CA',
  '?uselibpqcompat=true&sslmode=verify-ca&sslrootcert=CA',
  '?sslmode=disable',
  '',
  // A file is looked into only where it is used.
  '?sslmode=disable&sslrootcert=FOLDER/employees.sql&sslcert=FOLDER/employees.sql&sslkey=FOLDER/employees.sql',
  '?sslmode=no-verify&sslrootcert=FOLDER/employees.sql',
  '?uselibpqcompat=true&sslmode=prefer&sslrootcert=FOLDER/employees.sql',
  '?sslrootcert=FOLDER/employees.sql&sslrootcert=CA',
  // What libpq knows besides is not taken for a misspelling.
  '?sslmode=no-verify&sslsni=1&ssl_min_protocol_version=TLSv1.2',
  '?ssl=no-verify&sslnegotiation=postgres',
  '?ssl=0&sslkeylogfile=/nowhere&gsslib=gssapi',
  '?ssl=',
])('with %j HR and dirsync’s own database are used', async parameters => {
  expect(await dirsync(['hr', 'check'], asHr(parameters))).toMatchObject({ code: 0, stderr: '' })
  expect(await dirsync(['migrate'], asOwn(parameters))).toMatchObject({ code: 0 })
})

const REMEDY =
  'A certificate must be valid today, for the host in the address where the mode checks that, and of an authority that dirsync ' +
  'knows: name your own by sslrootcert=/path/ca.pem in the address, or in NODE_EXTRA_CA_CERTS. With sslmode=no-verify nothing is checked, only encrypted.'

test.each([
  ['?sslmode=prefer', 'localhost', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['?sslmode=require', 'localhost', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['?sslmode=verify-ca', 'localhost', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['?sslmode=verify-full', 'localhost', 'DEPTH_ZERO_SELF_SIGNED_CERT'],
  ['?sslmode=verify-ca&sslrootcert=CA', '127.0.0.1', 'ERR_TLS_CERT_ALTNAME_INVALID'],
])(
  '%s at %s: a certificate that is refused is said to be, with what makes it fit',
  async (parameters, host, reason) => {
    const { stderr } = await dirsync(['hr', 'check'], asHr(parameters, host))
    expect(stderr).toBe(
      `dirsync: the HR database cannot be reached with TLS: its certificate is refused (${reason}). ${REMEDY}\n`,
    )
  },
)

test('the same of dirsync’s own database, in the language of the reader', async () => {
  const settings = asOwn('?sslmode=require')
  expect((await dirsync(['migrate'], settings)).stderr).toBe(
    `dirsync: dirsync's own database cannot be reached with TLS: its certificate is refused (DEPTH_ZERO_SELF_SIGNED_CERT). ${REMEDY}\n`,
  )
  expect((await dirsync(['migrate'], { ...settings, DIRSYNC_LANG: 'zh-CN' })).stderr).toMatch(
    /证书被拒绝（DEPTH_ZERO_SELF_SIGNED_CERT）.*sslrootcert=.*sslmode=no-verify/,
  )
})

const CORRECT = 'Correct the address: "PostgreSQL with TLS" in docs/mapping.md lists what it may say.'
const PATH = 'Correct its path in the address, or let dirsync read it.'

test.each([
  ['?sslrootcert=/nowhere/ca.pem', '/nowhere/ca.pem cannot be read (ENOENT)', PATH],
  ['?sslrootcert=FOLDER', 'FOLDER cannot be read (EISDIR)', PATH],
  [
    '?sslrootcert=FOLDER/employees.sql',
    'FOLDER/employees.sql holds no CERTIFICATE in PEM',
    'Write it there, or correct the path in the address.',
  ],
  [
    '?sslcert=FOLDER/ca.pem&sslkey=FOLDER/ca.pem',
    'FOLDER/ca.pem holds no PRIVATE KEY in PEM',
    'Write it there, or correct the path in the address.',
  ],
  [
    '?uselibpqcompat=true&sslmode=verify-ca',
    'its address cannot be used (Using sslmode=verify-ca requires specifying a CA with sslrootcert)',
    CORRECT,
  ],
  ...[
    'ssl-mode',
    'sslMode',
    'SSLMODE',
    'ssl_mode',
    'tls',
    'tlsMode',
    'SSL',
    'useSSL',
    'requiressl',
    'amp;sslmode',
  ].map(name => [
    `?${name}=require`,
    `its address cannot be used (should have no parameter ${name}; there are sslmode, sslrootcert, sslcert, sslkey, sslnegotiation, ssl)`,
    CORRECT,
  ]),
  ...['verify_full', 'required', ''].map(mode => [
    `?sslmode=${mode}`,
    'its address cannot be used (should have one of disable, no-verify, prefer, require, verify-ca, verify-full as sslmode)',
    CORRECT,
  ]),
  ...['require', 'True', 'false', 'verify-full', 'disable'].map(value => [
    `?ssl=${value}`,
    'its address cannot be used (should have one of true, 1, 0, no-verify as ssl)',
    CORRECT,
  ]),
])('%s is what is wrong, not the server', async (parameters, what, remedy) => {
  const placed = (text: string) => text.replaceAll('FOLDER', folder)
  const said = placed(`cannot be reached with TLS: ${what}. ${remedy}`)
  expect((await dirsync(['hr', 'check'], asHr(placed(parameters)))).stderr).toBe(
    `dirsync: the HR database ${said}\n`,
  )
  expect((await dirsync(['migrate'], asOwn(placed(parameters)))).stderr).toBe(
    `dirsync: dirsync's own database ${said}\n`,
  )
})

test('NODE_EXTRA_CA_CERTS makes sslmode=require trust an authority, and nothing warns of what pg may change', async () => {
  const trusted = { NODE_EXTRA_CA_CERTS: certificate }
  for (const [args, settings] of [
    [['hr', 'check'], asHr('?sslmode=require')],
    [['migrate'], asOwn('?sslmode=require')],
  ] as const) {
    const { code, stderr } = await dirsyncProcess([...args], { ...settings, ...trusted })
    expect(code).toBe(0)
    expect(stderr).not.toContain('SECURITY WARNING')
  }
})

test('console and API say that the database is away', async () => {
  const failure = await new PostgresClient({ connectionString: address('?sslmode=require') })
    .connect()
    .catch(error => error)
  expect(problemOf(failure)).toMatchObject({ kind: 'database', status: 503 })
  const unread = new PostgresClient({ connectionString: address('?sslrootcert=/nowhere/ca.pem') })
  await expect(unread.connect()).rejects.toSatisfy(error => problemOf(error).kind === 'database')
  await unread.end()
})

test('locks are taken again once a file that held no certificate holds one', async () => {
  const renewed = join(folder, 'renewed.pem')
  await writeFile(renewed, '')
  const locks = new SessionLocks(address(`?sslrootcert=${renewed}`), SILENT)
  onTestFinished(() => locks.close())
  for (const _ of [1, 2]) await expect(locks.lock('e1')).rejects.toThrow('holds no CERTIFICATE in PEM')
  await copyFile(certificate, renewed)
  expect(await locks.lock('e1')).toBeInstanceOf(AbortSignal)
})

test('a server without TLS is said to have none', async () => {
  await offerTls(false)
  onTestFinished(() => offerTls(true))
  const what = 'cannot be reached with TLS: it offers none. Switch TLS on there, or write sslmode=disable'
  expect((await dirsync(['hr', 'check'], asHr('?sslmode=require'))).stderr).toContain(
    `the HR database ${what}`,
  )
  expect((await dirsync(['migrate'], asOwn('?sslmode=no-verify'))).stderr).toContain(
    `dirsync's own database ${what}`,
  )
})
