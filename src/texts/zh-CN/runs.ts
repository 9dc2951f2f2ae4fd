import type { runs as English } from '../en/runs.ts'
import type { Section } from '../section.ts'

export const runs = {} as const satisfies Section<typeof English>
