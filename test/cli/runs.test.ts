import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Company, createCompany, endOf } from '../helpers/company.ts'
import { dirsync as run, wideLines } from './dirsync.ts'

/** A company in step, with a service that runs in this process; the command line is another process beside it. */
let company: Company

const dirsync = (...args: string[]) => run(args, company.settings)

beforeAll(async () => {
  company = await createCompany({
    employees: 30,
    settings: { BREAKER_EMPLOYEES: '3', BREAKER_EMPLOYEES_PERCENT: '10' },
  })
  await company.start()
  await company.run('full')
})

afterAll(() => company[Symbol.asyncDispose]())

const mail = (domain: string, below: number) =>
  company.hr.query(`update person set email = userid || '@' || $1 where userid < $2`, [
    domain,
    `e${String(below).padStart(4, '0')}`,
  ])

test('a named employee is synced while one waits, and the result is told', async () => {
  await mail('one.example.com', 1)
  const waited = await dirsync('resync', '--employee', 'e0000', '--wait')
  expect(waited.code).toBe(0)
  expect(waited.stdout).toMatch(/^Run \d+ \(employees\): done\n/)
  expect(waited.stdout).toMatch(/outcome +1 updated/)
  expect((await company.onPlatform()).get('e0000')).toMatchObject({ email: 'e0000@one.example.com' })
})

test('a run of changes is waited for, as one JSON document', async () => {
  await mail('two.example.com', 2)
  const waited = await dirsync('resync', '--wait', '--json')
  expect(waited).toMatchObject({ code: 0, stderr: '' })
  expect(waited.json()).toMatchObject({
    ok: true,
    kind: 'changes',
    state: 'done',
    planned: 2,
    result: { outcomes: { updated: 2 } },
  })
})

test('a full run with a max age tells how many it skipped', async () => {
  const waited = await dirsync('resync', '--full', '--max-age', '1h', '--wait')
  expect(waited.code).toBe(0)
  expect(waited.stdout).toMatch(/skipped +\d+ confirmed recently enough/)
})

test('an employee whom nobody knows fails the wait, and the others are synced all the same', async () => {
  const unknown = await dirsync('resync', '--employee', 'nobody', '--wait')
  expect(unknown.code).toBe(1)
  expect(unknown.stdout).toMatch(/failed\n +message +neither HR nor dirsync knows an employee nobody/)
  const mixed = await dirsync('resync', '--employee', 'e0001', 'nobody', '--wait', '--json')
  expect(mixed.code).toBe(1)
  expect(mixed.json()).toMatchObject({ ok: false, state: 'done', planned: 1, message: 'unknown: nobody' })
})

test('a dead letter that comes of a named employee is shown with how to look closer', async () => {
  await company.hr.query(`update person set mobile = '19900000003' where userid = 'e0002'`)
  const waited = await dirsync('resync', '--employee', 'e0002', '--wait')
  expect(waited.code).toBe(0)
  expect(waited.stdout).toMatch(/Dead letters: 1\n.*\n.* e0002 +mobile +duplicate_mobile +open/)
  expect(waited.stdout).toMatch(/Look closer: .*dirsync dead-letters show \d+/)
})

describe('a run that its breaker holds', () => {
  let held: number

  test('is foreseen by the plan', async () => {
    await mail('three.example.com', 10)
    const planned = await dirsync('plan')
    expect(planned.code).toBe(1)
    expect(planned.stdout).toMatch(/^Plan of a changes run: would be held\n.*10 of 30 employees would change/)
    expect(planned.stdout).toMatch(/sample +e0000, e0001/)
  })

  test('ends the wait with exit 1, and says how to decide', async () => {
    const waited = await dirsync('resync', '--wait')
    expect(waited.code).toBe(1)
    held = Number(/^Run (\d+) \(changes\): held/.exec(waited.stdout)?.[1])
    expect(waited.stdout).toMatch(new RegExp(`dirsync approve ${held}\n.*dirsync reject ${held}`))
    expect(wideLines(waited.stdout)).toEqual([])
  })

  test('is told with its plan', async () => {
    const story = await dirsync('runs', String(held))
    expect(story.stdout).toMatch(new RegExp(`^Run ${held}: changes, held`))
    expect(story.stdout).toMatch(/plan +10 changed/)
    expect((await dirsync('runs')).stdout).toMatch(new RegExp(` ${held} +changes +held`))
  })

  test('goes on once it is approved', async () => {
    const approved = await dirsync('approve', String(held))
    expect(approved).toMatchObject({ code: 0, stderr: '' })
    expect(await endOf(company.db, held)).toMatchObject({ state: 'done' })
    expect((await company.onPlatform()).get('e0009')).toMatchObject({ email: 'e0009@three.example.com' })
    const story = (await dirsync('runs', String(held), '--json')).json()
    expect(story).toMatchObject({ approved: true, decided_by: expect.stringContaining('cli:') })
  })

  test('ends without a trace once it is rejected', async () => {
    await mail('four.example.com', 20)
    const { id } = await company.run('changes')
    const rejected = await dirsync('reject', String(id), '--json')
    expect(rejected).toMatchObject({ code: 0 })
    expect(rejected.json()).toEqual({ run: id, decision: 'rejected' })
    expect((await company.onPlatform()).get('e0009')).toMatchObject({ email: 'e0009@three.example.com' })
  })
})
