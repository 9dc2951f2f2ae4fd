import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Dice } from '../chaos/dice.ts'

/**
 * How strong the tests on real servers are: of the mutants that no unit test kills, by Stryker's JSON report, a seed chooses some,
 * and each is tried by the tests of its folder. `npm run test:mutants -- REPORT --mutants 60 --seed 1`
 * Sources are changed in place and put back: use a clone.
 */

const ROOT = join(import.meta.dirname, '../..')

/** The folders of tests that hold a folder of sources; default: the one of its name. */
const HELD_BY: Record<string, string[]> = {
  directory: ['test/directory', 'test/sync'],
  pacing: ['test/pacing', 'test/sync'],
  platform: ['test/platform', 'test/emulator', 'test/contract', 'test/sync'],
}

/** Of one that takes longer nobody would wait for the end. */
const LONGEST_MS = 10 * 60_000

/** What Stryker's report holds, as far as it is read here. Lines and columns begin at 1, and the end is not in it. */
interface Report {
  files: Record<string, { source: string; mutants: Mutant[] }>
}
interface Mutant {
  mutatorName: string
  replacement: string
  status: 'Killed' | 'Timeout' | 'Survived' | 'NoCoverage' | 'Ignored' | 'CompileError' | 'RuntimeError'
  location: { start: Position; end: Position }
}
interface Position {
  line: number
  column: number
}

const { values: given, positionals } = parseArgs({
  allowPositionals: true,
  options: { mutants: { type: 'string', default: '60' }, seed: { type: 'string', default: '1' } },
})
const [path = ''] = positionals
if (!existsSync(path)) throw new Error('name the JSON report of `npx stryker run --reporters json`')
const report: Report = JSON.parse(readFileSync(path, 'utf8'))

const left = Object.entries(report.files).flatMap(([file, { source, mutants }]) =>
  mutants
    .filter(({ status }) => status === 'NoCoverage' || status === 'Survived')
    .map(mutant => ({ file, source, mutant })),
)
const dice = new Dice(Number(given.seed))
const count = left.length
const chosen = Array.from({ length: Math.min(count, Number(given.mutants)) }, () =>
  left.splice(dice.between(0, left.length - 1), 1),
).flat()
console.log(`${count} mutants that no unit test kills, of which ${chosen.length}:`)
let killed = 0
for (const [i, { file, source, mutant }] of chosen.entries()) {
  const begun = performance.now()
  const isKilled = await dies(file, source, mutant)
  if (isKilled) killed += 1
  const seconds = Math.round((performance.now() - begun) / 1000)
  const { line, column } = mutant.location.start
  console.log(
    `${i + 1} ${isKilled ? 'killed' : 'SURVIVED'} ${file}:${line}:${column} ${mutant.mutatorName} ${seconds} s`,
  )
  if (!isKilled) console.log(`    ${oneLine(cut(source, mutant))}\n    ${oneLine(mutant.replacement)}`)
}
console.log(`${killed} of ${chosen.length} killed`)

async function dies(file: string, source: string, mutant: Mutant): Promise<boolean> {
  const [start, end] = [mutant.location.start, mutant.location.end].map(at => offsetOf(source, at)) as [
    number,
    number,
  ]
  const at = join(ROOT, file)
  if (readFileSync(at, 'utf8') !== source) throw new Error(`${file} is not the one of the report`)
  writeFileSync(at, source.slice(0, start) + mutant.replacement + source.slice(end))
  try {
    const folder = file.split('/')[1] ?? ''
    const tests = HELD_BY[folder] ?? [`test/${folder}`]
    const child = spawn(
      'npx',
      ['vitest', 'run', '--project', 'tests', '--bail', '1', '--reporter', 'dot', ...tests],
      {
        cwd: ROOT,
        stdio: 'ignore',
        detached: true,
      },
    )
    const late = setTimeout(() => process.kill(-(child.pid as number), 'SIGKILL'), LONGEST_MS)
    const [code] = await once(child, 'exit')
    clearTimeout(late)
    return code !== 0
  } finally {
    writeFileSync(at, source)
  }
}

function offsetOf(source: string, { line, column }: Position): number {
  const before = source.split('\n').slice(0, line - 1)
  return before.join('\n').length + (line > 1 ? 1 : 0) + column - 1
}

function cut(source: string, { location }: Mutant): string {
  return source.slice(offsetOf(source, location.start), offsetOf(source, location.end))
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').slice(0, 160)
}
