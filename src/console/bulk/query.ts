import { z } from 'zod'
import type { Paged } from '../../lib/cursor.ts'
import { type BulkRequest, POSSIBLE } from '../../sync/cases/bulk.ts'
import type { CaseState } from '../../sync/cases/cases.ts'
import type { Ask } from '../ask.ts'
import { assigneeName, BULK_ACTIONS, commentText, reasonText } from '../cases/input.ts'
import { FilterInput, filterFor } from '../cases/query.ts'
import { HowTold } from '../cases/told.ts'
import { cursor, listOf, oneOrMore, pageSize, queryFields, rowNumber } from '../endpoint.ts'
import { Problem } from '../problem.ts'
import { SNOOZE, SnoozeUntil, untilOf } from '../until.ts'
import { BulkResult, BulkRow } from './read.ts'

export const OUTCOMES = ['done', 'skipped', 'failed', 'waiting'] as const

/** A form sends the filter as one text, in the form of a query string. */
const Filter = z.preprocess(given => (typeof given === 'string' ? queryFields(given) : given), FilterInput)

export const BulkInput = z.object({
  action: z.enum(BULK_ACTIONS),
  which: z
    .enum(['ids', 'filter'])
    .optional()
    .describe('The cases with these numbers, or all that match the filter; absent: whatever is given'),
  ids: oneOrMore(rowNumber).optional(),
  filter: Filter.optional().describe('As GET /cases takes it; empty: all unresolved cases'),
  ...SnoozeUntil.shape,
  reason: reasonText.describe('For ignore; may be given for snooze'),
  assignee: assigneeName,
  text: commentText.describe('For comment'),
})
type BulkInput = z.output<typeof BulkInput>

/** @throws Problem naming what is missing */
export function bulkRequestOf(ask: Ask, input: BulkInput): BulkRequest {
  const { t } = ask
  const { action, ids = [], filter, which = filter ? 'filter' : 'ids', reason } = input
  if (which === 'ids' && ids.length === 0)
    throw new Problem('invalid', t('cases.needs_cases'), { field: 'ids' })
  const of = which === 'ids' ? { ids } : { filter: filterFor(ask, filter ?? {}) }
  switch (action) {
    case 'retry':
      return { of, action }
    case 'snooze':
      return { of, action, until: untilOf(ask, input, SNOOZE), reason: reason ?? null }
    case 'ignore':
      if (!reason) throw new Problem('invalid', t('cases.needs_reason'), { field: 'reason' })
      return { of, action, reason }
    case 'assign':
      return { of, action, assignee: input.assignee || null }
    case 'comment':
      if (!input.text) throw new Problem('invalid', t('cases.needs_text'), { field: 'text' })
      return { of, action, text: input.text }
  }
}

export const BulkPage = z.object({
  bulk: BulkRow,
  told: HowTold,
  will_act: z.int().describe('How many of them could be acted on when the preview was made'),
  ...listOf(BulkResult).shape,
})
export type BulkPage = z.infer<typeof BulkPage>

export const ResultsInput = z.object({
  outcome: z.enum(OUTCOMES).optional(),
  cursor,
  limit: pageSize,
})

/** How many of the cases could be acted on, in their states at the time of the preview. */
function willAct({ action, states }: BulkRow): number {
  return Object.entries(states).reduce(
    (sum, [state, count]) => (action === 'undo' || POSSIBLE[action](state as CaseState) ? sum + count : sum),
    0,
  )
}

export function bulkPage(
  bulk: BulkRow,
  { items, next }: Paged<BulkResult>,
  told: BulkPage['told'],
): BulkPage {
  return { bulk, told, will_act: willAct(bulk), items, next }
}
