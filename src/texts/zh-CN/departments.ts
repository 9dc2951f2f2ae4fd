import type { departments as English } from '../en/departments.ts'
import type { Section } from '../section.ts'

export const departments = {} as const satisfies Section<typeof English>
