import type { Pool } from 'pg'
import { missingMigrations } from './migrate.ts'

/** What `migrate` would still have to do: files that the database lacks, and whether the reviewer has its rights. */
export async function migrationFindings(pool: Pool): Promise<{ missing: string[]; hasReviewer: boolean }> {
  const missing = await missingMigrations(pool)
  if (missing.length > 0) return { missing, hasReviewer: false }
  const { rows } = await pool.query(
    `select coalesce((select has_table_privilege(oid, 'dirsync.failed_syncs', 'select')
                      from pg_roles where rolname = 'dirsync_reviewer'), false) as has`,
  )
  return { missing, hasReviewer: rows[0].has }
}
