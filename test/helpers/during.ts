import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

/* What tests need open. Of several, each may need those before it: they are opened in the order of the file, and closed in the opposite one. */

type Closable = AsyncDisposable | { close(): Promise<unknown> }

/** What `open` gives, from before the tests of the file until after them. */
export function duringFile<Opened extends Closable>(open: () => Promise<Opened>): Opened {
  return opened(open, beforeAll, afterAll)
}

/** What `open` gives anew for each test of the file. */
export function duringTest<Opened extends Closable>(open: () => Opened | Promise<Opened>): Opened {
  return opened(open, beforeEach, afterEach)
}

function opened<Opened extends Closable>(
  open: () => Opened | Promise<Opened>,
  before: (hook: () => Promise<void>) => void,
  after: (hook: () => Promise<void>) => void,
): Opened {
  let present: Opened | undefined
  before(async () => {
    present = await open()
  })
  after(async () => {
    if (present) await ('close' in present ? present.close() : present[Symbol.asyncDispose]())
    present = undefined
  })
  const now = () => {
    if (!present) throw new Error('it is open within tests only')
    return present
  }
  return new Proxy({} as Opened, {
    get(_, name) {
      const value = Reflect.get(now(), name, now())
      return typeof value === 'function' ? value.bind(now()) : value
    },
    has: (_, name) => Reflect.has(now(), name),
    set: (_, name, value) => Reflect.set(now(), name, value, now()),
  })
}
