import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, readFile } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startEmulatorProcess } from '../../src/trial/emulator-process.ts'
import { SAMPLE } from '../../src/trial/environment.ts'
import { createTestDatabase } from './postgres.ts'
import { redisUrl, startRedis } from './redis.ts'
import { temporaryFolder } from './temporary-folder.ts'

test('each test database is its own, and is dropped with its connections', async () => {
  const first = await createTestDatabase()
  const second = await createTestDatabase()
  await first.pool.query('create table here (n int)')
  const { rows } = await second.pool.query(`select to_regclass('here') as found`)
  expect(rows).toEqual([{ found: null }])

  await first.close()
  await first.close()
  const left = await second.pool.query('select datname from pg_database where datname = $1', [first.name])
  expect(left.rows).toEqual([])
  await second.close()
})

test('a migrated test database has the schema', async () => {
  await using database = await createTestDatabase({ migrated: true })
  const { rows } = await database.pool.query(`select from pg_namespace where nspname = 'dirsync'`)
  expect(rows).toHaveLength(1)
})

describe('Redis', { tags: 'redis' }, () => {
  test('each caller gets an empty database', async () => {
    const [first, second] = [new Redis(await redisUrl()), new Redis(await redisUrl())]
    await first.set('a', '1')
    expect(await second.get('a')).toBeNull()
    first.disconnect()
    second.disconnect()
  })

  test('one of its own survives a kill with its data, and a flush without', async () => {
    await using server = await startRedis()
    const client = new Redis(server.url)
    await client.set('a', '1')
    await server.restart()
    expect(await client.get('a')).toBe('1')
    await server.flush()
    expect(await client.get('a')).toBeNull()
    client.disconnect()
  })
})

test('an emulator that a run leaves behind ends with it, and no other process', async () => {
  const [run, other] = [await temporaryFolder(), await temporaryFolder()]
  await mkdir(join(run, 'children'))
  const emulator = await startEmulatorProcess(join(run, 'trial/emulator'), SAMPLE.platform)
  const stranger = await startEmulatorProcess(join(other, 'emulator'), SAMPLE.platform)
  onTestFinished(() => stranger.stop())
  const pid = Number(await readFile(join(run, 'trial/emulator/pid'), 'utf8'))
  // A record that is older than the process which has its number by now.
  await cp(join(other, 'emulator/pid'), join(run, 'stale/emulator/pid'))
  const connection = createConnection(Number(new URL(emulator.url).port), '127.0.0.1')
  await once(connection, 'connect')
  const ended = once(connection, 'close')
  connection.on('error', () => {})

  const reaper = spawn('/bin/sh', [join(import.meta.dirname, 'reaper.sh'), run], {
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  reaper.stdin.end()
  await once(reaper, 'exit')
  onTestFinished(() => {
    if (!connection.destroyed) process.kill(pid, 'SIGKILL')
  })
  await ended
  expect(await stranger.isRunning()).toBe(true)
})
