import type { money as English } from '../en/money.ts'
import type { Section } from '../section.ts'

export const money = {} as const satisfies Section<typeof English>
