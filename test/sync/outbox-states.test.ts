import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { transaction } from '../../src/lib/database.ts'
import { claim } from '../../src/sync/outbox/claim.ts'
import { refeed, refeedAbandoned, takeForQueue, takeProbes } from '../../src/sync/outbox/feeding.ts'
import {
  addWork,
  awaitPlan,
  OUTBOX_STATES,
  OUTBOX_TRANSITIONS,
  type OutboxState,
  postpone,
} from '../../src/sync/outbox/outbox.ts'
import { type Finished, finished, type Unfinished, unfinished } from '../../src/sync/outbox/outcome.ts'
import { endHaltsOfGone } from '../../src/sync/settle/gone-enterprises.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { documentedDiagram, stateDiagram } from '../helpers/state-diagram.ts'
import { employee } from './outcomes.ts'
import { plant, plantRun, plantWork } from './planted.ts'
import { SILENT, StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()
const ROOT = join(import.meta.dirname, '../..')
const E1 = employee('e1')
const EXECUTION = 7

beforeAll(async () => {
  const cases = Object.entries(OUTBOX_STATES).map(([state, condition]) => `when ${condition} then '${state}'`)
  await store.pool.query(`
    create table public.seen (change text);
    create function public.state_of(p dirsync.pending) returns text language sql as $$
      select case when p.operation is null then 'none' ${cases.join(' ')} end
    $$;
    create function public.see() returns trigger language plpgsql as $$
    begin
      if public.state_of(old) <> public.state_of(new) then
        insert into public.seen values (public.state_of(old) || ' -> ' || public.state_of(new));
      end if;
      return null;
    end $$;
    create trigger see after insert or update or delete on dirsync.pending
      for each row execute function public.see()`)
})

const ROWS: Record<OutboxState, Record<string, unknown>> = {
  due: { not_before: new Date(0) },
  delayed: { not_before: new Date(Date.now() + 3_600_000) },
  awaits_plan: { not_before: 'infinity', replan_at: new Date(0) },
  queued: { not_before: new Date(0), enqueued_at: new Date(0) },
  begun: {
    ...{ not_before: new Date(0), enqueued_at: new Date(0), starts: 1, in_hand: true },
    ...{ execution: EXECUTION, version: 3 },
  },
}

/** A row in the given state, without what planting it has changed. Returns the number of its run. */
async function plantRow(state: OutboxState | 'none'): Promise<number> {
  await store.clear()
  const run = await plantRun(store)
  if (state !== 'none')
    await plantWork(store, 'e1', {
      ...(state !== 'awaits_plan' && { run_id: run }),
      ...ROWS[state],
    })
  await store.pool.query('delete from public.seen')
  return run
}

const settled =
  (result: Finished | Unfinished, version = 3): Way =>
  () =>
    settle(store.pool, [
      {
        ...result,
        key: E1,
        version,
        execution: EXECUTION,
        runId: null,
        startedAt: new Date(),
        durationMs: 1,
        calls: {},
        waitedMs: {},
        rateLimited: {},
        changed: false,
        sentUnknown: false,
      },
    ])
const again = (delayMs: number) => ({ delayMs, attempts: 1 })

/** Claims a row, if it is in hand or not. */
async function claimIf(inHand: boolean): Promise<unknown> {
  const found = await store.rows<{ in_hand: boolean }>('select in_hand from dirsync.pending')
  return found[0]?.in_hand === inHand && claim(store.pool, [E1], {})
}

/** Of a department no row awaits a plan. */
async function rejectDeletion(): Promise<void> {
  const operation = 'delete-department'
  await store.pool.query(`update dirsync.pending set operation = $1 where replan_at is null`, [operation])
  const run_id = await plantRun(store, { kind: 'departments', state: 'held' })
  await plant(store, 'planned_work', { run_id, operation, entity_key: 'e1', reason: 'delete' })
  await store.pool.query('select dirsync.reject($1)', [run_id])
}

/** No row that a person named awaits a plan. */
async function rejectNamed(): Promise<void> {
  await store.pool.query(`update dirsync.pending set named = true where replan_at is null`)
  const run_id = await plantRun(store, { state: 'held' })
  await plant(store, 'planned_work', {
    run_id,
    operation: 'update-employee',
    entity_key: 'e1',
    reason: 'left',
  })
  await plant(store, 'employee', { userid: 'e1', held_run: run_id })
  await store.pool.query('select dirsync.reject($1)', [run_id])
}

type Way = (run: number) => Promise<unknown>

/** How each event comes about. */
const WAYS: Record<string, Way[]> = {
  'is requested': [() => transaction(store.pool, client => addWork(client, null, 3, [{ ...E1, wave: 0 }]))],
  'is fed': [
    () => transaction(store.pool, client => takeForQueue(client, 10, () => 1)),
    async () => {
      await plant(store, 'halt', {
        scope: '*',
        category: 'credentials',
        message: 'm',
        remedy: 'r',
        next_probe_at: new Date(0),
      })
      await transaction(store.pool, client => takeProbes(client, () => 1000))
    },
  ],
  'is missing in HR': [
    () => transaction(store.pool, client => awaitPlan(client, [{ enterpriseCode: '', userid: 'e1' }])),
  ],
  'is claimed': [() => claimIf(false)],
  'a claim finds its process gone': [() => claimIf(true)],
  'is lost by the queue': [() => refeed(store.pool, 1000)],
  'its entity is in hand elsewhere': [() => postpone(store.pool, [E1], 60_000)],
  'its source is known to others only': [() => claim(store.pool, [E1], { E1: 'shanghai' })],
  'its process is gone': [() => refeedAbandoned(store.pool)],
  'is settled': [settled(finished('in_sync'))],
  'is settled, to be tried again': [
    settled(unfinished('halted', again(0))),
    settled(unfinished('retry', again(60_000))),
  ],
  'is settled, requested anew meanwhile': [
    settled(finished('in_sync'), 2),
    settled(unfinished('replan', again(0)), 2),
  ],
  'no plan has passed its HR row': [settled(unfinished('replan', again(0)))],
  'its run is cancelled': [run => store.pool.query('select dirsync.cancel($1)', [run])],
  'is rejected': [rejectDeletion, rejectNamed],
  'its enterprise is gone': [
    async () => {
      const refused = { scope: '', category: 'enterprise_code', message: 'm', remedy: 'r' }
      await plant(store, 'halt', refused)
      await endHaltsOfGone({ pool: store.pool, logger: SILENT, ownEnterprise: 'E1' })
    },
  ],
}

describe('the states of an outbox row', () => {
  test.each(Object.entries(WAYS))('change as the table says: %s', async (event, ways) => {
    const seen = new Set<string>()
    for (const state of ['none', ...Object.keys(ROWS)] as (keyof typeof ROWS | 'none')[])
      for (const way of ways) {
        await way(await plantRow(state))
        for (const { change } of await store.rows<{ change: string }>('select change from public.seen'))
          seen.add(change)
      }
    const expected = OUTBOX_TRANSITIONS.filter(transition => transition.event === event).flatMap(
      ({ from, to }) => from.flatMap(one => to.map(other => `${one} -> ${other}`)),
    )
    expect([...seen].sort()).toEqual(expected.sort())
  })

  test('change in no other way, but by the passing of time', () => {
    const others = OUTBOX_TRANSITIONS.filter(({ event }) => WAYS[event] === undefined)
    expect(others.map(({ event }) => event)).toEqual(['its delay is over'])
  })

  test('are written in the files of the way from the plan to the acknowledgement alone', () => {
    const writes = /(?:update|insert into|delete from) dirsync\.pending\b/
    const writers = ['src', 'jobs'].flatMap(folder =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter(name => name.endsWith('.ts'))
        .map(name => join(folder, name))
        .filter(file => writes.test(readFileSync(join(ROOT, file), 'utf8'))),
    )
    expect(writers.filter(file => !file.startsWith('src/sync/'))).toEqual([])
  })

  test('are drawn in ARCHITECTURE.md as the table has them', () => {
    expect(documentedDiagram('### An outbox row')).toBe(stateDiagram(OUTBOX_TRANSITIONS, { outside: 'none' }))
  })
})
