import { expect, test, vi } from 'vitest'
import { type ClientBase, transaction } from '../../src/lib/database.ts'
import {
  dropMirrorTasks,
  keepMirrorRun,
  type MirrorTask,
  moveCursor,
  nextMirrorTask,
} from '../../src/mirrors/mirror.ts'
import { inWords } from '../../src/texts/message.ts'
import { plant, plantRun } from '../sync/planted.ts'
import { StoreUnderTest, WAITING_FOR_A_LOCK } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

const SOME_ROWS = { read: 2, changed: 1, calls: 1 }

test.each<[string, (db: ClientBase, task: MirrorTask) => Promise<void>]>([
  ['goes on', (db, task) => moveCursor(db, task, SOME_ROWS, { page: 2, pass: 1, most: 9, passRows: 2 })],
  ['has read a task to its end', (db, task) => moveCursor(db, task, SOME_ROWS, null)],
  ['gives tasks up', (db, { runId }) => dropMirrorTasks(db, runId, {}, inWords('refused'))],
])('cancelling a run and its reader, which %s, do not wait for each other', async (_, write) => {
  const run = await plantRun(store, { kind: 'accounts' })
  await plant(store, 'mirror_task', { run_id: run, position: 0 })
  const task = (await nextMirrorTask(store.pool, run)) as MirrorTask
  let written: Promise<unknown> | undefined
  await transaction(store.pool, async db => {
    await db.query('select from dirsync.sync_run where id = $1 for no key update', [run])
    written = transaction(store.pool, async reader => {
      if (await keepMirrorRun(reader, run)) await write(reader, task)
    }).catch((error: unknown) => error)
    await vi.waitUntil(async () => (await store.rows(WAITING_FOR_A_LOCK)).length > 0, { timeout: 20_000 })
    await db.query('select dirsync.cancel($1)', [run])
  })
  expect(await written).not.toMatchObject({ code: '40P01' })
  expect(await store.rows('select state from dirsync.sync_run')).toEqual([{ state: 'cancelled' }])
  expect(await store.rows('select from dirsync.mirror_task')).toEqual([])
})
