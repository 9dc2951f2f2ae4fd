import { isStored, type PlanEntry, readStoredPlan } from '../console/plan/stored.ts'
import { readRunStory } from '../console/runs/story.ts'
import { qualified } from '../directory/employee.ts'
import { HrDataError, HrUnavailableError } from '../hr/source.ts'
import { csvLine } from '../lib/csv.ts'
import { type Said, saidBy } from '../texts/message.ts'
import { openContext } from './context.ts'
import { FailedError } from './failure.ts'
import { named, said, say, who } from './language.ts'
import {
  byCount,
  coloured,
  countsText,
  figure,
  longTime,
  print,
  printFacts,
  printJson,
  printTable,
  printText,
  printTitle,
} from './output.ts'
import { printDecision } from './runs.ts'

/** How many entities are read from HR for the counts by column and department. */
const COUNTED = 10_000
const SAMPLE = 20
const MOST_DEPARTMENTS = 15

/** A stored plan in figures. */
interface PlanFigures {
  /** Number of entities counted: the whole plan, or its beginning. */
  looked_at: number
  columns: Record<string, number>
  departments: Record<string, number>
  /** Rows that HR has changed since: approval does not send them. */
  changed_since: number
  sample: PlanEntry[]
}

/** `dirsync plan RUN`: the plan of a held run, as it was stored. */
export async function storedPlan(run: number, options: { json?: true; csv?: true }): Promise<void> {
  await using context = await openContext()
  const story = await readRunStory(context.pool, run)
  if (!story) throw new FailedError(`there is no run ${run}`)
  const stored = await isStored(context.pool, run)
  if (options.csv) {
    if (!stored) throw new FailedError(`the plan of run ${run} is not stored: only held runs keep theirs`)
    return await printCsv(readStoredPlan(context.pool, await context.hr(), run))
  }
  let figures: PlanFigures | null = null
  let hrError: Said | null = null
  if (stored)
    try {
      figures = await figuresOf(readStoredPlan(context.pool, await context.hr(), run))
    } catch (error) {
      if (!(error instanceof HrUnavailableError || error instanceof HrDataError)) throw error
      hrError = saidBy(error)
    }
  const reasons = story.plan?.reasons ?? {}
  if (options.json)
    return printJson({
      run,
      kind: story.kind,
      state: story.state,
      message: story.message,
      stored,
      in_scope: story.in_scope,
      planned: story.planned,
      reasons,
      hr_error: hrError,
      ...(figures && { ...figures, sample: figures.sample.map(documentOf) }),
    })
  print(
    say('shell.plan_of_run', {
      run: String(run),
      kind: named('run_kind', story.kind),
      state: coloured(story.state, named('run_state', story.state)),
    }),
  )
  // The message of a held run asks for a decision, so it is not shown once decided.
  if (story.message && !story.decided_at) printText(said(story.message))
  printFacts([
    [say('shell.fact.plan'), countsText(reasons, 'reason') || say('shell.nothing_to_do')],
    [say('shell.fact.in_scope'), story.in_scope && figure(story.in_scope)],
    [
      say('shell.fact.changed_since'),
      figures && figures.changed_since > 0 ? changedSince(figures, story.state) : null,
    ],
    [
      say('shell.fact.decided'),
      story.decided_at &&
        say('shell.time_by', { time: longTime(story.decided_at), name: who(story.decided_by ?? '') }),
    ],
    [say('shell.fact.reason'), story.decision_reason],
    [say('shell.fact.columns'), figures && columnsText(figures.columns)],
  ])
  if (hrError) printText(say('shell.hr_unread', { reason: said(hrError) }))
  if (!stored) printText(say('shell.not_stored'))
  if (figures) printFigures(figures, story.planned ?? 0)
  if (figures)
    print('', say('shell.all_of_it', { command: `${context.program} plan ${run} --csv > plan.csv` }))
  if (story.state === 'held') printDecision(run, context.program)
}

async function figuresOf(pages: AsyncIterable<PlanEntry[]>): Promise<PlanFigures> {
  const figures: PlanFigures = { looked_at: 0, columns: {}, departments: {}, changed_since: 0, sample: [] }
  for await (const page of pages) {
    for (const entry of page) {
      figures.looked_at += 1
      if (entry.changedSince) figures.changed_since += 1
      for (const { field } of entry.changed) figures.columns[field] = (figures.columns[field] ?? 0) + 1
      const department = entry.department ?? '(none)'
      figures.departments[department] = (figures.departments[department] ?? 0) + 1
      // Entities that are only asked about, or left to the next plan, are not part of what approval sends.
      if (entry.reason !== 'asked' && !entry.changedSince && figures.sample.length < SAMPLE)
        figures.sample.push(entry)
    }
    if (figures.looked_at >= COUNTED) break
  }
  return figures
}

function changedSince({ changed_since, looked_at }: PlanFigures, state: string): string {
  const counts = { count: changed_since, total: looked_at }
  return say(state === 'held' ? 'shell.rows_left' : 'shell.rows_of', counts)
}

/** Counts by column, highest first; names as in the mapping. */
function columnsText(columns: Record<string, number>): string {
  return byCount(columns)
    .map(([column, count]) => `${named('field', column)} ${figure(count)}`)
    .join(say('shell.comma'))
}

function printFigures(figures: PlanFigures, planned: number): void {
  if (figures.looked_at < planned) printText(say('shell.counted_over', { count: figures.looked_at }))
  const departments = byCount(figures.departments)
  if (departments.length > 0) {
    printTitle(say('shell.title.departments'))
    printTable(departments.slice(0, MOST_DEPARTMENTS), [
      { title: say('shell.column.department'), of: ([department]) => department },
      { title: say('shell.column.count'), of: ([, count]) => figure(count), align: 'right' },
    ])
    if (departments.length > MOST_DEPARTMENTS)
      print(`  ${say('shell.and_more', { count: String(departments.length - MOST_DEPARTMENTS) })}`)
  }
  if (figures.sample.length === 0) return
  printTitle(say('shell.title.sample'))
  printTable(figures.sample, [
    { title: say('shell.column.key'), of: row => qualified(row.enterpriseCode, row.entityKey) },
    { title: say('shell.column.reason'), of: row => named('reason', row.reason) },
    { title: say('shell.column.department'), of: row => row.department, spare: true },
    { title: say('shell.column.changes'), of: changesText, gives: true },
  ])
}

async function printCsv(pages: AsyncIterable<PlanEntry[]>): Promise<void> {
  print(csvLine(['enterprise_code', 'key', 'reason', 'department', 'changed', 'changed_since']))
  for await (const page of pages) print(...page.map(csvOf))
}

function csvOf({ enterpriseCode, entityKey, reason, department, changed, changedSince }: PlanEntry): string {
  const columns = changed.map(({ field }) => field).join(' ')
  return csvLine([enterpriseCode, entityKey, reason, department, columns, changedSince])
}

function documentOf({ enterpriseCode, entityKey, reason, department, changed, changedSince }: PlanEntry) {
  return {
    enterprise_code: enterpriseCode,
    key: entityKey,
    ...{ reason, department, changed },
    changed_since: changedSince,
  }
}

function changesText({ changed }: PlanEntry): string {
  return changed
    .map(
      ({ field, value }) => `${named('field', field)} ${value === null ? say('shell.empty') : `→ ${value}`}`,
    )
    .join(say('shell.comma'))
}
