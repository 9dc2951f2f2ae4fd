import type { ClientBase } from 'pg'
import { storableJson } from './storable-json.ts'

/** A taxpayer as it is kept. */
export interface MirroredTaxpayer {
  identifier: string
  taxpayer_nature: number
  taxpayer_name: string
  status: number | null
}

/**
 * Stores all taxpayers that the platform gave for an identification number and a nature. Those that it does not show any
 * more are marked gone; what is as it was is not written.
 * @returns how many were new, different or gone
 */
export async function storeTaxpayers(
  db: ClientBase,
  asked: { enterpriseCode: string; identifier: string; nature: number },
  taxpayers: MirroredTaxpayer[],
): Promise<number> {
  const { enterpriseCode, identifier, nature } = asked
  const stored = await db.query(
    `insert into dirsync.taxpayer as t (enterprise_code, identifier, taxpayer_nature, taxpayer_name, status)
     select distinct on (identifier, taxpayer_nature, taxpayer_name) $1, identifier, taxpayer_nature, taxpayer_name, status
     from jsonb_populate_recordset(null::dirsync.taxpayer, $2)
     on conflict (enterprise_code, identifier, taxpayer_nature, taxpayer_name) do update
     set status = excluded.status, changed_at = now(), gone_at = null
     where (t.status, t.gone_at) is distinct from (excluded.status, null)`,
    [enterpriseCode, storableJson(taxpayers)],
  )
  const gone = await db.query(
    `update dirsync.taxpayer set gone_at = now(), changed_at = now()
     where enterprise_code = $1 and identifier = $2 and taxpayer_nature = $3 and gone_at is null and taxpayer_name <> all ($4)`,
    [enterpriseCode, identifier, nature, taxpayers.map(taxpayer => taxpayer.taxpayer_name)],
  )
  return (stored.rowCount ?? 0) + (gone.rowCount ?? 0)
}
