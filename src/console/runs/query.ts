import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { EMPLOYEE_STATUSES_IN_SCOPE, readFigures } from '../../sync/health/figures.ts'
import { readPace } from '../../sync/processes/pace.ts'
import { aliveProcesses, countRoles } from '../../sync/processes/process.ts'
import { RUN_KINDS, RUN_STATES } from '../../sync/runs/run.ts'
import { sourceNames } from '../../sync/runs/sources.ts'
import type { Ask } from '../ask.ts'
import { cursor, listOf, pageSize } from '../endpoint.ts'
import { heldBack } from '../plan/held-back.ts'
import { PlanOverview } from '../plan/stored.ts'
import { RANGE, rangeOf, SINCE } from '../range.ts'
import { ListedRun, listRunsPage, noRun, sumOf } from './list.ts'
import {
  GateView,
  MOST_CASES_COUNTED,
  RunCase,
  RunCommand,
  RunFigures,
  readGate,
  readRunComparison,
  readRunStory,
  resultSoFar,
} from './story.ts'

const Counts = z.record(z.string(), z.int())

// The list

export const RunQuery = z.object({
  kind: z.enum(RUN_KINDS).optional(),
  state: z.enum(RUN_STATES).optional(),
  by: z
    .string()
    .max(200)
    .optional()
    .describe(
      'people, dirsync (by itself), me, or who asked: cron, start, trigger, poller, replan, restore, console:NAME, cli:NAME',
    ),
  source: z.string().max(20).optional().describe('Name of an HR source, if there are several'),
  ...RANGE,
  ...SINCE,
  cursor,
  limit: pageSize,
})
type RunQuery = z.infer<typeof RunQuery>

export const RunsResult = z.object({
  ...listOf(ListedRun).shape,
  sources: z.array(z.string()).describe('Names of the HR sources; empty where there is only one'),
})
export type RunsResult = z.infer<typeof RunsResult>

export async function readRuns(
  db: Pool,
  query: RunQuery,
  ask: Pick<Ask, 'asker' | 'now' | 'zone' | 't'>,
): Promise<RunsResult> {
  const { kind, state, by, source, limit } = query
  const sources = await sourceNames(db)
  const page = await listRunsPage(
    db,
    {
      kind,
      state,
      source,
      by: by === 'me' ? ask.asker.actor : by,
      ...rangeOf(ask, query),
    },
    { after: query.cursor, limit },
  )
  return { ...page, sources }
}

// One run

export const RunDetails = ListedRun.omit({ outcomes: true, cases: true, calls: true }).extend({
  keys: z.array(z.string()).describe('User ids or cases that it covers, at most 200'),
  planned_at: z.date().nullable(),
  checked_at: PlanOverview.shape.checked_at,
  approved: z.boolean(),
  decided_by: z.string().nullable(),
  decided_at: z.date().nullable(),
  decision_reason: z.string().nullable(),
  held_back: PlanOverview.shape.held_back,
  max_age_s: z.number().nullable(),
  in_scope: PlanOverview.shape.in_scope,
  total: PlanOverview.shape.total,
  read_all: z.boolean().describe('Whether every row of HR was read'),
  skipped: z
    .int()
    .nullable()
    .describe('Employees left out because the platform confirmed them within max_age'),
  sample: z.array(z.string()),
  outcomes: Counts,
  calls: z.array(
    z.object({
      operation: z.string(),
      calls: z.int(),
      waited_ms: z.number().nullable().describe('Mean time that a call waited for the pacer'),
      rate_limited: z.int(),
    }),
  ),
  counted: z.boolean().describe('false: outcomes and calls of a large run are counted when it ends'),
  cases_by_category: Counts.describe(
    'Cases that failed in it and were unresolved when it ended, or are so far',
  ),
  dead_letters: z.array(RunCase).describe('The first of these cases'),
  dead_letters_total: z
    .int()
    .describe(`Cases that failed in it for the first or the last time, at most ${MOST_CASES_COUNTED}`),
  commands: z.array(RunCommand),
  commands_total: z.int().describe('How many there are; the latest 50 are listed'),
  before: RunFigures.nullable().describe('The previous finished run of the same kind'),
  figures: RunFigures,
  gate: GateView.nullable().describe('What the sanity gate measured in HR; only for runs that it stopped'),
  roles_alive: Counts,
})
export type RunDetails = z.infer<typeof RunDetails>

const MOST_KEYS = 200

/** @throws Problem if there is no such run */
export async function readRunDetails(db: Pool, id: number): Promise<RunDetails> {
  const [story, comparison, processes] = await Promise.all([
    readRunStory(db, id, MOST_CASES_COUNTED),
    readRunComparison(db, id),
    aliveProcesses(db),
  ])
  if (!story || !comparison) throw await noRun(db, id)
  const isRunning = story.state === 'running' && story.finished_at === null
  const [result, gate, held_back] = await Promise.all([
    isRunning ? resultSoFar(db, story) : story.result,
    story.state === 'source_suspect' ? readGate(db, id) : null,
    heldBack(db, id),
  ])
  const { plan, keys, ...run } = story
  return {
    ...run,
    keys: keys.slice(0, MOST_KEYS),
    named: keys.length,
    reasons: plan?.reasons ?? {},
    sample: plan?.sample ?? [],
    total: plan?.total ?? run.in_scope,
    skipped: plan?.skipped ?? null,
    outcomes: result?.outcomes ?? {},
    calls: Object.entries(result?.calls ?? {})
      .map(([operation, calls]) => ({
        operation,
        calls,
        waited_ms:
          result?.waitedMs?.[operation] === undefined
            ? null
            : result.waitedMs[operation] / Math.max(1, calls),
        rate_limited: result?.rateLimited?.[operation] ?? 0,
      }))
      .sort((a, b) => b.calls - a.calls),
    counted: result !== null || story.finished_at !== null,
    cases_by_category: result?.deadLetters ?? {},
    // Of a mirror, counted as its pages are stored.
    rows: story.result?.rows ?? null,
    before: comparison.before,
    figures: comparison.run,
    gate,
    held_back,
    roles_alive: countRoles(processes),
  }
}

/** Cases that failed in a run and were unresolved when it ended. */
export function casesOf(run: { cases_by_category: Record<string, number> }): number {
  return sumOf(run.cases_by_category)
}

// What can be started

export const StartedRuns = z.object({
  run: z.int(),
  runs: z.array(z.int()).describe('All runs started: one per HR source, if there are several'),
})
export type StartedRuns = z.infer<typeof StartedRuns>

/** @param runs at least one */
export function startedRuns(runs: readonly number[]): StartedRuns {
  return { run: runs[0] ?? 0, runs: [...runs] }
}

/** Kinds that people start directly; a `retry` is started from its cases. */
export const STARTED = RUN_KINDS.filter(kind => kind !== 'retry')

export const StartPageResult = z.object({
  kinds: z.array(z.string()),
  employees: z.int().describe('Employees in service according to HR'),
  permitted_per_second: z.number().nullable(),
  roles_alive: Counts,
  sources: RunsResult.shape.sources,
})
export type StartPageResult = z.infer<typeof StartPageResult>

const IN_SCOPE: ReadonlySet<string> = new Set(EMPLOYEE_STATUSES_IN_SCOPE)

export async function readStartPage(db: Pool): Promise<StartPageResult> {
  const [{ employees }, pace, processes, sources] = await Promise.all([
    readFigures(db),
    readPace(db),
    aliveProcesses(db),
    sourceNames(db),
  ])
  return {
    kinds: [...STARTED],
    employees: employees
      .filter(({ status }) => IN_SCOPE.has(status))
      .reduce((sum, { count }) => sum + count, 0),
    permitted_per_second: pace.permitted_per_second,
    roles_alive: countRoles(processes),
    sources,
  }
}
