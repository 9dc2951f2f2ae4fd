import type { platform as English } from '../en/platform.ts'
import type { Section } from '../section.ts'

export const platform = {} as const satisfies Section<typeof English>
