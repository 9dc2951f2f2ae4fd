import { z } from 'zod'
import { decodeCursor, onePage, type Paged } from '../../lib/cursor.ts'
import { type Pool, placeholders } from '../../lib/database.ts'
import { JOB_OPERATIONS } from '../../queue/job.ts'
import type { Ask } from '../ask.ts'
import { keyWords } from '../cases/parts.ts'
import { workColumns } from '../employees/kept-view.ts'
import { PENDING_COLUMNS, PendingWork } from '../employees/story.ts'
import { cursor, listOf, pageSize } from '../endpoint.ts'
import { noRows, type Shown, tableOf } from '../shown.ts'
import { departmentPath, employeePath } from '../ui/paths.ts'

/** What is to be sent, piece by piece, as the figure of the overview counts it. */

export const WorkInput = z.object({
  operation: z.enum(JOB_OPERATIONS).optional(),
  cursor,
  limit: pageSize,
})
type WorkInput = z.output<typeof WorkInput>

const ListedWork = PendingWork.extend({
  enterprise_code: z.string(),
  entity_key: z.string().describe('User id or department code'),
})
type ListedWork = z.infer<typeof ListedWork>
export const WorkList = listOf(ListedWork)

/** A page in the order of the primary key. */
export async function readWork(
  db: Pool,
  { operation, cursor, limit }: WorkInput,
): Promise<Paged<ListedWork>> {
  const after = decodeCursor(z.tuple([z.string(), z.string(), z.string(), z.string()]), cursor)
  const { values, place } = placeholders(limit + 1)
  const conditions = ['true']
  if (operation) conditions.push(`operation = ${place(operation)}`)
  if (after)
    conditions.push(`(operation, enterprise_code, entity_key, detail) > (${after.map(place).join(', ')})`)
  const { rows } = await db.query<ListedWork>(
    `select enterprise_code, entity_key, ${PENDING_COLUMNS} from dirsync.pending p
     where ${conditions.join(' and ')}
     order by operation, enterprise_code, entity_key, detail limit $1`,
    values,
  )
  return onePage(rows, limit, row => [row.operation, row.enterprise_code, row.entity_key, row.detail])
}

export function workShown(ask: Ask, { items, next }: Paged<ListedWork>): Shown {
  const { t } = ask
  return {
    title: t('employees.pending'),
    topics: ['work', 'halts'],
    blocks: [
      tableOf(
        items,
        [
          {
            title: t('overview.work_of'),
            kind: 'main',
            of: row => keyWords({ ...row, entity: isOfDepartment(row) ? 'department' : 'employee' }),
          },
          ...workColumns<ListedWork>(ask),
        ],
        {
          caption: t('employees.pending'),
          ...noRows(ask, t('overview.no_work_left')),
          to: row =>
            isOfDepartment(row)
              ? departmentPath(row.enterprise_code, row.entity_key)
              : employeePath({ enterpriseCode: row.enterprise_code, userid: row.entity_key }),
        },
      ),
      { next },
    ],
  }
}

function isOfDepartment({ operation }: ListedWork): boolean {
  return operation === 'delete-department'
}
