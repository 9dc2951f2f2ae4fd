/** One page of a list that the platform gives page by page. */
export interface Page<Row> {
  readonly total_count: number | null
  readonly has_next?: boolean | null
  readonly data_list: readonly Row[]
}

/** How often the pages are gone through when rows move while they are read. */
const MOST_PASSES = 3

/**
 * Every row of a paged list, each once. The next page is fetched while the rows of the present one are consumed; when
 * the consumer ends early, that fetch is given up.
 *
 * Rows that are added or removed meanwhile push others over the edge of a page. A row seen before is passed over. When
 * the total changed between pages, or fewer rows were seen than there are, the pages are gone through again for those
 * that slipped by, three times at most. (That one row went and another came between the same two pages cannot always be
 * told.)
 * @param fetch gives one page, counted from 1
 * @param keyOf what tells one row from another; a row without a key is given in the first pass alone
 */
export async function* everyRow<Row>(options: {
  fetch: (index: number, signal: AbortSignal) => Promise<Page<Row>>
  keyOf: (row: Row) => string | null
  pageSize: number
  signal?: AbortSignal | undefined
}): AsyncGenerator<Row, void, undefined> {
  const { fetch, keyOf, pageSize } = options
  const giveUp = new AbortController()
  const signal = options.signal ? AbortSignal.any([options.signal, giveUp.signal]) : giveUp.signal
  const seen = new Set<string>()
  let keyless = 0
  try {
    for (let pass = 1; pass <= MOST_PASSES; pass += 1) {
      let hasMoved = false
      let rowsOfPass = 0
      let total: number | null = null
      let next: Promise<Page<Row>> | null = fetch(1, signal)
      for (let index = 1; next !== null; index += 1) {
        const page: Page<Row> = await next
        const rows = page.data_list
        rowsOfPass += rows.length
        if (index > 1 && page.total_count !== total) hasMoved = true
        total = page.total_count
        next = isLast(page, rowsOfPass, pageSize) ? null : fetch(index + 1, signal)
        next?.catch(() => undefined) // it is heard of when its turn comes; nobody asks after it when the consumer ends early
        for (const row of rows) {
          const key = keyOf(row)
          if (key === null) {
            if (pass > 1) continue
            keyless += 1
          } else {
            if (seen.has(key)) continue
            seen.add(key)
          }
          yield row
        }
      }
      if (!hasMoved && (total === null || seen.size + keyless >= total)) return
    }
  } finally {
    giveUp.abort()
  }
}

function isLast<Row>(page: Page<Row>, rowsOfPass: number, pageSize: number): boolean {
  if (page.data_list.length === 0) return true
  if (typeof page.has_next === 'boolean') return !page.has_next
  // The total, not a short page: a platform may give fewer rows a page than it is asked for.
  return page.total_count === null ? page.data_list.length < pageSize : rowsOfPass >= page.total_count
}
