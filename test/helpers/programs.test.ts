import { execFile } from 'node:child_process'
import { existsSync, readdirSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify, stripVTControlCharacters } from 'node:util'
import { expect, inject, test } from 'vitest'
import { install, NEEDED, type Tag } from './programs.ts'
import { temporaryFolder } from './temporary-folder.ts'

const ROOT = join(import.meta.dirname, '../..')
const TAGS = Object.keys(NEEDED) as Tag[]

/** For each program a file whose tests need it. */
const FILES: Record<Tag, string> = {
  redis: 'test/helpers/helpers.test.ts',
  pgbouncer: 'test/cli/pooler.test.ts',
  mariadb: 'test/hr/mysql/types.test.ts',
  chromium: 'test/console/browser/plan.test.ts',
  prometheus: 'test/ops/promtool.test.ts',
  alertmanager: 'test/ops/promtool.test.ts',
  compose: 'test/compose/compose.test.ts',
  script: 'test/cli/access.test.ts',
}

/** Starts the suite, of these files what needs a program, on a machine that has all of this one but the programs. */
async function startBare(env: Record<string, string>): Promise<{ code: number; said: string }> {
  const path = await temporaryFolder()
  // What one folder has and a later one has again is found in the first; a link may lead nowhere.
  const taken = new Set(Object.values(NEEDED).flatMap(({ programs }) => programs.flat()))
  for (const folder of (process.env.PATH ?? '').split(delimiter).filter(existsSync))
    for (const name of readdirSync(folder).filter(each => !taken.has(each))) {
      taken.add(name)
      symlinkSync(join(folder, name), join(path, name))
    }
  const vitest = join(ROOT, 'node_modules/vitest/vitest.mjs')
  const args = ['run', '--tags-filter', TAGS.join(' or '), ...new Set(Object.values(FILES))]
  const ended = await promisify(execFile)(process.execPath, [vitest, ...args], {
    cwd: ROOT,
    env: { PATH: path, TEST_DATABASE_URL: inject('postgresUrl'), ...env },
  }).catch(error => error as { code: number; stdout: string; stderr: string })
  const said = stripVTControlCharacters(ended.stdout + ended.stderr)
  return { code: 'code' in ended ? ended.code : 0, said }
}

test('what a machine lacks is left out, and the end of the run says what, where, and what installs it', async () => {
  const { code, said } = await startBare({})
  expect(code, said).toBe(0)
  const [, ...leftOut] = said.split('\nLeft out: ')
  expect(leftOut.map(each => each.replace(/\d+(?= tests? in| {2}test)/g, 'n').trim())).toEqual(
    TAGS.map(tag =>
      expect.stringMatching(
        new RegExp(`^n tests? in 1 file, for want of ${tag}\\. ${install([tag])}\n +n {2}${FILES[tag]}$`),
      ),
    ),
  )
})

test('with CI=true a missing program fails the run, and one command installs all', async () => {
  const { code, said } = await startBare({ CI: 'true' })
  expect(code).toBe(1)
  expect(said).toContain(`this machine lacks ${TAGS.join(', ')}: ${install(TAGS)}`)
})
