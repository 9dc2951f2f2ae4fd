import type { ClientBase, Pool } from '../lib/database.ts'
import type { OpenCase } from './claim.ts'
import { type Mirror, type MirrorOperation, mirrorOf } from './mirror-kind.ts'

/** A case about a part of a mirror that could not be read. */
interface MirrorCase extends OpenCase {
  id: number
  enterpriseCode: string
}

/** The unresolved cases of a mirror; `field` is the part. */
export async function mirrorCases(db: ClientBase | Pool, operation: MirrorOperation): Promise<MirrorCase[]> {
  const { rows } = await db.query<MirrorCase>(
    `select id, enterprise_code as "enterpriseCode", field, category, source_hash as "sourceHash", state, occurrences
     from dirsync.dead_letter where operation = $1 and entity = 'mirror' and state <> 'resolved' order by id`,
    [operation],
  )
  return rows
}

/**
 * Ends the cases of parts that nobody asks for any more. What a person accepted stays accepted: the part may be asked for
 * again, and would come back as a case.
 */
export async function endObsoleteMirrorCases(
  db: ClientBase,
  operation: MirrorOperation,
  asked: { enterpriseCodes: string[]; parts: string[] },
  runId: number,
): Promise<void> {
  await db.query(
    `with ended as (
       update dirsync.dead_letter set state = 'resolved', resolution = 'obsolete', resolved_by = 'dirsync', resolved_at = now(),
                                      next_retry_at = null, version = version + 1
       where operation = $1 and entity = 'mirror' and state not in ('resolved', 'ignored')
         and (enterprise_code <> all ($2) or field <> all ($3))
       returning id
     )
     insert into dirsync.dead_letter_event (dead_letter_id, event, run_id, note) select id, 'resolved', $4, 'obsolete' from ended`,
    [operation, asked.enterpriseCodes, asked.parts, runId],
  )
}

/** Requests the runs of mirrors that retried cases are about; tells which run reads what. */
export async function requestMirrorsOf(
  db: ClientBase,
  ids: number[],
  by: string,
): Promise<{ id: number; kind: Mirror }[]> {
  const { rows } = await db.query<{ operation: string }>(
    `select distinct operation from dirsync.dead_letter where id = any ($1) and state = 'retrying' and operation like 'mirror-%'`,
    [ids],
  )
  const mirrors = rows.map(row => mirrorOf(row.operation)).filter(mirror => mirror !== null)
  if (mirrors.length === 0) return []
  await db.query(
    `insert into dirsync.sync_run (kind, requested_by)
     select m.kind, $2 from unnest($1::text[]) as m (kind)
     where not exists (select from dirsync.sync_run r where r.kind = m.kind and r.state = 'requested')`,
    [mirrors, by],
  )
  const { rows: runs } = await db.query<{ id: number; kind: Mirror }>(
    `select id, kind from dirsync.sync_run where kind = any ($1) and state = 'requested' order by id`,
    [mirrors],
  )
  return runs
}
