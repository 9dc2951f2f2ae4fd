import { describe, expect, test } from 'vitest'
import { WHOLE } from '../../src/hr/sources.ts'
import {
  AccountError,
  assertAccount,
  claimDeployment,
  MEMORY,
  readDeployment,
  switchAccount,
} from '../../src/sync/health/deployment.ts'
import { watermark } from '../../src/sync/runs/earlier-runs.ts'
import { worded } from '../texts/worded.ts'
import { caseOf, fail, hash, plant, plantRun, plantWork, story } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const OURS = { baseUrl: 'https://platform.test', appId: 'ours', enterpriseCode: '' }
const THEIRS = { ...OURS, appId: 'theirs' }

const change = (to = THEIRS, keepMemory = false) =>
  switchAccount(store.pool, to, { keepMemory, actor: 'cli:somebody' })
const count = (table: string) => store.value<number>(`select count(*) from dirsync.${table}`)

describe('whose memory it is', () => {
  test('of two accounts that start at the same moment one stays, with one id', async () => {
    const starts = await Promise.allSettled(
      Array.from({ length: 20 }, (_, i) => claimDeployment(store.pool, i % 2 ? OURS : THEIRS)),
    )
    const refused = starts.filter(start => start.status === 'rejected')
    expect(refused.map(({ reason }) => reason)).toEqual(Array(10).fill(expect.any(AccountError)))
    const ids = starts.flatMap(start => (start.status === 'fulfilled' ? [start.value.id] : []))
    expect(ids).toEqual(Array(10).fill((await readDeployment(store.pool))?.id))
  })

  test('a memory from before there was a row belongs to the first process that starts', async () => {
    await plant(store, 'employee', { userid: 'e1', acknowledged_hash: hash() })
    await claimDeployment(store.pool, OURS)
    expect(await count('employee')).toBe(1)
    await expect(claimDeployment(store.pool, THEIRS)).rejects.toThrow(AccountError)
  })

  test('a read-only process is refused with another account, and claims nothing', async () => {
    await assertAccount(store.pool, THEIRS)
    await claimDeployment(store.pool, OURS)
    await assertAccount(store.pool, OURS)
    await expect(assertAccount(store.pool, THEIRS)).rejects.toThrow(
      /memory of application ours at https:\/\/platform\.test, but .* name application theirs at/,
    )
  })

  test('another enterprise code is not another account', async () => {
    const { id } = await claimDeployment(store.pool, OURS)
    expect(await claimDeployment(store.pool, { ...OURS, enterpriseCode: 'E200' })).toMatchObject({ id })
    expect(await readDeployment(store.pool)).toMatchObject({ enterpriseCode: 'E200' })
  })

  test('each start stores the deployment’s name', async () => {
    await claimDeployment(store.pool, OURS, 'production')
    expect(await readDeployment(store.pool)).toMatchObject({ name: 'production' })
    expect(await claimDeployment(store.pool, OURS)).toMatchObject({ name: null })
  })

  test('a start that comes while the account is switched sees the new one', async () => {
    await claimDeployment(store.pool, OURS)
    const switching = await store.pool.connect()
    try {
      await switching.query('begin')
      await switching.query('lock table dirsync.deployment in exclusive mode')
      const start = claimDeployment(store.pool, OURS)
      start.catch(() => undefined) // it is awaited below
      await switching.query(`update dirsync.deployment set app_id = 'theirs'`)
      await switching.query('commit')
      await expect(start).rejects.toThrow(AccountError)
    } finally {
      switching.release()
    }
  })
})

describe('another account', () => {
  test('takes all that was learnt of the old one along, and leaves history', async () => {
    const { id } = await claimDeployment(store.pool, OURS)
    const run = await plantRun(store, { state: 'done', finished_at: new Date() })
    await plant(store, 'employee', { userid: 'e1', acknowledged_hash: hash(), platform_state: 'in_service' })
    await plant(store, 'department', { dept_code: 'D1', active: true })
    await plant(store, 'openid_binding', { userid: 'e1', seller_appid: 'mall0001', open_userid: 'o1' })
    await plantWork(store, 'e1', { run_id: run })
    await plant(store, 'field_block', { field: 'level' })
    await plant(store, 'halt', { scope: '*', category: 'credentials', message: 'm', remedy: 'r' })
    await plant(store, 'taxpayer', { identifier: 'T', taxpayer_nature: 1, taxpayer_name: 'N' })
    await plant(store, 'payment_order', { trade_no: 'P' })
    await plant(store, 'limit_account', { account_openid: 'A' })
    await plant(store, 'mirror_day', { day: '2026-01-01', read_at: new Date() })
    await plant(store, 'mirror_task', { run_id: run, position: 1 })
    await plant(store, 'learnt_rate', {
      ...{ gate: 'platform', version: 1, rate_per_second: 5 },
      ...{ changed_at: new Date(), leased_at_change: 1 },
    })
    await plant(store, 'attempt', {
      ...{ operation: 'update-employee', outcome: 'in_sync', entity_key: 'e1' },
      ...{ duration_ms: 1, started_at: new Date() },
    })

    expect(await change()).toMatchObject({
      from: { appId: 'ours' },
      forgotten: { employees: 1, departments: 1, open_ids: 1, outbox: 1, payment_orders: 1, taxpayers: 1 },
    })
    for (const table of MEMORY) expect(`${table}: ${await count(table)}`).toBe(`${table}: 0`)
    for (const table of ['sync_run', 'attempt']) expect(`${table}: ${await count(table)}`).toBe(`${table}: 1`)
    const now = await readDeployment(store.pool)
    expect(now).toMatchObject({ appId: 'theirs' })
    expect(now?.id).not.toBe(id)
    expect(await store.rows('select name, arguments, requested_by from dirsync.command')).toEqual([
      {
        name: 'switch_account',
        arguments: expect.objectContaining({
          from: 'application ours at https://platform.test',
          to: 'application theirs at https://platform.test',
          keep_memory: false,
        }),
        requested_by: expect.stringContaining('(cli:somebody)'),
      },
    ])
  })

  test('ends open and accepted cases as obsolete, with a note, and the runs that were not done', async () => {
    await claimDeployment(store.pool, OURS)
    const cases = [await fail(store), await fail(store, { field: 'email' })]
    await store.pool.query('select dirsync.ignore($1, $2)', [cases[1], 'a shared mailbox'])
    const [held, waiting] = [
      await plantRun(store, { state: 'held' }),
      await plantRun(store, { state: 'requested' }),
    ]
    await change()
    for (const id of cases) {
      expect(worded(await caseOf(store, id))).toMatchObject({
        ...{ state: 'resolved', resolution: 'obsolete', next_retry_at: null },
        resolved_by: expect.stringContaining('cli:somebody'),
      })
      expect((await story(store, id)).at(-1)).toMatchObject({
        event: 'resolved',
        note: expect.stringContaining('another account'),
      })
    }
    expect((await story(store, cases[1] as number)).map(({ note }) => note)).toContain('a shared mailbox')
    const states = await store.rows(
      `select id::int, state, dirsync.in_language('en', message) as message from dirsync.sync_run order by id`,
    )
    const message = expect.stringContaining('another account')
    expect(states).toEqual([
      { id: Number(held), state: 'rejected', message },
      { id: Number(waiting), state: 'failed', message },
    ])
  })

  test('has every row of HR read once more, whatever the old one had seen', async () => {
    await claimDeployment(store.pool, OURS)
    await store.pool.query(`update dirsync.deployment set since = now() - interval '1 day'`)
    await plantRun(store, {
      ...{ state: 'done', planned_at: new Date(Date.now() - 1000), finished_at: new Date(), read_all: true },
      source: { newest: '2026-01-01T00:00:00Z' },
    })
    expect(await watermark(store.pool, WHOLE)).toBeInstanceOf(Date)
    await change()
    expect(await watermark(store.pool, WHOLE)).toBeNull()
  })

  test('has confirmed nobody yet, whatever the old one had confirmed', async () => {
    await claimDeployment(store.pool, OURS)
    await plant(store, 'attempt', {
      ...{ operation: 'update-employee', outcome: 'in_sync', entity_key: 'e1' },
      ...{ duration_ms: 1, started_at: new Date() },
    })
    await change()
    await plant(store, 'employee', { userid: 'e1' })
    expect(await store.value('select dirsync.confirmed_at(e) from dirsync.employee e')).toBeNull()
  })

  test('at another address only, with --keep-memory, forgets nothing', async () => {
    const { id, since } = await claimDeployment(store.pool, OURS)
    await plant(store, 'employee', { userid: 'e1', acknowledged_hash: hash() })
    const moved = { ...OURS, baseUrl: 'https://moved.test' }
    expect(await change(moved, true)).toMatchObject({ forgotten: null })
    expect(await count('employee')).toBe(1)
    expect(await readDeployment(store.pool)).toMatchObject({ ...moved, id, since })
  })

  test('that is remembered already changes nothing', async () => {
    await claimDeployment(store.pool, OURS)
    await plant(store, 'employee', { userid: 'e1' })
    expect(await change(OURS)).toBeNull()
    expect(await count('employee')).toBe(1)
    expect(await count('command')).toBe(0)
  })

  test('has to wait until every process has stopped', async () => {
    await claimDeployment(store.pool, OURS)
    const process = { id: hash(), host: 'here', pid: 17, roles: ['worker'], version: '1' }
    await plant(store, 'process', process)
    for (const keepMemory of [false, true])
      await expect(change(THEIRS, keepMemory)).rejects.toThrow(/running as here \(17\)/)
    await store.pool.query(`update dirsync.process set heartbeat_at = now() - interval '1 minute'`)
    expect(await change()).not.toBeNull()
  })

  test.each([
    ['unknown', null],
    ['accepted', new Date()],
  ])(
    'has to wait for money of which only the old one can tell what became: %s',
    async (state, settled_at) => {
      await claimDeployment(store.pool, OURS)
      const refund = { outer_trade_no: 'T1', refund_amount: 1, requested_by: 'me', state, settled_at }
      await plant(store, 'refund', { ...refund, outer_refund_no: 'R1' })
      // Also with --keep-memory: the order record of another application is asked by other numbers.
      for (const keepMemory of [false, true])
        await expect(change(THEIRS, keepMemory)).rejects.toThrow(/what became of R1 is not known/)
      expect(await readDeployment(store.pool)).toMatchObject({ appId: 'ours' })
      const moved = { ...OURS, baseUrl: 'https://moved.test' }
      expect(await change(moved, true)).not.toBeNull()
      await store.pool.query(
        `update dirsync.refund set state = 'accepted', settled_at = now(), shown_at = now()`,
      )
      expect(await change()).not.toBeNull()
    },
  )

  test('every table is either forgotten or history', async () => {
    const history = [
      ...[
        'sync_run',
        'run_event',
        'plan_decision',
        'attempt',
        'dead_letter',
        'dead_letter_event',
        'command',
        'bulk_action',
        'bulk_item',
        'call_minute',
        'call_hour',
        'status_history',
        'refund',
        'refund_check',
        'topup',
        'dry_run',
        'dry_run_entity',
      ],
      // Derived from others, or forgotten but for a person's pause.
      ...['tally', 'run_count', 'halt'],
      ...['migration', 'deployment', 'process', 'job_tick', 'job_schedule', 'hr_source', 'hr_delivery'],
      // Access to the console stays; a lower rate that a person set ends by itself.
      ...['console_user', 'console_session', 'api_token', 'sign_in_key', 'sign_in_flow', 'sign_in_failure'],
      ...['sign_in_link', 'case_view', 'examination', 'setup'],
      ...['idempotency_key', 'rate_cap', 'text'],
      // The limit of creations holds for an hour, for all accounts.
      'token_creation',
      // What people were told. An alert about the old account is over once it is no longer found.
      ...['alert', 'alert_message', 'alert_notice', 'alert_channel', 'alert_check', 'alert_mute', 'notice'],
      ...['quiet_hours', 'heartbeat_call'],
    ]
    const tables = await store.rows<{ relname: string }>(
      `select relname from pg_class where relnamespace = 'dirsync'::regnamespace and relkind in ('r', 'p')`,
    )
    expect(tables.map(({ relname }) => relname).sort()).toEqual([...MEMORY, ...history].sort())
  })
})
