import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { PRODUCTION, RULES, type Rule } from './import-rules.ts'

const ROOT = join(import.meta.dirname, '..')
interface Import {
  /** Path of the imported file, from the root of the project. */
  target: string
  isType: boolean
}

const IMPORT =
  /(?:^|[;}\n])\s*(?:import|export)\s+(type\s+)?(?:[^'"();]*?\sfrom\s+)?['"](\.{1,2}\/[^'"]+)['"]/g
const DYNAMIC = /\bimport\(\s*['"`](\.{1,2}\/[^'"`]+)['"`]/g

/** The project's own files that a source text imports. */
function importsOf(file: string, text: string): Import[] {
  const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/^\s*\/\/.*$/gm, '')
  const resolve = (path: string) => normalize(join(dirname(file), path))
  const direct = [...code.matchAll(IMPORT)].map(([, type, path = '']) => ({
    target: resolve(path),
    isType: type !== undefined,
  }))
  const dynamic = [...code.matchAll(DYNAMIC)].map(([, path = '']) => ({
    target: resolve(path),
    isType: false,
  }))
  return [...direct, ...dynamic]
}

const sources = ['src', 'emulator', 'jobs', 'test', 'bench', 'examples']
  .flatMap(folder =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map(name => join(folder, name)),
  )
  .filter(file => file.endsWith('.ts'))
  .map(file => ({ file, text: readFileSync(join(ROOT, file), 'utf8') }))
const production = sources.filter(({ file }) => PRODUCTION.some(folder => file.startsWith(folder)))

const homeOf = (file: string) => Object.keys(RULES).find(place => isIn(file, place))
const isIn = (file: string, place: string) => {
  if (place.endsWith('/')) return file.startsWith(place)
  return place.endsWith('/*.ts') ? dirname(file) === dirname(place) : file === place
}

/** The imports of a file that the rules do not permit. */
function breaches(file: string, text: string): string[] {
  const home = homeOf(file)
  if (home === undefined) return [`${file} lies in no folder that has a rule`]
  const { may, types = [] } = RULES[home] as Rule
  return importsOf(file, text)
    .filter(({ target, isType }) => {
      const permitted = [home, ...may, ...(isType ? types : [])]
      return !permitted.some(place => isIn(target, place))
    })
    .map(({ target }) => `${file} imports ${target}`)
}

test('every folder imports only what its rule permits', () => {
  expect(production.flatMap(({ file, text }) => breaches(file, text))).toEqual([])
})

test('the application never imports tests, benchmarks or examples', () => {
  const strays = production.flatMap(({ file, text }) =>
    importsOf(file, text).filter(({ target }) => !PRODUCTION.some(place => isIn(target, place))),
  )
  expect(strays).toEqual([])
})

test('only config.ts reads the environment', () => {
  const readers = production.filter(({ text }) =>
    /\bprocess\.env\b|\bprocess\[|{[^}]*\benv\b[^}]*}\s*=\s*process\b/.test(text),
  )
  expect(readers.map(({ file }) => file)).toEqual(['src/config.ts'])
})

test('no module of the directory knows a clock, a network, a database or a file', () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bset(?:Timeout|Interval)\b|from '(?:node:(?:fs|net|http|https|timers)(?:\/promises)?|pg|undici|ioredis|bullmq|fastify)'/
  const offenders = production.filter(
    ({ file, text }) => file.startsWith('src/directory/') && impure.test(text),
  )
  expect(offenders.map(({ file }) => file)).toEqual([])
})

describe('the rules themselves', () => {
  test.each([
    [`import { a } from '../sync/run.ts'`, ['src/hr/x.ts imports src/sync/run.ts']],
    [`import {\n  a,\n  b,\n} from '../sync/run.ts'`, ['src/hr/x.ts imports src/sync/run.ts']],
    [`import '../sync/run.ts'`, ['src/hr/x.ts imports src/sync/run.ts']],
    [`export * from '../sync/run.ts'`, ['src/hr/x.ts imports src/sync/run.ts']],
    [`const a = await import('../sync/run.ts')`, ['src/hr/x.ts imports src/sync/run.ts']],
    [
      `import { a } from '../lib/a.ts'\nimport { b } from '../sync/b.ts'`,
      ['src/hr/x.ts imports src/sync/b.ts'],
    ],
    [`import { config } from '../config.ts'`, ['src/hr/x.ts imports src/config.ts']],
    [`import type { Config } from '../config.ts'`, []],
    [`import { a } from '../lib/a.ts'`, []],
    [`import { a } from './a.ts'`, []],
    [`// import { a } from '../sync/run.ts'`, []],
  ])('%j', (text, expected) => {
    expect(breaches('src/hr/x.ts', text)).toEqual(expected)
  })

  test('cover every folder there is', () => {
    const unknown = production
      .filter(({ file }) => homeOf(file) === undefined)
      .map(({ file }) => relative('.', file))
    expect(unknown).toEqual([])
  })
})
