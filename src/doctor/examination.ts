import type { Pool } from '../lib/database.ts'
import type { CheckResult } from './finding.ts'

/** The findings of one examination. */
export interface Examination {
  at: Date
  by: string
  findings: CheckResult[]
  /** Whether all checks ran; false if it was stopped before. */
  complete: boolean
}

/** The latest examination, by whichever process of the console; null if there was none. */
export async function latestExamination(db: Pool): Promise<Examination | null> {
  const { rows } = await db.query<Examination>('select at, by, complete, findings from dirsync.examination')
  return rows[0] ?? null
}

/** Keeps an examination in place of the one before. */
export async function keepExamination(db: Pool, { at, by, findings, complete }: Examination): Promise<void> {
  await db.query(
    `insert into dirsync.examination (at, by, complete, findings) values ($1, $2, $3, $4)
     on conflict (single) do update
     set at = excluded.at, by = excluded.by, complete = excluded.complete, findings = excluded.findings`,
    [at, by, complete, JSON.stringify(findings)],
  )
}
