import { z } from 'zod'
import { everyPage } from '../../lib/cursor.ts'
import type { Pool } from '../../lib/database.ts'
import type { Ask } from '../ask.ts'
import { cursor, EXPORTED_AT_ONCE, listOf, pageSize, plainText, rowNumber } from '../endpoint.ts'
import { givenMoment } from '../moment.ts'
import { RANGE, rangeOf, SINCE } from '../range.ts'
import { CommandRow, listCommands } from './entries.ts'

/** Filters of the list and its export; they are kept in the page's address. */
export const AuditFilter = z.object({
  who: plainText(200).optional().describe('Part of the name of who asked; case-insensitive'),
  what: plainText(100).optional().describe('Name of a command, such as `approve`'),
  run: rowNumber.optional(),
  case: rowNumber.optional(),
  ...RANGE,
  ...SINCE,
  until: z.string().max(40).optional().describe('The same as `to`'),
})
export const AuditInput = AuditFilter.extend({ cursor, limit: pageSize })
export type AuditInput = z.infer<typeof AuditInput>

export const AuditList = listOf(CommandRow)
export type AuditList = z.infer<typeof AuditList>

export function readAudit(pool: Pool, ask: Ask, input: AuditInput): Promise<AuditList> {
  return listCommands(pool, filterOf(ask, input), { after: input.cursor, limit: input.limit })
}

/** Streams every matching command, the latest first. */
export function everyCommand(
  pool: Pool,
  ask: Ask,
  input: z.infer<typeof AuditFilter>,
): AsyncGenerator<CommandRow> {
  const filter = filterOf(ask, input)
  return everyPage(after => listCommands(pool, filter, { after, limit: EXPORTED_AT_ONCE }))
}

function filterOf(ask: Ask, { who, what, until, ...rest }: z.infer<typeof AuditFilter>) {
  const { from, to } = rangeOf(ask, rest)
  return {
    who,
    name: what,
    run: rest.run,
    case: rest.case,
    from,
    to: to ?? givenMoment(ask, 'until', until),
  }
}
