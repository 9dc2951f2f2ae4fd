import { qualified } from '../../directory/employee.ts'
import { HrUnavailableError, MappingError } from '../../hr/source.ts'
import type { HrSources } from '../../hr/sources.ts'
import type { ClientBase } from '../../lib/database.ts'
import { message } from '../../texts/message.ts'
import { endLostRetries } from '../cases/cases.ts'
import { beginRetry } from '../cases/retries.ts'
import { askWithheld } from '../cases/withheld.ts'
import { addRequested, lockWorkOfCases, PRIORITY } from '../outbox/outbox.ts'
import { type Mirror, mirrorOf } from '../runs/mirror-kind.ts'
import { type CheckedPlan, type PlannableRun, planFigures } from '../runs/run.ts'

/** Plans a run of cases that are due, or that a person asked for; marks them as being retried. */
export async function planRetry(db: ClientBase, run: PlannableRun, hr: HrSources): Promise<CheckedPlan> {
  const { cases: ids, requestedBy } = run
  const byItself = requestedBy === 'cron'
  // Before any lock: HR may be slow.
  const mapping = byItself ? undefined : await presentMapping(hr)
  await lockWorkOfCases(db, ids)
  const work = await beginRetry(db, ids, run.id)
  const mirrors = await requestMirrorsOf(db, ids, requestedBy)
  const inScope = work.length + (await askWithheld(db, run.id, ids))
  const names = work.map(({ enterpriseCode, entityKey }) => qualified(enterpriseCode, entityKey))
  const again = mirrors.map(({ id, kind }) => message('said.reads_again', { run: id, kind }))
  return {
    planned: {
      state: 'running',
      inScope,
      plan: planFigures('retry', names, inScope),
      mapping,
      ...(again.length > 0 && { message: message('said.reads_all_again', { runs: again }) }),
    },
    apply: async id => {
      const added = await addRequested(db, id, byItself ? PRIORITY.background : PRIORITY.named, work)
      if (added.length < work.length) await endLostRetries(db)
    },
  }
}

/** The mapping may have been fixed before the retry. While HR does not answer, that of the last plan stays in force. */
async function presentMapping(hr: HrSources): Promise<string | undefined> {
  try {
    return await hr.fingerprint()
  } catch (error) {
    if (error instanceof HrUnavailableError || error instanceof MappingError) return undefined
    throw error
  }
}

/** Requests the runs of mirrors for retried cases. */
async function requestMirrorsOf(
  client: ClientBase,
  ids: number[],
  by: string,
): Promise<{ id: number; kind: Mirror }[]> {
  const { rows } = await client.query<{ operation: string }>(
    `select distinct operation from dirsync.dead_letter
     where id = any ($1) and state = 'retrying' and operation like 'mirror-%'`,
    [ids],
  )
  const mirrors = rows.map(row => mirrorOf(row.operation)).filter(mirror => mirror !== null)
  if (mirrors.length === 0) return []
  await client.query(
    `insert into dirsync.sync_run (kind, requested_by)
     select m.kind, $2 from unnest($1::text[]) as m (kind)
     where not exists (select from dirsync.sync_run r where r.kind = m.kind and r.state = 'requested')`,
    [mirrors, by],
  )
  const { rows: runs } = await client.query<{ id: number; kind: Mirror }>(
    `select id, kind from dirsync.sync_run where kind = any ($1) and state = 'requested' order by id`,
    [mirrors],
  )
  return runs
}
