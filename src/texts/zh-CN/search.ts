import type { search as English } from '../en/search.ts'
import type { Section } from '../section.ts'

export const search = {
  'search.title': '搜索',
  'search.found': '“{text}”的搜索结果',
  'search.nothing': '没有找到“{text}”。',
  'search.nothing_asked': '请输入要查找的内容。',
  'search.hint':
    '可搜索：异常项编号（#17）、同步任务（run 12）、跟踪 ID、平台错误码；退款或充值的编号及其订单号或账户；支付订单号；员工的 ID、姓名、工号、手机号（区号可省略）或邮箱的开头部分、手机号的后四至八位，或完整的 open id；部门编码或名称的开头部分。',
  'search.hint_viewer':
    '可搜索：异常项编号（#17）、同步任务（run 12）、跟踪 ID、平台错误码；退款或充值的编号及其订单号或账户；支付订单号；员工 ID 的开头部分或完整的 open id；部门编码或名称的开头部分。审核员还可按人事系统中的姓名和号码搜索员工。',
  'search.hr_away': '人事系统未及时响应，目前只能按员工 ID 和部门编码查找。请重试，或输入员工 ID。',
  'search.hr_busy': '人事系统正在处理其他搜索，目前只能按员工 ID 和部门编码查找。请稍后重试，或输入员工 ID。',
  'search.sources_away':
    '人事数据源 {sources} 未及时响应，其中的员工和部门目前只能按员工 ID 和部门编码查找。请重试，或输入员工 ID。',
  'search.sources_busy':
    '人事数据源 {sources} 暂时无法接受更多搜索，其中的员工和部门目前只能按员工 ID 和部门编码查找。请稍后重试，或输入员工 ID。',
  'search.sources_failed':
    '无法在人事数据源 {sources} 中搜索，其中的员工和部门目前只能按员工 ID 和部门编码查找。问题解决前，请输入员工 ID。',
  'search.hr_failed': '无法在人事系统中搜索，目前只能按员工 ID 和部门编码查找。问题解决前，请输入员工 ID。',
  'search.found_by': '匹配项',
  'search.by.userid': '员工 ID',
  'search.by.case': '异常项',
  'search.by.openid': '开放 ID（open id）',
  'search.by.name': '姓名',
  'search.by.corp_code': '工号',
  'search.by.mobile': '手机号',
  'search.by.email': '邮箱',
  'search.codes': '平台错误码',
  'search.code': '错误码',
  'search.cases': '未解决的异常项',
  'search.key': '对象',
  'search.more': '还有更多结果，请输入更多字符',
} as const satisfies Section<typeof English>
