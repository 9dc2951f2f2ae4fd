import type { Pool } from 'pg'
import { aliveProcesses } from '../store/process.ts'
import type { CommandContext } from './context.ts'
import { wrap } from './layout.ts'

/** What a run needs. */
export const NEEDED_ROLES = ['scheduler', 'worker'] as const

/** Roles without which a run does not go on, and which no living process has. */
export async function missingRoles(pool: Pool): Promise<(typeof NEEDED_ROLES)[number][]> {
  const alive = await aliveProcesses(pool)
  return NEEDED_ROLES.filter(role => !alive.some(({ roles }) => roles.includes(role)))
}

/** Says that nobody is there to do the work, and how to start somebody. */
export function nobodyAlive(missing: readonly string[], program: string): string {
  const roles = missing.length === NEEDED_ROLES.length ? '' : ` --roles ${missing.join(',')}`
  return `no ${missing.join(' and no ')} is alive: start one with ${program} start${roles}`
}

/** Warns on standard error when what was asked for has to wait because nobody is there to do it. */
export async function warnWhenNobodyWorks({ pool, program }: CommandContext): Promise<void> {
  const missing = await missingRoles(pool)
  if (missing.length === 0) return
  const lines = wrap(`warning: ${nobodyAlive(missing, program)}. What was asked for waits until then.`, 78)
  process.stderr.write(lines.map(line => `${line}\n`).join(''))
}
