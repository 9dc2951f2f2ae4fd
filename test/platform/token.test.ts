import { describe, expect, test } from 'vitest'
import {
  CREATION_WINDOW_MS,
  MemoryTokenStore,
  TokenFuseError,
  TokenKeeper,
} from '../../src/platform/token.ts'

/** A store, a keeper and a clock that the test moves; tokens are t1, t2, … of 1000 s each, unless the test sets the next. */
function setUp(Store: typeof MemoryTokenStore = MemoryTokenStore) {
  const time = { now: 1_000_000 }
  const created: string[] = []
  const platform: { token?: string } = {}
  const clock = () => time.now
  const store = new Store(clock)
  const keeperOf = (create: () => Promise<void> = async () => undefined) =>
    new TokenKeeper({
      store,
      clock,
      log: undefined,
      create: async () => {
        await create()
        created.push(platform.token ?? `t${created.length + 1}`)
        return { accessToken: created.at(-1) as string, expiresIn: 1000 }
      },
    })
  return { time, created, platform, store, keeperOf }
}

describe('the keeper', () => {
  test('uses a token for 80 % of its life, then renews it', async () => {
    const { time, keeperOf } = setUp()
    const keeper = keeperOf()
    expect(await keeper.current()).toBe('t1')
    time.now += 799_999
    expect(await keeper.current()).toBe('t1')
    time.now += 1
    expect(await keeper.current()).toBe('t2')
  })

  test('answers at once from memory', async () => {
    const keeper = setUp().keeperOf()
    await keeper.current()
    expect(keeper.current()).toBe('t1')
  })

  test('takes over what another process has stored, without waiting for its turn to create one', async () => {
    const { created, store, keeperOf } = setUp()
    await keeperOf().current()
    void store.refresh(
      () => false,
      () => new Promise(() => undefined),
    )
    expect(await keeperOf().current()).toBe('t1')
    expect(created).toEqual(['t1'])
  })

  test('asks once, however many want a token', async () => {
    const { created, keeperOf } = setUp()
    const keeper = keeperOf()
    expect(await Promise.all([keeper.current(), keeper.current(), keeper.current()])).toEqual([
      't1',
      't1',
      't1',
    ])
    expect(created).toEqual(['t1'])
  })

  test('drops exactly the token that was refused', async () => {
    const { store, keeperOf } = setUp()
    const keeper = keeperOf()
    await keeper.current()
    await keeper.refuse('something older')
    expect(keeper.current()).toBe('t1')
    expect(await store.read()).toMatchObject({ accessToken: 't1' })
    await keeper.refuse('t1')
    expect(await store.read()).toBeNull()
    expect(await keeper.current()).toBe('t2')
  })

  test('drops a refused token once, however many calls had it', async () => {
    const dropped: string[] = []
    class CountingStore extends MemoryTokenStore {
      override async drop(accessToken: string) {
        dropped.push(accessToken)
        await super.drop(accessToken)
      }
    }
    const keeper = setUp(CountingStore).keeperOf()
    await keeper.current()
    await Promise.all([keeper.refuse('t1'), keeper.refuse('t1')])
    expect(dropped).toEqual(['t1'])
    expect(await keeper.current()).toBe('t2')
  })

  test('a token that the platform has issued again is created anew 75 s later at the latest, if it is refused', async () => {
    const { time, created, platform, keeperOf } = setUp()
    const keeper = keeperOf()
    platform.token = 'a'
    await keeper.current()
    time.now += 60_000
    await keeper.refuse('a')
    expect(await keeper.current()).toBe('a')
    platform.token = 'b'
    time.now += 74_999
    await keeper.refuse('a')
    expect(await keeper.current()).toBe('a')
    time.now += 1
    await keeper.refuse('a')
    expect(await keeper.current()).toBe('b')
    expect(created).toEqual(['a', 'a', 'b'])
  })

  test('takes what another process has stored in place of a token that was issued again', async () => {
    const { time, platform, store, keeperOf } = setUp()
    const keeper = keeperOf()
    platform.token = 'a'
    await keeper.current()
    time.now += 60_000
    await keeper.refuse('a')
    await keeper.current()
    platform.token = 'b'
    await store.drop('a')
    await keeperOf().current()
    await keeper.refuse('a')
    expect(await keeper.current()).toBe('b')
  })

  test('ten processes stay within the fuse where a node of the platform goes on refusing the only token there is', async () => {
    const { time, created, platform, keeperOf } = setUp()
    const keepers = Array.from({ length: 10 }, () => keeperOf())
    platform.token = 'a'
    for (const keeper of keepers) await keeper.current()
    for (let second = 0; second < 3600; second++) {
      time.now += 1000
      for (const keeper of keepers) await keeper.refuse(await keeper.current())
    }
    expect(created.length).toBeGreaterThan(30)
    expect(created.length).toBeLessThan(50)
  })

  test('a token that was refused long ago, and created again, stays in use while none can be created', async () => {
    const { time, platform, keeperOf } = setUp()
    let failing = false
    const keeper = keeperOf(async () => {
      if (failing) throw new Error('away')
    })
    platform.token = 'a'
    await keeper.current()
    time.now += 60_000
    await keeper.refuse('a')
    await keeper.current()
    failing = true
    time.now += 900_000
    expect(await keeper.current()).toBe('a')
  })

  test('a refused token is not used again, although the store could not drop it', async () => {
    class StuckStore extends MemoryTokenStore {
      override async drop() {
        throw new Error('database away')
      }
    }
    const { created, keeperOf } = setUp(StuckStore)
    let failing = false
    const keeper = keeperOf(async () => {
      if (failing) throw new Error('away')
    })
    await keeper.current()
    await expect(keeper.refuse('t1')).rejects.toThrow('database away')
    failing = true
    await expect(keeper.current()).rejects.toThrow('away')
    failing = false
    expect(await keeper.current()).toBe('t2')
    expect(created).toEqual(['t1', 't2'])
  })

  test("a store may ask of no token whether it can be used, as 1.0.0's interface permitted", async () => {
    class OldStore extends MemoryTokenStore {
      override refresh(...[usable, create]: Parameters<MemoryTokenStore['refresh']>) {
        expect(usable(null)).toBe(false)
        return super.refresh(usable, create)
      }
    }
    expect(await setUp(OldStore).keeperOf().current()).toBe('t1')
  })

  test('the first token that cannot be created fails as its creation did', async () => {
    const keeper = setUp().keeperOf(async () => {
      throw new Error('away')
    })
    await expect(keeper.current()).rejects.toThrow('away')
  })

  test('a token that lives is used on when it cannot be renewed, and renewed a minute later', async () => {
    const { time, keeperOf } = setUp()
    let failing = false
    const keeper = keeperOf(async () => {
      if (failing) throw new Error('away')
    })
    await keeper.current()
    failing = true
    time.now += 850_000
    expect(await keeper.current()).toBe('t1')
    expect(keeper.current()).toBe('t1')
    failing = false
    time.now += 60_000
    expect(await keeper.current()).toBe('t2')
  })

  test('a token that is dead is not used on', async () => {
    const { time, keeperOf } = setUp()
    let failing = false
    const keeper = keeperOf(async () => {
      if (failing) throw new Error('away')
    })
    await keeper.current()
    failing = true
    time.now += 1_000_000
    await expect(keeper.current()).rejects.toThrow('away')
  })
})

describe('the store in memory', () => {
  const create = async () => ({ accessToken: 't', expiresIn: 100 })

  test('creates once when several renew together', async () => {
    const store = new MemoryTokenStore()
    let creations = 0
    const renew = () =>
      store.refresh(
        () => true,
        async () => {
          creations += 1
          return create()
        },
      )
    const tokens = await Promise.all([renew(), renew(), renew()])
    expect(new Set(tokens).size).toBe(1)
    expect(creations).toBe(1)
  })

  test('goes on after a creation that failed, which counts all the same', async () => {
    let now = 0
    const store = new MemoryTokenStore(() => now)
    const failing = async () => {
      now += 1000
      throw new Error('away')
    }
    for (let tried = 0; tried < 50; tried += 1) {
      await expect(store.refresh(() => false, failing)).rejects.toThrow('away')
    }
    const fuse = await store.refresh(() => false, create).catch(error => error)
    expect(fuse).toBeInstanceOf(TokenFuseError)
    expect(fuse).toMatchObject({ code: 'TOKEN_FUSE', name: 'TokenFuseError' })
    expect(fuse.message).toMatch(/^50 access tokens .*same application id/)
    expect(fuse.retryAfterMs).toBe(CREATION_WINDOW_MS - 50_000)
    now = CREATION_WINDOW_MS
    expect((await store.refresh(() => false, create)).accessToken).toBe('t')
  })
})
