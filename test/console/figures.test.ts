import { mkdtempSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { CASE_STATES } from '../../src/sync/cases/cases.ts'
import { inWords, toStore } from '../../src/texts/message.ts'
import { ConsoleUnderTest, hrWith, openApp, signInAs } from './console-under-test.ts'

const console = new ConsoleUnderTest()
let run: number

/** A case of each state in two categories, one more that is open; and people of several statuses. */
beforeAll(async () => {
  const { rows } = await console.pool.query<{ id: number }>(
    `insert into dirsync.sync_run (kind, state, planned_at, finished_at, requested_by)
     values ('full', 'done', now(), now(), 'a test') returning id::int`,
  )
  run = rows[0]?.id ?? 0
  const words = toStore(inWords('words'))
  await console.pool.query(
    `insert into dirsync.dead_letter
       (entity, operation, note, message, remedy, first_run_id, entity_key, category, state, resolved_at)
     select 'employee', 'update-employee', 'agreed', $3, $3, $2, c || s, c, s,
            case when s = 'resolved' then now() end
     from unnest(array['left_hr', 'duplicate_email']) c, unnest($1::text[]) s`,
    [CASE_STATES, run, words],
  )
  await console.pool.query(
    `insert into dirsync.dead_letter (entity, operation, message, remedy, first_run_id, entity_key, category, state)
     values ('employee', 'update-employee', $2, $2, $1, 'another', 'left_hr', 'open')`,
    [run, words],
  )
  await console.pool.query(
    `insert into dirsync.employee (userid, source_hash, acknowledged_hash, parked_hash, platform_state)
     select 'e' || i, h, case when i < 3 then h end, case when i > 4 then h end, 'in_service'
     from (select i, md5(i::text)::uuid as h from generate_series(1, 9) i) x`,
  )
})

const page = async (path: string) => (await console.ask('viewer', 'GET', path)).body

/** The first figure of each notice, tile, fact, row and aside that leads to cases or to employees of a status. */
function figuresOf(body: string): [href: string, figure: number][] {
  const main = body.slice(body.indexOf('<main'))
  return main.split(/(?=<tr|<li|<div><dt>|<div class="alert|<h2)/).flatMap(place => {
    const href = /href="(\/(?:cases(?:\?[^"]*)?|employees\?status=[^"]*))"/.exec(place)?.[1]
    const figure = /\d+/.exec(place.replaceAll(/<[^>]+>/g, ' '))?.[0]
    return href && figure ? [[href.replaceAll('&amp;', '&'), Number(figure)]] : []
  })
}

/** How many are in the list of an address. */
async function listed(href: string): Promise<number> {
  const { count, items } = (await console.ask('viewer', 'GET', `/api/v1${href}`)).json()
  return count ?? items.length
}

test('each figure of the overview is that of the list it leads to', async () => {
  const figures = figuresOf(await page('/overview'))
  expect(figures.map(([, figure]) => figure)).toEqual([5, 5, 3, 2, 2, 5])
  for (const [href, figure] of figures) expect(figure, href).toBe(await listed(href))
})

test('what the overview promises of the cases by cause is the page by cause', async () => {
  const links = [...(await page('/overview')).matchAll(/<a href="(\/cases[^"]*)">([^<]*by cause)<\/a>/gi)]
  expect(links.map(([, href, text]) => [href, text])).toEqual([['/cases/groups', 'By cause']])
})

test('“all” on the page of a run leads to all of its cases', async () => {
  const all = figuresOf(await page(`/runs/${run}`)).at(-1)
  expect(all?.[1]).toBe(2 * CASE_STATES.length + 1)
  expect(await listed(all?.[0] ?? '')).toBe(all?.[1])
})

/** Two HR systems with the same staff, each with an enterprise of its own. */
function northAndSouth(): Record<string, string> {
  const folder = mkdtempSync(join(inject('runFolder'), 'figures-'))
  const { HR_EMPLOYEES_SQL: employees_sql } = hrWith(
    console.url,
    'select enterprise_code, userid, name from public.staff',
  )
  const source = (name: string, code: string) => ({
    name,
    address: console.url,
    employees_sql,
    enterprise_codes: [code],
  })
  const file = join(folder, 'sources.json')
  writeFileSync(file, JSON.stringify([source('north', ''), source('south', 'E2')]))
  return { HR_SOURCES: file, HR_DATABASE_URL: '', HR_EMPLOYEES_SQL: '' }
}

test('the cases of a column of the mapping are counted by source, and lead to just those', async () => {
  await console.pool.query(`
    create table public.staff (enterprise_code text, userid text, name text);
    insert into dirsync.dead_letter (enterprise_code, entity, operation, message, remedy, entity_key, category, field)
      select code, 'employee', 'update-employee', '[]', '[]', 'e' || i, 'invalid_hr_row', 'name'
      from (values ('', 1), ('E2', 2), ('E2', 3)) of (code, i)`)
  await using other = await openApp(console.url, { settings: northAndSouth() })
  const headers = { cookie: await signInAs(other, 'viewer'), accept: 'text/html', 'accept-language': 'en' }
  const figures = async (name: string) => {
    const { body } = await other.app.inject({ url: `/mapping?source=${name}`, headers })
    expect(body).toMatch(/<td class="number" data-label="[^"]*">(<a[^>]*>)?<span class="state warn">/)
    return figuresOf(body)
  }
  const south = await figures('south')
  expect(south).toEqual([['/cases?categories=invalid_hr_row&field=name&enterprise=E2', 2]])
  expect(await listed(south[0]?.[0] ?? '')).toBe(2)
  // No filter has those of the enterprise without a code alone.
  expect(await figures('north')).toEqual([])
  await console.pool.query(`delete from dirsync.dead_letter where category = 'invalid_hr_row'`)
})

test('the dry runs of one of several HR systems are those of that one', async () => {
  await console.pool.query(`
    insert into dirsync.dry_run (mapping, state, finished_at, hr_source)
      select 'select 1', 'cancelled', now(), unnest(array['north', 'south', 'south'])`)
  await using other = await openApp(console.url, { settings: northAndSouth() })
  const headers = { cookie: await signInAs(other, 'viewer') }
  const ask = (query: string) => other.app.inject({ url: `/api/v1/mapping/dry-runs${query}`, headers })
  const sources = async (query: string) =>
    (await ask(query)).json().items.map(({ source }: { source: string }) => source)
  expect(await sources('?source=south')).toEqual(['south', 'south'])
  expect(await sources('?source=north')).toEqual(['north'])
  expect(await sources('')).toEqual(['south', 'south', 'north'])
  expect((await ask('?source=west')).statusCode).toBe(404)
})

test('of a plan that is decided in parts, departments that figures have left out are still said to be more', async () => {
  const counted = Array.from({ length: 50 }, (_, i) => ({ enterprise_code: '', department: `D${i}`, n: 1 }))
  const { rows } = await console.pool.query(
    `with held as (
       insert into dirsync.sync_run (kind, state, planned, undecided, planned_at, plan)
       values ('changes', 'held', 60, 59, now(), '{"reasons": {"changed": 60}}') returning id
     ), stored as (
       insert into dirsync.planned_work (run_id, operation, entity_key, reason, active, source_hash)
       select id, 'update-employee', 'e1', 'changed', true, gen_random_uuid() from held
     ), read as (
       insert into dirsync.plan_reading (run_id, state, looked_at, departments, fields, moves, finished_at)
       select id, 'done', 60, $1, '[]', '[]', now() from held
     ), decided as (
       insert into dirsync.plan_decision (run_id, approved, filter, planned, reasons, fields, departments, moves, decided_by)
       select id, false, '{"department": "D0"}', 1, '{"changed": 1}', '{}', jsonb_build_array($1::jsonb -> 0), '[]', 'a test'
       from held
     )
     select id::int from held`,
    [JSON.stringify(counted)],
  )
  expect(await page(`/runs/${rows[0].id}/plan`)).toContain('and at least 37 more')
})

describe('the curves', () => {
  const within = async (query: string) => {
    const body = await page(`/overview?${query}`)
    const [, given = null] = /<a href="\/runs\?([^"]*)">Runs requested in this time/.exec(body) ?? []
    return given && Object.fromEntries(new URLSearchParams(given.replaceAll('&amp;', '&')))
  }

  test.each([
    ['', null],
    ['span=30d', null],
    ['from=12h', { from: '12h' }],
    ['from=2026-11-01T10:00Z&to=2026-11-02', { from: '2026-11-01T10:00Z', to: '2026-11-02' }],
    ['to=2026-11-20T10:00Z', { from: '2026-11-19T10:00:00.000Z', to: '2026-11-20T10:00Z' }],
    ['span=30d&to=2026-11-20T10:00Z', { from: '2026-10-21T10:00:00.000Z', to: '2026-11-20T10:00Z' }],
  ])('of %j lead to the runs of just the time that they show', async (query, runs) => {
    expect(await within(query)).toEqual(runs)
  })

  test.each([
    ['/overview', '24 hours'],
    ['/overview?span=30d', '30 days'],
    ['/overview?from=12h', null],
    ['/overview?to=2026-11-20T10:00Z', null],
    ['/platform', '24 hours'],
    ['/platform?from=12h', null],
    ['/platform?to=2026-11-20T10:00Z', null],
  ])('at %s say that they are those of the last %j only where no range is given', async (path, span) => {
    const body = (await page(path)).split('id="history"')[1] ?? ''
    const [, said = null] = /(?:aria-current="page">|<h2>[^<]*<small>)(\d+ (?:hours|days))/.exec(body) ?? []
    expect(said).toBe(span)
    expect(body.includes('Back to the last 24 hours')).toBe(span === null)
  })
})
