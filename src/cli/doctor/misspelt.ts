import { type Environment, SETTINGS } from '../../config.ts'

/** Names that begin so are meant for dirsync, as far as anyone can tell. */
const OURS = /^(?:PLATFORM|HR|GATE|BREAKER|SCHEDULE|SELLER|SWEEP)_/

/** Variables that look like settings and are none, with the setting that may be meant. */
export function misspeltSettings(
  env: Environment,
  schedules: readonly string[],
): { name: string; meant: string | null }[] {
  const settings = [...Object.keys(SETTINGS), ...schedules]
  const known = new Set(settings.flatMap(name => [name, `${name}_FILE`]))
  return Object.keys(env)
    .filter(name => !known.has(name))
    .map(name => ({ name, meant: nearest(name.toUpperCase(), settings) }))
    .filter(({ name, meant }) => meant !== null || OURS.test(name))
    .sort((a, b) => a.name.localeCompare(b.name))
}

/** The setting that is at most two letters away. */
function nearest(name: string, settings: string[]): string | null {
  const ranked = settings
    .map(setting => ({ setting, distance: distance(name, setting) }))
    .sort((a, b) => a.distance - b.distance)
  const best = ranked[0]
  return best && best.distance <= 2 ? best.setting : null
}

/** Letters to insert, remove or replace (Levenshtein). */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i]
    for (let j = 1; j <= b.length; j += 1)
      next.push(
        Math.min(
          (row[j] ?? 0) + 1,
          (next[j - 1] ?? 0) + 1,
          (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
        ),
      )
    row = next
  }
  return row[b.length] ?? 0
}
