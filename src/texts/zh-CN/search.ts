import type { search as English } from '../en/search.ts'
import type { Section } from '../section.ts'

export const search = {
  'search.title': '搜索',
  'search.found': '“{text}”的搜索结果',
  'search.nothing': '没有找到“{text}”。',
  'search.nothing_asked': '请输入要查找的内容。',
  'search.hint':
    '可搜索：异常项编号（#17）、同步任务（run 12）、员工 ID 的开头部分或完整的 open id、部门编码的开头部分。系统不保存姓名。',
  'search.key': '对象',
  'search.more': '还有更多结果，请输入更多字符',
} as const satisfies Section<typeof English>
