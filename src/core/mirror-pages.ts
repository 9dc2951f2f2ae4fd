/** Passes over the pages of one list, however restless it is. */
const MAX_PASSES = 3
/** Pages of one pass: a platform that neither counts nor ends is not believed. */
const MAX_PAGES = 10_000

/** Where a reader of pages stands. */
export interface PageCursor {
  /** The page to read next, from 1. */
  page: number
  /** The pass over the pages that it belongs to, from 1. */
  pass: number
  /** The most rows that the platform has counted during the pass. */
  most: number
}

export const FIRST_PAGE: PageCursor = { page: 1, pass: 1, most: 0 }

/**
 * The cursor after a page, or null when the list was read.
 * When rows go while pages are read, others move up and slip through. That shows at the end: the platform counts fewer rows
 * than before, or more than are known. Then another pass is made.
 * @param isLast whether it was the last page of its pass
 * @param total rows of the list by the platform's count; null when it does not say
 * @param known different rows seen so far
 */
export function nextPage(
  { page, pass, most }: PageCursor,
  { isLast, total, known }: { isLast: boolean; total: number | null; known: number },
): PageCursor | null {
  if (!isLast && page < MAX_PAGES) return { page: page + 1, pass, most: Math.max(most, total ?? 0) }
  const isWhole = total === null || (known >= total && total >= most)
  return isWhole || pass >= MAX_PASSES ? null : { page: 1, pass: pass + 1, most: 0 }
}
