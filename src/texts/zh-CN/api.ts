import type { api as English } from '../en/api.ts'
import type { Section } from '../section.ts'

export const api = {
  'api.title': 'API',
  'api.intro': '控制台能查看和执行的一切，程序都可以通过 /api/v1 完成，角色与审计完全相同。',
  'api.token': '程序需要令牌，请在命令行中创建：',
  'api.try': '程序每次请求都要带上令牌。点击下面的路径可查看字段和示例。',
  'api.method': '方法',
  'api.path': '路径',
  'api.summary': '用途',
  'api.role': '角色',
  'api.operation': '操作名',
  'api.parameters': '参数',
  'api.name': '名称',
  'api.in': '位置',
  'api.type': '类型',
  'api.required': '必填',
  'api.meaning': '含义',
  'api.body': '请求体（JSON）',
  'api.answer': '响应（JSON）',
  'api.example': '示例',
  'api.back': '全部操作',
} as const satisfies Section<typeof English>
