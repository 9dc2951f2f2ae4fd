import { describe, expect, test } from 'vitest'
import { CRON_JOBS } from '../../jobs/index.ts'
import { EMPLOYEE_FIELDS } from '../../src/directory/employee.ts'
import { CIRCUMSTANCES, PLATFORM_CODES } from '../../src/platform/codes.ts'
import { OPERATION_NAMES } from '../../src/platform/operation.ts'
import * as states from '../../src/platform/states.ts'
import { CASE_STATES } from '../../src/sync/cases/cases.ts'
import { SHOWN_EMPLOYEE_STATUSES } from '../../src/sync/health/figures.ts'
import { HALT_KINDS } from '../../src/sync/outbox/halts.ts'
import { OUTBOX_STATES } from '../../src/sync/outbox/outbox.ts'
import { ROLES } from '../../src/sync/processes/process.ts'
import { MIRRORS } from '../../src/sync/runs/mirror-kind.ts'
import { RUN_TRANSITIONS } from '../../src/sync/runs/run.ts'
import { CATALOGUES, isTextKey } from '../../src/texts/texts.ts'
import { createTestDatabase } from '../helpers/postgres.ts'
import { sourcesOf } from './sources.ts'

/** The values without a name in the list. */
const nameless = (list: string, values: Iterable<string | number>) =>
  [...new Set(values)].filter(value => !isTextKey(`${list}.${value}`))

describe('there is a name for each', () => {
  test.each([
    ['state', CASE_STATES],
    ['run_state', RUN_TRANSITIONS.map(({ to }) => to)],
    ['outbox_state', [...Object.keys(OUTBOX_STATES), ...HALT_KINDS]],
    ['field', EMPLOYEE_FIELDS],
    ['call', OPERATION_NAMES],
    ['status', SHOWN_EMPLOYEE_STATUSES],
    ['process_role', ROLES],
    ['mirror', MIRRORS],
    ['job', CRON_JOBS.map(({ name }) => name)],
    [
      'category',
      [...Object.values(PLATFORM_CODES), ...Object.values(CIRCUMSTANCES)].map(entry => entry.category),
    ],
  ] as [string, string[]][])('%s', (list, values) => {
    expect(nameless(list, values)).toEqual([])
  })

  test.each(['outcome', 'reason'])('%s, without the comma that stands between counts of them', list => {
    for (const catalogue of Object.values(CATALOGUES)) {
      const names = Object.entries(catalogue).filter(([key]) => key.startsWith(`${list}.`))
      expect(names.filter(([, name]) => /[,，]/.test(name))).toEqual([])
    }
  })

  test('category that the code writes', async () => {
    const sources = await sourcesOf(['src/sync', 'src/mirrors', 'src/platform', 'jobs'], () => true)
    const written = [...sources.matchAll(/(?:\bcategory: |'category', )'(\w+)'/g)].map(
      ([, category = '']) => category,
    )
    expect(written).toContain('invalid_hr_row')
    // Columns and options of that name hold other things.
    expect(nameless('category', written)).toEqual([])
  })

  test('page, the same in the navigation and above it', () => {
    for (const catalogue of Object.values<Record<string, string>>(CATALOGUES)) {
      const pages = Object.keys(catalogue).flatMap(key => /^nav\.(\w+)$/.exec(key)?.[1] ?? [])
      // One entry leads to both settings and doctor.
      const titled = pages.filter(page => page !== 'settings' && `${page}.title` in catalogue)
      expect(titled).toContain('halts')
      expect(titled.map(page => catalogue[`nav.${page}`])).toEqual(
        titled.map(page => catalogue[`${page}.title`]),
      )
    }
  })

  test('command that the audit records', async () => {
    const sources = await sourcesOf(['src/migrations'], () => true)
    const noted = [...sources.matchAll(/note_command\(([^,]+),/g)].flatMap(([, name = '']) =>
      [...name.matchAll(/'(\w+)'/g)].map(([, command = '']) => command),
    )
    expect(noted).toEqual(expect.arrayContaining(['approve', 'reject', 'pause']))
    // Of a bulk action, the name ends with what is done.
    const bulk = ['retry', 'snooze', 'ignore', 'assign', 'comment'].map(name => `bulk_${name}`)
    const whole = noted.filter(name => !name.endsWith('_'))
    expect(nameless('command', [...whole, ...bulk])).toEqual([])
  })
})

/** Where the platform's values have no name: they say how a request is made, not what something is. */
const OF_REQUESTS = new Set(['THIRD_TYPE', 'SUB_ORDERS', 'INVOICE_TYPE'])

test('the platform’s own values have the names of their tables', () => {
  const tables = Object.entries(states).filter(([name]) => /^[A-Z_]+$/.test(name) && !OF_REQUESTS.has(name))
  expect(tables.length).toBeGreaterThan(10)
  for (const [name, table] of tables)
    expect(
      nameless(
        name.toLowerCase(),
        Object.values(table as states.States).map(({ value }) => value),
      ),
      name,
    ).toEqual([])
})

/** The list of names for each column whose values the schema limits; null: people do not read it. */
const LISTS: Record<string, string | null> = {
  'sync_run.kind': 'run_kind',
  'sync_run.state': 'run_state',
  'planned_work.operation': 'operation',
  'pending.operation': 'operation',
  'attempt.outcome': 'outcome',
  'employee.platform_state': 'platform_state',
  'dead_letter.entity': 'entity',
  'dead_letter.operation': 'operation',
  'dead_letter.state': 'state',
  'dead_letter_event.event': 'event',
  'refund.state': 'money_state',
  'topup.state': 'money_state',
  'process.aside_for': null, // alerts, doctor and status tell it in sentences
  'tally.source': null,
  'console_user.source': null, // the audit tells it in words of its own
  'console_user.role': 'role',
  'console_session.via': null,
  'api_token.role': 'role',
  'sign_in_failure.kind': null,
  'bulk_action.action': 'command',
  'bulk_action.state': 'bulk_state',
  'bulk_item.outcome': 'bulk_state',
  'bulk_item.code': null, // the message beside it says more
  'plan_reading.state': null,
  'dry_run.state': 'dry_run_state',
  'alert.severity': 'severity',
  'alert.state': null,
  'alert_message.kind': null,
  'alert_message.state': 'message_state',
  'alert_notice.event': 'alert_event',
  'notice.event': null,
  'alert_channel.least': 'severity',
  'dry_run.phase': null,
  'dry_run_entity.reason': null, // shown by the mapping's own texts
  'refused_notification.reason': null,
}

test('whatever values the schema permits have names', async () => {
  await using database = await createTestDatabase({ migrated: true })
  const { rows } = await database.pool.query<{ at: string; definition: string }>(
    `select c.relname || '.' || a.attname as at, pg_get_constraintdef(k.oid) as definition
     from pg_constraint k
     join pg_class c on c.oid = k.conrelid
     join pg_attribute a on a.attrelid = c.oid and k.conkey = array[a.attnum]
     where c.relnamespace = 'dirsync'::regnamespace and k.contype = 'c'
       and pg_get_constraintdef(k.oid) like '%ANY (ARRAY[%'`,
  )
  const limited = rows.map(({ at, definition }) => ({
    at,
    values: [...definition.matchAll(/'([^']+)'::text/g)].map(([, value = '']) => value),
  }))
  expect(limited.map(({ at }) => at)).toEqual(expect.arrayContaining(['dead_letter.state', 'sync_run.kind']))
  for (const { at, values } of limited) {
    const list = LISTS[at]
    expect(list, `give the values of ${at} names, and say here in which list`).not.toBeUndefined()
    if (list) expect(nameless(list, values), at).toEqual([])
  }
})
