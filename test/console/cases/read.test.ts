import { describe, expect, test } from 'vitest'
import {
  type CaseOrder,
  caseStory,
  countCases,
  everyCase,
  groupCases,
  listCasesPage,
} from '../../../src/console/cases/read.ts'
import { placeholders } from '../../../src/lib/database.ts'
import {
  type CaseFilter,
  caseFilterSchema,
  describeFilter,
  filterQuery,
  narrow,
  UNASSIGNED,
} from '../../../src/sync/cases/case-filter.ts'
import { fail, hash, plant, plantRun } from '../../sync/planted.ts'
import { StoreUnderTest } from '../../sync/store-under-test.ts'

const store = new StoreUnderTest()

/** Case number `n` of employee e1, e2 … Returns its number. */
function planted(n: number, differs: Record<string, unknown> = {}): Promise<number> {
  const { state = 'open', ...others } = differs
  return store
    .value<number>(
      `insert into dirsync.dead_letter (entity, entity_key, operation, field, category, message, remedy, state,
         note, resolved_at, first_failed_at, last_failed_at)
       values ('employee', $1, 'update-employee', 'mobile', 'duplicate_mobile', '[]', '[]', $2, 'n',
         case when $2 = 'resolved' then now() end, now() - $3 * interval '1 day', now() - $3 * interval '1 minute')
       returning id`,
      [`e${n}`, state, n],
    )
    .then(async id => {
      for (const [column, value] of Object.entries(others))
        await store.pool.query(`update dirsync.dead_letter set ${column} = $2 where id = $1`, [id, value])
      return id
    })
}

async function found(filter: CaseFilter, order?: CaseOrder): Promise<string[]> {
  const { items, next } = await listCasesPage(store.pool, filter, { limit: 100, order })
  expect(next).toBeNull()
  return items.map(({ entity_key }) => entity_key)
}

describe('a filter', () => {
  const address =
    'states=open,blocked&categories=duplicate_mobile&code=1002218007&entity=employee&operation=update-employee' +
    '&field=mobile&enterprise=C1&key=e10&keys=e1,C1/e2&department=D1&assignee=-&run=7&olderThan=3d&younger_than=4w' +
    '&text=called&blockedBy=e9'

  test('is read from an address, and is one again', () => {
    const filter = caseFilterSchema.parse(Object.fromEntries(new URLSearchParams(address)))
    expect(filter).toEqual({
      states: ['open', 'blocked'],
      categories: ['duplicate_mobile'],
      code: 1002218007,
      entity: 'employee',
      operation: 'update-employee',
      field: 'mobile',
      enterprise: 'C1',
      key: 'e10',
      keys: ['e1', 'C1/e2'],
      department: 'D1',
      assignee: '-',
      run: 7,
      olderThan: '3d',
      younger_than: '4w',
      text: 'called',
      blockedBy: 'e9',
    })
    expect(decodeURIComponent(filterQuery(filter).toString())).toBe(address)
    expect(describeFilter({ states: ['open', 'blocked'], run: 7 })).toEqual([
      { name: 'states', values: ['open', 'blocked'] },
      { name: 'run', values: ['7'] },
    ])
  })

  test('takes repeated parameters, and leaves out those of others', () => {
    expect(caseFilterSchema.parse({ states: ['open', 'snoozed'], page: '3' })).toEqual({
      states: ['open', 'snoozed'],
    })
    expect(caseFilterSchema.parse({})).toEqual({})
  })

  test.each([
    { states: 'no_such' },
    { code: 'x' },
    { olderThan: 'long' },
    { key: 'x'.repeat(121) },
    { keys: Array(51).fill('e1').join(',') },
    { keys: 'e1,' },
    { run: '-1' },
  ])('refuses %j', query => {
    expect(caseFilterSchema.safeParse(query).success).toBe(false)
  })
})

describe('a list of cases', () => {
  test('is sorted by state, cause, assignee and next try, page by page and from an index', async () => {
    await planted(1, { state: 'snoozed', assignee: 'mei', next_retry_at: '2026-12-02' })
    await planted(2, { state: 'open', category: 'left_hr', next_retry_at: '2026-12-01' })
    await planted(3, { state: 'blocked', assignee: 'li' })
    await planted(4, { state: 'resolved' })
    const orders: [CaseOrder, string[]][] = [
      ['state', ['e3', 'e2', 'e1']],
      ['state_backwards', ['e1', 'e2', 'e3']],
      ['cause', ['e1', 'e3', 'e2']],
      ['cause_backwards', ['e2', 'e3', 'e1']],
      ['assignee', ['e2', 'e3', 'e1']],
      ['assignee_backwards', ['e1', 'e3', 'e2']],
      ['next_try', ['e2', 'e1', 'e3']],
      ['next_try_backwards', ['e3', 'e1', 'e2']],
    ]
    for (const [order, expected] of orders) {
      expect(await found({}, order), order).toEqual(expected)
      const seen: string[] = []
      for (let after: string | null = null, page = 0; page === 0 || after; page++) {
        const { items, next } = await listCasesPage(store.pool, {}, { after, limit: 1, order })
        seen.push(...items.map(({ entity_key }) => entity_key))
        after = next
      }
      expect(seen, order).toEqual(expected)
    }
    expect(await found({ states: ['resolved'] }, 'state')).toEqual(['e4'])
    expect(await found({ categories: ['duplicate_mobile'] }, 'next_try')).toEqual(['e1', 'e3'])
    const { rows } = await store.pool.query(
      `select indexname from pg_indexes where indexname ~ '^dead_letter_open_(state|cause|assignee|next_try)$'`,
    )
    expect(rows).toHaveLength(4)
  })

  test('has of a bare user id those of every enterprise, once HR has none without one', async () => {
    await planted(1, { enterprise_code: 'C1' })
    await plant(store, 'employee', { userid: 'e1' })
    expect(await found({ keys: ['e1'] })).toEqual([])
    await store.rows('update dirsync.employee set vanished_at = now()')
    expect(await found({ keys: ['e1'] })).toEqual(['e1'])
  })

  test('has what is neither resolved nor ignored, the latest failure first', async () => {
    await planted(2)
    await planted(1)
    await planted(3, { state: 'snoozed' })
    await planted(4, { state: 'ignored' })
    await planted(5, { state: 'resolved' })
    expect(await found({})).toEqual(['e1', 'e2', 'e3'])
    expect(await found({}, 'oldest')).toEqual(['e3', 'e2', 'e1'])
    expect(await found({ states: ['resolved', 'ignored', 'open'] })).toEqual(['e1', 'e2', 'e4', 'e5'])
    expect(await found({ states: ['resolved'] }, 'oldest')).toEqual(['e5'])
    expect(await found({}, 'newest')).toEqual(['e1', 'e2', 'e3'])
    expect(await found({}, 'earliest')).toEqual(['e3', 'e2', 'e1'])
    await planted(10, { entity_key: 'E10', occurrences: 7, state: 'blocked' })
    expect(await found({}, 'most')).toEqual(['E10', 'e3', 'e1', 'e2'])
    expect(await found({}, 'fewest')).toEqual(['e2', 'e1', 'e3', 'E10'])
    expect(await found({}, 'key')).toEqual(['e1', 'E10', 'e2', 'e3'])
    expect(await found({ categories: ['duplicate_mobile'] }, 'key_backwards')).toEqual([
      'e3',
      'e2',
      'E10',
      'e1',
    ])
  })

  test.each<[CaseFilter, string[]]>([
    [{ categories: ['left_hr'] }, ['e2']],
    [{ categories: ['left_hr', 'duplicate_mobile'], states: ['open'] }, ['e1', 'e2', 'E10', 'e11']],
    [{ categories: ['left_hr', 'duplicate_mobile'], states: ['resolved', 'ignored'] }, ['e12', 'e13']],
    [{ code: 1002218007 }, ['e3']],
    [{ code: 1002218007, states: ['resolved'] }, ['e12']],
    [{ entity: 'department' }, ['D1']],
    [{ operation: 'bind-openid' }, ['e5']],
    [{ field: 'email' }, ['e6']],
    [{ enterprise: 'C1' }, ['e7']],
    [{ key: 'E1' }, ['e1', 'E10', 'e11']],
    [{ key: 'e1', states: ['resolved', 'ignored'] }, ['e12', 'e13']],
    [{ keys: ['e1', 'E10', 'E11', 'D1', 'x/e2'] }, ['e1', 'E10']],
    [{ keys: ['e7', 'C1/e1', '/e2'] }, ['e7']],
    [{ keys: ['C1/e7', 'C2/e7'] }, ['e7']],
    [{ keys: ['C2/e7'] }, []],
    [{ key: '10' }, []],
    [{ key: '%' }, []],
    [{ key: 'nov' }, ['ivanov_8']],
    [{ key: 'v_8' }, ['ivanov_8']],
    [{ key: 'vx8' }, []],
    [{ assignee: 'mei' }, ['e9']],
    [{ assignee: UNASSIGNED, states: ['snoozed'] }, ['e3']],
    [{ run: 7 }, ['e1', 'e2']],
    [{ olderThan: '10d' }, ['E10', 'e11']],
    [{ younger_than: '3d', olderThan: '1d' }, ['e1', 'e2']],
    [{ younger_than: '13d', states: ['resolved', 'ignored'] }, ['e12']],
    [{ department: 'D1' }, ['e1', 'D1']],
    [{ from: new Date(Date.now() - 210_000).toISOString() }, ['e1', 'e2', 'e3']],
    [{ to: new Date(Date.now() - 570_000).toISOString(), states: ['open'] }, ['E10', 'e11']],
    [{ department: 'D1', states: ['ignored'] }, ['e13']],
    [{ department: 'd1' }, []],
    [{ text: 'MONDAY' }, ['e1', 'e2']],
    [{ text: '100%' }, ['e2']],
    [{ text: 'duplicate' }, []],
    [{ blockedBy: 'e1' }, ['e11']],
  ])('is filtered by %j', async (filter, expected) => {
    await planted(1, { first_run_id: 7, last_run_id: 9 })
    await planted(2, { category: 'left_hr', last_run_id: 7 })
    await planted(3, { platform_code: 1002218007, state: 'snoozed' })
    await planted(4, { entity: 'department', entity_key: 'D1', state: 'blocked' })
    await planted(5, { operation: 'bind-openid', state: 'blocked' })
    await planted(6, { field: 'email', state: 'blocked' })
    await planted(7, { enterprise_code: 'C1', state: 'blocked' })
    await planted(8, { entity_key: 'ivanov_8', state: 'blocked' })
    await planted(9, { assignee: 'mei', state: 'snoozed' })
    await planted(10, { entity_key: 'E10' })
    await planted(11, { blocked_by: 'e1' })
    await planted(12, { state: 'resolved', platform_code: 1002218007 })
    await planted(13, { state: 'ignored' })
    for (const [userid, dept_code] of Object.entries({ e1: 'D1', e2: 'D2', e13: 'D1', D1: 'D9' }))
      await plant(store, 'employee', { userid, dept_code, platform_state: 'in_service' })
    await store.pool.query(
      `insert into dirsync.dead_letter_event (dead_letter_id, event, note)
       select d.id, v.event, v.note
       from (values ('e1', 'commented', 'called on Monday'), ('e2', 'snoozed', 'until monday, 100% sure'),
                    ('e3', 'opened', 'duplicate_mobile')) v (key, event, note)
       join dirsync.dead_letter d on d.entity_key = v.key`,
    )
    expect(await found(filter)).toEqual(expected)
    expect(await countCases(store.pool, filter)).toEqual({ count: expected.length, more: false })
  })

  test.each<[CaseFilter, CaseOrder]>([
    [{}, 'latest'],
    [{}, 'oldest'],
    [{ categories: ['duplicate_mobile', 'left_hr'] }, 'latest'],
    [{ key: 'e' }, 'latest'],
    [{ states: ['open', 'resolved'] }, 'latest'],
    [{ states: ['open', 'resolved'] }, 'earliest'],
    [{}, 'newest'],
    [{}, 'most'],
    [{ categories: ['duplicate_mobile', 'left_hr'] }, 'fewest'],
    [{}, 'key'],
    [{ categories: ['duplicate_mobile', 'left_hr'] }, 'key_backwards'],
  ])(
    '%j, %s first, is read page by page, each case once, also those of one moment',
    async (filter, order) => {
      for (let n = 1; n <= 23; n += 1)
        await planted(n, {
          category: n % 3 ? 'duplicate_mobile' : 'left_hr',
          occurrences: 1 + (n % 4),
          ...(n > 9 && n < 15
            ? {
                first_failed_at: '2026-01-01 00:00:00.000001Z',
                last_failed_at: '2026-01-01 00:00:00.000001Z',
              }
            : {}),
        })
      const seen: number[] = []
      let after: string | null = null
      do {
        const page = await listCasesPage(store.pool, filter, { limit: 4, after, order })
        expect(page.items.length).toBeLessThanOrEqual(4)
        seen.push(...page.items.map(({ id }) => id))
        after = page.next
      } while (after !== null)
      const whole = await listCasesPage(store.pool, filter, { limit: 100, order })
      expect(seen).toEqual(whole.items.map(({ id }) => id))
      expect(new Set(seen).size).toBe(23)
    },
  )
})

test.each<[CaseOrder, number]>([
  ['latest', 501],
  ['earliest', 1],
])(
  'all cases in the order of the %s failure are each read once, also of those that fail meanwhile',
  async (order, n) => {
    await store.pool.query(
      `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state, last_failed_at)
     select 'employee', 'e' || n, 'update-employee', 'invalid_mobile_area', '[]', '[]', 'open', now() - n * interval '1 minute'
     from generate_series(1, 501) as n`,
    )
    const read: string[] = []
    for await (const { entity_key } of everyCase(store.pool, {}, order)) {
      // Of the page that is read last: it fails again once the first has been read.
      if (read.length === 0)
        await store.pool.query(
          `update dirsync.dead_letter set last_failed_at = now() where entity_key in ('e501', $1)`,
          [entity_key],
        )
      read.push(entity_key)
    }
    expect(read).toHaveLength(501)
    expect(new Set(read).size).toBe(501)
    expect(read.at(-1)).toBe(`e${n}`)
  },
)

test('a part of a key is looked for in an index alone, without the cases themselves', async () => {
  const { values, place } = placeholders()
  const client = await store.pool.connect()
  try {
    // Among several indexes, which one is taken depends on what the pages hold; left alone, it shows whether it has what is asked.
    await client.query(`begin; set local enable_seqscan = off; set local enable_bitmapscan = off`)
    await client.query(`do $$ declare name text; begin
      alter table dirsync.dead_letter drop constraint dead_letter_pkey cascade;
      for name in select indexrelid::regclass::text from pg_index
        where indrelid = 'dirsync.dead_letter'::regclass and indexrelid <> 'dirsync.dead_letter_open_part'::regclass
      loop execute 'drop index ' || name; end loop; end $$`)
    const { rows } = await client.query(`explain ${narrow({ key: 'part' }, place)}`, values)
    expect(rows.map(row => row['QUERY PLAN']).join('\n')).toContain(
      'Index Only Scan using dead_letter_open_part',
    )
  } finally {
    await client.query('rollback')
    client.release()
  }
})

test('more cases than the cap are counted up to it', async () => {
  for (let n = 1; n <= 5; n += 1) await planted(n, { state: 'resolved' })
  expect(await countCases(store.pool, { states: ['resolved'] }, { cap: 4 })).toEqual({ count: 4, more: true })
  expect(await countCases(store.pool, { states: ['resolved'] }, { cap: 5 })).toEqual({
    count: 5,
    more: false,
  })
})

test('what is unresolved is grouped by its cause, the most frequent first', async () => {
  const often = { platform_code: 1002218007 }
  await planted(1, often)
  await planted(2, { ...often, state: 'blocked', occurrences: 4 })
  await planted(3, { ...often, state: 'snoozed' })
  await planted(4, { ...often, state: 'ignored' })
  await planted(5, { ...often, state: 'resolved' })
  await planted(6, { ...often, state: 'retrying' })
  await planted(7, { category: 'left_hr' })
  const groups = await groupCases(store.pool)
  const edge = (which: string, of: string[]) =>
    store.value<Date>(`select ${which} from dirsync.dead_letter where entity_key = any ($1)`, [of])
  const four = ['e1', 'e2', 'e3', 'e6']
  expect(groups).toEqual([
    {
      ...{ category: 'duplicate_mobile', platform_code: 1002218007 },
      ...{ count: 4, open: 2, snoozed: 1, waiting: 0, retrying: 1, failures: 7 },
      oldest: await edge('min(first_failed_at)', four),
      newest: await edge('max(last_failed_at)', four),
    },
    {
      ...{ category: 'left_hr', platform_code: null },
      ...{ count: 1, open: 1, snoozed: 0, waiting: 0, retrying: 0, failures: 1 },
      oldest: await edge('min(first_failed_at)', ['e7']),
      newest: await edge('max(last_failed_at)', ['e7']),
    },
  ])
  await fail(store, { entity_key: 'e1' })
  expect(
    (await groupCases(store.pool)).find(({ platform_code }) => platform_code === 1002218007),
  ).toMatchObject({
    count: 3,
    failures: 6,
  })
})

test('the story of a case includes what surrounds it', async () => {
  const run = await plantRun(store)
  const id = await fail(store, { blocked_by: 'e9', last_run_id: run })
  const other = await fail(store, { field: 'email', category: 'duplicate_email' })
  await fail(store, { entity_key: 'e2' })
  const holders = await fail(store, { entity_key: 'e9', field: 'dept_code', category: 'missing_department' })
  const source = hash()
  await plant(store, 'employee', {
    ...{ userid: 'e9', source_hash: source, acknowledged_hash: source },
    ...{ platform_state: 'in_service', dept_code: 'D1' },
  })
  for (const execution of [1, 2])
    await plant(store, 'attempt', {
      ...{ operation: 'update-employee', entity_key: 'e1', run_id: run, outcome: 'parked', execution },
      ...{ started_at: new Date(), duration_ms: execution },
    })
  const told = await caseStory(store.pool, id)
  expect(told).toMatchObject({
    id,
    assignee: null,
    events: [{ event: 'opened' }],
    swapped_with: [],
    others: [{ id: other, category: 'duplicate_email' }],
    blocker: {
      userid: 'e9',
      employee: { active: true, in_sync: true, platform_state: 'in_service', dept_code: 'D1' },
      cases: [{ id: holders }],
    },
    attempts: [
      { duration_ms: 2, run_id: run, outcome: 'parked' },
      { duration_ms: 1, run_id: run, outcome: 'parked' },
    ],
  })
  expect(await caseStory(store.pool, other)).toMatchObject({ blocker: null, others: [{ id }] })
  expect(await caseStory(store.pool, 4711)).toBeNull()
})
