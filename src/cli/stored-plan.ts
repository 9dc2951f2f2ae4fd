import { HrDataError, HrUnavailableError } from '../hr/source.ts'
import { csvLine } from '../lib/csv.ts'
import { readRunStory } from '../report/run-story.ts'
import { isStored, type PlanEntry, readStoredPlan } from '../report/stored-plan.ts'
import { openContext } from './context.ts'
import { FailedError } from './failure.ts'
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
  qualified,
} from './output.ts'
import { printDecision } from './runs.ts'

/** How many entities are read from HR for the counts by column and department. */
const COUNTED = 10_000
const SAMPLE = 20
const MOST_DEPARTMENTS = 15

/** What a stored plan comes to, in figures. */
interface PlanFigures {
  /** Entities that the figures are of: all of the plan, or its first ones. */
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
  let hrError: string | null = null
  if (stored)
    try {
      figures = await figuresOf(readStoredPlan(context.pool, await context.hr(), run))
    } catch (error) {
      if (!(error instanceof HrUnavailableError || error instanceof HrDataError)) throw error
      hrError = error.message
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
  print(`Plan of run ${run}: ${story.kind}, ${coloured(story.state)}`)
  // The message of a held run asks for a decision.
  if (story.message && !story.decided_at) printText(story.message)
  printFacts([
    ['plan', countsText(reasons) || 'nothing to do'],
    ['in scope', story.in_scope && figure(story.in_scope)],
    ['changed since', figures && figures.changed_since > 0 ? changedSince(figures, story.state) : null],
    ['decided', story.decided_at && `${longTime(story.decided_at)} by ${story.decided_by}`],
    ['reason', story.decision_reason],
    ['columns', figures && columnsText(figures.columns)],
  ])
  if (hrError) printText(`HR cannot be read now, so columns and departments are unknown: ${hrError}`)
  if (!stored) printText('Its plan is not stored: only held runs keep theirs.')
  if (figures) printFigures(figures, story.planned ?? 0)
  if (figures) print('', `All of it: ${context.program} plan ${run} --csv > plan.csv`)
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
      // Those that are only asked about, or left to the next plan, say nothing of what approval sends.
      if (entry.reason !== 'asked' && !entry.changedSince && figures.sample.length < SAMPLE)
        figures.sample.push(entry)
    }
    if (figures.looked_at >= COUNTED) break
  }
  return figures
}

function changedSince({ changed_since, looked_at }: PlanFigures, state: string): string {
  const rows = `${figure(changed_since)} of ${figure(looked_at)} rows`
  return state === 'held' ? `${rows}: they are left to the next plan` : rows
}

/** Counts by column, highest first; names as in the mapping. */
function columnsText(columns: Record<string, number>): string {
  return byCount(columns)
    .map(([column, count]) => `${column} ${figure(count)}`)
    .join(', ')
}

function printFigures(figures: PlanFigures, planned: number): void {
  if (figures.looked_at < planned)
    printText(`Columns and departments are counted over the first ${figure(figures.looked_at)} entities.`)
  const departments = byCount(figures.departments)
  if (departments.length > 0) {
    printTitle('Departments')
    printTable(departments.slice(0, MOST_DEPARTMENTS), [
      { title: 'DEPARTMENT', of: ([department]) => department },
      { title: 'COUNT', of: ([, count]) => figure(count), align: 'right' },
    ])
    if (departments.length > MOST_DEPARTMENTS) print(`  … and ${departments.length - MOST_DEPARTMENTS} more`)
  }
  if (figures.sample.length === 0) return
  printTitle('Sample')
  printTable(figures.sample, [
    { title: 'KEY', of: row => qualified(row.enterpriseCode, row.entityKey) },
    { title: 'REASON', of: row => row.reason },
    { title: 'DEPARTMENT', of: row => row.department, spare: true },
    { title: 'CHANGES', of: changesText, gives: true },
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
  return changed.map(({ field, value }) => `${field} ${value === null ? '(empty)' : `→ ${value}`}`).join(', ')
}
