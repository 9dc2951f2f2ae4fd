import { looksLikeIdentityNumber, parseActive, personalKind } from '../directory/field-rules.ts'
import type { ColumnShape } from '../hr/server.ts'
import { halfWidthText, normaliseDate } from '../lib/text.ts'

/** Guesses the meaning of an HR column from its name and its values. A person decides. */

/** A column of a table, with sample values. */
export interface HrColumn {
  name: string
  type: string
  shape: ColumnShape
  /** Values of some rows, without the empty ones. */
  values: string[]
}

/** A column of a mapping, and the HR column names that suggest it. */
export interface Meaning {
  /** Name in the mapping. */
  column: string
  /** Common names in HR systems: English, pinyin, its initials, and Chinese; lower-case letters and digits only. */
  names: readonly string[]
  /** Whether a value is plausible. */
  fits?: (value: string) => boolean
  /** Rules the meaning out if more than a few values match. */
  never?: (value: string) => boolean
  /** Values that fit hardly ever mean anything else. */
  isDistinctive?: true
  /** Permitted shapes; default: plain values only. */
  shapes?: readonly ColumnShape[]
}

const isDay = (value: string) => normaliseDate(value) !== null
const isPerson = (value: string) => /^\p{L}[\p{L}\d .·'-]*$/u.test(value) && value.length <= 50
/** Unlike a department's name: no blanks, no Chinese, no word that begins with a capital. */
const isCode = (value: string) =>
  value.length <= 50 && !/\s|\p{Script=Han}|^\p{Lu}\p{Ll}{2,}$/u.test(value.trim())
const DAYS = ['plain', 'moment'] as const

/** For a mapping of employees, in the order in which they are guessed: required ones first. */
export const EMPLOYEE_MEANINGS: readonly Meaning[] = [
  {
    column: 'userid',
    names: words(
      'userid staffid empid employeeid personid workerid uid ygid ygbh rybh yuangongid yuangongbianhao 员工编号 员工id 人员编号 人员id 用户id empno empcode employeeno staffno staffcode psncode gh gonghao 工号 员工工号 number code id',
    ),
    fits: value => value.length <= 100,
    never: value => personalKind(value) !== null,
  },
  {
    column: 'corp_code',
    names: words(
      'corpcode workno jobno jobnumber worknumber empno employeeno staffno badge badgeno gh gonghao 工号 员工工号 number code',
    ),
    fits: value => /^[0-9A-Za-z]{1,20}$/.test(halfWidthText(value)),
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
      'cardno idcard idcardno idno idnum idnumber identityno identitynumber certno certificateno sfz sfzh sfzhm shenfenzheng zjhm 身份证 身份证号 身份证号码 证件号 证件号码',
    ),
    fits: value => looksLikeIdentityNumber(halfWidthText(value).toUpperCase()),
    isDistinctive: true,
  },
  {
    column: 'card_type',
    names: words('cardtype idtype certtype zjlx 证件类型'),
    fits: value => /^[12]$/.test(value),
  },
  {
    column: 'email',
    names: words(
      'email mail emailaddress workemail companyemail dzyx dzyj yx youxiang 邮箱 公司邮箱 企业邮箱 工作邮箱 电子邮箱 电子邮件 邮件',
    ),
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
      'deptcode deptid deptno departmentcode departmentid departmentno orgcode orgid orgno organizationcode organizationid orgunitcode adminorgunitid unitcode bmbm bmdm bmbh bmid jgbm 部门编码 部门编号 部门代码 部门id 机构编码 机构编号 机构代码 组织编码 组织代码 组织机构编码 dept department bumen 部门 所属部门',
    ),
    fits: isCode,
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
      'entryday entrydate hiredate hired hiredat hiredon joindate joined joinedat onboarddate startdate enterdate joinworkdate rzrq rzsj ruzhi ruzhiriqi 入职日期 入职时间 入司日期 到岗日期',
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
      'updatedat updatetime updated lastupdatetime lastupdated lastupdatedat modifiedat modifiedtime modifytime modifydate lastmodified lastmodifiedat lastmodifytime lastmodifydate lastmodifieddate lastmodifiedtime changedat gxsj xgsj zhxgsj 更新时间 修改时间 最后修改时间 最后更新时间 最近修改时间 修改日期',
    ),
    shapes: ['moment'],
  },
]

/** For a mapping of departments. */
export const DEPARTMENT_MEANINGS: readonly Meaning[] = [
  {
    column: 'dept_code',
    names: words(
      'deptcode deptid deptno departmentcode departmentid departmentno orgcode orgid orgno organizationcode organizationid orgunitcode unitcode number code bmbm bmdm bmbh bmid jgbm 部门编码 部门编号 部门代码 部门id 机构编码 机构编号 机构代码 组织编码 组织代码 组织机构编码 id',
    ),
    fits: value => value.length <= 50,
  },
  {
    column: 'parent_code',
    names: words(
      'parentcode parentid parentno parent pid pcode uppercode superiorid parentorgcode parentorganizationcode sjbm sjbmbm fbm fbmbm fid 上级部门 上级 上级编码 上级部门编码 上级机构编码 上级组织编码 父部门 父级',
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

/** Names of columns that mark leavers, or closed departments. */
export const STATUS_NAMES: readonly string[] = words(
  'status state active isactive enabled isenabled empstatus employeestatus staffstatus jobstatus employmentstatus personstatus workstatus empstate enablestate zt zhuangtai zzzt 状态 在职状态 员工状态 人员状态 任职状态 用工状态 是否在职 是否启用',
)
export const LEAVING_NAMES: readonly string[] = words(
  'leavedate leftat lefton leftdate resigndate resignedat quitdate dimissiondate terminationdate terminatedat lastworkdate lastworkday lastworkingdate lastworkingday zhgzr lzrq lzsj lizhi lizhiriqi 离职日期 离职时间 最后工作日 最后工作日期 离职生效日期 实际离职日期',
)
/** Names of columns that say by yes or no who has left, or what is closed. */
export const GONE_NAMES = {
  employees: words(
    'isleft left leftflag isleave isleaved leaveflag isresigned isresign resigned resignflag isquit quit quitflag isterminated terminated isdimission dimission dimissionflag sflz lzbz lzbs 离职 已离职 是否离职 离职标志 离职标记 离职标识',
  ),
  departments: words(
    'isclosed isclose closed closeflag closedflag isdisabled isdisable disabled disableflag isstopped stopped stopflag isinactive inactive sfty sftz tybz 停用 已停用 是否停用 停用标志 停用标记 停用标识 关闭 已关闭 是否关闭 禁用 已禁用 是否禁用 撤销 已撤销 是否撤销 失效 是否失效',
  ),
} as const
/** Parts of such names. */
const GONE =
  /left|leave|resign|quit|terminat|dimission|clos|disabl|stop|inactive|sflz|lzb[zs]|sft[yz]|tybz|离职|停用|关闭|禁用|撤销|失效/

/** Names of columns that mark rows as deleted, which HR then keeps. */
export const DELETION_NAMES: readonly string[] = words(
  'deleted isdeleted isdelete isdel del deleteflag deletedflag delflag deletedat deletedon deletetime deletedtime deletedate deleteddate removed isremoved removedat removedon dr scbz scsj sfsc shanchu 删除 已删除 是否删除 删除标志 删除标记 删除标识 删除状态 删除时间 删除日期',
)

/** Texts by which HR systems mark an employee in service, or a department in use. */
const IN_SERVICE = new Set(
  words(
    'active inservice employed working normal enabled on a regular formal permanent confirmed probation probationary trial intern onduty zz zaizhi zhengshi shiyong 在职 在岗 在册 在编 正式 正式员工 转正 已转正 试用 试用期 试用员工 实习 实习期 见习 返聘 正常 启用 已启用 在用 有效 是',
  ),
)

/** Texts by which they mark a leaver, or a closed department. */
const LEFT = new Set(
  words(
    'inactive left leaver resigned quit terminated dismissed retired departed former disabled closed off lz lizhi tuixiu 离职 已离职 离岗 辞职 已辞职 退休 已退休 离退休 解聘 辞退 开除 死亡 停用 已停用 禁用 关闭 已关闭 撤销 已撤销 无效 失效 注销 否',
  ),
)

/** The probable meaning of each column; a meaning is given to one column at most. */
export function guesses(columns: readonly HrColumn[], meanings: readonly Meaning[]): Map<string, Meaning> {
  const found = new Map<string, Meaning>()
  const called = calledIn(columns)
  for (const meaning of meanings) {
    const [best] = columns
      .filter(({ name }) => !found.has(name))
      .map(column => ({ column, score: scoreOf(column, called(column.name), meaning) }))
      .filter(({ score }) => score >= ENOUGH)
      .sort((a, b) => b.score - a.score)
    if (best) found.set(best.column.name, meaning)
  }
  return found
}

const ENOUGH = 2

/** The confidence of a guess: the name counts most, implausible values lower it. */
function scoreOf({ shape, values }: HrColumn, name: string, meaning: Meaning): number {
  if (!canBecome(shape, meaning) || isRuledOut(values, meaning)) return 0
  const place = meaning.names.indexOf(name)
  // Earlier names say more: work numbers serve as user ids only without a better column.
  const byName = place === -1 ? 0 : 4 - place / meaning.names.length
  if (!meaning.fits || values.length === 0) return byName
  const share = values.filter(meaning.fits).length / values.length
  if (share < 0.5) return 0
  return byName + (meaning.isDistinctive && share > 0.9 ? 2 : 0)
}

/** Whether a mapping accepts columns of this shape for it. */
export function canBecome(shape: ColumnShape, { shapes = ['plain'] }: Meaning): boolean {
  return shapes.includes(shape)
}

/** Whether enough values contradict the meaning to rule it out. */
export function isRuledOut(values: readonly string[], { never }: Meaning): boolean {
  return never !== undefined && values.filter(never).length > values.length / 10
}

/** Normalises column names to lower-case letters and digits, without the F that Kingdee prefixes to each. */
export function calledIn(columns: readonly { name: string }[]): (name: string) => string {
  const isPrefixed = columns.filter(({ name }) => /^f/i.test(name)).length >= 0.8 * columns.length
  return name => plainName(isPrefixed ? name.replace(/^f(?=.)/i, '') : name)
}

/** What a status value certainly means; null: it may mean anything. */
export function statusOf(value: string): 'in service' | 'gone' | null {
  const word = plainName(value)
  if (IN_SERVICE.has(word)) return 'in service'
  if (LEFT.has(word)) return 'gone'
  const flag = /^[a-z]+$/.test(word) ? parseActive(word) : undefined
  return flag === undefined ? null : flag ? 'in service' : 'gone'
}

/** Whether a value says that a row is not deleted. */
export function isUndeleted(value: string): boolean {
  return value.trim() === '' || parseActive(value) === false || /^(?:否|未删除|正常)$/.test(plainName(value))
}

/**
 * The same for all values of a column: 1 and 0 have a meaning if there is no other number, and yes means gone if the column's
 * name asks for that.
 */
export function statussOf(values: readonly string[], name = ''): ReturnType<typeof statusOf>[] {
  const isFlag = values.every(value => /^[01]$/.test(plainName(value)))
  const asksForGone = GONE.test(plainName(name))
  return values.map(value => {
    const word = plainName(value)
    const status = isFlag ? (word === '1' ? 'in service' : 'gone') : statusOf(value)
    if (status === null || !asksForGone || !ANSWER.test(word)) return status
    return status === 'gone' ? 'in service' : 'gone'
  })
}

const ANSWER = /^(?:[01tfyn]|true|false|yes|no|是|否)$/

/** The platform's 1, 2 or 3 for a word or number that usually means it; null for any other. */
export function genderOf(value: string): Gender | null {
  const word = plainName(value)
  if (/^(?:1|m|male|man|男|男性|nan)$/.test(word)) return '1'
  if (/^(?:2|f|female|woman|女|女性|nv)$/.test(word)) return '2'
  return /^(?:3|0|9|u|unknown|未知|不详|保密)$/.test(word) ? '3' : null
}

export type Gender = '1' | '2' | '3'

/**
 * The certainty of the guess for all values of a gender: words are sure, numbers have a usual meaning if 2 is among them, and 0
 * and 1 differ between systems.
 */
export function genderCertainty(values: readonly string[]): 'sure' | 'usual' | 'unknown' {
  const numbers = values.filter(value => /^\d+$/.test(plainName(value)))
  if (values.some(value => genderOf(value) === null)) return 'unknown'
  if (numbers.length === 0) return 'sure'
  return numbers.length === values.length && numbers.some(number => plainName(number) === '2')
    ? 'usual'
    : 'unknown'
}

function isMobile(value: string): boolean {
  return personalKind(value) === 'mobile'
}

/** Whether a table probably holds employees, or departments. */
export function isTableOf(name: string, what: 'employees' | 'departments'): boolean {
  return TABLES[what].test(name)
}

const TABLES = {
  employees:
    /emp|staff|person|people|worker|user|member|yuangong|renyuan|zhigong|yg|ry|员工|人员|职工|花名册/i,
  departments: /dep|org|unit|division|bumen|bm|jigou|部门|机构|组织/i,
}

function plainName(name: string): string {
  return halfWidthText(name)
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '')
}

function words(text: string): string[] {
  return text.split(' ')
}
