import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { FastifyRequest } from 'fastify'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { pruneHistory } from '../../jobs/prune.ts'
import { addToken, revokeToken } from '../../src/console/auth/tokens.ts'
import { MOST_CASES_COUNTED, readRunStory } from '../../src/console/runs/story.ts'
import { RunWatch } from '../../src/console/runs/watch.ts'
import { createPool } from '../../src/lib/database.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { type Message, message } from '../../src/texts/message.ts'
import { ConsoleUnderTest, silent } from './console-under-test.ts'

const console = new ConsoleUnderTest()

const api = (
  method: 'GET' | 'POST',
  path: string,
  options: { body?: object; key?: string; role?: 'viewer' | 'admin' } = {},
) =>
  console.ask(
    options.role ?? 'operator',
    method,
    `/api/v1${path}`,
    options.body,
    options.key ? { 'idempotency-key': options.key } : {},
  )

/** A run in any state, requested by anything. */
async function addRun(run: Record<string, unknown>): Promise<number> {
  const { rows } = await console.pool.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, state, requested_by, requested_at, keys, planned, plan, result, finished_at, cancelled_at,
                                   decided_at, read_all, source, message)
     select kind, state, coalesce(requested_by, 'cron'), coalesce(requested_at, now()), coalesce(keys, '{}'),
            planned, plan, result, finished_at, cancelled_at, decided_at, coalesce(read_all, false), source, message
     from jsonb_populate_record(null::dirsync.sync_run, $1) returning id::int`,
    [run],
  )
  return rows[0]?.id ?? 0
}

test('only a run that was planned says that there is nothing to do', async () => {
  const finished_at = new Date()
  const pageOf = async (run: Record<string, unknown>) => {
    const id = await addRun({ kind: 'full', finished_at, ...run })
    return (await console.browse('viewer', 'GET', `/runs/${id}`)).body
  }
  expect(await pageOf({ state: 'done', planned: 0 })).toContain('nothing to do')
  for (const run of [{ state: 'failed' }, { state: 'failed', planned: 0 }, { state: 'cancelled' }]) {
    const body = await pageOf(run)
    expect(body).toContain('no plan was made')
    expect(body).not.toContain('nothing to do')
  }
})

test('the list tells what a run did besides the departments that it kept', async () => {
  const why = message('said.employee_unlocated', { name: 'E200/e1' })
  await addRun({
    kind: 'departments',
    state: 'done',
    finished_at: new Date(),
    planned: 2,
    message: why,
    result: { outcomes: { deleted: 2 } },
  })
  const { body } = await console.browse('viewer', 'GET', '/runs')
  expect(body).toMatch(/No department of an enterprise is deleted before .*2 deleted/s)
})

test('no page shows a run in which something failed as done, or one that is being cancelled as running', async () => {
  const pages = async (run: Record<string, unknown>) => {
    const id = await addRun({ kind: 'full', ...run })
    const { runs } = (await api('GET', `/search?q=run+${id}`)).json()
    expect(runs).toMatchObject([{ id, cases: run.state === 'done' ? 3 : 0 }])
    const paths = [`/runs/${id}`, `/runs/${id}/plan`, `/employees/e1?hr=no&run=${id}`]
    const bodies = paths.map(async path => (await console.browse('viewer', 'GET', path)).body)
    return Promise.all(bodies)
  }
  const finished_at = new Date()
  for (const body of await pages({ state: 'done', finished_at, result: { deadLetters: { left_hr: 3 } } }))
    expect(body).toContain('done, 3 cases')
  for (const body of await pages({ state: 'running', cancelled_at: new Date() }))
    expect(body).toContain('being cancelled')
})

test('where HR was read and found wrong, the overview does not say that it was never read', async () => {
  await addRun({ kind: 'changes', state: 'source_suspect', finished_at: new Date() })
  for (const page of ['/overview', '/employees']) {
    const { body } = await console.browse('viewer', 'GET', page)
    expect(body).toContain('No employees in service are known yet.')
    expect(body).toContain('Start a run of changes. The scheduler also starts one by itself.')
  }
})

describe('what HR delivered to a run that was stopped', () => {
  const good = { rows: 100, keyless: 0, empty: { email: 0, mobile: 0 }, newest: null }

  /** The rows of the table, by their names: this time, last good run, difference, mark. */
  async function tableOf(source: object, message: Message): Promise<Record<string, string[]>> {
    const finished_at = new Date()
    await addRun({ kind: 'full', state: 'done', finished_at, planned: 0, read_all: true, source: good })
    const id = await addRun({ kind: 'full', state: 'source_suspect', finished_at, source, message })
    const { body } = await console.browse('viewer', 'GET', `/runs/${id}`)
    const [table = ''] = /<caption>HR’s data in this run<[\s\S]*?<\/table>/.exec(body) ?? []
    const rows = [...table.matchAll(/<tr[^>]*>(<td[\s\S]*?)<\/tr>/g)].map(([, row = '']) =>
      [...row.matchAll(/<td[^>]*>([\s\S]*?)<\/td>/g)].map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, '')),
    )
    return Object.fromEntries(rows.map(([name = '', ...cells]) => [name, cells]))
  }

  test('counts the rows that the gate counts, not those of other enterprises', async () => {
    const source = { ...good, rows: 130, stray: 60 }
    const straying = message('said.straying', { count: 60, rows: 130 })
    expect(await tableOf(source, straying)).toMatchObject({
      'Usable rows': ['70', '100', '−30%', '–'],
      'Rows of other enterprises': ['60', '0', '–', 'suspicious'],
    })
  })

  test('marks what stopped the run, whatever the settings are now', async () => {
    const source = { ...good, rows: 90, empty: { email: 9, mobile: 0 } }
    const emptied = message('said.emptied', { columns: ['email'], percent: 5 })
    expect(await tableOf(source, emptied)).toMatchObject({
      'Usable rows': ['90', '100', '−10%', '–'],
      'E-mail address email': ['10%', '0%', '+10%', 'suspicious'],
      'Mobile number mobile': ['0%', '0%', '=', '–'],
    })
    const fewer = message('said.fewer_rows', { rows: 90, percent: 10, before: 100 })
    expect(await tableOf(source, fewer)).toMatchObject({
      'Usable rows': ['90', '100', '−10%', 'suspicious'],
      'E-mail address email': ['10%', '0%', '+10%', '–'],
    })
  })

  test('calls nothing plausible where it was stopped for a key that comes twice', async () => {
    const rows = Object.values(await tableOf(good, message('said.key_twice', { keys: ['e1'] })))
    expect(rows.map(cells => cells.at(-1))).toEqual(['–', '–', '–'])
  })
})

test('the page that starts runs says what a run would meet', async () => {
  expect((await api('GET', '/runs/new')).json()).toMatchObject({ employees: 0, roles_alive: {} })
})

describe('starting', () => {
  test.each([
    [{ kind: 'retry' }, /kind/],
    [{ kind: 'full', max_age: 'long' }, /30m, 6h/],
    [{ kind: 'full', max_age: '0h' }, /30m, 6h/],
    [{ kind: 'changes', max_age: '6h' }, /max_age: a run of kind changes takes none/],
    [{ kind: 'changes', employees: 'e1' }, /employees: a run of kind changes takes none/],
    [{ kind: 'employees' }, /at least one user id/],
    [{ kind: 'employees', employees: ' ,\n' }, /at least one user id/],
    [{ kind: 'employees', employees: 'x'.repeat(122) }, /too long/],
    [{ kind: 'employees', employees: Array.from({ length: 1001 }, (_, i) => `e${i}`) }, /at most 1000/],
  ])('%j is refused in a sentence', async (body, detail) => {
    const response = await api('POST', '/runs', { body })
    expect(response.statusCode).toBe(422)
    expect(response.json()).toMatchObject({ code: 'invalid', detail: expect.stringMatching(detail) })
  })

  test('names may come as a list or as a text, each once', async () => {
    const response = await api('POST', '/runs', { body: { kind: 'employees', employees: 'b，a\r\nC1/x,a' } })
    const { run } = response.json<{ run: number }>()
    const { rows } = await console.pool.query('select keys from dirsync.sync_run where id = $1', [run])
    expect(rows).toEqual([{ keys: ['b', 'a', 'C1/x'] }])
  })

  test('the same Idempotency-Key starts nothing twice', async () => {
    const start = () => api('POST', '/runs', { body: { kind: 'full', max_age: '90m' }, key: 'once' })
    const first = (await start()).json<{ run: number }>()
    await console.pool.query(`update dirsync.sync_run set state = 'planning' where id = $1`, [first.run])
    expect((await start()).json()).toEqual(first)
    const { rows } = await console.pool.query(`select max_age::text from dirsync.sync_run where id = $1`, [
      first.run,
    ])
    expect(rows).toEqual([{ max_age: '01:30:00' }])
  })

  test.each([
    ['6 hours', 'skipping those confirmed within 6 h', '跳过 6 小时内核对过的员工'],
    ['90 minutes', 'skipping those confirmed within 90 min', '跳过 90 分钟内核对过的员工'],
    ['7 days', 'skipping those confirmed within 7 d', '跳过 7 天内核对过的员工'],
    ['2 days 12:00', 'skipping those confirmed within 60 h', '跳过 60 小时内核对过的员工'],
  ])('the audit says in words that those confirmed within %s are skipped', async (age, english, chinese) => {
    await console.pool.query(`delete from dirsync.sync_run`)
    await console.pool.query(`select dirsync.resync('full', max_age => $1::interval)`, [age])
    const { rows } = await console.pool.query('select max(run_id)::int as run from dirsync.command')
    const page = async (language: string) =>
      (
        await console.browse('admin', 'GET', `/audit?run=${rows[0].run}`, undefined, {
          'accept-language': language,
        })
      ).body
    expect(await page('en')).toContain(`<li>${english}</li>`)
    expect(await page('zh-CN')).toContain(`<li>${chinese}</li>`)
  })
})

describe('the list', () => {
  test('takes what dirsync asks for after a restore for its own', async () => {
    await console.pool.query('truncate dirsync.sync_run cascade')
    const again = await addRun({ kind: 'full', state: 'failed', requested_by: 'restore' })
    const noticed = await addRun({ kind: 'full', state: 'done', requested_by: 'dirsync (restore)' })
    const found = async (by: string) =>
      (await api('GET', `/runs?by=${by}`)).json().items.map(({ id }: { id: number }) => id)
    expect(await found('people')).toEqual([])
    expect(await found('dirsync')).toEqual([noticed, again])
    expect(await found('restore')).toEqual([noticed, again])
    const { body } = await console.browse('viewer', 'GET', '/runs')
    expect(body.match(/restored database/g)?.length).toBeGreaterThanOrEqual(2)
    expect(body).not.toContain('(restore)')
  })

  test('finds runs by kind, state, who asked, and when', async () => {
    await console.pool.query('truncate dirsync.sync_run cascade')
    const old = await addRun({ kind: 'full', state: 'done', requested_at: '2020-01-01T00:00:00Z' })
    const anna = await addRun({ kind: 'full', state: 'failed', requested_by: 'dirsync (console:anna)' })
    const trigger = await addRun({ kind: 'changes', state: 'done', requested_by: 'trigger', keys: ['e1'] })
    const psql = await addRun({ kind: 'changes', state: 'done', requested_by: 'reviewer_1' })
    const stub = await addRun({
      kind: 'orders',
      state: 'done',
      requested_by: 'dirsync (api:token:operator)',
    })
    const found = async (query: string) => {
      const { items } = (await api('GET', `/runs?${query}`)).json<{ items: { id: number }[] }>()
      return items.map(({ id }) => id)
    }
    expect(await found('')).toEqual([stub, psql, trigger, anna, old])
    expect(await found('kind=full')).toEqual([anna, old])
    expect(await found('state=failed')).toEqual([anna])
    expect(await found('by=people')).toEqual([stub, psql, anna])
    expect(await found('by=dirsync')).toEqual([trigger, old])
    expect(await found('by=trigger')).toEqual([trigger])
    expect(await found('by=me')).toEqual([stub])
    expect(await found('by=console:anna')).toEqual([anna])
    expect(await found('by=anna')).toEqual([])
    expect(await found('since=7d&kind=full')).toEqual([anna])
    expect(await found('from=7d&kind=full')).toEqual([anna])
    expect(await found('to=7d&kind=full')).toEqual([old])
    expect(await found('from=2020-01-01&to=2020-01-01')).toEqual([old])
    expect(await found('since=2019-12-31&state=done&by=dirsync')).toEqual([trigger, old])
  })
})

describe('one run', () => {
  test('is set beside the one of its kind and extent that was done before it', async () => {
    const result = (calls: number) => ({ outcomes: {}, calls: { 'employee/get': calls }, deadLetters: {} })
    const done = { kind: 'changes', state: 'done', finished_at: '2026-01-01T00:00:00Z' }
    const before = await addRun({ ...done, planned: 10, result: result(10) })
    await addRun({ ...done, keys: ['e1'], planned: 1, result: result(1) })
    await addRun({ ...done, state: 'failed' })
    const id = await addRun({ ...done, planned: 12, result: result(30) })
    await console.pool.query(
      `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, first_run_id,
                                        last_run_id)
       values ('employee', 'e1', 'update-employee', 'internal_error', '[]', '[]', $1, $1)`,
      [id],
    )
    const run = (await api('GET', `/runs/${id}`)).json()
    expect(run).toMatchObject({
      figures: { id, planned: 12, calls: 30, new_cases: 1 },
      before: { id: before, planned: 10, calls: 10, new_cases: 0 },
      calls: [{ operation: 'employee/get', calls: 30, waited_ms: null, rate_limited: 0 }],
      dead_letters_total: 1,
      gate: null,
    })
  })

  test('is read in no more time when thousands failed in it: the page stops counting, the shell does not', async () => {
    const id = await addRun({ kind: 'full', state: 'done', planned: 1100 })
    await console.pool.query(
      `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, first_run_id,
                                        last_run_id)
       select 'employee', 'many' || i, 'update-employee', 'internal_error', '[]', '[]', $1, $1
       from generate_series(1, 1100) i`,
      [id],
    )
    const run = (await api('GET', `/runs/${id}`)).json()
    expect(run).toMatchObject({
      dead_letters_total: MOST_CASES_COUNTED,
      figures: { new_cases: MOST_CASES_COUNTED },
    })
    expect(await readRunStory(console.pool, id)).toMatchObject({ dead_letters_total: 1100 })
  })

  test('lists the latest 50 of what people did about it, and counts the rest', async () => {
    const id = await addRun({ kind: 'changes', state: 'done' })
    await console.pool.query(
      `insert into dirsync.command (name, arguments, requested_by, run_id, reason)
       select 'approve_part', '{}', 'console:anna', $1, 'part ' || i from generate_series(1, 60) i`,
      [id],
    )
    const { commands, commands_total } = (await api('GET', `/runs/${id}`)).json()
    expect(commands_total).toBe(60)
    expect(commands.map(({ reason }: { reason: string }) => reason)).toEqual(
      Array.from({ length: 50 }, (_, i) => `part ${i + 11}`),
    )
    const { body } = await console.browse('viewer', 'GET', `/runs/${id}`)
    expect(body).toContain('the latest 50 of 60')
  })

  test('that was deleted, as cases still name it, is not kept any more', async () => {
    const long = new Date(Date.now() - 31 * 86_400_000)
    const gone = await addRun({ kind: 'retry', state: 'done', keys: ['1'], planned: 1, finished_at: long })
    await addRun({ kind: 'openids', state: 'done', finished_at: new Date() })
    await pruneHistory(console.pool)
    for (const path of [`/runs/${gone}`, `/runs/${gone}/plan`])
      expect((await api('GET', path)).json()).toMatchObject({ detail: `run ${gone} is not kept any more` })
    const cancelled = await api('POST', `/runs/${gone}/cancel`, { body: { reason: 'r' } })
    expect(cancelled.json()).toMatchObject({ detail: `run ${gone} is not kept any more` })
    const page = await console.browse('viewer', 'GET', `/runs/${gone}`)
    expect(page.body).toContain(`run ${gone} is not kept any more`)
  })

  test('that is not there is a 404; one that is over cannot be decided about, and says why', async () => {
    expect((await api('GET', '/runs/999999')).statusCode).toBe(404)
    expect((await api('GET', '/runs/x')).statusCode).toBe(404)
    expect((await api('GET', '/runs/999999/plan')).statusCode).toBe(404)
    expect((await api('POST', '/runs/999999/cancel', { body: { reason: 'r' } })).statusCode).toBe(404)
    const id = await addRun({ kind: 'changes', state: 'done' })
    const response = await api('POST', `/runs/${id}/cancel`, { body: { reason: 'r' } })
    expect(response.statusCode).toBe(409)
    expect(response.json()).toMatchObject({ detail: `run ${id} is done, so nothing of it is under way` })
    expect((await api('POST', `/runs/${id}/cancel`, { body: {} })).statusCode).toBe(422)
  })
})

test.each([
  ['en', 'run {run} was cancelled by somebody-operator (the wrong file) at 2'],
  ['zh-CN', '同步任务 {run} 已由 somebody-operator (the wrong file) 于 2'],
])('of two people who cancel a run, the second is told who the first was, in %s', async (language, said) => {
  const id = await addRun({ kind: 'full', state: 'requested' })
  const cancel = (role: 'operator' | 'admin') =>
    console.browse(role, 'POST', `/runs/${id}/cancel`, 'reason=the+wrong+file', {
      'accept-language': language,
    })
  expect((await cancel('operator')).statusCode).toBe(303)
  const late = await cancel('admin')
  expect(late.statusCode).toBe(409)
  expect(late.body).toContain(said.replace('{run}', String(id)))
})

describe('waiting for a run', () => {
  const running = () => addRun({ kind: 'full', state: 'running', planned: 1 })
  const end = (id: number, state = 'done') =>
    console.pool.query(
      `update dirsync.sync_run set state = $2, finished_at = case $2 when 'held' then null else now() end where id = $1`,
      [id, state],
    )
  const ownPool = () => {
    const pool = createPool(console.url, { max: 2, name: 'watch', logger: silent })
    onTestFinished(() => pool.end())
    return pool
  }

  /** Resolves once the handlers of so many requests wait: Fastify tells when each has returned its promise. */
  const handled = (many: number, isOne: (request: FastifyRequest) => boolean) =>
    new Promise<void>(resolve => {
      let left = many
      const name = 'tracing:fastify.request.handler:end'
      const count = (told: unknown) => {
        if (isOne((told as { request: FastifyRequest }).request)) left -= 1
        if (left === 0) resolve()
      }
      subscribe(name, count)
      onTestFinished(() => void unsubscribe(name, count))
    })

  test.each(['done', 'failed', 'held'])(
    'is answered when it is %s, and holds back no other request',
    async state => {
      const id = await running()
      // More of them than requests of one user are answered at a time.
      const waits = Array.from({ length: 10 }, () => `/runs/${id}?wait=60`)
      const allWait = handled(waits.length, request => request.url.endsWith('?wait=60'))
      const waiting = Promise.all(waits.map(path => api('GET', path)))
      await allWait
      expect((await api('GET', `/runs/${id}`)).json().state).toBe('running')
      const another = await api('GET', `/runs/${id}?wait=1`)
      expect(another).toMatchObject({ statusCode: 429, headers: { 'retry-after': '1' } })
      await end(id, state)
      for (const answer of await waiting) expect(answer.json().state).toBe(state)
    },
  )

  test('tells a program nothing once its token is revoked', async () => {
    const id = await running()
    const expiresAt = new Date(Date.now() + 86_400_000)
    const token = await addToken(console.pool, 'test', { name: 'waits', role: 'viewer', expiresAt })
    const headers = { authorization: `Bearer ${token}` }
    const answer = console.app.inject({ url: `/api/v1/runs/${id}?wait=60`, headers }).then(answer => answer)
    const isIn = `select last_used_at is not null as yes from dirsync.api_token where name = 'waits'`
    await expect.poll(async () => (await console.pool.query(isIn)).rows).toEqual([{ yes: true }])
    await revokeToken(console.pool, 'test', 'waits')
    await end(id)
    expect(await answer).toMatchObject({ statusCode: 401 })
  })

  test('is answered at once when there is nothing to wait for, and in time when it goes on', async () => {
    const id = await running()
    expect((await api('GET', '/runs/999999?wait=60')).statusCode).toBe(404)
    expect((await api('GET', `/runs/${id}?wait=1`)).json().state).toBe('running')
    expect((await api('GET', `/runs/${id}?wait=61`)).json().errors).toMatchObject([{ parameter: 'wait' }])
  })

  test('is answered at once about a run that has ended, while others wait', async () => {
    const [one, over] = [await running(), await running()]
    await end(over, 'done')
    const pool = ownPool()
    const query = vi.spyOn(pool, 'query')
    vi.useFakeTimers({ toFake: ['setTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const watch = new RunWatch(pool)
    const gone = new AbortController()
    const waiting = watch.ended(one, 60_000, gone.signal)
    await query.mock.results[0]?.value
    // No second passes.
    await watch.ended(over, 60_000, gone.signal)
    gone.abort()
    await waiting
  })

  test('reads the database once a second, however many wait', async () => {
    const [one, other] = [await running(), await running()]
    const pool = ownPool()
    const query = vi.spyOn(pool, 'query')
    const watch = new RunWatch(pool)
    const gone = new AbortController()
    const waiting = [one, one, other].map(id => watch.ended(id, 60_000, gone.signal))
    await watch.ended(other, 1500, gone.signal)
    expect(query.mock.calls.length).toBeLessThanOrEqual(3)
    gone.abort()
    await Promise.all(waiting)
  })
})

test('a stored plan is shown where HR is away: without values, and without a claim about later changes', async () => {
  const id = await addRun({ kind: 'changes', state: 'held', planned: 2, plan: { reasons: { changed: 2 } } })
  await console.pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason)
     select $1, 'update-employee', key, 'changed' from unnest(array['a', 'b']) key`,
    [id],
  )
  const plan = (await api('GET', `/runs/${id}/plan?limit=1`)).json()
  expect(plan).toMatchObject({ stored: true, reasons: { changed: 2 }, hr_error: expect.any(String) })
  expect(plan.items).toMatchObject([{ key: 'a', reason: 'changed', changed_since: null }])
  const next = (await api('GET', `/runs/${id}/plan?limit=1&cursor=${plan.next}`)).json()
  expect(next).toMatchObject({ items: [{ key: 'b' }], next: null })
  const csv = await api('GET', `/runs/${id}/plan.csv?key=b`)
  expect(csv.body.trim().split('\r\n').slice(1)).toEqual([',b,changed,,,,false,,,'])
})

test('the old values of a plan, once asked for, are recorded with its run', async () => {
  const id = await addRun({ kind: 'changes', state: 'held', planned: 0, plan: { reasons: {} } })
  const body = { reason: 'changed', limit: 50 }
  expect((await api('POST', `/runs/${id}/plan/ask`, { body })).statusCode).toBe(200)
  const { items } = (await api('GET', `/audit?run=${id}`, { role: 'admin' })).json()
  expect(items).toMatchObject([
    { name: 'ask_plan', run_id: id, dead_letter_id: null, reason: null, arguments: { run: id, limit: 50 } },
  ])
  expect(items[0].arguments.filter).toEqual({ reason: 'changed' })
  const page = await console.browse('admin', 'GET', `/audit?run=${id}`)
  expect(page.body).toContain(
    `Ask the platform for the old values of a plan <small class="soft">ask_plan</small>`,
  )
  expect(page.body).toContain(`<a href="/runs/${id}">run ${id}</a>`)
})

test('the old values of a plan, asked for while all calls are paused, are missing with that reason', async () => {
  const id = await addRun({ kind: 'changes', state: 'held', planned: 1, plan: { reasons: { changed: 1 } } })
  await console.pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason, fields)
     values ($1, 'update-employee', 'a', 'changed', '{mobile}')`,
    [id],
  )
  expect((await api('GET', `/runs/${id}/plan`)).json()).toMatchObject({
    platform: 'not_asked',
    platform_error: null,
  })
  await console.pool.query(`select dirsync.pause('maintenance')`)
  onTestFinished(async () => void (await console.pool.query('select dirsync.resume()')))
  const paused = 'All calls of this deployment are paused, so this one was not made.'
  expect((await api('POST', `/runs/${id}/plan/ask`, { body: {} })).json()).toMatchObject({
    platform: 'not_asked',
    platform_error: expect.stringContaining(paused),
  })
  const { body } = await console.browse('operator', 'POST', `/runs/${id}/plan/ask`)
  expect(body).toContain('The platform was not asked')
  expect(body).toContain(paused)
  await console.pool.query('select dirsync.resume()')
  const silent = (await api('POST', `/runs/${id}/plan/ask`, { body: {} })).json()
  expect(silent).toMatchObject({ platform: 'asked', platform_error: expect.stringMatching(/platform/) })
})

describe('a part of a stored plan', () => {
  // A user may ask so often in a second.
  const seen = (path: string) => api('GET', path, { role: 'viewer' })

  async function held(): Promise<number> {
    const id = await addRun({ kind: 'changes', state: 'held', planned: 4, plan: { reasons: { changed: 4 } } })
    await console.pool.query(
      `insert into dirsync.planned_work (run_id, operation, entity_key, reason, department, fields)
       select $1, 'update-employee', 'p' || i, 'changed', 'D' || i % 2, array['dept_code'] from generate_series(1, 4) i`,
      [id],
    )
    await console.pool.query(
      `insert into dirsync.employee (userid, held_run) select 'p' || i, $1 from generate_series(1, 4) i
       on conflict (enterprise_code, userid) do update set held_run = excluded.held_run, rejected = false`,
      [id],
    )
    await console.pool.query(
      `insert into dirsync.plan_reading (run_id, state, finished_at, moves) values ($1, 'done', now(), '[]')`,
      [id],
    )
    return id
  }

  test('is approved by its rows or rejected by a filter, and stays to be seen', async () => {
    const id = await held()
    const approved = await api('POST', `/runs/${id}/approve-part`, { body: { keys: ['p1', 'p2'] } })
    const { part } = approved.json()
    expect(approved.json()).toEqual({ run: id, part: expect.any(Number), planned: 2, undecided: 2 })
    expect(approved.headers.location).toBe(`/api/v1/runs/${part}`)
    expect((await seen(`/runs/${part}`)).json()).toMatchObject({ state: 'requested', part_of: id })
    expect((await seen(`/runs/${id}`)).json()).toMatchObject({ state: 'held', undecided: 2, left: 2 })
    const { items } = (await seen('/runs?state=held&limit=1')).json()
    expect(items).toMatchObject([{ id, left: 2 }])
    // As a form sends it.
    const form = new URLSearchParams({
      filter: JSON.stringify({ department: 'D0' }),
      reason: 'not these',
    }).toString()
    expect((await console.browse('operator', 'POST', `/runs/${id}/reject-part`, form)).statusCode).toBe(303)
    const plan = (await seen(`/runs/${id}/plan`)).json()
    expect(plan).toMatchObject({
      undecided: 1,
      decisions: [
        {
          approved: true,
          filter: { keys: ['p1', 'p2'] },
          planned: 2,
          run: part,
          departments: [
            { department: 'D0', n: 1 },
            { department: 'D1', n: 1 },
          ],
        },
        { approved: false, filter: { department: 'D0' }, planned: 1, run: null, why: 'not these' },
      ],
      held_back: { employees: 1, reasons: { changed: 1 }, fields: { dept_code: 1 } },
    })
    const of = async (decision: string) =>
      (await seen(`/runs/${id}/plan?decision=${decision}`))
        .json()
        .items.map(({ key }: { key: string }) => key)
    expect([await of('approved'), await of('rejected'), await of('open')]).toEqual([
      ['p1', 'p2'],
      ['p4'],
      ['p3'],
    ])
    const page = await console.browse('operator', 'GET', `/runs/${id}/plan`)
    expect(page.body).toContain(
      '3 of 4 rows are decided. 1 row is not: no plan sends it before a person decides.',
    )
    expect((await api('POST', `/runs/${id}/reject`, { body: { reason: 'nor this' } })).statusCode).toBe(200)
    const over = (await seen(`/runs/${id}`)).json()
    expect(over).toMatchObject({ state: 'running', undecided: 0, held_back: { employees: 2 } })
    expect((await console.browse('viewer', 'GET', `/runs/${id}`)).body).toContain('still different today')
  })

  test.each([
    [
      'reject',
      'The remaining 3 rows of the plan are rejected and not sent.',
      'Run \\d+ is rejected: nothing of its plan is sent.',
    ],
    [
      'approve',
      'The remaining 3 rows of the plan are approved and will be sent.',
      'Run \\d+ is approved: its plan will be sent as it was stored.',
    ],
  ])('is not taken for all of it when a person decides to %s the rest', async (decision, ofRest, ofAll) => {
    const said = async (id: number) => {
      const form = 'reason=so'
      const { cookies } = await console.browse('operator', 'POST', `/runs/${id}/${decision}`, form)
      const notice = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
      return (await console.ask('operator', 'GET', `/runs/${id}`, undefined, { cookie: notice })).body
    }
    expect(await said(await held())).toMatch(new RegExp(ofAll))
    const id = await held()
    await api('POST', `/runs/${id}/${decision === 'reject' ? 'approve' : 'reject'}-part`, {
      body: { keys: ['p1'], reason: 'this one' },
      role: 'admin',
    })
    const plan = (await console.browse('operator', 'GET', `/runs/${id}/plan`)).body
    expect(plan).not.toContain('Nothing of the plan is sent')
    const body = await said(id)
    expect(body).toContain(ofRest)
    expect(body).not.toMatch(new RegExp(ofAll))
  })

  test.each(['approve', 'reject'])(
    'that is undecided again keeps a page from a decision to %s more than it showed',
    async decision => {
      const id = await held()
      const { part } = (
        await api('POST', `/runs/${id}/approve-part`, { body: { keys: ['p1', 'p2'] }, role: 'admin' })
      ).json()
      const formOf = async () => {
        const page = await console.browse('operator', 'GET', `/runs/${id}/plan`)
        const [, fields = ''] =
          new RegExp(`action="/runs/${id}/${decision}"([^]*?)</form>`).exec(page.body) ?? []
        const [, expected = ''] = /name="expected" value="(\d+)"/.exec(fields) ?? []
        return new URLSearchParams({ reason: 'so', expected }).toString()
      }
      const stale = await formOf()
      await console.pool.query(`select dirsync.cancel($1, 'not yet')`, [part])
      const refused = await console.browse('operator', 'POST', `/runs/${id}/${decision}`, stale)
      expect(refused.statusCode).toBe(409)
      expect(refused.body).toContain('another number of rows to decide about by now: 4, not the 2')
      expect((await seen(`/runs/${id}`)).json()).toMatchObject({ state: 'held', undecided: 4 })
      const made = await console.browse('operator', 'POST', `/runs/${id}/${decision}`, await formOf())
      expect(made.statusCode).toBe(303)
      expect((await seen(`/runs/${id}`)).json()).toMatchObject({ undecided: 0 })
    },
  )

  test('that has cases: the held run has them, too, wherever they are listed', async () => {
    const id = await held()
    const { part } = (await api('POST', `/runs/${id}/approve-part`, { body: { keys: ['p1'] } })).json()
    await api('POST', `/runs/${id}/approve`, { body: {} })
    await console.pool.query(`update dirsync.sync_run set state = 'running' where part_of = $1`, [id])
    await console.pool.query(
      `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, first_run_id,
                                        last_run_id)
       values ('employee', 'p1', 'update-employee', 'internal_error', '[]', '[]', $1, $1)`,
      [part],
    )
    for (const _ of ['parts', 'held']) await finishRuns(console.pool)
    const run = (await seen(`/runs/${id}`)).json()
    expect(run).toMatchObject({
      state: 'done',
      cases_by_category: { internal_error: 1 },
      dead_letters: [{ entity_key: 'p1' }],
      dead_letters_total: 1,
      figures: { new_cases: 1 },
    })
    expect((await seen(`/cases?run=${id}`)).json().items).toMatchObject([{ entity_key: 'p1' }])
  })

  test('is in the audit in the language of who reads it', async () => {
    const id = await held()
    const filter = { reason: 'changed', department: 'D1' }
    await api('POST', `/runs/${id}/reject-part`, { body: { filter, reason: '不对' }, role: 'admin' })
    const chinese = { 'accept-language': 'zh-CN' }
    const { body } = await console.browse('admin', 'GET', `/audit?run=${id}`, '', chinese)
    const [details = ''] = /<ul class="values">.*?<\/ul>/s.exec(body) ?? []
    expect(details.replaceAll(/<[^>]*>/g, '')).toMatch(/行数 \d+/)
    expect(details.replaceAll(/<[^>]*>/g, '')).not.toMatch(/[a-z]/)
  })

  test('is undecided again once its run or the held one is cancelled, and the person is told so', async () => {
    const id = await held()
    const approve = (keys: string[]) =>
      api('POST', `/runs/${id}/approve-part`, { body: { keys }, role: 'admin' })
    const { part } = (await approve(['p1'])).json()
    const cancel = async (run: number) => {
      const { cookies } = await console.browse('operator', 'POST', `/runs/${run}/cancel`, 'reason=so')
      const notice = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
      return (await console.ask('operator', 'GET', `/runs/${run}`, undefined, { cookie: notice })).body
    }
    const said = (run: number) => `What run ${run} has not sent is undecided again in run ${id}`
    expect(await cancel(part)).toContain(said(part))
    // Who approved it is another one than who cancelled it.
    const textOf = async (path: string) =>
      (await console.browse('viewer', 'GET', path)).body.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')
    const page = await textOf(`/runs/${part}`)
    expect(page).toMatch(/ Approved [^,]*, admin .* Cancelled [^,]*, \S*operator: so/)
    expect(page).not.toContain('Decided')
    expect(await textOf(`/runs/${part}/plan`)).toMatch(/Cancelled by \S*operator,/)
    await approve(['p1'])
    await approve(['p2', 'p3', 'p4'])
    expect((await seen(`/runs/${id}`)).json()).toMatchObject({ state: 'running' })
    const body = await cancel(id)
    expect(body).toContain(said(id))
    expect(body).not.toContain(`Run ${id} is cancelled`)
    expect((await seen(`/runs/${id}`)).json()).toMatchObject({ state: 'held', undecided: 4 })
    const again = (await approve(['p1'])).json().part
    const answer = await api('POST', `/runs/${again}/cancel`, { body: { reason: 'so' } })
    expect(answer.json()).toEqual({ run: again, undecided_in: id })
  })

  test('that is rejected says what later became of a row, and claims nothing that was not sent', async () => {
    const id = await held()
    await api('POST', `/runs/${id}/reject-part`, {
      body: { filter: { key: 'p' }, reason: 'so' },
      role: 'admin',
    })
    const later = await addRun({ kind: 'employees', state: 'done', finished_at: new Date() })
    await console.pool.query(
      `with row as (update dirsync.planned_work set source_hash = gen_random_uuid() where run_id = $1 and entity_key = 'p2'
                    returning source_hash)
       update dirsync.employee set acknowledged_hash = row.source_hash from row where userid = 'p2'`,
      [id],
    )
    await console.pool.query(
      `insert into dirsync.attempt (operation, enterprise_code, entity_key, detail, started_at, duration_ms, outcome, run_id, error)
       values ('update-employee', '', 'p1', '', now(), 1, 'in_sync', $1, null),
              ('update-employee', '', 'p2', '', now(), 1, 'in_sync', null, '{"key": "said.rejected_but_there"}')`,
      [later],
    )
    const textOf = async (language: string) =>
      (await console.browse('viewer', 'GET', `/runs/${id}/plan`, '', { 'accept-language': language })).body
        .replaceAll(/<[^>]*>/g, ' ')
        .replaceAll(/\s+/g, ' ')
    const english = await textOf('en')
    expect(english).toContain(`by run ${later}: already in sync`)
    expect(english).toContain('the platform already has this change, so its rejection holds nothing back')
    const chinese = await textOf('zh-CN')
    expect(chinese).toMatch(new RegExp(`第 ${later} 号任务： ?本已一致`))
    expect(chinese).not.toContain('任务发送')
    expect((await console.browse('viewer', 'GET', `/runs/${id}/plan.csv`)).body).toMatch(/p2,.*,in_sync\b/)
  })

  test.each([
    [49, 'and 37 more'],
    [50, 'and at least 38 more'],
  ])('has figures of %d departments, %s', async (n, words) => {
    const id = await held()
    await console.pool.query(
      `update dirsync.plan_reading
       set departments = (select jsonb_agg(jsonb_build_object('department', 'D' || i, 'n', 1)) from generate_series(1, $2) i)
       where run_id = $1`,
      [id, n],
    )
    expect((await console.browse('viewer', 'GET', `/runs/${id}/plan`)).body).toContain(words)
  })

  test('is not offered by a department until HR is read for all rows, nor decided', async () => {
    const id = await held()
    const shown = async () => (await console.browse('operator', 'GET', `/runs/${id}/plan?department=D1`)).body
    expect(await shown()).toContain('Reject 2 rows of this filter')
    await console.pool.query(`update dirsync.plan_reading set state = 'failed' where run_id = $1`, [id])
    const body = await shown()
    expect(body).toContain('Until then you cannot decide by this filter, only about ticked rows.')
    expect(body).toContain('Reject ticked rows')
    expect(body).not.toMatch(/rows? of this filter/)
    const asked = { body: { filter: { department: 'D1' } }, role: 'admin' } as const
    const answer = await api('POST', `/runs/${id}/approve-part`, asked)
    expect(answer.statusCode).toBe(409)
    expect(answer.json().detail).toContain(`HR has not been read for all rows of the plan of run ${id} yet`)
  })

  test('of people and the rows unlike the rest is about those of both', async () => {
    const id = await held()
    await console.pool.query(
      `update dirsync.planned_work set odd = entity_key in ('p1', 'p3') where run_id = $1`,
      [id],
    )
    const part = (keys: string[]) =>
      api('POST', `/runs/${id}/approve-part`, { body: { filter: { keys, odd: 'yes' } }, role: 'admin' })
    expect((await part(['p1', 'p2'])).json()).toMatchObject({ planned: 1 })
    expect((await part(['p1', 'p2'])).statusCode).toBe(409)
    expect((await seen(`/runs/${id}/plan`)).json()).toMatchObject({ undecided: 3 })
  })

  test.each([
    [{}, 422, 'tick some rows, or give a filter'],
    [{ filter: {} }, 422, 'tick some rows, or give a filter'],
    [{ filter: { dept: 'D1' } }, 422, 'dept'],
    [{ filter: 'nonsense' }, 422, 'filter'],
    [{ filter: { key: '' } }, 422, 'key'],
    [{ keys: [''] }, 422, 'a plan cannot be filtered by keys [""]'],
    [{ keys: ['p1', 'nobody'] }, 409, 'has no row of nobody'],
    [{ filter: { department: 'D7' } }, 409, 'no undecided row'],
  ])('is refused for %j', async (body, status, words) => {
    const id = await held()
    const answer = await api('POST', `/runs/${id}/approve-part`, { body, role: 'admin' })
    expect({ status: answer.statusCode, detail: answer.json().detail }).toEqual({
      status,
      detail: expect.stringContaining(words),
    })
    expect((await seen(`/runs/${id}/plan`)).json()).toMatchObject({ undecided: null, decisions: [] })
  })
})

test('a plan that is not there is no file, and no export is recorded', async () => {
  const id = await addRun({ kind: 'changes', state: 'done', planned: 2 })
  const file = (run: number, named = '') =>
    console.ask('viewer', 'GET', `${named}/runs/${run}/plan.csv`, undefined, { accept: 'text/html' })
  for (const [run, detail] of [
    [id, `The plan of run ${id} is not stored`],
    [999999, 'there is no run 999999'],
  ] as const) {
    const answer = await file(run, '/api/v1')
    expect(answer.statusCode).toBe(404)
    expect(answer.headers['content-disposition']).toBeUndefined()
    expect(answer.json().detail).toContain(detail)
    expect((await file(run)).body).toContain(detail)
  }
  const { rows } = await console.pool.query(
    `select from dirsync.command where name = 'export' and arguments ->> 'file' = any ($1)`,
    [[`plan-${id}.csv`, 'plan-999999.csv']],
  )
  expect(rows).toEqual([])
})

test('a held deletion of departments says by which limit it was held, not the present one, and lists departments', async () => {
  const id = await addRun({
    kind: 'departments',
    state: 'held',
    planned: 30,
    plan: { reasons: { delete: 30 } },
    message: message('said.departments_go', { changing: 30, total: 100, count: 20, percent: 15 }),
  })
  await console.pool.query(`update dirsync.sync_run set in_scope = 100 where id = $1`, [id])
  await console.pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason)
     values ($1, 'delete-department', 'D7', 'delete')`,
    [id],
  )
  const page = await console.browse('operator', 'GET', `/runs/${id}/plan`)
  expect(page.statusCode).toBe(200)
  expect(page.body).toContain('30 of 100 departments would be deleted, more than 20 and 15 %.')
  expect(page.body).not.toMatch(/BREAKER_|Limit/)
  expect(page.body).toContain('department to delete')
  expect(page.body).not.toContain('By field that changes')
})

test('a first run that is held because most have left says so, not how many it would change', async () => {
  const leavers = { left: 580, of: 600 }
  const said = message('said.most_left', { left: 580, total: 600, percent: 40 })
  const id = await addRun({
    kind: 'full',
    state: 'held',
    planned: 600,
    plan: { reasons: {}, leavers },
    message: said,
  })
  await console.pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason) values ($1, 'update-employee', 'a', 'new')`,
    [id],
  )
  const page = await console.browse('operator', 'GET', `/runs/${id}/plan`)
  expect(page.body).toMatch(/580 of 600 employees/)
  expect(page.body).toContain('more than 40 %')
  expect(page.body).not.toContain('BREAKER_')
  expect(page.body).not.toContain('Would change')
})

test('the plan of a run does not say that anything would be sent about leavers', async () => {
  const id = await addRun({
    kind: 'full',
    state: 'held',
    planned: 108,
    plan: { reasons: { changed: 96, left: 11, vanished: 1 }, total: 336 },
  })
  const { body } = await console.browse('operator', 'GET', `/runs/${id}/plan`)
  expect(body).toContain('12 of them have left or vanished')
  expect(body).not.toContain('would be sent')
})

test('the page that starts runs does not claim at least one call per employee', async () => {
  await console.pool.query(`insert into dirsync.employee (userid, source_hash, acknowledged_hash)
    select 'known-' || n, md5('')::uuid, md5('')::uuid from generate_series(1, 7) n`)
  const { body } = await console.browse('operator', 'GET', '/runs/new')
  await console.pool.query(`delete from dirsync.employee where userid like 'known-%'`)
  expect(body).toMatch(/About \d+ calls: one per employee, more for those who differ/)
  expect(body).not.toContain('At least')
})

test('a run that follows a person’s decision is not said to be dirsync’s own', async () => {
  const id = await addRun({ kind: 'changes', state: 'done', requested_by: 'postgres (console:sam)' })
  const { body } = await console.browse('operator', 'GET', `/runs/${id}`)
  expect(body).toContain('No one has acted on it since it was requested.')
  expect(body).not.toContain('by dirsync itself')
})

test('the time that calls waited is a mean per call, since calls wait side by side', async () => {
  const result = { outcomes: {}, calls: { 'employee/get': 300, 'employee/update': 100 }, rateLimited: {} }
  const waitedMs = { 'employee/get': 600_000, 'employee/update': 60_000 }
  const run = { kind: 'orders', state: 'done', finished_at: new Date(), result: { ...result, waitedMs } }
  await addRun(run)
  const { body } = await console.browse('operator', 'GET', `/runs/${await addRun(run)}`)
  expect(body).toMatch(/Mean wait of a call for the pacer[\s\S]{0,200}1\.7 s/)
  expect(body).not.toContain('11 min')
})

test('a run that another one took the place of keeps its plan to look at, and offers no decision', async () => {
  const id = await addRun({
    kind: 'changes',
    state: 'superseded',
    planned: 1,
    plan: { reasons: { changed: 1 } },
  })
  const page = await console.browse('operator', 'GET', `/runs/${id}/plan`)
  expect(page.body).toContain('is not stored')
  expect(page.body).toContain('Why it was held')
  expect(page.body).not.toContain('/approve')
})

test.each([
  ['superseded', {}, 'Not counted: the plan was over before HR had been read.'],
  ['rejected', { decided_at: new Date() }, 'Not counted: it was decided before HR had been read.'],
])('the plan of a run that is %s says truly why no field is counted', async (state, decision, said) => {
  const id = await addRun({
    kind: 'changes',
    state,
    planned: 1,
    plan: { reasons: { changed: 1 } },
    ...decision,
  })
  await console.pool.query(
    `insert into dirsync.planned_work (run_id, operation, entity_key, reason) values ($1, 'update-employee', 'a', 'changed')`,
    [id],
  )
  await console.pool.query(
    `insert into dirsync.plan_reading (run_id, state, finished_at) values ($1, 'stopped', now())`,
    [id],
  )
  const { body } = await console.browse('viewer', 'GET', `/runs/${id}/plan`)
  expect(body.match(/Not counted[^<]*/g)).toEqual([said, said])
})

test('the plan of a run that was never held claims no breaker', async () => {
  const id = await addRun({
    kind: 'full',
    state: 'done',
    planned: 336,
    plan: { reasons: { new: 336 }, total: 336 },
  })
  const { body } = await console.browse('operator', 'GET', `/runs/${id}/plan`)
  expect(body).toContain('is not stored')
  expect(body).toContain('By reason')
  expect(body).not.toContain('Why it was held')
  expect(body).not.toContain('Would have changed')
})

test('a run says how many it brought in sync beyond its plan', async () => {
  const result = { outcomes: { updated: 3 }, calls: {}, deadLetters: {} }
  const id = await addRun({ kind: 'changes', state: 'done', finished_at: new Date(), planned: 2, result })
  const { body } = await console.browse('operator', 'GET', `/runs/${id}`)
  expect(body).toContain('1 more, whose way its changes cleared')

  // A mirror has no plan that others could join.
  const mirror = {
    kind: 'orders',
    state: 'done',
    finished_at: new Date(),
    result: { ...result, outcomes: { read: 5 } },
  }
  const page = await console.browse('operator', 'GET', `/runs/${await addRun(mirror)}`)
  expect(page.body).not.toContain('whose way its changes cleared')
})

describe('an ended run', () => {
  const finished_at = new Date()
  const textOf = async (path: string, language = 'en') =>
    (await console.browse('viewer', 'GET', path, '', { 'accept-language': language })).body
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
  const resultOf = (outcomes: Record<string, number>) => ({ outcomes, calls: {}, deadLetters: {} })

  test('says what it has not finished, not that any of it is to be retried', async () => {
    const result = resultOf({ updated: 32, wait: 22, retry: 9, replan: 1 })
    const id = await addRun({ kind: 'changes', state: 'cancelled', finished_at, planned: 72, result })
    expect(await textOf('/runs')).toContain('40 not finished, 32 updated')
    const page = await textOf(`/runs/${id}`)
    expect(page).toMatch(/Outcome Not finished 40 Updated 32 /)
    expect(page).not.toMatch(/retried|told to wait|new plan/i)
    expect((await api('GET', `/runs/${id}`)).json().outcomes).toEqual(result.outcomes)
  })

  test('of named employees or cases says what a later run has taken over', async () => {
    for (const kind of ['employees', 'retry']) {
      const run = { kind, state: 'done', finished_at, planned: 3, result: resultOf({ updated: 2 }) }
      expect(await textOf(`/runs/${await addRun(run)}`)).toMatch(/Outcome Updated 2 Not finished 1 /)
    }
  })

  test('says what of it is halted, which is sent once the halt ends, unless it was cancelled', async () => {
    const result = resultOf({ updated: 32, halted: 14, replan: 2 })
    const run = { kind: 'changes', finished_at, planned: 48, result }
    const id = await addRun({ ...run, state: 'done' })
    expect(await textOf(`/runs/${id}`)).toMatch(/Outcome Updated 32 Halted 14 Not finished 2 /)
    const cancelled = await addRun({ ...run, state: 'cancelled' })
    expect(await textOf(`/runs/${cancelled}`)).toMatch(/Outcome Updated 32 Not finished 16 /)
    const held = await addRun({ kind: 'changes', state: 'held', planned: 50 })
    await console.pool.query('update dirsync.sync_run set undecided = 2 where id = $1', [held])
    await console.pool.query(
      `insert into dirsync.plan_decision (run_id, approved, filter, part_run, planned, reasons, decided_by)
       values ($1, true, '{"department": "D1"}', $2, 48, '{}', 'anna')`,
      [held, id],
    )
    expect(await textOf(`/runs/${held}/plan`)).toContain('32 updated, 14 halted, 2 not finished #')
  })

  test('counts none of its plan twice where it was decided in parts, nor does a decision about one', async () => {
    const result = resultOf({ in_sync: 40, updated: 2, retry: 20, halted: 8 })
    const id = await addRun({ kind: 'changes', state: 'done', finished_at, planned: 72, result })
    await console.pool.query('update dirsync.sync_run set undecided = 0 where id = $1', [id])
    const part = await addRun({ kind: 'changes', state: 'cancelled', finished_at, planned: 70, result })
    await console.pool.query(
      `insert into dirsync.plan_decision (run_id, approved, filter, part_run, planned, returned, reasons, decided_by)
       values ($1, true, '{"department": "D1"}', $2, 70, 28, '{}', 'anna'),
              ($1, false, '{}', null, 30, 0, '{}', 'anna')`,
      [id, part],
    )
    const whole = '40 already in sync, 2 updated, 30 rejected'
    expect(await textOf('/runs')).toContain(whole)
    expect(await textOf(`/runs/${id}`)).toContain(whole)
    expect(await textOf(`/runs/${id}/plan`)).toContain('40 already in sync, 2 updated #')
    expect(await textOf(`/runs/${id}`, 'zh-CN')).toContain('本已一致 40，已更新 2，已驳回 30')
  })
})

test('the cases of a run are those that failed in it, not all that are unresolved', async () => {
  const id = await addRun({
    kind: 'full',
    state: 'done',
    finished_at: new Date(),
    planned: 20,
    result: { outcomes: { parked: 14 }, calls: {}, deadLetters: { duplicate_mobile: 6 } },
  })
  const { body } = await console.browse('operator', 'GET', `/runs/${id}`)
  expect(body).toContain('6 cases failed in this run and stayed open.')
  expect(body).toContain('failed cases, open at its end')
  const { components, paths } = (await api('GET', '/openapi.json')).json()
  expect(JSON.stringify([components, paths])).toContain(
    'Cases that failed in it and were unresolved when it ended',
  )
})
