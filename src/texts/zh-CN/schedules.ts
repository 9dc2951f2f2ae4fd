import type { schedules as English } from '../en/schedules.ts'
import type { Section } from '../section.ts'

export const schedules = {} as const satisfies Section<typeof English>
