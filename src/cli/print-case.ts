import type { DeadLetter, readCase } from '../store/review.ts'
import { coloured, paintState } from './colours.ts'
import { entityName } from './entity-name.ts'
import { print, printFacts, printTitle } from './output.ts'
import { type Column, table } from './table.ts'
import { longTime, shortTime } from './time.ts'

const SWAP: Column<DeadLetter> = { title: 'SWAP', of: row => row.swap_id, align: 'right' }

/** A list of cases, and how to look closer. */
export function printCases(cases: DeadLetter[], total: number, program: string): void {
  const [first] = cases
  if (!first) {
    print('There are no such dead letters.')
    return
  }
  process.stdout.write(
    table(
      [
        { title: 'ID', of: row => row.id, align: 'right' },
        { title: 'ENTITY', of: row => entityName(row) },
        { title: 'FIELD', of: row => row.field, gives: true },
        { title: 'CATEGORY', of: row => row.category },
        { title: 'STATE', of: row => row.state, paint: paintState, gives: true },
        ...(cases.some(({ swap_id }) => swap_id !== null) ? [SWAP] : []),
        { title: 'FAILED', of: row => row.occurrences, align: 'right', spare: true },
        { title: 'BLOCKED BY', of: row => row.blocked_by, spare: true },
        { title: 'LAST', of: row => shortTime(row.last_failed_at) },
      ],
      cases,
    ),
  )
  print('', total > cases.length ? `${cases.length} of ${total} shown (--limit).` : `${total} in all.`)
  print(`What to do about one: ${program} dead-letters show ${first.id}`)
}

/** Everything about one case. */
export function printCase(found: NonNullable<Awaited<ReturnType<typeof readCase>>>, program: string): void {
  const { id, state } = found
  print(`Dead letter ${id}: ${found.entity} ${entityName(found)}, ${coloured(state)}`)
  printFacts([
    ['category', found.category],
    ['field', found.field],
    ['operation', found.operation],
    ['message', found.message],
    ['remedy', found.remedy],
    ['values', found.changed_fields.map(({ field, value }) => `${field} ${value ?? '–'}`).join(', ')],
    ['blocked by', found.blocked_by],
    ['swap', found.swap_id && `${found.swap_id}, with dead letters ${found.swapped_with.join(', ')}`],
    ['code', found.platform_code],
    ['trace', found.trace_id],
    [
      'failed',
      `${found.occurrences} ${found.occurrences === 1 ? 'time' : 'times'}, first ${longTime(found.first_failed_at)} (run ${found.first_run_id ?? '–'}), last ${longTime(found.last_failed_at)} (run ${found.last_run_id ?? '–'})`,
    ],
    ['next retry', longTime(found.next_retry_at)],
    [
      'resolved',
      found.resolved_at && `${longTime(found.resolved_at)} by ${found.resolved_by} (${found.resolution})`,
    ],
    ['note', found.note],
  ])
  printTitle('Story')
  process.stdout.write(
    table(
      [
        { title: 'AT', of: event => longTime(event.at) },
        { title: 'EVENT', of: event => event.event },
        { title: 'BY', of: event => event.actor, gives: true },
        { title: 'RUN', of: event => event.run_id, align: 'right' },
        { title: 'NOTE', of: event => event.note, gives: true },
      ],
      found.events,
    ),
  )
  if (state === 'resolved') return
  printTitle('Act')
  print(
    `  ${program} dead-letters retry ${id}`,
    `  ${program} dead-letters ignore ${id} --reason "…"`,
    `  ${program} dead-letters snooze ${id} --until 3d`,
  )
  if (found.entity === 'employee') print(`  ${program} employee ${entityName(found)}`)
}
