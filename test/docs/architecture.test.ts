import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'ARCHITECTURE.md'), 'utf8')

/** Rows of the table under a heading, cells trimmed, header left out. */
function tableUnder(heading: string): string[][] {
  const section = page.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
  const rows = section.split('\n').filter(line => line.startsWith('|'))
  return rows.slice(2).map(row =>
    row
      .split('|')
      .slice(1, -1)
      .map(cell => cell.trim()),
  )
}

/** The rules of test/architecture.test.ts, read from its text: importing it would run it. */
function rulesOfTheTest(): string[][] {
  const text = readFileSync(join(ROOT, 'test/architecture.test.ts'), 'utf8')
  const rules = text.split('const RULES')[1]?.split('\n}\n')[0] ?? ''
  return [...rules.matchAll(/^ {2}'(.+)': \{ may: (ANYTHING|\[.*?\])/gm)].map(([, place = '', may = '']) => {
    const folders = [...may.matchAll(/'src\/(.+?)\/'/g)].map(([, folder]) => folder).join(', ')
    return [`\`${place}\``, may === 'ANYTHING' ? 'everything' : folders || 'nothing']
  })
}

test('the import rules are those that are held', () => {
  const rows = tableUnder('Layout and import rules').map(([folder = '', may = '']) => [folder, may])
  expect(rows.length).toBeGreaterThan(10)
  expect(rows).toEqual(rulesOfTheTest())
})

test('every law names where it is held', () => {
  const laws = tableUnder('The laws, and where each is held')
  expect(laws.map(([law]) => Number.parseInt(law ?? '', 10))).toEqual([
    1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14,
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
