import type { ClientBase } from 'pg'
import type { Settlement } from './settlement.ts'

/**
 * Fields whose feature is switched off for an enterprise: they are withheld from everybody there, until one of the cases
 * about it gets the field through. Whoever a field was withheld from is asked for anew then.
 */

/** Notes what the platform said is switched off. */
export async function blockFields(client: ClientBase, { key, blockFields }: Settlement): Promise<void> {
  for (const { field, platformCode } of blockFields)
    await client.query(
      `insert into dirsync.field_block (enterprise_code, field, platform_code) values ($1, $2, $3) on conflict do nothing`,
      [key.enterpriseCode, field, platformCode],
    )
}

/** Fields that got through again are sent again. */
export async function unblockFields(client: ClientBase, { key, unblockFields }: Settlement): Promise<void> {
  if (unblockFields.length === 0) return
  await client.query('delete from dirsync.field_block where enterprise_code = $1 and field = any ($2)', [
    key.enterpriseCode,
    unblockFields,
  ])
}

/**
 * A block without a case would never be probed: once nobody's case is about it, the next one who differs finds out.
 * Returns the enterprises that have one block less.
 */
export async function dropUnprobedBlocks(client: ClientBase, enterpriseCodes: string[]): Promise<string[]> {
  const { rows } = await client.query(
    `delete from dirsync.field_block b
     where b.enterprise_code = any ($1)
       and not exists (select from dirsync.dead_letter d
                       where d.enterprise_code = b.enterprise_code and d.operation = 'update-employee' and d.field = b.field
                         and d.category = 'feature_disabled' and d.state <> 'resolved')
     returning b.enterprise_code as code`,
    [enterpriseCodes],
  )
  return rows.map(row => row.code)
}

/**
 * Asks anew for employees from whom a field is withheld that is blocked no more.
 * @param among of one enterprise all, or one employee
 */
export async function askWithheld(
  client: ClientBase,
  among: { enterpriseCode: string; userid: string | null }[],
): Promise<void> {
  if (among.length === 0) return
  await client.query(
    `insert into dirsync.pending (operation, enterprise_code, entity_key, priority)
     select distinct 'update-employee', e.enterprise_code, e.userid, 3
     from jsonb_to_recordset($1) as a ("enterpriseCode" text, userid text)
     join dirsync.employee e on e.enterprise_code = a."enterpriseCode" and e.userid = coalesce(a.userid, e.userid)
     where e.withheld <> '{}'
       and exists (select from unnest(e.withheld) as w (field)
                   where not exists (select from dirsync.field_block b
                                     where b.enterprise_code = e.enterprise_code and b.field = w.field))
     on conflict (operation, enterprise_code, entity_key, detail) do update
     set version = dirsync.pending.version + 1, enqueued_at = null, not_before = now()`,
    [JSON.stringify(among)],
  )
}
