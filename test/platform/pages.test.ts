import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { everyRow, type ListPage, PlatformClient } from '../../src/platform/client.ts'
import { duringTest } from '../helpers/during.ts'
import { FakePlatform, ok } from './fake-platform.ts'

interface Row {
  id: string | null
}

const LIST = { operation: 'list', keyOf: (row: Row) => row.id, pageSize: 2 }
const rowsOf = (...ids: (string | null)[]): Row[] => ids.map(id => ({ id }))
const numbered = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => String(from + index))

/** A platform's list: pages are cut from the rows as they are at the moment of the call. */
class Listing {
  readonly asked: number[] = []
  rows: Row[]
  readonly #size: number
  readonly #shape: 'total' | 'has_next' | 'neither'
  readonly #move: (listing: Listing) => void

  constructor(
    ids: (string | null)[],
    size: number,
    move: (listing: Listing) => void = () => undefined,
    shape: 'total' | 'has_next' | 'neither' = 'total',
  ) {
    this.rows = rowsOf(...ids)
    this.#size = size
    this.#move = move
    this.#shape = shape
  }

  fetch = async (index: number): Promise<ListPage<Row>> => {
    this.asked.push(index)
    const end = index * this.#size
    const page = {
      total_count: this.#shape === 'neither' ? null : this.rows.length,
      ...(this.#shape === 'has_next' ? { has_next: this.rows.length > end } : {}),
      data_list: this.rows.slice(end - this.#size, end),
    }
    this.#move(this)
    return page
  }

  async read(pageSize = this.#size): Promise<(string | null)[]> {
    const ids: (string | null)[] = []
    for await (const row of everyRow({ ...LIST, fetch: this.fetch, pageSize })) ids.push(row.id)
    return ids
  }
}

describe('rows that stay', () => {
  test.each([
    [0, [1]],
    [1, [1]],
    [2, [1]],
    [3, [1, 2]],
    [4, [1, 2]],
    [5, [1, 2, 3]],
  ])('%i rows in pages of two: the pages %j, each once', async (count, pages) => {
    const listing = new Listing(numbered(1, count), 2)
    expect(await listing.read()).toEqual(numbered(1, count))
    expect(listing.asked).toEqual(pages)
  })

  test('are not all there where a page in the middle is empty and counts none', async () => {
    const listing = new Listing(numbered(1, 4), 2)
    const fetch = async (index: number) =>
      index === 1 ? listing.fetch(1) : { total_count: 0, data_list: [] as Row[] }
    const rows = everyRow({ ...LIST, fetch })
    let read = await rows.next()
    while (!read.done) read = await rows.next()
    expect(read.value).toEqual({ counted: 4, found: 2 })
  })

  test('an empty page ends it, whatever else it says', async () => {
    const fetch = async () => ({ total_count: null, has_next: true, data_list: [] as Row[] })
    expect(await everyRow({ ...LIST, fetch }).next()).toMatchObject({ done: true })
  })

  test('has_next ends the list', async () => {
    const listing = new Listing(numbered(1, 4), 2, undefined, 'has_next')
    expect(await listing.read()).toEqual(numbered(1, 4))
    expect(listing.asked).toEqual([1, 2])
  })

  test('without a total a page that is not full is the last', async () => {
    const listing = new Listing(numbered(1, 5), 2, undefined, 'neither')
    expect(await listing.read()).toEqual(numbered(1, 5))
    expect(listing.asked).toEqual([1, 2, 3])
  })

  test('a platform that gives fewer rows a page than it is asked for loses none', async () => {
    expect(await new Listing(numbered(1, 7), 2).read(100)).toEqual(numbered(1, 7))
  })

  test('rows without a key are all given, once', async () => {
    expect(await new Listing(['1', null, null, '2', '2'], 2).read()).toEqual(['1', null, null, '2'])
  })
})

test('a list of which the platform counts more than it gives says so at its end, after three passes', async () => {
  const asked: number[] = []
  const rows = everyRow({
    ...LIST,
    fetch: async index => {
      asked.push(index)
      return { total_count: 5, has_next: false, data_list: rowsOf('1', '2', null) }
    },
  })
  for (const id of ['1', '2', null]) expect(await rows.next()).toEqual({ done: false, value: { id } })
  expect(await rows.next()).toEqual({ done: true, value: { counted: 5, found: 3 } })
  expect(asked).toEqual([1, 1, 1])
})

test.each(['total', 'neither'] as const)('a list that is whole says so at its end: %s', async shape => {
  const rows = everyRow({ ...LIST, fetch: new Listing(['1', null, '2'], 2, undefined, shape).fetch })
  for (let row = 0; row < 3; row += 1) await rows.next()
  expect(await rows.next()).toEqual({ done: true, value: null })
})

describe('rows that move', () => {
  test('rows added in front are no repeats, and are found in another pass', async () => {
    let added = 0
    const listing = new Listing(numbered(1, 6), 2, list => {
      if (list.asked.length > 3) return
      added += 1
      list.rows.unshift({ id: `new${added}` })
    })
    const ids = await listing.read()
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.toSorted()).toEqual([...numbered(1, 6), 'new1', 'new2', 'new3'].toSorted())
  })

  test('rows removed in front let none slip by', async () => {
    const listing = new Listing(numbered(1, 8), 2, list => {
      if (list.asked.length <= 2) list.rows.shift()
    })
    expect((await listing.read()).toSorted()).toEqual(numbered(1, 8))
  })

  test('one row removed and one added between pages: fewer seen than there are, so it is read again', async () => {
    const listing = new Listing(numbered(1, 4), 2, list => {
      if (list.asked.length !== 1) return
      list.rows.unshift({ id: 'new' })
      list.rows.pop()
    })
    // Page 1: 1 2. Then new 1 2 3. Page 2: 2 3. Seen are three of four.
    expect((await listing.read()).toSorted()).toEqual(['1', '2', '3', 'new'])
  })

  test('rows that never come to rest are read three times', async () => {
    let added = 0
    const listing = new Listing(numbered(1, 4), 2, list => {
      added += 1
      if (added % 2) list.rows.unshift({ id: `new${added}` })
    })
    const ids = await listing.read()
    expect(new Set(ids).size).toBe(ids.length)
    expect(listing.asked.filter(page => page === 1)).toHaveLength(3)
    for (const id of numbered(1, 4)) expect(ids).toContain(id)
  })

  test('whatever is added and removed during the first pass, every row that stays is given once', async () => {
    const step = fc.record({ isAdded: fc.boolean(), at: fc.nat(30) })
    await fc.assert(
      fc.asyncProperty(
        fc.nat(20),
        fc.integer({ min: 1, max: 5 }),
        fc.array(step, { maxLength: 4 }),
        async (count, size, steps) => {
          const stay = new Set(numbered(1, count))
          const changes = [...steps]
          const listing = new Listing(numbered(1, count), size, list => {
            const change = changes.shift()
            if (!change) return
            const at = change.at % (list.rows.length + 1)
            if (change.isAdded) list.rows.splice(at, 0, { id: `new${changes.length}` })
            else for (const { id } of list.rows.splice(at, 1)) stay.delete(String(id))
          })
          const ids = await listing.read()
          expect(new Set(ids).size).toBe(ids.length)
          // One row gone and another come between the same two pages cannot be told from none: those runs are left out.
          const isNetChange = steps.every(({ isAdded }) => isAdded) || steps.every(({ isAdded }) => !isAdded)
          if (isNetChange) for (const id of stay) expect(ids).toContain(id)
        },
      ),
    )
  })
})

describe('a list without an end', () => {
  test.each<[string, Partial<ListPage<Row>>]>([
    ['always has a next page', { has_next: true, data_list: rowsOf('1', '2') }],
    ['has more rows than anybody', { total_count: 2 ** 53 - 1, data_list: rowsOf('1', '2') }],
    ['is full, without a total', { data_list: rowsOf('1', '2') }],
    ['has rows without a key', { has_next: true, data_list: rowsOf(null, null) }],
  ])('whose page %s and is the same ends as malformed', async (_, page) => {
    let asked = 0
    const fetch = async (): Promise<ListPage<Row>> => {
      asked += 1
      if (asked > 1000) throw new Error('it goes on and on')
      return { total_count: null, data_list: [], ...page }
    }
    const given: Row[] = []
    const reading = async () => {
      for await (const row of everyRow({ ...LIST, fetch })) given.push(row)
    }
    await expect(reading()).rejects.toMatchObject({ kind: 'malformed', operation: 'list' })
    expect(asked).toBeLessThan(10)
    expect(given.slice(0, 2)).toEqual(page.data_list)
  })

  test('is not what rows look like that many more push before', async () => {
    // 2 and 1 come twice, as ever more are added in front: two pages that bring nothing new.
    let added = 0
    const listing = new Listing(numbered(1, 6), 2, list => {
      if (added >= 4) return
      for (let more = 0; more < 2; more += 1) list.rows.unshift({ id: `new${++added}` })
    })
    expect((await listing.read()).toSorted()).toEqual([
      ...numbered(1, 6),
      ...numbered(1, 4).map(number => `new${number}`),
    ])
  })
})

describe('fetching ahead', () => {
  test('the next page is under way while the rows of the present one are consumed, and no further one', async () => {
    const listing = new Listing(numbered(1, 6), 2)
    const rows = everyRow({ ...LIST, fetch: listing.fetch })
    expect(listing.asked).toEqual([])
    await rows.next()
    expect(listing.asked).toEqual([1, 2])
    await rows.next()
    expect(listing.asked).toEqual([1, 2])
    await rows.next()
    expect(listing.asked).toEqual([1, 2, 3])
    await rows.return(null)
  })

  test('a consumer that ends early gives the fetch up', async () => {
    const signals: AbortSignal[] = []
    const fetch = async (index: number, signal: AbortSignal): Promise<ListPage<Row>> => {
      signals.push(signal)
      if (index === 1) return { total_count: 4, data_list: rowsOf('1', '2') }
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    }
    for await (const row of everyRow({ ...LIST, fetch })) {
      expect(row.id).toBe('1')
      break
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true])
  })

  test('a page that fails is heard of after the rows before it', async () => {
    const fetch = async (index: number): Promise<ListPage<Row>> => {
      if (index === 2) throw new Error('page 2 failed')
      return { total_count: 4, data_list: rowsOf('1', '2') }
    }
    const rows = everyRow({ ...LIST, fetch })
    await rows.next()
    await new Promise(resolve => setImmediate(resolve)) // it has failed by now, but has not been read yet
    expect((await rows.next()).value).toEqual({ id: '2' })
    await expect(rows.next()).rejects.toThrow('page 2 failed')
  })
})

describe('through the client', () => {
  const platform = duringTest(FakePlatform.start)
  const client = duringTest(
    () => new PlatformClient({ baseUrl: platform.url, appId: 'a', appSecret: 's', ratePerSecond: 10_000 }),
  )

  test('payment orders are asked for in the largest pages, with the query on each', async () => {
    const orders = (from: number, to: number) =>
      ok({ total_count: 150, data_list: numbered(from, to).map(trade_no => ({ trade_no })) })
    platform.plan('enterprise/consume/list', orders(1, 100), orders(101, 150))
    const seen: (string | null)[] = []
    for await (const order of client.paymentOrders.list({ time_start: '2026-11-01' }))
      seen.push(order.trade_no)
    expect(seen).toEqual(numbered(1, 150))
    expect(platform.of('enterprise/consume/list').map(({ form }) => Object.fromEntries(form))).toEqual([
      { time_start: '2026-11-01', page_index: '1', page_size: '100' },
      { time_start: '2026-11-01', page_index: '2', page_size: '100' },
    ])
  })

  test('taxpayers by has_next', async () => {
    const page = (names: string[], has_next: boolean) =>
      ok({
        total_count: 3,
        has_next,
        data_list: names.map(taxpayer_name => ({ taxpayer_name, identifier: 'I' })),
      })
    platform.plan('taxpayer/findList', page(['a', 'b'], true), page(['c'], false))
    const names: (string | null)[] = []
    for await (const row of client.taxpayers.list({ identifier: 'I', page_size: '2' }))
      names.push(row.taxpayer_name)
    expect(names).toEqual(['a', 'b', 'c'])
    expect(platform.of('taxpayer/findList').map(({ form }) => form.get('page_no'))).toEqual(['1', '2'])
  })

  test('a wrong query, and a signal, end the iteration', async () => {
    const wrong = client.paymentOrders.list({ page_size: 101 })[Symbol.asyncIterator]()
    await expect(wrong.next()).rejects.toMatchObject({ kind: 'invalid_request' })
    const aborted = client.paymentOrders.list({}, { signal: AbortSignal.abort() })[Symbol.asyncIterator]()
    await expect(aborted.next()).rejects.toMatchObject({ kind: 'aborted' })
  })
})
