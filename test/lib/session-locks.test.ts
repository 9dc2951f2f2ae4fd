import { describe, expect, onTestFinished, test } from 'vitest'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { until } from '../helpers/company.ts'
import { startTcpProxy } from '../queue/tcp-proxy.ts'
import { SILENT, StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

/** The locks that one process would have. */
function locks(url = store.url): SessionLocks {
  const created = new SessionLocks(url, SILENT)
  onTestFinished(() => created.close())
  return created
}

/** Cuts every connection that holds locks. */
const cut = () =>
  store.pool.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'dirsync locks'`,
  )

/** Resolves when the lock is lost. */
const lost = (signal: AbortSignal) =>
  new Promise<void>(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

async function taken(of: SessionLocks, key: string): Promise<AbortSignal> {
  const signal = await of.lock(key)
  if (signal === null) throw new Error(`somebody else has ${key}`)
  return signal
}

/** Takes a lock whose holder is just going: the server frees it moments after the holder has been told. */
const inherited = (of: SessionLocks, key: string) => until(() => of.lock(key))

describe('a lock', () => {
  test('keeps other processes out until it is released', async () => {
    const [one, other] = [locks(), locks()]
    await taken(one, 'e1')
    expect(await other.lock('e1')).toBeNull()
    await taken(other, 'e2')
    await one.unlock('e1')
    await taken(other, 'e1')
    expect(await one.lock('e1')).toBeNull()
  })

  test('is waited for within a process, one after the other', async () => {
    const one = locks()
    const story: string[] = []
    const job = async (name: string) => {
      await taken(one, 'e1')
      story.push(`${name} begins`)
      await store.pool.query('select 1')
      story.push(`${name} ends`)
      await one.unlock('e1')
    }
    await Promise.all([job('a'), job('b'), job('c')])
    expect(story).toHaveLength(6)
    for (let i = 0; i < 6; i += 2) expect(story[i + 1]).toBe(story[i]?.replace('begins', 'ends'))
  })

  test('stays with the process while a next job of it is waiting', async () => {
    const [one, other] = [locks(), locks()]
    await taken(one, 'e1')
    const next = one.lock('e1')
    const unlocked = one.unlock('e1')
    const [signal] = await Promise.all([next, unlocked])
    expect(signal).not.toBeNull()
    expect(await other.lock('e1')).toBeNull()
    await one.unlock('e1')
    await taken(other, 'e1')
  })

  test('ends with the signal of its holder, who then releases it', async () => {
    const [one, other] = [locks(), locks()]
    const stop = new AbortController()
    const signal = await one.lock('e1', stop.signal)
    stop.abort('stopping')
    expect(signal?.reason).toBe('stopping')
    expect(await other.lock('e1')).toBeNull()
    await one.unlock('e1')
    await taken(other, 'e1')

    expect(await one.lock('e2', stop.signal)).toMatchObject({ aborted: true })
  })

  test('of many keys is as good as of one', async () => {
    const [one, other] = [locks(), locks()]
    const keys = Array.from({ length: 1200 }, (_, i) => `e${i}`)
    await Promise.all(keys.map(key => taken(one, key)))
    expect(new Set(await Promise.all(keys.map(key => other.lock(key))))).toEqual(new Set([null]))
    await Promise.all(keys.map(key => one.unlock(key)))
    await Promise.all(keys.map(key => taken(other, key)))
  })

  test('is freed when its process ends', async () => {
    const [one, other] = [locks(), locks()]
    await taken(one, 'e1')
    await one.close()
    await inherited(other, 'e1')
    await expect(one.lock('e2')).rejects.toThrow('closed')
  })

  test('that was not taken cannot be released for another holder', async () => {
    const [one, other] = [locks(), locks()]
    await taken(one, 'e1')
    await other.unlock('e1')
    expect(await other.lock('e1')).toBeNull()
  })
})

describe('when the connection is cut', () => {
  test('every lock on it is lost: its holders are told, and others get it at once', async () => {
    const [one, other] = [locks(), locks()]
    const signals = [await taken(one, 'e1'), await taken(one, 'e2')]
    await cut()
    await Promise.all(signals.map(lost))
    expect(signals[0]?.reason).toMatchObject({ message: 'the lock was lost with its connection' })
    await inherited(other, 'e1')
    await one.unlock('e1')
    expect(await one.lock('e1')).toBeNull()
  })

  test('the next lock is taken on a new connection, and is not lost with the old one', async () => {
    const [one, other] = [locks(), locks()]
    const before = await taken(one, 'e1')
    await cut()
    await lost(before)
    const after = await taken(one, 'e2')
    await one.unlock('e1')
    const again = await inherited(one, 'e1')
    expect([after.aborted, again.aborted]).toEqual([false, false])
    expect(await other.lock('e2')).toBeNull()
    await one.unlock('e2')
    await taken(other, 'e2')
  })

  test('however often it is cut, no lock is left behind', async () => {
    const [one, other] = [locks(), locks()]
    const keys = Array.from({ length: 20 }, (_, i) => `e${i}`)
    for (let round = 0; round < 10; round++) {
      const attempts = keys.map(key => one.lock(key).catch(() => null))
      await Promise.all([...attempts, cut()])
      await Promise.all(keys.map(key => one.unlock(key)))
    }
    await Promise.all(keys.map(key => inherited(other, key)))
  })
})

test('in a network that falls silent a connection is given up, its holders told before another process gets their locks', async () => {
  // What a server may be set to: then it would free the locks of a silent session after two seconds.
  const database = new URL(store.url).pathname.slice(1)
  await store.pool.query(`alter database ${database} set idle_session_timeout = '2s'`)
  onTestFinished(async () => {
    await store.pool.query(`alter database ${database} reset idle_session_timeout`)
  })
  const proxy = await startTcpProxy(store.url)
  onTestFinished(() => proxy[Symbol.asyncDispose]())
  const [one, other, third] = [locks(proxy.url), locks(), locks()]
  const signal = await taken(one, 'e1')
  const steady = await taken(third, 'e3')
  proxy.silence()
  const next = one.lock('e2')
  next.catch(() => undefined)

  await until(() => other.lock('e1'))
  expect(signal.aborted).toBe(true)
  await expect(next).rejects.toThrow()
  await taken(one, 'e2')
  // One that was idle as long, before a database that answers, keeps what it has.
  expect(steady.aborted).toBe(false)
  expect(await other.lock('e3')).toBeNull()
})

test('when a statement fails, the locks that it was to return are freed with its connection', async () => {
  const [one, other] = [locks(), locks()]
  await taken(one, 'e1')
  const unlocked = one.unlock('e1')
  // In one statement with the unlocking. No text of PostgreSQL has this character.
  await expect(one.lock('\0')).rejects.toThrow('invalid byte sequence')
  await unlocked
  await inherited(other, 'e1')
  await taken(one, 'e2')
})

test('a database that is away fails the lock, and not the ones after it', async () => {
  const away = new SessionLocks('postgres://nobody@127.0.0.1:1/none', SILENT)
  await expect(away.lock('e1')).rejects.toThrow()
  await expect(away.lock('e1')).rejects.toThrow()
  await away.unlock('e1')
  await away.close()
})
