import type { cases as English } from '../en/cases.ts'
import type { Section } from '../section.ts'

export const cases = {} as const satisfies Section<typeof English>
