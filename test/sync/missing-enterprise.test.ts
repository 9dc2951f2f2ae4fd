import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HrSources } from '../../src/hr/sources.ts'
import { claimDeployment } from '../../src/sync/health/deployment.ts'
import type { Claim } from '../../src/sync/outbox/claim.ts'
import { claimSources } from '../../src/sync/plan/claim-sources.ts'
import { requestRun } from '../../src/sync/runs/run.ts'
import { finishRuns } from '../../src/sync/settle/finish-runs.ts'
import { settle } from '../../src/sync/settle/settlement.ts'
import { begin, employee, outcome } from './outcomes.ts'
import { LIMITS, PlanUnderTest } from './plan-under-test.ts'
import { fail } from './planted.ts'

const under = new PlanUnderTest()
const { store } = under

const PEOPLE = 8
/** Those of enterprise E2, which the only HR lacks. */
const MISSING = ['e6', 'e7']
/** One of E1 whom it lacks, too; that they left is a case already. */
const SETTLED = 'e5'
const GROUP = `select case when userid >= 'e6' then 'E2' else 'E1' end as enterprise_code, userid, name, mobile, active from person`

/** What HR had while there were several is known; the platform has told of one of the missing, and never of the other. */
async function backToOne(): Promise<void> {
  await store.clear()
  await under.hr.query('delete from person')
  await claimDeployment(store.pool, {
    ...{ baseUrl: 'https://platform.example', appId: 'a', enterpriseCode: '' },
  })
  await under.hire(PEOPLE)
  await poll('changes')
  await under.acknowledge()
  await store.pool.query(
    `update dirsync.employee set platform_state = 'unknown', acknowledged_hash = null, parked_hash = source_hash
     where userid = 'e7'`,
  )
  const named = (name: string, code: string) => ({
    ...{ name, kind: 'postgres' as const, address: 'hr.example/hr', enterpriseCodes: [code] },
  })
  await claimSources(store.pool, [named('shanghai', 'E1'), named('beijing', 'E2')])
  await claimSources(store.pool, [])
  await fail(store, { enterprise_code: 'E1', entity_key: SETTLED, category: 'left_hr', field: '' })
  await under.hr.query('delete from person where userid = any ($1)', [[...MISSING, SETTLED]])
}

const planNext = () =>
  under
    .planner({
      hr: HrSources.one(under.source(GROUP)),
      limits: { ...LIMITS, breaker: { count: 3, percent: 10 } },
    })
    .planNext(new AbortController().signal)

async function poll(kind: 'changes' | 'full'): Promise<void> {
  await requestRun(store.pool, kind, [], 'test')
  while (await planNext());
}

const runIds = async (condition: string) =>
  (
    await store.rows<{ id: number }>(`select id from dirsync.sync_run where ${condition} order by id desc`)
  ).map(({ id }) => id)

/** Decides about the run that is held; about a part of it where its plan has one. */
async function decide(how: string, part = 'true'): Promise<void> {
  const [held] = await runIds(
    `state = 'held' and exists (select from dirsync.planned_work w
                                where w.run_id = sync_run.id and w.decision_id is null and w.reason is not null and ${part})`,
  )
  if (held !== undefined) await store.pool.query(`select dirsync.${how}`, [held])
}

/** The jobs that workers have in hand, by user id. */
type Jobs = Map<string, Claim>

async function take(jobs: Jobs, userid: string): Promise<void> {
  const waits = await store.rows(
    `select from dirsync.pending where entity_key = $1 and not in_hand and replan_at is null`,
    [userid],
  )
  if (waits.length > 0) jobs.set(userid, await begin(store, employee(userid, 'E2')))
}

/** The job ends without having come to anything, and is to be tried again. */
async function comeBack(jobs: Jobs, userid: string): Promise<void> {
  const claimed = jobs.get(userid)
  if (!claimed) return
  jobs.delete(userid)
  const again = { delayMs: 0, attempts: 1 }
  await settle(store.pool, [outcome(employee(userid, 'E2'), claimed, { again })])
}

const weighted = (weight: number, what: string) => ({ weight, arbitrary: fc.constant(what) })
const step = fc.record({
  what: fc.oneof(
    weighted(5, 'poll'),
    weighted(1, 'full'),
    weighted(3, 'plan'),
    weighted(3, 'approve'),
    weighted(1, 'approve E2'),
    weighted(1, 'reject'),
    weighted(8, 'cancel'),
    weighted(2, 'take'),
    weighted(2, 'come back'),
    weighted(2, 'finish'),
    weighted(2, 'change'),
  ),
  who: fc.constantFrom(...MISSING),
  which: fc.nat(2),
})

type Step = { what: string; who: string; which: number }
const plain = (...whats: string[]): Step[] => whats.map(what => ({ what, who: '', which: 0 }))

/** A plan without them is held from the first. In most orders it is approved, and a later one has passed beside it or not. */
const APPROVED = ['approve', 'poll']
const order = fc
  .tuple(
    fc.constantFrom([], ['approve', 'plan'], APPROVED, APPROVED),
    fc.array(step, { minLength: 1, maxLength: 7 }),
  )
  .map(([first, steps]) => [...plain('poll', ...first), ...steps])
/** The shortest in which a later run has taken for settled what is taken back. */
const CANCELLED = plain('poll', ...APPROVED, 'cancel')
/** A job comes back after the others were held again: the plan tells of it as changed since. */
const IN_HAND = plain('poll', 'approve', 'plan', 'take', 'cancel', 'plan').map(one => ({ ...one, who: 'e6' }))

async function go(jobs: Jobs, { what, who, which }: Step): Promise<void> {
  if (what === 'poll') await poll('changes')
  if (what === 'full') await poll('full')
  if (what === 'plan') await planNext()
  if (what === 'approve') await decide('approve($1)')
  if (what === 'approve E2')
    await decide(`approve_part($1, '{"enterprise": "E2"}')`, `w.enterprise_code = 'E2'`)
  if (what === 'reject') await decide(`reject($1, 'no')`)
  if (what === 'cancel') {
    const runs = await runIds(`state in ('requested', 'running') and cancelled_at is null`)
    const run = runs.at(-1 - (which % runs.length))
    if (run !== undefined) await store.pool.query('select dirsync.cancel($1)', [run])
  }
  if (what === 'take') await take(jobs, who)
  if (what === 'come back') await comeBack(jobs, who)
  if (what === 'finish') await finishRuns(store.pool)
  // One is little, and many are held.
  if (what === 'change')
    await under.hr.query(`update person set name = name || 'x' where userid <= $1`, [`e${2 * which}`])
}

interface Missing {
  userid: string
  vanished: boolean
  waits: boolean
  /** A plan with their leaving was approved, and not cancelled. */
  approved: boolean
}
const missing = () =>
  store.rows<Missing>(
    `select e.userid, e.vanished_at is not null as vanished, e.held_run is not null as waits,
            exists (select from dirsync.planned_work w join dirsync.sync_run r on r.id = w.run_id
                    left join dirsync.plan_decision d on d.id = w.decision_id
                    where w.enterprise_code = e.enterprise_code and w.entity_key = e.userid and w.reason = 'vanished'
                      and r.approved and r.cancelled_at is null and d.approved is not false) as approved
     from dirsync.employee e where e.enterprise_code = 'E2' order by 1`,
  )

/** Who waits for a decision about a plan that neither shows them nor tells of rows that HR has changed since. */
const unseen = () =>
  store.rows(
    `select e.userid from dirsync.employee e
     where e.status = 'held' and e.held_gone
       and not exists (select from dirsync.planned_work w
                       where w.run_id = e.held_run and w.enterprise_code = e.enterprise_code
                         and w.entity_key = e.userid and w.reason is not null)
       and not exists (select from dirsync.sync_run r
                       where r.id = e.held_run and r.state = 'held' and (r.plan ->> 'changed_since')::int > 0)`,
  )

test('people of an enterprise that the only HR lacks leave by approval alone, and are not forgotten', async () => {
  const property = fc.asyncProperty(order, async steps => {
    await backToOne()
    const jobs: Jobs = new Map()
    let before = await missing()
    const look = async () => {
      const now = await missing()
      const had = new Set(before.flatMap(({ userid, vanished }) => (vanished ? [userid] : [])))
      expect(now.filter(one => one.vanished && !had.has(one.userid) && !one.approved)).toEqual([])
      expect(await unseen()).toEqual([])
      before = now
    }
    for (const one of steps) {
      await go(jobs, one)
      await look()
    }
    // All comes to rest: who has not left waits for a decision, or a person has rejected it.
    for (const userid of MISSING) await comeBack(jobs, userid)
    await finishRuns(store.pool)
    for (const _ of ['what was taken back', 'what was held for it']) {
      await poll('changes')
      await look()
    }
    expect(before.map(({ userid, vanished, waits }) => vanished || waits || userid)).toEqual([true, true])
  })
  await fc.assert(property, { numRuns: 8, examples: [[CANCELLED], [IN_HAND]] })
})
