import type { mirrors as English } from '../en/mirrors.ts'
import type { Section } from '../section.ts'

export const mirrors = {} as const satisfies Section<typeof English>
