import { chmod, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { previewDeletions } from '../../src/console/departments/page.ts'
import { HrDeliveryError } from '../../src/hr/errors.ts'
import { HrSources, WHOLE } from '../../src/hr/sources.ts'
import { SessionLocks } from '../../src/lib/session-locks.ts'
import { HrPoller } from '../../src/sync/runs/hr-poller.ts'
import { readRun, requestRun } from '../../src/sync/runs/run.ts'
import { HrChanges } from '../../src/sync/runs/run-requests.ts'
import { until } from '../helpers/company.ts'
import { type Delivered, delivered } from '../hr/files/delivered.ts'
import { worded } from '../texts/worded.ts'
import { LIMITS, PlanUnderTest } from './plan-under-test.ts'
import { SILENT } from './store-under-test.ts'

const under = new PlanUnderTest()
const SQL = 'select userid, name from staff'
const staff = (count: number) =>
  ['userid,name', ...Array.from({ length: count }, (_, i) => `e${i},n${i}`), ''].join('\n')

/** A company of ten that is in step. */
async function inSync(): Promise<Delivered> {
  const hr = await delivered()
  await hr.deliver('staff.csv', staff(10))
  expect(await under.plan('changes', { source: hr.source(SQL) })).toMatchObject({
    state: 'running',
    planned: 10,
  })
  await under.acknowledge()
  return hr
}

test.each([
  [
    'is half-written',
    (hr: Delivered) => hr.deliver('staff.csv', staff(9).slice(0, -3)),
    'ends in the middle of its last line',
  ],
  [
    'has half a record',
    (hr: Delivered) => hr.deliver('staff.csv', `${staff(9)}e9\n`),
    'line 11 has 1 values',
  ],
  ['is gone', (hr: Delivered) => unlink(join(hr.folder, 'staff.csv')), 'the folder has no file of data'],
  [
    'is no text',
    (hr: Delivered) =>
      hr.deliver('staff.csv', Buffer.concat([Buffer.from(staff(9)), Buffer.from([0x65, 0x2c, 0xff, 0x0a])])),
    'is not valid GB18030',
  ],
])('a delivery that %s makes a run suspect, and makes no one a leaver', async (_, change, message) => {
  const hr = await inSync()
  const before = await under.untouched()
  await change(hr)
  for (const kind of ['changes', 'full'] as const) {
    const source = hr.source(SQL)
    expect(worded(await under.plan(kind, { source }))).toMatchObject({
      state: 'source_suspect',
      message: expect.stringMatching(/^the delivery in .* is not complete: .*\. Nothing was enqueued\.$/),
      finishedAt: expect.any(Date),
    })
    expect((await under.plan(kind, { source })).message).toContain(message)
  }
  expect(await under.untouched()).toEqual(before)
  await hr.deliver('staff.csv', staff(10))
  expect(await under.plan('changes', { source: hr.source(SQL) })).toMatchObject({
    state: 'running',
    planned: 0,
  })
})

test('a run of departments does not go by the delivery before one that is not whole', async () => {
  const hr = await delivered()
  const employees = Array.from({ length: 10 }, (_, i) => `e${i},n${i},D1`)
  await hr.deliver('staff.csv', ['userid,name,dept_code', ...employees, ''].join('\n'))
  await hr.deliver('dept.csv', 'dept_code,active\nD1,1\nD2,0\n')
  const source = hr.source(
    'select userid, name, dept_code from staff',
    'select dept_code, null as parent_code, active from dept',
  )
  await under.plan('changes', { source })
  await under.acknowledge()
  await under.plan('departments', { source })
  await under.store.pool.query(
    `update dirsync.department set closed_at = now() - interval '2 hours' where not active`,
  )
  // It may have people in D2, or have opened it again.
  await hr.deliver('dept.csv', 'dept_code,active\nD1,1\nD2')
  expect(worded(await under.plan('departments', { source }))).toMatchObject({
    state: 'running',
    planned: 0,
    message: expect.stringContaining('is not complete'),
  })
  const unmapped = hr.source('select userid, name, dept_code from staff')
  expect(worded(await under.plan('departments', { source: unmapped })).message).toContain(
    'HR_DEPARTMENTS_SQL',
  )
  await hr.deliver('dept.csv', 'dept_code,active\nD1,1\nD2,0\n')
  const none = { departments: { count: 0, percent: 0 } }
  const held = await under.plan('departments', { source, limits: none })
  expect(held).toMatchObject({ state: 'held', plan: { sample: ['D2'] } })
  await hr.deliver('dept.csv', 'dept_code')
  await under.plan('departments', { source })
  expect(await readRun(under.store.pool, held.id)).toMatchObject({ state: 'held' })
  await hr.deliver('dept.csv', 'dept_code,active\nD1,1\nD2,0\n')
  expect(await under.plan('departments', { source })).toMatchObject({ plan: { sample: ['D2'] } })
})

test('since when a delivery is the latest is known, until another is there, and no longer once HR is none of files', async () => {
  const hr = await inSync()
  const source = hr.source(SQL)
  const known = () => under.store.rows('select source, since from dirsync.hr_delivery')
  const [first] = await known()
  expect(first).toMatchObject({ source: '', since: expect.any(Date) })
  await under.plan('changes', { source })
  expect(await known()).toEqual([first])
  // Nor is one that was only touched by a copy that keeps its time.
  await chmod(join(hr.folder, 'staff.csv'), 0o640)
  await under.plan('changes', { source })
  expect(await known()).toEqual([first])
  // A broken one is not the latest, and does not count as one.
  await hr.deliver('staff.csv', 'userid')
  await under.plan('changes', { source })
  expect(await known()).toEqual([first])
  await hr.deliver('staff.csv', staff(9))
  await under.plan('full', { source })
  const later = await under.store.rows('select from dirsync.hr_delivery where since > $1', [first?.since])
  expect(later).toHaveLength(1)
  await under.plan('changes')
  expect(await known()).toEqual([])
})

test('a held run stays held while the delivery is not whole', async () => {
  const hr = await inSync()
  await hr.deliver('staff.csv', staff(10).replace(/,n(?=\d)/g, ',m'))
  const source = hr.source(SQL)
  expect(await under.plan('changes', { source })).toMatchObject({ state: 'held' })
  await hr.deliver('staff.csv', 'userid')
  expect(await under.plan('changes', { source })).toMatchObject({ state: 'source_suspect' })
  const held = await under.store.rows('select state from dirsync.sync_run where state = $1', ['held'])
  expect(held).toHaveLength(1)
})

test('the poller asks for a run for each whole delivery, and for none that is not', async () => {
  const hr = await inSync()
  const source = hr.source(SQL)
  const locks = new SessionLocks(under.store.url, SILENT)
  const looks = { count: 0 }
  const asked: (string[] | null)[] = []
  const poller = new HrPoller({
    pool: under.store.pool,
    hr: {
      changedSince: () => Promise.reject(new Error('a delivery is not asked for rows')),
      async delivery() {
        const found = await source.delivery()
        looks.count += 1
        return found
      },
    },
    scope: WHOLE,
    changes: { changed: userids => asked.push(userids) },
    locks,
    everyMs: 10,
    logger: SILENT,
  })
  onTestFinished(async () => {
    await poller.stop()
    await locks.close()
  })
  poller.start()
  const looked = async () => {
    const { count } = looks
    await until(async () => looks.count >= count + 2)
  }
  await looked()
  expect(asked).toEqual([null])
  await hr.deliver('staff.csv', 'userid')
  await looked()
  expect(asked).toEqual([null])
  await hr.deliver('staff.csv', staff(11))
  await looked()
  expect(asked).toEqual([null, null])
  const run = await requestRun(under.store.pool, 'changes', [], 'poller')
  expect(await under.planRequested(run, source)).toMatchObject({ state: 'running', planned: 1 })
})

test('a new delivery is read to its end, so that employees missing from it have left, whatever updated_at says', async () => {
  const hr = await delivered()
  const dated = (count: number) =>
    staff(count)
      .replaceAll(/^(e\d.*)$/gm, '$1,2026-03-01 10:00:00')
      .replace('userid,name', 'userid,name,updated_at')
  await hr.deliver('staff.csv', dated(30))
  const source = hr.source('select userid, name, updated_at::timestamp as updated_at from staff')
  expect(await under.plan('changes', { source })).toMatchObject({ state: 'running', planned: 30 })
  await under.acknowledge()
  const changes = new HrChanges({
    ...{ pool: under.store.pool, scope: WHOLE, by: 'poller' as const, logger: SILENT },
    limits: { gate: { maxFewerRows: 20, maxEmptied: 20 }, breaker: { count: 2, percent: 10 } },
  })
  onTestFinished(() => changes.stop())
  await hr.deliver('staff.csv', dated(29))
  // As the poller does for each delivery.
  changes.changed(null)
  const run = await until(() =>
    under.store.value<number | null>(`select max(id)::int from dirsync.sync_run where state = 'requested'`),
  )
  expect(await under.planRequested(run, source)).toMatchObject({ plan: { reasons: { vanished: 1 } } })
})

test('no deletion of a department is promised by an incomplete delivery', async () => {
  const hr = await inSync()
  const units = (...rows: string[]) => ['dept_code,active,closed_at', ...rows, ''].join('\n')
  await hr.deliver('units.csv', units('D1,false,2026-01-01 00:00:00', 'D2,true,', 'D3,true,'))
  const departments =
    'select dept_code, null as parent_code, active::boolean as active, closed_at::timestamptz as closed_at from units'
  const source = hr.source(`select userid, name, 'D2' as dept_code from staff`, departments)
  await under.plan('changes', { source, limits: { breaker: { count: 10, percent: 10 } } })
  const preview = () => previewDeletions(under.store.pool, HrSources.one(source), LIMITS)
  expect(await preview()).toMatchObject({ deletions: [{ deptCode: 'D1' }] })
  await hr.deliver('staff.csv', staff(9).slice(0, -3))
  await expect(preview()).rejects.toBeInstanceOf(HrDeliveryError)
})
