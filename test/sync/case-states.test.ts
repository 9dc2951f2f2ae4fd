import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseError } from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ClientBase, transaction } from '../../src/lib/database.ts'
import {
  CASE_STATES,
  CASE_TRANSITIONS,
  type CaseState,
  endAllCases,
  endCases,
  endLostRetries,
  recordFailure,
  reopenIgnored,
  restCases,
} from '../../src/sync/cases/cases.ts'
import { beginRetry, beginRetryOf } from '../../src/sync/cases/retries.ts'
import { reviewSwaps } from '../../src/sync/cases/swap.ts'
import { inWords } from '../../src/texts/message.ts'
import { documentedDiagram, stateDiagram } from '../helpers/state-diagram.ts'
import { employee, refusal } from './outcomes.ts'
import { fail, hash, plant, plantRun, plantWork } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const store = new StoreUnderTest()
const ROOT = join(import.meta.dirname, '../..')
const E1 = employee('e1')
const FAILED = ['open', 'retry_scheduled', 'awaiting_activation'] as const

beforeAll(async () => {
  await store.pool.query(`
    create table public.seen (change text);
    create function public.see() returns trigger language plpgsql as $$
    begin
      if tg_op = 'INSERT' then
        insert into public.seen values ('new -> ' || new.state);
      elsif new.state <> old.state then
        insert into public.seen values (old.state || ' -> ' || new.state);
      end if;
      return null;
    end $$;
    create trigger see after insert or update on dirsync.dead_letter
      for each row execute function public.see()`)
})

/** A case of e1's mobile number in the given state, without what planting it has changed. Returns its number. */
async function plantCase(state: CaseState | 'new'): Promise<number> {
  await store.clear()
  let id = 0
  if (state !== 'new') {
    id = await fail(store)
    await store.pool.query(
      `update dirsync.dead_letter
       set state = $2, note = case when $2 in ('snoozed', 'ignored') then 'n' end, snooze_until = case when $2 = 'snoozed' then now() - interval '1 s' end,
           resolved_at = case when $2 = 'resolved' then now() end
       where id = $1`,
      [id, state],
    )
  }
  await store.pool.query('delete from public.seen')
  return id
}

type Way = (client: ClientBase, id: number) => Promise<unknown>

const fails = (state: (typeof FAILED)[number], differs = {}, startedAt = new Date()) => {
  const settlement = { key: E1, runId: null, startedAt }
  const failure = refusal({ state, sourceHash: hash(), ...differs })
  return (client: ClientBase) => recordFailure(client, settlement, failure)
}
const retry =
  (requestedBy: string): Way =>
  async (client, id) =>
    beginRetry(client, [id], await plantRun(store, { kind: 'retry', requested_by: requestedBy }))
const FAILURES = ['fails', 'fails after its time', 'fails with another HR row or reason']

/** Wakes a case, or undoes the step, before which it was in the given state. */
const after =
  (state: CaseState, sql: string): Way =>
  async (client, id) => {
    await client.query(
      `insert into dirsync.dead_letter_event (dead_letter_id, event, before)
       select id, d.state, jsonb_build_object('state', $2::text, 'note', null, 'version', version)
       from dirsync.dead_letter d where id = $1 and d.state in ('ignored', 'snoozed')`,
      [id, state],
    )
    await client.query(sql, [id])
  }

/** How each event comes about. Some come with others. */
const WAYS: { events: string[]; ways: Way[] }[] = [
  { events: FAILURES, ways: FAILED.map(state => fails(state)) },
  {
    events: [...FAILURES, 'its holder has work'],
    ways: FAILED.map(state => async client => {
      await plantWork(store, 'e2')
      await fails(state, { blockedBy: 'e2' })(client)
    }),
  },
  {
    events: [...FAILURES, 'its holder has changed'],
    ways: FAILED.map(state => async client => {
      await plant(store, 'attempt', {
        operation: 'update-employee',
        entity_key: 'e2',
        outcome: 'updated',
        started_at: new Date(Date.now() - 1000),
        duration_ms: 1,
      })
      await fails(state, { blockedBy: 'e2' }, new Date(Date.now() - 60_000))(client)
    }),
  },
  {
    events: ['is part of a swap'],
    ways: [
      async (client, id) => {
        await fail(store, { entity_key: 'e2', blocked_by: 'e1' })
        await store.pool.query('delete from public.seen')
        await client.query(`update dirsync.dead_letter set blocked_by = 'e2' where id = $1`, [id])
        await reviewSwaps(client, [{ id, runId: null, waits: true, isDue: false }], [])
      },
    ],
  },
  { events: ['more is withheld'], ways: [(client, id) => reopenIgnored(client, { id, runId: null }, 1000)] },
  { events: ['is due'], ways: [retry('cron')] },
  {
    events: ['retry'],
    ways: [retry('a person'), client => beginRetryOf(client, [{ enterpriseCode: '', userid: 'e1' }], 1)],
  },
  {
    events: ['is not reached'],
    ways: [
      client => restCases(client, [{ key: E1, resolve: { except: ['mobile'] } }]),
      ...[`operation = 'mirror-orders', entity = 'mirror'`, `category = 'not_on_platform'`].map(
        (set): Way =>
          async client => {
            await client.query(`update dirsync.dead_letter set ${set}`)
            await endLostRetries(client)
          },
      ),
    ],
  },
  {
    events: ['succeeds, or is obsolete'],
    ways: [(client, id) => endCases(client, [{ id, runId: null, resolution: 'succeeded' }])],
  },
  { events: ['switch the account'], ways: [client => endAllCases(client, inWords('another account'))] },
  {
    events: ['cancel the run'],
    ways: ['duplicate_mobile', 'not_on_platform', 'unclassified'].map(category => async client => {
      await client.query('update dirsync.dead_letter set category = $1', [category])
      await client.query('select dirsync.cancel($1)', [await plantRun(store)])
    }),
  },
  {
    events: ['snooze'],
    ways: [(client, id) => client.query(`select dirsync.snooze($1, now() + interval '1 day')`, [id])],
  },
  { events: ['wake'], ways: CASE_STATES.map(state => after(state, 'select dirsync.wake($1)')) },
  {
    events: ['undo'],
    ways: ([...FAILED, 'blocked', 'retrying', 'snoozed'] as const).map(state =>
      after(state, 'select dirsync.undo($1)'),
    ),
  },
  { events: ['ignore'], ways: [(client, id) => client.query(`select dirsync.ignore($1, 'accepted')`, [id])] },
]

/** By the functions for people: there is no such case, or nothing to undo. */
const isRefused = (error: unknown) => error instanceof DatabaseError && error.code === 'P0002'

describe('the states of a case', () => {
  test.each(WAYS.map(({ events, ways }) => [events.join(', '), events, ways] as const))(
    'change as the table says: %s',
    async (_, events, ways) => {
      const seen = new Set<string>()
      for (const state of ['new', ...CASE_STATES] as const)
        for (const way of ways) {
          const id = await plantCase(state)
          await transaction(store.pool, client => way(client, id)).catch(error => {
            if (!isRefused(error)) throw error
          })
          for (const { change } of await store.rows<{ change: string }>('select change from public.seen'))
            seen.add(change)
          // What a person said of a decision ends with it.
          expect(
            await store.rows(
              `select id from dirsync.dead_letter
               where note is not null and state not in ('snoozed', 'ignored', 'resolved')`,
            ),
          ).toEqual([])
        }
      const expected = CASE_TRANSITIONS.filter(({ event }) => events.includes(event)).flatMap(
        ({ from, to }) =>
          from.flatMap(one => to.filter(other => other !== one).map(other => `${one} -> ${other}`)),
      )
      expect([...seen].sort()).toEqual([...new Set(expected)].sort())
    },
  )

  test('change in no other way', () => {
    const events = new Set(WAYS.flatMap(way => way.events))
    expect(CASE_TRANSITIONS.map(({ event }) => event).filter(event => !events.has(event))).toEqual([])
  })

  test('are written by cases.ts and by a few SQL functions alone', async () => {
    const writes =
      /update dirsync\.dead_letter\b(?:(?!\b(?:where|from|returning)\b)[^`])*\bstate\s*(?:,[^)]*\)\s*)?=/
    const writers = ['src', 'jobs'].flatMap(folder =>
      readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter(name => name.endsWith('.ts'))
        .map(name => join(folder, name))
        .filter(file => writes.test(readFileSync(join(ROOT, file), 'utf8'))),
    )
    expect(writers).toEqual(['src/sync/cases/cases.ts'])
    const functions = await store.rows<{ name: string; source: string }>(
      `select proname as name, prosrc as source from pg_proc
       where pronamespace = 'dirsync'::regnamespace order by 1`,
    )
    expect(functions.filter(({ source }) => writes.test(source)).map(({ name }) => name)).toEqual([
      'end_lost_retries',
      'record_failure',
      'set_ignored',
      'set_snoozed',
      'set_undone',
      'set_woken',
    ])
  })

  test('are drawn in ARCHITECTURE.md as the table has them', () => {
    const groups = { waiting: [...FAILED, 'blocked'] }
    expect(documentedDiagram('### A case')).toBe(stateDiagram(CASE_TRANSITIONS, { outside: 'new', groups }))
  })
})
