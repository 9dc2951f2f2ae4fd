import { describe, expect, test } from 'vitest'
import { liftHrHalt } from '../../src/sync/halts.ts'
import { judgeLater, readRun } from '../../src/sync/run.ts'
import { isPlanned, requestReplan } from '../../src/sync/run-requests.ts'
import { plant, plantRun } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()
const ago = (minutes: number) => new Date(Date.now() - minutes * 60_000)

/** A row whose HR row a worker found changed since its plan, so many minutes ago. */
const waiting = (minutes: number) =>
  plant(store, 'pending', {
    operation: 'update-employee',
    entity_key: 'e1',
    priority: 3,
    not_before: 'infinity',
    replan_at: ago(minutes),
  })
const changes = (state: string, minutes: number, differs = {}) =>
  plantRun(store, {
    state,
    requested_at: ago(minutes),
    started_at: ago(minutes),
    planned_at: ago(minutes),
    finished_at: ago(minutes),
    ...differs,
  })

describe('rows that wait for a plan', () => {
  test('ask for nothing when a run has judged HR since', async () => {
    await waiting(5)
    await changes('source_suspect', 3)
    expect(await requestReplan(store.pool)).toBeNull()
  })

  test.each(['failed', 'cancelled'])('are not taken for judged by a run that was %s', async state => {
    await waiting(5)
    const id = await changes(state, 3)
    expect(await requestReplan(store.pool)).toBe(id + 1)
    expect(await readRun(store.pool, id + 1)).toMatchObject({ kind: 'changes', requestedBy: 'replan' })
    // One is enough.
    expect(await requestReplan(store.pool)).toBe(id + 1)
  })

  test('wait a minute after a run that failed', async () => {
    await waiting(5)
    await changes('failed', 0)
    expect(await requestReplan(store.pool)).toBe('early')
  })
})

test('a held run that could not be judged again is judged a minute later, and nobody waits for it', async () => {
  const id = await changes('held', 1, { finished_at: null, message: 'why' })
  await judgeLater(store.pool, id, 'why. HR could not be judged again: away')
  expect(await isPlanned(store.pool, id)).toBe(true)
  const [run] = await store.rows(
    `select rejudge_at between now() + interval '30 seconds' and now() + interval '1 minute' as later, judged_at
     from dirsync.sync_run where id = $1`,
    [id],
  )
  expect(run).toEqual({ later: true, judged_at: null })
})

test('HR that answers ends the halt because of HR, and no other', async () => {
  const halt = (category: string) =>
    plant(store, 'halt', { scope: '*', category, message: 'm', remedy: 'r', since: ago(1) })
  await halt('paused')
  expect(await liftHrHalt(store.pool, new Date())).toBe(false)
  await store.pool.query('delete from dirsync.halt')
  await halt('hr_unavailable')
  expect(await liftHrHalt(store.pool, ago(2))).toBe(false)
  expect(await liftHrHalt(store.pool, new Date())).toBe(true)
  expect(await store.rows('select from dirsync.halt')).toEqual([])
})
