import { z } from 'zod'
import { isOfHr } from '../../hr/source.ts'
import {
  enterpriseLost,
  lostEnterprises,
  unlocatedIn,
  unpassedEmployees,
} from '../../sync/plan/departments.ts'
import { limitsOf } from '../../sync/runs/safety.ts'
import { SaidText } from '../../texts/failures.ts'
import { message } from '../../texts/message.ts'
import { cursor, listOf, pageSize } from '../endpoint.ts'
import { hrProblem, Problem } from '../problem.ts'
import type { Services } from '../services.ts'
import { previewDeletions } from './page.ts'
import {
  Department,
  DepartmentStep,
  deletionCandidates,
  departmentTree,
  enterprisesWithDepartments,
  wayToDepartment,
} from './read.ts'

export const DepartmentsQuery = z.object({
  under: z
    .string()
    .max(200)
    .optional()
    .describe('Code of the department whose level is shown; absent: the top'),
  enterprise: z
    .string()
    .max(200)
    .optional()
    .describe('Absent: the enterprise of the deployment, or else the first that has departments'),
  cursor,
  limit: pageSize,
})

export const DepartmentsResult = z.object({
  has_mapping: z.boolean().describe('false: without a mapping of departments, none are ever deleted'),
  enterprise: z.string(),
  is_read: z.boolean().describe('Whether runs read the departments of this enterprise'),
  enterprises: z.array(z.string()),
  grace_hours: z.number(),
  way: z
    .array(DepartmentStep)
    .describe('The path from the top to the department whose level is shown, including it'),
  candidates: z
    .array(Department)
    .describe(
      'At the top: departments that are closed or missing and not deleted yet, at most 50, the next to be deleted first and last those that something keeps',
    ),
  candidates_total: z.int().describe('How many there are'),
  doubts: z
    .array(z.object({ enterprise_codes: z.array(z.string()), message: SaidText }))
    .describe(
      'At the top: enterprises of which none is deleted now, as their employees may not be right, or HR delivers no department of them',
    ),
  ...listOf(Department).shape,
})
export type DepartmentsResult = z.infer<typeof DepartmentsResult>

/** How many candidates are listed. */
const CANDIDATES = 50

export async function readDepartmentPage(
  services: Services,
  query: z.output<typeof DepartmentsQuery>,
): Promise<DepartmentsResult> {
  const { pool, hr, config } = services
  const graceHours = config.DEPARTMENT_GRACE_HOURS
  const graceMs = graceHours * 3_600_000
  const { under } = query
  const own = config.PLATFORM_ENTERPRISE_CODE
  // If every row names its enterprise, no department belongs to the enterprise without a code.
  const enterprises = await enterprisesWithDepartments(pool)
  const enterprise = query.enterprise ?? (enterprises.includes(own) ? own : (enterprises[0] ?? own))
  const [way, top, level] = await Promise.all([
    under === undefined ? [] : wayToDepartment(pool, enterprise, under),
    under === undefined
      ? readCandidates(services, enterprises, graceMs)
      : { candidates: [], candidates_total: 0, doubts: [] },
    departmentTree(pool, {
      enterprise,
      under: under ?? null,
      after: query.cursor,
      limit: query.limit,
      graceMs,
    }),
  ])
  if (under !== undefined && way.length === 0)
    throw new Problem('not_found', message('said.no_department_of_code'))
  const isRead = (code: string) => hr.of(code)?.hr.hasDepartments ?? false
  // What no run reads, none deletes.
  const asRead = (row: Department): Department =>
    isRead(row.enterprise_code) ? row : { ...row, deletable_at: null }
  return {
    has_mapping: hr.hasDepartments,
    enterprise,
    is_read: isRead(enterprise),
    enterprises,
    grace_hours: graceHours,
    way,
    ...top,
    candidates: top.candidates.map(asRead),
    items: level.items.map(asRead),
    next: level.next,
  }
}

type Candidates = Pick<DepartmentsResult, 'candidates' | 'candidates_total' | 'doubts'>

async function readCandidates(
  { pool, hr }: Services,
  enterprises: readonly string[],
  graceMs: number,
): Promise<Candidates> {
  const lost = (await lostEnterprises(pool))
    .filter(code => hr.of(code)?.hr.hasDepartments)
    .map(code => ({ enterprise_codes: [code], message: enterpriseLost(code) }))
  const doubts: DepartmentsResult['doubts'] = [...lost]
  for (const source of hr.all) {
    const message = source.hr.hasDepartments ? await unpassedEmployees(pool, source) : null
    const enterprise_codes = enterprises.filter(code => hr.of(code) === source)
    if (message && enterprise_codes.length > 0) doubts.push({ enterprise_codes, message })
  }
  const unlocated = await unlocatedIn(pool)
  const doubted = doubts.flatMap(({ enterprise_codes }) => enterprise_codes)
  const kept = enterprises.filter(
    code => !hr.of(code)?.hr.hasDepartments || doubted.includes(code) || unlocated.has(code),
  )
  const { candidates, total } = await deletionCandidates(pool, graceMs, { limit: CANDIDATES, kept })
  return { candidates, candidates_total: total, doubts: total > 0 ? doubts : lost }
}

// What a run would do

export const DeletionsResult = z.object({
  total: z.int().describe('Departments that are not deleted yet'),
  count: z.int().describe('How many would be deleted'),
  waiting: z.int().describe('How many of these deletions an earlier run has waiting to be sent already'),
  held: z.boolean().describe('Whether the run would be held'),
  held_runs: z
    .array(z.int())
    .describe('Runs that are held with such deletions already, so that a further one does nothing'),
  deletions: z
    .array(
      z.object({
        enterprise_code: z.string(),
        dept_code: z.string(),
        wave: z.int().describe('Deletion order, from 0: a department is deleted after those below it'),
      }),
    )
    .describe('At most 200 of them, in the order of deletion'),
  unread: z
    .array(SaidText)
    .describe('HR sources that are left out, and why: they cannot be read, or their employees look wrong'),
})
export type DeletionsResult = z.infer<typeof DeletionsResult>

const DELETIONS = 200

/** @throws Problem if HR cannot be read */
export async function readDeletions({ pool, hr, config }: Services): Promise<DeletionsResult> {
  if (!hr.hasDepartments)
    return { total: 0, count: 0, waiting: 0, held: false, held_runs: [], deletions: [], unread: [] }
  try {
    const preview = await previewDeletions(pool, hr, limitsOf(config))
    const { total, deletions, waiting, isHeld, heldRuns, unread } = preview
    return {
      total,
      count: deletions.length,
      waiting,
      held: isHeld,
      held_runs: heldRuns,
      deletions: deletions.slice(0, DELETIONS).map(one => ({
        enterprise_code: one.enterpriseCode,
        dept_code: one.deptCode,
        wave: one.wave,
      })),
      unread,
    }
  } catch (error) {
    if (isOfHr(error)) throw hrProblem(error)
    throw error
  }
}
