import { afterEach, expect, test } from 'vitest'
import { HrChanges } from '../../src/sync/run-requests.ts'
import { until } from '../helpers/company.ts'
import { plantRun } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()
const limits = { gate: { maxFewerRows: 20, maxEmptied: 20 }, breaker: { count: 50, percent: 10 } }
let changes: HrChanges | undefined

afterEach(() => changes?.stop())

/** A run that read every row of HR and could say how many there are. */
const plantSweep = (differs: Record<string, unknown> = {}) =>
  plantRun(store, {
    state: 'done',
    keys: [],
    sweep: true,
    planned_at: new Date(),
    finished_at: new Date(),
    source: { rows: 1_000_000, keyless: 0, empty: {} },
    ...differs,
  })

/** What waits to be planned once the trigger has named these. */
async function requestedFor(userids: string[]) {
  changes = new HrChanges({ pool: store.pool, limits, logger: SILENT })
  changes.changed(userids)
  return until(async () => {
    const runs = await store.rows(
      `select id, keys from dirsync.sync_run where state = 'requested' order by id`,
    )
    return runs.length > 0 && runs
  })
}

test('few rows are named', async () => {
  const sweep = await plantSweep()
  expect(await requestedFor(['e1', 'e2'])).toEqual([{ id: sweep + 1, keys: ['e1', 'e2'] }])
})

test('rows are not sent past a run that is held: HR is judged again with them', async () => {
  await plantSweep()
  const held = await plantSweep({ state: 'held', finished_at: null })
  changes = new HrChanges({ pool: store.pool, limits, logger: SILENT })
  changes.changed(['e1'])
  const [run] = await until(async () => {
    const asked = await store.rows(
      'select id, rejudge_at is not null as asked from dirsync.sync_run order by id desc limit 1',
    )
    return asked[0]?.asked === true && asked
  })
  expect(run).toEqual({ id: held, asked: true })
})

test.each(['source_suspect', 'rejected', 'failed'])(
  'rows are not sent past a run that ended as %s',
  async state => {
    await plantSweep()
    const last = await plantSweep({ state })
    await plantRun(store, { state: 'done', keys: ['e9'], planned_at: new Date(), finished_at: new Date() })
    expect(await requestedFor(['e1'])).toEqual([{ id: last + 2, keys: [] }])
  },
)

test('thousands of rows are read with all the others', async () => {
  const sweep = await plantSweep()
  expect(await requestedFor(Array.from({ length: 1001 }, (_, i) => `e${i}`))).toEqual([
    { id: sweep + 1, keys: [] },
  ])
})
