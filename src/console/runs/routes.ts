import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { codeOf } from '../../lib/failure.ts'
import { periodMs } from '../../lib/time-text.ts'
import type { Commands } from '../../sync/runs/commands.ts'
import { message, saidBy, worded } from '../../texts/message.ts'
import { action, read, reason, rowNumber } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import type { Screen } from '../screen.ts'
import type { Services } from '../services.ts'
import { noRun } from './list.ts'
import { runsShown } from './list-view.ts'
import {
  RunDetails,
  RunQuery,
  RunsResult,
  readRunDetails,
  readRuns,
  readStartPage,
  STARTED,
  StartedRuns,
  StartPageResult,
  startedRuns,
} from './query.ts'
import { runShown } from './run-view.ts'
import { startBody } from './start-view.ts'
import { RunWatch } from './watch.ts'

export const RunParams = z.object({ id: rowNumber })

/** As many as a person would paste; for more, start a full run. */
const MOST_NAMED = 1000

const StartBody = z.object({
  kind: z.enum(STARTED),
  max_age: z
    .string()
    .regex(/^[1-9]\d{0,4}[mhdw]$/, { message: worded('said.give_period') })
    .optional()
    .describe('full: skips employees in sync that the platform confirmed within this time'),
  employees: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .describe('employees: user ids or enterprise/userid; a text has one per line, or commas between them'),
  source: z
    .string()
    .max(20)
    .optional()
    .describe('changes, full, departments: one of several HR sources; absent: all of them'),
})
type StartBody = z.infer<typeof StartBody>

export const screen: Screen = {
  name: 'runs',
  badge: {
    sql: `select sum(n)::int from dirsync.tally where source = 'sync_run' and state = 'held'`,
    list: { href: '/runs?state=held', title: 'run_state.held' },
  },
  topics: {
    runs: `
      select concat_ws(' ',
        (select mark from tally where source = 'sync_run'), (select mark from tally where source = 'pending'),
        (select md5(string_agg(concat_ws('|', id, state, planned, planned_at, decided_at, undecided, checked_at, message,
                                         -- How far a mirror is read.
                                         result -> 'rows',
                                         (select min(position) from dirsync.mirror_task k where k.run_id = r.id)),
                               ',' order by id))
         from dirsync.sync_run r where finished_at is null),
        (select md5(string_agg(concat_ws('|', run_id, state, looked_at), ',' order by run_id))
         from dirsync.plan_reading))`,
  },
  endpoints: services => Object.values(runs(services)),
}

export function runs({ pool }: Pick<Services, 'pool'>) {
  const watch = new RunWatch(pool)
  return {
    list: read({
      path: '/runs',
      role: 'viewer',
      summary: 'Runs, newest first, by kind, state, who asked and since when',
      query: RunQuery,
      result: RunsResult,
      run: (ask, { input }) => readRuns(pool, input, ask),
      shown: (ask, result, { input }) => runsShown(ask, result, input),
    }),
    new: read({
      path: '/runs/new',
      role: 'operator',
      summary: 'Which kinds of runs can be started, and what they cost now',
      result: StartPageResult,
      run: () => readStartPage(pool),
      page: (ask, result) => ({ title: ask.t('runs.start'), body: startBody(ask, result) }),
    }),
    start: action({
      path: '/runs',
      role: 'operator',
      summary: 'Start a run, or join an identical one that has not begun',
      body: StartBody,
      result: StartedRuns,
      starts: startedPath,
      run: async (ask, { input }) => startedRuns(await start(ask.commands, input)),
      next: (_ask, started) => toStarted(started),
    }),
    one: read({
      path: '/runs/:id',
      role: 'viewer',
      summary: 'One run: plan, progress, outcomes, calls, cases, decisions, and the previous run of its kind',
      params: RunParams,
      query: z.object({
        wait: z.coerce
          .number()
          .int()
          .min(0)
          .max(60)
          .optional()
          .describe(
            'Answers once the run is over or held, at the latest after so many seconds; for programs',
          ),
      }),
      result: RunDetails,
      waits: ({ params, input: { wait = 0 } }) =>
        wait === 0 ? null : gone => watch.ended(params.id, wait * 1000, gone),
      run: (_ask, { params }) => readRunDetails(pool, params.id),
      shown: (ask, result) => runShown(ask, result),
    }),
    cancel: action({
      path: '/runs/:id/cancel',
      role: 'operator',
      summary: 'Cancel a run: withdraw its waiting work; calls in flight are finished',
      params: RunParams,
      body: z.object({ reason }),
      result: z.object({
        run: z.int(),
        undecided_in: z
          .int()
          .nullable()
          .describe(
            'The held run in whose plan is undecided again what was not sent; null: there is no such run',
          ),
      }),
      run: async (ask, { params, input }) => {
        const cancelling = ask.commands.cancel(params.id, input.reason)
        const { run, undecidedIn } = await decided(pool, params.id, cancelling)
        return { run, undecided_in: undecidedIn }
      },
      next: (_ask, { run, undecided_in: held }) => ({
        to: `/runs/${run}`,
        notice:
          held === null
            ? { key: 'runs.cancelled', values: { run } }
            : { key: 'runs.part_cancelled', values: { run, held } },
      }),
    }),
  }
}

/** Where the browser goes after runs were started. */
export function toStarted({ run, runs }: StartedRuns) {
  return runs.length === 1
    ? { to: `/runs/${run}`, notice: { key: 'runs.started', values: { run } } as const }
    : { to: '/runs', notice: { key: 'runs.started_each', values: { runs: runs.join(', ') } } as const }
}

/** Of several runs, one per HR source: the list that they are first in. */
export function startedPath({ run, runs }: StartedRuns): string {
  return runs.length === 1 ? `/runs/${run}` : '/runs'
}

async function start(
  commands: Commands,
  { kind, max_age, employees, source = '' }: StartBody,
): Promise<number[]> {
  const of = source === '' ? null : source
  if (max_age !== undefined && kind !== 'full')
    throw new Problem('invalid', message('said.takes_none', { name: 'max_age', kind }), { field: 'max_age' })
  if (kind === 'full') return commands.resyncFull(max_age === undefined ? null : periodMs(max_age), of)
  if (kind === 'employees') return [await commands.resyncEmployees(namesOf(employees ?? ''))]
  if (employees !== undefined)
    throw new Problem('invalid', message('said.takes_none', { name: 'employees', kind }), {
      field: 'employees',
    })
  return commands.resync(kind, of)
}

/** @throws Problem that says which line is not an employee */
function namesOf(given: string | string[]): string[] {
  const names = typeof given === 'string' ? given.split(/[\n\r,，、;；]+/) : given
  const unique = [...new Set(names.map(name => name.trim()).filter(Boolean))]
  if (unique.length === 0) throw new Problem('invalid', message('said.no_employees'), { field: 'employees' })
  if (unique.length > MOST_NAMED)
    throw new Problem('invalid', message('said.too_many_employees', { limit: MOST_NAMED }), {
      field: 'employees',
    })
  const tooLong = unique.find(name => [...name].length > 121)
  if (tooLong !== undefined)
    throw new Problem(
      'invalid',
      message('said.user_id_too_long', { text: JSON.stringify(tooLong.slice(0, 40)) }),
      { field: 'employees' },
    )
  return unique
}

/** Awaits a decision about a run. If the run has moved on meanwhile, the error says what became of it. */
export async function decided<Decided>(pool: Pool, id: number, decision: Promise<Decided>): Promise<Decided> {
  try {
    return await decision
  } catch (error) {
    if (codeOf(error) !== 'COMMAND_NOT_FOUND') throw error
    const { rowCount } = await pool.query('select from dirsync.sync_run where id = $1', [id])
    throw rowCount === 0
      ? await noRun(pool, id, error)
      : new Problem('changed', saidBy(error), { cause: error })
  }
}
