import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/output.ts'
import { createMariadbDatabase, type MariadbDatabase } from '../helpers/mariadb.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { dirsync, wideLines } from './dirsync.ts'

/** The example holds everything that can be wrong; its SELECTs work on both servers. */
const EXAMPLE = join(import.meta.dirname, '../../examples/workbench')
let postgres: TestDatabase
let mariadb: MariadbDatabase
let folder: string

beforeAll(async () => {
  const staff = await readFile(join(EXAMPLE, 'staff.sql'), 'utf8')
  postgres = await createTestDatabase()
  mariadb = await createMariadbDatabase()
  await postgres.pool.query(staff)
  await mariadb.admin.query(staff)
  folder = await temporaryFolder()
})

afterAll(async () => {
  await postgres.close()
  await mariadb.close()
})

const settings = (url: string) => ({
  HR_DATABASE_URL: url,
  HR_EMPLOYEES_SQL: join(EXAMPLE, 'employees.sql'),
  HR_DEPARTMENTS_SQL: join(EXAMPLE, 'departments.sql'),
})

/** A check with another mapping of employees, written for it. */
async function checked(sql: string, env: Record<string, string> = { HR_DATABASE_URL: postgres.url }) {
  const file = join(folder, 'other.sql')
  await writeFile(file, sql)
  return dirsync(['hr', 'check', '--mapping', file], env)
}

describe.each(['PostgreSQL', 'MariaDB'])('HR in %s as one finds it', product => {
  // biome-ignore lint/suspicious/noExplicitAny: the document is looked at from all sides
  let found: any
  let code: number | null

  beforeAll(async () => {
    const url = product === 'PostgreSQL' ? postgres.url : mariadb.url
    const run = await dirsync(['hr', 'check', '--json'], settings(url))
    expect(run.stderr).toBe('')
    found = run.json()
    code = run.code
  })

  test('is not in order, and needs no other settings to be read', () => {
    expect(code).toBe(1)
    expect(found).toMatchObject({
      ok: false,
      source: { product: expect.stringContaining(product), mapping: settings('').HR_EMPLOYEES_SQL },
      rows: 48,
      active: 44,
      leavers: 4,
      without_userid: 2,
      write_only: [],
      unmanaged: ['category', 'birth_day', 'cost_center_id', 'employee_attribute'],
    })
  })

  test('has columns with types, empty values, lengths and different values', () => {
    expect(found.columns).toHaveLength(12)
    expect(found.columns).toMatchObject([
      { column: 'userid', field: 'userid', type: 'varchar', empty: 2, shortest: 5, longest: 5, distinct: 45 },
      { column: 'active', field: 'active', distinct: 2, distinct_is_exact: true },
      { column: 'name', longest: 51 },
      { column: 'code', field: 'corp_code' },
      ...Array(3).fill({}),
      { column: 'mobile', empty: 4, shortest: 1, longest: 17, distinct: 43 },
      { column: 'remark', empty: 47, shortest: 2, longest: 2, distinct: 1 },
      ...Array(3).fill({}),
    ])
  })

  test('breaks rules, told with the rows to be found by and without their values', () => {
    const [mobile, ...others] = found.broken_rules
    expect(mobile).toEqual({
      field: 'mobile',
      rule: 'format',
      message: expect.stringContaining('mobile must have 6 to 20 digits'),
      rows: 2,
      samples: [
        { enterprise_code: '', userid: 'E0002', value: '**** (5 characters)' },
        { enterprise_code: '', userid: 'E0004', value: '**** (1 characters)' },
      ],
    })
    expect(others.map(({ field, rule, rows }: Record<string, unknown>) => [field, rule, rows])).toEqual([
      ['email', 'format', 1],
      ['card_no', 'check_digit', 1],
      ['entry_day', 'date', 1],
      ['corp_code', 'format', 1],
      ['name', 'too_long', 1],
    ])
  })

  test('shares values that should be one employee’s own, exactly and in another writing', () => {
    const told = Object.fromEntries(
      found.shared.map(({ field, same, written_differently: other }: Record<string, never>) => [
        field,
        { same, other },
      ]),
    )
    const group = (...members: [string, string | null][]) => ({
      groups: 1,
      samples: [members.map(([userid, value]) => ({ enterprise_code: '', userid, value }))],
    })
    const none = { groups: 0, samples: [] }
    expect(told).toEqual({
      userid: {
        same: { groups: 1, samples: [[{ enterprise_code: '', userid: 'E0031', value: null }]] },
        other: {
          groups: 2,
          samples: [
            ['E0023', 'e0023'],
            ['E0025', 'Ｅ0025'],
          ].map(pair => pair.map(userid => ({ enterprise_code: '', userid, value: null }))),
        },
      },
      mobile: {
        same: group(['E0005', '199****0005'], ['E0006', '199****0005']),
        other: group(['E0007', '199****0007'], ['E0008', '+86****0007']),
      },
      email: {
        same: group(['E0013', 'e***@example.com'], ['E0014', 'e***@example.com']),
        other: group(['E0011', 'e***@example.com'], ['E0012', 'E***@Example.com']),
      },
      corp_code: { same: none, other: group(['E0020', 'w00021'], ['E0021', 'W00021']) },
      card_no: { same: none, other: group(['E0016', '990****63'], ['E0017', '９９０****６３']) },
    })
  })

  test('has departments that cannot be used, or that do not fit the employees', () => {
    const told = found.departments.findings.map(
      ({ kind, count, employees, samples }: Record<string, unknown>) => [kind, count, employees, samples],
    )
    expect(told).toEqual([
      ['duplicate', 1, null, ['D11']],
      ['active', 1, null, ['D50']],
      ['too_long', 1, null, [`D${'5'.repeat(49)}…`]],
      ['required', 1, null, []],
      ['cycle', 1, null, ['D40 → D41 → D40']],
      ['no_parent', 1, null, ['D31 → D77']],
      ['unknown', 2, 2, ['D99', 'D98']],
      ['closed_with_employees', 1, 2, ['D30']],
      ['closed_top', 1, null, ['D9']],
    ])
  })
})

describe('for people', () => {
  test.each([
    ['en', /^HR in PostgreSQL/, 'Then: npx dirsync hr check', /E0015 \*{4} \(18 characters\)/],
    ['zh-CN', /^人事数据：PostgreSQL/, '然后：npx dirsync hr check', /E0015 \*{4}（18 个字符）/],
  ])('it is said in %s, in 80 columns, with what to do next', async (DIRSYNC_LANG, head, next, sample) => {
    const { code, stdout, stderr } = await dirsync(['hr', 'check'], {
      ...settings(postgres.url),
      DIRSYNC_LANG,
    })
    expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
    expect(stdout).toMatch(head)
    expect(stdout).toMatch(sample)
    expect(stdout).toContain(next)
    const short = stdout.replaceAll(EXAMPLE, '')
    expect(short.split('\n').filter(line => widthOf(line) > 80)).toEqual([])
  })

  test('no value of HR is printed that is not masked', async () => {
    const { stdout } = await dirsync(['hr', 'check'], settings(postgres.url))
    const { rows } = await postgres.pool.query<{ sjh: string; sfzh: string; xm: string }>(
      'select sjh, sfzh, xm from yuangong where sjh is not null and length(sjh) > 1',
    )
    for (const { sjh, sfzh, xm } of rows)
      for (const value of [sjh, sfzh, xm]) expect(stdout).not.toContain(value)
  })

  test('with nothing wrong it exits with 0, and leads to the plan', async () => {
    const clean = await checked(
      `select ygbh as userid, xm as name, 10 as cost_center_id from yuangong where ygbh in ('E0001', 'E0003')`,
    )
    expect(clean).toMatchObject({ code: 0, stderr: '' })
    expect(clean.stdout).toContain('Nothing is wrong with it.\nNext: npx dirsync plan --mapping ')
    expect(clean.stdout).toMatch(/write-only +cost_center_id: the platform never shows them/)
    expect(wideLines(clean.stdout.replaceAll(folder, ''))).toEqual([])
  })

  test('with no rows at all HR looks wrong', async () => {
    const empty = await checked('select ygbh as userid, xm as name from yuangong where 1 = 0')
    expect(empty.code).toBe(1)
    expect(empty.stdout).toContain('HR delivers no rows at all')
  })

  test('an employee whom a join delivers twice shares nothing with another one', async () => {
    const { stdout } = await checked(
      `select ygbh as userid, sjh as mobile from yuangong, (values (1), (2)) twice where ygbh = 'E0001'`,
    )
    expect(stdout).toContain('1 key that HR delivers more than once')
    expect(stdout).not.toContain('mobile   ')
  })
})

test('many different values are estimated, and said to be', async () => {
  const many = await checked(
    `select n as userid, n % 16000 as cost_center_id, n as remark from generate_series(1, 60000) n`,
  )
  expect(many.stdout).toMatch(/cost_center_id +int4 +0 % +1–5 +16,000 /)
  const [, count = ''] = /remark +int4 +0 % +1–5 +≈([\d,]+) /.exec(many.stdout) ?? []
  expect(Math.abs(Number(count.replace(',', '')) / 60_000 - 1)).toBeLessThan(0.05)
  expect(many.stdout).toContain('≈ is an estimate')
})

test('the command to go on with can be typed as it stands', async () => {
  const file = join(folder, "new mapping's.sql")
  await writeFile(file, `select ygbh as userid, xm as name from yuangong where ygbh = 'E0001'`)
  const { stdout } = await dirsync(['hr', 'check', '--mapping', file], { HR_DATABASE_URL: postgres.url })
  expect(stdout).toContain(`plan --mapping '${join(folder, "new mapping'\\''s.sql")}'\n`)
})

test('rows of enterprises that are not those of the source are told', async () => {
  await writeFile(
    join(folder, 'two.sql'),
    "select ygbh as userid, xm as name, 'E2' as enterprise_code from yuangong where ygbh = 'E0001'",
  )
  const [one, other] = [
    ['one', 'E1'],
    ['other', 'E2'],
  ].map(([name, code]) => ({
    name,
    address: postgres.url,
    employees_sql: 'two.sql',
    enterprise_codes: [code],
  }))
  await writeFile(join(folder, 'sources.json'), JSON.stringify([one, other]))
  const env = { HR_SOURCES: join(folder, 'sources.json') }
  const stray = await dirsync(['hr', 'check', '--source', 'one'], env)
  expect(stray.code).toBe(1)
  expect(stray.stdout).toMatch(/1 row +of enterprises that are not those of the source \(E2\): they are not/)
  const own = await dirsync(['hr', 'check', '--source', 'other', '--json'], env)
  expect(own.json()).toMatchObject({ ok: true, stray: { rows: 0, enterprise_codes: [] } })
})

describe('a mapping that is wrong', () => {
  test('is told with its place, exit 2', async () => {
    const wrong = await checked('select ygbh as userid,\n  nme as name\nfrom yuangong')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toBe(
      `dirsync: ${join(folder, 'other.sql')}:2:3: column "nme" does not exist (42703)\n` +
        '    2 |   nme as name\n' +
        '          ^\n',
    )
    const unknown = await checked('select ygbh as userid,\n  xm as nme\nfrom yuangong', {
      HR_DATABASE_URL: mariadb.url,
    })
    expect(unknown.stderr).toMatch(
      /other\.sql:2:9: unknown column "nme"; .*\n {4}2 \| {3}xm as nme\n {16}\^\n$/,
    )
  })

  test('is told where it is not in UTF-8, before anything is compared with it', async () => {
    const file = join(folder, 'gbk.sql')
    // 在职 as an editor in China may save it.
    const sql = ["select ygbh as userid, xm as name,\n  zt = '", "' as active from yuangong"]
    await writeFile(
      file,
      Buffer.concat([Buffer.from(sql[0] ?? ''), Buffer.from('d4dad6b0', 'hex'), Buffer.from(sql[1] ?? '')]),
    )
    const message = `dirsync: ${file}:2:9: the file is not in UTF-8; save it as UTF-8\n`
    const ways = [
      dirsync(['hr', 'check', '--mapping', file], { HR_DATABASE_URL: postgres.url }),
      dirsync(['hr', 'check'], { HR_DATABASE_URL: postgres.url, HR_EMPLOYEES_SQL: file }),
    ]
    for (const { code, stderr } of await Promise.all(ways)) {
      expect(code).toBe(2)
      expect(stderr).toContain(message)
    }
  })

  test('is told where its file is not there, and where HR is not', async () => {
    expect(
      await dirsync(['hr', 'check', '--mapping', 'no.sql'], { HR_DATABASE_URL: postgres.url }),
    ).toMatchObject({
      code: 2,
      stderr: 'dirsync: no.sql cannot be read (ENOENT)\n',
    })
    const missing = await dirsync(['hr', 'check'], { HR_DATABASE_URL: postgres.url })
    expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('HR_EMPLOYEES_SQL') })
    const away = await checked('select 1 as userid', { HR_DATABASE_URL: 'mysql://nobody@127.0.0.1:1/none' })
    expect(away).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('the HR database does not answer'),
    })
  })
})

test('Ctrl-C ends it in a sentence, and HR’s server with it', async () => {
  const file = join(folder, 'slow.sql')
  await writeFile(
    file,
    `select n as userid, case when n > 250000 then pg_sleep(60)::text end as name from generate_series(1, 300000) n`,
  )
  await using child = spawnDirsync(['hr', 'check', '--mapping', file], {
    env: { HR_DATABASE_URL: postgres.url },
  })
  await child.waitForLine(/reading +[12]\d\d,\d{3} rows/)
  const { code } = await child.kill('SIGINT')
  expect(code).toBe(1)
  expect(child.stderr).toContain('dirsync: stopped before all rows were read; nothing was written\n')
  const busy = () =>
    postgres.pool.query(`select from pg_stat_activity where application_name = 'dirsync hr check'`)
  await expect.poll(async () => (await busy()).rowCount, { timeout: 20_000 }).toBe(0)
})
