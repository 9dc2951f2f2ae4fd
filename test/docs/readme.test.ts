import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { CRON_JOBS } from '../../jobs/index.ts'
import { settingName } from '../../jobs/scheduler.ts'
import { ESSENTIAL, SETTINGS } from '../../src/config.ts'
import { HrSource } from '../../src/hr/source.ts'
import { createLogger } from '../../src/lib/logger.ts'
import { command } from '../cli/dirsync.ts'
import { sampleFile } from '../examples/sample.ts'
import { createTestDatabase } from '../helpers/postgres.ts'

const ROOT = join(import.meta.dirname, '../..')
const page = readFileSync(join(ROOT, 'README.md'), 'utf8')

interface Block {
  language: string
  text: string
}
const blocks: Block[] = [...page.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(
  ([, language = '', text = '']) => ({ language, text }),
)
const prose = page.replace(/^```\w+\n[\s\S]*?^```$/gm, '')
const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, text = '']) => text)

/** Rows of three cells whose first is such a name. */
function tableOf(name: RegExp): string[][] {
  return page
    .split('\n')
    .filter(line => line.startsWith('| `'))
    .map(line =>
      line
        .split(/(?<!\\)\|/)
        .slice(1, -1)
        .map(cell => cell.trim().replaceAll('\\|', '|')),
    )
    .filter(([first = '', ...rest]) => name.test(first) && rest.length === 2)
}

describe('settings', () => {
  test('the table is what config.ts has: names, defaults, meaning', () => {
    const expected = Object.entries<{ help: string; default?: string }>(SETTINGS).map(([name, setting]) => [
      `\`${name}\``,
      setting.default === undefined
        ? (ESSENTIAL as readonly string[]).includes(name)
          ? 'required'
          : '–'
        : setting.default === ''
          ? 'empty'
          : `\`${setting.default}\``,
      setting.help,
    ])
    const written = tableOf(/^`[A-Z_]+`$/).filter(([name = '']) => !name.startsWith('`SCHEDULE_'))
    expect(written).toEqual(expected)
  })

  test('the table of schedules is what the cron jobs have', () => {
    expect(tableOf(/^`SCHEDULE_/)).toEqual(
      CRON_JOBS.map(job => [`\`${settingName(job.name)}\``, `\`${job.schedule}\``, job.does]),
    )
  })

  test('no setting is named that there is not', () => {
    const known = new Set([...Object.keys(SETTINGS), ...CRON_JOBS.map(job => settingName(job.name))])
    const prefixes =
      /^(DATABASE|REDIS|HR|PLATFORM|SELLER|WORKER|QUEUE|GATE|BREAKER|DEPARTMENT|SWEEP|CONSOLE|PAYMENT|TAXPAYER|NOTIFICATION|LOG|SCHEDULE)_[A-Z_]+$/
    const unknown = spans
      .flatMap(span => span.split(/[=\s]/))
      .filter(word => prefixes.test(word))
      .filter(word => !known.has(word.replace(/_FILE$/, '')))
    expect(unknown).toEqual([])
  })
})

describe('commands', () => {
  /** `dirsync a b --c` wherever it is typed or named: command words and options. */
  const calls = [...spans, ...blocks.flatMap(({ text }) => text.split('\n'))].flatMap(line =>
    [...line.matchAll(/(?:^|npx |dirsync |run --rm |[(: ])dirsync ((?:[a-z][a-z-]*)(?: [^|#)]*)?)$/g)].map(
      ([, rest = '']) => rest.trim().split(/\s+/),
    ),
  )
  const help = async (...words: string[]) => {
    const { code, stdout } = await command([...words, '--help'])
    return code === 0 ? stdout : ''
  }
  /** Commands whose first word names one of several. */
  const GROUPS = new Set(['dead-letters', 'hr', 'orders', 'refund', 'topup'])
  let commands: string[]
  beforeAll(async () => {
    commands = [...(await help()).matchAll(/^ {2}([a-z][a-z-]+) /gm)].map(([, name = '']) => name)
  })

  test('every command that is named exists, and every one that exists is named', () => {
    const named = [...new Set(calls.map(([name = '']) => name))]
    expect(named.length).toBeGreaterThan(8)
    expect(named.filter(name => !commands.includes(name))).toEqual([])
    expect(commands.filter(name => name !== 'help' && !named.includes(name))).toEqual([])
  })

  test('every option that is named exists', async () => {
    const pages = new Map<string, string>()
    for (const [name = '', ...words] of calls) {
      const path = GROUPS.has(name) ? [name, words[0] ?? ''] : [name]
      const options = words.filter(word => word.startsWith('--')).map(word => word.replace(/[=[].*/, ''))
      // The fields of an operation are the platform's, not ours.
      if (options.length === 0 || name === 'platform') continue
      const key = path.join(' ')
      if (!pages.has(key)) pages.set(key, await help(...path))
      for (const option of options) expect(`${key}: ${pages.get(key)}`).toContain(option)
    }
    expect(pages.size).toBeGreaterThan(4)
  })
})

describe('SQL', () => {
  test('every query on dirsync runs', async () => {
    await using database = await createTestDatabase({ migrated: true })
    const typed = blocks
      .filter(({ language }) => language === 'console')
      .flatMap(({ text }) => [...text.replace(/\n\w+-# /g, ' ').matchAll(/^\w+=[#>] (select .*);$/gm)])
      .map(([, statement = '']) => statement)
    const named = spans.filter(span => /^select .*dirsync\./.test(span))
    expect(typed.length + named.length).toBeGreaterThan(10)
    for (const statement of [...typed, ...named])
      await expect(database.pool.query(`explain ${statement}`), statement).resolves.toBeDefined()
  })

  test('the short mapping works on the sample', async () => {
    await using database = await createTestDatabase()
    await database.pool.query(await sampleFile('schema.sql'))
    await database.pool.query(await sampleFile('data.sql'))
    const mapping = blocks.find(({ language, text }) => language === 'sql' && text.includes('as userid'))
    await using opened = new AsyncDisposableStack()
    const hr = opened.adopt(
      new HrSource({
        url: database.url,
        employeesSql: { file: 'README.md', sql: mapping?.text ?? '' },
        departmentsSql: null,
        defaultEnterpriseCode: '',
        logger: createLogger({ level: 'silent', pretty: false }),
      }),
      source => source.close(),
    )
    const { employees } = await hr.inspect()
    expect(employees.columns).toContain('updated_at')
    const { rows } = await database.pool.query(
      `select count(*)::int as rows, count(distinct userid)::int as people from (${mapping?.text}) m`,
    )
    expect(rows[0].rows).toBeGreaterThan(300)
    expect(rows[0].people).toBe(rows[0].rows)
  })

  test("the reader's role may read HR, and nothing else", () => {
    const role = blocks.find(({ text }) => text.includes('create role hr_reader'))?.text ?? ''
    const demo = readFileSync(join(ROOT, 'compose/demo/hr-reader.sql'), 'utf8')
    const plain = (sql: string) =>
      sql
        .replace(/^--.*$/gm, '')
        .replace(/password '[^']*'/, "password '…'")
        .trim()
    expect(plain(role)).toBe(plain(demo))
  })
})

test('every file that is linked is there, and every heading', () => {
  const links = [...prose.matchAll(/\]\(([^)]+)\)/g)].map(([, target = '']) => target)
  const anchors = [...prose.matchAll(/^## (.+)$/gm)].map(
    ([, title = '']) =>
      `#${title
        .toLowerCase()
        .replace(/[^\w -]/g, '')
        .replaceAll(' ', '-')}`,
  )
  for (const link of links)
    expect(link.startsWith('#') ? anchors.includes(link) : existsSync(join(ROOT, link)), link).toBe(true)
})
