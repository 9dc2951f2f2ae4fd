import type { halts as English } from '../en/halts.ts'
import type { Section } from '../section.ts'

export const halts = {} as const satisfies Section<typeof English>
