// Runs a command that ends in `vitest run`, and test files that failed a second time, alone:
// `node .ci/again.mjs UNSTEADY npm test [-- OPTIONS OF THE FIRST TIME]`.
// A file that passes alone has failed by chance. It fails nothing, but its name is added to the file UNSTEADY, to be told at the end.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'

const FAILED_FILES_REPORTER = new URL('failed-files.mjs', import.meta.url).pathname

/** Runs the command. @returns what failed; null: nothing did */
async function run([program, ...parameters], options) {
  const folder = mkdtempSync(join(tmpdir(), 'again-'))
  const FAILED_FILES = join(folder, 'failed.json')
  const reporters = ['default', FAILED_FILES_REPORTER]
  if (process.env.GITHUB_ACTIONS === 'true') reporters.push('github-actions')
  // What follows `--` npm hands on.
  const passed = [...reporters.map(name => `--reporter=${name}`), ...options]
  const child = spawn(program, [...parameters, ...(program === 'npm' ? ['--'] : []), ...passed], {
    stdio: 'inherit',
    env: { ...process.env, FAILED_FILES },
  })
  const [code] = await once(child, 'exit')
  try {
    const failed = JSON.parse(readFileSync(FAILED_FILES, 'utf8'))
    return code === 0 ? null : failed
  } catch {
    return { files: [], strayErrors: 0 } // no tests were run, or not to their end
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const [unsteady, ...given] = process.argv.slice(2)
const end = given.includes('--') ? given.indexOf('--') : given.length
const command = given.slice(0, end)
const first = await run(command, given.slice(end + 1))
// An error outside of all tests, or a run that broke off, says nothing of which file to run again.
if (first && (first.strayErrors > 0 || first.files.length === 0)) process.exit(1)
if (first) {
  console.log(`\n== Again, one after the other: ${first.files.length} that failed ==`)
  const second = await run(command, ['--maxWorkers=1', ...first.files])
  if (second && (second.strayErrors > 0 || second.files.length === 0)) process.exit(1)
  const passed = first.files.filter(file => !second?.files.includes(file))
  for (const file of passed) appendFileSync(unsteady, `  ${relative(process.cwd(), file)}\n`)
  if (second) process.exit(1)
}
