import type { mapping as English } from '../en/mapping.ts'
import type { Section } from '../section.ts'

export const mapping = {} as const satisfies Section<typeof English>
