import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/output.ts'
import { type Company, createCompany } from '../helpers/company.ts'
import { dirsync as run } from './dirsync.ts'

/** A company whose operators read Chinese, with one refused mobile number, and a held run. */
let company: Company

const dirsync = (...args: string[]) => run(args, { ...company.settings, DIRSYNC_LANG: 'zh_CN.UTF-8' })

beforeAll(async () => {
  company = await createCompany({
    employees: 20,
    settings: { BREAKER_EMPLOYEES: '3', BREAKER_EMPLOYEES_PERCENT: '10' },
  })
  await company.start()
  await company.run('full')
  await company.hr.query(`update person set mobile = '19900000003' where userid = 'e0002'`)
  await company.run('changes')
  await company.hr.query(`update person set email = userid || '@new.example.com'`)
  await company.run('changes')
})

afterAll(() => company[Symbol.asyncDispose]())

const idOfCase = async () => (await dirsync('dead-letters', 'list', '--json')).json().items[0].id

describe('with DIRSYNC_LANG=zh_CN.UTF-8', () => {
  test('dead-letters list and show speak Chinese, with the remedy', async () => {
    const list = await dirsync('dead-letters', 'list')
    expect(list).toMatchObject({ code: 0, stderr: '' })
    expect(list.stdout).toMatch(/^异常项 · 未解决的异常项 1 个\n/)
    expect(list.stdout).toMatch(/e0002 +手机号 +手机号重复 +待处理/)
    const show = await dirsync('dead-letters', 'show', String(await idOfCase()))
    expect(show.stdout).toMatch(/^异常项 \d+ · 待处理\n/)
    expect(show.stdout).toMatch(/类别 +手机号重复 \(duplicate_mobile\)/)
    expect(show.stdout.replaceAll(/\s+/g, '')).toContain(
      '请查明手机号归属（见“受阻于”），在人事系统或平台上更正；其他字段已发送。',
    )
    for (const line of show.stdout.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80)
  })

  test('status and runs say where things stand, and why a run is held', async () => {
    const status = await dirsync('status')
    expect(status.stdout).toMatch(/员工\n {2}20 名中 \d+ 名已同步/)
    expect(status.stdout).toMatch(/增量同步 +待审批/)
    expect(status.stdout).toContain('异常项：1')
    const runs = await dirsync('runs')
    expect(runs.stdout).toMatch(/任务 +类型 +状态/)
    const held = /(\d+) +增量同步 +待审批/.exec(runs.stdout)?.[1] ?? ''
    const story = await dirsync('runs', held)
    expect(story.stdout.replaceAll(/\s+/g, '')).toMatch(
      /共20名员工，其中\d+名将发生变更，超过3名且超过10%：请查看计划，然后批准或驳回该同步任务。/,
    )
    const plan = await dirsync('plan', held)
    expect(plan.stdout).toMatch(/计划内容 +人事数据有变更 \d+/)
  })

  test('an employee’s story names fields, outcomes and cases', async () => {
    const story = await dirsync('employee', 'e0002')
    expect(story.stdout).toMatch(/^员工 e0002\n/)
    expect(story.stdout).toMatch(/手机号 .*将发送/)
    expect(story.stdout).toMatch(/更新员工 +(?:部分更新|转为异常项)/)
  })

  test('an action is confirmed', async () => {
    const id = await idOfCase()
    const snoozed = await dirsync('dead-letters', 'snooze', String(id), '--until', '3d')
    expect(snoozed.stdout).toMatch(new RegExp(`^异常项 ${id} 已暂缓至 `))
  })

  test('JSON, help and refused options are English', async () => {
    const [{ json }, help, refused] = await Promise.all([
      dirsync('dead-letters', 'list', '--state', 'snoozed', '--json'),
      dirsync('status', '--help'),
      dirsync('runs', 'x'),
    ])
    expect(json().items[0]).toMatchObject({ category: 'duplicate_mobile', state: 'snoozed' })
    const doctor = await dirsync('doctor', '--json')
    expect(help.stdout + refused.stderr + doctor.stdout + JSON.stringify(json())).not.toMatch(
      /\p{Script=Han}/u,
    )
    expect(refused.code).toBe(2)
  })

  test('commands that run at once share neither language nor output', async () => {
    const runs = (language: string) => run(['runs'], { ...company.settings, DIRSYNC_LANG: language })
    const alone = { chinese: (await runs('zh-CN')).stdout, english: (await runs('en')).stdout }
    const [chinese, english] = await Promise.all([runs('zh-CN'), runs('en')])
    expect({ chinese: chinese.stdout, english: english.stdout }).toEqual(alone)
    expect(chinese.stdout).toMatch(/\p{Script=Han}/u)
    expect(english.stdout).not.toMatch(/\p{Script=Han}/u)
  })

  test('doctor says what it finds, and what to do', async () => {
    const { stdout } = await dirsync('doctor')
    expect(stdout).toMatch(/正常 +schema +已是最新/)
    expect(stdout).toMatch(/正常 +clock +本机时钟与平台一致/)
  })
})
