import type { overview as English } from '../en/overview.ts'
import type { Section } from '../section.ts'

export const overview = {} as const satisfies Section<typeof English>
