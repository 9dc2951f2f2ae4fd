import type { settings as English } from '../en/settings.ts'
import type { Section } from '../section.ts'

export const settings = {} as const satisfies Section<typeof English>
