import type { SourceStatistics } from './row-hash.ts'

export interface GateLimits {
  /** Percentage of rows that may be missing against the last good run. */
  maxFewerRows: number
  /** Percentage of rows for which a column may have turned empty. */
  maxEmptied: number
}

/**
 * The sanity gate: why HR looks wrong, or null when it looks right.
 * @param last statistics of the last good run that read every row; null on the first run
 * @param duplicates sample of keys that HR delivers more than once
 */
export function suspicion(
  now: SourceStatistics,
  last: SourceStatistics | null,
  duplicates: string[],
  limits: GateLimits,
): string | null {
  if (now.rows === 0) return 'HR delivered no rows at all: check the mapping query and the HR database'
  if (duplicates.length > 0)
    return `HR delivers ${duplicates.length === 1 ? 'a key' : 'keys'} more than once (${duplicates.join(', ')}): make the mapping query return one row per employee`
  if (!last) return null
  const fewer = percent(last.rows - now.rows, last.rows)
  if (fewer > limits.maxFewerRows)
    return `HR delivers ${now.rows} rows, ${Math.round(fewer)} % fewer than the last good run (${last.rows}): check the mapping query and the HR database`
  const emptied = Object.keys(now.empty).filter(column => {
    const before = percent(last.empty[column] ?? 0, last.rows)
    return column in last.empty && percent(now.empty[column] ?? 0, now.rows) - before > limits.maxEmptied
  })
  if (emptied.length > 0)
    return `${emptied.join(', ')} turned empty for more than ${limits.maxEmptied} % of the rows: check the mapping query and the HR database`
  return null
}

/** More than the larger of a number and a percentage of a whole trips a breaker. */
export interface Breaker {
  count: number
  percent: number
}

/** True when `affected` of `total` trips the breaker. */
export function trips(breaker: Breaker, affected: number, total: number): boolean {
  return affected > Math.max(breaker.count, (total * breaker.percent) / 100)
}

function percent(part: number, whole: number): number {
  return whole === 0 ? 0 : (100 * part) / whole
}
