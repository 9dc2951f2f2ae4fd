import { z } from 'zod'
import type { EmployeeKey } from '../../directory/employee.ts'
import { decodeCursor, encodeCursor } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import { STANDINGS } from '../../sync/employee.ts'
import { SaidText } from '../../texts/failures.ts'
import { cursor, pageSize, rowNumber } from '../endpoint.ts'
import type { Services } from '../services.ts'
import { type EmployeeView, employeePage } from './compared.ts'
import { countStandings, listEmployees, readStanding } from './list.ts'
import { searchEmployees } from './search.ts'
import { STEP_TEXTS, STEPS, type Step, stepsOf } from './steps.ts'
import { EmployeeStory, readEmployeeStory } from './story.ts'

// The list

export const EmployeesQuery = z.object({
  q: z.string().trim().max(200).optional().describe('The beginning of a user id, or a whole open id'),
  standing: z.enum(STANDINGS).optional().describe('How they stand; in_step is not listed by itself'),
  department: z.string().max(200).optional().describe('Code of the department that the platform last showed'),
  enterprise: z.string().max(200).default('').describe('Enterprise of the department'),
  cursor,
  limit: pageSize,
})

export const EmployeesResult = z.object({
  counts: z.record(z.string(), z.number()).describe('Employees by standing'),
  employees: z.array(
    z.object({
      enterprise_code: z.string(),
      userid: z.string(),
      standing: z
        .string()
        .describe(
          'halted: waiting, while work stands still; unknown: a case names them, and no run has seen them',
        ),
      department: z.string().nullable(),
      acknowledged_at: z.date().nullable().describe('When the platform last confirmed anything'),
      open_cases: z.number(),
    }),
  ),
  next: z.string().nullable(),
})
export type EmployeesResult = z.infer<typeof EmployeesResult>

export async function readEmployees(
  { pool }: Services,
  query: z.output<typeof EmployeesQuery>,
): Promise<EmployeesResult> {
  const [counts, scopes] = await Promise.all([countStandings(pool), haltedScopes(pool)])
  // As the overview counts them.
  const shown = (standing: string, enterpriseCode: string) =>
    standing === 'waiting' && (scopes.has('*') || scopes.has(enterpriseCode)) ? 'halted' : standing
  if (query.q !== undefined) {
    const found = await searchEmployees(pool, query.q, { limit: query.limit })
    const employees = found.map(one => ({
      enterprise_code: one.enterpriseCode,
      userid: one.userid,
      standing: shown(one.standing, one.enterpriseCode),
      department: null,
      acknowledged_at: null,
      open_cases: one.openCases,
    }))
    return { counts, employees, next: null }
  }
  const position = decodeCursor(z.tuple([z.string(), z.string()]), query.cursor)
  const { employees, next } = await listEmployees(
    pool,
    {
      // Nearly all employees are in sync, so that filter is left to the unfiltered list.
      standing: query.standing === 'in_step' ? undefined : query.standing,
      department:
        query.department === undefined
          ? undefined
          : { enterpriseCode: query.enterprise, code: query.department },
    },
    { after: position && { enterpriseCode: position[0], userid: position[1] }, limit: query.limit },
  )
  return {
    counts,
    employees: employees.map(one => ({
      enterprise_code: one.enterpriseCode,
      userid: one.userid,
      standing: shown(one.standing, one.enterpriseCode),
      department: one.department,
      acknowledged_at: one.acknowledgedAt,
      open_cases: one.openCases,
    })),
    next: next && encodeCursor([next.enterpriseCode, next.userid]),
  }
}

async function haltedScopes(db: Pool): Promise<Set<string>> {
  const { rows } = await db.query<{ scope: string }>('select scope from dirsync.halt')
  return new Set(rows.map(({ scope }) => scope))
}

// One employee

export const EmployeeListQuery = z.object({
  hr: z.enum(['yes', 'no']).default('yes').describe('no: HR is not read'),
  run: rowNumber.optional().describe('A run of this employee, whose steps are of interest'),
})

const StepResult = z.object({
  step: z.enum(STEPS),
  state: z.enum(['done', 'skipped', 'failed', 'waiting']),
  at: z.date().nullable(),
  text: z.enum(STEP_TEXTS),
  values: z.record(z.string(), z.union([z.string(), z.number(), SaidText])),
  remedy: SaidText.nullable(),
  case_id: z.number().nullable(),
})
export type StepResult = z.infer<typeof StepResult>

const kept = EmployeeStory.shape

export const EmployeeResult = z.object({
  enterprise_code: z.string(),
  userid: z.string(),
  standing: z.enum([...STANDINGS, 'unknown']).describe('unknown: no run has seen the employee'),
  hr: z
    .enum(['present', 'left', 'absent', 'duplicate', 'invalid', 'unknown', 'not_asked'])
    .describe('unknown: HR could not be asked, see hr_error'),
  hr_error: SaidText.nullable(),
  platform: z.enum(['in_service', 'absent', 'unknown', 'not_asked']),
  platform_error: SaidText.nullable(),
  problems: z.array(z.object({ field: z.string(), rule: z.string(), message: SaidText })),
  fields: z
    .array(
      z.object({
        field: z.string(),
        hr: z.string().nullable(),
        platform: z.string().nullable(),
        platform_told: z.boolean().describe('false: not asked, or the platform does not tell this field'),
        standing: z.enum(['in_step', 'to_send', 'held_back', 'invalid', 'unknown']),
        note: SaidText.nullable(),
      }),
    )
    .describe('HR against the platform; values are masked'),
  record: kept.record,
  steps: z.array(StepResult).describe('What the last attempt came to'),
  pending: kept.pending,
  attempts: kept.attempts,
  cases: kept.dead_letters,
  bindings: kept.bindings,
  payment_orders: kept.payment_orders,
  halts: kept.halts,
  run: z
    .object({
      id: z.number(),
      state: z.string(),
      message: SaidText.nullable(),
      finished_at: z.date().nullable(),
      steps: z.array(StepResult),
    })
    .nullable()
    .describe('The run that was asked about, and how far it has come with this employee'),
})
export type EmployeeResult = z.infer<typeof EmployeeResult>

/**
 * @param options.hr whether to read HR
 * @param options.ask whether to ask the platform too
 */
export async function readEmployee(
  services: Services,
  key: EmployeeKey,
  options: { hr: boolean; ask?: boolean; run?: number | undefined },
): Promise<EmployeeResult> {
  const { pool } = services
  const [page, standing, run] = await Promise.all([
    options.hr
      ? employeePage(pool, services.hr, options.ask ? services.platform() : null, key, {
          ask: options.ask ?? false,
        })
      : withoutHr(services, key),
    readStanding(pool, key),
    options.run === undefined ? null : readRun(services, options.run),
  ])
  const { story, preview } = page
  return {
    enterprise_code: key.enterpriseCode,
    userid: key.userid,
    standing: standing ?? 'unknown',
    hr: preview?.hr ?? (options.hr ? 'unknown' : 'not_asked'),
    hr_error: page.hrError,
    platform: page.platform,
    platform_error: page.platformError,
    problems: preview?.problems ?? [],
    fields: (preview?.fields ?? []).map(({ platform, ...field }) => ({
      ...field,
      platform: platform ?? null,
      platform_told: platform !== undefined,
    })),
    record: story.record,
    steps: page.steps.map(stepResult),
    pending: story.pending,
    attempts: story.attempts,
    cases: story.dead_letters,
    bindings: story.bindings,
    payment_orders: story.payment_orders,
    halts: story.halts,
    run: run && { ...run, steps: stepsOfRun(run, story).map(stepResult) },
  }
}

async function withoutHr({ pool }: Services, key: EmployeeKey) {
  const story = await readEmployeeStory(pool, key)
  const view: EmployeeView = { key, preview: null, hrError: null, platform: 'not_asked', platformError: null }
  return { ...view, story, steps: stepsOf(story) }
}

function stepResult({ what, caseId, ...step }: Step): StepResult {
  return { ...step, text: what.key, values: what.values, case_id: caseId }
}

type RunState = Omit<NonNullable<EmployeeResult['run']>, 'steps'>

async function readRun({ pool }: Services, id: number): Promise<RunState | null> {
  const { rows } = await pool.query<RunState>(
    'select id, state, message, finished_at from dirsync.sync_run where id = $1',
    [id],
  )
  return rows[0] ?? null
}

/** The steps of a requested run: those of its attempt, or its progress if there is no attempt yet. */
export function stepsOfRun(run: RunState, story: EmployeeStory): Step[] {
  const attempts = story.attempts.filter(({ run_id }) => run_id === run.id)
  if (attempts.length > 0) return stepsOf({ ...story, attempts })
  if (run.state === 'requested' || run.state === 'planning')
    return stepsOf({ ...story, attempts: [], record: null, pending: [] })
  return stepsOf({ ...story, attempts: [] })
}
