import { writeFile } from 'node:fs/promises'
import { beforeAll, expect, test } from 'vitest'
import { createCompany } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { worded } from '../texts/worded.ts'

/** Cron jobs do not run here: whatever follows, follows by itself. */
const company = duringFile(() => createCompany({ employees: 24 }))

beforeAll(async () => {
  await writeFile(
    company.settings.HR_EMPLOYEES_SQL as string,
    'select userid, name, mobile, email, dept_code, level as corp_code, active from person',
  )
  await company.start()
  await company.run('full')
})

/** The number that employee `i` had in the beginning. */
const numberOf = (i: number) => `1990000${String(i).padStart(4, '0')}`
const useridOf = (i: number) => `e${String(i).padStart(4, '0')}`

/** HR gives numbers to employees, all at once. */
const give = (numbers: Record<number, string>) =>
  company.hr.query(
    `update person p set mobile = n.mobile from jsonb_to_recordset($1) as n (userid text, mobile text) where n.userid = p.userid`,
    [JSON.stringify(Object.entries(numbers).map(([i, mobile]) => ({ userid: useridOf(Number(i)), mobile })))],
  )
const held = async (...employees: number[]) => {
  const platform = await company.onPlatform()
  return employees.map(i => platform.get(useridOf(i))?.mobile)
}
/** Gives a number on the platform itself, as its back office would. */
const giveOnPlatform = async (i: number, mobile: string) =>
  company.control('POST', 'employees', [{ ...(await company.onPlatform()).get(useridOf(i)), mobile }])
const cases = async (...employees: number[]) =>
  (
    await company.db.query(
      `select d.*, f.swap_id as shown from dirsync.dead_letter d left join dirsync.failed_syncs f on f.id = d.id
       where d.entity_key = any ($1) order by d.entity_key, d.id`,
      [employees.map(useridOf)],
    )
  ).rows

test('in a chain each employee follows the one who gave up a number, within one run and without a tick', async () => {
  await give({
    0: numberOf(1),
    1: numberOf(2),
    2: numberOf(3),
    3: numberOf(4),
    4: '19955550004',
  })
  const run = await company.run('changes')
  expect(await held(0, 1, 2, 3, 4)).toEqual([
    numberOf(1),
    numberOf(2),
    numberOf(3),
    numberOf(4),
    '19955550004',
  ])
  expect(run).toMatchObject({ state: 'done', message: null })
  expect((await cases(0, 1, 2, 3, 4)).filter(({ state }) => state !== 'resolved')).toEqual([])
})

test('a swap is one group of cases that names both employees and the one number to free, and ends when it is free', async () => {
  await give({ 5: numberOf(6), 6: numberOf(5) })
  await company.run('changes')
  const swapped = await cases(5, 6)
  const [first, second] = swapped
  const group = Math.min(Number(first.id), Number(second.id))
  const [free] = swapped.filter(({ id }) => Number(id) === group)
  for (const one of swapped) {
    expect(one).toMatchObject({
      state: 'open',
      category: 'duplicate_mobile',
      occurrences: expect.any(Number),
    })
    expect([Number(one.swap_id), Number(one.shown)]).toEqual([group, group])
    expect(worded(one.message)).toMatch(
      /swap.*e000[56] wants the mobile number of e000[56], e000[56] that of e000[56]/,
    )
    expect(worded(one.remedy)).toContain(`change the mobile number of ${free.entity_key} (`)
    expect(worded(one.remedy)).toContain(`retry case ${group}`)
    expect(worded(one.remedy)).not.toMatch(/1990000000[56]/)
    expect(one.next_retry_at.getTime()).toBeGreaterThan(Date.now() + 4.8 * 86_400_000)
  }
  // The same again leaves them as they are.
  await company.retry(second.id)
  expect(await cases(5, 6)).toMatchObject([
    { state: 'open', swap_id: String(group) },
    { state: 'open', swap_id: String(group) },
  ])

  await giveOnPlatform(Number(free.entity_key.slice(-1)), '19955550005')
  await company.retry(group)
  expect(await held(5, 6)).toEqual([numberOf(6), numberOf(5)])
  expect(await cases(5, 6)).toMatchObject([
    { state: 'resolved', swap_id: null },
    { state: 'resolved', swap_id: null },
  ])
})

test('a circle of three is recognised, and one who gets another number in HR lets the others follow in the same run', async () => {
  await give({ 7: numberOf(8), 8: numberOf(9), 9: numberOf(7) })
  await company.run('changes')
  const circle = await cases(7, 8, 9)
  expect(new Set(circle.map(({ swap_id }) => swap_id)).size).toBe(1)
  expect(circle[0].swap_id).not.toBeNull()
  for (const { state, message } of circle) {
    expect(state).toBe('open')
    for (const i of [7, 8, 9]) expect(worded(message)).toContain(useridOf(i))
  }

  await give({ 8: '19955550008' })
  await company.run('changes')
  expect(await held(7, 8, 9)).toEqual([numberOf(8), '19955550008', numberOf(7)])
  expect((await cases(7, 8, 9)).map(({ state, swap_id }) => [state, swap_id])).toEqual([
    ['resolved', null],
    ['resolved', null],
    ['resolved', null],
  ])
})

test('an employee who drops out of a swap but keeps the number leaves the other an ordinary case', async () => {
  await give({ 10: numberOf(11), 11: numberOf(10) })
  await company.run('changes')
  expect((await cases(10, 11)).map(({ swap_id }) => swap_id !== null)).toEqual([true, true])
  await give({ 11: numberOf(11) })
  await company.run('changes')
  const [left, gone] = await cases(10, 11)
  expect(gone).toMatchObject({ state: 'resolved', swap_id: null })
  expect(left).toMatchObject({ state: 'open', swap_id: null, blocked_by: useridOf(11) })
  expect(left.message).not.toContain('swap')
})

test('a swap of e-mail addresses is one too, and a mobile number wanted besides is none of it', async () => {
  await company.hr.query(
    `update person set email = case userid when 'e0012' then 'e13@example.com' else 'e12@example.com' end,
                       mobile = case userid when 'e0012' then $1 else mobile end
     where userid in ('e0012', 'e0013')`,
    [numberOf(14)],
  )
  await company.run('changes')
  const found = await cases(12, 13)
  expect(found.map(({ entity_key, field, swap_id }) => [entity_key, field, swap_id !== null])).toEqual(
    expect.arrayContaining([
      ['e0012', 'email', true],
      ['e0012', 'mobile', false],
      ['e0013', 'email', true],
    ]),
  )
  expect(worded(found.find(({ field }) => field === 'email').message)).toContain('e-mail address')
})

test('work numbers follow in a chain as well, and in a swap of which one is freed, although the platform tells no holder of one', async () => {
  const number = (numbers: Record<number, string>) =>
    company.hr.query(
      `update person p set level = n.number from jsonb_to_recordset($1) as n (userid text, number text) where n.userid = p.userid`,
      [
        JSON.stringify(
          Object.entries(numbers).map(([i, number]) => ({ userid: useridOf(Number(i)), number })),
        ),
      ],
    )
  await number({ 15: 'W15', 16: 'W16', 17: 'w17', 18: 'W18' })
  await company.run('changes')
  await number({ 15: 'W16', 16: 'W17', 17: 'W18', 18: 'W99' })
  expect(await company.run('changes')).toMatchObject({ state: 'done', message: null })
  const platform = await company.onPlatform()
  expect([15, 16, 17, 18].map(i => platform.get(useridOf(i))?.corp_code)).toEqual([
    'W16',
    'W17',
    'W18',
    'W99',
  ])
  expect((await cases(15, 16, 17, 18)).filter(({ state }) => state !== 'resolved')).toEqual([])

  // A swap, of which no case can name the holder either.
  await number({ 15: 'W17', 16: 'W16' })
  await company.run('changes')
  const [one, other] = (await cases(15, 16)).filter(({ state }) => state !== 'resolved')
  expect([one, other]).toMatchObject([
    { category: 'duplicate_work_number', blocked_by: null, swap_id: null },
    { category: 'duplicate_work_number', blocked_by: null, swap_id: null },
  ])
  await company.control('POST', 'employees', [{ ...platform.get(useridOf(16)), corp_code: 'W16b' }])
  await company.retry(one.id)
  const now = await company.onPlatform()
  expect([15, 16].map(i => now.get(useridOf(i))?.corp_code)).toEqual(['W17', 'W16'])
})

test('those who wait for a department follow the first one whom the platform takes into it', async () => {
  const move = (userid: string[], department: string) =>
    company.hr.query(`update person set dept_code = $2 where userid = any ($1)`, [userid, department])
  await move(['e0020', 'e0021'], 'DX')
  await move(['e0022'], 'DY')
  await company.run('changes')
  await company.control('POST', 'departments', [{ dept_code: 'DX', dept_name: 'New' }])
  await move(['e0023'], 'DX')
  const run = await company.run('changes')
  expect(run.result?.outcomes).toEqual({ updated: 3 })
  const platform = await company.onPlatform()
  expect([20, 21, 23].map(i => platform.get(useridOf(i))?.dept_code)).toEqual(['DX', 'DX', 'DX'])
  expect(await cases(20, 21, 22)).toMatchObject([
    { state: 'resolved' },
    { state: 'resolved' },
    { state: 'open', category: 'missing_department', occurrences: 1 },
  ])
})

test('those who wait for the number or address of a leaver follow when the employment has ended', async () => {
  await company.hr.query(
    `update person p set mobile = l.mobile, email = l.email from person l where p.userid = 'e0019' and l.userid = 'e0018'`,
  )
  await company.hr.query(`delete from person where userid = 'e0018'`)
  await company.run('changes')
  expect(await cases(19)).toMatchObject([{ blocked_by: 'e0018' }, { blocked_by: 'e0018' }])
  const [left] = (await cases(18)).filter(({ category }) => category === 'left_hr')
  const leaver = (await company.onPlatform()).get('e0018')
  await company.control('POST', 'employees', [{ ...leaver, in_service: false }])
  await company.retry(left.id)
  expect((await cases(18, 19)).map(({ state }) => state)).not.toContain('open')
  expect((await company.onPlatform()).get('e0019')).toMatchObject({
    mobile: numberOf(18),
    email: 'e18@example.com',
  })
})
