import type { employees as English } from '../en/employees.ts'
import type { Section } from '../section.ts'

export const employees = {} as const satisfies Section<typeof English>
