import type { api as English } from '../en/api.ts'
import type { Section } from '../section.ts'

export const api = {} as const satisfies Section<typeof English>
