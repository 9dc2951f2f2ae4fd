import { readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { loadHr, loadUnmappedHr } from '../config.ts'
import { connectSource } from '../connections.ts'
import { type EmployeeKey, qualified } from '../directory/employee.ts'
import { maskKey } from '../directory/masking.ts'
import { readsWholeSaid } from '../doctor/remote.ts'
import type { HrDelivery } from '../hr/server.ts'
import { MappingError } from '../hr/source.ts'
import { findingsOfTimes, type TimesFinding } from '../hr/updated-times.ts'
import { createLogger } from '../lib/logger.ts'
import { shellWord } from '../lib/text.ts'
import { leaversAbound } from '../sync/runs/safety.ts'
import { message } from '../texts/message.ts'
import type { TextKey } from '../texts/texts.ts'
import { checkHr, type HrCheck, type LikenessFound } from '../workbench/check.ts'
import type { BrokenRule, ColumnFigures, Doubt } from '../workbench/columns.ts'
import type { DepartmentFinding } from '../workbench/departments.ts'
import { FailedError, stopSignal, unreadable } from './failure.ts'
import { named, namedList, said, say, speak } from './language.ts'
import {
  colours,
  duration,
  type Fact,
  figure,
  longTime,
  plain,
  print,
  printFacts,
  printJson,
  printTable,
  printText,
  printTitle,
} from './output.ts'
import { createCounter } from './progress.ts'
import { checkSettings, openSettings } from './settings.ts'
import { oneSource } from './source.ts'

interface CheckOptions {
  mapping?: string
  source?: string
  json?: true
}

/** `dirsync hr check`: what HR contains, and what is wrong with it, before anything is planned. */
export function hrCheckCommand(hr: Command): void {
  hr.command('check')
    .description('read all of HR once, and report what is in it and what is wrong with it')
    .option('--mapping <file>', 'another SELECT of employees than HR_EMPLOYEES_SQL')
    .option('--source <name>', 'which of the HR systems of HR_SOURCES')
    .option('--json', 'print one JSON document')
    .addHelpText(
      'after',
      `
Per column: type, share of empty values, lengths, different values, and the
values that break a rule of the platform. Between employees: numbers and
addresses that several have, exactly or written in another way. Departments
that the platform refuses, or that do not fit the employees.
Values are masked. Nothing is written or sent, and no other setting than those
of HR is needed.
Exit 0 when nothing is wrong, 1 when something is, 2 when the SELECT is.

Examples:
  dirsync hr check
  dirsync hr check --mapping new-employees.sql
  dirsync hr check --json`,
    )
    .action(check)
}

async function check(options: CheckOptions): Promise<void> {
  const { mapping } = options
  const load = mapping === undefined ? loadHr : loadUnmappedHr
  if (mapping !== undefined)
    await readFile(mapping).catch((error: NodeJS.ErrnoException) => {
      throw unreadable(mapping, error)
    })
  const checked = checkSettings(load)
  speak(checked.language)
  const logger = createLogger({ level: checked.logLevel ?? 'warn' })
  await using settings = await openSettings(checked, load, logger)
  const stop = new AbortController()
  void stopSignal().then(() => stop.abort())
  const progress = createCounter(say('shell.reading'), options.json === true)
  await using opened = new AsyncDisposableStack()
  const source = oneSource(settings.config.sources, options.source)
  const mapped = mapping === undefined ? source : { ...source, employeesSql: mapping }
  const hr = opened.adopt(await connectSource(settings.config, mapped, logger), opened => opened.close())
  const found = await checkHr(hr, {
    codes: source.codes,
    leaversAbound: (left, total) => leaversAbound(left, total, settings.config.BREAKER_LEAVERS_PERCENT),
    signal: stop.signal,
    read: rows => progress.show(rows),
  })
    .catch(error => {
      if (stop.signal.aborted) throw new FailedError(message('said.hr_check_stopped'))
      // This temporary file, used to find shared values, is the only thing that is written.
      if (error.code === 'ERR_SQLITE_ERROR')
        throw new FailedError(message('said.hr_check_no_room', { reason: error.message }))
      throw error
    })
    .finally(() => progress.end())
  if (options.json) printJson(documentOf(found))
  else printCheck(found, checked.program, options)
  if (!found.isClean) throw new FailedError('')
}

function departmentsOf({ departments }: HrCheck) {
  return departments instanceof MappingError
    ? { departments: null, mistake: departments.said }
    : { departments, mistake: null }
}

// Output for people

function printCheck(found: HrCheck, program: string, options: CheckOptions): void {
  const { source, rows, active, leavers, columns } = found
  const { departments, mistake } = departmentsOf(found)
  print(colours.bold(say('hr_check.head', { product: source.product, file: source.mapping })))
  printFacts([
    [say('hr_check.rows'), say('hr_check.rows_read', { rows, active, leavers })],
    [
      say('hr_check.departments'),
      departments &&
        say('hr_check.departments_read', {
          count: departments.departments,
          closed: departments.closed,
          file: source.departments,
        }),
    ],
  ])
  printDelivery(found.delivery)
  if (rows > 0) printColumns(columns, rows)
  printFindings(say('hr_check.rules'), [
    ...(found.keyless > 0
      ? [[say('hr_check.rows_of', { rows: found.keyless }), say('hr_check.keyless')] as Fact]
      : []),
    ...(found.stray.rows > 0 ? [strayFact(found.stray)] : []),
    ...found.broken.flatMap(brokenFacts),
  ])
  const times = found.times ? findingsOfTimes(found.times, new Date()) : []
  printFindings(say('hr_check.doubts'), [
    ...found.doubts.map(doubtFact),
    ...times.filter(({ key }) => key === 'doctor.in_future').flatMap(timesFacts),
  ])
  printFindings(say('hr_check.shared'), found.alike.flatMap(likenessFacts))
  const findings = departments?.findings ?? []
  if (mistake || findings.length > 0) {
    printTitle(say('hr_check.in_departments'))
    if (mistake) printText(said(mistake) ?? '')
    for (const finding of findings) printDepartments(finding)
  }
  printFindings(say('hr_check.hints'), [
    fieldsFact('write_only', found.writeOnly),
    fieldsFact('unmanaged', found.unmanaged),
    ...times.filter(({ key }) => key !== 'doctor.in_future').flatMap(timesFacts),
    ...found.readWhole.flatMap(readWholeFacts),
  ])
  printNext(found, program, options)
}

/** For HR in files: which delivery was read, and why the folder's present content was not. */
export function printDelivery(delivery: HrDelivery | null): void {
  if (delivery === null) return
  const { files, writtenAt, problem } = delivery
  const time = writtenAt === null ? '' : longTime(writtenAt)
  printFacts([[say('hr_check.delivery'), say('hr_check.delivery_of', { files: said(files) ?? '', time })]])
  if (problem !== null) printText(say('hr_check.delivery_refused', { reason: said(problem) }))
}

function printNext(
  { isClean, delivery, rows, source }: HrCheck,
  program: string,
  options: CheckOptions,
): void {
  print('')
  if (isClean) print(colours.green(say('hr_check.clean')))
  else if (delivery && delivery.problem !== null) printText(say('hr_check.deliver_again'), 0)
  else if (rows === 0) printText(say('hr_check.no_rows', { kind: source.kind }), 0)
  else printText(say('hr_check.not_clean', { file: source.mapping }), 0)
  const given = (['mapping', 'source'] as const)
    .flatMap(name => (options[name] === undefined ? [] : [` --${name} ${shellWord(options[name])}`]))
    .join('')
  if (isClean) print(say('hr_check.next', { command: `${program} plan${given}` }))
  else print(say('hr_check.again', { command: `${program} hr check${given}` }))
}

function printColumns(columns: ColumnFigures[], rows: number): void {
  printTitle(say('hr_check.columns'))
  printTable(columns, [
    { title: say('hr_check.column.column'), of: ({ source }) => source },
    { title: say('hr_check.column.type'), of: ({ type }) => type.replace(/^_(.*)/, '$1[]'), gives: true },
    { title: say('hr_check.column.empty'), of: ({ empty }) => percentage(empty, rows), align: 'right' },
    { title: say('hr_check.column.length'), of: lengthText, align: 'right' },
    { title: say('hr_check.column.distinct'), of: distinctText, align: 'right' },
    { title: say('hr_check.column.field'), of: fieldText, spare: true },
  ])
  if (columns.some(({ distinct }) => !distinct.isExact)) printText(say('hr_check.estimates'))
}

function percentage(part: number, whole: number): string {
  if (part === 0) return '0 %'
  const share = (100 * part) / whole
  if (share < 1) return '<1 %'
  return share > 99 && part < whole ? '>99 %' : `${Math.round(share)} %`
}

function lengthText({ shortest, longest }: ColumnFigures): string | null {
  if (shortest === null || longest === null) return null
  return shortest === longest ? figure(shortest) : `${figure(shortest)}–${figure(longest)}`
}

function distinctText({ distinct: { count, isExact } }: ColumnFigures): string {
  return isExact ? figure(count) : `≈${figure(Number(count.toPrecision(3)))}`
}

/** `active` and `updated_at` are not fields of the platform. */
function fieldText({ name }: ColumnFigures): string | null {
  return name === 'active' || name === 'updated_at' ? null : named('field', name)
}

/** Prints the findings, each with its samples below it. */
function printFindings(title: string, facts: Fact[]): void {
  const present = facts.filter(([, value]) => value)
  if (present.length === 0) return
  printTitle(title)
  printFacts(present)
}

function strayFact({ rows, codes }: HrCheck['stray']): Fact {
  const shown = codes.map(code => code || say('shell.empty')).join(say('shell.comma'))
  return [say('hr_check.rows_of', { rows }), say('hr_check.stray', { codes: shown })]
}

function brokenFacts({ rows, message, samples }: BrokenRule): Fact[] {
  const shown = samples.map(sample => `${keyName(sample)} ${sample.value ?? say('shell.empty')}`)
  return [
    [say('hr_check.rows_of', { rows }), said(message)],
    ['', shown.join(say('hr_check.semicolon'))],
  ]
}

function doubtFact({ kind, field, rows, of, values }: Doubt): Fact {
  const shown = values.map(({ value, rows }) => `${value || say('shell.empty')}: ${figure(rows)}`)
  return [field, say(`hr_check.doubt.${kind}`, { rows, of, values: shown.join(say('shell.comma')) })]
}

function likenessFacts({ column, same, alike }: LikenessFound): Fact[] {
  const name = named('field', column)
  const text = column === 'userid' ? 'hr_check.same_userid' : 'hr_check.same'
  const facts = ({ groups, samples }: typeof same, key: TextKey, title: string): Fact[] =>
    groups === 0
      ? []
      : [
          [title, say(key, { count: groups })],
          ['', samples.map(groupText).join(say('hr_check.semicolon'))],
        ]
  return [...facts(same, text, name), ...facts(alike, 'hr_check.alike', same.groups > 0 ? '' : name)]
}

/** `e1 138****0001 = e7 138****0001`; user ids are quoted, as they may differ only by a blank. */
function groupText(group: (EmployeeKey & { value: string | null })[]): string {
  const texts = group.map(employee =>
    employee.value === null ? JSON.stringify(keyName(employee)) : `${keyName(employee)} ${employee.value}`,
  )
  return [...new Set(texts)].join(' = ')
}

function keyName({ enterpriseCode, userid }: EmployeeKey): string {
  return qualified(enterpriseCode, maskKey(userid))
}

function printDepartments({ kind, count, isExact, employees, samples }: DepartmentFinding): void {
  const text = say(`hr_check.department.${kind}`, { count, employees })
  printText(isExact ? text : `≈ ${text}`)
  printText(samples.map(plain).join(say('hr_check.semicolon')), 4)
}

function readWholeFacts(table: HrCheck['readWhole'][number]): Fact[] {
  const [problem, remedy] = readsWholeSaid(table)
  return [
    [say('hr_check.look_ups'), said(problem)],
    ['', said(remedy)],
  ]
}

function timesFacts({ key, remedy, ...found }: TimesFinding): Fact[] {
  const shown = 'ageMs' in found ? { time: duration(found.ageMs) } : { count: figure(found.count) }
  return [['updated_at', say(key, shown)], ...(remedy === null ? [] : [['', say(remedy)] as Fact])]
}

function fieldsFact(what: 'write_only' | 'unmanaged', fields: string[]): Fact {
  const text = say(`hr_check.${what}_note`, { fields: namedList('field', fields) })
  return [say(`hr_check.${what}`), fields.length > 0 ? text : null]
}

// Output for programs

function documentOf(found: HrCheck) {
  const { source, rows, columns, broken, alike } = found
  const { departments, mistake } = departmentsOf(found)
  const key = ({ enterpriseCode, userid }: EmployeeKey) => ({
    enterprise_code: enterpriseCode,
    userid: maskKey(userid),
  })
  const groups = ({ groups: count, samples }: LikenessFound['same']) => ({
    groups: count,
    samples: samples.map(group => group.map(employee => ({ ...key(employee), value: employee.value }))),
  })
  return {
    ok: found.isClean,
    source,
    delivery: found.delivery && {
      files: found.delivery.files,
      written_at: found.delivery.writtenAt,
      problem: found.delivery.problem,
    },
    rows,
    active: found.active,
    leavers: found.leavers,
    without_userid: found.keyless,
    stray: { rows: found.stray.rows, enterprise_codes: found.stray.codes },
    columns: columns.map(({ name, source: from, distinct, ...column }) => ({
      column: from,
      field: name,
      ...column,
      distinct: distinct.count,
      distinct_is_exact: distinct.isExact,
    })),
    broken_rules: broken.map(({ samples, ...rule }) => ({
      ...rule,
      samples: samples.map(sample => ({ ...key(sample), value: sample.value })),
    })),
    shared: alike.map(({ column, same, alike: written }) => ({
      field: column,
      same: groups(same),
      written_differently: groups(written),
    })),
    doubts: found.doubts,
    updated_at: found.times && {
      newest: found.times.newest,
      in_future: found.times.inFuture,
      missing: found.times.missing,
    },
    departments: departments && {
      departments: departments.departments,
      closed: departments.closed,
      findings: departments.findings.map(({ isExact, ...finding }) => ({
        ...finding,
        count_is_exact: isExact,
      })),
    },
    departments_error: mistake,
    write_only: found.writeOnly,
    unmanaged: found.unmanaged,
    look_ups_read_whole: found.readWhole,
  }
}
