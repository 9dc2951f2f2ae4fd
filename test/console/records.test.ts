import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { AccessRole } from '../../src/console/auth/viewer.ts'
import { noteCheck } from '../../src/money/refund.ts'
import { inLanguage } from '../../src/texts/failures.ts'
import { inWords, message, toStore } from '../../src/texts/message.ts'
import { translator } from '../../src/texts/texts.ts'
import { senderAt } from '../sync/journal.ts'
import { ConsoleUnderTest } from './console-under-test.ts'

/* Audit, money and mirrors through the API. */

const console = new ConsoleUnderTest(() => ({ MIRRORS: 'accounts' }))

beforeAll(async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at, settled_at, resolved_by, resolution)
      values ('r1', 'o1', 1.5, 'unknown', 'ann', '2026-11-01T10:00Z', null, null, null),
             ('r/2', 'o2', 2, 'rejected', 'ann', '2026-11-02T10:00Z', '2026-11-02T10:01Z', 'postgres (cli:li)', 'by telephone'),
             ('r3', 'o3', 3, 'requested', 'ann', now(), null, null, null);
    insert into dirsync.topup (external_code, account_openid, amount, state, requested_by)
      values ('t1', 'a1', 10, 'unknown', 'ann');
    insert into dirsync.payment_order (trade_no, userid, status, pay_amount, created_at)
      select 't' || i, 'e1', 3, 12.5, '2026-11-01T15:00Z'::timestamptz + i * interval '1 hour'
      from generate_series(0, 4) i`)
})
async function api(method: 'GET' | 'POST', url: string, options: { as?: AccessRole; body?: object } = {}) {
  const answer = await console.ask(options.as ?? 'admin', method, `/api/v1${url}`, options.body)
  return { status: answer.statusCode, json: answer.json() }
}

describe('money', () => {
  test('is listed with those that are open first, and amounts as decimal texts', async () => {
    await senderAt(console.url, { order: 'o3' })
    const { json } = await api('GET', '/money', { as: 'viewer' })
    expect(json).toMatchObject({
      counts: { refunds: { requested: 1, unknown: 1, rejected: 1 }, topups: { unknown: 1 } },
      items: [
        { outer_refund_no: 'r3', state: 'requested' },
        {
          ...{ outer_refund_no: 'r1', refund_amount: '1.50', outer_trade_no: 'o1' },
          ...{ state: 'unknown', next_settle_at: null },
        },
        { outer_refund_no: 'r/2', state: 'rejected' },
      ],
      next: null,
    })
  })

  test.each([
    ['without a reason', { as: 'accepted' }],
    ['with an empty one', { as: 'accepted', reason: '  ' }],
    ['without an outcome', { reason: 'because' }],
    ['as something else', { as: 'notified', reason: 'because' }],
  ])('is not resolved %s', async (_, body) => {
    const before = await console.commands()
    expect((await api('POST', '/money/refunds/r1/resolve', { body })).status).toBe(422)
    expect(await console.commands()).toEqual(before)
  })

  test('asks how one knows where the reason is empty', async () => {
    const body = { as: 'accepted', reason: '  ' }
    const { json } = await api('POST', '/money/refunds/r1/resolve', { body })
    expect(json).toMatchObject({
      detail: 'reason: say how you know',
      errors: [{ pointer: '#/reason', detail: 'reason: say how you know' }],
    })
  })

  test('that was decided already is answered with who decided, and nothing is recorded', async () => {
    const before = await console.commands()
    const number = encodeURIComponent('r/2')
    for (const [action, body] of [
      ['settle', {}],
      ['resolve', { as: 'accepted', reason: 'because' }],
    ] as const) {
      const { status, json } = await api('POST', `/money/refunds/${number}/${action}`, { body })
      expect(status).toBe(409)
      expect(json.detail).toContain('li (shell) has already recorded the outcome of r/2: not carried out')
    }
    expect((await api('POST', '/money/refunds/none/settle')).status).toBe(404)
    expect(await console.commands()).toEqual(before)
  })

  test('is resolved through the API, and written down with the address', async () => {
    const body = { as: 'accepted', reason: 'the points are there' }
    expect((await api('POST', '/money/topups/t1/resolve', { body })).json).toMatchObject({
      external_code: 't1',
      state: 'accepted',
      message: null,
    })
    const { json } = await api('GET', '/audit?what=resolve_topup')
    expect(json.items).toMatchObject([
      {
        requested_by: expect.stringMatching(/\(api:token:admin\)$/),
        address: '127.0.0.1',
        reason: 'the points are there',
        arguments: { external_code: 't1', state: 'accepted' },
      },
    ])
    const { body: csv } = await console.ask('admin', 'GET', '/audit.csv?what=resolve_topup')
    expect(csv).toMatch(/^\ufeffid,requested_at,requested_by,address,name,meaning/)
    expect(csv).toContain('resolve_topup,resolve a top-up')
    const { json: story } = await api('GET', '/money/topups/t1')
    expect(story.events).toMatchObject([
      { event: 'sent' },
      { event: 'resolved', text: 'the points are there' },
    ])
  })
})

test.each([
  ['users role', 'cli:tina', true],
  ['users disable', 'console:tina', true],
  ['sign_in', 'console:tina', false],
])('the audit names the user whom %s of %s is about: %s', async (name, actor, isNamed) => {
  await console.pool.query(
    `insert into dirsync.command (name, arguments, requested_by) values ($1, '{"user": "tina"}', $2)`,
    [name, `dirsync (${actor})`],
  )
  const query = new URLSearchParams({ what: name, who: actor })
  const { body } = await console.browse('admin', 'GET', `/audit?${query}`)
  expect(body.includes('<bdi>tina</bdi></li>')).toBe(isNamed)
})

test.each([
  ['en', 'refund not sent', 'because'],
  ['zh-CN', '退款未发送', '原因'],
] as const)('the audit says in %s why a refund was not sent', async (language, name, because) => {
  const why = { key: 'code.1000210003.meaning' } as const
  await console.pool.query(
    `insert into dirsync.command (name, arguments, requested_by) values ('unsent_refund', $1, 'ann')`,
    [{ outer_refund_no: 'r7', why }],
  )
  const { body } = await console.browse('admin', 'GET', '/audit?what=unsent_refund', undefined, {
    'accept-language': language,
  })
  expect(body.toLowerCase()).toContain(name)
  expect(body).toContain(because)
  expect(body).toContain(inLanguage(language, why))
})

test('the page of a refund says why a code leaves it unknown, what the platform said, when it was checked and what to do', async () => {
  const said = [
    { key: 'said.platform_said', values: { words: 'more than is left' } },
    { key: 'said.record_shows', values: { refunded: '0', before: '0', amount: '9999' } },
  ]
  await console.pool.query(
    `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, refunded_before, state, requested_by,
                                 platform_code, message, settle_attempts, sent_at, next_settle_at)
     values ('r4', 'o4', 9999, 0, 'unknown', 'ann', 1000229002, $1, 3,
             '2026-11-01T10:00:00Z', '2026-11-01T10:00:35Z')`,
    [JSON.stringify(said)],
  )
  await console.pool.query(
    `insert into dirsync.refund_check (outer_refund_no, first_at, last_at, times, message)
     values ('r4', '2026-11-01T10:00:00Z', '2026-11-01T10:00:15Z', 3, $1)`,
    [JSON.stringify(said[1])],
  )
  const { body } = await console.browse('viewer', 'GET', '/money/refunds/r4')
  expect(body).toContain('code 1000229002, which its interface does not list as a refusal')
  expect(body).toContain('The platform said: “more than is left”. The order record shows 0 refunded')
  const todo = 'Where that cannot tell, ask the platform’s support and record the answer.'
  expect(body).toContain(todo)
  expect((await console.browse('viewer', 'GET', '/money')).body).toContain(todo)
  expect(body).not.toContain('nothing to do')
  // Perhaps none was asked for.
  expect(body).not.toContain('Notification')
  const { json } = await api('GET', '/money/refunds/r4')
  expect(json.events).toMatchObject([
    { event: 'sent', times: 1 },
    { event: 'checked', times: 3, last_at: '2026-11-01T10:00:15.000Z', by: null },
  ])
  expect(body).toMatch(/order record checked 3 times with the same result, last <time[^>]*10:00:15/)
  expect(body).not.toContain('not shown')
})

test('the payment order of a refund is a link where the mirror has it, else a command', async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at, trade_no)
      values ('in-mirror', 'o-in-mirror', 1, 'accepted', 'ann', now(), 't0'),
             ('not-mirrored', 'o-not-mirrored', 1, 'accepted', 'ann', now(), 'x9')`)
  const page = async (number: string) =>
    (await console.browse('viewer', 'GET', `/money/refunds/${number}`)).body
  expect(await page('in-mirror')).toContain('href="/mirrors/orders?number=t0"')
  expect(await page('in-mirror')).not.toContain('orders show')
  expect(await page('not-mirrored')).not.toContain('/mirrors/orders?number')
  expect(await page('not-mirrored')).toContain('orders show x9')
})

test('a refunded payment order leads to the refunds of its order, and their pages lead to it', async () => {
  await console.pool.query(`
    insert into dirsync.payment_order (trade_no, out_trade_no, pay_amount, refund_amount)
      values ('refunded', 'o&1', 5, 2), ('paid', 'o&2', 5, 0), ('unnumbered', null, 5, 2);
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by)
      values ('of-mirrored', 'o&1', 2, 'unknown', 'ann')`)
  onTestFinished(async () => {
    await console.pool.query(`
      delete from dirsync.payment_order where trade_no in ('refunded', 'paid', 'unnumbered');
      delete from dirsync.refund where outer_refund_no = 'of-mirrored'`)
  })
  const page = async (path: string) => (await console.browse('viewer', 'GET', path)).body
  expect(await page('/mirrors/orders?number=refunded')).toContain('href="/money?number=o%261"')
  for (const number of ['paid', 'unnumbered'])
    expect(await page(`/mirrors/orders?number=${number}`)).not.toContain('/money?number=')
  expect(await page('/money/refunds/of-mirrored')).toContain('href="/mirrors/orders?number=o%261"')
})

test.each(['', 'A'])(
  'the page of an employee of “%s” leads to all of their payment orders',
  async enterprise => {
    await console.pool.query(
      `insert into dirsync.employee (userid, enterprise_code, source_hash) values ('paying', $1, gen_random_uuid())`,
      [enterprise],
    )
    const add = (from: number, to: number) =>
      console.pool.query(
        `insert into dirsync.payment_order (enterprise_code, trade_no, userid, created_at)
       select $1, 'p' || i, 'paying', now() - i * interval '1 day' from generate_series($2::int, $3) i`,
        [enterprise, from, to],
      )
    onTestFinished(async () => {
      await console.pool.query(
        `delete from dirsync.payment_order where userid = 'paying'; delete from dirsync.employee where userid = 'paying'`,
      )
    })
    const page = async (path: string) =>
      (await console.browse('viewer', 'GET', path)).body.replaceAll('&amp;', '&')
    const path = `/employees/${enterprise === '' ? '' : `${enterprise}%2F`}paying`
    await add(1, 9)
    const few = await page(path)
    expect(few).toContain('href="/mirrors/orders?number=p9"')
    expect(few).not.toContain('show all')
    await add(10, 11)
    const [, all = ''] = /<a href="([^"]+)">the latest 10; show all/.exec(await page(path)) ?? []
    const listed = await page(all)
    expect(listed.match(/>p\d+</g)).toHaveLength(11)
  },
)

test('a list of payment orders without a match says which number is searched by its beginning', async () => {
  await console.pool.query(
    `insert into dirsync.payment_order (trade_no, out_trade_no) values ('begun', 'merchant-1')`,
  )
  onTestFinished(
    async () => void (await console.pool.query(`delete from dirsync.payment_order where trade_no = 'begun'`)),
  )
  const page = async (number: string) =>
    (await console.browse('viewer', 'GET', `/mirrors/orders?number=${number}`)).body
  for (const found of ['beg', 'merchant-1']) expect(await page(found)).toContain('>begun<')
  const none = await page('merchant')
  expect(none).not.toContain('>begun<')
  expect(none).toContain('Enter the whole order number of a merchant')
})

test('the page of a refund says how many earlier checks it does not show', async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, refunded_before, state, requested_by,
                                settle_attempts, settled_at)
      values ('checked', 'o-checked', 1, 0, 'accepted', 'ann', 105, now());
    insert into dirsync.refund_check (outer_refund_no, message)
      select 'checked', jsonb_build_object('key', 'said.words', 'values', jsonb_build_object('words', 'w' || i))
      from generate_series(1, 105) i`)
  const { body } = await console.browse('viewer', 'GET', '/money/refunds/checked')
  expect(body).toContain('5 earlier checks of the order record are not shown.')
  expect((await api('GET', '/money/refunds/checked')).json).toMatchObject({ earlier_checks: 5 })
})

test('money that was recorded as not carried out and is carried out is something to look into', async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at, notified_at, contradicted_at)
    values ('r5', 'o5', 4, 'notified', 'ann', now() - interval '1 day', now(), now())`)
  onTestFinished(
    async () => void (await console.pool.query(`delete from dirsync.refund where outer_refund_no = 'r5'`)),
  )
  const { body } = await console.browse('viewer', 'GET', '/money')
  expect(body).toContain('Refunds recorded as not carried out were carried out')
  expect(body).toContain('Check order o5 for a second refund')
  expect(body).not.toContain('nothing to do')
  const contradicted = [{ kind: 'refund', count: 1, latest: 'r5', of: 'o5', how: 'carried_out' }]
  expect((await api('GET', '/money')).json).toMatchObject({ contradicted })
})

test('a refund that is recorded as not carried out, and may have been, is something to look into', async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, sent_at, settled_at, contradicted_at)
    values ('r6', 'o6', 4, 'rejected', 'ann', now() - interval '2 days', now() - interval '1 day', now())`)
  onTestFinished(
    async () => void (await console.pool.query(`delete from dirsync.refund where outer_refund_no = 'r6'`)),
  )
  const { body } = await console.browse('viewer', 'GET', '/money')
  expect(body).toContain('A refund may have been carried out after all')
  expect(body).toContain('Unless others have refunded the order, r6 was carried out.')
  expect(body).not.toContain('was recorded as not carried out')
  const refund = await console.browse('viewer', 'GET', '/money/refunds/r6')
  expect(refund.body).toContain('may have been carried out after all')
  expect(refund.body).toContain('more is shown refunded of the order')
  expect((await console.browse('admin', 'GET', '/money/refunds/r6')).body).toContain(
    'Check the order record now',
  )
  const { events } = (await api('GET', '/money/refunds/r6')).json as { events: { event: string }[] }
  expect(events.map(({ event }) => event)).toEqual(['sent', 'called_refused', 'shown_otherwise'])
})

test('a refund that is asked about no more while calls are paused says so', async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, next_settle_at, refunded_before)
      values ('r8', 'o8', 4, 'unknown', 'ann', now() - interval '1 minute', 0);
    insert into dirsync.halt (scope, category, message, remedy, next_probe_at) values ('*', 'paused', '[]', '[]', 'infinity')`)
  onTestFinished(
    async () =>
      void (await console.pool.query(`
        delete from dirsync.refund where outer_refund_no = 'r8'; delete from dirsync.halt where category = 'paused'`)),
  )
  const { body } = await console.browse('viewer', 'GET', '/money/refunds/r8')
  expect(body).toContain('All calls are paused, so the order record is not asked')
  expect(body).toContain('when calls are no longer paused')
  expect(body).not.toContain('Unless calls are paused')
})

test('a code that leaves the outcome of a refund unknown is shown without what it means elsewhere', async () => {
  const ofState = (state: string, settled: string) =>
    console.pool.query(`
      insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, platform_code, message, settled_at)
        values ('r9', 'o9', 4, '${state}', 'ann', 1000220064, '[]', ${settled})
        on conflict (outer_refund_no) do update set state = excluded.state, settled_at = excluded.settled_at`)
  onTestFinished(
    async () => void (await console.pool.query(`delete from dirsync.refund where outer_refund_no = 'r9'`)),
  )
  const page = async () => (await console.browse('viewer', 'GET', '/money/refunds/r9')).body
  const MEANING = 'The payment failed, or the platform has no order'
  await ofState('unknown', 'null')
  expect(await page()).toContain('does not tell whether money moved')
  expect(await page()).toContain('1000220064')
  expect(await page()).not.toContain(MEANING)
  expect(await page()).not.toContain('Check the external trade number')
  await ofState('rejected', 'now()')
  expect(await page()).toContain(MEANING)
})

test('a refund that the platform accepted is not called completed before anything shows it', async () => {
  const sent = (ago: string) =>
    console.pool.query(
      `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, trade_no, sent_at, settled_at)
       values ('r7', 'o7', 4, 'accepted', 'ann', 'p7', now() - $1::interval, now() - $1::interval)
       on conflict (outer_refund_no) do update set sent_at = excluded.sent_at, settled_at = excluded.settled_at`,
      [ago],
    )
  onTestFinished(
    async () => void (await console.pool.query(`delete from dirsync.refund where outer_refund_no = 'r7'`)),
  )
  const page = async (path: string) => (await console.browse('viewer', 'GET', path)).body
  await sent('23 hours')
  expect(await page('/money')).toContain('not shown as completed yet')
  expect(await page('/money')).not.toContain('There is nothing to do')
  const refund = await page('/money/refunds/r7')
  expect(refund).toContain(
    'It is completed only once a notification, the order record or the mirror shows it',
  )
  expect(refund).toContain('accepted by the platform')
  expect(refund).not.toContain('outcome became known')
  expect((await console.browse('admin', 'GET', '/money/refunds/r7')).body).toContain(
    'Check the order record now',
  )
  expect(refund).not.toContain('more than a day ago')
  for (const [shown, said] of [
    [`shown_at = now()`, 'It is completed: the order record or the mirror shows it.'],
    [
      `state = 'notified', notified_at = now(), message = '{"key": "said.carried_out_unknown"}'`,
      'It is completed: the platform has notified of it.',
    ],
  ] as const) {
    await console.pool.query(`update dirsync.refund set ${shown} where outer_refund_no = 'r7'`)
    expect(await page('/money/refunds/r7')).toContain(said)
    expect(await page('/money')).toContain('· completed')
    await console.pool.query(
      `update dirsync.refund set shown_at = null, state = 'accepted', notified_at = null, message = null
       where outer_refund_no = 'r7'`,
    )
  }
  // As an upgrade from 1.0.0 leaves what it had accepted.
  await console.pool.query(`update dirsync.refund set shown_at = settled_at where outer_refund_no = 'r7'`)
  for (const path of ['/money', '/money/refunds/r7'])
    expect(await page(path)).not.toMatch(/· completed|It is completed:/)
  await console.pool.query(`update dirsync.refund set shown_at = null where outer_refund_no = 'r7'`)
  await sent('25 hours')
  for (const path of ['/money', '/money/refunds/r7']) {
    expect(await page(path)).toContain('Refund r7 was accepted by the platform more than a day ago')
    expect(await page(path)).toContain('look order o7 up')
  }
  expect(await page('/money')).toContain('a worker asks the order record twice a day')
  await sent('8 days')
  for (const path of ['/money', '/money/refunds/r7']) {
    expect(await page(path)).toContain('Refund r7 was accepted by the platform more than a day ago')
    expect(await page(path)).toContain('the order record is asked no more')
  }
  expect(await page('/money')).not.toContain('There is nothing to do')
  expect((await api('GET', '/money')).json).toMatchObject({
    unshown: { overdue: 1, latest: 'r7', of: 'o7' },
  })
  const body = { as: 'rejected', reason: 'it failed, says their support' }
  const refused = await api('POST', '/money/refunds/r7/resolve', { body })
  expect([refused.status, refused.json.detail]).toEqual([
    409,
    expect.stringMatching(/^Refund r7 was accepted, and its order record has not been read /),
  ])
  await noteCheck(console.pool, 'r7', message('said.record_shows_nothing'))
  expect((await api('POST', '/money/refunds/r7/resolve', { body })).json).toMatchObject({ state: 'rejected' })
  expect((await api('GET', '/money')).json).toMatchObject({ unshown: { overdue: 0 } })
  expect(await page('/money/refunds/r7')).toContain('The platform had accepted it at')
})

test('a refund that the platform notified of with another amount is something to look into, for a day where its outcome is known', async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at)
      values ('misfit', 'o6', 4, 'accepted', 'ann', now());
    insert into dirsync.refused_notification (outer_refund_no, reason, last_at)
      values ('misfit', 'mismatch', now() - interval '23 hours'), ('other', 'unknown', now())`)
  onTestFinished(
    async () =>
      void (await console.pool.query(`delete from dirsync.refund where outer_refund_no = 'misfit'`)),
  )
  const said = 'notified dirsync of refund misfit with another order or amount'
  for (const path of ['/money', '/money/refunds/misfit']) {
    const { body } = await console.browse('viewer', 'GET', path)
    expect(body).toContain(said)
    expect(body).toContain('amounts differ')
  }
  const misfits = async () => (await api('GET', '/money')).json.misfits
  expect(await misfits()).toMatchObject({ count: 1, latest: 'misfit' })
  await console.pool.query(`update dirsync.refused_notification set last_at = now() - interval '25 hours'`)
  expect(await misfits()).toMatchObject({ count: 0, latest: null })
  expect((await api('GET', '/money/refunds/misfit')).json).toMatchObject({
    misfit_at: expect.any(String),
    events: [{ event: 'sent' }, { event: 'settled' }, { event: 'misfit' }],
  })
  await console.pool.query(
    `update dirsync.refund set state = 'unknown', settled_at = null where outer_refund_no = 'misfit'`,
  )
  expect(await misfits()).toMatchObject({ count: 1, latest: 'misfit' })
})

test('refunds that the platform notified of and dirsync does not know are named for a day', async () => {
  await console.pool.query(`
    insert into dirsync.refused_notification (outer_refund_no, reason, last_at)
      select 'lost-' || i, 'unknown', now() - i * interval '1 minute' from generate_series(1, 11) i`)
  const page = async () => (await console.browse('viewer', 'GET', '/money')).body
  expect(await page()).toContain(
    'The platform has notified dirsync of refunds that dirsync does not know, the latest first: lost-1, lost-2,',
  )
  expect(await page()).not.toContain('There is nothing to do')
  const unknown = async () => (await api('GET', '/money')).json.unmatched
  expect(await unknown()).toMatchObject({ length: 10, 0: 'lost-1', 9: 'lost-10' })
  await console.pool.query(
    `update dirsync.refused_notification set last_at = now() - interval '25 hours' where outer_refund_no <> 'lost-7'`,
  )
  expect(await page()).toContain('notified dirsync of refund lost-7, which dirsync does not know')
  await console.pool.query(`delete from dirsync.refused_notification where reason = 'unknown'`)
  expect(await unknown()).toEqual([])
})

test.each([
  ['kind=topups&state=rejected', 'enter a number: none is given', 'whole number'],
  ['kind=topups&state=rejected&number=t', 'enter the whole number', 'none is given'],
])(
  'money that no filter of %j matches is said to be found by what is missing',
  async (query, said, unsaid) => {
    const { body } = await console.browse('viewer', 'GET', `/money?${query}`)
    expect(body).toContain(said)
    expect(body).not.toContain(unsaid)
  },
)

test('what was recorded as not carried out and was carried out after all says so, by page and API', async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at, notified_at, contradicted_at)
      values ('after-all', 'o9', 1, 'notified', 'ann', '2026-11-03T09:00Z', '2026-11-03T10:00Z', '2026-11-03T10:00Z')`)
  for (const path of ['/money', '/money/refunds/after-all'])
    expect((await console.browse('viewer', 'GET', path)).body).toContain('was recorded as not carried out')
  expect((await console.browse('viewer', 'GET', '/money/refunds/after-all')).body).not.toContain(
    'outcome became known',
  )
  const { json } = await api('GET', '/money/refunds/after-all')
  expect(json).toMatchObject({ contradicted_at: '2026-11-03T10:00:00.000Z' })
})

test('the overview asks for money whose outcome a person has to find out, alerts or not', async () => {
  await console.pool.query(`
    insert into dirsync.process (id, host, pid, roles, version, heartbeat_at)
      values (gen_random_uuid(), 'here', 1, '{scheduler,worker}', '1', now());
    insert into dirsync.employee (userid, source_hash, acknowledged_hash)
      select 'e1', h, h from (select gen_random_uuid() as h) x;
    update dirsync.refund set next_settle_at = now(), left_to_person_at = null where state = 'unknown';
    delete from dirsync.topup`)
  const overview = async () => (await console.browse('viewer', 'GET', '/overview')).body
  const others = `dirsync goes on by itself with whoever is not in sync, unless a person has decided otherwise.`
  await console.pool.query(`
    insert into dirsync.employee (userid, source_hash, parked_hash, platform_state, accepted)
      select userid, h, h, state, accepted from gen_random_uuid() h,
        (values ('e2', 'absent', false), ('e3', 'in_service', true)) x (userid, state, accepted)`)
  expect(await overview()).toContain(others)
  await console.pool.query(
    `update dirsync.employee set platform_state = 'in_service', withheld = array['level'] where userid = 'e2'`,
  )
  expect(await overview()).toContain(others)
  await console.pool.query(`delete from dirsync.employee where userid <> 'e1'`)
  // dirsync asks the order record by itself.
  expect(await overview()).toContain('All employees are in sync. There is nothing to do.')
  await console.pool.query(
    `insert into dirsync.topup (external_code, account_openid, amount, state, requested_by) values ('t2', 'a2', 10, 'unknown', 'ann')`,
  )
  expect((await api('GET', '/overview', { as: 'viewer' })).json.money_for_person).toEqual({
    refunds: 0,
    topups: 1,
  })
  const body = await overview()
  expect(body).not.toContain('There is nothing to do.')
  expect(body).toContain('1 top-up was sent without a known outcome.')
  await console.pool.query(`update dirsync.refund set left_to_person_at = now() where state = 'unknown'`)
  const waiting = await overview()
  expect(waiting).toMatch(/\d refunds? of unknown outcome (is|are) waiting for a decision\./)
  expect(waiting).not.toContain('a running worker')
  // An alert about refunds says nothing of top-ups.
  await console.pool.query(`
    insert into dirsync.alert (rule, subject, severity, state, facts, since, raised_at)
      values ('money_unknown', 'refund', 'critical', 'firing', '{"count": 1, "for_person": 1}', now(), now())`)
  const alerted = await overview()
  expect(alerted).not.toMatch(/refunds? of unknown outcome/)
  expect(alerted).toContain('1 refund was sent and may have been carried out; 1 is waiting for a decision.')
  expect(alerted).toContain('1 top-up was sent without a known outcome.')
  await console.pool.query('delete from dirsync.alert')
})

test('of what is being sent, what becomes of it without its sender is not promised', async () => {
  await senderAt(console.url, { order: 'o-in-hand' })
  const topUpEnds = await senderAt(console.url, { topUp: 'in-hand' })
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by)
      values ('in-hand', 'o-in-hand', 1, 'requested', 'ann');
    insert into dirsync.topup (external_code, account_openid, amount, state, requested_by)
      values ('in-hand', 'a-in-hand', 1, 'requested', 'ann')`)
  const page = async (kind: string) => (await console.browse('viewer', 'GET', `/money/${kind}/in-hand`)).body
  expect(await page('refunds')).toContain('a running worker looks for the outcome in the order record')
  expect(await page('topups')).toContain('a person has to ask the platform’s support')
  await topUpEnds()
  await expect.poll(() => page('topups')).toContain('Send the text below to its support')
  await console.pool.query(`update dirsync.refund set state = 'unknown', refunded_before = 0, next_settle_at = now()
    where outer_refund_no = 'in-hand'`)
  expect(await page('refunds')).toContain('Unless calls are paused or halted, a running worker checks')
  await console.pool.query(
    `delete from dirsync.refund where outer_refund_no = 'in-hand'; delete from dirsync.topup`,
  )
})

describe('mirrors', () => {
  test('are on where the scheduler reads them, whatever MIRRORS of the console says', async () => {
    await console.pool.query(`
      insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
        values ('mirror-orders', '15 * * * *', now() + interval '1 hour', 3600),
               ('mirror-accounts', '30 * * * *', now() - interval '1 day', null)`)
    const { items } = (await api('GET', '/mirrors', { as: 'viewer' })).json
    expect(items).toMatchObject([
      { mirror: 'orders', on: true, next_read_at: expect.any(String) },
      { mirror: 'accounts', on: false, next_read_at: null },
      { mirror: 'taxpayers', on: false, next_read_at: null },
    ])
    const { body } = await console.browse('viewer', 'GET', '/mirrors/accounts')
    expect(body).toContain('The mirror “Limit accounts” is switched off')
    expect(body).toContain('SCHEDULE_MIRROR_')
    await console.pool.query('delete from dirsync.job_schedule')
  })

  test('show whether they are on, and which run reads them', async () => {
    await console.pool.query(
      `insert into dirsync.job_schedule (job, expression, next_due_at, interval_seconds)
       values ('mirror-accounts', '30 * * * *', now() + interval '1 hour', 3600)`,
    )
    const { json } = await api('POST', '/mirrors/orders/read', { as: 'operator' })
    expect((await api('GET', '/mirrors', { as: 'viewer' })).json.items).toMatchObject([
      { mirror: 'orders', on: false, last: null, present: { id: json.run, state: 'requested', left: 0 } },
      { mirror: 'accounts', on: true, present: null },
      { mirror: 'taxpayers', on: false },
    ])
    expect((await api('POST', '/mirrors/employees/read')).status).toBe(404)
  })

  test('that had no rows are said to have had none, instead of leaving it open', async () => {
    await console.pool.query(
      `insert into dirsync.sync_run (kind, state, requested_by, finished_at, result)
       values ('taxpayers', 'done', 'cron', now(), '{"outcomes": {"in_sync": 1}}')`,
    )
    const [, , status] = (await api('GET', '/mirrors', { as: 'viewer' })).json.items
    expect(status.last).toMatchObject({ state: 'done', rows_read: 0, rows_changed: 0 })
    const { body } = await console.browse('viewer', 'GET', '/mirrors')
    expect(body.match(/data-label="Rows (read|changed)">0</g)).toHaveLength(2)
  })

  test('have the days of the platform, GMT+8', async () => {
    const numbers = async (query: string) => {
      const { json } = await api('GET', `/mirrors/orders?${query}`)
      return json.items.map(({ trade_no }: { trade_no: string }) => trade_no)
    }
    expect(await numbers('to=2026-11-01')).toEqual(['t0'])
    expect(await numbers('from=2026-11-02&to=2026-11-02')).toEqual(['t4', 't3', 't2', 't1'])
  })
})

test('an order record that cannot be asked about a refund is not said to have been', async () => {
  const number = 'r7'
  await console.pool.query(
    `insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by)
     values ($1, 'o7', 7, 'unknown', 'ann')`,
    [number],
  )
  const { cookies } = await console.browse('admin', 'POST', `/money/refunds/${number}/settle`, '')
  const notice = cookies.find(({ name }) => name === 'dirsync_notice')
  const { key } = JSON.parse(Buffer.from(notice?.value ?? '', 'base64url').toString())
  expect(translator('en')(key)).toMatch(/^The outcome of the refund is still unknown\./)
  const { json } = await api('GET', `/money/refunds/${number}`)
  expect(json).toMatchObject({ settle_attempts: 0, events: [{ event: 'sent' }] })
  await console.pool.query('delete from dirsync.refund where outer_refund_no = $1', [number])
})

test('whoever recorded an outcome is called as everywhere else', async () => {
  const { body } = await console.browse('viewer', 'GET', '/money/refunds/r%2F2')
  expect(body).toContain('li (shell)')
  expect(body).not.toContain('postgres (cli:li)')
})

test('a refund of which the platform has notified is not said to be recorded so by the person who said otherwise', async () => {
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by, settled_at,
                                notified_at, resolved_by, resolution)
      values ('r6', 'o6', 6, 'notified', 'ann', '2026-11-02T10:01Z', '2026-11-02T12:30Z', 'li', 'never got it')`)
  const { status, json } = await api('POST', '/money/refunds/r6/settle', { body: {} })
  expect(status).toBe(409)
  expect(json.detail).toMatch(/^The outcome of r6 is already known: notified, .*12:30/)
})

test('one that is still being sent after minutes is said to have a sender that hangs', async () => {
  await senderAt(console.url, { order: 'o8' })
  await console.pool.query(`
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by)
      values ('r8', 'o8', 8, 'requested', 'ann')`)
  onTestFinished(
    async () => void (await console.pool.query(`delete from dirsync.refund where outer_refund_no = 'r8'`)),
  )
  const page = async (path: string) => (await console.browse('viewer', 'GET', path)).body
  expect(await page('/money/refunds/r8')).toContain('The answer arrives within a minute')
  await console.pool.query(
    `update dirsync.refund set sent_at = now() - interval '6 minutes' where outer_refund_no = 'r8'`,
  )
  expect(await page('/money?number=r8')).toContain('its sender hangs')
  expect(await page('/money')).toContain('The sender of 1 refund has hung')
  expect((await api('GET', '/money')).json).toMatchObject({ hanging: { refunds: 1, topups: 0 } })
  const overview = await page('/overview')
  expect(overview).toContain('or end the process that sends it and hangs')
  expect(overview).toContain('href="/money?kind=refunds"')
  expect(await page('/money/refunds/r8')).toContain('End the process that sends it')
  expect(await page('/money/refunds/r8')).not.toContain('within a minute')
})

test('the page of money says that every outcome is known only where nothing is being sent either', async () => {
  const page = async () => (await console.browse('viewer', 'GET', '/money')).body
  await senderAt(console.url, { order: 'o5' })
  await console.pool.query(`
    update dirsync.refund set state = 'accepted', settled_at = now(), sent_at = now() where state = 'unknown';
    update dirsync.topup set state = 'accepted', settled_at = now() where state = 'unknown';
    insert into dirsync.refund (outer_refund_no, outer_trade_no, refund_amount, state, requested_by)
      values ('r5', 'o5', 5, 'requested', 'ann')`)
  expect(await page()).not.toContain('The outcome of every refund and top-up is known.')
  await console.pool.query(
    `update dirsync.refund set state = 'accepted', settled_at = now() where state = 'requested'`,
  )
  // What is accepted is not completed yet.
  expect(await page()).toContain('No outcome is unknown.')
  expect(await page()).not.toContain('The outcome of every refund and top-up is known.')
  await console.pool.query(`update dirsync.refund set shown_at = now() where state = 'accepted'`)
  expect(await page()).toContain('The outcome of every refund and top-up is known.')
})

test('a mirror whose reading was cancelled is not said to show that the platform has none', async () => {
  const page = async () => (await console.browse('viewer', 'GET', '/mirrors/accounts')).body
  const end = (state: string) =>
    console.pool.query(
      `insert into dirsync.sync_run (kind, state, started_at, finished_at) values ('accounts', $1, now(), now())`,
      [state],
    )
  await end('cancelled')
  expect(await page()).not.toContain('The platform has none.')
  await end('done')
  expect(await page()).toContain('The platform has none.')
})

test('a mirror says above its rows, and in the list, whether its last run left something out', async () => {
  const page = async () => (await console.browse('viewer', 'GET', '/mirrors/taxpayers')).body
  const isMarked = async () =>
    [await page(), (await console.browse('viewer', 'GET', '/mirrors')).body].map(body =>
      body.includes('The last read left something out, so rows may be out of date.'),
    )
  const ended = async (planned: number, key: string | null) => {
    await console.pool.query(
      `insert into dirsync.sync_run (kind, state, planned, started_at, finished_at, message)
       values ('taxpayers', 'done', $1, now(), now(), $2)`,
      [planned, key && JSON.stringify([{ key }])],
    )
  }
  await ended(0, 'said.no_taxpayers')
  for (const rows of [true, false]) {
    if (rows)
      await console.pool.query(
        `insert into dirsync.taxpayer (identifier, taxpayer_nature, taxpayer_name) values ('91A', 1, 'Acme')`,
      )
    else await console.pool.query('delete from dirsync.taxpayer')
    expect((await page()).includes('Acme')).toBe(rows)
    expect((await page()).split('TAXPAYER_IDENTIFIERS')).toHaveLength(2)
    expect(await page()).not.toContain('The platform has none.')
    expect(await isMarked()).toEqual([false, false])
    await ended(1, 'said.everything_halted')
    expect(await isMarked()).toEqual([true, true])
    expect((await page()).split('Everything is halted')).toHaveLength(2)
    expect(await page()).not.toContain('The platform has none.')
    await ended(1, null)
    expect(await isMarked()).toEqual([false, false])
    await ended(0, 'said.refused_before')
    expect(await isMarked()).toEqual([true, true])
    expect(await page()).not.toContain('The platform has none.')
    await ended(0, 'said.no_taxpayers')
  }
})

test('a mirror whose last run left something out does not look like one that was read in full in any list', async () => {
  const pageOf = async (path: string) => (await console.browse('viewer', 'GET', path)).body
  const [mark, why] = ['The last read left something out', 'Only the enterprise is halted']
  const ended = async (message: string | null) => {
    await console.pool.query(
      `insert into dirsync.sync_run (kind, state, planned, result, message, requested_at, finished_at)
       values ('orders', 'done', 90, '{"rows": {"read": 40, "changed": 7}}', $1, now(), now())`,
      [message],
    )
  }
  await ended(null)
  expect(await pageOf('/mirrors')).not.toContain(mark)
  await ended(toStore(inWords(why)))
  expect(await pageOf('/mirrors')).toContain(mark)
  for (const path of ['/runs', '/overview'])
    expect(await pageOf(path)).toMatch(new RegExp(`${why}.*40 read, 7 new or different`, 's'))
  await console.pool.query(`delete from dirsync.sync_run where kind = 'orders'`)
})

test('what was sent since the backup may be missing: Money says so for 30 days after a restore', async () => {
  // By a token: sessions end.
  const page = async () => (await console.ask('viewer', 'GET', '/money')).body
  const missing = 'refunds and top-ups sent between the backup and then may be missing here.'
  await console.pool.query(`
    insert into dirsync.deployment (base_url, app_id, enterprise_code) values ('embedded', 'a', '')
      on conflict do nothing;
    update dirsync.refund set state = 'accepted', settled_at = now() where state in ('unknown', 'requested');
    update dirsync.topup set state = 'accepted', settled_at = now() where state in ('unknown', 'requested');
    delete from dirsync.employee`)
  expect(await page()).not.toContain(missing)
  await console.pool.query('select dirsync.doubt_memory()')
  expect(await page()).toContain(missing)
  expect(await page()).not.toContain('The outcome of every refund and top-up is known.')
  expect((await api('GET', '/money')).json.restored_at).toEqual(expect.any(String))
  await console.pool.query(`update dirsync.deployment set restored_at = restored_at - interval '31 days'`)
  expect(await page()).not.toContain(missing)
})
