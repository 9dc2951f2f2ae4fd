import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { PRODUCTION, RULES } from '../import-rules.ts'
import { pageOf, ROOT, tableUnder } from './pages.ts'

const page = pageOf('ARCHITECTURE.md')

/** A rule as the page writes it. */
function written(may: string[]): string {
  if (may === PRODUCTION) return 'everything'
  const names = may.map(place => place.replace(/^src\//, '').replace(/\/$/, ''))
  return names.join(', ') || 'nothing'
}

test('the import rules are those that are held', () => {
  const rows = tableUnder(page, 'Layout and import rules').map(([folder = '', may = '']) => [folder, may])
  expect(rows).toEqual(
    Object.entries(RULES).map(([place, { may }]) => [
      `\`${place}\``,
      written(may === PRODUCTION ? may : may.filter(folder => folder !== place)),
    ]),
  )
})

test('every law names where it is held', () => {
  const laws = tableUnder(page, 'The laws, and where each is held')
  expect(laws.map(([law]) => Number.parseInt(law ?? '', 10))).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17,
  ])
  for (const [, heldBy, shownBy] of laws) {
    expect(heldBy).not.toBe('')
    expect(shownBy).toMatch(/`test\/.+\.test\.ts`/)
  }
})

test('every file and folder that is named is there', () => {
  const named = [...page.matchAll(/`((?:src|test|jobs|bin|bench|compose|examples)\/[^`*]*)`/g)].map(
    ([, path = '']) => path,
  )
  expect(named.length).toBeGreaterThan(30)
  expect(named.filter(path => !existsSync(join(ROOT, path)))).toEqual([])
})
