import type { Pool } from '../lib/database.ts'
import { ALIVE, type Pacing } from '../sync/process.ts'

/** Why work stands still, for everything or for one enterprise. */
export interface HaltReport {
  /** `*` or an enterprise code. */
  scope: string
  category: string
  platform_code: number | null
  message: string
  remedy: string
  since: Date
  /** dirsync, or the person who paused all calls. */
  raised_by: string
  /** Probes that failed. */
  probes: number
  /** Null: not before a person resumes. */
  next_probe_at: Date | null
  /** Whether `dirsync.probe_now` is possible: a pause ends by `resume` alone. */
  may_probe: boolean
}

/** Everything's halt first, then those of enterprises. */
export async function listHalts(db: Pool): Promise<HaltReport[]> {
  const { rows } = await db.query<HaltReport>(
    `select scope, category, platform_code, message, remedy, since, raised_by, probes,
            nullif(next_probe_at, 'infinity') as next_probe_at, category <> 'paused' as may_probe
     from dirsync.halt order by scope <> '*', scope`,
  )
  return rows
}

/** A process of this deployment. */
export interface ProcessReport {
  id: string
  host: string
  pid: number
  roles: string[]
  version: string
  started_at: Date
  /** Its last sign of life. */
  heartbeat_at: Date
  /** Whether that is recent; else it died without a word within the last day. */
  alive: boolean
  /** How its calls go; null for a process that makes none for runs. */
  pacer: Pacing | null
}

/** Processes that live, and those that died without a word, the living ones first. */
export async function listProcesses(db: Pool): Promise<ProcessReport[]> {
  const { rows } = await db.query<ProcessReport>(
    `select id, host, pid, roles, version, started_at, heartbeat_at, ${ALIVE} as alive, pacer
     from dirsync.process
     where heartbeat_at > now() - interval '1 day'
     order by alive desc, started_at, id`,
  )
  return rows
}
