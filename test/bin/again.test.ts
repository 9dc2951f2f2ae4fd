import { execFile } from 'node:child_process'
import { readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../helpers/temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')

/** What a test file may be like. */
const KINDS = {
  steady: `test('steady', () => {})`,
  // What it does in the whole run it leaves behind.
  unsteady: `test('unsteady', () => { if (!existsSync('seen')) { writeFileSync('seen', ''); throw new Error('a race') } })`,
  broken: `test('broken', () => { throw new Error('a defect') })`,
  unreadable: `throw new Error('not even loaded')`,
  stray: `test('stray', async () => { setTimeout(() => { throw new Error('not awaited') }); await new Promise(r => setTimeout(r, 100)) })`,
}

/** Runs such files as `.ci/run` does. */
async function run(...given: (keyof typeof KINDS | `--${string}`)[]) {
  const kinds = given.filter(each => each in KINDS) as (keyof typeof KINDS)[]
  const options = given.filter(each => each.startsWith('--'))
  const folder = await temporaryFolder()
  await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
  for (const kind of kinds)
    await writeFile(
      join(folder, `${kind}.test.js`),
      `import { existsSync, writeFileSync } from 'node:fs'\nimport { test } from 'vitest'\n${KINDS[kind]}`,
    )
  const unsteady = join(folder, 'unsteady')
  await writeFile(unsteady, '')
  const command = [join(ROOT, '.ci/again.mjs'), unsteady, 'node_modules/.bin/vitest', 'run', '--', ...options]
  const ended = await promisify(execFile)(process.execPath, command, { cwd: folder }).catch(
    error => error as { code: number; stdout: string; stderr: string },
  )
  return {
    code: 'code' in ended ? ended.code : 0,
    said: stripVTControlCharacters(ended.stdout + ended.stderr),
    unsteady: (await readFile(unsteady, 'utf8')).trim().split(/\s+/).filter(Boolean),
  }
}

test('where every test passes nothing is run again', async () => {
  const { code, said, unsteady } = await run('steady')
  expect([code, unsteady]).toEqual([0, []])
  expect(said).not.toContain('Again')
})

test('a file that fails and passes alone is told by name; what it said at first stays to be read', async () => {
  const { code, said, unsteady } = await run('steady', 'unsteady')
  expect([code, unsteady]).toEqual([0, ['unsteady.test.js']])
  expect(said).toContain('Error: a race')
  expect(said).toMatch(
    /1 failed \| 1 passed \(2\)[\s\S]*== Again, one after the other: 1 that failed ==[\s\S]*1 passed \(1\)/,
  )
})

test('a file of a shard that fails is run again, whichever shard it would be in by itself', async () => {
  const shards = [
    await run('steady', 'unsteady', '--shard=1/2'),
    await run('steady', 'unsteady', '--shard=2/2'),
  ]
  expect(shards.map(({ code }) => code)).toEqual([0, 0])
  expect(shards.flatMap(({ unsteady }) => unsteady)).toEqual(['unsteady.test.js'])
})

test('a file that fails again fails the run', async () => {
  const { code, said, unsteady } = await run('unsteady', 'broken', 'unreadable')
  expect([code, unsteady]).toEqual([1, ['unsteady.test.js']])
  expect(said.match(/Error: a defect/g)).toHaveLength(2)
  expect(said.match(/Error: not even loaded/g)).toHaveLength(2)
})

test('an error that belongs to no test fails the run, although every file passes', async () => {
  const { code, said, unsteady } = await run('steady', 'stray')
  expect([code, unsteady]).toEqual([1, []])
  expect(said).not.toContain('Again')
})

test('a command that runs no tests fails the run', async () => {
  const folder = await temporaryFolder()
  const again = promisify(execFile)('node', [join(ROOT, '.ci/again.mjs'), join(folder, 'unsteady'), 'true'])
  await expect(again).rejects.toMatchObject({ code: 1 })
})
