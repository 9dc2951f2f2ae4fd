import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { missingAmong } from '../../sync/process.ts'
import { HaltReport, listHalts, listProcesses, Process } from './service.ts'

/** The answer of `/api/v1/halts`. */
export const HaltsResult = z.object({
  halts: z.array(HaltReport),
  processes: z.array(Process),
  missing_roles: z.array(z.string()).describe('Roles that the work needs and that no running process has'),
  versions: z
    .array(z.string())
    .describe('Versions of the running processes; more than one during an upgrade'),
})
export type HaltsResult = z.infer<typeof HaltsResult>

export async function readHaltsResult(db: Pool): Promise<HaltsResult> {
  const [halts, processes] = await Promise.all([listHalts(db), listProcesses(db)])
  return haltsResultOf(halts, processes)
}

export function haltsResultOf(halts: HaltReport[], processes: Process[]): HaltsResult {
  const living = processes.filter(({ alive }) => alive)
  return {
    halts,
    processes,
    missing_roles: missingAmong(living),
    versions: [...new Set(living.map(({ version }) => version))].sort(),
  }
}
