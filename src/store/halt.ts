import type { Pool } from 'pg'

export interface Halt {
  scope: string
  category: string
  platformCode: number | null
  message: string
  remedy: string
  since: Date
  nextProbeAt: Date
}

/**
 * Raises a halt, for everything (`*`) or one enterprise. Returns true when it is new: the moment to raise the alarm.
 * @param firstProbeMs milliseconds until the first probe
 */
export async function raiseHalt(
  db: Pool,
  halt: { scope: string; category: string; platformCode: number | null; message: string; remedy: string },
  firstProbeMs: number,
): Promise<boolean> {
  const { rowCount } = await db.query(
    `insert into dirsync.halt (scope, category, platform_code, message, remedy, next_probe_at)
     values ($1, $2, $3, $4, $5, now() + $6 * interval '1 millisecond') on conflict (scope) do nothing`,
    [halt.scope, halt.category, halt.platformCode, halt.message, halt.remedy, firstProbeMs],
  )
  return rowCount === 1
}

/** Lifts the halts that a success since `startedAt` disproves. Returns their scopes. */
export async function liftHalts(db: Pool, enterpriseCode: string, startedAt: Date): Promise<string[]> {
  const { rows } = await db.query(
    `delete from dirsync.halt where scope in ('*', $1) and since < $2 returning scope`,
    [enterpriseCode, startedAt],
  )
  if (rows.length > 0) await db.query(`select pg_notify('dirsync', 'feed')`)
  return rows.map(row => row.scope)
}

export async function readHalts(db: Pool): Promise<Halt[]> {
  const { rows } = await db.query<Halt>(
    `select scope, category, platform_code as "platformCode", message, remedy, since, next_probe_at as "nextProbeAt"
     from dirsync.halt order by scope`,
  )
  return rows
}
