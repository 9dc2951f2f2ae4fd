import { once } from 'node:events'
import { describe, expect, onTestFinished, test } from 'vitest'
import { createClient, transaction } from '../../src/lib/database.ts'
import { until } from '../helpers/company.ts'
import { caseOf, fail, hash, plantRun, story } from './planted.ts'
import { StoreUnderTest, WAITING_FOR_A_LOCK } from './store-under-test.ts'

const store = new StoreUnderTest()

const call = (text: string, ...values: unknown[]) => store.value<number>(`select dirsync.${text}`, values)
const runs = () =>
  store.rows<{ id: number; kind: string; keys: string[]; state: string; requested_by: string }>(
    'select id, kind, keys, state, requested_by from dirsync.sync_run order by id',
  )
const commands = () =>
  store.rows('select name, arguments, requested_by, run_id, dead_letter_id from dirsync.command order by id')
const me = () => store.value<string>('select session_user')

/** Listens as dirsync does; `heard` resolves with the first notification. */
async function listen() {
  const client = createClient(store.url, 'test')
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('listen dirsync')
  return { heard: once(client, 'notification').then(([message]) => message.payload as string) }
}

describe('resync', () => {
  test('without arguments requests a run of changes and returns it', async () => {
    const run = await call('resync()')
    expect(await runs()).toEqual([
      { id: run, kind: 'changes', keys: [], state: 'requested', requested_by: await me() },
    ])
    expect(await commands()).toEqual([
      {
        name: 'resync',
        arguments: { kind: 'changes' },
        requested_by: await me(),
        run_id: run,
        dead_letter_id: null,
      },
    ])
  })

  test.each(['changes', 'full', 'departments', 'openids'])('requests a run of kind %s', async kind => {
    const run = await call('resync($1)', kind)
    expect(await runs()).toMatchObject([{ id: run, kind, keys: [] }])
  })

  test.each(['employees', 'employee'])(
    'of kind %s takes the user id, without blanks around it',
    async kind => {
      const run = await call(`resync($1, $2)`, kind, ' e10001 ')
      expect(await runs()).toMatchObject([{ id: run, kind: 'employees', keys: ['e10001'] }])
    },
  )

  test('takes the longest user id there is, with its enterprise', async () => {
    const name = `${'C'.repeat(20)}/${'员'.repeat(100)}`
    await call(`resync('employees', $1)`, name)
    expect(await runs()).toMatchObject([{ keys: [name] }])
  })

  test('takes named arguments too', async () => {
    await call(`resync(key => 'e1', kind => 'employees')`)
    expect(await runs()).toMatchObject([{ kind: 'employees', keys: ['e1'] }])
  })

  test('returns the run that is still waiting to begin, and notes who asked again', async () => {
    const run = await call('resync()')
    expect(await call('resync()')).toBe(run)
    expect(await commands()).toMatchObject([{ run_id: run }, { run_id: run }])
    const one = await call(`resync('employees', 'e1')`)
    expect(await call(`resync('employees', 'e2')`)).not.toBe(one)
    await store.pool.query(`update dirsync.sync_run set state = 'planning' where id = $1`, [run])
    expect(await call('resync()')).not.toBe(run)
  })

  test('of everybody takes a max age, and joins no run of another one', async () => {
    const all = await call(`resync('full')`)
    const some = await call(`resync('full', max_age => '6 hours')`)
    expect(some).not.toBe(all)
    expect(await call(`resync('full', null, '360 minutes')`)).toBe(some)
    expect(await call(`resync('full')`)).toBe(all)
    expect(await store.rows('select id, max_age::text from dirsync.sync_run order by id')).toEqual([
      { id: all, max_age: null },
      { id: some, max_age: '06:00:00' },
    ])
  })

  test('does not join a run that a person approved, which goes on without its breakers', async () => {
    const run = await plantRun(store, { state: 'requested', approved: true })
    expect(await call('resync()')).not.toBe(run)
  })

  test.each([
    [
      `resync('all')`,
      /there is no run of kind 'all'/,
      'changes, full, employees, departments, openids, orders, accounts or taxpayers',
    ],
    [
      'resync(null)',
      /there is no run of kind null/,
      'changes, full, employees, departments, openids, orders, accounts or taxpayers',
    ],
    [
      `resync('retry')`,
      /there is no run of kind 'retry'/,
      'changes, full, employees, departments, openids, orders, accounts or taxpayers',
    ],
    [`resync('employees')`, /needs the user id as key/, "select dirsync.resync('employees', 'e10001')"],
    [`resync('employees', '  ')`, /needs the user id as key/, "select dirsync.resync('employees', 'e10001')"],
    [`resync('full', 'e1')`, /a run of kind full takes no key/, undefined],
    [
      `resync('changes', max_age => '1 hour')`,
      /a run of kind changes takes no max_age/,
      "select dirsync.resync('full', max_age => '6 hours')",
    ],
    [
      `resync('full', max_age => '0')`,
      /has to be longer than nothing/,
      "select dirsync.resync('full', max_age => '6 hours')",
    ],
    [`resync('employees', repeat('x', 122))`, /'x{40}'… is too long for a user id/, undefined],
    [`resync('employees', repeat(' ', 121) || 'e1')`, /is too long for a user id/, undefined],
  ])('%s is refused with a hint', async (text, message, hint) => {
    const refused = call(text)
    await expect(refused).rejects.toThrow(message)
    await expect(refused).rejects.toMatchObject({ code: '22023', hint })
    expect(await runs()).toEqual([])
    expect(await commands()).toEqual([])
  })
})

describe('retry', () => {
  test('of a case requests a run that names it', async () => {
    const id = await fail(store)
    const run = await call('retry($1)', id)
    expect(await runs()).toMatchObject([{ id: run, kind: 'retry', keys: [String(id)] }])
    expect(await commands()).toMatchObject([{ name: 'retry', arguments: { id }, run_id: run }])
  })

  test('works for an ignored case, and not for a resolved or unknown one', async () => {
    const id = await fail(store)
    await call(`ignore($1, 'shared')`, id)
    expect(await call('retry($1)', id)).toBeGreaterThan(0)
    await store.pool.query(`update dirsync.dead_letter set state = 'resolved', resolved_at = now()`)
    await expect(call('retry($1)', id)).rejects.toThrow(`there is no unresolved case ${id}`)
    await expect(call('retry(4711)')).rejects.toMatchObject({ code: 'P0002' })
    await expect(call('retry(null)')).rejects.toThrow('there is no unresolved case null')
  })

  test('of a category requests one run for all of its open cases', async () => {
    const one = await fail(store)
    const other = await fail(store, { entity_key: 'e2' })
    await fail(store, { entity_key: 'e3', category: 'duplicate_email' })
    const ignored = await fail(store, { entity_key: 'e4' })
    await call(`ignore($1, 'shared')`, ignored)
    const run = await call(`retry_category('duplicate_mobile')`)
    expect(await runs()).toMatchObject([{ id: run, kind: 'retry', keys: [String(one), String(other)] }])
    expect(await commands()).toHaveLength(2)
  })

  test('of a category without open cases is refused with a hint', async () => {
    for (const category of [`'no_such'`, 'null'])
      await expect(call(`retry_category(${category})`)).rejects.toMatchObject({
        code: 'P0002',
        message: `there is no open case of category ${category}`,
        hint: 'select distinct category from dirsync.failed_syncs',
      })
  })
})

describe('ignore', () => {
  test('closes a case with its reason, and says who did', async () => {
    const id = await fail(store, { next_retry_at: new Date() })
    expect(await call('ignore($1, $2)', id, ' shared phone ')).toBe(id)
    expect(await caseOf(store, id)).toMatchObject({
      state: 'ignored',
      note: 'shared phone',
      next_retry_at: null,
    })
    expect((await story(store, id)).at(-1)).toEqual({
      event: 'ignored',
      actor: await me(),
      note: 'shared phone',
      run_id: null,
    })
    expect(await commands()).toMatchObject([
      { name: 'ignore', arguments: { id, reason: 'shared phone' }, dead_letter_id: id, run_id: null },
    ])
  })

  test.each(['null', `''`, `'  '`])('needs a reason, and %s is none', async reason => {
    const id = await fail(store)
    await expect(call(`ignore($1, ${reason})`, id)).rejects.toMatchObject({
      message: 'ignore needs a reason',
      hint: expect.stringContaining('select dirsync.ignore('),
    })
    expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
  })

  test('is refused for a case that is ignored, resolved or unknown', async () => {
    const id = await fail(store)
    await call(`ignore($1, 'once')`, id)
    await expect(call(`ignore($1, 'twice')`, id)).rejects.toThrow(`there is no open case ${id}`)
    await expect(call(`ignore(4711, 'x')`)).rejects.toMatchObject({ code: 'P0002' })
    expect(await commands()).toHaveLength(1)
  })

  test('lasts while HR gives the same row, and ends when it changes', async () => {
    const [same, other] = [hash(), hash()]
    const id = await fail(store, { source_hash: same })
    await call(`ignore($1, 'shared')`, id)
    expect(await fail(store, { source_hash: same, next_retry_at: new Date() })).toBe(id)
    expect(await caseOf(store, id)).toMatchObject({ state: 'ignored', occurrences: 2, next_retry_at: null })
    expect(await fail(store, { source_hash: other, last_run_id: 7 })).toBe(id)
    expect(await caseOf(store, id)).toMatchObject({ state: 'open', occurrences: 3, source_hash: other })
    expect((await story(store, id)).map(({ event, note }) => [event, note])).toEqual([
      ['opened', 'duplicate_mobile'],
      ['ignored', 'shared'],
      ['reopened', 'the HR row changed'],
    ])
  })

  test('of the deletion of a department lasts until HR opens and closes it again', async () => {
    const closed = (day: string) =>
      store.pool.query(
        `insert into dirsync.department (dept_code, active, closed_at) values ('D1', false, $1)
         on conflict (enterprise_code, dept_code) do update set closed_at = excluded.closed_at`,
        [day],
      )
    const of = { operation: 'delete-department', entity: 'department', entity_key: 'D1', field: '' }
    await closed('2026-01-01')
    const id = await fail(store, of)
    await call(`ignore($1, 'kept for the books')`, id)
    await fail(store, of)
    expect(await caseOf(store, id)).toMatchObject({ state: 'ignored', occurrences: 2 })
    await closed('2026-02-02')
    await fail(store, of)
    expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
  })

  test('ends when the same row fails for another reason', async () => {
    const of = { field: '', source_hash: hash() }
    const id = await fail(store, { ...of, category: 'no_permission' })
    await call(`ignore($1, 'agreed')`, id)
    await fail(store, { ...of, category: 'invalid_parameter' })
    expect(await caseOf(store, id)).toMatchObject({ state: 'open', category: 'invalid_parameter' })
    expect((await story(store, id)).at(-1)).toMatchObject({
      event: 'reopened',
      note: 'invalid_parameter',
    })
  })
})

test('what a period is noted as does not depend on the session that gives it', async () => {
  await transaction(store.pool, async reviewer => {
    await reviewer.query(`set local intervalstyle = 'iso_8601'`)
    await reviewer.query(`select dirsync.resync('full', max_age => '6 hours')`)
  })
  expect(await commands()).toMatchObject([{ arguments: { kind: 'full', max_age: '06:00:00' } }])
})

describe('snooze', () => {
  test('lets a case rest until a time, and keeps it resting when it fails meanwhile', async () => {
    const id = await fail(store)
    const until = new Date('2222-01-02T03:04:05Z')
    expect(await call('snooze($1, $2, $3)', id, until, 'back in January')).toBe(id)
    const resting = { state: 'snoozed', snooze_until: until, next_retry_at: until, note: 'back in January' }
    expect(await caseOf(store, id)).toMatchObject(resting)
    await fail(store, { next_retry_at: new Date() })
    expect(await caseOf(store, id)).toMatchObject({ ...resting, occurrences: 2 })
    expect((await story(store, id)).at(-1)).toMatchObject({ event: 'snoozed', note: 'back in January' })
    expect(await commands()).toMatchObject([
      { name: 'snooze', arguments: { id, reason: 'back in January' }, dead_letter_id: id },
    ])
  })

  test('is over once its time has come', async () => {
    const id = await fail(store)
    await call(`snooze($1, 'infinity')`, id)
    await store.pool.query(`update dirsync.dead_letter set snooze_until = now() - interval '1 second'`)
    await fail(store)
    expect(await caseOf(store, id)).toMatchObject({ state: 'open' })
  })

  // JavaScript knows no date beyond the year 275760, and reads infinity as a number.
  test.each(['infinity', '290000-01-01'])(
    'until %s is one until the last day that every reader knows',
    async end => {
      const id = await fail(store)
      await call(`snooze($1, $2)`, id, end)
      const last = new Date('9999-12-31T00:00:00Z')
      expect(await caseOf(store, id)).toMatchObject({ snooze_until: last, next_retry_at: last })
      const [noted] = await commands()
      expect(new Date(noted?.arguments.until)).toEqual(last)
    },
  )

  test('needs no reason, and keeps the note there is', async () => {
    const id = await fail(store)
    await call(`snooze($1, now() + interval '1 day', 'first')`, id)
    await call(`snooze($1, now() + interval '2 days')`, id)
    expect(await caseOf(store, id)).toMatchObject({ note: 'first' })
  })

  test.each(['null', 'now()', `now() - interval '1 hour'`, `'-infinity'`])(
    'refuses %s, which is no time in the future',
    async until => {
      const id = await fail(store)
      await expect(call(`snooze($1, ${until})`, id)).rejects.toMatchObject({
        message: 'snooze needs a time in the future',
        hint: expect.stringContaining('select dirsync.snooze('),
      })
    },
  )

  test('is refused for an ignored or unknown case', async () => {
    const id = await fail(store)
    await call(`ignore($1, 'shared')`, id)
    await expect(call(`snooze($1, 'infinity')`, id)).rejects.toThrow(`there is no open case ${id}`)
    await expect(call(`snooze(4711, 'infinity')`)).rejects.toMatchObject({ code: 'P0002' })
  })
})

// What a command says stands in its run, in lists and in the log.
test.each([
  [
    `lower_rate(5, now() + interval '1 hour', repeat('x', 2001))`,
    'the reason has 2001 characters and may have 2000',
  ],
  [
    `approve_part($1, jsonb_build_object('odd', repeat(' ', 20000) || 'no'))`,
    'the filter has 20013 characters and may have 20000',
  ],
  [
    `reject_part($1, jsonb_build_object('keys', array_fill('e1'::text, array[4000])))`,
    'the filter has 24010 characters and may have 20000',
  ],
])('%s is refused, because it is too long', async (text, message) => {
  const held = await plantRun(store, { state: 'held' })
  await store.pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason, active)
     values ($1, 'update-employee', 'e1', 'changed', true)`,
    [held],
  )
  const refused = call(text, ...(text.includes('$1') ? [held] : []))
  await expect(refused).rejects.toMatchObject({ code: '22023', message, hint: 'Shorten it.' })
  expect(await commands()).toEqual([])
})

test('a request to check HR is served at once', async () => {
  const id = await fail(store)
  const held = await plantRun(store, { state: 'held' })
  for (const text of ['resync()', `retry(${id})`, `retry_category('duplicate_mobile')`, `approve(${held})`]) {
    const { heard } = await listen()
    await call(text)
    expect(await heard).toBe('run')
  }
})

test('the shell user is noted beside the database user', async () => {
  const client = await store.pool.connect()
  await client.query(`set dirsync.actor = 'cli:someone'`)
  await client.query('select dirsync.resync()')
  client.release(true)
  expect(await runs()).toMatchObject([{ requested_by: `${await me()} (cli:someone)` }])
  expect(await commands()).toMatchObject([{ requested_by: `${await me()} (cli:someone)` }])
})

test.each([
  ['ignore', `select dirsync.ignore($1, 'why')`],
  ['undo', 'select dirsync.undo($1)'],
  ['ignore at a version', `select dirsync.ignore($1, 'why') from dirsync.expect_version($1, 1)`],
])('%s goes on beside an outcome, which writes the employee, then the case', async (name, statement) => {
  await store.pool.query(
    `insert into dirsync.employee (userid, active, source_hash) values ('e1', true, $1)`,
    [hash()],
  )
  const id = await fail(store)
  if (name === 'undo') await call(`ignore($1, 'why')`, id)
  const outcome = createClient(store.url, 'test')
  await outcome.connect()
  onTestFinished(() => outcome.end())
  await outcome.query('begin')
  await outcome.query(`update dirsync.employee set queried_at = now() where userid = 'e1'`)
  const decided = Promise.allSettled([call(statement.replace('select dirsync.', ''), id)]).then(
    ([end]) => end,
  )
  await until(async () => (await store.rows(WAITING_FOR_A_LOCK)).length > 0)
  await outcome.query('update dirsync.dead_letter set last_failed_at = now() where id = $1', [id])
  await outcome.query('commit')
  expect(await decided).toEqual({ status: 'fulfilled', value: expect.anything() })
})

test('the steps of one transaction have their times in the order of the steps', async () => {
  const id = await fail(store)
  await transaction(store.pool, async client => {
    await client.query(`select dirsync.ignore($1, 'agreed')`, [id])
    await client.query(`select dirsync.assign($1, 'mei')`, [id])
    await client.query('select dirsync.undo($1)', [id])
  })
  const latest = await store.rows(
    'select event from dirsync.dead_letter_event where dead_letter_id = $1 order by at desc limit 3',
    [id],
  )
  expect(latest.map(({ event }) => event)).toEqual(['undone', 'assigned', 'ignored'])
  const { rowCount } = await store.pool.query(
    'select distinct at from dirsync.dead_letter_event where dead_letter_id = $1',
    [id],
  )
  expect(rowCount).toBe(4)
})

describe('who begins, decides and forgets to commit', () => {
  const idle = 'show idle_in_transaction_session_timeout'

  test.each([
    ['resync()', '0', '1min'],
    ['resync()', '1h', '1min'],
    ['resync()', '45s', '45s'],
    ['comment($1, $2)', '0', '1min'],
    ['approve($1)', '0', '1min'],
  ])('is ended after a minute at most: %s with a timeout of %s', async (text, own, then) => {
    const id = text.startsWith('approve') ? await plantRun(store, { state: 'held' }) : await fail(store)
    const client = createClient(store.url, 'test')
    await client.connect()
    onTestFinished(() => client.end())
    await client.query(`set idle_in_transaction_session_timeout = '${own}'; begin`)
    await client.query(`select dirsync.${text}`, [id, 'called'].slice(0, text.split('$').length - 1))
    expect((await client.query(idle)).rows).toEqual([{ idle_in_transaction_session_timeout: then }])
    await client.query('commit')
    expect((await client.query(idle)).rows).toEqual([{ idle_in_transaction_session_timeout: own }])
  })
})

describe('undo', () => {
  const step = async (id: number) => {
    const { state, next_retry_at, snooze_until, note, assignee } = await caseOf(store, id)
    return { state, next_retry_at, snooze_until, note, assignee }
  }

  test.each([
    ['ignored', `ignore($1, 'agreed')`, {}],
    ['snoozed', `snooze($1, now() + interval '2 days', 'on leave')`, { state: 'awaiting_activation' }],
    ['assigned', `assign($1, 'mei')`, { assignee: 'li' }],
    [
      'ignored',
      `ignore($1, 'agreed')`,
      { state: 'snoozed', snooze_until: '2099-01-01 00:00:00.123456Z', note: 'n' },
    ],
  ])('of what was %s by %s restores the case exactly', async (event, act, differs) => {
    const id = await fail(store)
    for (const [column, value] of Object.entries(differs))
      await store.pool.query(`update dirsync.dead_letter set ${column} = $2 where id = $1`, [id, value])
    const before = await step(id)
    await call(act, id)
    expect(await step(id)).not.toEqual(before)
    await call(`comment($1, 'a comment changes nothing')`, id)
    expect(await call('undo($1)', id)).toBe(event)
    expect(await step(id)).toEqual(before)
    expect((await story(store, id)).at(-1)).toMatchObject({ event: 'undone', note: event, actor: await me() })
    expect((await commands()).at(-1)).toMatchObject({ name: 'undo', dead_letter_id: id })
    await expect(call('undo($1)', id)).rejects.toMatchObject({ code: 'DS409' })
  })

  test('takes back one step after the other, the latest that can be', async () => {
    const id = await fail(store)
    const before = await step(id)
    await call(`ignore($1, 'agreed')`, id)
    await call(`assign($1, 'mei')`, id)
    await call(`assign($1, 'li')`, id)
    for (const event of ['assigned', 'assigned', 'ignored']) {
      expect(await store.value('select event from dirsync.undoable($1)', [id])).toBe(event)
      expect(await call('undo($1)', id)).toBe(event)
    }
    expect(await step(id)).toEqual(before)
    expect(await store.value('select event from dirsync.undoable($1)', [id])).toBeNull()
    await expect(call('undo($1)', id)).rejects.toMatchObject({ code: 'DS409' })
  })

  test('of a later step leaves an earlier one alone if anything happened between them', async () => {
    const id = await fail(store)
    await call(`snooze($1, now() + interval '1 day')`, id)
    await fail(store)
    await call(`assign($1, 'mei')`, id)
    expect(await call('undo($1)', id)).toBe('assigned')
    expect(await store.value('select event from dirsync.undoable($1)', [id])).toBeNull()
    await expect(call('undo($1)', id)).rejects.toMatchObject({ code: 'DS409' })
  })

  test('is refused once anything has happened, and after ten minutes; what happened is said', async () => {
    const id = await fail(store)
    await expect(call('undo($1)', id)).rejects.toMatchObject({ code: 'P0002' })
    await call(`snooze($1, now() + interval '1 day')`, id)
    await fail(store)
    await expect(call('undo($1)', id)).rejects.toThrow(/has changed since you looked: it failed again/)
    await call(`ignore($1, 'agreed')`, id)
    await store.pool.query(`update dirsync.dead_letter_event set at = at - interval '11 minutes'`)
    await expect(call('undo($1)', id)).rejects.toThrow(/can be undone for ten minutes/)
    expect(await caseOf(store, id)).toMatchObject({ state: 'ignored' })
  })
})

test('wake ends a snooze and leaves the case as it was, without a run', async () => {
  const id = await fail(store, { state: 'retry_scheduled', next_retry_at: '2099-01-01 00:00:00Z' })
  const { next_retry_at } = await caseOf(store, id)
  await expect(call('wake($1)', id)).rejects.toMatchObject({ code: 'P0002' })
  await call(`snooze($1, now() + interval '2 days')`, id)
  await call('wake($1)', id)
  expect(await caseOf(store, id)).toMatchObject({
    state: 'retry_scheduled',
    snooze_until: null,
    next_retry_at,
  })
  expect(await runs()).toEqual([])
  expect((await commands()).at(-1)).toMatchObject({ name: 'wake', dead_letter_id: id })
})

test('wake leaves a case as it was before the first of several snoozes, whether the last was taken back or not', async () => {
  const given = {
    state: 'awaiting_activation',
    category: 'not_on_platform',
    next_retry_at: '2099-01-01 00:00:00Z',
  }
  const id = await fail(store, given)
  const before = await caseOf(store, id)
  const isAsBefore = async () => {
    await call('wake($1)', id)
    const { state, next_retry_at } = before
    expect(await caseOf(store, id)).toMatchObject({ state, next_retry_at, snooze_until: null })
  }
  const snooze = (days: number) => call(`snooze($1, now() + $2 * interval '1 day')`, id, days)
  await snooze(2)
  await snooze(3)
  await isAsBefore()
  await snooze(2)
  await snooze(3)
  await call('undo($1)', id)
  await isAsBefore()
})
