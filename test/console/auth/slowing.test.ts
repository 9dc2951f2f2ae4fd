import { setTimeout as sleep } from 'node:timers/promises'
import { Pool as UndiciPool } from 'undici'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { addressKey, admitAttempt, forgiveAttempt } from '../../../src/console/auth/attempts.ts'
import { type AuthUnderTest, Browser, openAuth, PASSWORD } from './auth-under-test.ts'

let auth: AuthUnderTest
beforeAll(async () => {
  auth = await openAuth({ trustProxy: true })
  await auth.user('anna')
})
afterAll(() => auth[Symbol.asyncDispose]())
beforeEach(() => auth.pool.query('truncate dirsync.sign_in_failure'))

const admit = (name: string, address: string) => admitAttempt(auth.pool, { name, address })
/** Lets time pass: what was blocked until some moment is blocked until an earlier one. */
const pass = (seconds: number) =>
  auth.pool.query(
    `update dirsync.sign_in_failure
     set blocked_until = blocked_until - $1 * interval '1 second', last_at = last_at - $1 * interval '1 second'`,
    [seconds],
  )

/** Moves the ends of what is blocked, so that a slow test is too early as well. */
const block = (seconds: number) =>
  auth.pool.query(
    `update dirsync.sign_in_failure set blocked_until = blocked_until + $1 * interval '1 second'`,
    [seconds],
  )

/** How long the next one has to wait after the failures so far, whenever that is asked. */
async function owed(): Promise<number> {
  const { rows } = await auth.pool.query<{ seconds: number }>(
    `select extract(epoch from max(blocked_until - last_at))::int as seconds from dirsync.sign_in_failure`,
  )
  return rows[0]?.seconds ?? 0
}

/** The waits before each of a number of attempts that fail, each tried too early and then as soon as it may be. */
async function waits(count: number, nameOf: (i: number) => string, addressOf: (i: number) => string) {
  const all: number[] = []
  for (let i = 0; i < count; i++) {
    const wait = await owed()
    all.push(wait)
    if (wait > 0) {
      await block(3600)
      expect(await admit(nameOf(i), addressOf(i))).toBeGreaterThan(0)
      await block(-3600)
      await pass(wait)
    }
    expect(await admit(nameOf(i), addressOf(i))).toBe(0)
  }
  return all
}

describe('failed sign-ins', () => {
  test('slow a name after five, twice as long each time, a minute at most', async () => {
    expect(
      await waits(
        14,
        () => 'anna',
        i => `192.0.2.${i}`,
      ),
    ).toEqual([0, 0, 0, 0, 0, 0, 2, 4, 8, 16, 32, 60, 60, 60])
  })

  test('slow an address after twenty, five minutes at most', async () => {
    const all = await waits(
      32,
      i => `name${i}`,
      () => '192.0.2.1',
    )
    expect(all.slice(0, 21)).toEqual(Array(21).fill(0))
    expect(all.slice(21)).toEqual([2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
  })

  test('are forgotten a quarter of an hour after the last one', async () => {
    for (let i = 0; i < 6; i++) await admit('anna', `192.0.2.${i}`)
    expect(await owed()).toBe(2)
    await pass(15 * 60 + 1)
    expect(await admit('anna', '192.0.2.9')).toBe(0)
    expect(await admit('anna', '192.0.2.9')).toBe(0)
  })

  test('hold no one up until the clock has caught up, once it was put back', async () => {
    expect(await admit('anna', '192.0.2.1')).toBe(0)
    await forgiveAttempt(auth.pool, { name: 'anna', address: '192.0.2.1' }, true)
    await pass(-86_400)
    expect(await admit('anna', '192.0.2.1')).toBe(0)
  })

  test('are counted before the password is checked, so that many at a time do not get through', async () => {
    const admitted = await Promise.all(Array.from({ length: 100 }, () => admit('anna', '192.0.2.1')))
    expect(admitted.filter(wait => wait === 0)).toHaveLength(6)
  })

  test('do not count if the password was right, or was not checked', async () => {
    for (const succeeded of [true, false])
      for (let i = 0; i < 30; i++) {
        expect(await admit('anna', '192.0.2.1')).toBe(0)
        await forgiveAttempt(auth.pool, { name: 'anna', address: '192.0.2.1' }, succeeded)
      }
  })

  test('with a name do not lock out its owner at an address where they signed in before', async () => {
    const browser = new Browser({ 'x-forwarded-for': '198.51.100.7' })
    const signIn = () => browser.post(`${auth.url}/sign-in`, { name: 'anna', password: PASSWORD })
    expect((await signIn()).status).toBe(303)
    for (let i = 0; i < 6; i++) await admit('anna', `192.0.2.${i}`)
    await auth.pool.query(
      `update dirsync.sign_in_failure set blocked_until = blocked_until + interval '1 hour' where kind = 'name'`,
    )
    expect(await admit('anna', '192.0.2.9')).toBeGreaterThan(0)
    expect((await signIn()).status).toBe(303)
  })

  test('count for the address of the client, whatever ports proxies write with it', async () => {
    const keysOf = async ({ url, pool }: AuthUnderTest, ...forwarded: string[]) => {
      await pool.query('truncate dirsync.sign_in_failure')
      for (const addresses of forwarded)
        await new Browser({ 'x-forwarded-for': addresses }).post(`${url}/sign-in`, {
          name: 'anna',
          password: 'wrong',
        })
      const { rows } = await pool.query<{ key: string }>(
        `select key from dirsync.sign_in_failure where kind = 'address'`,
      )
      return rows.map(({ key }) => key)
    }
    expect(await keysOf(auth, '192.0.2.1:50001', '192.0.2.1:50002', '192.0.2.1')).toEqual(['192.0.2.1'])
    const sixes = ['[2001:db8::1]:50001', '[2001:db8::2]', '2001:db8::3']
    expect(await keysOf(auth, ...sixes)).toEqual(['2001:db8:0:0::/64'])
    await using behind = await openAuth({ trustProxy: ['127.0.0.1', '10.0.0.0/8'] })
    const chains = ['203.0.113.9, 192.0.2.1:50001,10.0.0.1:443', '192.0.2.1, [::ffff:10.0.0.1]:443']
    expect(await keysOf(behind, ...chains)).toEqual(['192.0.2.1'])
  })

  test('clear up after those of an hour ago', async () => {
    for (let i = 0; i < 8; i++) await admit(`name${i}`, `192.0.2.${i}`)
    await pass(3601)
    for (let i = 0; i < 4; i++) await admit('anna', '198.51.100.1')
    const { rows } = await auth.pool.query<{ n: number }>(
      'select count(*)::int as n from dirsync.sign_in_failure',
    )
    expect(rows[0]?.n).toBe(2)
  })

  test.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:DB8::1', '2001:db8:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
  ])('from %s count for %s', (address, key) => expect(addressKey(address)).toBe(key))
})

test('2,000 sign-ins, 200 at a time, are told to wait, and all other requests are served meanwhile', async () => {
  const attackers = new UndiciPool(auth.url, { connections: 200 })
  onTestFinished(() => attackers.close())
  const statuses = new Map<number, number>()
  const waits = new Set<string>()
  const before = process.memoryUsage().rss
  let left = 2_000
  const attack = async (attacker: number) => {
    while (left > 0) {
      left -= 1
      const { statusCode, headers, body } = await attackers.request({
        method: 'POST',
        path: '/sign-in',
        body: `name=name${left % 4}&password=${'x'.repeat(20)}`,
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          // Some of them change their address all the time.
          'x-forwarded-for': attacker % 10 ? '192.0.2.1' : `10.0.${left % 250}.${attacker}`,
        },
      })
      await body.dump()
      statuses.set(statusCode, (statuses.get(statusCode) ?? 0) + 1)
      if (statusCode !== 403) waits.add(String(headers['retry-after']))
    }
  }
  let isOver = false
  const served: number[] = []
  const everybodyElse = async () => {
    while (!isOver) {
      const start = performance.now()
      const response = await fetch(`${auth.url}/guarded`)
      expect(await response.json()).toEqual({ viewer: null })
      served.push(performance.now() - start)
      await sleep(50)
    }
  }
  const serving = everybodyElse()
  const begun = performance.now()
  await Promise.all(Array.from({ length: 200 }, (_, i) => attack(i)))
  const took = performance.now() - begun
  isOver = true
  await serving

  const { 403: wrong = 0, 429: slowed = 0, 503: busy = 0, ...others } = Object.fromEntries(statuses)
  expect(others, auth.log.join('')).toEqual({})
  expect(wrong + slowed + busy).toBe(2_000)
  expect(wrong).toBeGreaterThan(20)
  expect(slowed).toBeGreaterThan(1000)
  expect([...waits].filter(wait => !/^[1-9]\d*$/.test(wait))).toEqual([])
  // They are not in line behind the attackers.
  served.sort((a, b) => a - b)
  expect(served[Math.floor(served.length / 2)]).toBeLessThan(took / 5)
  expect(process.memoryUsage().rss - before).toBeLessThan(300 * 1024 * 1024)
  // What is written does not grow with the number of attempts.
  const { rows } = await auth.pool.query<{ n: number }>(
    'select count(*)::int as n from dirsync.sign_in_failure',
  )
  expect(rows[0]?.n).toBeLessThan(1 + 4 + wrong + busy)
  expect((await auth.recorded('sign_in_failed')).length).toBeLessThan(wrong + 1)

  const page = await new Browser({ 'x-forwarded-for': '198.51.100.8' }).post(`${auth.url}/sign-in`, {
    name: 'anna',
    password: PASSWORD,
  })
  expect(page.status).toBe(303)
})
