import { expect, test } from 'vitest'
import { transaction } from '../../src/lib/database.ts'
import { foldTally } from '../../src/sync/health/figures.ts'
import { fail, hash, plant, plantRun, plantWork } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()

/** What the tally says, and what counting the tables says; alike but for the columns that a source has not. */
async function bothWays() {
  const [tally, counted] = await Promise.all([
    store.pool.query(
      `select source, operation, enterprise_code, run_id, priority, enqueued, since, due, category, state, sum(n)::int as n
       from dirsync.tally group by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 having sum(n) <> 0 order by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`,
    ),
    store.pool.query(
      `select 'pending' as source, operation, enterprise_code, run_id, priority, enqueued_at is not null as enqueued,
              date_trunc('second', created_at) as since,
              date_trunc('minute', case when execution is not null and starts = case when in_hand then 1 else 0 end
                                             and not_before > created_at + interval '1 minute'
                                        then nullif(not_before, 'infinity') end) as due,
              null as category, null as state, count(*)::int as n
       from dirsync.pending group by 2, 3, 4, 5, 6, 7, 8
       union all
       select 'employee', null, enterprise_code, null, null, null, null, null, null,
              case when vanished_at is not null then 'vanished'
                   when not active then 'left'
                   when acknowledged_hash = source_hash then 'in_sync'
                   when parked_hash = source_hash then case platform_state when 'absent' then 'awaiting_activation' else 'dead_lettered' end
                   else 'waiting' end as computed, count(*)::int
       from dirsync.employee group by enterprise_code, computed
       union all
       select 'dead_letter', operation, enterprise_code, null, null, null, null, null, category, state, count(*)::int
       from dirsync.dead_letter where state <> 'resolved' group by operation, enterprise_code, category, state
       union all
       select 'sync_run', null, null, null, null, null, null, null, null, state, count(*)::int from dirsync.sync_run group by state
       order by 1, 2, 3, 4, 5, 6, 7, 8, 9, 10`,
    ),
  ])
  return { tally: tally.rows, counted: counted.rows }
}

async function expectExact(): Promise<void> {
  const { tally, counted } = await bothWays()
  expect(tally).toEqual(counted)
}

const employee = (userid: string, differs = {}) =>
  plant(store, 'employee', { userid, source_hash: hash(), ...differs })

test('the tally is what counting the tables would say, whatever is written', async () => {
  const run = await plantRun(store)
  const other = await plantRun(store, { kind: 'full', state: 'held' })
  await employee('new')
  await employee('left', { active: false })
  await employee('absent', { platform_state: 'absent', enterprise_code: 'C1' })
  await plantWork(store, 'new', { run_id: run })
  await plantWork(store, 'old', { run_id: run, created_at: '2020-01-01T12:00:00.7Z' })
  await plantWork(store, 'probe', { enterprise_code: 'C1', enqueued_at: new Date() })
  await fail(store)
  await fail(store, { entity_key: 'e2', category: 'left_hr' })
  await fail(store, {
    entity_key: 'e2',
    category: 'left_hr',
    enterprise_code: 'C1',
    operation: 'bind-openid',
  })
  await expectExact()

  await store.pool.query(`
    update dirsync.employee set acknowledged_hash = source_hash where userid = 'new';
    update dirsync.employee set parked_hash = source_hash where userid = 'absent';
    update dirsync.employee set vanished_at = now() where userid = 'left';
    insert into dirsync.employee (userid) values ('new'), ('newest')
      on conflict (enterprise_code, userid) do update set acknowledged_hash = null;
    update dirsync.pending set enqueued_at = now(), run_id = ${other} where entity_key = 'new';
    update dirsync.pending set priority = 1, starts = 1;
    update dirsync.pending set execution = 1, in_hand = true, not_before = now() + interval '1 hour';
    update dirsync.pending set starts = 2 where entity_key = 'old';
    update dirsync.pending set not_before = 'infinity' where entity_key = 'probe';
    update dirsync.dead_letter set state = 'ignored', note = 'n' where entity_key = 'e2';
    update dirsync.dead_letter set state = 'resolved', resolved_at = now() where entity_key = 'e1';
    update dirsync.sync_run set state = 'done', finished_at = now() where id = ${run}`)
  await expectExact()

  await store.pool.query(`
    delete from dirsync.sync_run where id = ${run};
    delete from dirsync.pending where entity_key = 'probe';
    delete from dirsync.dead_letter;
    delete from dirsync.employee where userid = 'absent'`)
  await expectExact()

  const undone = transaction(store.pool, async db => {
    await db.query(`delete from dirsync.pending`)
    throw new Error('undone')
  })
  await expect(undone).rejects.toThrow('undone')
  await expectExact()

  await store.pool.query('truncate dirsync.pending, dirsync.employee')
  await expectExact()
  expect((await bothWays()).tally).toEqual([
    expect.objectContaining({ source: 'sync_run', state: 'held', n: 1 }),
  ])
})

test('the tally stays exact while it is compacted during writes, and becomes short', async () => {
  const write = async (writer: number) => {
    for (let i = 0; i < 60; i += 1) {
      const key = `w${writer}-${i}`
      await plantWork(store, key, { priority: 1 + (i % 2) })
      await store.pool.query(`update dirsync.pending set enqueued_at = now() where entity_key = $1`, [key])
      await employee(key, { acknowledged_hash: i % 3 ? hash() : null })
      if (i % 4) await store.pool.query(`delete from dirsync.pending where entity_key = $1`, [key])
    }
  }
  let writing = true
  const fold = async () => {
    while (writing) await foldTally(store.pool)
  }
  const folds = [fold(), fold()]
  await Promise.all([1, 2, 3, 4].map(write)).finally(() => {
    writing = false
  })
  await Promise.all(folds)
  await expectExact()

  // Rows of one second each are rows of their own kind.
  await store.pool.query(`update dirsync.pending set created_at = '2020-01-01'`)
  for (let i = 0; i < 150; i += 1) await employee(`more-${i}`)
  await foldTally(store.pool)
  await expectExact()
  expect(await store.value(`select count(*) from dirsync.tally`)).toBeLessThan(250)
})

test('a run that is held again after its end is counted as ended once', async () => {
  const run = await plantRun(store, { state: 'held', undecided: 0 })
  const end = (state: string) =>
    store.pool.query('update dirsync.sync_run set state = $1, finished_at = now()', [state])
  await end('superseded')
  await plant(store, 'plan_decision', {
    ...{ run_id: run, approved: true, filter: {}, planned: 1, reasons: {}, decided_by: 'mei' },
  })
  await store.pool.query('select dirsync.hold_again(d, 1) from dirsync.plan_decision d')
  expect(await store.rows('select state, finished_at from dirsync.sync_run')).toEqual([
    { state: 'held', finished_at: null },
  ])
  await end('rejected')
  expect(await store.rows('select kind, state, ended::int from dirsync.run_count')).toEqual([
    { kind: 'changes', state: 'superseded', ended: 1 },
  ])
})
