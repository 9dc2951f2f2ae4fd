import { afterAll, beforeAll } from 'vitest'

/**
 * What `open` gives, from before the tests of the file until after them. Of several, each may need those before it: they are
 * opened in the order of the file, and closed in the opposite one.
 */
export function duringFile<Opened extends AsyncDisposable | { close(): Promise<unknown> }>(
  open: () => Promise<Opened>,
): Opened {
  let opened: Opened | undefined
  beforeAll(async () => {
    opened = await open()
  })
  afterAll(async () => {
    if (opened) await ('close' in opened ? opened.close() : opened[Symbol.asyncDispose]())
  })
  return new Proxy({} as Opened, {
    get(_, name) {
      if (!opened) throw new Error('it is open within tests only')
      const value = Reflect.get(opened, name, opened)
      return typeof value === 'function' ? value.bind(opened) : value
    },
  })
}
