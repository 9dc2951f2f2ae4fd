import { z } from 'zod'
import type { EmployeeKey } from '../../directory/employee.ts'
import type { Pool } from '../../lib/database.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { aliveProcesses, countRoles } from '../../sync/processes/process.ts'
import { SaidText } from '../../texts/failures.ts'
import { message } from '../../texts/message.ts'
import type { Ask } from '../ask.ts'
import { cursor, listOf, pageSize, rowNumber } from '../endpoint.ts'
import type { Marks, ShownKeys } from '../marks.ts'
import type { People } from '../people.ts'
import { Problem } from '../problem.ts'
import { RunStanding, STANDING } from '../runs/list.ts'
import { type EmployeeView, lookAt } from './compared.ts'
import { HR_MS, type Knows } from './key.ts'
import { countStatuses, LISTED, ListedEmployee, listEmployees } from './list.ts'
import { findPeople, HR_NOT_ASKED, HrFailure, HrLeftOut, HrSearch } from './search.ts'
import { STEP_TEXTS, STEPS, type Step, stepsNotReached, stepsNow, stepsOf } from './steps.ts'
import { EmployeeStatus, EmployeeStory, employeeStatusOf, readEmployeeStory } from './story.ts'

// The list

export const EmployeesQuery = z.object({
  q: z
    .string()
    .trim()
    .max(200)
    .optional()
    .describe(
      'The beginning of a user id, a name, a work number, a mobile number or an e-mail address, the last four to eight digits of a mobile number, or a whole open id',
    ),
  status: z
    .enum(LISTED)
    .optional()
    .describe('By status; those in sync, which are nearly all, are in no list'),
  department: z.string().max(200).optional().describe('Code of the department that the platform last showed'),
  enterprise: z
    .string()
    .max(200)
    .default('')
    .describe('Of this enterprise, which may be that of the department'),
  cursor,
  limit: pageSize,
})

export const EmployeesResult = z.object({
  counts: z
    .record(z.string(), z.int())
    .describe('Employees by status; with `enterprise` and no department, its own'),
  ...listOf(ListedEmployee).shape,
  more: z.boolean().describe('true: more than these were found by `q`; give more of it'),
  hr: HrSearch,
  hr_failure: HrFailure,
  hr_left_out: HrLeftOut,
})
export type EmployeesResult = z.infer<typeof EmployeesResult>

/** @throws Problem for filters that do not go together */
export async function readEmployees(
  services: { pool: Pool; people: People },
  ask: Ask,
  { q, status, department: code, enterprise, cursor, limit }: z.output<typeof EmployeesQuery>,
): Promise<EmployeesResult> {
  if (q !== undefined) {
    const other = status !== undefined ? 'status' : code ? 'department' : undefined
    if (other)
      throw new Problem('invalid', message('said.either_option', { one: 'q', other }), { field: other })
  }
  const department = code === undefined ? undefined : { enterpriseCode: enterprise, code }
  const only = department || enterprise === '' ? undefined : enterprise
  const found = async (text: string) => {
    const options = { enterprise: only, limit: limit + 1 }
    const { employees, isCut, departments: _, ...asked } = await findPeople(services, ask, text, options)
    const more = isCut || employees.length > limit
    return { items: employees.slice(0, limit), more, ...asked, next: null }
  }
  const listed = async () => ({
    ...(await listEmployees(
      services.pool,
      { status, enterprise: only, department },
      { after: cursor, limit },
    )),
    more: false,
    ...HR_NOT_ASKED,
  })
  const [counts, page] = await Promise.all([
    countStatuses(services.pool, only),
    q === undefined ? listed() : found(q),
  ])
  return { counts, ...page }
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
  case_id: z.int().nullable(),
})
export type StepResult = z.infer<typeof StepResult>

export const EmployeeResult = EmployeeStory.extend({
  enterprise_code: z.string(),
  userid: z.string(),
  status: EmployeeStatus,
  hr: z
    .enum(['present', 'left', 'absent', 'duplicate', 'invalid', 'unknown', 'not_asked'])
    .describe('unknown: HR could not be asked, see hr_error'),
  hr_error: SaidText.nullable(),
  row_confirmed: z
    .boolean()
    .nullable()
    .describe(
      'Whether HR’s row, as it is now, is the one that the platform confirmed last; null: HR was not read',
    ),
  platform: z.enum(['in_service', 'absent', 'unknown', 'not_asked']),
  platform_error: SaidText.nullable().describe('With not_asked: the call was not made'),
  problems: z.array(z.object({ field: z.string(), rule: z.string(), message: SaidText })),
  fields: z
    .array(
      z.object({
        field: z.string(),
        hr: z.string().nullable(),
        platform: z.string().nullable(),
        platform_told: z.boolean().describe('false: not asked, or the platform does not tell this field'),
        status: z.enum(['in_sync', 'to_send', 'held_back', 'invalid', 'unknown']),
        note: SaidText.nullable(),
      }),
    )
    .describe('HR against the platform; values are masked'),
  roles_alive: z.record(z.string(), z.int()).describe('Living processes by role'),
  steps: z.array(StepResult).describe('What the last attempt came to, or what waits since'),
  run: RunStanding.extend({
    id: z.int(),
    message: SaidText.nullable(),
    steps: z.array(StepResult),
  })
    .nullable()
    .describe('The run that was asked about, and how far it has come with this employee'),
})
export type EmployeeResult = z.infer<typeof EmployeeResult>

/** What an employee's page needs. The platform is connected on first use. */
export type EmployeeServices = Knows & {
  people: People
  platform(): PlatformClient | Promise<PlatformClient>
}

const NOT_READ: EmployeeView = {
  ...{ hr: 'not_asked', hr_error: null, row_confirmed: null },
  ...{ platform: 'not_asked', platform_error: null },
  ...{ problems: [], fields: [] },
}

/**
 * @param options.hr whether to read HR
 * @param options.ask whether to ask the platform too
 * @param options.marks is told whom the page will name, while HR is read
 */
export async function readEmployee(
  { pool, hr, hrMs = HR_MS, platform }: Omit<EmployeeServices, 'config' | 'people'>,
  key: EmployeeKey,
  options: { hr: boolean; ask?: boolean; run?: number | undefined; marks?: Pick<Marks, 'expect'> },
): Promise<EmployeeResult> {
  const client = options.ask ? await platform() : null
  const [view, story, run, processes] = await Promise.all([
    options.hr ? lookAt({ db: pool, hr, client, hrMs }, key) : NOT_READ,
    readEmployeeStory(pool, key).then(story => {
      options.marks?.expect(namedIn(key, story))
      return story
    }),
    options.run === undefined ? null : readRun(pool, options.run),
    aliveProcesses(pool),
  ])
  return {
    enterprise_code: key.enterpriseCode,
    userid: key.userid,
    status: employeeStatusOf(story),
    ...view,
    ...story,
    roles_alive: countRoles(processes),
    steps: stepsNow(story),
    run: run && { ...run, steps: stepsOfRun(run, story) },
  }
}

/** Who is named on an employee's page, as far as is known before HR tells their department. */
function namedIn(key: EmployeeKey, { record, dead_letters }: EmployeeStory): ShownKeys {
  const { enterpriseCode } = key
  const holders = dead_letters.flatMap(({ blocked_by: userid }) =>
    userid ? [{ enterpriseCode, userid }] : [],
  )
  const deptCode = record?.dept_code
  return { employees: [key, ...holders], departments: deptCode ? [{ enterpriseCode, deptCode }] : [] }
}

type RunState = Omit<NonNullable<EmployeeResult['run']>, 'steps'>

async function readRun(db: Pool, id: number): Promise<RunState | null> {
  const { rows } = await db.query<RunState>(
    `select r.id, r.message, ${STANDING} from dirsync.sync_run r where id = $1`,
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
  if (run.state === 'failed' || run.state === 'cancelled') return stepsNotReached()
  return stepsOf({ ...story, attempts: [] })
}
