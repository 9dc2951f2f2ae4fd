import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { NEEDED } from './helpers/programs.ts'
import { MESSAGE, PRODUCTION, RULES, type Rule } from './import-rules.ts'
import { reachOf } from './unit.ts'

const ROOT = join(import.meta.dirname, '..')
interface Import {
  /** Path of the imported file, from the root of the project. */
  target: string
  isType: boolean
}

const IMPORT =
  /(?:^|[;}\n])\s*(?:import|export)\s+(type\s+)?(?:[^'"();]*?\sfrom\s+)?['"](\.{1,2}\/[^'"]+\.ts)['"]/g
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
      const permitted = [home, ...may, ...(isType ? types : []), ...(home === 'emulator/' ? [] : [MESSAGE])]
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

test('dirsync/platform, which others use as a library, loads no package but undici and zod', () => {
  const reached = new Set(['src/platform/index.ts'])
  const packages = new Set<string>()
  for (const file of reached) {
    const text = production.find(each => each.file === file)?.text ?? ''
    for (const { target, isType } of importsOf(file, text)) if (!isType) reached.add(target)
    for (const [, name = ''] of text.matchAll(/^import (?!type\b).*from '([^.'][^']*)'/gm))
      if (!name.startsWith('node:')) packages.add(name)
  }
  expect([...packages].sort()).toEqual(['undici', 'zod'])
})

test('no modules of src/ import each other in a circle, not even their types', () => {
  const left = new Map(
    production
      .filter(({ file }) => file.startsWith('src/'))
      .map(({ file, text }) => [file, importsOf(file, text).map(({ target }) => target)]),
  )
  for (let size = 0; size !== left.size; ) {
    size = left.size
    const wanted = new Set([...left.values()].flat())
    for (const [file, targets] of left)
      if (!wanted.has(file) || !targets.some(target => left.has(target))) left.delete(file)
  }
  expect([...left.keys()]).toEqual([])
})

test('a name that src/ exports has one meaning', () => {
  const homes = new Map<string, Set<string>>()
  for (const { file, text } of production.filter(({ file }) => file.startsWith('src/')))
    for (const [, name = ''] of text.matchAll(EXPORTED)) {
      const home = SAME_IDEA.find(({ files, names }) => files.test(file) && (names?.includes(name) ?? true))
      homes.set(name, (homes.get(name) ?? new Set()).add(home ? String(home.files) : file))
    }
  const ambiguous = [...homes].filter(([, files]) => files.size > 1)
  expect(ambiguous.map(([name, files]) => `${name}: ${[...files].join(', ')}`)).toEqual([])
})

const EXPORTED =
  /^export (?:async )?(?:abstract )?(?:function\*?|class|interface|type|const|let|enum) (\w+)/gm

/** Files whose equal names mean the same: each is one way of it. */
const SAME_IDEA: { files: RegExp; names?: string[] }[] = [
  // The same part of each kind of HR server.
  { files: /^src\/hr\/(?:postgres|mysql|files)\// },
  // A section of the catalogue bears the name of what it is about, in every language.
  { files: /^src\/texts\/(?:en|zh-CN)\/|^src\/console\/\w+\/routes\.ts$/ },
  // What a terminal and a page draw, each in its own way.
  {
    files: /^src\/(?:cli\/output|console\/ui\/parts|lib\/time-text)\.ts$/,
    names: ['Column', 'table', 'figure', 'duration', 'longTime', 'shortTime'],
  },
]

test('only one file reads the environment', () => {
  const readers = production.filter(({ text }) =>
    /\b(?:process|io\(\))\.env\b|\bprocess\[|{[^}]*\benv\b[^}]*}\s*=\s*(?:process|io)\b/.test(text),
  )
  expect(readers.map(({ file }) => file)).toEqual(['src/lib/io.ts'])
})

test('the texts of one language are imported by src/texts, which picks the language, and by the help of the shell', () => {
  const picking = production.filter(
    ({ file, text }) =>
      !file.startsWith('src/texts/') &&
      importsOf(file, text).some(({ target }) => /^src\/texts\/(?:en|zh-CN)\//.test(target)),
  )
  expect(picking.map(({ file }) => file)).toEqual(['src/cli/help.ts'])
})

test('texts that stand beside what they describe are loaded when they are shown, not by every process', () => {
  const early = production.filter(({ text }) =>
    /^import .*\/zh-CN\/(?:fields|meanings|operations)\.ts/m.test(text),
  )
  expect(early.map(({ file }) => file)).toEqual([])
})

test('an error is logged under the key error, which alone keeps personal data out of a line', () => {
  const other = /\{ reason: (?:\(?error\b|sentenceOf|reasonOf|toHrError).* }, '|\blogger\.\w+\(\{[^}]*\berr: /
  expect(production.filter(({ text }) => other.test(text)).map(({ file }) => file)).toEqual([])
})

test('no module of the directory uses a clock, a network, a database or a file', () => {
  const impure =
    /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\bset(?:Timeout|Interval)\b|from '(?:node:(?:fs|net|http|https|timers)(?:\/promises)?|pg|undici|ioredis|bullmq|fastify)'/
  const offenders = production.filter(
    ({ file, text }) => file.startsWith('src/directory/') && impure.test(text),
  )
  expect(offenders.map(({ file }) => file)).toEqual([])
})

describe('the rules themselves', () => {
  test.each([
    [`import { a } from '../sync/runs/run.ts'`, ['src/hr/x.ts imports src/sync/runs/run.ts']],
    [`import {\n  a,\n  b,\n} from '../sync/runs/run.ts'`, ['src/hr/x.ts imports src/sync/runs/run.ts']],
    [`import '../sync/runs/run.ts'`, ['src/hr/x.ts imports src/sync/runs/run.ts']],
    [`export * from '../sync/runs/run.ts'`, ['src/hr/x.ts imports src/sync/runs/run.ts']],
    [`const a = await import('../sync/runs/run.ts')`, ['src/hr/x.ts imports src/sync/runs/run.ts']],
    [
      `import { a } from '../lib/a.ts'\nimport { b } from '../sync/b.ts'`,
      ['src/hr/x.ts imports src/sync/b.ts'],
    ],
    [`import { config } from '../config.ts'`, ['src/hr/x.ts imports src/config.ts']],
    [`import type { Config } from '../config.ts'`, []],
    [`import { a } from '../lib/a.ts'`, []],
    [`import { a } from './a.ts'`, []],
    [`// import { a } from '../sync/runs/run.ts'`, []],
  ])('%j', (text, expected) => {
    expect(breaches('src/hr/x.ts', text)).toEqual(expected)
  })

  test('cover every folder', () => {
    const unknown = production
      .filter(({ file }) => homeOf(file) === undefined)
      .map(({ file }) => relative('.', file))
    expect(unknown).toEqual([])
  })
})

test('the program names its files as TypeScript in imports alone, as in its package they are JavaScript', () => {
  // Elsewhere, as of a process that is started: `${name}${extname(import.meta.filename)}`.
  const named = production.flatMap(({ file, text }) => {
    const code = text
      .replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')
      .replace(/\b(?:from|import\()\s*['"`][^'"`]+['"`]/g, '')
    return [...code.matchAll(/['"`][^'"`\n]*\.ts['"`]/g)].map(([name]) => `${file}: ${name}`)
  })
  expect(named).toEqual([])
})

test('a test file that can start a program has the tag of it', () => {
  const tags = Object.keys(NEEDED)
  const untagged = sources
    .filter(({ file }) => file.endsWith('.test.ts'))
    .flatMap(({ file }) => {
      const reached = [...reachOf(join(ROOT, file))].map(path => readFileSync(path, 'utf8'))
      const lacks = (tag: string) =>
        reached.some(text => text.includes(`program('${tag}'`)) &&
        !reached.some(text =>
          new RegExp(`@module-tag ${tag}\\b|tags: [^\\n]*'${tag}'|has\\('${tag}'\\)`).test(text),
        )
      return tags.filter(lacks).map(tag => `${file}: ${tag}`)
    })
  expect(untagged).toEqual([])
})

test('a test looks at locks and sessions of its own database alone: others use the same server meanwhile', () => {
  const own = /\bdatname\b|\.database\b|\bdatabase =|\busename = \$1|\bpid = any\b/
  const others = sources
    .filter(({ file }) => file.startsWith('test/') && !file.startsWith('test/chaos/'))
    .flatMap(({ file, text }) =>
      [...text.matchAll(/\b(?:from|join) pg_(?:locks|stat_activity)\b[^`]{0,200}/g)]
        .filter(([query]) => !own.test(query))
        .map(([query]) => `${file}: ${query.split('\n')[0]}`),
    )
  expect(others).toEqual([])
})
