import { access, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import type { Command } from 'commander'
import { loadUnmappedHr } from '../config.ts'
import { hrServerOf } from '../connections.ts'
import { formOf } from '../directory/masking.ts'
import { MappingError } from '../hr/errors.ts'
import { inspectDepartments, inspectEmployees } from '../hr/mapping.ts'
import type { HrServer, HrTable } from '../hr/server.ts'
import { createLogger } from '../lib/logger.ts'
import { shellWord } from '../lib/text.ts'
import {
  type ActiveRule,
  type Chosen,
  countActive,
  hasOneOf,
  readColumns,
  selectOf,
  undeletedRule,
} from '../workbench/first-select.ts'
import {
  calledIn,
  DELETION_NAMES,
  DEPARTMENT_MEANINGS,
  EMPLOYEE_MEANINGS,
  guesses,
  type HrColumn,
  isRuledOut,
  isTableOf,
} from '../workbench/guess.ts'
import { FailedError, stopSignal, UsageError } from './failure.ts'
import { printDelivery } from './hr-check.ts'
import type { Subject } from './hr-init-questions.ts'
import { askActive, askGender, askMeanings, isPlausible, meaningName } from './hr-init-questions.ts'
import { say, speak } from './language.ts'
import { colours, figure, plain, print, printTable, printText, printTitle } from './output.ts'
import { Questions } from './questions.ts'
import { checkSettings, openSettings } from './settings.ts'
import { oneSource } from './source.ts'

interface InitOptions {
  table?: string
  departments?: true
  output?: string
  force?: true
  yes?: true
  source?: string
}

const SETTINGS = { employees: 'HR_EMPLOYEES_SQL', departments: 'HR_DEPARTMENTS_SQL' } as const

/** `dirsync hr init`: asks what the columns of a table mean, and writes a first SELECT. */
export function hrInitCommand(hr: Command): void {
  hr.command('init')
    .description('ask what the columns of a table in HR mean, and write a first SELECT')
    .option('--source <name>', 'which of the HR systems of HR_SOURCES')
    .option('--table <table>', 'this table, instead of asking for one')
    .option('--departments', 'begin the mapping of departments, instead of that of employees')
    .option('--output <file>', 'where to write it (default employees.sql or departments.sql)')
    .option('--force', 'write over a file that is there')
    .option('--yes', 'take all guesses and ask nothing')
    .addHelpText(
      'after',
      `
Needs HR_DATABASE_URL and no other setting. Columns are guessed by their names,
in English, pinyin and Chinese, and by what their values look like; no value is
shown. Answers may come through a pipe, one to a line.

Examples:
  dirsync hr init
  dirsync hr init --table hr.staff --output mapping/employees.sql
  dirsync hr init --departments
  dirsync hr init --table staff --yes`,
    )
    .action(init)
}

async function init(options: InitOptions): Promise<void> {
  const subject: Subject = options.departments ? 'departments' : 'employees'
  const file = options.output ?? `${subject}.sql`
  const checked = checkSettings(loadUnmappedHr)
  speak(checked.language)
  if (!options.force) await assertAbsent(file)
  const logger = createLogger({ level: checked.logLevel ?? 'warn' })
  await using settings = await openSettings(checked, loadUnmappedHr, logger)
  await using opened = new AsyncDisposableStack()
  const source = oneSource(settings.config.sources, options.source)
  const server = opened.adopt(hrServerOf(settings.config, source, logger), async hr => hr.close())
  using questions = new Questions(options.yes === true)
  void stopSignal().then(() => questions[Symbol.dispose]())

  const table = await chosenTable(server, subject, options.table, questions)
  const columns = await readColumns(server, table)
  const meanings = subject === 'employees' ? EMPLOYEE_MEANINGS : DEPARTMENT_MEANINGS
  const guessed = guesses(columns, meanings)
  printColumns(table, columns, name => meaningName(guessed.get(name)))
  const meant = await askMeanings(questions, columns, meanings, guessed)
  for (const { column, meaning } of meant)
    if (meanings.some(known => known.column === meaning && isRuledOut(column.values, known)))
      printText(say('hr_init.personal', { column: plain(column.name) }), 0, colours.yellow)
  const chosen = await askGender(questions, server, table, meant)
  const active = await askActive(questions, server, table, columns, chosen, subject)

  const ending = await withoutDeleted(server, table, columns, active)
  const additions = additionsOf(subject, chosen, active)
  const sql = selectOf(table, chosen, active, server.dialect, additions, ending)
  // Print it first: if no file can be written, as in a container, it can be copied.
  print('', ...sql.split('\n').map(plain))
  await writeFile(file, sql, { flag: options.force ? 'w' : 'wx' }).catch((error: NodeJS.ErrnoException) => {
    throw new FailedError(say('hr_init.unwritable', { file, code: error.code ?? '' }))
  })
  const begun = { file, sql, table, count: countOf(chosen, active), source: source.name }
  await tellNext(server, subject, begun, checked.program)
}

async function assertAbsent(file: string): Promise<void> {
  const isThere = await access(file).then(
    () => true,
    () => false,
  )
  if (isThere) throw new UsageError(say('hr_init.exists', { file }))
}

// The table

const LISTED = 20

async function chosenTable(
  server: HrServer,
  subject: Subject,
  wanted: string | undefined,
  questions: Questions,
): Promise<HrTable> {
  const tables = await server.tables()
  if (tables.length === 0) throw new UsageError(say('hr_init.no_tables'))
  const find = (name: string) => tables.find(table => table.name === name || table.sql === name)
  if (wanted !== undefined) {
    const found = find(wanted)
    if (!found) throw new UsageError(say('hr_init.no_such_table', { name: wanted }))
    return found
  }
  const likely = tables.filter(({ name }) => isTableOf(name, subject))
  const listed = [...likely, ...tables.filter(table => !likely.includes(table))].slice(0, LISTED)
  const { product } = await server.facts()
  print(colours.bold(say('hr_init.tables', { product })))
  printTable(
    [...listed.entries()],
    [
      { title: '#', of: ([i]) => i + 1, align: 'right' },
      { title: say('hr_init.column.table'), of: ([, { name }]) => name },
      {
        title: say('hr_init.column.rows'),
        of: ([, { rows }]) => (rows === null ? null : `≈${figure(rows)}`),
        align: 'right',
      },
    ],
  )
  if (tables.length > listed.length)
    printText(say('hr_init.more_tables', { count: tables.length - listed.length }))
  print('')
  return await questions.ask(say(`hr_init.which_table.${subject}`), '1', text => {
    const answer = listed[Number(text) - 1] ?? find(text)
    return answer ? { answer } : { problem: say('hr_init.no_such_table', { name: text }) }
  })
}

function printColumns(table: HrTable, columns: HrColumn[], meaningOf: (name: string) => string | null): void {
  printTitle(say('hr_init.columns_of', { table: plain(table.name) }))
  printTable(columns, [
    { title: say('hr_check.column.column'), of: ({ name }) => name },
    { title: say('hr_check.column.type'), of: ({ type }) => type.replace(/^_(.*)/, '$1[]'), gives: true },
    { title: say('hr_init.column.sample'), of: ({ values: [value] }) => (value ? formOf(value) : null) },
    { title: say('hr_init.column.means'), of: ({ name }) => meaningOf(name) },
  ])
  printText(say('hr_init.sample_note'))
}

// Rows that HR keeps although they are deleted

/**
 * Looks for a column that marks them, says so, and returns the lines of the SELECT that leave them out: as a comment, unless most
 * rows would stay.
 */
async function withoutDeleted(
  server: HrServer,
  table: HrTable,
  columns: readonly HrColumn[],
  active: ActiveRule,
): Promise<string[]> {
  const used = active.by === 'nothing' ? null : active.by === 'flag' ? active.column : active.column.name
  const called = calledIn(columns)
  const [column] = columns.filter(
    ({ name, shape }) => shape !== 'other' && name !== used && DELETION_NAMES.includes(called(name)),
  )
  if (!column) return []
  const rule = await undeletedRule(server, table, column)
  const count = await countActive(server, table, rule)
  const isSure = count !== null && isPlausible(count)
  const named = { column: plain(column.name) }
  const comment = say(isSure ? 'hr_init.deleted' : 'hr_init.perhaps_deleted', named)
  printText(isSure ? say('hr_init.deleted_rows', { ...named, ...count }) : comment, 0, colours.yellow)
  const where = `where ${hasOneOf(column, rule.active, server.dialect)}`
  return [`-- ${comment}`, isSure ? where : where.replace(/^/gm, '-- ')]
}

// The remaining columns

/** A mapping of departments also needs to say which are open, and who their parents are. */
function additionsOf(subject: Subject, chosen: readonly Chosen[], active: ActiveRule): string[] {
  if (subject === 'employees') return []
  return [
    ...(active.by === 'nothing' ? ['true as active'] : []),
    ...(chosen.some(({ meaning }) => meaning === 'parent_code') ? [] : ['null as parent_code']),
  ]
}

function countOf(chosen: readonly Chosen[], active: ActiveRule): number {
  return chosen.length + (active.by === 'nothing' ? 0 : 1)
}

async function tellNext(
  server: HrServer,
  subject: Subject,
  begun: { file: string; sql: string; table: HrTable; count: number; source: string },
  program: string,
): Promise<void> {
  const { file, sql, table, count, source } = begun
  print(say('hr_init.written', { file, count, table: plain(table.name) }))
  const inspect = subject === 'employees' ? inspectEmployees : inspectDepartments
  const mistake = await inspect(server.reader, { file, sql }).then(
    () => null,
    error => error,
  )
  if (mistake !== null) {
    printText(say('hr_init.refused'), 0)
    throw mistake instanceof MappingError ? mistake : (mistake as Error)
  }
  print(colours.green(say('hr_init.accepted')))
  const delivery = (await server.delivery?.([{ file, sql }])) ?? null
  printDelivery(delivery)
  printText(say('hr_init.unguessed', { page: 'docs/mapping.md' }), 0)
  const setting =
    source === ''
      ? `${SETTINGS[subject]}=${shellWord(resolve(file))}`
      : `"${subject}_sql": "${resolve(file)}" (${source})`
  print('', say('hr_init.set', { setting }))
  const option = source === '' ? '' : ` --source ${source}`
  for (const command of ['hr check', 'plan'])
    print(say('hr_init.then', { command: `${program} ${command}${option}` }))
  if (delivery && delivery.problem !== null) throw new FailedError('')
}
