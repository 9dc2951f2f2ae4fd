/** Passes over the pages of one list, however restless it is. */
const MAX_PASSES = 3

/**
 * What to read after a page, or null when the list was read.
 * Rows that move between pages while they are read may slip through; then fewer are known than the platform counts, and
 * another pass is made.
 * @param page number of the page that was read, from 1
 * @param pass number of the pass it belongs to, from 1
 * @param isLast whether it was the last page of its pass
 * @param total rows of the list by the platform's count; null when it does not say
 * @param known different rows seen so far
 */
export function nextPage(
  { page, pass }: { page: number; pass: number },
  { isLast, total, known }: { isLast: boolean; total: number | null; known: number },
): { page: number; pass: number } | null {
  if (!isLast) return { page: page + 1, pass }
  if (total === null || known >= total || pass >= MAX_PASSES) return null
  return { page: 1, pass: pass + 1 }
}
