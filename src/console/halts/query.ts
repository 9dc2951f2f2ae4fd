import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { Halt, listHalts, listProcesses, Process } from '../../report/service.ts'
import { NEEDED_ROLES } from '../../sync/process.ts'

export const HaltResult = z.object({
  scope: z.string().describe('`*`: everything; else the code of an enterprise'),
  category: z.string(),
  platform_code: z.number().nullable(),
  message: z.string(),
  remedy: z.string(),
  since: z.date(),
  raised_by: z.string().describe('dirsync, or the person who paused all calls'),
  probes: z.number().describe('Probes that failed'),
  next_probe_at: z.date().nullable().describe('null: not before a person resumes'),
  may_probe: z.boolean().describe('false: a person has paused all calls, and resuming ends it'),
})
export type HaltResult = z.infer<typeof HaltResult>

/** What `/api/v1/halts` answers. */
export const HaltsResult = z.object({
  halts: z.array(Halt),
  processes: z.array(Process),
  missing_roles: z.array(z.string()).describe('Roles that the work needs and that no living process has'),
  versions: z.array(z.string()).describe('Of the living processes; more than one: an upgrade is under way'),
})
export type HaltsResult = z.infer<typeof HaltsResult>

export async function readHalts(db: Pool): Promise<HaltsResult> {
  const [halts, processes] = await Promise.all([listHalts(db), listProcesses(db)])
  const living = processes.filter(({ alive }) => alive)
  return {
    halts,
    processes,
    missing_roles: NEEDED_ROLES.filter(role => !living.some(({ roles }) => roles.includes(role))),
    versions: [...new Set(living.map(({ version }) => version))].sort(),
  }
}
