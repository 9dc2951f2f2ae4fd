import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Pool } from '../../lib/database.ts'
import { readHalts } from '../../sync/outbox/halts.ts'
import { ALIVE, ASIDES, IS_OUTDATED, missingAmong, processDifferences } from '../../sync/processes/process.ts'
import { SaidText } from '../../texts/failures.ts'

/** Why work is halted, for everything or for one enterprise. */
export const HaltReport = z.object({
  scope: z.string().describe('`*`: everything; else the code of an enterprise'),
  category: z.string(),
  platform_code: z.int().nullable(),
  message: SaidText,
  remedy: SaidText,
  since: z.date(),
  raised_by: z.string().describe('dirsync, or the person who paused all calls'),
  probes: z.int().describe('Probes that failed'),
  next_probe_at: z.date().nullable().describe('null: not before a person resumes'),
  may_probe: z.boolean().describe('false: a person has paused all calls, so that none is made as a probe'),
})
export type HaltReport = z.infer<typeof HaltReport>

/** Identifies a pause and what was said last about it, so that an outdated form is noticed. */
export function pauseVersion(
  pause: Pick<HaltReport, 'raised_by' | 'message'> & { since: Date | string },
): string {
  const seen = JSON.stringify([new Date(pause.since), pause.raised_by, pause.message])
  return createHash('sha256').update(seen).digest('hex').slice(0, 12)
}

/** A process of this deployment. */
export const Process = z.object({
  id: z.string(),
  host: z.string(),
  pid: z.int(),
  roles: z.array(z.string()),
  version: z.string(),
  started_at: z.date(),
  heartbeat_at: z.date().describe('Its last sign of life'),
  alive: z.boolean().describe('false: it died without a word within the last day; the latest 20 are listed'),
  is_outdated: z
    .boolean()
    .describe(
      'Another process was started later with other HR sources: this one leaves alone those that differ',
    ),
  aside_for: z
    .enum(ASIDES)
    .nullable()
    .describe(
      'Why it leaves all work to others: the platform refuses its application secret, or cannot be reached from it; null: it does not',
    ),
  pacer: z
    .object({
      callsPerSecond: z.number().describe('Over the last ten seconds'),
      waiting: z.int().describe('Calls that wait for the pacer'),
      concurrency: z.number().describe('Calls that it makes at a time, at most'),
    })
    .nullable()
    .describe('null: it makes no calls for runs'),
})
export type Process = z.infer<typeof Process>

/** Running processes, and those that died without signing off, the running ones first. */
export async function listProcesses(db: Pool): Promise<Process[]> {
  const { rows } = await db.query<Process>(
    `select id, host, pid, roles, version, started_at, heartbeat_at, ${ALIVE} as alive,
            coalesce(${IS_OUTDATED}, false) as is_outdated, aside_for, pacer
     from dirsync.process
     where ${ALIVE} or id in (
       select id from dirsync.process where heartbeat_at > now() - interval '1 day' and not (${ALIVE})
       order by heartbeat_at desc limit 20)
     order by alive desc, started_at, id`,
  )
  return rows
}

/** The answer of `/api/v1/halts`. */
export const HaltsResult = z.object({
  halts: z.array(HaltReport),
  processes: z.array(Process),
  missing_roles: z.array(z.string()).describe('Roles that the work needs and that no running process has'),
  versions: z
    .array(z.string())
    .describe('Versions of the running processes; more than one during an upgrade'),
  differences: z
    .array(z.object({ what: SaidText, remedy: SaidText }))
    .describe('How running processes do not fit together'),
})
export type HaltsResult = z.infer<typeof HaltsResult>

export async function readHaltsResult(db: Pool): Promise<HaltsResult> {
  const [halts, processes, differences] = await Promise.all([
    readHalts(db),
    listProcesses(db),
    processDifferences(db),
  ])
  return haltsResultOf(halts, processes, differences)
}

export function haltsResultOf(
  halts: HaltReport[],
  processes: Process[],
  differences: HaltsResult['differences'],
): HaltsResult {
  const living = processes.filter(({ alive }) => alive)
  return {
    halts,
    processes,
    differences,
    missing_roles: missingAmong(living),
    versions: [...new Set(living.map(({ version }) => version))].sort(),
  }
}
