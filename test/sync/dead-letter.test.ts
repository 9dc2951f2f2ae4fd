import { describe, expect, test } from 'vitest'
import { WHOLE } from '../../src/hr/sources.ts'
import { transaction } from '../../src/lib/database.ts'
import { NO_USER_ID } from '../../src/sync/cases/cases.ts'
import { beginRetry, beginRetryOf, requestDueRetries } from '../../src/sync/cases/retries.ts'
import { enterpriseCodes, findEmployees } from '../../src/sync/outbox/employee.ts'
import { addBindings, countUnbound } from '../../src/sync/outbox/outbox.ts'
import { recordKeyless } from '../../src/sync/plan/unplanned-rows.ts'
import { Commands } from '../../src/sync/runs/commands.ts'
import { requestRun } from '../../src/sync/runs/run.ts'
import { until } from '../helpers/company.ts'
import { worded } from '../texts/worded.ts'
import { caseOf, fail, hash, plant, story } from './planted.ts'
import { StoreUnderTest, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const store = new StoreUnderTest()

const set = (id: number, text: string) =>
  store.pool.query(`update dirsync.dead_letter set ${text} where id = $1`, [id])
const begin = (...ids: number[]) => transaction(store.pool, db => beginRetry(db, ids, 7))

describe('what is due', () => {
  const due = { next_retry_at: '2020-01-01T00:00:00Z' }

  test('is asked for in one run, and not again while that one waits', async () => {
    const ids = [
      await fail(store, due),
      await fail(store, { ...due, entity_key: 'e2', state: 'awaiting_activation' }),
    ]
    await fail(store, { entity_key: 'e3', next_retry_at: new Date(Date.now() + 86_400_000) })
    await fail(store, { entity_key: 'e4' })
    const run = await requestDueRetries(store.pool)
    expect(await store.rows('select id, kind, keys, requested_by, state from dirsync.sync_run')).toEqual([
      { id: run, kind: 'retry', keys: ids.map(String), requested_by: 'cron', state: 'requested' },
    ])
    expect(await requestDueRetries(store.pool)).toBeNull()
    await store.pool.query(`update dirsync.sync_run set state = 'running'`)
    expect(await requestDueRetries(store.pool)).toBeGreaterThan(run ?? 0)
  })

  test('is what waits for longer than dirsync ever lets a case wait: the clock was put back', async () => {
    const far = { next_retry_at: new Date(Date.now() + 60 * 86_400_000) }
    const id = await fail(store, far)
    await fail(store, { entity_key: 'e2', next_retry_at: new Date(Date.now() + 9 * 86_400_000) })
    await set(
      await fail(store, { ...far, entity_key: 'e3' }),
      `state = 'snoozed', snooze_until = next_retry_at`,
    )
    await requestDueRetries(store.pool)
    expect(await store.rows('select keys from dirsync.sync_run')).toEqual([{ keys: [String(id)] }])
  })

  test('is soon what waits for a value that may be free, once its retry was taken back', async () => {
    const soon = await fail(store, { blocked_by: 'e2' })
    const later = await fail(store, { entity_key: 'e3' })
    await store.pool.query(`update dirsync.dead_letter set state = 'retrying'`)
    await store.pool.query('select dirsync.end_lost_retries()')
    expect(
      await store.rows(
        `select id, state, next_retry_at < now() + interval '2 minutes' as soon from dirsync.dead_letter order by id`,
      ),
    ).toEqual([
      { id: soon, state: 'open', soon: true },
      { id: later, state: 'open', soon: false },
    ])
  })

  test('is nothing that was ignored, resolved or is being tried', async () => {
    for (const text of [
      `state = 'ignored', note = 'x'`,
      `state = 'resolved', resolved_at = now()`,
      `state = 'retrying'`,
    ])
      await set(await fail(store, { ...due, entity_key: text }), text)
    expect(await requestDueRetries(store.pool)).toBeNull()
  })

  test('is left alone when a person accepts it before the run has begun', async () => {
    const id = await fail(store, due)
    const run = (await requestDueRetries(store.pool)) ?? 0
    await store.pool.query(`select dirsync.ignore($1, 'agreed')`, [id])
    expect(await transaction(store.pool, db => beginRetry(db, [id], run))).toEqual([])
    expect(await caseOf(store, id)).toMatchObject({ state: 'ignored', note: 'agreed' })
  })

  test('is a snoozed case when its time has come', async () => {
    const id = await fail(store)
    await store.pool.query(`select dirsync.snooze($1, now() + interval '1 hour')`, [id])
    expect(await requestDueRetries(store.pool)).toBeNull()
    await set(id, `next_retry_at = now(), snooze_until = now()`)
    expect(await requestDueRetries(store.pool)).not.toBeNull()
  })

  test('is a case that was snoozed before the clock was put back, once it was snoozed for as long as asked', async () => {
    const asked = [`now() + interval '3 days'`, `now() + interval '200 days'`]
    const ids: number[] = []
    for (const [i, until] of asked.entries()) {
      const id = await fail(store, { entity_key: `e${i}` })
      await store.pool.query(`select dirsync.snooze($1, ${until})`, [id])
      ids.push(id)
    }
    // The first was snoozed when the clock was a year ahead.
    const [late] = ids
    await store.pool.query(
      `update dirsync.dead_letter_event set at = at + interval '1 year'
       where event = 'snoozed' and dead_letter_id = ${late};
       update dirsync.dead_letter
       set snooze_until = snooze_until + interval '1 year', next_retry_at = next_retry_at + interval '1 year'
       where id = ${late}`,
    )
    for (const _ of ['once', 'and again']) {
      expect(await requestDueRetries(store.pool)).toBeNull()
      expect(
        await store.rows(
          `select (extract(epoch from next_retry_at - now()) / 86400)::int as days
           from dirsync.dead_letter where state = 'snoozed' and next_retry_at = snooze_until order by id`,
        ),
      ).toEqual([{ days: 3 }, { days: 200 }])
    }
  })

  test('is no case that a person snoozes anew meanwhile', async () => {
    const id = await fail(store)
    await store.pool.query(`select dirsync.snooze($1, now() + interval '2 hours')`, [id])
    await store.pool.query(
      `update dirsync.dead_letter_event set at = at + interval '1 hour' where event = 'snoozed'`,
    )
    const person = await store.pool.connect()
    try {
      await person.query('begin')
      await person.query(`select dirsync.snooze($1, now() + interval '8 hours')`, [id])
      const requested = requestDueRetries(store.pool)
      await until(() =>
        store.value<boolean>(
          `select count(*) = 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        ),
      )
      await person.query('commit')
      await requested
    } finally {
      person.release()
    }
    expect(
      await store.value(
        `select snooze_until > now() + interval '7 hours 50 minutes' from dirsync.dead_letter where id = $1`,
        [id],
      ),
    ).toBe(true)
  })

  test('does not have a snooze begin again that a person has ended by asking for a retry, after the clock was put back', async () => {
    const id = await fail(store)
    const commands = new Commands(store.pool, { actor: 'cli:test' })
    await commands.snooze(id, new Date(Date.now() + 86_400_000), 'agreed')
    await store.pool.query(
      `update dirsync.dead_letter_event set at = at + interval '1 hour' where event = 'snoozed'`,
    )
    const run = await commands.retry([id])
    await requestDueRetries(store.pool)
    expect(await transaction(store.pool, db => beginRetry(db, [id], run))).toMatchObject([
      { entityKey: 'e1' },
    ])
  })
})

test('the note of a case is that of the decision in force', async () => {
  const id = await fail(store, { source_hash: hash() })
  const note = async () => (await caseOf(store, id)).note
  await store.pool.query(`select dirsync.ignore($1, 'shared phone')`, [id])
  await fail(store, { source_hash: hash() })
  expect(await caseOf(store, id)).toMatchObject({ state: 'open', note: null })
  await store.pool.query(`select dirsync.ignore($1, 'shared phone')`, [id])
  await set(id, `state = 'open'`)
  await store.pool.query(`select dirsync.snooze($1, now() + interval '1 day')`, [id])
  expect(await note()).toBeNull()
  await store.pool.query(`select dirsync.snooze($1, now() + interval '1 day', 'HR mends it')`, [id])
  await store.pool.query(`select dirsync.snooze($1, now() + interval '2 days')`, [id])
  await fail(store, { source_hash: hash() })
  expect(await caseOf(store, id)).toMatchObject({ state: 'snoozed', note: 'HR mends it' })
  await store.pool.query('select dirsync.wake($1)', [id])
  await store.pool.query(`select dirsync.snooze($1, now() + interval '1 day')`, [id])
  expect(await note()).toBeNull()
})

describe('a retry', () => {
  test('marks its cases and asks for their work, once for each entity', async () => {
    const [mobile, email] = [
      await fail(store, { enterprise_code: 'C1' }),
      await fail(store, { enterprise_code: 'C1', field: 'email' }),
    ]
    const bind = await fail(store, { operation: 'bind-openid', field: '20000001' })
    const work = await begin(mobile, email, bind)
    const unnamed = { entityKey: 'e1', named: false }
    expect(work.toSorted((a, b) => (a.operation < b.operation ? -1 : 1))).toEqual([
      { ...unnamed, operation: 'bind-openid', enterpriseCode: '', detail: '20000001' },
      { ...unnamed, operation: 'update-employee', enterpriseCode: 'C1', detail: '' },
    ])
    for (const id of [mobile, email, bind]) {
      expect(await caseOf(store, id)).toMatchObject({ state: 'retrying', next_retry_at: null, version: 2 })
      expect((await story(store, id)).at(-1)).toMatchObject({ event: 'retried', run_id: 7 })
    }
  })

  test('names the entities of the cases that a person lists one by one, and no others', async () => {
    const ids = [await fail(store), await fail(store, { entity_key: 'e2' })]
    const others = [await fail(store, { entity_key: 'e3' }), await fail(store, { entity_key: 'e4' })]
    const commands = new Commands(store.pool, { actor: 'cli:test' })
    const named = async (run: number, ...retried: number[]) =>
      (await transaction(store.pool, db => beginRetry(db, retried, run)))
        .filter(work => work.named)
        .map(({ entityKey }) => entityKey)
        .sort()
    expect(await named(await commands.retry(ids), ...ids, ...others)).toEqual(['e1', 'e2'])
    // The story of a case names the person, not dirsync.
    for (const id of ids)
      expect((await story(store, id)).at(-1)).toMatchObject({
        event: 'retried',
        actor: expect.stringMatching(/\(cli:test\)$/),
      })
    expect(await named(await commands.retry([ids[0] as number]), ...ids)).toEqual(['e1'])
    expect(await named(await commands.retryCategory('duplicate_mobile'), ...ids)).toEqual([])
  })

  test("of a person does not wait for cron's run of the same cases, which would leave an accepted one alone", async () => {
    const id = await fail(store, { next_retry_at: new Date(0) })
    const cron = await requestDueRetries(store.pool)
    const commands = new Commands(store.pool, { actor: 'cli:test' })
    await commands.ignore(id, 'agreed')
    const run = await commands.retry([id])
    expect(run).not.toBe(cron)
    expect(await commands.retry([id])).toBe(run)
    expect(await transaction(store.pool, db => beginRetry(db, [id], cron))).toEqual([])
    expect(await transaction(store.pool, db => beginRetry(db, [id], run))).toMatchObject([{ named: true }])
  })

  describe('and a later decision', () => {
    const commands = () => new Commands(store.pool, { actor: 'cli:test' })
    const plan = (run: number, ...ids: number[]) => transaction(store.pool, db => beginRetry(db, ids, run))

    test.each([
      ['ignored', `ignore($1, 'agreed')`],
      ['snoozed', `snooze($1, now() + interval '1 day')`],
    ])('stay as they are where the case was %s before the run began', async (state, decides) => {
      const [id, other] = [await fail(store), await fail(store, { entity_key: 'e2' })]
      const category = await commands().retryCategory('duplicate_mobile')
      const named = await commands().retry([id])
      await store.pool.query(`select dirsync.${decides}`, [id])
      expect(await plan(category, id, other)).toMatchObject([{ entityKey: 'e2' }])
      expect(await plan(named, id)).toEqual([])
      expect(await caseOf(store, id)).toMatchObject({ state })
      // Whoever asks once more, for the same run, has the last word.
      expect(await commands().retry([id])).toBe(named)
      expect(await plan(named, id)).toMatchObject([{ entityKey: 'e1' }])
    })

    test('count for less where the decision seems to be later, as the clock was put back since', async () => {
      const id = await fail(store)
      await commands().ignore(id, 'agreed')
      await store.pool.query(`update dirsync.dead_letter_event set at = at + interval '1 hour'`)
      expect(await plan(await commands().retry([id]), id)).toMatchObject([{ entityKey: 'e1' }])
    })

    test('do so where the decision is committed only while the run begins', async () => {
      const id = await fail(store)
      const run = await commands().retry([id])
      const person = await store.pool.connect()
      try {
        await person.query('begin')
        await person.query(`select dirsync.ignore($1, 'agreed')`, [id])
        const begun = plan(run, id)
        await until(async () => (await store.rows(WAITING_FOR_A_LOCK)).length > 0)
        await person.query('commit')
        expect(await begun).toEqual([])
      } finally {
        person.release()
      }
      expect(await caseOf(store, id)).toMatchObject({ state: 'ignored' })
    })

    test('do so where a category was retried while the decision was not committed yet', async () => {
      const id = await fail(store)
      const person = await store.pool.connect()
      try {
        await person.query('begin')
        await person.query(`select dirsync.ignore($1, 'agreed')`, [id])
        const run = await commands().retryCategory('duplicate_mobile')
        await person.query('commit')
        expect(await plan(run, id)).toEqual([])
      } finally {
        person.release()
      }
    })

    test('do so whatever else was noted with the run, such as that someone exported it', async () => {
      const [id, other] = [await fail(store), await fail(store, { entity_key: 'e2' })]
      const named = await commands().retry([id])
      await commands().ignore(id, 'agreed')
      await commands().note('export', { run: named })
      expect(await plan(named, id)).toEqual([])
      const person = await store.pool.connect()
      try {
        await person.query('begin')
        await person.query(`select dirsync.ignore($1, 'agreed')`, [other])
        const category = await commands().retryCategory('duplicate_mobile')
        await person.query('commit')
        await commands().note('export', { run: category })
        expect(await plan(category, other)).toEqual([])
      } finally {
        person.release()
      }
    })

    test.each([
      ['ignored', `ignore($1, 'agreed')`],
      ['snoozed', `snooze($1, now() + interval '1 day')`],
    ])('do so where it was %s in a transaction that began before the request', async (state, decides) => {
      const id = await fail(store)
      const person = await store.pool.connect()
      try {
        await person.query('begin; select now()')
        const run = await commands().retry([id])
        await person.query(`select dirsync.${decides}`, [id])
        await person.query('commit')
        expect(await plan(run, id)).toEqual([])
      } finally {
        person.release()
      }
      expect(await caseOf(store, id)).toMatchObject({ state })
    })

    test('let it go on that was asked for after the decision, in a transaction that began before it', async () => {
      const id = await fail(store)
      const person = await store.pool.connect()
      try {
        await person.query('begin; select now()')
        await commands().ignore(id, 'agreed')
        const { rows } = await person.query<{ run: number }>('select dirsync.retry($1) as run', [id])
        await person.query('commit')
        expect(await plan(rows[0]?.run ?? 0, id)).toMatchObject([{ entityKey: 'e1' }])
      } finally {
        person.release()
      }
    })

    test('stay as they are where they were selected for a retry before the snooze was committed', async () => {
      const id = await fail(store, { next_retry_at: new Date() })
      const person = await store.pool.connect()
      let run: number | null = null
      try {
        await person.query('begin')
        await person.query(`select dirsync.snooze($1, now() + interval '1 day')`, [id])
        run = await requestDueRetries(store.pool)
        await person.query('commit')
      } finally {
        person.release()
      }
      expect(await plan(run ?? 0, id)).toEqual([])
      expect(await caseOf(store, id)).toMatchObject({ state: 'snoozed' })
    })

    test('stay as they are where the employee was to be synced, before the case was snoozed', async () => {
      const [id, other] = [await fail(store), await fail(store, { field: 'email' })]
      const run = await commands().resyncEmployees(['e1'])
      await commands().snooze(id, new Date(Date.now() + 86_400_000), 'agreed')
      const employees = [{ enterpriseCode: '', userid: 'e1' }]
      const person = await store.pool.connect()
      try {
        await person.query('begin')
        await person.query(`select dirsync.snooze($1, now() + interval '1 day')`, [other])
        const begun = transaction(store.pool, db => beginRetryOf(db, employees, run))
        await until(async () => (await store.rows(WAITING_FOR_A_LOCK)).length > 0)
        await person.query('commit')
        await begun
      } finally {
        person.release()
      }
      for (const snoozed of [id, other])
        expect(await caseOf(store, snoozed)).toMatchObject({ state: 'snoozed' })
      // Whoever asks once more has the last word.
      await commands().resyncEmployees(['e1'])
      await transaction(store.pool, db => beginRetryOf(db, employees, run))
      for (const snoozed of [id, other])
        expect(await caseOf(store, snoozed)).toMatchObject({ state: 'retrying' })
    })

    test('let it go on once the decision was taken back', async () => {
      const id = await fail(store)
      const run = await commands().retry([id])
      await store.pool.query(`select dirsync.snooze($1, now() + interval '1 day')`, [id])
      await commands().ignore(id, 'agreed')
      await store.pool.query(`select dirsync.undo($1)`, [id])
      expect(await plan(run, id)).toEqual([])
      await store.pool.query(`select dirsync.undo($1)`, [id])
      expect(await plan(run, id)).toMatchObject([{ entityKey: 'e1' }])
    })
  })

  test('opens a parked department again', async () => {
    await plant(
      store,
      'department',
      { dept_code: 'D1', active: false, parked_at: new Date() },
      { dept_code: 'D2', active: false, parked_at: new Date() },
    )
    const id = await fail(store, {
      entity: 'department',
      entity_key: 'D1',
      operation: 'delete-department',
      field: '',
    })
    expect(await begin(id)).toMatchObject([{ operation: 'delete-department', entityKey: 'D1' }])
    expect(await store.rows('select dept_code from dirsync.department where parked_at is null')).toEqual([
      { dept_code: 'D1' },
    ])
  })

  test('leaves alone what was resolved meanwhile', async () => {
    const id = await fail(store)
    await set(id, `state = 'resolved', resolved_at = now()`)
    expect(await begin(id, 4711)).toEqual([])
  })

  test('of named employees takes their open cases along, but not the accepted ones', async () => {
    const [open, snoozed, ignored] = [
      await fail(store),
      await fail(store, { field: 'email' }),
      await fail(store, { field: 'card_no' }),
    ]
    const others = [
      await fail(store, { entity_key: 'e2' }),
      await fail(store, { enterprise_code: 'C1' }),
      await fail(store, { operation: 'bind-openid' }),
    ]
    await store.pool.query(`select dirsync.snooze($1, 'infinity'), dirsync.ignore($2, 'known')`, [
      snoozed,
      ignored,
    ])
    const run_id = await new Commands(store.pool, { actor: 'cli:test' }).resyncEmployees(['e1'])
    await transaction(store.pool, db => beginRetryOf(db, [{ enterpriseCode: '', userid: 'e1' }], run_id))
    for (const id of [open, snoozed]) {
      expect(await caseOf(store, id)).toMatchObject({
        state: 'retrying',
        snooze_until: null,
        next_retry_at: null,
      })
      expect((await story(store, id)).at(-1)).toMatchObject({ event: 'retried', run_id })
    }
    expect(await caseOf(store, ignored)).toMatchObject({ state: 'ignored' })
    for (const id of others) expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
  })
})

test('an employee whose own case is ignored stays in review while a field is withheld from them', async () => {
  const row = hash()
  await plant(store, 'employee', { userid: 'e1', source_hash: row, parked_hash: row, withheld: ['level'] })
  const block = { entity: 'enterprise', entity_key: '(single enterprise)', field: 'level' }
  await fail(store, { ...block, category: 'feature_disabled' })
  const status = () => store.value('select status from dirsync.employee')
  await store.pool.query(`select dirsync.ignore($1, 'known')`, [await fail(store)])
  expect(await status()).toBe('dead_lettered')
  await store.pool.query(`update dirsync.employee set withheld = '{}'`)
  expect(await status()).toBe('accepted')
})

describe('rows without a user id', () => {
  const record = (rows: number) => transaction(store.pool, db => recordKeyless(db, 7, rows, WHOLE))
  const cases = () => store.rows<{ id: number }>('select * from dirsync.dead_letter order by id')

  test('are one case that counts them, and ends when there are none', async () => {
    await record(0)
    expect(worded(await cases())).toEqual([])
    await record(1)
    await record(12)
    const [opened] = await cases()
    expect(opened).toMatchObject({
      entity_key: NO_USER_ID,
      field: 'userid',
      category: 'invalid_hr_row',
      message: '12 rows of HR have no user id, or one that is far too long.',
      occurrences: 2,
      state: 'open',
    })
    expect(await begin(opened?.id ?? 0)).toEqual([])
    await record(0)
    expect(await cases()).toMatchObject([{ state: 'resolved', resolution: 'succeeded' }])
    expect(worded((await story(store, opened?.id ?? 0)).map(({ event }) => event))).toEqual([
      'opened',
      'retried',
      'resolved',
    ])
  })

  test('that were accepted stay so until their number changes', async () => {
    await record(3)
    await store.pool.query(`select dirsync.ignore(id, 'externals') from dirsync.dead_letter`)
    await record(3)
    expect(await cases()).toMatchObject([{ state: 'ignored' }])
    await record(4)
    expect(await cases()).toMatchObject([{ state: 'open' }])
  })
})

describe('employees are found', () => {
  test('by user id in every enterprise, or by enterprise and user id', async () => {
    await plant(
      store,
      'employee',
      { userid: 'e1' },
      { userid: 'e1', enterprise_code: 'C1' },
      { userid: 'e2', enterprise_code: 'C2' },
    )
    expect(await findEmployees(store.pool, ['e1'])).toEqual([
      { enterpriseCode: '', userid: 'e1' },
      { enterpriseCode: 'C1', userid: 'e1' },
    ])
    expect(await findEmployees(store.pool, ['C1/e1', 'C2/e1', 'x'])).toEqual([
      { enterpriseCode: 'C1', userid: 'e1' },
    ])
    expect(await enterpriseCodes(store.pool, 'OWN')).toEqual(['', 'C1', 'C2', 'OWN'])
  })

  test('by user id not in an enterprise of which neither HR nor the platform has them, if HR has them in another', async () => {
    const vanished_at = new Date()
    await plant(
      store,
      'employee',
      { userid: 'e1', enterprise_code: 'C1' },
      { userid: 'e1', enterprise_code: 'C2', vanished_at, platform_state: 'in_service' },
      { userid: 'e1', enterprise_code: 'C9', vanished_at },
      { userid: 'e2', enterprise_code: 'C9', vanished_at },
    )
    const found = async (...names: string[]) =>
      (await findEmployees(store.pool, names)).map(key => `${key.enterpriseCode}/${key.userid}`)
    expect(await found('e1', 'e2')).toEqual(['C1/e1', 'C2/e1', 'C9/e2'])
    expect(await found('C9/e1')).toEqual(['C9/e1'])
  })

  test('without an open id, application by application', async () => {
    const inService = { platform_state: 'in_service' }
    await plant(
      store,
      'employee',
      { userid: 'bound', ...inService },
      { userid: 'unbound', ...inService },
      { userid: 'failed', ...inService },
      { userid: 'absent', platform_state: 'absent' },
      { userid: 'leaver', ...inService, active: false },
      { userid: 'vanished', ...inService, vanished_at: new Date() },
      { userid: 'not asked' },
    )
    await plant(store, 'openid_binding', { userid: 'bound', seller_appid: '20000001', open_userid: 'o' })
    await fail(store, { operation: 'bind-openid', entity_key: 'failed', field: '20000001' })
    const merchants = ['20000001', '20000002']
    const run = await requestRun(store.pool, 'openids', [], 'test')
    await transaction(store.pool, async db => {
      expect(await countUnbound(db, merchants, null)).toBe(4)
      expect(await countUnbound(db, [], null)).toBe(0)
      expect(await addBindings(db, run, merchants)).toBe(4)
      // What waits already stays where it is.
      expect(await addBindings(db, run, merchants)).toBe(0)
      // Of a backup it is not known whether the account is still the same one.
      await db.query('savepoint restored; select dirsync.doubt_memory()')
      expect(await countUnbound(db, merchants, null)).toBe(5)
      await db.query('rollback to savepoint restored')
    })
    const { rows } = await store.pool.query('select entity_key, detail from dirsync.pending order by 1, 2')
    expect(rows.map(({ entity_key, detail }) => `${entity_key} ${detail}`)).toEqual([
      'bound 20000002',
      'failed 20000002',
      'unbound 20000001',
      'unbound 20000002',
    ])
  })

  test('whose open id a person gave up on are asked for again once HR has another row', async () => {
    const [same, other] = [hash(), hash()]
    // A binding needs no plan, so that it fails with HR's present row, whatever a plan or a person says of that.
    const held = { held_run: 1, held_hash: other }
    for (const [userid, failed, differs] of [
      ['same', same, {}],
      ['changed', other, {}],
      ['held', other, held],
      ['held since', same, held],
      ['rejected', other, { ...held, rejected: true }],
      ['rejected since', same, { ...held, rejected: true }],
    ] as const) {
      await plant(store, 'employee', { userid, platform_state: 'in_service', source_hash: same, ...differs })
      const of = { operation: 'bind-openid', entity_key: userid, field: 'mall' }
      await set(await fail(store, { ...of, source_hash: failed }), `state = 'ignored', note = 'x'`)
    }
    const run = await requestRun(store.pool, 'openids', [], 'test')
    expect(await transaction(store.pool, db => addBindings(db, run, ['mall']))).toBe(3)
    expect(await store.rows('select entity_key from dirsync.pending order by 1')).toEqual([
      { entity_key: 'changed' },
      { entity_key: 'held since' },
      { entity_key: 'rejected since' },
    ])
  })
})
