import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gb18030 } from './gb18030.ts'

// node examples/files/deliver.ts FOLDER [next]
//
// Delivers HR as an export at night would: two CSV files in GB18030, written under other names and moved in. The next delivery
// has another name and one who left. Beside the folder lies a platform that knows these people as they were.

const [folder = '', which] = process.argv.slice(2)
const isNext = which === 'next'
const COUNT = 60
const STEMS = [...'甲乙丙丁戊己庚辛壬癸']
const BRANCHES = [...'子丑寅卯辰巳午未申酉戌亥']
const DEPARTMENTS: [code: string, name: string, above: string][] = [
  ['D1', '总部', ''],
  ['D2', '销售', 'D1'],
  ['D3', '研发', 'D1'],
  ['D4', '旧部门', 'D1'],
]

/** Named after the years of the old calendar, so that they are fictitious. */
function person(i: number) {
  const name = `${STEMS[i % 10]}${BRANCHES[i % 12]}`
  const day = (year: number) =>
    `${year}-${String(1 + (i % 12)).padStart(2, '0')}-${String(1 + (i % 28)).padStart(2, '0')}`
  return {
    工号: String(i + 1).padStart(5, '0'),
    姓名: isNext && i === 0 ? `${name}，新` : name,
    性别: i % 2 === 0 ? '男' : '女',
    部门: DEPARTMENTS[1 + (i % 2)]?.[0] ?? '',
    职级: `P${1 + (i % 9)}`,
    出生日期: day(1970 + (i % 30)),
    入职日期: day(2005 + (i % 15)),
    离职日期: i === COUNT - 1 || (isNext && i === 1) ? '2026-10-31' : '',
  }
}

const people = Array.from({ length: COUNT }, (_, i) => person(i))

function csv(rows: Record<string, string>[]): Buffer {
  const lines = rows.map(row => Object.values(row).map(quoted).join(','))
  return gb18030([Object.keys(rows[0] ?? {}).join(','), ...lines, ''].join('\r\n'))
}

function quoted(value: string): string {
  return /[",\r\n]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value
}

async function deliver(name: string, content: Buffer): Promise<void> {
  await writeFile(join(folder, `${name}.part`), content)
  await rename(join(folder, `${name}.part`), join(folder, name))
}

await mkdir(folder, { recursive: true })
await deliver(
  'departments.csv',
  csv(DEPARTMENTS.map(([编码, 名称, 上级]) => ({ 编码, 名称, 上级, 停用: 编码 === 'D4' ? '是' : '否' }))),
)
await deliver('employees.csv', csv(people))
if (!isNext)
  await writeFile(
    `${folder}-platform.json`,
    JSON.stringify({
      departments: DEPARTMENTS.map(([dept_code, dept_name]) => ({ dept_code, dept_name })),
      employees: people
        .filter(({ 离职日期 }) => 离职日期 === '')
        .map(({ 工号, 姓名, 部门 }) => ({
          userid: 工号,
          name: 姓名,
          corp_code: `W${工号}`,
          dept_code: 部门,
        })),
    }),
  )
