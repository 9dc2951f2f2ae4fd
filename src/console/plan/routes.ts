import { z } from 'zod'
import { qualified } from '../../directory/employee.ts'
import type { Pool } from '../../lib/database.ts'
import { MOST_KEYS } from '../../sync/cases/case-filter.ts'
import { PlanFilter, PlanPart, plannedEntities } from '../../sync/plan/stored-plan.ts'
import type { Commands } from '../../sync/runs/commands.ts'
import { message } from '../../texts/message.ts'
import { action, download, type Next, oneOrMore, read, reason } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { decided, RunParams } from '../runs/routes.ts'
import type { Services } from '../services.ts'
import { pageOf } from '../ui/shown.ts'
import { definedIn } from './entities-view.ts'
import { askedPlan, PlanQuery, PlanResult, type PlanServices, readPlan, readWholePlan } from './query.ts'
import { PlanItem } from './stored.ts'
import { planShown } from './view.ts'

/** Unknown names are refused: a misspelt filter would match more. */
export const GivenPart = PlanPart.strict()

const expected = z.coerce.number().int().min(0).optional()

/** A part of a plan, as a form or a program names it. */
const PartBody = z.object({
  filter: z
    .preprocess(given => (typeof given === 'string' ? jsonIn(given) : given), GivenPart)
    .optional()
    .describe('All undecided rows that match'),
  expected: expected.describe(
    'With a filter: how many rows match, as `matching` of the plan says. Where others do, none is decided',
  ),
  keys: oneOrMore(z.string().max(250))
    .optional()
    .describe('Without a filter: these, as user id or department code, or enterprise/user id'),
})

const part = z.object({
  run: z.int().describe('The held run'),
  part: z.int().describe('The run that sends the part'),
  planned: z.int().describe('How many rows were decided'),
  undecided: z.int().describe('How many rows of the plan still wait for a decision'),
})

const WholeBody = z.object({
  expected: expected.describe(
    'How many rows are undecided: `undecided` of the plan, or `planned` where that is null. Where there are others, none is decided',
  ),
  reason,
})

/** A decision about all that is undecided of a plan. */
export const DecidedPlan = z.object({
  run: z.int(),
  planned: z.int().describe('How many rows were decided'),
  rest: z.boolean().describe('Whether other parts of the plan were decided before'),
})

function jsonIn(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** A part as `dirsync.approve_part` takes it. @throws Problem if it is no part */
async function partOf(
  db: Pool,
  run: number,
  { filter, keys = [] }: z.output<typeof PartBody>,
): Promise<object> {
  const { odd, ...rest } = filter ?? {}
  // Of people whom a filter names, those who wait for a decision; SQL refuses keys of others.
  const waiting = { decision: 'open', limit: MOST_KEYS, ...(odd && { isOdd: true }) } as const
  const open = filter?.keys && (await plannedEntities(db, run, { ...filter, ...waiting }))
  const named = open?.map(({ enterpriseCode, entityKey }) => qualified(enterpriseCode, entityKey))
  const wanted = filter
    ? { ...rest, ...(named && named.length > 0 && { keys: named }), ...(odd && { odd: true }) }
    : { ...(keys.length > 0 && { keys }) }
  if (Object.keys(wanted).length === 0) throw new Problem('invalid', message('said.part_is_unnamed'))
  return wanted
}

/** Ticked rows are named: they are decided all or none. */
function expectedOf({ filter, expected }: z.output<typeof PartBody>): number | undefined {
  return filter && expected
}

/** The address of a page of a plan. */
function planAddress(run: number, input: z.output<typeof PlanQuery>): string {
  return `/runs/${run}/plan?${new URLSearchParams(definedIn(input))}`
}

/** The stored plan of a held run: view it, then approve or reject it, or a part of it. */
export function plan(services: PlanServices & Pick<Services, 'config'>) {
  const { pool, hr } = services
  const decidedAll = async (run: number, made: ReturnType<Commands['approve']>) => {
    const { planned, isRest: rest } = await decided(pool, run, made)
    return { run, planned, rest }
  }
  const afterAll = (done: z.output<typeof DecidedPlan>, made: 'approved' | 'rejected'): Next => ({
    to: `/runs/${done.run}`,
    notice: done.rest
      ? { key: `plan.rest_${made}`, values: { count: done.planned } }
      : { key: `plan.${made}`, values: { run: done.run } },
  })
  return {
    one: read({
      path: '/runs/:id/plan',
      role: 'viewer',
      summary:
        'The stored plan of a held run: why it is held, figures, and its entities with masked differences',
      params: RunParams,
      query: PlanQuery,
      result: PlanResult,
      run: ({ marks }, { params, input }) => readPlan(pool, hr, params.id, input, marks),
      shown: (ask, result, { input }) => planShown(ask, result, input),
    }),
    csv: download({
      path: '/runs/:id/plan.csv',
      role: 'viewer',
      summary: 'The same plan as a file, complete or filtered',
      params: RunParams,
      query: PlanFilter,
      fileName: ({ params }) => `plan-${params.id}.csv`,
      columns: () => PlanItem.keyof().options,
      async *rows(_ask, { params, input }) {
        for await (const { changed, decision, later, ...entry } of readWholePlan(pool, hr, params.id, input))
          yield {
            ...entry,
            changed: changed.map(({ field }) => field).join(' '),
            decision: decision && (decision.approved ? 'approved' : 'rejected'),
            later: later && [later.run, later.outcome].filter(value => value !== null).join(' '),
          }
      },
    }),
    ask: action({
      path: '/runs/:id/plan/ask',
      role: 'reviewer',
      summary:
        'The same page of the plan, with the values that the platform has now, masked. Changes nothing',
      params: RunParams,
      body: PlanQuery,
      looks: 'ask_plan',
      noted: ({ params, input: { cursor, limit, ...filter } }) => ({
        run: params.id,
        ...(Object.keys(filter).length > 0 && { filter }),
        cursor,
        limit,
      }),
      result: PlanResult,
      run: ({ marks }, { params, input }) => askedPlan(services, params.id, input, marks),
      page(ask, result, { params, input }) {
        // It shows one moment, so nothing on it follows what happens; the next page of the list is the plan's.
        const { topics: _, ...shown } = planShown(ask, result, input)
        return pageOf({ ...ask, url: planAddress(params.id, input) }, shown)
      },
    }),
    approvePart: action({
      path: '/runs/:id/approve-part',
      role: 'operator',
      summary: 'Send a part of the stored plan of a held run exactly as it is; the rest stays held',
      params: RunParams,
      body: PartBody.extend({ reason: reason.optional() }),
      result: part,
      starts: ({ part }) => `/runs/${part}`,
      run: async (ask, { params, input }) => {
        const { run, planned, undecided } = await decided(
          pool,
          params.id,
          ask.commands.approvePart(
            params.id,
            await partOf(pool, params.id, input),
            input.reason ?? null,
            expectedOf(input),
          ),
        )
        return { run: params.id, part: run, planned, undecided }
      },
      next: (_ask, { run, part, planned, undecided }) => ({
        to: `/runs/${run}/plan`,
        notice: { key: 'plan.part_approved', values: { count: planned, run: part, undecided } },
      }),
    }),
    rejectPart: action({
      path: '/runs/:id/reject-part',
      role: 'operator',
      summary: 'Reject a part of the stored plan of a held run; the rest stays held',
      params: RunParams,
      body: PartBody.extend({ reason }),
      result: part.omit({ part: true }),
      run: async (ask, { params, input }) => {
        const { planned, undecided } = await decided(
          pool,
          params.id,
          ask.commands.rejectPart(
            params.id,
            await partOf(pool, params.id, input),
            input.reason,
            expectedOf(input),
          ),
        )
        return { run: params.id, planned, undecided }
      },
      next: (_ask, { run, planned, undecided }) => ({
        to: `/runs/${run}/plan`,
        notice: { key: 'plan.part_rejected', values: { count: planned, undecided } },
      }),
    }),
    approve: action({
      path: '/runs/:id/approve',
      role: 'operator',
      summary: 'Send the stored plan of a held run exactly as it is, without later changes in HR',
      params: RunParams,
      body: WholeBody.partial(),
      result: DecidedPlan,
      starts: ({ run }) => `/runs/${run}`,
      run: (ask, { params, input }) =>
        decidedAll(params.id, ask.commands.approve(params.id, input.reason ?? null, input.expected)),
      next: (_ask, done) => afterAll(done, 'approved'),
    }),
    reject: action({
      path: '/runs/:id/reject',
      role: 'operator',
      summary: 'Discard the stored plan of a held run; none of it is sent',
      params: RunParams,
      body: WholeBody,
      result: DecidedPlan,
      run: (ask, { params, input }) =>
        decidedAll(params.id, ask.commands.reject(params.id, input.reason, input.expected)),
      next: (_ask, done) => afterAll(done, 'rejected'),
    }),
  }
}
