import type { plan as English } from '../en/plan.ts'
import type { Section } from '../section.ts'

export const plan = {} as const satisfies Section<typeof English>
