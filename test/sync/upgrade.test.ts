import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { migrate } from '../../src/lib/migrate.ts'
import { storeTexts } from '../../src/texts/store.ts'
import { type Company, createCompany, endOf, until } from '../helpers/company.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'

/**
 * A database as another installation left it, which goes on here. The rows of the fixture are what that one
 * wrote on its own for this company of 12: e0001 in a department that the platform lacks, whose case is being retried; the
 * like case of e0002 ignored; e0003 with a new mobile number, the answer to which was lost; e0100 not on the platform yet; a
 * held run that renames five and adds e0101; a full run that waits; and alerts of the held run and of a halt that is over.
 */
const ROWS = new URL('fixtures/earlier-version.jsonl', import.meta.url)
/** When the rows were written, and how long ago that is to be. */
const WRITTEN = Date.parse('2026-11-23T14:41:36Z')
const AGO_MS = 2 * 3_600_000

let own: TestDatabase
let company: Company
const db = async <T = Record<string, unknown>>(sql: string, values: unknown[] = []) =>
  (await company.db.query(sql, values)).rows as T[]

async function asEarlier(): Promise<void> {
  await migrate(own.pool)
  await storeTexts(own.pool)
  const later = Date.now() - AGO_MS - WRITTEN
  const rows = readFileSync(ROWS, 'utf8').replace(/\d{4}-\d\d-\d\dT[\d:.]+\+00:00/g, at =>
    new Date(Date.parse(at) + later).toISOString(),
  )
  for (const [table, row] of rows
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as [string, object])) {
    const columns = Object.keys(row).join(', ')
    await own.pool.query(
      `insert into dirsync.${table} (${columns}) overriding system value
       select ${columns} from jsonb_populate_record(null::dirsync.${table}, $1)`,
      [JSON.stringify(row)],
    )
  }
  await own.pool.query(
    `select setval('dirsync.execution', 100), setval(pg_get_serial_sequence(t, 'id'), 100)
     from unnest('{dirsync.sync_run,dirsync.dead_letter,dirsync.dead_letter_event,dirsync.attempt,
                   dirsync.alert,dirsync.alert_message,dirsync.command}'::text[]) t`,
  )
}

beforeAll(async () => {
  own = await createTestDatabase()
  company = await createCompany({
    employees: 12,
    databases: { own, hr: await createTestDatabase() },
    settings: { BREAKER_EMPLOYEES: '3', SELLER_APPIDS: 'mall0001' },
  })
  await asEarlier()
  await company.hr.query(`
    insert into person
    select u, 'Person ' || i, '19900000' || i, 'e' || i || '@example.com', 'D1', date '2020-01-01', null, null, true
    from (values ('e0100', 100), ('e0101', 101)) p (u, i);
    update person set dept_code = 'NOWHERE' where userid in ('e0001', 'e0002');
    update person set dept_code = 'D0' where dept_code = 'D4';
    update person set mobile = '19955550003' where userid = 'e0003';
    update person set name = 'Renamed' where userid between 'e0006' and 'e0010'`)
  // What the platform took from the earlier version.
  const { employees } = await company.control<{ employees: Record<string, unknown>[] }>('GET', 'state')
  await company.control(
    'POST',
    'employees',
    employees.map(held => ({
      ...held,
      ...(held.dept_code === 'D4' && { dept_code: 'D0' }),
      ...(held.userid === 'e0003' && { mobile: '19955550003' }),
    })),
  )
})
afterAll(() => company[Symbol.asyncDispose]())

const standings = async () =>
  Object.fromEntries(
    (
      await db<{ standing: string; users: string }>(
        `select standing, string_agg(userid, ' ' order by userid) as users from dirsync.employee group by 1`,
      )
    ).map(({ standing, users }) => [standing, users]),
  )
const caseOf = async (userid: string) =>
  (
    await db(`select state, occurrences, category from dirsync.dead_letter where entity_key = $1`, [userid])
  )[0]

describe('a database that another installation left', () => {
  test('has everyone in the status that they had', async () => {
    expect(await standings()).toEqual({
      in_step: 'e0000 e0004 e0005 e0011',
      dead_lettered: 'e0001',
      accepted: 'e0002',
      waiting: 'e0003',
      held: 'e0006 e0007 e0008 e0009 e0010 e0101',
      awaiting_activation: 'e0100',
    })
    const { rows } = await own.pool.query(
      `select state, sum(n)::int as n from dirsync.tally where source = 'employee' group by 1 having sum(n) <> 0
       except select standing, count(*)::int from dirsync.employee group by 1`,
    )
    expect(rows).toEqual([])
  })

  test('goes on with its work, and asks where the answer was lost', async () => {
    await company.start()
    await until(async () => (await db('select from dirsync.pending')).length === 0)
    for (const id of [6, 8]) expect(await endOf(company.db, id)).toMatchObject({ state: 'done' })
    expect(
      await db(
        `select outcome, calls from dirsync.attempt where entity_key = 'e0003' and run_id = 6 order by id`,
      ),
    ).toEqual([
      { outcome: 'retry', calls: { 'employee/get': 1, 'employee/update': 1 } },
      { outcome: 'in_step', calls: { 'employee/get': 1 } },
    ])
    expect(await caseOf('e0001')).toMatchObject({ state: 'open', occurrences: 2 })
    expect(await caseOf('e0002')).toMatchObject({ state: 'ignored', occurrences: 1 })
  })

  test('finds the full run that waited to be like the held one, which goes on being held', async () => {
    expect(await endOf(company.db, 9)).toMatchObject({ state: 'superseded' })
    expect(await endOf(company.db, 7)).toMatchObject({ state: 'held' })
  })

  test('keeps its alerts and mutes', async () => {
    const alerts = () =>
      db('select id::int, rule, state, gone_at is not null as "isGone" from dirsync.alert order by id')
    await until(async () => (await alerts()).some(({ isGone }) => isGone))
    expect(await alerts()).toEqual([
      { id: 1, rule: 'held_run', state: 'firing', isGone: false },
      { id: 2, rule: 'halt', state: 'firing', isGone: true },
    ])
    expect(await db('select rule, subject from dirsync.alert_mute')).toEqual([
      { rule: 'out_of_step', subject: null },
    ])
  })

  test('carries out the plan that was held before, and has nothing more to send', async () => {
    await company.db.query('select dirsync.approve(7)')
    expect(await endOf(company.db, 7)).toMatchObject({
      state: 'done',
      result: { outcomes: { updated: 5, awaiting_activation: 1 } },
    })
    expect(await company.run('changes')).toMatchObject({ state: 'done', result: { calls: {} } })
    expect(await standings()).toEqual({
      in_step: 'e0000 e0003 e0004 e0005 e0006 e0007 e0008 e0009 e0010 e0011',
      dead_lettered: 'e0001',
      accepted: 'e0002',
      awaiting_activation: 'e0100 e0101',
    })
  })
})
