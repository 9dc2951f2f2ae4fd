import type { auth as English } from '../en/auth.ts'
import type { Section } from '../section.ts'

export const auth = {} as const satisfies Section<typeof English>
