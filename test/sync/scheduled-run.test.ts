import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/lib/database.ts'
import type { RunKind } from '../../src/sync/run.ts'
import { isPlanned, requestScheduledRun } from '../../src/sync/run-requests.ts'
import { plantRun } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const request = (kind: RunKind) => requestScheduledRun(store.pool, kind, 'cron', SILENT)
const runs = () => store.rows('select id, kind, state, requested_by from dirsync.sync_run order by id')

test('a run is requested where none of its kind is unfinished, and heard at once', async () => {
  await plantRun(store, { state: 'done', finished_at: new Date() })
  await plantRun(store, { kind: 'full', state: 'requested' })
  const client = createClient(store.url, 'test')
  await client.connect()
  onTestFinished(() => client.end())
  await client.query('listen dirsync')
  const heard = once(client, 'notification')
  const id = await request('changes')
  expect((await runs()).at(-1)).toEqual({ id, kind: 'changes', state: 'requested', requested_by: 'cron' })
  await heard
})

test.each(['requested', 'planning'])('one that is %s already is enough', async state => {
  const id = await plantRun(store, { state })
  expect(await request('changes')).toBe(id)
  expect(await runs()).toHaveLength(1)
})

test('while one is held HR is judged again, and the run stays held', async () => {
  const id = await plantRun(store, { state: 'held' })
  expect(await request('changes')).toBe(id)
  expect(await runs()).toMatchObject([{ id, state: 'held' }])
  expect(await isPlanned(store.pool, id)).toBe(false)
})

test('changes are looked for while earlier ones are on their way, a second full run is not begun', async () => {
  const changes = await plantRun(store, { state: 'running' })
  expect(await request('changes')).toBeGreaterThan(changes)
  const full = await plantRun(store, { kind: 'full', state: 'running' })
  expect(await request('full')).toBe(full)
})
