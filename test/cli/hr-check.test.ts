import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/output.ts'
import { createMariadbDatabase, type MariadbDatabase } from '../helpers/mariadb.ts'
import { isMysql } from '../helpers/mariadb-server.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { spawnDirsync } from '../helpers/process.ts'
import { has } from '../helpers/programs.ts'
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
  if (has('mariadb')) mariadb = await createMariadbDatabase()
  await postgres.pool.query(staff)
  await mariadb?.admin.query(staff)
  folder = await temporaryFolder()
})

afterAll(async () => {
  await postgres.close()
  await mariadb?.close()
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

describe('HR in PostgreSQL as one finds it', () => asOneFindsIt('PostgreSQL', () => postgres.url))
describe('HR in MariaDB as one finds it', { tags: 'mariadb' }, () =>
  asOneFindsIt(isMysql ? 'MySQL' : 'MariaDB', () => mariadb.url),
)

function asOneFindsIt(product: string, url: () => string): void {
  // biome-ignore lint/suspicious/noExplicitAny: the document is looked at from all sides
  let found: any
  let code: number | null

  beforeAll(async () => {
    const run = await dirsync(['hr', 'check', '--json'], settings(url()))
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

  test('breaks rules, reported with the rows but without their values', () => {
    const [mobile, ...others] = found.broken_rules
    expect(mobile).toEqual({
      field: 'mobile',
      rule: 'format',
      message: expect.stringContaining('mobile must have 6 to 20 digits'),
      rows: 2,
      samples: [
        { enterprise_code: '', userid: 'E0002', value: '**** (5)' },
        { enterprise_code: '', userid: 'E0004', value: '**** (1)' },
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

  test('has values shared by several employees, exactly or in another spelling', () => {
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
}

describe('for people', () => {
  test.each([
    ['en', /^HR in PostgreSQL/, 'Then: npx dirsync hr check', /E0015 \*{4} \(18\)/],
    ['zh-CN', /^人事数据：PostgreSQL/, '然后：npx dirsync hr check', /E0015 \*{4} \(18\)/],
  ])('it is printed in %s, in 80 columns, with what to do next', async (DIRSYNC_LANG, head, next, sample) => {
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
    expect(clean.stdout).toContain('No problems found.\nNext: npx dirsync plan --mapping ')
    expect(clean.stdout).toMatch(/write-only +cost_center_id: the platform never shows them/)
    expect(wideLines(clean.stdout.replaceAll(folder, ''))).toEqual([])
  })

  test('with no rows at all HR looks wrong', async () => {
    const empty = await checked('select ygbh as userid, xm as name from yuangong where 1 = 0')
    expect(empty.code).toBe(1)
    expect(empty.stdout).toContain('HR returns no rows at all')
  })

  test('an employee whom a join delivers twice shares nothing with another one', async () => {
    const { stdout } = await checked(
      `select ygbh as userid, sjh as mobile from yuangong, (values (1), (2)) twice where ygbh = 'E0001'`,
    )
    expect(stdout).toContain('1 key that HR delivers more than once')
    expect(stdout).not.toContain('mobile   ')
  })
})

describe('data that breaks no rule but is probably unintended', () => {
  const staff = (columns: string) =>
    `select 'u' || n as userid, 'n' || n as name, ${columns} from generate_series(1, 60) n`

  test('is that most have left, with the values that say so, unless a setting permits it', async () => {
    const sql = staff('case when n % 30 = 1 then 1 else 0 end as active')
    const found = await checked(sql)
    expect(found.code).toBe(1)
    expect(found.stdout).toMatch(
      /Probably wrong\n {2}active +58 of 60 have left \(0: 58, 1: 2\): check how the SELECT/,
    )
    expect(found.stdout).not.toContain('Nothing is wrong')
    expect(wideLines(found.stdout.replaceAll(folder, ''))).toEqual([])
    const permitted = { HR_DATABASE_URL: postgres.url, BREAKER_LEAVERS_PERCENT: '97' }
    expect(await checked(sql, permitted)).toMatchObject({ code: 0 })
  })

  test('is one value for all employees, or none', async () => {
    const sql = staff(`'D1' as dept_code, '' as email, 3 as gender, '86' as mobile_area, null as mobile,
      n || '00000' as remark, case when n > 50 then 'left ' || n else 'P1' end as level, n <= 50 as active`)
    const { code, stdout } = await checked(sql)
    expect(code).toBe(1)
    expect(stdout).toMatch(/dept_code +all 50 active employees have the same value \(D1: 50\)/)
    expect(stdout).toMatch(/gender +all 50 active employees have the same value \(3: 50\)/)
    expect(stdout).toMatch(/level +all 50 active employees have the same value \(P1: 50\)/)
    expect(stdout).toMatch(/email +empty for all 50 active employees/)
    expect(stdout).toMatch(/mobile +empty for all 50 active employees/)
    expect(stdout).not.toMatch(/(?:remark|mobile_area|name) +(?:all|empty for all) 50/)
    // Of a company of nine it tells nothing.
    expect(await checked(sql.replace('60', '9').replace("''", 'null'))).toMatchObject({ code: 0 })
  })

  test('is a user id that identifies a person, and it is masked', async () => {
    const numbers = `select sfzh as userid, xm as name, sjh as mobile from yuangong where ygbh between 'E0005' and 'E0014'`
    const found = await checked(numbers)
    expect(found.code).toBe(1)
    expect(found.stdout).toMatch(/userid +10 of 10 look like identity numbers/)
    expect(found.stdout).toContain('990****53 199****0005 = 990****62 199****0005')
    expect(found.stdout).not.toMatch(/\d{15}/)
    const file = join(folder, 'other.sql')
    const document = await dirsync(['hr', 'check', '--mapping', file, '--json'], {
      HR_DATABASE_URL: postgres.url,
    })
    expect(document.stdout).not.toMatch(/\d{15}/)
    expect(document.json()).toMatchObject({ doubts: [{ kind: 'identity_userid', rows: 10, of: 10 }] })
    const long = await checked(`${numbers.replace('xm as', 'repeat(xm, 2000) as')}`, {
      HR_DATABASE_URL: postgres.url,
      HR_ROW_LIMIT_KB: '1',
    })
    expect(long.stderr).toMatch(/the row of \d{3}\*{4}\d{2} is longer than 1 kB/)
    const phones = await checked(`select (19900000000 + n) as userid, 'n' || n as name, 'x' as email
      from generate_series(1, 3) n`)
    expect(phones.stdout).toMatch(/userid +3 of 3 look like mobile numbers, which change/)
    expect(phones.stdout).toMatch(/199\*{4}0001 \*{4} \(1\)/)
    const mails = await checked(`select n || '@example.com' as userid, 'n' || n as name
      from generate_series(1, 30) n`)
    expect(mails).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/userid +30 of 30 look like e-mail/),
    })
  })
})

describe('the times in HR', () => {
  const columns = 'id varchar(9) primary key, name varchar(9), changed'
  /** Employees by how long ago, by China's clock, they were changed. */
  const times: [string, string, () => Promise<[address: string, sql: string]>][] = [
    [
      'PostgreSQL',
      'postgres',
      async () => {
        await postgres.pool.query(`create table times (${columns} timestamptz);
          insert into times values ('a', 'A', now() - interval '7 minutes'), ('b', 'B', now() - interval '9 days'),
            ('c', 'C', '2099-01-01'), ('d', 'D', null), ('e', 'E', null)`)
        return [postgres.url, 'select id as userid, name, changed as updated_at from times']
      },
    ],
    [
      'MariaDB',
      'mariadb',
      async () => {
        const china = 'utc_timestamp() + interval 8 hour'
        await mariadb.admin.query(`set sql_mode = ''; create table times (${columns} datetime);
          insert into times values ('a', 'A', ${china} - interval 7 minute), ('b', 'B', ${china} - interval 9 day),
            ('c', 'C', '2099-01-01'), ('d', 'D', null), ('e', 'E', '0000-00-00')`)
        return [mariadb.url, 'select id as userid, name, changed as updated_at from times']
      },
    ],
    [
      'files',
      'files',
      async () => {
        const at = (ago: number) => new Date(Date.now() + 8 * 3_600_000 - ago).toISOString().slice(0, 19)
        const hr = await temporaryFolder()
        await writeFile(
          join(hr, 'times.csv'),
          `id,name,changed\na,A,${at(7 * 60_000)}\nb,B,${at(9 * 86_400_000)}\nc,C,2099-01-01\nd,D,\ne,E,\n`,
        )
        return [`files:${hr}`, 'select id as userid, name, changed::timestamp as updated_at from times']
      },
    ],
  ]

  test.each(times.filter(([, kind]) => kind !== 'mariadb'))(
    'in %s are held against the clock',
    (...[, , made]) => heldAgainstTheClock(made),
  )
  test.each(times.filter(([, kind]) => kind === 'mariadb'))(
    'in %s are held against the clock',
    { tags: 'mariadb' },
    (...[, , made]) => heldAgainstTheClock(made),
  )

  async function heldAgainstTheClock(made: (typeof times)[number][2]): Promise<void> {
    const [url, sql] = await made()
    const env = { HR_DATABASE_URL: url, HR_FILES_COMPLETE: '0s', HR_FILES_KEEP: await temporaryFolder() }
    const { code, stdout } = await checked(sql, env)
    expect(stdout.replace(/\s+/g, ' ')).toMatch(
      /Probably wrong updated_at rows with an updated_at in the future: 1; every run reads them Correct these times in HR/,
    )
    expect(stdout.replace(/\s+/g, ' ')).toMatch(
      /Hints .* updated_at the newest updated_at is [78] min ago updated_at rows without updated_at: 2; every run reads them/,
    )
    expect(code).toBe(1)
    const document = (
      await dirsync(['hr', 'check', '--mapping', join(folder, 'other.sql'), '--json'], env)
    ).json()
    expect(document.updated_at).toMatchObject({ in_future: 1, missing: 2 })
    expect(Date.now() - new Date(document.updated_at.newest).getTime()).toBeLessThan(600_000)
  }
})

test.each([
  [
    "select 'E1' as userid, 'Ann' as name",
    "select 'D1' as dept_code, null as parent_code, true as active",
    /column dept_code is missing; \S*broken-departments.sql needs it/,
  ],
  [
    "select 'E1' as userid, 'Ann' as name, 'D1' as dept_code",
    "select 'D1' as dept_code from nowhere",
    /broken-departments.sql:1:31: relation "nowhere" does not exist/,
  ],
])(
  'a mapping of departments that cannot be used is a finding: %s; %s',
  async (employees, departments, reason) => {
    const file = join(folder, 'broken-departments.sql')
    await writeFile(file, departments)
    const env = { HR_DATABASE_URL: postgres.url, HR_DEPARTMENTS_SQL: file }
    const { stdout, code } = await checked(employees, env)
    expect(code).toBe(1)
    expect(stdout).toContain('1 active')
    expect(stdout.replace(/\s+/g, ' ')).toMatch(reason)
    const mapping = join(folder, 'other.sql')
    const document = (await dirsync(['hr', 'check', '--mapping', mapping, '--json'], env)).json()
    expect(document).toMatchObject({
      ok: false,
      rows: 1,
      departments: null,
      departments_error: expect.stringMatching(reason),
    })
  },
)

test('a department of a group that HR has under another enterprise is not called missing', async () => {
  const file = join(folder, 'group-departments.sql')
  await writeFile(file, "select unnest(array['D1', 'D2']) as dept_code, null as parent_code, true as active")
  const employees = `select 'E' || n as userid, 'Ann' as name, 'E100' as enterprise_code, 'D' || n as dept_code
    from generate_series(1, 3) n`
  const env = { HR_DATABASE_URL: postgres.url, HR_DEPARTMENTS_SQL: file }
  const { stdout } = await checked(employees, env)
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    '1 department of employees that HR’s departments lack, with 1 employee E100/D3 ' +
      '2 departments of employees that HR has under another enterprise, with 2 employees: map enterprise_code in the SELECT of the departments too E100/D1; E100/D2',
  )
  const chinese = await checked(employees, { ...env, DIRSYNC_LANG: 'zh-CN' })
  expect(chinese.stdout).toContain('另一个企业')
})

test.each([
  [
    "'E100' as enterprise_code, ",
    '1 department of employees that HR’s departments lack, with 1 employee E100/D2',
  ],
  ['', 'map enterprise_code in the SELECT of the employees too'],
])('a code that recurs under another enterprise is missing where employees have %j', async (column, what) => {
  const file = join(folder, 'group-of-two.sql')
  await writeFile(
    file,
    `select code as dept_code, null as parent_code, true as active, company as enterprise_code
     from (values ('D1', 'E100'), ('D2', 'E200')) as d (code, company)`,
  )
  const employees = `select 'E2' as userid, 'Ann' as name, ${column}'D2' as dept_code`
  const { stdout } = await checked(employees, { HR_DATABASE_URL: postgres.url, HR_DEPARTMENTS_SQL: file })
  expect(stdout.replace(/\s+/g, ' ')).toContain(what)
})

test('a value that a cast rejects is reported with its column and its employee, but not shown', async () => {
  const failed = await checked(
    `select ygbh as userid, xm as name, replace(sjh, '无', 'secret-7')::bigint as mobile, 'x' as remark
     from yuangong where ygbh in ('E0001', 'E0003', 'E0004', 'E0005')`,
  )
  expect(failed.code).toBe(1)
  expect(failed.stderr).toMatch(
    /the query failed on a value in HR \(SQLSTATE 22P02\).*\. It is column mobile of employee E0004\.\n$/,
  )
  expect(failed.stderr).not.toContain('secret-7')
  // In a condition it has no column.
  const condition = await checked(`select ygbh as userid, xm as name from yuangong where sjh::bigint > 1`)
  expect(condition.stderr).toMatch(/\(SQLSTATE 22P02\)/)
  expect(condition.stderr).not.toContain('It is column')
})

test('many distinct values are estimated, and marked as estimates', async () => {
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

test('rows of enterprises outside the source are reported', async () => {
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
  expect(stray.stdout).toMatch(/1 row +of enterprises that do not belong to the source \(E2\): they are not/)
  const own = await dirsync(['hr', 'check', '--source', 'other', '--json'], env)
  expect(own.json()).toMatchObject({ ok: true, stray: { rows: 0, enterprise_codes: [] } })
})

test.each([
  ['gbk', 'cdf5ceb0'],
  ['utf8mb4', 'e78e8be4bc9f'],
])(
  'Chinese in a column of latin1 is told, and read by the expression for %s',
  {
    tags: 'mariadb',
  },
  async (charset, bytes) => {
    await mariadb.admin.query('drop table if exists latin')
    await mariadb.admin.query('create table latin (id int, name varchar(40) character set latin1)')
    for (const id of [1, 2])
      await mariadb.admin.query(`insert into latin values (?, convert(x'${bytes}' using latin1))`, [id])
    const env = { HR_DATABASE_URL: mariadb.url }
    const found = await checked('select id as userid, name from latin', env)
    expect(found.code).toBe(1)
    const [, given = ''] =
      /write `(convert\(.*\))` in the SELECT/.exec(found.stdout.replace(/\s+/g, ' ')) ?? []
    expect(given).toContain('using gbk)')
    const name = given.replace('gbk', charset)
    const mended = await checked(
      `select id as userid, ${name} as name from latin where ${name} = '王伟'`,
      env,
    )
    expect(mended.stdout).toMatch(/rows +2; 2 active/)
    expect(mended.stdout).not.toContain('latin1')
  },
)

describe('a mapping that is wrong', () => {
  test('is told with its place, exit 2', async () => {
    const wrong = await checked('select ygbh as userid,\n  nme as name\nfrom yuangong')
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toBe(
      `dirsync: ${join(folder, 'other.sql')}:2:3: column "nme" does not exist (42703)\n` +
        '    2 |   nme as name\n' +
        '          ^\n',
    )
  })

  test('is told with its place in MariaDB', { tags: 'mariadb' }, async () => {
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

  test('is reported if its file is missing, and if HR is away', async () => {
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
  await postgres.pool.query('create view slow as select pg_sleep(60)::text as slept')
  await writeFile(
    file,
    `select n as userid, case when n > 250000 then (select slept from slow) end as name from generate_series(1, 300000) n`,
  )
  await using child = spawnDirsync(['hr', 'check', '--mapping', file], {
    env: { HR_DATABASE_URL: postgres.url },
  })
  await child.waitForLine(/reading +[12]\d\d,\d{3} rows/)
  const { code } = await child.kill('SIGINT')
  expect(code).toBe(1)
  expect(child.stderr).toContain('dirsync: stopped before all rows were read; nothing was written\n')
  const busy = () =>
    postgres.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'dirsync hr check'`,
    )
  await expect.poll(async () => (await busy()).rowCount).toBe(0)
})

test('a stop is told to programs in English, and to people in Chinese', async () => {
  const file = join(folder, 'asleep.sql')
  await postgres.pool.query('create view asleep as select pg_sleep(60)::text as slept')
  await writeFile(
    file,
    `select n as userid, case when n > 5 then (select slept from asleep) end as name from generate_series(1, 9) n`,
  )
  await using child = spawnDirsync(['hr', 'check', '--mapping', file, '--json'], {
    env: { HR_DATABASE_URL: postgres.url, DIRSYNC_LANG: 'zh-CN' },
  })
  const asleep = () =>
    postgres.pool.query(
      `select from pg_stat_activity where datname = current_database() and application_name = 'dirsync hr check'
       and wait_event = 'PgSleep'`,
    )
  await expect.poll(async () => (await asleep()).rowCount).toBe(1)
  expect((await child.kill('SIGINT')).code).toBe(1)
  const message = 'stopped before all rows were read; nothing was written'
  expect(JSON.parse(child.stdout)).toEqual({ error: { code: 'failed', message } })
  expect(child.stderr).toMatch(/^dirsync: 在读完所有行之前已停止/m)
})

describe('HR in files, while the folder does not hold a complete delivery', () => {
  let env: Record<string, string>

  beforeAll(async () => {
    const hr = await temporaryFolder()
    const mapping = join(await temporaryFolder(), 'employees.sql')
    await writeFile(mapping, 'select id as userid, name from staff')
    await writeFile(join(hr, 'staff.csv'), 'id,name\ne1,Ann\ne2,Ben\n')
    const keep = await temporaryFolder()
    env = {
      HR_DATABASE_URL: `files:${hr}`,
      HR_EMPLOYEES_SQL: mapping,
      HR_FILES_COMPLETE: '0s',
      HR_FILES_KEEP: keep,
    }
    expect(await dirsync(['hr', 'check'], env)).toMatchObject({ code: 0, stderr: '' })
    await writeFile(join(hr, 'staff.csv'), 'id,name\ne1')
  })

  test('hr check names the last one, says why the folder is refused, and fails', async () => {
    const { code, stdout } = await dirsync(['hr', 'check'], env)
    expect(code).toBe(1)
    expect(stdout.replace(/\s+/g, ' ')).toMatch(
      /delivery staff\.csv \(2 rows, UTF-8\), written \d{4}-\d\d-\d\d .*This is the last complete delivery\. The files in the folder now are refused, so no run reads them: the file staff\.csv ends in the middle of its last line/,
    )
    expect(stdout).not.toContain('Nothing is wrong')
    const document = (await dirsync(['hr', 'check', '--json'], env)).json()
    expect(document).toMatchObject({ ok: false, delivery: { problem: expect.stringContaining('staff.csv') } })
  })

  test('hr check tells of it in Chinese', async () => {
    const { stdout } = await dirsync(['hr', 'check'], { ...env, DIRSYNC_LANG: 'zh-CN' })
    expect(stdout).toMatch(/^ *交付 +staff\.csv（2 行，UTF-8），写入于 /m)
  })

  test('hr init does so too, once it has written its SELECT', async () => {
    const output = join(await temporaryFolder(), 'new.sql')
    const { code, stdout } = await dirsync(
      ['hr', 'init', '--table', 'staff', '--yes', '--output', output],
      env,
    )
    expect(await readFile(output, 'utf8')).toContain('staff')
    expect(stdout).toContain('This is the last complete delivery.')
    expect(code).toBe(1)
  })
})

test('of HR in files without rows, the advice is about files, not about rights', async () => {
  const hr = await temporaryFolder()
  const mapping = join(hr, 'employees.sql')
  await writeFile(mapping, 'select id as userid, name from staff')
  await writeFile(join(hr, 'staff.csv'), 'id,name\n')
  const { code, stdout } = await dirsync(['hr', 'check'], {
    HR_DATABASE_URL: `files:${hr}`,
    HR_EMPLOYEES_SQL: mapping,
    HR_FILES_COMPLETE: '0s',
    HR_FILES_KEEP: await temporaryFolder(),
  })
  expect(code).toBe(1)
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    'HR returns no rows at all: check the SELECT, and whether the files that HR delivers have any.',
  )
  expect(stdout).not.toMatch(/Row-level security|HR user/)
})
