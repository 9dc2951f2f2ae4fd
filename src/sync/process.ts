import type { Pool } from '../lib/database.ts'
import type { PacerSnapshot } from '../pacing/pacer.ts'

/** What a process of dirsync can be for; any number of them at once. */
export const ROLES = ['scheduler', 'worker', 'console', 'notifications'] as const
export type Role = (typeof ROLES)[number]

/** A sign of life older than this counts as dead. */
export const ALIVE = `heartbeat_at > now() - interval '15 seconds'`

export interface ProcessRow {
  id: string
  host: string
  pid: number
  roles: string[]
  version: string
  startedAt: Date
}

/** How the calls of a process go. */
export interface Pacing extends PacerSnapshot {
  /** Over the last ten seconds. */
  callsPerSecond: number
  /** Calls that it makes at a time, at most (`WORKER_CONCURRENCY`). */
  concurrency: number
  /** The platform's clock less this process's; null before the first answer. */
  clockOffsetMs: number | null
}

/**
 * Registers the process, or renews its sign of life.
 * @param me.pacer how its pacer stands; null when it has none
 * @param me.queueAwaySince since when it has not reached the queue; null or absent: it does, or has no need to
 */
export async function heartbeat(
  db: Pool,
  me: Omit<ProcessRow, 'startedAt'> & { pacer: Pacing | null; queueAwaySince?: Date | null },
): Promise<void> {
  await db.query(
    `insert into dirsync.process (id, host, pid, roles, version, pacer, queue_away_since)
     values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (id) do update
     set heartbeat_at = now(), pacer = excluded.pacer, queue_away_since = excluded.queue_away_since`,
    [me.id, me.host, me.pid, me.roles, me.version, me.pacer, me.queueAwaySince ?? null],
  )
}

export async function deregister(db: Pool, id: string): Promise<void> {
  await db.query(`delete from dirsync.process where id = $1 or heartbeat_at < now() - interval '1 day'`, [id])
}

/** Processes that gave a sign of life within the last 15 seconds. */
export async function aliveProcesses(db: Pool): Promise<ProcessRow[]> {
  const { rows } = await db.query<ProcessRow>(
    `select id, host, pid, roles, version, started_at as "startedAt"
     from dirsync.process where ${ALIVE} order by started_at`,
  )
  return rows
}

/** How many of these processes have each role. */
export function countRoles(processes: readonly { roles: readonly string[] }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const role of processes.flatMap(({ roles }) => roles)) counts[role] = (counts[role] ?? 0) + 1
  return counts
}

/** The roles that a run needs. */
export const NEEDED_ROLES = ['scheduler', 'worker'] as const
export type NeededRole = (typeof NEEDED_ROLES)[number]

/** The roles that a run needs and that none of these processes has. */
export function missingAmong(alive: readonly ProcessRow[]): NeededRole[] {
  return NEEDED_ROLES.filter(role => !alive.some(({ roles }) => roles.includes(role)))
}
