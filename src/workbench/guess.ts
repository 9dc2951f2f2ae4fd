import { looksLikeIdentityNumber, normaliseMobile, parseActive, RuleBreak } from '../directory/field-rules.ts'
import type { ColumnShape } from '../hr/server.ts'
import { normaliseDate, plainText } from '../lib/text.ts'

/** What a column of HR's is about, guessed from its name and its values. A person decides. */

/** A column of a table, with some of its values. */
export interface HrColumn {
  name: string
  type: string
  shape: ColumnShape
  /** Values of some rows, without the empty ones. */
  values: string[]
}

/** A column of a mapping, and what columns of HR are called that become it. */
export interface Meaning {
  /** Name in the mapping. */
  column: string
  /** What HR systems call it, in English, pinyin, its initials, and Chinese; small letters and digits alone. */
  names: readonly string[]
  /** Whether a value can be one. */
  fits?: (value: string) => boolean
  /** Values that fit are hardly ever anything else. */
  isDistinctive?: true
  /** Shapes that it may have; absent: plain values alone. */
  shapes?: readonly ColumnShape[]
}

const isDay = (value: string) => normaliseDate(value) !== null
const isPerson = (value: string) => /^\p{L}[\p{L}\d .·'-]*$/u.test(value) && value.length <= 50
const DAYS = ['plain', 'moment'] as const

/** Of an employees' mapping, in the order in which they are guessed: what is needed comes first. */
export const EMPLOYEE_MEANINGS: readonly Meaning[] = [
  {
    column: 'userid',
    names: words(
      'userid staffid empid employeeid personid workerid uid ygid ygbh rybh yuangongid yuangongbianhao 员工编号 员工id 人员编号 人员id 用户id empno empcode employeeno staffno staffcode gh gonghao 工号 id',
    ),
    fits: value => value.length <= 100,
  },
  {
    column: 'corp_code',
    names: words(
      'corpcode workno jobno jobnumber worknumber empno employeeno staffno badge badgeno gh gonghao 工号',
    ),
    fits: value => /^[0-9A-Za-z]{1,20}$/.test(plainText(value)),
  },
  {
    column: 'name',
    names: words(
      'name fullname realname empname staffname employeename cnname displayname xm xingming 姓名 员工姓名 名字 中文名',
    ),
    fits: isPerson,
  },
  { column: 'gender', names: words('gender sex xb xingbie 性别'), fits: value => genderOf(value) !== null },
  {
    column: 'card_no',
    names: words(
      'cardno idcard idcardno idno idnumber identityno identitynumber certno certificateno sfz sfzh sfzhm shenfenzheng zjhm 身份证 身份证号 身份证号码 证件号 证件号码',
    ),
    fits: value => looksLikeIdentityNumber(plainText(value).toUpperCase()),
    isDistinctive: true,
  },
  {
    column: 'card_type',
    names: words('cardtype idtype certtype zjlx 证件类型'),
    fits: value => /^[12]$/.test(value),
  },
  {
    column: 'email',
    names: words('email mail emailaddress workemail dzyx dzyj yx youxiang 邮箱 电子邮箱 电子邮件 邮件'),
    fits: value => /^\S+[@＠]\S+$/.test(value.trim()),
    isDistinctive: true,
  },
  {
    column: 'mobile',
    names: words(
      'mobile mobileno mobilephone mobilenumber cell cellphone phone phoneno phonenumber tel telephone sj sjh sjhm shouji shoujihao 手机 手机号 手机号码 移动电话 联系电话 电话',
    ),
    fits: isMobile,
    isDistinctive: true,
  },
  {
    column: 'mobile_area',
    names: words('mobilearea areacode countrycode qh quhao 区号 手机区号'),
    fits: value => /^\+?\d{1,5}$/.test(value),
  },
  {
    column: 'dept_code',
    names: words(
      'deptcode deptid deptno dept departmentcode departmentid departmentno department orgcode orgid orgno unitcode bmbm bmdm bmbh bmid bumen 部门 部门编码 部门编号 部门代码 部门id 所属部门',
    ),
    fits: value => value.length <= 50,
  },
  {
    column: 'level',
    names: words('level grade rank joblevel jobgrade zj zhiji 职级 级别 员工职级'),
    fits: value => value.length <= 50,
  },
  {
    column: 'category',
    names: words(
      'category emptype employeetype stafftype yglb yglx rylb 员工类别 员工类型 人员类别 用工类型',
    ),
    shapes: ['plain', 'array', 'json'],
  },
  {
    column: 'birth_day',
    names: words('birthday birthdate dateofbirth dob born csrq shengri chushengriqi 出生日期 生日'),
    fits: isDay,
    shapes: DAYS,
  },
  {
    column: 'entry_day',
    names: words(
      'entryday entrydate hiredate hired hiredat hiredon joindate joined joinedat onboarddate startdate rzrq rzsj ruzhi ruzhiriqi 入职日期 入职时间',
    ),
    fits: isDay,
    shapes: DAYS,
  },
  {
    column: 'cost_center_id',
    names: words('costcenterid costcenter cbzx chengbenzhongxin 成本中心'),
    fits: value => /^\d{1,10}$/.test(value),
  },
  {
    column: 'employee_attribute',
    names: words('employeeattribute attributes extra extension 扩展字段'),
    fits: value => /^[{[]/.test(value),
    shapes: ['plain', 'json'],
  },
  { column: 'remark', names: words('remark remarks note notes memo comment bz beizhu 备注') },
  {
    column: 'enterprise_code',
    names: words('enterprisecode companycode companyid companyno gsbm gsdm gsbh 公司编码 公司代码 公司编号'),
    fits: value => value.length <= 20,
  },
  {
    column: 'updated_at',
    names: words(
      'updatedat updatetime updated modifiedat modifytime lastmodified changedat gxsj xgsj 更新时间 修改时间',
    ),
    shapes: ['moment'],
  },
]

/** Of a departments' mapping. */
export const DEPARTMENT_MEANINGS: readonly Meaning[] = [
  {
    column: 'dept_code',
    names: words(
      'deptcode deptid deptno departmentcode departmentid departmentno orgcode orgid orgno unitcode code bmbm bmdm bmbh bmid 部门编码 部门编号 部门代码 部门id id',
    ),
    fits: value => value.length <= 50,
  },
  {
    column: 'parent_code',
    names: words(
      'parentcode parentid parentno parent pid pcode uppercode superiorid sjbm sjbmbm fbm fbmbm fid 上级部门 上级 上级编码 父部门 父级',
    ),
    fits: value => value.length <= 50,
  },
  {
    column: 'closed_at',
    names: words('closedat closeddate closedate enddate gbrq cxrq 关闭日期 撤销日期'),
    shapes: ['moment'],
  },
  {
    column: 'enterprise_code',
    names: words('enterprisecode companycode companyid companyno gsbm gsdm gsbh 公司编码 公司代码 公司编号'),
    fits: value => value.length <= 20,
  },
]

/** Columns by which HR tells who has left, or which departments are closed. */
export const STATUS_NAMES: readonly string[] = words(
  'status state active isactive enabled isenabled empstatus employeestatus staffstatus jobstatus zt zhuangtai zzzt 状态 在职状态 员工状态 是否在职 是否启用',
)
export const LEAVING_NAMES: readonly string[] = words(
  'leavedate leftat lefton leftdate resigndate resignedat quitdate dimissiondate terminationdate terminatedat lzrq lzsj lizhi lizhiriqi 离职日期 离职时间',
)

/** Texts by which HR systems say that somebody is in service, or a department in use. */
const IN_SERVICE = new Set(
  words(
    'active inservice employed working normal enabled on a zz zaizhi zhengshi shiyong 在职 在岗 正式 试用 正常 启用 有效 是',
  ),
)

/** What each column probably means; a meaning is given to one column at most. */
export function guesses(columns: readonly HrColumn[], meanings: readonly Meaning[]): Map<string, Meaning> {
  const found = new Map<string, Meaning>()
  for (const meaning of meanings) {
    const [best] = columns
      .filter(({ name }) => !found.has(name))
      .map(column => ({ column, score: scoreOf(column, meaning) }))
      .filter(({ score }) => score >= ENOUGH)
      .sort((a, b) => b.score - a.score)
    if (best) found.set(best.column.name, meaning)
  }
  return found
}

const ENOUGH = 2

/** How sure it is: a name counts most, values that cannot be meant take it back. */
function scoreOf({ name, shape, values }: HrColumn, meaning: Meaning): number {
  if (!canBecome(shape, meaning)) return 0
  const place = meaning.names.indexOf(plainName(name))
  // Earlier names say more: work numbers serve as user ids where nothing better is there.
  const byName = place === -1 ? 0 : 4 - place / meaning.names.length
  if (!meaning.fits || values.length === 0) return byName
  const share = values.filter(meaning.fits).length / values.length
  if (share < 0.5) return 0
  return byName + (meaning.isDistinctive && share > 0.9 ? 2 : 0)
}

/** Whether a mapping takes columns of this shape for it. */
export function canBecome(shape: ColumnShape, { shapes = ['plain'] }: Meaning): boolean {
  return shapes.includes(shape)
}

/** Whether a column is called like one of these names. */
export function isCalled(name: string, names: readonly string[]): boolean {
  return names.includes(plainName(name))
}

/** Whether a value of a status probably says: in service. */
export function isInService(value: string): boolean {
  const word = plainName(value)
  return IN_SERVICE.has(word) || (word !== '' && /^[\w]+$/.test(word) && parseActive(word) === true)
}

/** 1, 2 or 3 as the platform has it, of a word or a number that means it for sure; null of anything else. */
export function genderOf(value: string): '1' | '2' | '3' | null {
  const word = plainName(value)
  if (/^(?:1|m|male|man|男|男性|nan)$/.test(word)) return '1'
  if (/^(?:2|f|female|woman|女|女性|nv)$/.test(word)) return '2'
  return /^(?:3|0|9|u|unknown|未知|不详)$/.test(word) ? '3' : null
}

function isMobile(value: string): boolean {
  const mobile = normaliseMobile(value, null)
  return mobile !== null && !(mobile instanceof RuleBreak) && /^1[3-9]\d{9}$/.test(mobile.mobile)
}

/** Of tables: whether it probably holds employees, or departments. */
export function isTableOf(name: string, what: 'employees' | 'departments'): boolean {
  return TABLES[what].test(name)
}

const TABLES = {
  employees:
    /emp|staff|person|people|worker|user|member|yuangong|renyuan|zhigong|yg|ry|员工|人员|职工|花名册/i,
  departments: /dep|org|unit|division|bumen|bm|jigou|部门|机构|组织/i,
}

function plainName(name: string): string {
  return plainText(name)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

function words(text: string): string[] {
  return text.split(' ')
}
