import { beforeAll, describe, expect, test } from 'vitest'
import type { DryRunSummary } from '../../src/sync/plan/dry-run-reading.ts'
import { accessOf, ConsoleUnderTest, keyOf } from './console-under-test.ts'

/* What every list does: paging, refusals, its page and its export. The order and the filters of each have tests of their own. */

const console = new ConsoleUnderTest(() => ({ MIRRORS: 'orders,accounts,taxpayers' }))

/** Every list, by an address that gives seven rows of it. */
const LISTS: Record<string, string> = {
  '/access/sessions': '/access/sessions?user=anna',
  '/alerts/history': '/alerts/history?rule=held_run',
  '/audit': '/audit?who=lists',
  '/bulk/:id': '/bulk/1',
  '/cases': '/cases?categories=left_hr',
  '/departments': '/departments?enterprise=A',
  '/employees': '/employees?status=waiting',
  '/mapping/dry-runs': '/mapping/dry-runs',
  '/mapping/dry-runs/:id': '/mapping/dry-runs/1?what=changes',
  '/mirrors/accounts': '/mirrors/accounts?enterprise=A',
  '/mirrors/orders': '/mirrors/orders?enterprise=A',
  '/mirrors/taxpayers': '/mirrors/taxpayers?enterprise=A',
  '/money': '/money?since=2026-01-01',
  '/runs': '/runs?kind=changes',
  '/runs/:id/plan': '/runs/1/plan?reason=changed',
  '/work': '/work?operation=update-employee',
}
const lists = Object.entries(LISTS)

/** Seven of each, three of one moment; and one that the address leaves out. */
async function plantAll(): Promise<void> {
  await console.pool.query(`
    create temporary view seed as
      select i, '2026-11-01Z'::timestamptz + i / 3 * interval '1 hour' as at from generate_series(1, 7) i;
    insert into dirsync.console_user (name, source, role) values ('anna', 'key', 'viewer'), ('other', 'key', 'viewer');
    insert into dirsync.console_session (id_hash, user_name, via, created_at, expires_at, address, user_agent)
      select sha256(('s' || i)::bytea), 'anna', 'key', at, now() + interval '1 hour', '::1', 'test' from seed
      union all select sha256('other'), 'other', 'key', now(), now() + interval '1 hour', '::1', 'test';
    insert into dirsync.alert (rule, subject, severity, state, since, raised_at, gone_at, ended_at)
      select 'held_run', i::text, 'warning', 'ended', at, at, at, at from seed
      union all select 'halt', '', 'critical', 'ended', now(), now(), now(), now();
    insert into dirsync.command (name, requested_by, requested_at, arguments, reason)
      select 'resync', '=lists', at, '{"kind": "full"}', '=1+1' from seed;
    insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state, last_failed_at)
      select 'employee', '-' || i, 'update-employee', 'left_hr', '[]'::jsonb, '[]'::jsonb,
             (array['open', 'blocked', 'snoozed'])[i % 3 + 1], at from seed
      union all select 'employee', 'other', 'update-employee', 'duplicate_email', '[]', '[]', 'open', now();
    insert into dirsync.bulk_action (action, total) values ('retry', 7);
    insert into dirsync.bulk_item (bulk_id, dead_letter_id, version)
      select 1, id, version from dirsync.dead_letter where category = 'left_hr';
    insert into dirsync.department (enterprise_code, dept_code, active) select 'A', 'D' || i, true from seed
      union all select 'B', 'D', true;
    insert into dirsync.employee (userid, source_hash, acknowledged_hash)
      select 'e' || i, gen_random_uuid(), null from seed union all select 'other', md5('')::uuid, md5('')::uuid;
    insert into dirsync.dry_run (mapping, requested_at, address, state, finished_at)
      select 'select 1', at, '10.1.2.3', 'cancelled', at from seed;
    insert into dirsync.dry_run_entity (dry_run_id, enterprise_code, entity_key, reason)
      select 1, '', 'e' || i, 'changes' from seed union all select 1, '', 'other', 'appears';
    insert into dirsync.limit_account (enterprise_code, account_openid) select 'A', 'a' || i from seed
      union all select 'B', 'a';
    insert into dirsync.pending (operation, enterprise_code, entity_key, priority, enqueued_at)
      select 'update-employee', '', 'e' || i, 3, case i % 2 when 0 then now() end from seed
      union all select 'delete-department', 'A', 'D1', 5, null;
    insert into dirsync.payment_order (enterprise_code, trade_no, created_at) select 'A', 't' || i, at from seed
      union all select 'B', 't', now();
    insert into dirsync.taxpayer (enterprise_code, identifier, taxpayer_nature, taxpayer_name)
      select 'A', 'T' || i / 4, i % 2 + 1, 'Example ' || i from seed union all select 'B', 'T', 1, 'Example';
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at, settled_at)
      select 'r' || i, 'o' || i, 1, case i % 2 when 0 then 'unknown' else 'accepted' end, 'ann', at,
             case i % 2 when 0 then null else at end
      from seed;
    insert into dirsync.sync_run (kind, state, requested_by, requested_at, planned, plan)
      select 'changes', 'held', 'cron', at, 7, '{"reasons": {"changed": 7}}'::jsonb from seed
      union all select 'full', 'done', 'cron', now(), null, null;
    insert into dirsync.planned_work (run_id, operation, entity_key, reason)
      select 1, 'update-employee', 'e' || i, 'changed' from seed
      union all select 1, 'update-employee', 'other', 'vanished'`)
  const compared: DryRunSummary = {
    ...{ rows: 8, keyless: 0, inScope: 8, rowsToday: 8, stored: 8, empty: {}, planned: { changed: 8 } },
    ...{ verdict: 'running', verdictMessage: null, compared: { changes: 7, appears: 1 } },
    ...{ columns: [], departments: [], broken: [], brokenToday: [], addedColumns: [], removedColumns: [] },
  }
  await console.pool.query(`update dirsync.dry_run set state = 'done', summary = $1 where id = 1`, [compared])
}

let planted: Promise<void> | undefined
const plantOnce = () => {
  planted ??= plantAll()
  return planted
}

interface Listed {
  items: object[]
  next: string | null
}

async function listed(address: string): Promise<Listed> {
  const answer = await console.ask('admin', 'GET', `/api/v1${address}`)
  expect(answer.statusCode, `${address} ${answer.body}`).toBe(200)
  const { items, next } = answer.json()
  return { items, next }
}

const queryOf = (address: string) => Object.fromEntries(new URL(address, 'http://console').searchParams)
const also = (address: string, query: string) => `${address}${address.includes('?') ? '&' : '?'}${query}`

test('every list is among them', () => {
  const paged = console.routes.filter(({ schema }) => 'cursor' in Object(Object(schema?.querystring).shape))
  const found = paged.map(({ url }) => keyOf('GET', url).slice('GET '.length))
  expect([...new Set(found)].sort()).toEqual(Object.keys(LISTS))
})

test.each(lists.filter(([path]) => !path.includes(':')))('%s without a row says so', async path => {
  // The audit has the tokens of this test.
  const { body } = await console.ask('admin', 'GET', path === '/audit' ? '/audit?who=nobody' : path)
  expect(body).toContain('class="empty"')
})

describe('the list', () => {
  beforeAll(plantOnce)

  test.each(lists)('%s comes page by page, each row once, to programs and to people', async (_, address) => {
    const whole = await listed(also(address, 'limit=200'))
    expect(whole).toEqual({ items: expect.any(Array), next: null })
    expect(whole.items).toHaveLength(7)
    const seen: object[] = []
    let next: string | null = null
    do {
      const here: string = also(address, `limit=2${next === null ? '' : `&cursor=${next}`}`)
      const page: Listed = await listed(here)
      const shown = await console.ask('admin', 'GET', here)
      const link = /<a rel="next" href="([^"]*)"/.exec(shown.body)?.[1]?.replaceAll('&amp;', '&')
      expect(link && queryOf(link)).toEqual(
        page.next === null ? undefined : queryOf(also(address, `limit=2&cursor=${page.next}`)),
      )
      seen.push(...page.items)
      next = page.next
    } while (next !== null)
    expect(seen).toEqual(whole.items)
  })

  test.each(lists)(
    '%s refuses unknown filters, of programs alone, and impossible pages',
    async (_, address) => {
      const unknown = also(address, 'nonsense=1')
      const refused = await console.ask('admin', 'GET', `/api/v1${unknown}`)
      expect([refused.statusCode, refused.json().detail]).toEqual([422, 'there is no “nonsense” here'])
      expect((await console.ask('admin', 'GET', unknown)).statusCode).toBe(200)
      for (const [query, detail] of [
        ['limit=many', /^limit should be a number$/],
        ['limit=0', /^limit should be at least 1$/],
        ['limit=201', /^limit should be at most 200$/],
        ['cursor=nonsense', /^cursor: no list has given this one/],
      ] as const) {
        const answer = await console.ask('admin', 'GET', `/api/v1${also(address, query)}`)
        expect([answer.statusCode, answer.json().detail]).toEqual([422, expect.stringMatching(detail)])
      }
    },
  )

  test.each(lists)('%s finds by characters that no text can hold nothing, and breaks nothing', async path => {
    const { schema } = console.routes.find(({ url }) => url === `/api/v1${path}`) ?? {}
    for (const field of Object.keys(Object(Object(schema?.querystring).shape))) {
      const address = `/api/v1${path.replace(':id', '1')}?${field}=%00%25_`
      expect([200, 404, 422], address).toContain((await console.ask('admin', 'GET', address)).statusCode)
    }
  })

  const EXPORTED = [
    '/audit',
    '/cases',
    '/mirrors/accounts',
    '/mirrors/orders',
    '/mirrors/taxpayers',
    '/money',
  ]
  const exported = lists.filter(([path]) => [...EXPORTED, '/runs/:id/plan'].includes(path))

  test('every export is that of a list', () => {
    const files = [...accessOf(console).keys()].filter(key => key.endsWith('.csv'))
    expect(files.sort()).toEqual(exported.map(([path]) => `GET ${path}.csv`))
  })

  test.each(exported)('%s exports the same rows as CSV, without a formula', async (_, address) => {
    const { items } = await listed(address)
    const answer = await console.ask('admin', 'GET', address.replace('?', '.csv?'))
    expect(answer.headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(answer.headers['content-disposition']).toMatch(
      /^attachment; filename="((audit|cases|accounts|orders|taxpayers|refunds)-\d{4}-\d\d-\d\d|plan-1)\.csv"$/,
    )
    const [names = '', ...lines] = answer.body.trimEnd().split('\r\n')
    expect(names).toMatch(/^\ufeff[a-z]+_?[a-z]*(,[a-z]+(_[a-z]+)*)+$/)
    const columns = names.slice(1).split(',')
    const numbers = ['id', 'key', 'trade_no', 'account_openid', 'name', 'outer_refund_no']
    const number = columns.find(name => numbers.includes(name)) ?? ''
    expect(lines.map(line => line.split(',')[columns.indexOf(number)])).toEqual(
      items.map(item => String(Object(item)[number])),
    )
    expect(answer.body).not.toMatch(/(^|,)[=+-]/m)
    // The page of the list leads to the export of its filter.
    const { body } = await console.ask('admin', 'GET', address)
    expect(body.replaceAll('&amp;', '&')).toContain(`href="${address.replace('?', '.csv?')}`)
  })
})

test.each([
  ['/alerts/history?rule=nothing'],
  ['/audit?since=yesterday'],
  ['/audit?until=0000-00-00T00:00'],
  ['/audit?run=0', 'run should be more than 0'],
  ['/audit?case=x'],
  ['/bulk/1?outcome=other'],
  ['/cases?run=0', 'run should be more than 0'],
  ['/cases.csv?run=0'],
  ['/cases?states=unheard_of'],
  ['/cases?olderThan=soon'],
  ['/cases?younger_than=soon'],
  ['/cases?entity=dog', 'entity should be one of employee, department, mirror, enterprise'],
  ['/cases.csv?states=unheard_of'],
  ['/employees?status=nonsense'],
  ['/employees?status=in_sync', expect.stringMatching(/^status should be one of waiting, .*, no_source$/)],
  ['/employees?q=e1&status=waiting', 'give either q or status, not both'],
  ['/employees?q=e1&department=D1', 'give either q or department, not both'],
  ['/mirrors/accounts?cursor=WyJhIl0'],
  ['/mirrors/orders?from=2026-02-30'],
  ['/mirrors/orders?status=paid'],
  ['/mirrors/taxpayers?cursor=WyJhIiwiYiIsImMiLCJkIl0'],
  ['/money?state=lost'],
  ['/money?kind=everything'],
  ['/money?since=+275760-09-13T00:00:00Z'],
  ['/runs?kind=nothing', expect.stringMatching(/^kind should be one of/)],
  ['/cases?from=soon', expect.stringMatching(/^from: /)],
  ['/overview/history?to=2026-13-01', expect.stringMatching(/^to: /)],
  ['/runs?to=soon', expect.stringMatching(/^to: /)],
  ['/runs?since=soon', expect.stringMatching(/^since: /)],
  ['/runs?since=2020-99-99', expect.stringMatching(/^since: /)],
])('%s is refused in a sentence', async (address, detail = expect.stringMatching(/\w+.*\w+/)) => {
  const answer = await console.ask('admin', 'GET', `/api/v1${address}`)
  expect(answer.json()).toMatchObject({ status: 422, detail })
})

describe('a range of moments', () => {
  const HOUR = { from: '2026-11-01T01:00Z', to: '2026-11-01T02:00Z' }
  const query = String(new URLSearchParams(HOUR))
  beforeAll(plantOnce)

  test('narrows dry runs and bulk actions, whose pages have its fields and keep it', async () => {
    const dryRuns = await console.ask('viewer', 'GET', `/api/v1/mapping/dry-runs?${query}`)
    expect(dryRuns.json().items).toHaveLength(3)
    // Where people work at is for administrators.
    expect(dryRuns.body).not.toContain('10.1.2.3')
    await console.pool.query(`
      insert into dirsync.bulk_action (action, state, total, created_at, confirmed_at)
        select 'retry', 'done', 1, at, at from unnest(array['2026-11-01 01:30Z', '2026-11-01 02:00Z']::timestamptz[]) at`)
    const bulk = await console.ask('viewer', 'GET', `/api/v1/bulk?${query}`)
    expect(bulk.json().items).toHaveLength(1)
    for (const path of ['/mapping/dry-runs', '/bulk', '/platform']) {
      const page = (await console.browse('viewer', 'GET', `${path}?${query}`)).body
      expect(page, path).toMatch(/name="from"[^>]*value="2026-11-01T|value="2026-11-01T[^>]*name="from"/)
      expect((await console.browse('viewer', 'GET', `${path}?from=yesterday`)).statusCode, path).toBe(422)
    }
  })

  test('is that of the curves of the platform', async () => {
    await console.pool.query(`
      insert into dirsync.call_minute
      values (date_trunc('minute', now()) - interval '60 hours', 'employee/get', 700, 0, 0, 0, 0, 0)`)
    const busiest = async (url: string) =>
      Number(/at most (\d+) a minute/.exec((await console.browse('viewer', 'GET', url)).body)?.[1])
    expect(await busiest('/platform?from=3d&to=2d')).toBeGreaterThan(0)
    expect(await busiest('/platform')).toBe(0)
  })

  const below = async (path: string) => {
    const { body } = await console.browse('viewer', 'GET', path)
    return [...body.matchAll(/<p class="summary">([^<]+)/g)].map(([, text]) => text)
  }

  test.each(['/platform', '/overview'])('of which hours alone are kept has its calls on %s', async path => {
    await console.pool.query(`
      insert into dirsync.call_hour
      select date_trunc('hour', now() - days * interval '1 day'), 'employee/get', 6000, 0
      from unnest(array[31.5, 1]) days`)
    expect(await below(`${path}?from=32d&to=31d`)).toContain('at most 100 a minute on average over 60 min')
    await console.pool.query('delete from dirsync.call_hour')
  })

  test.each(['/platform', '/overview'])('of which nothing is kept any more says so on %s', async path => {
    expect(new Set(await below(`${path}?from=60d&to=40d`))).toEqual(
      new Set(['Nothing is kept of that time: curves go back 35 days.']),
    )
  })
})

test('an emptied later page of every list says that it has no more, and leads to the first', async () => {
  await plantOnce()
  const paged = new Map(
    await Promise.all(
      lists.map(async ([path, address]) => {
        const { next } = await listed(also(address, 'limit=6'))
        return [path, also(address, `limit=6&cursor=${next}`)] as const
      }),
    ),
  )
  await console.pool.query(`
    delete from dirsync.console_session where user_name = 'anna';
    alter table dirsync.command disable trigger user; delete from dirsync.command;
    delete from dirsync.bulk_item; delete from dirsync.dead_letter;
    truncate dirsync.alert, dirsync.department, dirsync.employee, dirsync.limit_account, dirsync.pending,
      dirsync.payment_order, dirsync.taxpayer, dirsync.refund cascade;
    delete from dirsync.planned_work where reason = 'changed';
    delete from dirsync.sync_run where id > 1; delete from dirsync.dry_run where id > 1;
    update dirsync.sync_run set kind = 'employees'; delete from dirsync.dry_run_entity`)
  const isOfOne = (path: string) => path.includes(':')
  for (const [path, address] of [...paged].toSorted(([one], [other]) => +isOfOne(other) - +isOfOne(one))) {
    if (!isOfOne(path)) await console.pool.query('delete from dirsync.dry_run')
    const { body } = await console.ask('admin', 'GET', address)
    expect(body, path).toContain('<div class="empty"><p>There is nothing more on this page.</p></div>')
    expect(body, path).toMatch(/<nav class="pager"[^>]*><a href="[^"]*">First page</)
  }
  const all = paged.get('/cases')?.replace('categories=left_hr&', '')
  expect((await console.ask('admin', 'GET', `/api/v1${all}`)).json()).toMatchObject({
    items: [],
    arrival: null,
  })
})
