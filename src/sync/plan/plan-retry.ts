import { qualified } from '../../directory/employee.ts'
import { HrUnavailableError, MappingError } from '../../hr/source.ts'
import type { HrSources } from '../../hr/sources.ts'
import type { ClientBase } from '../../lib/database.ts'
import { type Message, message } from '../../texts/message.ts'
import { endLostRetries, NO_USER_ID } from '../cases/cases.ts'
import { beginRetry } from '../cases/retries.ts'
import { askWithheld } from '../cases/withheld.ts'
import { addRequested, lockWorkOfCases, PRIORITY } from '../outbox/outbox.ts'
import { mirrorOf } from '../runs/mirror-kind.ts'
import { type CheckedPlan, type PlannableRun, planFigures, type RunKind } from '../runs/run.ts'

/** Plans a run of cases that are due, or that a person asked for; marks them as being retried. */
export async function planRetry(db: ClientBase, run: PlannableRun, hr: HrSources): Promise<CheckedPlan> {
  const { cases: ids, requestedBy } = run
  const byItself = requestedBy === 'cron'
  // Before any lock: HR may be slow.
  const mapping = byItself ? undefined : await presentMapping(hr)
  await lockWorkOfCases(db, ids)
  const work = await beginRetry(db, ids, run.id)
  const again = await requestReadingsOf(db, ids, requestedBy, hr)
  const inScope = work.length + (await askWithheld(db, run.id, ids))
  const names = work.map(({ enterpriseCode, entityKey }) => qualified(enterpriseCode, entityKey))
  return {
    planned: {
      state: 'running',
      inScope,
      plan: planFigures('retry', names, inScope),
      mapping,
      ...(again.length > 0 && { message: message('said.reads_all_again', { runs: again }) }),
    },
    apply: async id => {
      await addRequested(db, id, byItself ? PRIORITY.background : PRIORITY.named, work)
      // Of those that were rejected since; and of cases about HR's rows: whatever becomes of the run that reads them, they are open.
      await endLostRetries(db)
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

/**
 * Requests the runs that decide about retried cases without work of their own: of mirrors, and of HR's sources for cases about rows
 * that are not planned.
 * @returns what they read
 */
async function requestReadingsOf(
  client: ClientBase,
  ids: number[],
  by: string,
  hr: HrSources,
): Promise<Message[]> {
  const { rows } = await client.query<{ operation: string; source: string }>(
    `select distinct operation, case operation when 'read-hr' then field else '' end as source
     from dirsync.dead_letter
     where id = any ($1) and state = 'retrying'
       and (operation = 'read-hr' or operation like 'mirror-%' or entity_key = $2)`,
    [ids, NO_USER_ID],
  )
  const readings = rows
    .map(({ operation, source }) => ({ kind: mirrorOf(operation) ?? 'changes', source }))
    .filter(({ kind, source }) => kind !== 'changes' || hr.named(source) !== null)
  if (readings.length === 0) return []
  const asked = 'jsonb_to_recordset($1) as a (kind text, source text)'
  const waiting = `r.kind = a.kind and r.hr_source = a.source and r.wants_all = (a.kind = 'changes')
    and r.keys = '{}' and r.state = 'requested' and not r.approved`
  await client.query(
    `insert into dirsync.sync_run (kind, hr_source, wants_all, requested_by)
     select kind, source, kind = 'changes', $2 from ${asked}
     where not exists (select from dirsync.sync_run r where ${waiting})`,
    [JSON.stringify(readings), by],
  )
  const { rows: runs } = await client.query<{ run: number; kind: RunKind; name: string }>(
    `select r.id as run, r.kind, r.hr_source as name from ${asked} join dirsync.sync_run r on ${waiting} order by 1`,
    [JSON.stringify(readings)],
  )
  return runs.map(({ run, kind, name }) => {
    if (kind !== 'changes') return message('said.reads_again', { run, kind })
    return name === ''
      ? message('said.reads_hr_again', { run })
      : message('said.reads_source_again', { run, name })
  })
}
