import { z } from 'zod'
import type { EmployeeField, EmployeeFields } from '../../directory/employee.ts'
import type { EmployeeLookup } from '../../hr/sources.ts'
import { everyPage } from '../../lib/cursor.ts'
import { MOST_COUNTED, type Pool } from '../../lib/database.ts'
import type { PlatformClient } from '../../platform/client.ts'
import { PlatformError } from '../../platform/errors.ts'
import { countOpen, PlanFilter, type PlannedEntity, PlanPart } from '../../sync/plan/stored-plan.ts'
import { isUnasked, whyHeldOff, whyNotTold } from '../../sync/processes/why-not-told.ts'
import { SaidText } from '../../texts/failures.ts'
import { message, type Said } from '../../texts/message.ts'
import { askPlatform, isEmployee, type PlatformAnswer } from '../employees/compared.ts'
import { shownOfPlatform } from '../employees/preview.ts'
import { cursor, listOf, pageSize } from '../endpoint.ts'
import type { Marks, ShownKeys } from '../marks.ts'
import { Problem } from '../problem.ts'
import { noRun } from '../runs/list.ts'
import type { Services } from '../services.ts'
import { PlanItem, PlanOverview, planOverview, planPage } from './stored.ts'

export const PlanQuery = PlanFilter.extend({ cursor, limit: pageSize })

export const PlanResult = PlanOverview.extend({
  matching: z
    .int()
    .nullable()
    .describe(
      'How many undecided rows of a held plan match the filter; null without one, or where they are too many to count',
    ),
  ...listOf(PlanItem).shape,
  hr_error: SaidText.nullable().describe('Why HR cannot be read: then values are missing'),
  platform: z
    .enum(['asked', 'not_asked'])
    .describe('Whether the platform was asked for the values that it has now'),
  platform_error: SaidText.nullable().describe(
    'Why values of the platform are missing. With not_asked: the calls were not made',
  ),
})
export type PlanResult = z.infer<typeof PlanResult>

/** @param marks is told whom the page will name, while HR is read @throws Problem if there is no such run */
export async function readPlan(
  db: Pool,
  hr: EmployeeLookup,
  run: number,
  { cursor: after, limit, ...filter }: z.infer<typeof PlanQuery>,
  marks?: Pick<Marks, 'expect'>,
): Promise<PlanResult> {
  const overview = await overviewOf(db, run)
  const decision = decisionAsked(overview, filter)
  const page = overview.stored
    ? await planPage(db, hr, run, { ...filter, decision, after, limit }, entities =>
        marks?.expect(namedIn(overview, entities)),
      )
    : { items: [], next: null, hr_error: null }
  const matching = await matchingOf(db, overview, { ...filter, decision })
  return { ...overview, matching, ...page, platform: 'not_asked', platform_error: null }
}

/** Who is named on a page of a plan, as far as is known before HR is read. */
function namedIn({ kind, figures, open }: PlanOverview, entities: readonly PlannedEntity[]): ShownKeys {
  const { departments = [], moves = [] } = open ?? figures ?? {}
  const codes = (entity: PlannedEntity) =>
    kind === 'departments' ? [entity.entityKey] : [entity.department, entity.deptCode]
  return {
    employees:
      kind === 'departments'
        ? []
        : entities.map(({ enterpriseCode, entityKey: userid }) => ({ enterpriseCode, userid })),
    departments: [
      ...moves
        .slice(0, DEPARTMENTS_SHOWN)
        .map(of => ({ enterpriseCode: of.enterprise_code, deptCode: of.from })),
      ...[...departments.slice(0, DEPARTMENTS_SHOWN), ...moves.slice(0, DEPARTMENTS_SHOWN)].map(of => ({
        enterpriseCode: of.enterprise_code,
        deptCode: of.department,
      })),
      ...entities.flatMap(entity =>
        codes(entity).flatMap(deptCode =>
          deptCode ? [{ enterpriseCode: entity.enterpriseCode, deptCode }] : [],
        ),
      ),
    ],
  }
}

/** How many departments are shown in figures; filters find the others. */
export const DEPARTMENTS_SHOWN = 12

/** How many rows a decision by the filter would be about. */
async function matchingOf(
  db: Pool,
  { run, state, reasons, figures, open }: PlanOverview,
  { decision = 'open', ...filter }: PlanFilter,
): Promise<number | null> {
  const part = PlanPart.parse(filter)
  const names = Object.keys(part).filter(name => part[name as keyof PlanPart] !== undefined)
  if (state !== 'held' || decision !== 'open' || names.length === 0) return null
  const counted = await countOpen(db, run, part, MOST_COUNTED + 1)
  if (counted <= MOST_COUNTED) return counted
  // The figures of the plan have it.
  if (names.length > 1) return null
  if (part.reason) return (open?.reasons ?? reasons)[part.reason] ?? null
  const counts = open ?? (figures?.state === 'done' ? figures : null)
  return counts?.fields.find(({ field }) => field === part.field)?.n ?? null
}

/** Of a plan that is decided in parts, what is not decided yet comes first. */
export function decisionAsked(
  { state, undecided }: Pick<PlanOverview, 'state' | 'undecided'>,
  { decision }: PlanFilter,
): PlanFilter['decision'] {
  return decision ?? (state === 'held' && undecided !== null ? 'open' : undefined)
}

async function overviewOf(db: Pool, run: number): Promise<PlanOverview> {
  const overview = await planOverview(db, run)
  if (!overview) throw await noRun(db, run)
  return overview
}

/** The shell connects to the platform when it is asked. */
export interface PlanServices {
  pool: Pool
  hr: EmployeeLookup
  platform(): PlatformClient | Promise<PlatformClient>
}

/** How long a person waits for the platform's values of a page. */
const ASK_MS = 20_000
/** Calls at a time; the pacer spaces them. */
const ASKED_AT_A_TIME = 10

/** Whether the platform may still have the value that a row of a plan replaces: what was approved is sent. */
export function hasOldValue(
  { approved, undecided, kind }: Pick<PlanOverview, 'approved' | 'undecided' | 'kind'>,
  { changed, decision }: PlanItem,
): boolean {
  const isSent = decision ? decision.approved : approved && undecided === null
  return kind !== 'departments' && changed.length > 0 && !isSent
}

/** The same page, with the platform's present values beside HR's. Rows that it does not tell in time come without, and it says why. */
export async function askedPlan(
  services: PlanServices & Pick<Services, 'config'>,
  run: number,
  query: z.infer<typeof PlanQuery>,
  marks?: Pick<Marks, 'expect'>,
): Promise<PlanResult> {
  const plan = await readPlan(services.pool, services.hr, run, query, marks)
  const signal = AbortSignal.timeout(ASK_MS)
  const rows = plan.items.filter(item => hasOldValue(plan, item))
  if (rows.length === 0) return plan
  const client = await services.platform()
  const asked = new Map<PlanItem, RowAnswer>()
  const ask = async () => {
    while (!signal.aborted) {
      const item = rows.shift()
      if (!item) return
      const key = { enterpriseCode: item.enterprise_code, userid: item.key }
      const answer = await askPlatform(client, key, signal).catch(error => {
        if (signal.aborted) return null
        throw error
      })
      asked.set(item, answer)
    }
  }
  await Promise.all(Array.from({ length: ASKED_AT_A_TIME }, ask))
  const answers = [...asked.values(), ...rows.map(() => null)]
  const items = plan.items.map(item => {
    const answer = asked.get(item) ?? null
    return isEmployee(answer) ? withPlatform(item, answer, services.config.CONSOLE_NAMES) : item
  })
  const platform_error = await whyRowsNotTold(services.pool, answers)
  return { ...plan, items, platform: answers.every(isNotMade) ? 'not_asked' : 'asked', platform_error }
}

/** What the platform says about a row of a plan; null: it was given up before its call was made. */
type RowAnswer = PlatformAnswer | null

function isNotMade(answer: RowAnswer): boolean {
  return answer === null || (answer instanceof PlatformError && isUnasked(answer))
}

/** Why rows come without values of the platform: what it said to the first, and why others were given up. */
async function whyRowsNotTold(db: Pool, answers: readonly RowAnswer[]): Promise<Said | null> {
  const errors = answers.filter(answer => answer === null || answer instanceof PlatformError)
  const failure = errors.find(error => error !== null && error.kind !== 'aborted')
  const late = errors.filter(error => error === null || error.kind === 'aborted')
  const said: Said[] = failure ? Object.values(await whyNotTold(db, failure)) : []
  if (late.length > 0) {
    const isMade = !answers.every(isNotMade)
    const heldOff = late.some(isNotMade)
      ? await whyHeldOff(db, isMade ? 'said.rest_held_off' : 'said.held_off')
      : null
    const tooLate = isMade
      ? message('said.platform_late', { seconds: ASK_MS / 1000 })
      : message('said.turn_late')
    said.push(heldOff ?? tooLate)
  }
  return said.length > 0 ? said : null
}

/** @param isPlain whether people's names are shown as they are: those who may ask may read them */
function withPlatform(item: PlanItem, answer: EmployeeFields, isPlain: boolean): PlanItem {
  const changed = item.changed.map(change => {
    const { platform, platform_told } = shownOfPlatform(change.field as EmployeeField, answer)
    const before = isPlain && change.field === 'name' ? (answer.name ?? null) : platform
    return platform_told ? { ...change, before } : change
  })
  return { ...item, changed }
}

/** How many entities of a download are looked up in HR together. */
const CHUNK = 1000

/**
 * The entire plan, filtered, in the order of the page.
 * @throws Problem if there is no such run, or its plan is not stored
 */
export async function* readWholePlan(
  db: Pool,
  hr: EmployeeLookup,
  run: number,
  filter: PlanFilter,
): AsyncGenerator<PlanItem> {
  const { stored } = await overviewOf(db, run)
  if (!stored) throw new Problem('not_found', message('said.plan_not_stored', { run }))
  yield* everyPage(after => planPage(db, hr, run, { ...filter, after, limit: CHUNK }))
}
