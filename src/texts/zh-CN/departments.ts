import type { departments as English } from '../en/departments.ts'
import type { Section } from '../section.ts'

export const departments = {
  'departments.title': '部门',
  'departments.open': '启用',
  'departments.closed': '已撤销',
  'departments.deleted': '已在平台删除',
} as const satisfies Section<typeof English>
