import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { transaction } from '../../src/lib/database.ts'
import { claimMirrorRun, finishMirrorRun, writeMirrorPlan } from '../../src/mirrors/mirror.ts'
import { claimDeployment, switchAccount } from '../../src/sync/health/deployment.ts'
import { claimSources } from '../../src/sync/plan/claim-sources.ts'
import {
  beginRun,
  claimRun,
  RUN_TRANSITIONS,
  reclaimOrphanedRuns,
  recordApproved,
  recordPlan,
  requestRun,
  supersede,
} from '../../src/sync/runs/run.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { inWords } from '../../src/texts/message.ts'
import { documentedDiagram, stateDiagram } from '../helpers/state-diagram.ts'
import { plantRun } from './planted.ts'
import { StoreUnderTest } from './store-under-test.ts'

const ROOT = join(import.meta.dirname, '../..')
const store = new StoreUnderTest()
const STATES = new Set<string>(RUN_TRANSITIONS.flatMap(({ from, to }) => [...from, to]))

test('ARCHITECTURE.md shows the table as a diagram', () => {
  const left = new Set<string>(RUN_TRANSITIONS.flatMap(({ from }) => from))
  const diagram = stateDiagram(
    RUN_TRANSITIONS.map(({ to, ...transition }) => ({ ...transition, to: [to] })),
    { outside: 'new', ends: [...STATES].filter(state => !left.has(state)) },
  )
  expect(documentedDiagram('### A run')).toBe(diagram)
})

describe('the table names every function that writes the state of a run', () => {
  interface Statement {
    /** The function around it. */
    by: string
    /** States that it names. */
    states: string[]
  }
  const found: Statement[] = []

  /** Statements of a text that set the state, or insert one that is not the default. */
  const collect = (text: string, by: (before: string) => string) => {
    const statement = /(update dirsync\.sync_run|insert into dirsync\.sync_run)[^`;]*/g
    for (const { 0: sql, 1: verb, index } of text.matchAll(statement)) {
      const writes = verb?.startsWith('update')
        ? /\bset\b(?:(?!\bwhere\b)[\s\S])*?\bstate\s*=/.test(sql)
        : /sync_run \([^)]*\bstate\b/.test(sql)
      if (!writes) continue
      const states = [...sql.matchAll(/'(\w+)'/g)].map(match => match[1] ?? '')
      found.push({ by: by(text.slice(0, index)), states: states.filter(state => STATES.has(state)) })
    }
  }

  beforeAll(async () => {
    const functionName = /function (\w+)/g
    for (const folder of ['src', 'jobs'])
      for (const name of readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }))
        if (name.endsWith('.ts'))
          collect(
            readFileSync(join(ROOT, folder, name), 'utf8'),
            before => [...before.matchAll(functionName)].at(-1)?.[1] ?? name,
          )
    const functions = await store.rows<{ name: string; body: string }>(
      `select proname as name, prosrc as body from pg_proc where pronamespace = 'dirsync'::regnamespace`,
    )
    for (const { name, body } of functions) collect(body, () => name)
  })

  test('and no other', () => {
    // A row that is asked for has the default state.
    const named = RUN_TRANSITIONS.map(({ by }) => by as string).filter(by => by !== 'requestRun')
    expect([...new Set(found.map(({ by }) => by))].sort()).toEqual([...new Set(named)].sort())
  })

  test('and each writes no state that the table does not give it', () => {
    for (const { by, states } of found) {
      const given = RUN_TRANSITIONS.filter(transition => transition.by === by)
      expect({ by, allowed: given.flatMap(({ from, to }) => [...from, to]) }).toEqual({
        by,
        allowed: expect.arrayContaining(states),
      })
    }
  })
})

describe('the functions make the transitions of the table', () => {
  beforeAll(() =>
    store.pool.query(`
      create table public.seen (was text, is_now text);
      create function public.see() returns trigger language plpgsql as $$ begin
        if tg_op = 'INSERT' then insert into public.seen values ('new', new.state);
        elsif old.state <> new.state then insert into public.seen values (old.state, new.state); end if;
        return null;
      end $$;
      create trigger see after insert or update on dirsync.sync_run for each row execute function public.see()`),
  )

  type Act = (run: number) => Promise<unknown>
  const inTransaction = <T>(work: Parameters<typeof transaction<T>>[1]) => transaction(store.pool, work)
  const call =
    (name: string): Act =>
    run =>
      store.pool.query(`select dirsync.${name}($1)`, [run])
  const record =
    (state: 'held' | 'running' | 'source_suspect' | 'failed' | 'superseded'): Act =>
    run =>
      recordPlan(store.pool, run, { state })

  /** What becomes of a run by the function, driven once for each transition. */
  const DRIVEN: [by: string, run: Record<string, unknown>, act: Act][] = [
    ['requestRun', { state: 'done' }, () => requestRun(store.pool, 'changes', [], 'test')],
    ['beginRun', { state: 'held' }, run => inTransaction(db => beginRun(db, run))],
    ['claimRun', { state: 'requested' }, () => inTransaction(db => claimRun(db, ''))],
    ['reclaimOrphanedRuns', { state: 'planning' }, () => reclaimOrphanedRuns(store.pool, '')],
    ['recordPlan', { state: 'planning' }, record('running')],
    ['recordPlan', { state: 'planning' }, record('held')],
    ['recordPlan', { state: 'planning' }, record('source_suspect')],
    ['recordPlan', { state: 'planning' }, record('superseded')],
    ['recordPlan', { state: 'planning' }, record('failed')],
    ['recordApproved', { state: 'planning' }, run => inTransaction(db => recordApproved(db, run, null))],
    ['decide', { state: 'held' }, call('approve')],
    ['decide', { state: 'held' }, call('reject')],
    ...['approve_part', 'reject_part'].map((decision): [string, { state: string }, Act] => [
      'decide_part',
      { state: 'held' },
      async run => {
        await store.pool.query(
          `insert into dirsync.planned_work (run_id, operation, entity_key, reason)
           values ($1, 'update-employee', 'e1', 'changed')`,
          [run],
        )
        await store.pool.query(`select dirsync.${decision}($1, '{"key": "e1"}')`, [run])
      },
    ]),
    ...['planning', 'running', 'superseded'].map(
      (state): [string, { state: string; undecided: number }, Act] => [
        'hold_again',
        { state, undecided: 0 },
        async run => {
          await store.pool.query(
            `with decided as (
             insert into dirsync.plan_decision (run_id, approved, filter, planned, reasons, decided_by)
             values ($1, true, '{}', 1, '{}', 'test') returning *)
           select dirsync.hold_again(d, 1) from decided d`,
            [run],
          )
        },
      ],
    ),
    ['supersede', { state: 'held' }, run => inTransaction(db => supersede(db, run, run + 1))],
    ...['held', 'requested', 'planning'].map((state): [string, { state: string; hr_source: string }, Act] => [
      'endRunsOfOthers',
      { state, hr_source: 'gone' },
      () => claimSources(store.pool, []),
    ]),
    ['finishRuns', { state: 'running' }, () => finishRuns(store.pool)],
    ['finishRuns', { state: 'running', cancelled_at: new Date() }, () => finishRuns(store.pool)],
    ['cancel', { state: 'requested' }, call('cancel')],
    ['cancel', { state: 'planning' }, call('cancel')],
    ['cancel', { state: 'running', kind: 'orders' }, call('cancel')],
    [
      'claimMirrorRun',
      { state: 'requested', kind: 'orders' },
      () => inTransaction(db => claimMirrorRun(db, 'orders')),
    ],
    ...[false, true].map((refused): [string, Record<string, string>, Act] => [
      'writeMirrorPlan',
      { state: 'running', kind: 'orders' },
      async id => {
        if (refused) await plantRefusal()
        const plan = { tasks: [], reasons: {}, leftOut: inWords('why') }
        await inTransaction(db => writeMirrorPlan(db, { id, kind: 'orders' }, plan))
      },
    ]),
    ['finishMirrorRun', { state: 'running', kind: 'orders' }, finishMirror],
    ['finishMirrorRun', { state: 'running', kind: 'orders', message: inWords('refused') }, finishMirror],
    ...['held', 'requested', 'planning', 'running'].map((state): [string, { state: string }, Act] => [
      'forget',
      { state },
      switchToAnother,
    ]),
  ]

  function plantRefusal() {
    return store.pool.query(
      `insert into dirsync.dead_letter (entity, entity_key, operation, category, message, remedy, state)
       values ('mirror', 'orders', 'mirror-orders', 'no_permission', '[]', '[]', 'open')`,
    )
  }

  function finishMirror(id: number) {
    const run = { id, kind: 'orders', requestedBy: 'cron', startedAt: new Date() } as const
    return inTransaction(db => finishMirrorRun(db, run))
  }

  async function switchToAnother() {
    const account = { baseUrl: 'https://platform.example/', appId: 'a', enterpriseCode: '' }
    await claimDeployment(store.pool, account)
    await switchAccount(store.pool, { ...account, appId: 'b' }, { keepMemory: false, actor: 'test' })
  }

  test('and no others', async () => {
    const driven = new Set<string>()
    for (const [by, run, act] of DRIVEN) {
      await store.clear()
      const id = await plantRun(store, run)
      await store.pool.query('delete from public.seen')
      await act(id)
      const rows = await store.rows<{ was: string; is_now: string }>('select * from public.seen')
      for (const { was, is_now } of rows) driven.add(`${by}: ${was} → ${is_now}`)
    }
    const table = RUN_TRANSITIONS.flatMap(({ from, to, by }) => from.map(state => `${by}: ${state} → ${to}`))
    expect([...driven].sort()).toEqual([...new Set(table)].sort())
  })
})
