import { beforeAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/output.ts'
import { createCompany } from '../helpers/company.ts'
import { duringFile } from '../helpers/during.ts'
import { dirsyncProcess, dirsync as run } from './dirsync.ts'

/** A company whose operators read Chinese, with one refused mobile number, and a held run. */
const company = duringFile(() =>
  createCompany({
    employees: 20,
    settings: { BREAKER_EMPLOYEES: '3', BREAKER_EMPLOYEES_PERCENT: '10' },
  }),
)

const dirsync = (...args: string[]) => run(args, { ...company.settings, DIRSYNC_LANG: 'zh_CN.UTF-8' })

beforeAll(async () => {
  await company.start()
  await company.run('full')
  await company.hr.query(`update person set mobile = '19900000003' where userid = 'e0002'`)
  await company.run('changes')
  await company.hr.query(`update person set email = userid || '@new.example.com'`)
  await company.run('changes')
})

const idOfCase = async () => (await dirsync('dead-letters', 'list', '--json')).json().items[0].id

const LONG = 'e'.repeat(121)

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
      '请查明手机号归属（见“受阻于”；为空时，可能是区号不同的员工），在人事系统中更正，或在平台上更正后重试；其他字段不受影响。',
    )
    for (const line of show.stdout.split('\n')) expect(widthOf(line)).toBeLessThanOrEqual(80)
  })

  test('status and runs say where things stand, and why a run is held', async () => {
    const status = await dirsync('status')
    expect(status.stdout).toMatch(/共 20 名员工，已同步 \d+ 名/)
    expect(status.stdout).toMatch(/增量同步 +待审批/)
    expect(status.stdout).toContain('未解决的异常项 1 个')
    const runs = await dirsync('runs')
    expect(runs.stdout).toMatch(/任务 +类型 +状态/)
    const held = /(\d+) +增量同步 +待审批/.exec(runs.stdout)?.[1] ?? ''
    const story = await dirsync('runs', held)
    expect(story.stdout.replaceAll(/\s+/g, '')).toMatch(/共20名员工，其中\d+名将发生变更，超过3名且超过10%。/)
    const plan = await dirsync('plan', held)
    expect(plan.stdout).toMatch(/原因 +数量\n +人事数据有变更 +\d+/)
  })

  test('an employee’s story names fields, outcomes and cases', async () => {
    const story = await dirsync('employee', 'e0002')
    expect(story.stdout).toMatch(/^员工 e0002\n/)
    expect(story.stdout).toMatch(/手机号 .*暂不发送/)
    expect(story.stdout).toMatch(/更新员工 +(?:部分更新|转为异常项)/)
  })

  test('an action is confirmed', async () => {
    const id = await idOfCase()
    const snoozed = await dirsync('dead-letters', 'snooze', String(id), '--until', '3d')
    expect(snoozed.stdout).toMatch(new RegExp(`^异常项 ${id} 已暂缓至 `))
  })

  test.each<[string[], number, string]>([
    [['employee', 'e99999'], 1, '人事系统和 dirsync 中都没有员工 e99999'],
    [['runs', '9999'], 1, '没有同步任务 9999'],
    [['dead-letters', 'show', '9999'], 1, '没有异常项 9999'],
    // What SQL refuses.
    [['approve', '9999'], 1, '没有待审批的同步任务 9999'],
    [['users', 'disable', 'nobody'], 1, '没有用户 "nobody"'],
  ])('%j fails in Chinese', async (args, code, sentence) => {
    expect(await dirsync(...args)).toMatchObject({ code, stdout: '', stderr: `dirsync: ${sentence}\n` })
  })

  test.each<[string[], string]>([
    [['dead-letters', 'list', '--run', '0'], '--run 的值为 "0"：应大于 0'],
    [['dead-letters', 'list', '--run', 'x'], '--run 的值为 "x"：应为数字'],
    [['dead-letters', 'list', '--key', LONG], `--key 的值为 "${LONG}"：不应超过 120 个字符`],
  ])('%j is refused as in the console', async (args, sentence) => {
    expect(await dirsync(...args)).toMatchObject({ code: 2, stderr: `dirsync: ${sentence}\n` })
  })

  const refund = ['refund', 'send', '--reason', 'x', '--yes']
  test.each<[string[], RegExp]>([
    [[...refund, '--order', 'other', '--amount', '0.01'], /^dirsync: --order 应以应用 ID 开头\n/],
    [
      [...refund, '--order', 'test-application-1', '--amount', '0'],
      /^dirsync: --amount 应为 0\.01 至 99999999\.99 的小数，最多两位小数\n/,
    ],
    [['platform', 'employee/openid', '--userid', 'e0001'], /^dirsync: --seller_appid 为必填项\n/],
    [['orders', 'record', '1'], /^dirsync: <outer-trade-no> 应为 10 至 30 个字符，并以应用 ID 开头\n/],
    [['platform', 'employee/get'], /^dirsync: employee\/get 至少需要以下之一：userid、mobile、email\n/],
  ])('%j is refused by a rule of the platform, in Chinese', async (args, sentence) => {
    const { code, stderr } = await dirsync(...args)
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(sentence) })
  })

  test('another account is refused, and a wrong setting', async () => {
    const settings = { ...company.settings, DIRSYNC_LANG: 'zh-CN' }
    const other = await run(['plan'], { ...settings, PLATFORM_APP_ID: 'other' })
    expect(other.code).toBe(2)
    expect(other.stderr).toMatch(/^dirsync: 此数据库保存的是 http\S+ 的应用 \S+，但 PLATFORM_APP_ID/)
    const wrong = await run(['plan'], { ...settings, PLATFORM_RATE_LIMIT: 'fast', LOG_LEVEL: 'loud' })
    expect(wrong.code).toBe(2)
    expect(wrong.stderr.split('\n')).toEqual([
      'dirsync: PLATFORM_RATE_LIMIT 的值为 "fast"，但应为数字，或为 auto',
      'dirsync: LOG_LEVEL 的值为 "loud"，但应为以下之一：trace、debug、info、warn、error、silent',
      '',
    ])
    const examined = await run(['doctor'], { ...settings, PLATFORM_RATE_LIMIT: 'fast' })
    expect(examined.stdout).toMatch(
      /PLATFORM_RATE_LIMIT 的值为 "fast"，但应为数字，或为 auto\n +→ \p{Script=Han}/u,
    )
  })

  test('users, tokens and what the platform is asked for are shown without a word of English', async () => {
    const settings = { ...company.settings, DIRSYNC_LANG: 'zh-CN' }
    expect((await dirsync('users', 'list')).stdout).toMatch(/^用户\n {2}尚无可登录的用户\n请用 /)
    const added = await run(['users', 'add', 'anna', '--role', 'admin'], settings, 'correct horse battery\n')
    expect(added).toMatchObject({ code: 0, stdout: 'anna 可以登录，角色为管理员 (admin)。\n' })
    expect((await dirsync('users', 'list')).stdout).toMatch(
      /名称 +角色 +登录方式 +状态 +会话 +最近登录.*\n +anna +管理员 +密码 +启用 +0 +从未/,
    )
    const token = await dirsync('tokens', 'add', 'monitoring', '--role', 'viewer', '--expires', '9d')
    expect(token.stderr.replaceAll(/\s/g, '')).toMatch(/^请妥善保存，.*角色为查看者\(viewer\)。$/)
    expect((await dirsync('tokens', 'list')).stdout).toMatch(/monitoring +查看者 +有效/)
    const elsewhere = await run(['switch-account'], { ...settings, PLATFORM_APP_ID: 'other' })
    expect(elsewhere.stdout).toMatch(/数据库所属[\s\S]+\n\n以下内容将被清除或结束\n +员工 +20\n/)
    for (const command of [
      'orders list',
      'orders show 1',
      'orders record test-application-7',
      'accounts',
      'taxpayers 1',
    ]) {
      const { stdout, stderr } = await dirsync(...command.split(' '))
      expect(stdout + stderr, command).toMatch(/\p{Script=Han}/u)
      const ownWords = (stdout + stderr).replaceAll(/平台返回 .*/g, '')
      expect(ownWords, command).not.toMatch(/[a-z]{2,} [a-z]{2,} [a-z]/)
    }
  })

  test('JSON is English', async () => {
    const { json } = await dirsync('dead-letters', 'list', '--state', 'snoozed', '--json')
    expect(json().items[0]).toMatchObject({ category: 'duplicate_mobile', state: 'snoozed' })
    const doctor = await dirsync('doctor', '--json')
    expect(doctor.stdout + JSON.stringify(json())).not.toMatch(/\p{Script=Han}/u)
  })

  test.each<[string[], number, object, RegExp]>([
    [['orders', 'record', '1'], 2, { error: { code: 'invalid', message: expect.any(String) } }, /应为/],
    [
      ['taxpayers', 'X'.repeat(200), '--name', 'Y'.repeat(300)],
      2,
      { error: { code: 'invalid', message: expect.stringMatching(/^<identifier> .+\n--name .+$/) } },
      /^dirsync: <identifier> .+\ndirsync: --name ./,
    ],
    [['dead-letters', 'snooze', '9999', '--until', '3d'], 1, { error: { code: 'not_found' } }, /没有异常项/],
  ])('%j with --json is English for programs, and Chinese beside it', async (args, code, document, words) => {
    const told = await dirsync(...args, '--json')
    expect(told).toMatchObject({ code, stderr: expect.stringMatching(words) })
    expect(told.json()).toMatchObject(document)
    expect(told.stdout).not.toMatch(/\p{Script=Han}/u)
  })

  test('what an action answers or refuses is told to programs in English', async () => {
    const done = await dirsync('dead-letters', 'snooze', String(await idOfCase()), '--until', '4d', '--json')
    const refused = await dirsync('refund', 'resolve', 'none', '--as', 'accepted', '--reason', 'x', '--json')
    const missing = await dirsync('refund', 'settle', 'none', '--json')
    expect([done.code, refused.code, missing.code]).toEqual([0, 1, 1])
    const notFound = { error: { code: 'not_found', message: expect.stringContaining('none') } }
    expect([refused.json(), missing.json()]).toEqual([notFound, notFound])
    expect(done.stdout + refused.stdout + missing.stdout).not.toMatch(/\p{Script=Han}/u)
  })

  test('a plan without room for a temporary file fails in both languages', async () => {
    const env = { ...company.settings, DIRSYNC_LANG: 'zh-CN', TMPDIR: '/nowhere' }
    const told = await dirsyncProcess(['plan', '--full', '--json'], env)
    expect(told).toMatchObject({ code: 1, stderr: expect.stringMatching(/^dirsync: 无法把人事数据的行暂存/) })
    expect(told.json()).toEqual({ error: { code: 'failed', message: expect.stringMatching(/TMPDIR$/) } })
    expect(told.stdout).not.toMatch(/\p{Script=Han}/u)
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
    expect(stdout).toMatch(/运行中：1 个调度进程；1 个工作进程/)
    expect(stdout).toMatch(/正常 +schema +已是最新/)
    expect(stdout).toMatch(/正常 +clock +本机时钟与平台一致/)
  })
})
