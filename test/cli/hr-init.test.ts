import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { widthOf } from '../../src/cli/output.ts'
import { identityCheckCharacter } from '../../src/directory/field-rules.ts'
import { createMariadbDatabase, type MariadbDatabase } from '../helpers/mariadb.ts'
import { isMysql } from '../helpers/mariadb-server.ts'
import { createTestDatabase, type TestDatabase } from '../helpers/postgres.ts'
import { has } from '../helpers/programs.ts'
import { temporaryFolder } from '../helpers/temporary-folder.ts'
import { dirsync, wideLines } from './dirsync.ts'
import { atTerminal } from './terminal.ts'

const STAFF = join(import.meta.dirname, '../../examples/workbench/staff.sql')
let postgres: TestDatabase
let mariadb: MariadbDatabase
let folder: string

beforeAll(async () => {
  const staff = await readFile(STAFF, 'utf8')
  postgres = await createTestDatabase()
  if (has('mariadb')) mariadb = await createMariadbDatabase()
  await postgres.pool.query(`${staff};
    create table "Order ""Staff""" (
      "select" int, "Full Name" text, phone text, left_on date, photo bytea, "isActive" boolean);
    insert into "Order ""Staff""" values (1, 'Ann', '19900000001', null, 'x', true), (2, 'Ben', null, '2020-01-31', 'x', false)`)
  await mariadb?.admin.query(staff)
})

beforeEach(async () => {
  folder = await temporaryFolder()
})

afterAll(async () => {
  await postgres.close()
  await mariadb?.close()
})

/** `dirsync hr …` in a folder of the test, with the answers that a person would type. */
async function hr(url: string, args: string[], answers = '', env: Record<string, string> = {}) {
  process.chdir(folder)
  return await dirsync(['hr', ...args], { HR_DATABASE_URL: url, ...env }, answers)
}

const written = (file = 'employees.sql') => readFile(join(folder, file), 'utf8')

describe('a first SELECT', () => {
  test('is written with Enter alone, and hr check can read it', async () => {
    const { code, stdout, stderr } = await hr(postgres.url, ['init', '--table', 'yuangong'], '\n'.repeat(14))
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await written()).toBe(`select
  "ygbh" as userid,
  case when "zt" in ('在职') then 1 else 0 end as active,
  "gh" as corp_code,
  "xm" as name,
  case "xb" when '女' then 2 when '男' then 1 end as gender,
  "sfzh" as card_no,
  "dzyx" as email,
  "sjh" as mobile,
  "bmbm" as dept_code,
  "zj" as level,
  "rzrq" as entry_day,
  "bz" as remark
from yuangong
`)
    expect(stdout).toContain(`Set: HR_EMPLOYEES_SQL=${join(folder, 'employees.sql')}\n`)
    expect(stdout).toMatch(/Then: npx dirsync hr check\nThen: npx dirsync plan\n$/)
    expect(wideLines(stdout.replaceAll(folder, ''))).toEqual([])
    const check = await hr(postgres.url, ['check', '--mapping', 'employees.sql', '--json'])
    expect(JSON.parse(check.stdout)).toMatchObject({ rows: 48, active: 44 })
  })

  test('takes all guesses with --yes, in MariaDB as well, departments included', {
    tags: 'mariadb',
  }, async () => {
    expect(await hr(mariadb.url, ['init', '--yes'])).toMatchObject({ code: 0, stderr: '' })
    expect(await written()).toContain('  `sjh` as mobile,\n')
    const departments = await hr(mariadb.url, ['init', '--departments', '--yes', '--output', 'd.sql'])
    expect(departments.stdout).toContain('Set: HR_DEPARTMENTS_SQL=')
    expect(await written('d.sql')).toBe(
      "select\n  `bmbm` as dept_code,\n  case when `zt` in ('关闭') then 0 else 1 end as active,\n  `sjbm` as parent_code\nfrom `bumen`\n",
    )
  })

  test('is named as a shell takes it, in a folder with a blank too', async () => {
    const file = join(folder, 'with blank', 'staff.sql')
    await mkdir(join(folder, 'with blank'))
    const begun = await hr(postgres.url, ['init', '--table', 'yuangong', '--yes', '--output', file])
    expect(begun.stdout).toContain(`Set: HR_EMPLOYEES_SQL='${file}'\n`)
  })

  test('is what was answered: other meanings, columns left out, the rest as guessed', async () => {
    const answers = ['yuangong', '2', '-', 'nonsense', 'remark', '.', 'ygbh', '2']
    const { code, stdout } = await hr(postgres.url, ['init'], answers.map(line => `${line}\n`).join(''))
    expect(code).toBe(0)
    expect(stdout).toMatch(/\n {2}2 {2}yuangong +/)
    expect(stdout).toContain('xb [gender]: nonsense\n  nonsense is not a valid answer')
    expect(stdout).toContain('Which column is userid? Its name: ygbh')
    const select = await written()
    expect(select).toMatch(/^select\n {2}"ygbh" as userid,\n {2}"sfzh" as card_no,\n/)
    expect(select).toContain('"xb" as remark')
    expect(select).not.toMatch(/"xm"|"gh" as corp_code,\n {2}"ygbh"|as active/)
  })

  test('quotes names, and takes a flag or the day of leaving as it is', async () => {
    const table = ['init', '--table', 'Order "Staff"', '--force']
    expect(await hr(postgres.url, [...table, '--yes'])).toMatchObject({
      code: 1,
      stderr: 'dirsync: One column has to be userid. There is nothing to guess: answer it, without --yes.\n',
    })
    const flag = await hr(postgres.url, table, 'userid\n\n\n-\n\n-\n\n\n')
    expect(flag).toMatchObject({ code: 0, stderr: '' })
    expect(await written()).toBe(`select
  "select" as userid,
  "isActive" as active,
  "Full Name" as name,
  "phone" as mobile
from "Order ""Staff"""
`)
    await hr(postgres.url, table, '1\n\n\n\n\n\n2\n')
    expect(await written()).toContain(
      `case when "left_on" is null or "left_on" >= current_date or "left_on" < '1901-01-01' then 1 else 0 end as active`,
    )
  })

  test('is asked for in Chinese, in 80 columns', async () => {
    const chinese = { DIRSYNC_LANG: 'zh-CN' }
    const { code, stdout } = await hr(postgres.url, ['init', '--table', 'yuangong'], '\n'.repeat(14), chinese)
    expect(code).toBe(0)
    expect(stdout).toContain('ygbh [userid]: ')
    expect(stdout).toMatch(/sjh +varchar +99999999999 +手机号 \(mobile\)/)
    expect(stdout).toContain('人事系统如何标明离职员工？')
    const lines = stdout.replaceAll(folder, '').split('\n')
    expect(lines.filter(line => widthOf(line) > 80)).toEqual([])
  })

  test('shows no values of HR, except those of a status column', async () => {
    const { stdout } = await hr(postgres.url, ['init', '--yes', '--table', 'yuangong'])
    expect(stdout).toMatch(/ sjh +varchar +99999999999 +mobile\n/)
    expect(stdout).not.toMatch(/19900000|员工\d|@example|99001/)
    const asked = await hr(postgres.url, ['init', '--table', 'Order "Staff"', '--force'], '1\n.\nFull Name\n')
    expect(asked.stdout).toContain('Full Name cannot tell:')
    expect(asked.stdout).not.toMatch(/Ann|Ben/)
  })
})

describe('of an odd table', () => {
  const active = async (url: string, mapping = 'employees.sql') => {
    const { stdout } = await hr(url, ['check', '--mapping', mapping, '--json'])
    const { rows, active } = JSON.parse(stdout)
    return `${active} of ${rows}`
  }

  test('a placeholder date does not count as a day of leaving', { tags: 'mariadb' }, async () => {
    const days = "('0000-00-00'), ('1900-01-01'), (null), ('2999-12-31'), ('2020-01-01')"
    await mariadb.admin.query(`set sql_mode = '';
      create table days (id int auto_increment primary key, name char(1) default 'n', lzrq date, telephone int);
      insert into days (lzrq) values ${days}`)
    expect(await hr(mariadb.url, ['init', '--yes', '--table', 'days'])).toMatchObject({ code: 0 })
    expect(await active(mariadb.url)).toBe('4 of 5')
    await postgres.pool.query(`create table days as select n as id, 'n' as name, (n - 1) * 20200101 as lzrq
      from generate_series(1, 2) n`)
    expect(await hr(postgres.url, ['init', '--yes', '--force', '--table', 'days'])).toMatchObject({ code: 0 })
    expect(await active(postgres.url)).toBe('1 of 2')
  })

  test('a column that cannot be a status is left out, and reported', async () => {
    await postgres.pool.query(`create table odd as select n as id, 'n' as name, '{}'::json as status
      from generate_series(1, 4) n`)
    const { code, stdout } = await hr(postgres.url, ['init', '--yes', '--table', 'odd'])
    expect(code).toBe(0)
    expect(stdout).toContain('By its name, status may tell who has left, and is not used')
  })

  test('only the columns that the user may read are read', { tags: 'mariadb' }, async () => {
    const grants = (
      role: string,
    ) => `create table own_rights (salary int, userid int, name text, mobile text);
      insert into own_rights values (1, 1, 'n', '19900000001');
      grant select (userid, name, mobile) on own_rights to ${role}`
    const role = `${postgres.name}_reader`
    const user = `${mariadb.name}_reader`
    await postgres.pool.query(`create role ${role} login password 'reader'; ${grants(role)}`)
    await mariadb.admin.query(`create user ${user} identified by 'reader'; ${grants(user)}`)
    try {
      for (const [database, name] of [
        [postgres, role],
        [mariadb, user],
      ] as const) {
        const url = Object.assign(new URL(database.url), { username: name, password: 'reader' }).href
        expect(await hr(url, ['init', '--yes', '--force', '--table', 'own_rights'])).toMatchObject({
          code: 0,
          stderr: '',
        })
        expect(await active(url)).toBe('1 of 1')
      }
    } finally {
      await postgres.pool.query(`drop table own_rights; drop role ${role}`)
      await mariadb.admin.query(`drop user ${user}`)
    }
  })

  test('a table that keeps its versions is one, and a view that is broken is told without a line', {
    tags: 'mariadb',
  }, async ({ skip }) => {
    skip(isMysql)
    await mariadb.admin.query(`create table kept (id int, name char(1)) with system versioning;
      create table base (id int); create view broken as select id from base; drop table base`)
    expect(await hr(mariadb.url, ['init', '--yes', '--table', 'kept'])).toMatchObject({
      code: 0,
      stderr: '',
    })
    const { code, stderr } = await hr(mariadb.url, ['init', '--yes', '--force', '--table', 'broken'])
    expect(code).toBe(2)
    expect(stderr).toMatch(/^dirsync: broken.*View .* references invalid table.*\n$/)
  })

  test('names and states steer no terminal, and are written as they are', async () => {
    await postgres.pool.query(`create table U&"odd\\001b[2Jnames" (id int, name text, U&"a\\000afrom me" text, zt text);
      insert into U&"odd\\001b[2Jnames" select n, 'n', 'x', case n % 2 when 0 then U&'\\5728\\001b[31m' else 'no' end
      from generate_series(1, 8) n`)
    const { code, stdout } = await hr(
      postgres.url,
      ['init', '--table', 'odd\x1b[2Jnames'],
      '\n\nremark\n\n\nno\n',
    )
    expect(code).toBe(0)
    expect(stdout).not.toContain('\x1b')
    expect(await written()).toContain('"a\nfrom me" as remark')
    expect(await active(postgres.url)).toBe('4 of 8')
  })
})

describe('of HR as others lay it out', () => {
  const NUMBERS = Array.from({ length: 60 }, (_, i) => {
    const digits = `990015${1960 + (i % 40)}0510${String(i).padStart(3, '0')}`
    return digits + identityCheckCharacter(digits)
  })
  /** Files count as complete as soon as they are there. */
  const AT_ONCE = { HR_FILES_COMPLETE: '0s' }
  const init = (url: string, table: string, answers: string | null) =>
    hr(
      url,
      ['init', '--force', '--table', table, ...(answers === null ? ['--yes'] : [])],
      answers ?? '',
      AT_ONCE,
    )
  const checked = async (url: string) => {
    const { stdout } = await hr(url, ['check', '--mapping', 'employees.sql', '--json'], '', AT_ONCE)
    return JSON.parse(stdout)
  }

  beforeAll(async () => {
    const employees = NUMBERS.map((number, i) => {
      const leaver = i >= 54
      const day = leaver ? '2024-03-31' : i % 2 ? '9999-12-31' : '0000-00-00'
      const kingdee = [
        i + 1,
        `K${1000 + i}`,
        `员工${i}`,
        Number(i % 3 > 0),
        number,
        `199000001${i + 10}`,
        700 + (i % 4),
      ]
      const status = leaver ? 8 : [1, 2, 3][i % 3]
      const yonyou = [
        `0001A1${'0'.repeat(10)}${1000 + i}`,
        `Y${1000 + i}`,
        `员工${i}`,
        number,
        1 + (i % 2),
        leaver ? 3 : 2,
      ]
      return { kingdee: [...kingdee, day, status], yonyou }
    })
    if (has('mariadb')) {
      await mariadb.admin.query(`set sql_mode = '';
        create table t_hr_empinfo (FID int, FNUMBER varchar(20), FNAME varchar(50), FSEX int, FIDCARDNO varchar(30),
          FCELL varchar(20), FADMINORGUNITID int, FLEAVEDATE date, FSTATUS int) character set gbk;
        create table bd_psndoc (pk_psndoc char(20), code varchar(40), name varchar(50), id varchar(30), sex int,
          enablestate int) character set gbk`)
      for (const { kingdee, yonyou } of employees) {
        await mariadb.admin.query('insert into t_hr_empinfo values (?)', [kingdee])
        await mariadb.admin.query('insert into bd_psndoc values (?)', [yonyou])
      }
    }
    await postgres.pool.query(`create table beisen as select 'B' || n as "工号", '员工' || n as "姓名",
        case when n > 300 then '女' else '男' end as "性别", '199' || 10000000 + n as "手机号码",
        case n % 2 when 0 then '财务部' else '研发中心' end as "部门", 'D' || n % 2 as "机构编码",
        (array['正式', '试用', '离职', '正式'])[1 + n % 4] as "人员状态",
        (array['9999.12.31', '', '2024.03.31', null])[1 + n % 4] as "最后工作日", now() as "最后修改时间"
      from generate_series(1, 400) n`)
    await postgres.pool.query(`create table leaving as select 'B' || n as userid, 'Person ' || n as name,
        (array[0, 20240331, 99991231, to_char(current_date + 30, 'YYYYMMDD')::int])[1 + n % 4] as left_on
      from generate_series(1, 400) n`)
  })

  test('a day of leaving that is a number and still to come', async () => {
    const { code, stderr } = await init(postgres.url, 'leaving', null)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await checked(postgres.url)).toMatchObject({ rows: 400, active: 300 })
  })

  test.each([
    'YYYY/FMMM/FMDD',
    'YYYY/FMMM/FMDD 0:00:00',
    'FMDD.FMMM.YYYY',
    'FMDD/FMMM/YYYY',
    'FMMM/FMDD/YYYY',
  ])('a day of leaving that is a text such as %s', async format => {
    await postgres.pool.query(`drop table if exists leaving_text; create table leaving_text as
        select 'B' || n as userid, 'Person ' || n as name,
          case n % 4 when 0 then '' else
            to_char((array[date '2024-03-31', '9999-12-31', current_date + 30])[n % 4], '${format}') end as left_on
        from generate_series(1, 400) n`)
    const { code, stderr } = await init(postgres.url, 'leaving_text', null)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(await checked(postgres.url)).toMatchObject({ rows: 400, active: 300 })
  })

  test('a day of leaving that is a text such as 2026/1/5 in MySQL and in files', {
    tags: 'mariadb',
  }, async () => {
    const day = (from: Date) => `${from.getFullYear()}/${from.getMonth() + 1}/${from.getDate()}`
    const days = ['', '2024/3/31', '9999/12/31', day(new Date(Date.now() + 30 * 86_400_000))]
    const rows = Array.from({ length: 40 }, (_, n) => [`B${n}`, `Person ${n}`, days[n % 4]])
    await mariadb.admin.query(
      'create table leaving (userid varchar(9), name varchar(20), left_on varchar(20))',
    )
    for (const row of rows) await mariadb.admin.query('insert into leaving values (?)', [row])
    const files = join(folder, 'leaving')
    await mkdir(files)
    await writeFile(join(files, 'leaving.csv'), ['userid,name,left_on', ...rows, ''].join('\n'))
    for (const url of [mariadb.url, `files:${files}`]) {
      const { code, stderr } = await init(url, 'leaving', null)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(await checked(url)).toMatchObject({ rows: 40, active: 30 })
    }
  })

  test('Kingdee: codes of states and 0/1 for men and women are not guessed, a day that stands for none is', {
    tags: 'mariadb',
  }, async () => {
    const { code, stdout, stderr } = await init(mariadb.url, 't_hr_empinfo', null)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('FSEX is left out: its values may mean either gender (1 (40), 0 (20)).')
    expect(stdout).toContain('by the values of FSTATUS: 1 (18), 2 (18), 3 (18), 8 (6)')
    expect(await written()).toMatch(/^select\n {2}`FNUMBER` as userid,\n {2}case when `FLEAVEDATE` is null/)
    expect(await checked(mariadb.url)).toMatchObject({ rows: 60, active: 54 })
  })

  test('Kingdee: a value that is typed is that value, not its place in the list', {
    tags: 'mariadb',
  }, async () => {
    const answers = ['.', '0', '1', '1', '5', '3, 2,1']
    const { code, stdout } = await init(mariadb.url, 't_hr_empinfo', `${answers.join('\n')}\n`)
    expect(code).toBe(0)
    expect(stdout).toMatch(/VALUE +ROWS\n +1 +40\n +0 +20\n/)
    expect(stdout).toContain('Type some of these values, separated by commas: 1, 2, 3, 8')
    expect(stdout).toContain('54 of 60 rows are active employees by it.')
    const select = await written()
    expect(select).toContain("case `FSEX` when '0' then 1 when '1' then 2 end as gender")
    expect(select).toContain("case when `FSTATUS` in ('3', '2', '1') then 1 else 0 end as active")
    expect(await checked(mariadb.url)).toMatchObject({ active: 54 })
  })

  test('Yonyou: identity numbers in a column called id are no user ids, and told where they are made some', {
    tags: 'mariadb',
  }, async () => {
    const { code, stdout } = await init(mariadb.url, 'bd_psndoc', null)
    expect(code).toBe(0)
    expect(await written()).toBe(`select
  \`code\` as userid,
  \`name\` as name,
  \`sex\` as gender,
  \`id\` as card_no
from \`bd_psndoc\`
`)
    expect(stdout).toContain('By its name, enablestate may tell who has left, and is not used')
    const answers = ['-', '-', '-', 'userid', '-', '-', '2']
    const personal = await init(mariadb.url, 'bd_psndoc', `${answers.join('\n')}\n`)
    expect(personal.stdout).toContain('id looks like identity numbers, mobile numbers or e-mail addresses.')
    expect(wideLines(personal.stdout.replaceAll(folder, ''))).toEqual([])
  })

  test('Beisen: men and women and states are those of all rows, and names of departments are no codes', async () => {
    expect(await init(postgres.url, 'beisen', null)).toMatchObject({ code: 0, stderr: '' })
    expect(await written()).toBe(`select
  "工号" as userid,
  case when "人员状态" in ('正式', '试用') then 1 else 0 end as active,
  "姓名" as name,
  case "性别" when '女' then 2 when '男' then 1 end as gender,
  "手机号码" as mobile,
  "机构编码" as dept_code,
  "最后修改时间" as updated_at
from beisen
`)
    expect(await checked(postgres.url)).toMatchObject({ active: 300, broken_rules: [] })
  })

  test.each([
    ['of digits with points', `"最后工作日"`, 300],
    ['without a separator', `replace("最后工作日", '.', '')`, 300],
    ['of one digit or two', `replace("最后工作日", '.03.', '/3/')`, 300],
    ['as a number', `nullif(replace("最后工作日", '.', ''), '')::int`, 300],
    ['in the future', `replace("最后工作日", '2024', '2998')`, 400],
  ])('a day of leaving in a text %s shows who is in service', async (_, expression, active) => {
    await postgres.pool.query(`create or replace view days_in_text as
      select "工号", "姓名", (${expression})::text as "LastWorkDate" from beisen`)
    if (expression.endsWith('int'))
      await postgres.pool.query(`drop view days_in_text; create view days_in_text as
        select "工号", "姓名", ${expression} as "LastWorkDate" from beisen`)
    expect(await init(postgres.url, 'days_in_text', null)).toMatchObject({ code: 0, stderr: '' })
    expect(await checked(postgres.url)).toMatchObject({ rows: 400, active })
    await postgres.pool.query('drop view days_in_text')
  })

  test('a day of leaving in a delivered file shows who is in service', async () => {
    const days = ['', '9999.12.31', '2024.03.31', '']
    const lines = Array.from({ length: 40 }, (_, i) => `${i},员工${i},${days[i % 4]}`)
    const delivery = await temporaryFolder()
    await writeFile(join(delivery, 'staff.csv'), `工号,姓名,离职日期\n${lines.join('\n')}\n`)
    const env = { HR_FILES_COMPLETE: '0s' }
    const url = `files:${delivery}`
    expect(await hr(url, ['init', '--yes'], '', env)).toMatchObject({ code: 0, stderr: '' })
    const { stdout } = await hr(url, ['check', '--mapping', 'employees.sql', '--json'], '', env)
    expect(JSON.parse(stdout)).toMatchObject({ rows: 40, active: 30 })
  })

  test.each([
    ['that is still being written', '工号,姓名\n1,甲\n', '60s', 'the file staff.csv was still being written'],
    [
      'with a column name twice',
      '工号,工号\n1,甲\n',
      '0s',
      'staff.csv has the same name for columns 1 and 2',
    ],
  ])('a file %s is said to be, as hr check does', async (_, text, complete, what) => {
    const delivery = await temporaryFolder()
    await writeFile(join(delivery, 'staff.csv'), text)
    const { code, stderr } = await hr(`files:${delivery}`, ['init', '--yes'], '', {
      HR_FILES_COMPLETE: complete,
    })
    expect(stderr).toContain(what)
    expect(code).toBe(1)
  })

  test('an empty status counts as in service unless a person says otherwise', {
    tags: 'mariadb',
  }, async () => {
    const rows = Array.from({ length: 100 }, (_, n) => {
      const state = ['在职', '在职', '离职', null, '', '在职', '在职', '在职', ' ', '离职'][n % 10]
      return [n, `Person ${n}`, state, state === '离职' ? 2 : state?.trim() ? 1 : null] as const
    })
    const create = 'create table empty_states (id int, name varchar(20), zt varchar(9), number_state int)'
    await postgres.pool.query(create)
    await mariadb.admin.query(`${create} character set utf8mb4`)
    for (const row of rows) {
      await postgres.pool.query('insert into empty_states values ($1, $2, $3, $4)', [...row])
      await mariadb.admin.query('insert into empty_states values (?)', [[...row]])
    }
    const files = join(folder, 'empty_states')
    await mkdir(files)
    const lines = rows.map(row => row.map(value => value ?? '').join(','))
    await writeFile(join(files, 'empty_states.csv'), ['id,name,zt,number_state', ...lines, ''].join('\n'))
    for (const url of [postgres.url, mariadb.url, `files:${files}`]) {
      const { code, stdout, stderr } = await init(url, 'empty_states', null)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain('by the values of zt: 在职 (50), (empty) (30), 离职 (20)')
      expect(stdout).toContain('30 rows are empty in zt and counted as in service.')
      expect((await written()).replaceAll('`', '"')).toContain(
        `case when "zt" is null or trim("zt") = '' or "zt" in ('在职') then 1 else 0 end as active`,
      )
      expect(await checked(url)).toMatchObject({ rows: 100, active: 80 })
    }
    const named = await init(postgres.url, 'empty_states', '.\n1\n在职\n')
    expect(named.stdout).toMatch(/VALUE +ROWS\n +在职 +50\n +\(empty\) +30\n +离职 +20\n/)
    expect(named.stdout).toContain('30 rows are empty in zt and counted as left.')
    expect(await checked(postgres.url)).toMatchObject({ active: 50 })
    await init(postgres.url, 'empty_states', '.\nnumber_state\n1,,\n(empty), 1\n')
    expect(await written()).toContain(
      `case when "number_state" is null or "number_state" in ('1') then 1 else 0 end as active`,
    )
    expect(await checked(postgres.url)).toMatchObject({ active: 80 })
  })

  test('rows that are only marked as deleted are left out where the marks are clear, and proposed for it otherwise', {
    tags: 'mariadb',
  }, async () => {
    const rows = Array.from({ length: 40 }, (_, n) => {
      const isDeleted = n % 4 === 0
      return [
        n,
        `Person ${n}`,
        isDeleted ? '2024-03-31' : null,
        isDeleted ? 2 : 0,
        isDeleted ? 7 : 8,
      ] as const
    })
    const create =
      'create table kept_rows (id int, name varchar(20), deleted_at date, del_flag int, sfsc int)'
    await postgres.pool.query(create)
    await mariadb.admin.query(create)
    for (const row of rows) {
      await postgres.pool.query('insert into kept_rows values ($1, $2, $3, $4, $5)', [...row])
      await mariadb.admin.query('insert into kept_rows values (?)', [[...row]])
    }
    const files = join(folder, 'kept_rows')
    await mkdir(files)
    const lines = rows.map(row => row.map(value => value ?? '').join(','))
    await writeFile(
      join(files, 'kept_rows.csv'),
      ['id,name,deleted_at,del_flag,sfsc', ...lines, ''].join('\n'),
    )
    for (const url of [postgres.url, mariadb.url, `files:${files}`]) {
      const { code, stdout, stderr } = await init(url, 'kept_rows', null)
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
      expect(stdout).toContain('Rows that HR marks as deleted in deleted_at are left out')
      expect(stdout).toContain('30 of 40 stay.')
      expect((await written()).replaceAll('`', '"')).toContain(
        '\n-- Rows that HR marks as deleted in deleted_at are left out.\nwhere "deleted_at" is null',
      )
      expect(await checked(url)).toMatchObject({ rows: 30 })
    }
    await postgres.pool.query('alter table kept_rows drop deleted_at')
    await init(postgres.url, 'kept_rows', null)
    expect(await written()).toContain('\nwhere "del_flag" is null or "del_flag" in (\'0\')\n')
    expect(await checked(postgres.url)).toMatchObject({ rows: 30 })
    await postgres.pool.query(
      `alter table kept_rows drop del_flag; alter table kept_rows rename sfsc to "is\ndeleted"`,
    )
    const unclear = await init(postgres.url, 'kept_rows', null)
    expect(unclear.stdout).toContain('By its name, is deleted may mark rows that HR has deleted.')
    expect(await written()).toMatch(/\n-- By its name, .*\n-- where "is\n-- deleted" is null\n$/)
    expect(await checked(postgres.url)).toMatchObject({ rows: 40 })
  })

  test('a rule by which most people have left is not accepted by --yes, and asked about without a default', async () => {
    await postgres.pool.query(`create table history as select n as id, 'n' || n as name,
      case when n > 55 then 'regular' else 'resigned' end as status from generate_series(1, 60) n`)
    const { code, stdout } = await init(postgres.url, 'history', null)
    expect(code).toBe(0)
    expect(stdout).toContain('By its name, status may tell who has left, and is not used')
    expect(await written()).not.toContain('as active')
    const asked = await init(postgres.url, 'history', '.\n\n1\n\nregular\n')
    expect(asked).toMatchObject({ code: 0, stdout: expect.stringContaining('A number, or a column: \n') })
    expect(asked.stdout).toContain('5 of 60 rows are active employees by it.')
  })

  test('yes in a column for who has left means left, whether it is proposed or typed', async () => {
    await postgres.pool.query(`
      create table flagged as select n as id, 'n' || n as name, n % 4 = 0 as is_left from generate_series(1, 40) n;
      create table flagged_zh as select id, name, case when is_left then '是' else '否' end as "是否离职" from flagged;
      create table flagged_odd as select id, name, is_left as gone from flagged`)
    for (const [table, column, values] of [
      ['flagged', 'is_left', 'f (30), t (10)'],
      ['flagged_zh', '是否离职', '否 (30), 是 (10)'],
    ] as const)
      for (const answers of [null, '.\n\n\n', `.\n${column}\n\n`]) {
        const { stdout } = await init(postgres.url, table, answers)
        expect(stdout).toContain(`by the values of ${column}: ${values}`)
        expect(await checked(postgres.url)).toMatchObject({ rows: 40, active: 30 })
      }
    // Where the name says nothing, there is no default by which most people have left.
    const { stdout } = await init(postgres.url, 'flagged_odd', '.\ngone\n\nf\n')
    expect(stdout).toContain('30 of 40 rows are active employees by it.')
  })

  test('yes in a column for what is closed means closed', async () => {
    await postgres.pool.query(`create table org_flags as select n as code, null::int as parent_id, n % 4 = 0 as is_closed
      from generate_series(1, 20) n`)
    for (const args of [['--yes'], []]) {
      const all = ['init', '--departments', '--force', '--table', 'org_flags', ...args]
      expect(await hr(postgres.url, all, '\n'.repeat(9))).toMatchObject({
        code: 0,
        stdout: expect.stringContaining('15 of 20 departments are open by it.'),
      })
      expect(await written('departments.sql')).toContain(
        `case when "is_closed" in ('t') then 0 else 1 end as active`,
      )
    }
  })
})

describe('it refuses', () => {
  test('to write over a file that is there, unless it is forced to', async () => {
    await writeFile(join(folder, 'employees.sql'), 'select 1')
    expect(await hr(postgres.url, ['init', '--yes'])).toMatchObject({
      code: 2,
      stderr: 'dirsync: employees.sql already exists: name another one with --output, or give --force\n',
    })
    expect(await written()).toBe('select 1')
    expect((await hr(postgres.url, ['init', '--yes', '--force', '--table', 'yuangong'])).code).toBe(0)
    expect(await written()).toContain('as userid')
  })

  test('a place where it cannot write, and shows the SELECT all the same', async () => {
    const { code, stdout, stderr } = await hr(postgres.url, [
      'init',
      '--yes',
      '--table',
      'bumen',
      '--departments',
      '--output',
      'no/d.sql',
    ])
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'dirsync: no/d.sql cannot be written (ENOENT): name another one with --output\n',
    })
    expect(stdout).toContain('"bmbm" as dept_code')
  })

  test('a table that is not there, and answers that end too early', async () => {
    expect(await hr(postgres.url, ['init', '--table', 'nobody'])).toMatchObject({
      code: 2,
      stderr: 'dirsync: There is no table nobody that the HR user may read.\n',
    })
    const early = await hr(postgres.url, ['init', '--table', 'yuangong'], '\n\n')
    expect(early).toMatchObject({ code: 1, stderr: expect.stringContaining('the input ended') })
    await expect(written()).rejects.toThrow('ENOENT')
  })

  test('a SELECT that HR or dirsync would refuse is written, with a warning', async () => {
    const wrong = await hr(
      postgres.url,
      ['init', '--table', 'yuangong'],
      '\n-\n-\nmobile_area\n-\n-\n-\n-\n-\n-\n-\n-\n2\n',
    )
    expect(wrong.code).toBe(2)
    expect(wrong.stderr).toMatch(/^dirsync: employees\.sql:3:12: mobile_area is mapped without mobile\./)
  })
})

test('at a terminal it asks, and Ctrl-C ends it without a file', { tags: 'script' }, async () => {
  const output = join(folder, 'e.sql')
  const terminal = atTerminal(['hr', 'init', '--output', output], { HR_DATABASE_URL: postgres.url })
  await terminal.shows(/Which one holds the employees\? A number or a name \[1\]: $/)
  terminal.type('yuangong\r')
  await terminal.shows(/ygbh \[userid\]: $/)
  terminal.type('\x03')
  const { code, screen } = await terminal.ended
  expect(code).toBe(1)
  expect(screen).toContain('the input ended before the last question')
  await expect(readFile(output)).rejects.toThrow('ENOENT')
})
