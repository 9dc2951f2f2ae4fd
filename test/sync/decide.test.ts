import { describe, expect, test } from 'vitest'
import { plantRun } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

const call = (text: string, ...values: unknown[]) => store.value<number>(`select dirsync.${text}`, values)
const commands = () => store.rows('select name, arguments, run_id from dirsync.command order by id')
const me = () => store.value<string>('select session_user')

/** What HR changed while the run was held waits for no cron job. */
const NEXT = { kind: 'changes', state: 'requested', approved: false }

describe('approve and reject', () => {
  test('approve lets a held run go on without its breakers', async () => {
    const run = await plantRun(store, { state: 'held' })
    expect(await call('approve($1)', run)).toBe(run)
    expect(await store.rows('select * from dirsync.sync_run order by id')).toMatchObject([
      {
        state: 'requested',
        approved: true,
        decided_by: await me(),
        decided_at: expect.any(Date),
        finished_at: null,
      },
      NEXT,
    ])
    expect(await commands()).toMatchObject([{ name: 'approve', arguments: { run }, run_id: run }])
  })

  test('reject ends it', async () => {
    const run = await plantRun(store, { state: 'held' })
    expect(await call('reject($1)', run)).toBe(run)
    expect(await store.rows('select * from dirsync.sync_run order by id')).toMatchObject([
      { state: 'rejected', approved: false, decided_by: await me(), finished_at: expect.any(Date) },
      NEXT,
    ])
    expect(await commands()).toMatchObject([{ name: 'reject', run_id: run }])
  })

  test.each(['requested', 'planning', 'running', 'done', 'failed', 'source_suspect', 'rejected'])(
    'a run that is %s is neither',
    async state => {
      const run = await plantRun(store, { state })
      const refused = { code: 'P0002', message: `run ${run} is ${state}: there is nothing to decide` }
      for (const decision of ['approve', 'reject'])
        await expect(call(`${decision}($1)`, run)).rejects.toMatchObject({
          ...refused,
          hint: 'no run is held',
        })
      const held = await plantRun(store, { kind: 'full', state: 'held' })
      // A reviewer may not read the table of runs.
      await expect(call('approve($1)', run)).rejects.toMatchObject({
        ...refused,
        hint: `held: ${held} (full)`,
      })
      expect(await commands()).toEqual([])
    },
  )

  test('only one of two decisions counts', async () => {
    const run = await plantRun(store, { state: 'held' })
    const decisions = await Promise.allSettled([call('approve($1)', run), call('reject($1)', run)])
    expect(decisions.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
    expect(await commands()).toHaveLength(1)
  })
})

test('cancel of a run that is over names those under way', async () => {
  const over = await plantRun(store, { state: 'done' })
  const going = await plantRun(store, { kind: 'full' })
  await expect(call('cancel($1)', over)).rejects.toMatchObject({
    code: 'P0002',
    message: `run ${over} is done, so nothing of it is under way`,
    hint: `under way: ${going} (full)`,
  })
})
