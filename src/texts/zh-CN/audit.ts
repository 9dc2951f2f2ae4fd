import type { audit as English } from '../en/audit.ts'
import type { Section } from '../section.ts'

export const audit = {} as const satisfies Section<typeof English>
