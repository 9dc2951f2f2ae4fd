import { randomUUID } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { claimEvaluation, recordFindings } from '../../src/alerts/record.ts'
import type { Finding } from '../../src/alerts/rule.ts'
import { transaction } from '../../src/lib/database.ts'
import { StoreUnderTest } from '../sync/store-under-test.ts'

const store = new StoreUnderTest()

const MINUTE = 60_000
const ago = (ms: number) => new Date(Date.now() - ms)

function finding(differs: Partial<Finding> = {}): Finding {
  return { rule: 'halt', subject: '*', facts: { scope: '*' }, forMs: 0, ...differs }
}

/** A judgement that found just these; what it raised and ended. */
async function judge(...findings: Finding[]): Promise<string[]> {
  const changes = await transaction(store.pool, client => recordFindings(client, findings))
  return changes.map(({ event, rule, subject }) => `${event} ${rule}${subject}`).sort()
}

/** Lets so much time pass for all alerts. */
async function pass(ms: number): Promise<void> {
  await store.pool.query(
    `update dirsync.alert
     set since = since - $1 * interval '1 ms', raised_at = raised_at - $1 * interval '1 ms',
         gone_at = gone_at - $1 * interval '1 ms', ended_at = ended_at - $1 * interval '1 ms'`,
    [ms],
  )
}

const alerts = () =>
  store.rows<{
    state: string
    since: Date
    returns: number
    raised_at: Date
    gone_at: Date
    ended_at: Date
    facts: object
  }>('select * from dirsync.alert order by id')

describe('an alert', () => {
  test('is raised at once if its rule has no delay, and only once', async () => {
    expect(await judge(finding(), finding({ rule: 'tokens', subject: '' }))).toEqual([
      'raised halt*',
      'raised tokens',
    ])
    expect(await judge(finding(), finding({ rule: 'tokens', subject: '' }))).toEqual([])
    expect(await alerts()).toMatchObject([{ state: 'firing' }, { state: 'firing' }])
  })

  test('is raised when it has held for as long as its rule wants', async () => {
    expect(await judge(finding({ forMs: 5 * MINUTE }))).toEqual([])
    await pass(5 * MINUTE - 1000)
    expect(await judge(finding({ forMs: 5 * MINUTE }))).toEqual([])
    await pass(1000)
    expect(await judge(finding({ forMs: 5 * MINUTE }))).toEqual(['raised halt*'])
  })

  test('that rows date back is raised by their date', async () => {
    expect(await judge(finding({ forMs: 5 * MINUTE, since: ago(6 * MINUTE) }))).toEqual(['raised halt*'])
    const [{ since } = { since: new Date() }] = await alerts()
    expect(since.getTime()).toBeLessThan(ago(5 * MINUTE).getTime())
  })

  test('never dates from the future', async () => {
    await judge(finding({ since: ago(-MINUTE) }))
    expect((await alerts())[0]?.since.getTime()).toBeLessThan(Date.now() + 1000)
  })

  test('has not held while no process was there to look, unless rows date it back', async () => {
    const missing = finding({ rule: 'role_missing', subject: 'worker', forMs: MINUTE })
    const dated = finding({ forMs: 20 * MINUTE, since: ago(10 * MINUTE) })
    const evaluate = () =>
      transaction(store.pool, async client => {
        await claimEvaluation(client, randomUUID(), 0)
        return recordFindings(client, [missing, dated])
      })
    expect(await evaluate()).toEqual([])
    await pass(10 * MINUTE)
    await store.pool.query(
      `update dirsync.alert_check set checked_at = now() - interval '10 minutes', watched_since = now() - interval '1 day'`,
    )
    expect(await evaluate()).toEqual([])
    const [role, other] = await alerts()
    expect(Date.now() - Number(role?.since)).toBeLessThan(MINUTE / 2)
    expect(other?.since).toEqual(dated.since)
    await pass(MINUTE)
    await store.pool.query(`update dirsync.alert_check set watched_since = now() - interval '1 minute'`)
    expect(await evaluate()).toMatchObject([{ event: 'raised', rule: 'role_missing' }])
  })

  test('that is gone before its time was never raised, and begins anew', async () => {
    await judge(finding({ forMs: 5 * MINUTE }))
    await pass(4 * MINUTE)
    expect(await judge()).toEqual([])
    expect(await alerts()).toEqual([])
    await judge(finding({ forMs: 5 * MINUTE }))
    await pass(2 * MINUTE)
    expect(await judge(finding({ forMs: 5 * MINUTE }))).toEqual([])
  })

  test('that is pending waits for the present problem, not for one that is over', async () => {
    const of = (ms: number) => finding({ rule: 'money_unknown', forMs: 5 * MINUTE, since: ago(ms) })
    await judge(of(4 * MINUTE))
    await pass(2 * MINUTE)
    expect(await judge(of(MINUTE))).toEqual([])
    expect(await judge(of(5 * MINUTE))).toEqual(['raised money_unknown*'])
  })

  test('keeps the latest facts, and since when it has held', async () => {
    await judge(finding({ facts: { count: 1 }, since: ago(10 * MINUTE) }))
    await judge(finding({ facts: { count: 2 }, since: ago(MINUTE) }))
    const [alert] = await alerts()
    expect(alert).toMatchObject({ facts: { count: 2 } })
    expect(alert?.since.getTime()).toBeLessThan(ago(9 * MINUTE).getTime())
  })

  test('of another cause is another alert, so that whoever knew of the first one is told', async () => {
    const because = (category: string) => finding({ facts: { scope: '*', category } })
    await judge(because('hr_unavailable'))
    expect(await judge(because('credentials'))).toEqual(['ended halt*', 'raised halt*'])
    await judge()
    await pass(5 * MINUTE)
    await judge()
    expect(await judge(because('platform_unavailable'))).toEqual(['raised halt*'])
    expect(await judge(because('platform_unavailable'))).toEqual([])
    await judge()
    await pass(5 * MINUTE)
    await judge()
    await judge(because('platform_unavailable'))
    expect(await alerts()).toMatchObject([
      { state: 'ended', facts: { category: 'hr_unavailable' } },
      { state: 'ended', returns: 0, facts: { category: 'credentials' } },
      { state: 'ended', returns: 0, facts: { category: 'platform_unavailable' } },
      { state: 'firing', returns: 1, facts: { category: 'platform_unavailable' } },
    ])
  })

  test('is raised, and over, in time after the clock was put back', async () => {
    const pending = finding({ rule: 'role_missing', forMs: 5 * MINUTE })
    await judge(finding(), pending)
    await judge(pending)
    await pass(-24 * 60 * MINUTE)
    await judge(pending)
    await pass(5 * MINUTE)
    expect(await judge(pending)).toEqual(['ended halt*', 'raised role_missing*'])
  })

  test('that comes and goes within a minute is one alert', async () => {
    await judge(finding())
    for (let round = 0; round < 3; round++) {
      expect(await judge()).toEqual([])
      await pass(59_000)
      expect(await judge()).toEqual([])
      expect(await judge(finding())).toEqual([])
    }
    expect(await alerts()).toMatchObject([{ state: 'firing', gone_at: null }])
  })

  test('is over once it has been gone for a minute, as of when it went', async () => {
    await judge(finding())
    await judge()
    await pass(MINUTE)
    expect(await judge()).toEqual(['ended halt*'])
    const [alert] = await alerts()
    expect(alert).toMatchObject({ state: 'ended' })
    expect(alert?.ended_at).toEqual(alert?.gone_at)
    // What comes now is another one.
    expect(await judge(finding())).toEqual(['raised halt*'])
    expect(await alerts()).toHaveLength(2)
  })

  test('that comes back within 15 minutes is over only once it has been gone for 15', async () => {
    await judge(finding())
    await judge()
    await pass(14 * MINUTE)
    expect(await judge()).toEqual(['ended halt*'])
    expect(await judge(finding())).toEqual(['raised halt*'])
    for (let round = 0; round < 3; round++) {
      await judge()
      await pass(14 * MINUTE)
      expect(await judge()).toEqual([])
      expect(await judge(finding())).toEqual([])
    }
    expect(await alerts()).toMatchObject([
      { state: 'ended', returns: 0 },
      { state: 'firing', returns: 4 },
    ])
    await judge()
    await pass(15 * MINUTE)
    expect(await judge()).toEqual(['ended halt*'])
    expect(await judge(finding())).toEqual(['raised halt*'])
    expect((await alerts()).at(-1)).toMatchObject({ returns: 0 })
  })

  test('that is gone for less than a minute has not come back', async () => {
    await judge(finding())
    await judge()
    await pass(59_000)
    await judge(finding())
    expect(await alerts()).toMatchObject([{ state: 'firing', returns: 0 }])
  })

  test('is one for each subject, and one where a rule finds a subject twice', async () => {
    expect(
      await judge(finding({ subject: 'E1' }), finding({ subject: 'E2' }), finding({ subject: 'E2' })),
    ).toEqual(['raised haltE1', 'raised haltE2'])
  })
})

describe('a judgement', () => {
  const ONE = '00000000-0000-4000-8000-000000000001'
  const OTHER = '00000000-0000-4000-8000-000000000002'
  const claim = (id: string, gapMs = 28_000) =>
    transaction(store.pool, client => claimEvaluation(client, id, gapMs))

  test('is made by one process at a time', async () => {
    await transaction(store.pool, async client => {
      expect(await claimEvaluation(client, ONE, 28_000)).toEqual({ now: expect.any(Date), isLast: true })
      expect(await claim(OTHER)).toEqual({ now: null, isLast: false })
    })
    expect(await claim(OTHER)).toEqual({ now: null, isLast: false })
    expect(await claim(ONE)).toEqual({ now: null, isLast: true })
  })

  test('comes again after its interval, and stays with the process that made the last one', async () => {
    const judgedAgo = (seconds: number) =>
      store.pool.query(`update dirsync.alert_check set checked_at = now() - $1 * interval '1 second'`, [
        seconds,
      ])
    await claim(ONE)
    await judgedAgo(27)
    expect(await claim(ONE)).toEqual({ now: null, isLast: true })
    await judgedAgo(28)
    expect(await claim(ONE)).toEqual({ now: expect.any(Date), isLast: true })
    await judgedAgo(55)
    expect(await claim(OTHER)).toEqual({ now: null, isLast: false })
    await judgedAgo(56)
    expect(await claim(OTHER)).toEqual({ now: expect.any(Date), isLast: true })
    expect(await claim(ONE)).toEqual({ now: null, isLast: false })
  })

  test('that fails leaves nothing, and the next one is not kept waiting', async () => {
    await expect(
      transaction(store.pool, async client => {
        await claimEvaluation(client, ONE, 28_000)
        await recordFindings(client, [finding()])
        throw new Error('it died')
      }),
    ).rejects.toThrow('it died')
    expect(await alerts()).toEqual([])
    expect(await claim(OTHER)).toMatchObject({ now: expect.any(Date) })
  })

  test('knows since when there has been a process to make it', async () => {
    const watchedSeconds = () =>
      store.value(`select round(extract(epoch from now() - watched_since))::int from dirsync.alert_check`)
    const pass = (seconds: number, last = seconds) =>
      store.pool.query(
        `update dirsync.alert_check
         set checked_at = checked_at - $2 * interval '1 second',
             watched_since = watched_since - $1 * interval '1 second'`,
        [seconds, last],
      )
    await claim(ONE)
    await pass(600, 170)
    await claim(OTHER)
    expect(await watchedSeconds()).toBe(600)
    await pass(181)
    await claim(ONE)
    expect(await watchedSeconds()).toBe(0)
    // The clock is put back by an hour.
    await pass(-3600)
    await claim(ONE)
    expect(await watchedSeconds()).toBe(0)
  })

  test('does not wait for a clock that was put back', async () => {
    await claim(ONE)
    await store.pool.query(`update dirsync.alert_check set checked_at = now() + interval '1 hour'`)
    expect(await claim(OTHER)).toMatchObject({ now: expect.any(Date) })
  })
})

describe('quiet hours', () => {
  const quiet = async (starts: string, ends: string, zone: string) => {
    await store.pool.query('select dirsync.set_quiet_hours($1, $2, $3)', [starts, ends, zone])
    return (at: string) => store.value<boolean>('select dirsync.is_quiet($1)', [at])
  }

  test('do not exist unless they are set', async () => {
    expect(await store.value('select dirsync.is_quiet(now())')).toBe(false)
  })

  test('go over midnight, by the clocks of their zone', async () => {
    const isQuiet = await quiet('22:00', '07:00', 'Asia/Shanghai')
    const times = ['13:59:59', '14:00:00', '16:30:00', '22:59:59', '23:00:00']
    const found = await Promise.all(times.map(time => isQuiet(`2026-11-22T${time}Z`)))
    expect(found).toEqual([false, true, true, true, false])
  })

  test('within a day begin with their first minute and end before their last', async () => {
    const isQuiet = await quiet('12:00', '14:00', 'UTC')
    const times = ['11:59:59', '12:00:00', '13:59:59', '14:00:00']
    const found = await Promise.all(times.map(time => isQuiet(`2026-11-22T${time}Z`)))
    expect(found).toEqual([false, true, true, false])
  })

  test('follow the clocks when these are changed', async () => {
    const isQuiet = await quiet('22:00', '07:00', 'Europe/Berlin')
    // Before and after the change of 25 October: 07:00 is 05:00 UTC, then 06:00.
    expect(await isQuiet('2026-10-24T05:30:00Z')).toBe(false)
    expect(await isQuiet('2026-10-25T05:30:00Z')).toBe(true)
    expect(await isQuiet('2026-10-25T06:00:00Z')).toBe(false)
    // In spring, 02:00 to 03:00 does not exist.
    const within = await quiet('02:15', '03:15', 'Europe/Berlin')
    expect(await within('2026-03-29T00:59:00Z')).toBe(false)
    expect(await within('2026-03-29T01:10:00Z')).toBe(true)
    expect(await within('2026-03-29T01:15:00Z')).toBe(false)
  })
})
