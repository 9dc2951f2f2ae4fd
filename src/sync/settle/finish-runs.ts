import { LOOK_MS, type Pool } from '../../lib/database.ts'
import { endLostRetries } from '../cases/cases.ts'
import { tellWithheld } from '../cases/withheld.ts'
import { MIRRORS } from '../runs/mirror-kind.ts'
import type { RunState } from '../runs/run.ts'

/** Condition: no plan holds this run until it is written; the next look finds it. */
const isFree = (id: string) =>
  `exists (select from dirsync.sync_run f where f.id = ${id} for no key update skip locked)`

/** Ends every running run of the planner's that has nothing left in the outbox, with its result; returns how many continue. */
export async function finishRuns(db: Pool): Promise<{ ended: number[]; left: number }> {
  // A job in flight when its run was cancelled may have come back to the outbox.
  const { rows: cancelled } = await db.query<{ id: number }>({
    text: `select id from dirsync.sync_run
     where state = 'running' and finished_at is null and cancelled_at is not null`,
    query_timeout: LOOK_MS,
  })
  // One after the other: each locks the held run whose plan it has a part of before the outbox, as planners do.
  for (const { id } of cancelled)
    await db.query(
      `select dirsync.take_back(r.id) from dirsync.sync_run r
       where r.id = $1 and (r.part_of is null or ${isFree('r.part_of')})`,
      [id],
    )
  const { rows } = await db.query<{ id: number; over: boolean }>(
    `select r.id, t.run_id is null as over
     from dirsync.sync_run r
     left join (select run_id from dirsync.tally where source = 'pending'
                group by run_id having sum(n) > 0) t on t.run_id = r.id
     where r.state = 'running' and r.finished_at is null and r.kind <> all ($1)
       -- One that was decided in parts ends with the last of them.
       and not exists (select from dirsync.sync_run p where p.part_of = r.id and p.finished_at is null)`,
    [MIRRORS],
  )
  const ended: number[] = []
  // So that the result of a run shows the right number.
  if (rows.some(row => row.over)) await tellWithheld(db)
  for (const { id } of rows.filter(row => row.over)) {
    const { rows: over } = await db.query<{ state: RunState }>(
      `update dirsync.sync_run
       set state = case when cancelled_at is null then 'done' else 'cancelled' end,
           finished_at = now(), result = dirsync.run_result(id)
       where id = $1 and state = 'running' and ${isFree('$1')}
         and not exists (select from dirsync.pending p where p.run_id = sync_run.id)
       returning state`,
      [id],
    )
    if (over.length > 0) ended.push(id)
    if (over[0]?.state === 'cancelled') await endLostRetries(db)
  }
  return { ended, left: rows.length - ended.length }
}
