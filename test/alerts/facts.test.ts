import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { pruneHistory } from '../../jobs/prune.ts'
import { readAlertFacts } from '../../src/alerts/facts.ts'
import { alertText } from '../../src/alerts/message.ts'
import { type Finding, findings, inhibitorOf, type RuleName } from '../../src/alerts/rule.ts'
import type { Pool } from '../../src/lib/database.ts'
import { adoptMoney } from '../../src/money/open.ts'
import { recordNotification, refundJournal, writeRefund } from '../../src/money/refund.ts'
import { topUpJournal } from '../../src/money/top-up.ts'
import { CallCounter } from '../../src/pacing/call-minute.ts'
import { noteStatuses } from '../../src/sync/health/figures.ts'
import { readHealth } from '../../src/sync/health/health.ts'
import { haltForHr, healHrHalt, liftHalts, raiseHalt } from '../../src/sync/outbox/halts.ts'
import { claimSources, type KnownSource } from '../../src/sync/plan/claim-sources.ts'
import { deregister, FITS, heartbeat, type Pacing } from '../../src/sync/processes/process.ts'
import { checkLater, recheckHeldRun } from '../../src/sync/runs/run.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { inWords, message, toStore } from '../../src/texts/message.ts'
import { senderAt, TOP_UP, writeTopUpDown } from '../sync/journal.ts'
import { PlanUnderTest } from '../sync/plan-under-test.ts'
import { fail, plant, plantRun } from '../sync/planted.ts'
import { SILENT } from '../sync/store-under-test.ts'
import { worded } from '../texts/worded.ts'
import { alertLimits } from './facts-under-test.ts'

const under = new PlanUnderTest()
const { store } = under

const PACER: Pacing = {
  ...{ ratePerSecond: 10, set: 10, learnt: false, ceiling: null, cap: null, waiting: 0 },
  ...{ pausedForMs: 0, callsPerSecond: 0, concurrency: 8, clockOffsetMs: 200 },
}
/** A process with both roles that a deployment needs. */
const ME = { id: randomUUID(), host: 'h', pid: 1, roles: ['scheduler', 'worker'], version: '1' }
const beat = (pacer: Partial<Pacing> = {}, roles = ME.roles) =>
  heartbeat(store.pool, { ...ME, roles, pacer: { ...PACER, ...pacer } })

beforeEach(async () => {
  await beat()
  await store.pool.query(`update dirsync.process set started_at = now() - interval '10 days'`)
})

/** The tests' own server is busy with other tests, too. */
const PATIENT = { ALERT_DATABASE_SLOW: 'off', ALERT_DATABASE_FULL: 'off' }

/** The present findings, at the default thresholds except for these settings. */
async function found(settings: Record<string, string> = {}): Promise<Finding[]> {
  const facts = await readAlertFacts(store.pool)
  const now = await store.value<Date>('select now()')
  return findings(facts, alertLimits({ ...PATIENT, ...settings }), now)
}
const rules = async (settings?: Record<string, string>) =>
  (await found(settings)).map(({ rule, subject }) => (subject === '' ? rule : `${rule} ${subject}`))

/** The findings of a rule, while nothing else is found. */
async function only(rule: RuleName, settings?: Record<string, string>): Promise<Finding[]> {
  const all = await found(settings)
  expect(all.map(finding => finding.rule)).toEqual(all.map(() => rule))
  return all
}

const SHANGHAI: KnownSource = {
  ...{ name: 'shanghai', kind: 'postgres', address: 'hr.example/hr' },
  enterpriseCodes: ['E1'],
}

/** Moves what a run or the outbox says of its times into the past. */
const sql = (text: string, values?: unknown[]) => store.pool.query(text, values)
const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)

test('an empty deployment with running processes has no problems', async () => {
  expect(await found()).toEqual([])
  expect(await readAlertFacts(store.pool)).toMatchObject({
    leastCases: null,
    firstSync: 'never',
    schedules: [],
  })
})

test('a living process with other HR sources than the one started last is named', async () => {
  await sql(
    `insert into dirsync.hr_source (name, position, kind, address, enterprise_codes)
     values ('shanghai', 0, 'postgres', 'hr', '{E1,E2}')`,
  )
  const hrOwners = { E2: 'shanghai', E1: 'shanghai' }
  expect(await heartbeat(store.pool, { ...ME, pacer: PACER, hrOwners })).toEqual(FITS)
  expect(await rules()).not.toContain('hr_sources_differ')
  await sql(`update dirsync.hr_source set enterprise_codes = '{E1}'`)
  expect(await heartbeat(store.pool, { ...ME, pacer: PACER, hrOwners })).toEqual({ ...FITS, outdated: true })
  expect(await only('hr_sources_differ')).toMatchObject([
    { facts: { count: 1, processes: `${ME.host} (${ME.pid})` } },
  ])
})

describe('the queue', () => {
  const QUEUE_AWAY = () => ({ awayMs: 120_000, lastError: 'OOM command not allowed' })

  test('is away when no worker, or no scheduler, reaches it; reports of a dead process do not count', async () => {
    await heartbeat(store.pool, { ...ME, pacer: PACER, queue: QUEUE_AWAY() })
    expect(await only('queue_away')).toMatchObject([
      { since: expect.any(Date), forMs: 60_000, facts: { error: 'OOM command not allowed' } },
    ])
    await beat()
    expect(await found()).toEqual([])
    const other = { ...ME, id: randomUUID(), pid: 2, pacer: null, queue: QUEUE_AWAY() }
    await heartbeat(store.pool, other)
    expect(await rules()).toEqual(['queue_away h (2)'])
    await sql(`update dirsync.process set roles = '{worker}' where id = '${ME.id}'`)
    expect(await rules()).toEqual(['queue_away'])
    await sql(
      `update dirsync.process set heartbeat_at = now() - interval '1 minute' where id = '${other.id}'`,
    )
    expect(await rules()).toEqual(['role_missing scheduler'])
  })

  test('that one process alone does not reach is told as its trouble, and holds nothing else back', async () => {
    await heartbeat(store.pool, { ...ME, id: randomUUID(), pid: 2, pacer: null, queue: QUEUE_AWAY() })
    const [alone] = await only('queue_away')
    expect(alone?.facts).toEqual({ process: 'h (2)', error: 'OOM command not allowed' })
    const { title, what, over } = alertText('en', alone as Finding)
    expect(title).toBe('A process does not reach the queue: h (2)')
    expect(what).toContain('left to the processes that reach the queue')
    expect(over).toMatch(/^It reaches the queue again/)
    const causes = (facts: Finding['facts']) => [{ rule: 'queue_away', facts, endedAt: null }]
    for (const rule of ['run_overdue', 'work_stuck'] as const) {
      const effect = { rule, facts: {} }
      expect(inhibitorOf(effect, causes(alone?.facts ?? {}), new Date())).toBeUndefined()
      expect(inhibitorOf(effect, causes({ error: null }), new Date())).toBe('queue_away')
    }
  })

  test('is away since the last process of a role lost it', async () => {
    await heartbeat(store.pool, { ...ME, pacer: PACER, queue: QUEUE_AWAY() })
    const other = { ...ME, id: randomUUID(), pid: 2, roles: ['worker'], pacer: null }
    await heartbeat(store.pool, { ...other, queue: { ...QUEUE_AWAY(), awayMs: 10_000 } })
    await heartbeat(store.pool, { ...other, id: randomUUID(), roles: ['scheduler'] })
    const [everywhere] = await only('queue_away')
    expect(everywhere?.subject).toBe('')
    expect(Math.abs(Date.now() - 10_000 - (everywhere?.since?.getTime() ?? 0))).toBeLessThan(5000)
  })
})

describe('halts', () => {
  const REASON = {
    ...{ category: 'enterprise_code', platformCode: 1000240002 },
    ...{ message: inWords('The enterprise code is not bound.'), remedy: inWords('Bind it.') },
  }

  test('are found as they stand, and are over when they are lifted', async () => {
    await raiseHalt(store.pool, { ...REASON, scope: 'E900' }, 1000)
    expect(await only('halt')).toMatchObject([
      {
        subject: 'E900',
        since: expect.any(Date),
        facts: { category: 'enterprise_code', platform_code: 1000240002, message: REASON.message },
      },
    ])
    await liftHalts({ pool: store.pool, logger: SILENT }, 'E900', new Date(Date.now() + 1000))
    expect(await found()).toEqual([])
  })

  test('a pause is a separate finding: who paused, and why', async () => {
    await sql(`select dirsync.pause('maintenance until 18:00')`)
    expect(worded(await only('paused'))).toMatchObject([
      { facts: { by: expect.any(String), message: expect.stringContaining('maintenance until 18:00') } },
    ])
    await sql('select dirsync.resume()')
    expect(await found()).toEqual([])
  })
})

describe('held runs', () => {
  test('are found until a person decides', async () => {
    await under.inSync(10)
    await under.hr.query(`update person set name = name || '!' where userid in ('e1', 'e2', 'e3')`)
    const held = await under.plan()
    expect(held.state).toBe('held')
    // It reports employees who wait for the decision, so out_of_sync does not report them again.
    expect(await found()).toMatchObject([
      { rule: 'held_run', subject: String(held.id), facts: { run: held.id, kind: 'changes', planned: 3 } },
    ])
    expect(await found()).toHaveLength(1)
    await sql(`select dirsync.approve_part(${held.id}, '{"keys": ["e1"]}')`)
    const [rest] = await found()
    expect(rest && alertText('en', rest).what).toBe(
      '2 entries of its plan are not sent before a person decides.',
    )
    await sql(`select dirsync.reject(${held.id}, 'not now')`)
    expect(await found()).toEqual([])
  })
})

describe('a source that looks wrong', () => {
  test('is found since the first run that found it so, and is over with the first that passes', async () => {
    await under.inSync(10)
    await under.hr.query('create table kept as table person; delete from person')
    const first = await under.plan()
    expect(first.state).toBe('source_suspect')
    const second = await under.plan()
    // A run of named employees, or one that could not be planned, says nothing about HR as a whole.
    await plantRun(store, { kind: 'changes', state: 'done', keys: ['e1'], planned_at: new Date() })
    await plantRun(store, {
      kind: 'changes',
      state: 'failed',
      planned_at: new Date(),
      finished_at: new Date(),
    })
    expect(worded(await only('source_suspect'))).toEqual([
      {
        rule: 'source_suspect',
        subject: 'changes',
        since: first.finishedAt,
        forMs: 0,
        facts: {
          run: second.id,
          kind: 'changes',
          message: expect.stringContaining('HR delivered no rows at all'),
        },
      },
    ])
    await under.hr.query('insert into person table kept; drop table kept')
    expect((await under.plan()).state).toBe('running')
    expect(await found()).toEqual([])
  })

  test('is over with the first run of any kind that reads all rows and passes', async () => {
    const ended = { planned_at: new Date(), finished_at: new Date() }
    await plantRun(store, { kind: 'full', state: 'source_suspect', message: inWords('no rows'), ...ended })
    expect(await rules()).toEqual(['source_suspect full'])
    expect(await suspectKinds()).toEqual(['full'])
    await plantRun(store, { kind: 'changes', state: 'done', ...ended })
    expect(await rules()).toEqual([])
    expect(await suspectKinds()).toEqual([])
  })

  test('stays one alert while runs of both kinds find it so', async () => {
    const plant = (kind: string, state: string) =>
      plantRun(store, {
        ...{ kind, state, message: inWords('no rows'), planned_at: new Date(), finished_at: new Date() },
      })
    for (const kind of ['changes', 'full', 'changes']) {
      await plant(kind, 'source_suspect')
      expect(await rules()).toEqual(['source_suspect changes'])
    }
    await plant('full', 'done')
    await plant('full', 'source_suspect')
    await plant('changes', 'source_suspect')
    expect(await rules()).toEqual(['source_suspect full'])
  })

  const suspectKinds = async () =>
    (await readAlertFacts(store.pool)).sourceChecks
      .filter(({ suspect }) => suspect)
      .map(({ kind }) => kind)
      .toSorted()

  test('is over once HR is right again when it is checked for a held run', async () => {
    await under.inSync(10)
    await under.hr.query(`update person set name = name || '!' where userid in ('e1', 'e2', 'e3')`)
    const { id } = await under.plan()
    await plantRun(store, {
      ...{ kind: 'full', state: 'source_suspect', message: inWords('no rows') },
      ...{ planned_at: minutesAgo(0), finished_at: minutesAgo(0) },
    })
    expect(await rules()).toEqual([`held_run ${id}`, 'source_suspect full'])
    expect(await suspectKinds()).toEqual(['full'])
    await recheckHeldRun(store.pool, id)
    expect((await under.planRequested(id)).state).toBe('held')
    expect(await rules()).toEqual([`held_run ${id}`])
    expect(await suspectKinds()).toEqual([])
  })

  test('has a cause of its own when it is checked for a held run, whatever came before that, or a clock that was ahead', async () => {
    await under.inSync(10)
    await plantRun(store, {
      ...{ kind: 'full', state: 'source_suspect', message: inWords('no rows') },
      ...{ planned_at: minutesAgo(60), finished_at: minutesAgo(60) },
    })
    await under.hr.query(`update person set name = name || '!' where userid in ('e1', 'e2', 'e3')`)
    const { id } = await under.plan()
    await recheckHeldRun(store.pool, id)
    await under.planRequested(id)
    // As it was said a day ahead.
    await sql(`update dirsync.sync_run set checked_at = now() + interval '1 day', planned_at = now() + interval '1 day' where id = ${id};
      insert into dirsync.sync_run (kind, state, hr_source, planned_at, checked_at, finished_at, requested_by)
      values ('changes', 'rejected', '', now(), now() + interval '1 day', now(), 'cron')`)
    await under.hr.query('delete from person')
    await recheckHeldRun(store.pool, id)
    await under.planRequested(id)
    expect(await rules()).toEqual([`held_run ${id}`, 'source_suspect changes'])
    const [suspect] = (await readAlertFacts(store.pool)).suspects
    expect(suspect?.run).toBe(id)
    expect(suspect?.since).toEqual(
      await store.value('select suspect_since from dirsync.sync_run where id = $1', [id]),
    )
  })

  test('is found when it is checked for a held run', async () => {
    await under.inSync(10)
    await under.hr.query(`update person set name = name || '!' where userid in ('e1', 'e2', 'e3')`)
    const { id } = await under.plan()
    const check = async (limits = {}) => {
      await recheckHeldRun(store.pool, id)
      await under.planRequested(id, under.source(), limits)
    }
    await under.hr.query('create table kept as table person; delete from person')
    await check()
    await check()
    const told = [`held_run ${id}`, 'source_suspect changes']
    expect(await rules()).toEqual(told)
    const { since, message: why } = (await readAlertFacts(store.pool)).suspects[0] ?? {}
    expect(since).toEqual(await store.value('select suspect_since from dirsync.sync_run where id = $1', [id]))
    expect(worded(why)).toMatch(/^HR delivered no rows at all.*Nothing was enqueued\.$/)
    // That HR cannot be read says nothing of its data.
    await checkLater(store.pool, id, message('said.not_checked', { reason: inWords('no answer') }))
    expect(await rules()).toEqual(told)
    await sql('update dirsync.sync_run set recheck_at = null')
    // Another run finds the same, and does not change what the alert is about.
    expect((await under.plan('full')).state).toBe('source_suspect')
    expect(await rules()).toEqual(told)
    expect(await suspectKinds()).toEqual(['changes', 'full'])
    await under.hr.query('insert into person table kept; drop table kept')
    await check()
    expect(await rules()).toEqual([`held_run ${id}`])
    await under.hr.query('create table kept as table person; delete from person')
    await check()
    await sql(`select dirsync.reject(${id}, 'no')`)
    expect(worded(await only('source_suspect'))).toMatchObject([
      { facts: { run: id, message: expect.stringContaining('no rows at all') } },
    ])
    await under.hr.query('insert into person table kept; drop table kept')
    await under.plan()
    expect(await rules()).not.toContainEqual(expect.stringMatching('suspect'))
  })

  test('is not found by what runs of an earlier source of that name have found, while a run that is still held counts', async () => {
    const weeksAgo = minutesAgo(20 * 24 * 60)
    const later = minutesAgo(19 * 24 * 60)
    const checked = { planned_at: weeksAgo, checked_at: later, suspect_since: later }
    for (const run of [{ state: 'rejected', ...checked }, { state: 'source_suspect' }])
      await plantRun(store, { kind: 'changes', hr_source: 'shanghai', finished_at: weeksAgo, ...run })
    await claimSources(store.pool, [SHANGHAI])
    expect(await found()).toEqual([])
    const id = await plantRun(store, { kind: 'changes', hr_source: 'shanghai', state: 'held', ...checked })
    const both = [`held_run ${id}`, 'source_suspect changes shanghai']
    expect(await rules()).toEqual(both)
    await claimSources(store.pool, [{ ...SHANGHAI, enterpriseCodes: ['E1', 'E2'] }])
    expect(await rules()).toEqual(both)
  })

  test('is told by kind', async () => {
    await plantRun(store, {
      ...{
        kind: 'departments',
        state: 'source_suspect',
        message: inWords('HR delivered no departments at all'),
      },
      ...{ planned_at: new Date(), finished_at: new Date() },
    })
    await plantRun(store, { kind: 'full', state: 'done', planned_at: new Date(), finished_at: new Date() })
    expect(await rules()).toEqual(['source_suspect departments'])
  })
})

describe('runs that are overdue', () => {
  beforeEach(() =>
    plant(
      store,
      'job_schedule',
      {
        ...{ job: 'sync-changes', expression: '*/5 * * * *', next_due_at: new Date(), interval_seconds: 300 },
        in_force_since: minutesAgo(24 * 60),
      },
      {
        ...{ job: 'full-resync', expression: '0 2 * * *', next_due_at: new Date(), interval_seconds: 86_400 },
        in_force_since: minutesAgo(24 * 60),
      },
    ),
  )
  const goodRun = (minutes: number, differs = {}) =>
    plantRun(store, {
      ...{
        kind: 'changes',
        state: 'done',
        planned_at: minutesAgo(minutes),
        finished_at: minutesAgo(minutes),
      },
      ...differs,
    })

  test('three intervals after the last good one', async () => {
    await goodRun(14)
    expect(await found()).toEqual([])
    await sql(`update dirsync.sync_run set finished_at = now() - interval '16 minutes'`)
    const [finding] = await only('run_overdue')
    expect(finding).toMatchObject({ subject: 'changes', facts: { interval_seconds: 300 } })
    expect(finding?.facts.age_seconds).toBeGreaterThanOrEqual(960)
    await goodRun(0)
    expect(await found()).toEqual([])
  })

  test('however rare they are, by the last good one', async () => {
    const days = 24 * 60
    await sql(`update dirsync.job_schedule set interval_seconds = 184 * 86400, in_force_since = now() - interval '600 days'
      where job = 'full-resync'`)
    const reading = { read_all: true, source: { rows: 1, keyless: 0, empty: {}, newest: null } }
    await goodRun(370 * days, { kind: 'full', ...reading })
    const last = await goodRun(181 * days, { kind: 'full', ...reading })
    const changes = await goodRun(0, reading)
    await pruneHistory(store.pool)
    expect(await found()).toEqual([])
    expect(await store.rows('select id from dirsync.sync_run order by 1')).toEqual([
      { id: last },
      { id: changes },
    ])
  })

  test('whatever the outcome of runs over named rows', async () => {
    await goodRun(20)
    await goodRun(1, { keys: ['e1'] })
    await goodRun(1, { state: 'failed' })
    expect(await rules()).toEqual(['run_overdue changes'])
  })

  test('with what the latest one failed with', async () => {
    await goodRun(20)
    await goodRun(1, { state: 'failed', message: inWords('the HR database does not answer') })
    const [finding] = await only('run_overdue')
    expect(finding?.facts.error).toEqual(inWords('the HR database does not answer'))
  })

  test('not while HR is checked again for a held run, but once it cannot be', async () => {
    await goodRun(60)
    await goodRun(50, { state: 'held', finished_at: null, checked_at: minutesAgo(2) })
    expect(await rules()).toEqual([expect.stringMatching(/^held_run /)])
    await sql(
      `update dirsync.sync_run
               set checked_at = now() - interval '16 minutes',
                   message = $1
               where state = 'held'`,
      [
        toStore([
          inWords('Too many.'),
          message('said.not_checked', { reason: inWords('column "mail" does not exist') }),
        ]),
      ],
    )
    const overdue = (await found()).filter(({ rule }) => rule === 'run_overdue')
    expect(overdue).toMatchObject([{ facts: { error: inWords('column "mail" does not exist') } }])
  })

  test('if there never was one, counted from when the schedule came into force', async () => {
    expect(await rules()).toEqual(['run_overdue changes'])
    await sql(`update dirsync.job_schedule set in_force_since = now()`)
    expect(await found()).toEqual([])
    await sql(`update dirsync.job_schedule set in_force_since = now() - interval '73 hours'`)
    expect(await rules()).toEqual(['run_overdue changes', 'run_overdue full'])
  })

  test('not while the schedule is off or paused, nor at once when it is resumed', async () => {
    await goodRun(60)
    expect(await rules()).toEqual(['run_overdue changes'])
    await sql(`select dirsync.pause_schedule('sync-changes', 'HR is being moved')`)
    expect(await rules()).toEqual(['schedule_paused sync-changes'])
    await sql(`select dirsync.resume_schedule('sync-changes')`)
    expect(await found()).toEqual([])
    await sql(`update dirsync.job_schedule set in_force_since = now() - interval '1 hour'`)
    expect(await rules()).toEqual(['run_overdue changes'])
    await sql(`update dirsync.job_schedule set interval_seconds = null where job = 'sync-changes'`)
    expect(await found()).toEqual([])
  })

  test('not at once after everything was down: the late tick starts the count anew', async () => {
    await goodRun(600)
    const tick = { job: 'sync-changes', claimed_by: randomUUID() }
    await plant(store, 'job_tick', { ...tick, due_at: minutesAgo(12), claimed_at: minutesAgo(11) })
    expect(await rules()).toEqual(['run_overdue changes'])
    await plant(store, 'job_tick', { ...tick, due_at: minutesAgo(500), claimed_at: minutesAgo(10) })
    expect(await found()).toEqual([])
  })

  test('not while a large one is under way that needs so long, but after that', async () => {
    await goodRun(600)
    // 6000 employees need 30 minutes at 10 calls per second, all of them with two updates.
    await goodRun(40, { state: 'running', planned: 6000, finished_at: null })
    expect(await found()).toEqual([])
    await sql(
      `update dirsync.sync_run set planned_at = now() - interval '46 minutes' where state = 'running'`,
    )
    expect(await rules()).toEqual(['run_overdue changes'])
    await beat({ ratePerSecond: 5, set: 5 })
    expect(await found()).toEqual([])
  })

  test('not at once for an HR source that is added to a schedule of long standing', async () => {
    await sql(`update dirsync.job_schedule set in_force_since = now() - interval '90 days'`)
    const place = { kind: 'postgres', address: 'hr.example/hr' }
    await plant(store, 'hr_source', { ...place, name: 'shanghai', position: 0, enterprise_codes: ['E1'] })
    expect(await found()).toEqual([])
    await goodRun(30, { hr_source: 'shanghai', state: 'failed', requested_at: minutesAgo(30) })
    expect(await rules()).toEqual(['run_overdue changes shanghai'])
  })

  test('not at once for an HR source that is back after weeks, nor where there is one HR system once more', async () => {
    await sql(`update dirsync.job_schedule set in_force_since = now() - interval '90 days'`)
    await plant(store, 'deployment', { base_url: 'b', app_id: 'a', enterprise_code: '', since: '-infinity' })
    const weeksAgo = minutesAgo(20 * 24 * 60)
    for (const hr_source of ['', 'shanghai'])
      for (const kind of ['changes', 'full'])
        await goodRun(0, { kind, hr_source, requested_at: weeksAgo, finished_at: weeksAgo })
    // Whether there has been a run since or not: one that was held before is checked again in place of another.
    await claimSources(store.pool, [SHANGHAI])
    expect(await found()).toEqual([])
    await sql(`update dirsync.hr_source set codes_since_at = now() - interval '30 minutes'`)
    expect(await rules()).toEqual(['run_overdue changes shanghai'])
    await claimSources(store.pool, [])
    expect(await found()).toEqual([])
    await sql(`update dirsync.deployment set one_hr_since_at = now() - interval '30 minutes'`)
    expect(await rules()).toEqual(['run_overdue changes'])
  })

  test('of an HR source that is suspect in a run that was requested before its enterprises changed', async () => {
    const run = await plantRun(store, { kind: 'changes', hr_source: 'shanghai', state: 'requested' })
    await claimSources(store.pool, [SHANGHAI])
    await store.pool.query(
      `update dirsync.sync_run set state = 'source_suspect', planned_at = now(), finished_at = now() where id = $1`,
      [run],
    )
    expect(await rules()).toContain('source_suspect changes shanghai')
  })

  test('and suspect, where an HR source got its enterprises by a clock that was put back since', async () => {
    await plant(store, 'deployment', { base_url: 'b', app_id: 'a', enterprise_code: '', since: '-infinity' })
    for (const hr_source of ['', 'shanghai']) {
      await goodRun(60, { hr_source, requested_at: minutesAgo(60) })
      await goodRun(60, { hr_source, kind: 'full' })
    }
    const rest = { requested_at: minutesAgo(6), planned_at: minutesAgo(6) }
    const suspect = (hr_source: string) =>
      plantRun(store, { hr_source, state: 'source_suspect', ...rest, finished_at: minutesAgo(5) })
    await claimSources(store.pool, [SHANGHAI])
    await suspect('shanghai')
    expect(await found()).toEqual([])
    await sql(`update dirsync.hr_source set codes_since_at = now() + interval '2 days'`)
    expect(await rules()).toEqual(['source_suspect changes shanghai', 'run_overdue changes shanghai'])
    await claimSources(store.pool, [])
    await suspect('')
    expect(await found()).toEqual([])
    await sql(`update dirsync.deployment set one_hr_since_at = now() + interval '2 days'`)
    expect(await rules()).toEqual(['source_suspect changes', 'run_overdue changes'])
  })

  test('not at once after a halt, or after a decision about a held run', async () => {
    await goodRun(600)
    await raiseHalt(
      store.pool,
      {
        scope: '*',
        category: 'hr_unavailable',
        platformCode: null,
        message: inWords('m'),
        remedy: inWords('r'),
      },
      1000,
    )
    await noteStatuses(store.pool)
    await sql('delete from dirsync.halt')
    expect(await found()).toEqual([])
    await sql('delete from dirsync.status_history')
    expect(await rules()).toEqual(['run_overdue changes'])
    await goodRun(600, { state: 'rejected', decided_at: new Date() })
    expect(await found()).toEqual([])
  })
})

test('runs of an HR source are not overdue at once after it was away, and those of another one are', async () => {
  await plant(store, 'job_schedule', {
    ...{ job: 'sync-changes', expression: '*/5 * * * *', next_due_at: new Date(), interval_seconds: 300 },
    in_force_since: minutesAgo(24 * 60),
  })
  const place = { kind: 'postgres', address: 'hr.example/hr' }
  const ended = { state: 'done', planned_at: minutesAgo(600), requested_at: minutesAgo(600) }
  const source = async (name: string, position: number, enterprise_codes: string[]) => {
    await plant(store, 'hr_source', { ...place, name, position, enterprise_codes })
    await plantRun(store, { ...ended, hr_source: name, finished_at: minutesAgo(600) })
  }
  await source('shanghai', 0, ['E1'])
  await source('beijing', 1, ['E2', 'E3'])
  const beijing = { codes: ['E2', 'E3'], name: 'beijing' }
  await haltForHr({ pool: store.pool, logger: SILENT }, beijing, inWords('no answer'))
  await noteStatuses(store.pool)
  // E2 is not bound either.
  await sql(`update dirsync.halt set category = 'enterprise_code' where scope = 'E2'`)
  await healHrHalt({ db: store.pool, logger: SILENT }, beijing, new Date(Date.now() + 1000))
  expect(await rules()).toEqual(['halt E2', 'run_overdue changes shanghai'])
  await sql(`update dirsync.status_history set at = at - interval '20 minutes'`)
  expect(await rules()).toEqual(['halt E2', 'run_overdue changes shanghai', 'run_overdue changes beijing'])
})

describe('cases that jump', () => {
  beforeEach(async () => {
    await plantRun(store, { state: 'done', planned_at: minutesAgo(90), finished_at: minutesAgo(90) })
    await plant(store, 'status_history', history(50, {}), history(40, { not_on_platform: 5 }))
  })
  const history = (minutes: number, openCases: object) => ({
    at: minutesAgo(minutes),
    ...{ in_sync: 0, awaiting_activation: 0, dead_lettered: 0, halted: 0, waiting: 0, cases: 0, pending: 0 },
    ...{ oldest_pending_seconds: 0, is_halted: false, open_cases: openCases },
  })
  const failing = async (from: number, to: number) => {
    for (let i = from; i <= to; i += 1) await fail(store, { entity_key: `e${i}` })
  }

  test('are found beyond 20, by category, and are over once an hour knows no fewer', async () => {
    await failing(1, 20)
    expect(await found()).toEqual([])
    await failing(21, 21)
    expect(await only('cases_jump')).toMatchObject([
      { subject: 'duplicate_mobile', facts: { count: 21, rise: 21 } },
    ])
    // They stay, and the hour passes.
    await noteStatuses(store.pool)
    expect(await rules()).toEqual(['cases_jump duplicate_mobile'])
    await sql(
      `update dirsync.status_history set at = at - interval '1 hour' where at < now() - interval '30 minutes'`,
    )
    expect(await found()).toEqual([])
  })

  test('are over when they are ignored', async () => {
    await failing(1, 30)
    expect(await rules()).toEqual(['cases_jump duplicate_mobile'])
    await sql(`select dirsync.ignore(id, 'known') from dirsync.dead_letter`)
    expect(await found()).toEqual([])
  })

  test('do not count in the first sync, before there was a good run', async () => {
    await failing(1, 30)
    await sql('delete from dirsync.sync_run')
    expect(await found()).toEqual([])
    await plantRun(store, { state: 'done', planned_at: new Date(), finished_at: minutesAgo(50) })
    expect(await found()).toEqual([])
  })
})

describe('employees out of sync', () => {
  const firstSync = async () => (await readAlertFacts(store.pool)).firstSync

  test('are found after the first sync, and are over when the platform confirms them', async () => {
    await under.hire(10)
    await under.plan()
    // Every one of them is still to be sent: the first sync is under way.
    expect(await found()).toEqual([])
    await under.acknowledge('e3')
    expect(await only('out_of_sync')).toMatchObject([
      { forMs: 3_600_000, facts: { share: 0.9, in_sync: 9, in_scope: 10 } },
    ])
    expect(await found({ ALERT_OUT_OF_SYNC: '90' })).toEqual([])
    await sql('update dirsync.employee set acknowledged_hash = source_hash, parked_hash = null')
    expect(await found()).toEqual([])
  })

  test('do not count while the first sync is under way, although later runs have nothing to send and end before it', async () => {
    await under.hire(10)
    await under.plan()
    expect((await under.plan()).planned).toBe(0)
    await finishRuns(store.pool)
    await sql(`update dirsync.sync_run set finished_at = now() - interval '2 hours' where state = 'done'`)
    expect(await firstSync()).toBe('never')
    expect(await found()).toEqual([])
    // What its enterprise's halt holds back may wait for ever, and the others do not wait for it.
    await sql(
      `insert into dirsync.halt (scope, category, message, remedy) values ('', 'enterprise_code', '[]', '[]')`,
    )
    expect(await firstSync()).toBe('long_ago')
    await sql('delete from dirsync.halt')
    await under.acknowledge('e3')
    expect(await firstSync()).toBe('lately')
    expect(await rules()).toEqual(['out_of_sync'])
  })

  test('do not count while the first sync of a further HR source is under way', async () => {
    const source = (name: string, position: number) =>
      plant(store, 'hr_source', {
        ...{ kind: 'postgres', address: 'hr.example/hr' },
        ...{ name, position, enterprise_codes: [name] },
      })
    await source('shanghai', 0)
    await plantRun(store, { hr_source: 'shanghai', state: 'done', finished_at: minutesAgo(90) })
    await source('beijing', 1)
    expect(await firstSync()).toBe('long_ago')
    await plantRun(store, { hr_source: 'beijing', state: 'running' })
    await plantRun(store, { hr_source: 'beijing', state: 'done', finished_at: minutesAgo(80) })
    await plantRun(store, { hr_source: 'shanghai', state: 'running' })
    expect(await firstSync()).toBe('never')
    await sql(`update dirsync.sync_run set state = 'done', finished_at = now() where state = 'running'`)
    expect(await firstSync()).toBe('lately')
  })

  test('do not count where no HR source has their enterprise, since no run brings them in sync', async () => {
    await under.inSync(9)
    await sql(
      `insert into dirsync.employee (enterprise_code, userid, source_hash) values ('E9', 'e10', gen_random_uuid())`,
    )
    expect(await rules()).toEqual(['out_of_sync'])
    const place = { kind: 'postgres', address: 'hr.example/hr' }
    await plant(store, 'hr_source', { ...place, name: 'shanghai', position: 0, enterprise_codes: [''] })
    expect(await rules()).not.toContain('out_of_sync')
  })

  test('do not count after the account was switched, as in a first sync', async () => {
    await under.inSync(2)
    await sql('update dirsync.employee set acknowledged_hash = null')
    expect(await rules()).toEqual(['out_of_sync'])
    await plant(store, 'deployment', {
      base_url: 'b',
      app_id: 'a',
      enterprise_code: '',
      id: randomUUID(),
      since: new Date(),
      only_row: true,
    })
    expect(await found()).toEqual([])
  })
})

describe('work that is stuck', () => {
  /** A changes run of three employees, asked for so long ago. */
  async function stuck(minutes: number): Promise<void> {
    await under.inSync(100)
    await under.hr.query(`update person set name = name || '!' where userid in ('e1', 'e2', 'e3')`)
    expect((await under.plan()).state).toBe('running')
    await old(minutes)
  }
  const old = (minutes: number) =>
    sql(`update dirsync.pending set created_at = now() - interval '${minutes} minutes';
         update dirsync.sync_run set requested_at = now() - interval '${minutes} minutes' where state = 'running'`)
  const workRules = async () => (await rules()).filter(rule => rule.startsWith('work'))

  test('is found after an hour, and is over when it is done', async () => {
    await stuck(59)
    expect(await workRules()).toEqual([])
    await old(61)
    const [finding] = (await found()).filter(({ rule }) => rule === 'work_stuck')
    expect(finding).toMatchObject({ facts: { operation: 'update-employee', count: 3 } })
    await under.acknowledge()
    expect(await found()).toEqual([])
  })

  test('is reported with what it waits for: the scheduler, a worker, or other work', async () => {
    const what = async () => {
      const finding = (await found()).find(({ rule }) => rule === 'work_stuck')
      return finding && alertText('en', finding).what
    }
    await stuck(90)
    expect(await what()).toMatch(/The scheduler has given none of it to the workers\.$/)
    await sql('update dirsync.pending set enqueued_at = now()')
    expect(await what()).toMatch(/No worker takes any work: none has started a job\.$/)
    const job = (minutes: number) =>
      plant(store, 'attempt', {
        ...{ operation: 'bind-openid', entity_key: 'e4', started_at: minutesAgo(minutes) },
        ...{ duration_ms: 10, outcome: 'bound' },
      })
    await job(120)
    expect(await what()).toMatch(/No worker takes any work: the last job started 2 h ago\.$/)
    await job(5)
    expect(await what()).toMatch(/Workers are doing other work meanwhile\.$/)
  })

  test('does not include work that was tried and put off, unless it is not tried again, or its execution was lost', async () => {
    await stuck(90)
    const putOff = (minutes: number) =>
      sql(
        `update dirsync.pending set execution = 1, enqueued_at = null, not_before = now() + ${minutes} * interval '1 minute'`,
      )
    await putOff(20)
    expect(await workRules()).toEqual([])
    await sql('update dirsync.pending set enqueued_at = now(), in_hand = true, starts = 1')
    expect(await workRules()).toEqual([])
    await sql('update dirsync.pending set in_hand = false')
    expect(await workRules()).toEqual(['work_stuck'])
    await sql('update dirsync.pending set starts = 0')
    expect(await workRules()).toEqual([])
    await putOff(-70)
    expect(await workRules()).toEqual(['work_stuck'])
    await old(24 * 60 + 1)
    await putOff(20)
    const [finding] = (await found()).filter(({ rule }) => rule === 'work_stuck')
    expect(finding && alertText('en', finding).what).toMatch(/again and again, and put it off\.$/)
    // What waits for a plan waits for somebody to make one.
    await sql(`update dirsync.pending set not_before = 'infinity'`)
    expect(await workRules()).toEqual(['work_stuck'])
  })

  test('does not include work while the platform wants no calls', async () => {
    await stuck(90)
    const pause = (minutes: number) =>
      sql(
        `insert into dirsync.pacer (gate, next_at, paused_until) values ('platform', now(), now() + ${minutes} * interval '1 minute')
         on conflict (gate) do update set paused_until = excluded.paused_until`,
      )
    await pause(10)
    expect(await workRules()).toEqual([])
    expect((await readHealth(store.pool)).work[0]).toMatchObject({ age: 0 })
    await pause(-1)
    expect(await workRules()).toEqual(['work_stuck'])
  })

  test('does not include work that has only begun to wait: requested anew, after a halt, or with the first worker', async () => {
    await stuck(120)
    expect(await workRules()).toEqual(['work_stuck'])
    await sql(`update dirsync.sync_run set requested_at = now() where state = 'running'`)
    expect(await workRules()).toEqual([])
    await old(120)
    await sql('update dirsync.process set started_at = now()')
    expect(await workRules()).toEqual([])
    await sql(`update dirsync.process set started_at = now() - interval '1 day'`)
    expect(await workRules()).toEqual(['work_stuck'])
    await sql(`select dirsync.pause('maintenance')`)
    expect(await workRules()).toEqual([])
    await noteStatuses(store.pool)
    await sql('select dirsync.resume()')
    expect(await workRules()).toEqual([])
  })

  test('is found although workers die and are restarted every half hour', async () => {
    await stuck(600)
    await sql(`update dirsync.process set started_at = now() - interval '30 minutes'`)
    expect(await workRules()).toEqual([])
    const worked = (from: number, to: number) =>
      plant(store, 'process', {
        ...{ id: randomUUID(), host: 'h', pid: 1, roles: ['worker'], version: '1' },
        ...{ started_at: minutesAgo(from), heartbeat_at: minutesAgo(to) },
      })
    await worked(60, 30.2)
    expect(await workRules()).toEqual([])
    await worked(90, 60.2)
    expect(await workRules()).toEqual(['work_stuck'])
  })

  test('is found although a halt was recorded by a clock that was put back since', async () => {
    await stuck(120)
    await sql(`select dirsync.pause('maintenance')`)
    await noteStatuses(store.pool)
    await sql('select dirsync.resume()')
    await sql(`update dirsync.status_history set at = at + interval '1 day'`)
    await noteStatuses(store.pool)
    expect(await workRules()).toEqual(['work_stuck'])
  })

  test('does not include work of a halted enterprise', async () => {
    await stuck(120)
    await sql(
      `insert into dirsync.halt (scope, category, message, remedy) values ('E9', 'enterprise_code', '[]', '[]')`,
    )
    expect(await workRules()).toEqual(['work_stuck'])
    await sql(`update dirsync.halt set scope = ''`)
    expect(await workRules()).toEqual([])
  })

  test('does not include work of an enterprise whose halt has ended while another one is halted', async () => {
    await stuck(120)
    await sql(
      `insert into dirsync.halt (scope, category, message, remedy)
       values ('', 'enterprise_code', '[]', '[]'), ('E9', 'enterprise_code', '[]', '[]')`,
    )
    await noteStatuses(store.pool)
    await sql(`delete from dirsync.halt where scope = ''`)
    expect(await workRules()).toEqual([])
    await sql(`update dirsync.status_history set at = at - interval '65 minutes'`)
    expect(await workRules()).toEqual(['work_stuck'])
  })

  test('is found although the halt of another enterprise, where employees waited, has just ended', async () => {
    await stuck(120)
    await sql(
      `insert into dirsync.employee (enterprise_code, userid, source_hash) values ('E9', 'e9', gen_random_uuid())`,
    )
    await sql(
      `insert into dirsync.halt (scope, category, message, remedy) values ('E9', 'enterprise_code', '[]', '[]')`,
    )
    await noteStatuses(store.pool)
    expect(await store.value('select halted from dirsync.status_history')).toBe(1)
    await sql('delete from dirsync.halt')
    expect(await workRules()).toEqual(['work_stuck'])
  })

  test('does not include work of a nightly full run, which takes hours', async () => {
    await under.inSync(100)
    expect(await under.plan('full')).toMatchObject({ state: 'running', planned: 100 })
    await old(10 * 60)
    expect(await found()).toEqual([])
  })

  test('does not include work of a first sync that takes hours at the permitted rate', async () => {
    await under.hire(100)
    await under.plan()
    await old(120)
    await sql('update dirsync.sync_run set planned = 40000')
    expect(await found()).toEqual([])
    await old(5 * 60)
    expect(await rules()).toEqual(['work_stuck'])
  })

  test('is not excused twice by a plan that is decided in parts', async () => {
    await stuck(150)
    const held = await plantRun(store, { planned: 12_000, undecided: 0 })
    const planned = (count: number) =>
      sql('update dirsync.sync_run set planned = $1, part_of = $2 where id < $2 and finished_at is null', [
        count,
        held,
      ])
    // An hour's work at 10 calls per second.
    await planned(12_000)
    expect(await workRules()).toEqual(['work_stuck'])
    await planned(20_000)
    expect(await workRules()).toEqual([])
  })
})

test('a delivery of files is found with the time since it is the latest, if its source still exists', async () => {
  await plant(
    store,
    'hr_delivery',
    { source: '', stamp: 'a', since: minutesAgo(95 * 60) },
    { source: 'gone', stamp: 'a', since: minutesAgo(97 * 60) },
  )
  // Until it is overdue nothing is wrong, nor known to be.
  expect(await found()).toEqual([])
  await sql(`update dirsync.hr_delivery set since = now() - interval '97 hours'`)
  const [finding, ...others] = await only('files_overdue')
  expect(others).toEqual([])
  expect(finding).toMatchObject({ subject: '', facts: {}, forMs: 0 })
  expect(finding?.since?.getTime()).toBeCloseTo(minutesAgo(97 * 60).getTime(), -4)
})

describe('jobs', () => {
  const schedule = (job: string, differs: object = {}) =>
    plant(store, 'job_schedule', {
      ...{ job, expression: '* * * * *', next_due_at: new Date(), interval_seconds: 86_400 },
      ...differs,
    })
  const tick = (job: string, minutes: number, differs: object = {}) =>
    plant(store, 'job_tick', {
      ...{ job, due_at: minutesAgo(minutes), finished_at: minutesAgo(minutes), claimed_by: ME.id },
      ...differs,
    })

  test('that are paused are found, except those that are off', async () => {
    await schedule('prune')
    await schedule('openids', { interval_seconds: null })
    await sql(`select dirsync.pause_schedule(job, 'a backup runs') from dirsync.job_schedule`)
    expect(await only('schedule_paused')).toMatchObject([
      {
        subject: 'prune',
        since: expect.any(Date),
        facts: { by: expect.any(String), reason: 'a backup runs' },
      },
    ])
    await sql(`select dirsync.resume_schedule('prune')`)
    expect(await found()).toEqual([])
  })

  test('that fail are found with their first failure since a good tick, and until the next good one', async () => {
    await schedule('prune')
    await tick('prune', 200, { error: inWords('long over') })
    await tick('prune', 100)
    await tick('prune', 50, { error: inWords('disk full') })
    await tick('prune', 20, { error: 'permission denied' })
    await tick('prune', 10, { skipped: 'paused by ann: a backup' })
    await tick('prune', 1, { finished_at: null })
    const [finding] = await only('job_failing')
    expect(finding).toMatchObject({ subject: 'prune', facts: { error: inWords('permission denied') } })
    expect(finding?.since?.getTime()).toBeCloseTo(minutesAgo(50).getTime(), -4)
    await tick('prune', 0)
    expect(await found()).toEqual([])
  })

  test.each([
    ['departments', 'departments'],
    ['openids', 'openids'],
    ['orders', 'mirror-orders'],
    ['accounts', 'mirror-accounts'],
    ['taxpayers', 'mirror-taxpayers'],
  ])('whose runs of %s fail are found until one goes well', async (kind, job) => {
    await schedule(job)
    const ended = (state: string, minutes: number) =>
      plantRun(store, { kind, state, finished_at: minutesAgo(minutes), message: `refused ${minutes}` })
    await ended('done', 300)
    await ended('failed', 200)
    await ended('failed', 100)
    await ended('cancelled', 50)
    const [finding] = await only('job_failing')
    expect(finding).toMatchObject({ subject: job, facts: { error: inWords('refused 100') } })
    expect(finding?.since?.getTime()).toBeCloseTo(minutesAgo(200).getTime(), -4)
    await sql(`update dirsync.job_schedule set interval_seconds = 60`)
    expect(await found()).toEqual([]) // it has not been run since: it is no longer wanted
    await sql(`update dirsync.job_schedule set interval_seconds = 86400`)
    await ended('done', 0)
    expect(await found()).toEqual([])
  })
})

test('a monitor that does not accept the heartbeat is found while it is being called', async () => {
  const call = { run_id: 1, attempts: 3, not_before: new Date(), answer: 'HTTP 404' }
  await plant(store, 'heartbeat_call', call)
  expect(await only('heartbeat_failing')).toMatchObject([{ facts: { answer: 'HTTP 404' } }])
  await sql(`update dirsync.heartbeat_call set not_before = now() - interval '16 minutes'`)
  expect(await found()).toEqual([])
  await sql(`update dirsync.heartbeat_call set called_at = now(), not_before = now()`)
  expect(await found()).toEqual([])
})

describe('money', () => {
  const REFUND = {
    ...{ outer_refund_no: 'R-1', outer_trade_no: 'T-1', enterprise_code: '' },
    ...{ refund_amount: '12.50', refunded_before: '0.00' },
  }
  const UNKNOWN = {
    state: 'unknown',
    platformCode: null,
    message: inWords('no answer'),
    traceId: null,
  } as const

  test('with an unknown outcome is found until the outcome is known', async () => {
    await writeRefund(store.pool, REFUND, 'test')
    expect(await found()).toEqual([])
    await refundJournal.storeAnswer(store.pool, 'R-1', UNKNOWN)
    const sentAt = (await store.value<Date>('select sent_at from dirsync.refund')).getTime()
    expect(await only('money_unknown')).toMatchObject([
      { subject: 'refund', since: expect.any(Date), facts: { count: 1, for_person: 0, latest_at: sentAt } },
    ])
    await sql(`update dirsync.refund set left_to_person_at = now()`)
    expect(await only('money_unknown')).toMatchObject([{ facts: { count: 1, for_person: 1 } }])
    await refundJournal.storeAnswer(store.pool, 'R-1', { state: 'accepted', receipt: 'P-1' })
    expect(await found()).toEqual([])
  })

  test('whose sender hangs is found until it has ended', async () => {
    await writeRefund(store.pool, REFUND, 'test')
    await writeTopUpDown(store)
    const ends = [
      await senderAt(store.url, { order: REFUND.outer_trade_no }),
      await senderAt(store.url, { topUp: TOP_UP.external_code }),
    ]
    for (const table of ['refund', 'topup'])
      await sql(`update dirsync.${table} set sent_at = now() - interval '6 minutes'`)
    await adoptMoney({ pool: store.pool, logger: SILENT })
    expect(await only('money_unknown')).toMatchObject([
      { subject: 'refund', facts: { count: 1, for_person: 1 } },
      { subject: 'topup', facts: { count: 1, for_person: 1 } },
    ])
    for (const end of ends) await end()
    await store.unlocked()
    await adoptMoney({ pool: store.pool, logger: SILENT })
    expect(await only('money_unknown')).toMatchObject([{ facts: { count: 1, for_person: 0 } }, {}])
  })

  test('that was accepted, and that nothing shows for a week, is found until a person has said what became of it', async () => {
    await writeRefund(store.pool, REFUND, 'test')
    await refundJournal.storeAnswer(store.pool, 'R-1', { state: 'accepted', receipt: 'P-1' })
    await sql(`update dirsync.refund set sent_at = now() - interval '6 days 23 hours'`)
    expect(await found()).toEqual([])
    await sql(`update dirsync.refund set sent_at = now() - interval '7 days'`)
    expect(await only('money_unknown')).toMatchObject([
      { subject: 'refund', since: expect.any(Date), facts: { count: 1, for_person: 1 } },
    ])
    await refundJournal.resolve(store.pool, 'R-1', 'accepted', 'their support says so', { actor: 'cli:li' })
    expect(await found()).toEqual([])
  })

  test('of top-ups needs a person', async () => {
    await plant(store, 'topup', {
      external_code: 'U-1',
      account_openid: 'a',
      enterprise_code: '',
      amount: 5,
      although_open: [],
      state: 'requested',
      requested_by: 'test',
      sent_at: new Date(),
    })
    await topUpJournal.storeAnswer(store.pool, 'U-1', UNKNOWN)
    expect(await only('money_unknown')).toMatchObject([
      { subject: 'topup', facts: { count: 1, for_person: 1 } },
    ])
  })

  test('that moved although it was called rejected is found for seven days', async () => {
    const actor = { actor: 'cli:li' }
    const reject = async (number: string, trade: string) => {
      await writeRefund(store.pool, { ...REFUND, outer_refund_no: number, outer_trade_no: trade }, 'test')
      await refundJournal.storeAnswer(store.pool, number, UNKNOWN)
      await refundJournal.resolve(store.pool, number, 'rejected', 'not there', actor)
    }
    const came = { outer_refund_no: 'R-1', outer_trade_no: 'T-1', refund_amount: '12.50', trade_no: 'P-1' }
    await reject('R-1', 'T-1')
    expect(await found()).toEqual([])
    expect(await recordNotification(store.pool, came)).toBe('stored')
    expect(await only('money_contradicted')).toMatchObject([
      { subject: 'refund', facts: { count: 1, latest: 'R-1', of: 'T-1' } },
    ])
    await reject('R-2', 'T-2')
    await refundJournal.storeAnswer(store.pool, 'R-2', { state: 'accepted', receipt: 'P-2' })
    expect(await only('money_contradicted')).toMatchObject([
      { subject: 'refund', facts: { count: 2, latest: 'R-2', of: 'T-2' } },
    ])
    // The notification of what the answer has told already is no news.
    await sql(`update dirsync.refund set contradicted_at = now() - interval '8 days'`)
    await recordNotification(store.pool, { ...came, outer_refund_no: 'R-2', outer_trade_no: 'T-2' })
    expect(await found()).toEqual([])

    await writeTopUpDown(store)
    const { external_code, account_openid } = TOP_UP
    await topUpJournal.storeAnswer(store.pool, external_code, UNKNOWN)
    await topUpJournal.resolve(store.pool, external_code, 'rejected', 'not there', actor)
    await topUpJournal.storeAnswer(store.pool, external_code, { state: 'accepted', receipt: 'A-1' })
    expect(await only('money_contradicted')).toMatchObject([
      { subject: 'topup', facts: { count: 1, latest: external_code, of: account_openid } },
    ])
  })

  test('notifications that fit no refund are counted once per refund, until they fit or a day has passed', async () => {
    const notification = {
      outer_refund_no: 'R-1',
      outer_trade_no: 'T-1',
      refund_amount: '12.50',
      trade_no: 'P-1',
    }
    for (let i = 0; i < 3; i += 1) expect(await recordNotification(store.pool, notification)).toBe('unknown')
    expect(await only('notification_misfit')).toMatchObject([{ facts: { count: 1, latest: 'R-1' } }])
    await writeRefund(store.pool, REFUND, 'test')
    expect(await recordNotification(store.pool, { ...notification, refund_amount: '13.00' })).toBe('mismatch')
    expect(await store.rows('select reason, times from dirsync.refused_notification')).toEqual([
      { reason: 'mismatch', times: 4 },
    ])
    expect(await recordNotification(store.pool, notification)).toBe('stored')
    expect(await found()).toEqual([])
    await recordNotification(store.pool, { ...notification, outer_refund_no: 'R-2' })
    expect(await only('notification_misfit')).toMatchObject([{ facts: { count: 1, latest: 'R-2' } }])
    await sql(`update dirsync.refused_notification set last_at = now() - interval '25 hours'`)
    expect(await found()).toEqual([])
  })
})

describe('calls, processes and clocks', () => {
  test('calls that are rejected are found for fifteen minutes', async () => {
    const calls = new CallCounter(store.pool, SILENT)
    const call = { operation: 'employee/get', durationMs: 5, waitedMs: 0, code: 0 }
    for (let i = 0; i < 400; i += 1) calls.count({ ...call, rateLimited: i < 4 })
    await calls.close()
    expect(await found()).toEqual([])
    calls.count({ ...call, operation: 'employee/update', rateLimited: true })
    await calls.close()
    expect(await only('calls_rejected')).toMatchObject([{ facts: { calls: 401, rejected: 5 } }])
    await sql(`update dirsync.call_minute set minute = minute - interval '16 minutes'`)
    expect(await found()).toEqual([])
  })

  test('a role without a running process is found', async () => {
    await sql(`update dirsync.process set roles = '{console,scheduler}'`)
    expect(await rules()).toEqual(['role_missing worker'])
    await sql(`update dirsync.process set heartbeat_at = now() - interval '16 seconds'`)
    expect(await rules()).toEqual(['role_missing scheduler', 'role_missing worker', 'process_lost h (1)'])
    await deregister(store.pool, ME.id)
    expect(await rules()).toEqual(['role_missing scheduler', 'role_missing worker'])
    await beat()
    expect(await found()).toEqual([])
  })

  describe('a process without heartbeats', () => {
    const start = async (host: string, secondsAgo = 0) => {
      const id = randomUUID()
      await heartbeat(store.pool, { ...ME, id, host, roles: ['worker'], pacer: null })
      await store.pool.query(
        `update dirsync.process set started_at = now() - $2 * interval '1 second' where id = $1`,
        [id, secondsAgo],
      )
      return id
    }
    /** Its last sign of life is a minute old, or so many seconds. */
    const silence = (id: string, seconds = 60) =>
      store.pool.query(
        `update dirsync.process set heartbeat_at = now() - $2 * interval '1 second',
                started_at = least(started_at, now() - ($2 + 1) * interval '1 second') where id = $1`,
        [id, seconds],
      )

    test('is found, one of several too, until another of its roles was started in its place', async () => {
      const [a, b] = [await start('a', 600), await start('b', 600)]
      expect(await found()).toEqual([])
      await silence(a)
      expect(await only('process_lost')).toMatchObject([{ subject: 'a (1)', facts: { roles: 'worker' } }])
      await silence(b, 50)
      expect(await rules()).toEqual(['process_lost a (1)', 'process_lost b (1)'])
      const c = await start('c', 45)
      expect(await rules()).toEqual(['process_lost a (1)'])
      await start('d', 40)
      expect(await found()).toEqual([])
      // What took its place may die in its turn, and have its own replaced.
      await silence(c, 30)
      expect(await rules()).toEqual(['process_lost c (1)'])
      await start('e')
      expect(await found()).toEqual([])
    })

    test('is not found if it signed off, nor if its replacement does', async () => {
      const [a, b] = [await start('a'), await start('b')]
      await deregister(store.pool, a)
      expect(await found()).toEqual([])
      await silence(b)
      const c = await start('c')
      await deregister(store.pool, c)
      expect(await found()).toEqual([])
    })

    test('is not found if the clock was put back before another was started in its place', async () => {
      await start('a', 600)
      const passes = (interval: string) =>
        sql(`update dirsync.process set heartbeat_at = heartbeat_at - interval '${interval}',
               started_at = started_at - interval '${interval}'`)
      await passes('-2 hours')
      await start('b')
      await passes('2 hours 1 minute')
      await sql(`update dirsync.process set heartbeat_at = now() where host <> 'a'`)
      expect(await found()).toEqual([])
    })

    test('is not found if two processes put the times back at once', async () => {
      await start('a', 600)
      await sql(`update dirsync.process set heartbeat_at = heartbeat_at + interval '2 hours'`)
      const client = await store.pool.connect()
      try {
        await client.query('begin')
        await heartbeat(client as unknown as Pool, { ...ME, pacer: null })
        const second = start('b')
        await vi.waitUntil(
          () =>
            store.value<boolean>(
              `select count(*) = 1 from pg_stat_activity
               where datname = current_database() and wait_event_type = 'Lock' and query like '%ahead%'`,
            ),
          { timeout: 20_000 },
        )
        await client.query('commit')
        await second
      } finally {
        client.release()
      }
      expect(
        await store.rows(`select host from dirsync.process where heartbeat_at < now() - interval '1 hour'`),
      ).toEqual([])
    })

    test('is alive again with its next one, and is forgotten after a day', async () => {
      await beat({}, ['worker', 'scheduler', 'console'])
      const a = await start('a')
      await silence(a)
      expect(await rules()).toEqual(['process_lost a (1)'])
      await sql(`update dirsync.process set heartbeat_at = now() where id = '${a}'`)
      expect(await found()).toEqual([])
      await silence(a, 25 * 3600)
      expect(await found()).toEqual([])
    })
  })

  test('a clock that differs is found for as long as its process lives', async () => {
    await beat({ clockOffsetMs: -90_000 })
    expect(await only('clock')).toMatchObject([{ facts: { seconds: -90 } }])
    await beat({ clockOffsetMs: null })
    expect(await found()).toEqual([])
    const other = { ...ME, id: randomUUID(), pacer: { ...PACER, clockOffsetMs: 90_000 } }
    await heartbeat(store.pool, other)
    expect(await rules()).toEqual(['clock'])
    await deregister(store.pool, other.id)
    expect(await found()).toEqual([])
  })

  test('tokens are counted over an hour', async () => {
    await sql(
      `insert into dirsync.token_creation (base_url, app_id) select 'b', 'a' from generate_series(1, 21)`,
    )
    expect(await only('tokens')).toMatchObject([{ facts: { count: 21 } }])
    await sql(`update dirsync.token_creation set created_at = now() - interval '61 minutes' where id % 2 = 0`)
    expect(await found()).toEqual([])
  })
})

describe('the database and the channels', () => {
  test('its size and its connections are measured', async () => {
    const facts = await readAlertFacts(store.pool)
    const size = await store.value<number>('select pg_database_size(current_database())')
    expect(facts.database.bytes / Number(size)).toBeCloseTo(1, 1)
    expect(await rules({ ALERT_DATABASE_GB: '0.1', ALERT_DATABASE_FULL: '5' })).toContain(
      'database_full size',
    )
    const most = Number(await store.value('show max_connections'))
    expect(facts.database.connectionsLimit).toBeLessThan(most)
    const clients = await Promise.all(Array.from({ length: 5 }, () => store.pool.connect()))
    const more = await readAlertFacts(store.pool)
    for (const client of clients) client.release()
    expect(more.database.connections).toBeGreaterThan(5)
    expect(await rules({ ALERT_DATABASE_FULL: '1' })).toContain('database_full connections')
  })

  test('a slow answer is found', async () => {
    const client = await store.pool.connect()
    try {
      await client.query('begin; lock table dirsync.halt in access exclusive mode')
      const [slow] = await Promise.all([
        found({ ALERT_DATABASE_SLOW: '200' }),
        client.query('select pg_sleep(0.3); commit'),
      ])
      expect(slow).toMatchObject([{ rule: 'database_slow', facts: { milliseconds: expect.any(Number) } }])
    } finally {
      client.release()
    }
  })

  test('a channel is dead when it fails for ten minutes, is among the settings, and a message waits for it', async () => {
    const channel = { kind: 'slack', target: 't', least: 'info', language: 'en', seen_at: new Date() }
    await plant(
      store,
      'alert_channel',
      { ...channel, name: 'ops', failing_since: minutesAgo(11), last_answer: '500' },
      { ...channel, name: 'mail', failing_since: minutesAgo(9) },
      { ...channel, name: 'old', failing_since: minutesAgo(500), seen_at: minutesAgo(400) },
      { ...channel, name: 'fine' },
    )
    expect(await found()).toEqual([])
    await sql(`insert into dirsync.alert_message (channel, kind, content)
      select name, 'alerts', '{}' from dirsync.alert_channel`)
    expect(await only('dead_channel')).toMatchObject([
      { subject: 'ops', facts: { channel: 'ops', answer: '500' } },
    ])
    await sql(`update dirsync.alert_channel set failing_since = null`)
    expect(await found()).toEqual([])
  })

  test('a channel is dead when some recipients of its latest message have not got it for ten minutes', async () => {
    const channel = { kind: 'mail', target: 't', least: 'info', language: 'en', seen_at: new Date() }
    await plant(store, 'alert_channel', {
      ...{ ...channel, name: 'mail', last_answer: '250 ok; not taken for n***@example.com' },
      ...{ failing_since: minutesAgo(11), last_sent_at: minutesAgo(11) },
    })
    expect(await only('dead_channel')).toMatchObject([{ subject: 'mail' }])
    expect((await readAlertFacts(store.pool)).channels).toMatchObject([{ failing: expect.closeTo(660, -2) }])
    await sql(`update dirsync.alert_channel set last_sent_at = now() - interval '1 hour'`)
    expect(await found()).toEqual([])
  })
})

test('with several HR sources each is checked by itself, and one that is away is one alert', async () => {
  const source = (name: string, position: number, enterpriseCodes: string[]) =>
    plant(store, 'hr_source', {
      name,
      position,
      kind: 'mysql',
      address: 'hr/hr',
      enterprise_codes: enterpriseCodes,
    })
  await source('shanghai', 1, ['E1'])
  await source('beijing', 2, ['E2', 'E3'])
  for (const scope of ['E2', 'E3'])
    await plant(store, 'halt', {
      scope,
      category: 'hr_unavailable',
      message: inWords('m'),
      remedy: inWords('r'),
      since: minutesAgo(10),
    })
  await plant(store, 'halt', {
    scope: 'E1',
    category: 'enterprise_code',
    message: inWords('m'),
    remedy: inWords('r'),
    since: minutesAgo(10),
  })
  const judged = (state: string, hr_source: string) =>
    plantRun(store, { state, hr_source, planned_at: new Date(), finished_at: new Date() })
  await judged('source_suspect', 'beijing')
  await judged('done', 'shanghai')
  // Of the time when there was one HR system.
  await judged('source_suspect', '')
  expect((await rules()).toSorted()).toEqual(['halt E1', 'halt HR beijing', 'source_suspect changes beijing'])
  const { sourceChecks } = await readAlertFacts(store.pool)
  expect(sourceChecks.toSorted((a, b) => a.source.localeCompare(b.source))).toEqual([
    { kind: 'changes', source: 'beijing', suspect: true, delivering: false },
    { kind: 'changes', source: 'shanghai', suspect: false, delivering: false },
  ])
})
