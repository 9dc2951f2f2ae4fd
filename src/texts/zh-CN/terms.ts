import type { terms as English } from '../en/terms.ts'
import type { Section } from '../section.ts'

export const terms = {} as const satisfies Section<typeof English>
