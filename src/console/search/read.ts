import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { ListedEmployee } from '../employees/list.ts'
import { searchEmployees } from '../employees/search.ts'

/** Everything that a search text may refer to. */
export const SearchResult = z.object({
  cases: z.array(
    z.object({
      id: z.int(),
      state: z.string(),
      category: z.string(),
      entity: z.string(),
      entity_key: z.string(),
      field: z.string(),
    }),
  ),
  runs: z.array(z.object({ id: z.int(), kind: z.string(), state: z.string(), requested_at: z.date() })),
  employees: z.array(
    ListedEmployee.pick({ enterprise_code: true, userid: true, status: true, open_cases: true }),
  ),
  departments: z.array(
    z.object({
      enterprise_code: z.string(),
      dept_code: z.string(),
      active: z.boolean(),
      deleted_at: z.date().nullable(),
    }),
  ),
})
export type SearchResult = z.infer<typeof SearchResult>

/** `17` and `#17` are the number of a case. */
const CASE = /^#?\s*(\d{1,15})$/
/** `run 17` is that of a run, in either language. */
const RUN = /^(?:run|(?:第\s*)?(?:同步)?(?:任务)?)\s*#?\s*(\d{1,15})(?:\s*号(?:同步)?任务)?$/iu

/**
 * Everything with that name or number: cases and runs by number, employees and departments by the beginning of their
 * keys.
 */
export async function searchEverything(db: Pool, text: string, limit: number): Promise<SearchResult> {
  const wanted = text.trim()
  if (wanted === '' || wanted.includes('\0')) return { cases: [], runs: [], employees: [], departments: [] }
  const caseNumber = CASE.exec(wanted)?.[1]
  const runNumber = caseNumber === undefined ? RUN.exec(wanted)?.[1] : undefined
  const [cases, runs, employees, departments] = await Promise.all([
    caseNumber === undefined
      ? []
      : db
          .query<SearchResult['cases'][number]>(
            'select id, state, category, entity, entity_key, field from dirsync.dead_letter where id = $1',
            [caseNumber],
          )
          .then(({ rows }) => rows),
    runNumber === undefined
      ? []
      : db
          .query<SearchResult['runs'][number]>(
            'select id, kind, state, requested_at from dirsync.sync_run where id = $1',
            [runNumber],
          )
          .then(({ rows }) => rows),
    // No user id begins with #.
    wanted.startsWith('#') ? [] : searchEmployees(db, wanted, { limit }),
    db
      .query<SearchResult['departments'][number]>(
        `select enterprise_code, dept_code, active, deleted_at from dirsync.department
         where dept_code like $1 order by dept_code using ~<~, enterprise_code limit $2`,
        [`${wanted.replace(/[\\%_]/g, '\\$&')}%`, limit],
      )
      .then(({ rows }) => rows),
  ])
  return { cases, runs, employees, departments }
}
